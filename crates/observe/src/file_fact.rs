//! Facts that are read from small files of the kernel, one each.

use std::fs;
use std::path::Path;

pub(crate) struct FileFact {
    pub(crate) name: &'static str,
    /// Its path below the root.
    pub(crate) file: &'static str,
    pub(crate) shown: Shown,
}

/// Which part of a file's text is the fact.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    Verbatim,
    /// The word in brackets of `always [madvise] never`.
    Chosen,
    /// The number of elements in a list such as `0-1,4`.
    Counted,
    /// The word for a number; the first is that of 0.
    Words(&'static [&'static str]),
    /// The rest of the line with this beginning.
    After(&'static str),
}

/// The facts that can be read, by name; of several files for one name, the first that exists.
pub(crate) fn file_facts(root: &Path, facts: &[FileFact]) -> Vec<(&'static str, String)> {
    let mut told: Vec<(&'static str, String)> = Vec::new();
    for fact in facts {
        let Ok(text) = fs::read_to_string(root.join(fact.file)) else { continue };
        let value = fact.shown.of(text.trim()).filter(|value| !value.is_empty());
        let is_new = told.iter().all(|(name, _)| *name != fact.name);
        told.extend(value.filter(|_| is_new).map(|value| (fact.name, value)));
    }
    told
}

impl Shown {
    fn of(self, text: &str) -> Option<String> {
        let shown = match self {
            Shown::Verbatim => text,
            Shown::Chosen => {
                let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                inner.map_or(text, |(word, _)| word)
            }
            Shown::Counted => return counted(text).map(|count| count.to_string()),
            Shown::Words(words) => {
                let word = text.parse().ok().and_then(|number: usize| words.get(number));
                word.copied().unwrap_or(text)
            }
            Shown::After(start) => text.lines().find_map(|line| line.strip_prefix(start))?,
        };
        Some(shown.to_string())
    }
}

fn counted(list: &str) -> Option<u32> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shown_in_words() {
        for (shown, text, wanted) in [
            (Shown::Verbatim, "performance", Some("performance")),
            (Shown::Chosen, "always [madvise] never", Some("madvise")),
            (Shown::Chosen, "none", Some("none")),
            (Shown::Counted, "0", Some("1")),
            (Shown::Counted, "0-1,4", Some("3")),
            (Shown::Counted, "", None),
            (Shown::Words(&["off", "on"]), "1", Some("on")),
            (Shown::Words(&["off", "on"]), "7", Some("7")),
            (Shown::After("DRIVER="), "MAJOR=1\nDRIVER=virtio_blk", Some("virtio_blk")),
            (Shown::After("DRIVER="), "MAJOR=1", None),
        ] {
            assert_eq!(shown.of(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn the_first_file_that_is_there_tells() {
        let root = tempfile::tempdir().unwrap();
        let fact = |file| FileFact { name: "model", file, shown: Shown::Verbatim };
        let facts = ["absent", "empty", "model", "driver"].map(fact);
        fs::write(root.path().join("empty"), "\n").unwrap();
        fs::write(root.path().join("model"), "Disk 1  \n").unwrap();
        fs::write(root.path().join("driver"), "sd\n").unwrap();
        assert_eq!(file_facts(root.path(), &facts), [("model", "Disk 1".to_string())]);
    }
}
