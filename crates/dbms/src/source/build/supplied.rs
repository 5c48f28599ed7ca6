//! The sources of a build, as they were supplied.

use std::path::PathBuf;

use crate::source::error::SourceError;
use crate::source::{digest, paths};

/// A tarball, in a folder that only rqps's user can enter.
pub(super) struct Supplied {
    pub(super) file: PathBuf,
    /// Its name in messages.
    pub(super) name: String,
    pub(super) sha256: String,
    /// From its place; none for a file that the user named.
    pub(super) version: Option<String>,
    /// Whether it matched a published hash or a signature.
    pub(super) is_verified: bool,
}

impl Supplied {
    pub(super) fn at(file: PathBuf, version: Option<String>) -> Result<Supplied, SourceError> {
        let (name, sha256) = (paths::file_name(&file), digest::sha256(&file)?);
        Ok(Supplied { file, name, sha256, version, is_verified: false })
    }

    /// Compares its hash with the one in a list in the form of `sha256sum`.
    pub(super) fn verify(&mut self, list: &str, whose: &str) -> Result<(), SourceError> {
        let published = published(list, &self.name);
        let unlisted = || SourceError::Client {
            program: whose.to_string(),
            reason: format!("it has no SHA-256 of {}", self.name),
        };
        let expected = published.ok_or_else(unlisted)?;
        if expected != self.sha256 {
            let (archive, found) = (self.name.clone(), self.sha256.clone());
            return Err(SourceError::Checksum { archive, expected, found });
        }
        self.is_verified = true;
        Ok(())
    }
}

/// The SHA-256 of a file in a list: `<hash>  <name>`, or only the hash.
fn published(list: &str, name: &str) -> Option<String> {
    let is_hash = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    list.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let hash = words.next().filter(|word| is_hash(word))?;
        let is_of_it = words
            .next()
            .is_none_or(|listed| listed.trim_start_matches('*').rsplit('/').next() == Some(name));
        is_of_it.then(|| hash.to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_hash_is_that_of_the_file() {
        let (a, b) = ("A".repeat(64), "b".repeat(64));
        let list = format!("{a}  one.tar.gz\n{b} *./two.tar.gz\n");
        assert_eq!(published(&list, "one.tar.gz"), Some("a".repeat(64)));
        assert_eq!(published(&list, "two.tar.gz"), Some(b.clone()));
        assert_eq!(published(&list, "three.tar.gz"), None);
        assert_eq!(published(&format!("{b}\n"), "any"), Some(b));
        assert_eq!(published("<html>not found</html>", "any"), None);
        assert_eq!(published("", "any"), None);
    }
}
