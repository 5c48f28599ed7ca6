//! What git prints.

use rqps_plan::suggestion;

use super::commit::{Commit, SUBMODULE};

/// A commit as git prints it: no subject or name of a file can contain these characters.
pub(super) const FORMAT: &str = "%x01%H%x02%T%x02%P%x02%s";

/// The commits of a log, each with the names of its files if these were asked for.
pub(super) fn commits(log: &str, quiet: &[String]) -> Option<Vec<Commit>> {
    let all = log.split('\x01').skip(1).map(|text| {
        let (head, files) = text.split_once('\n').unwrap_or((text, ""));
        let mut parts = head.split('\x02');
        let mut part = || parts.next().map(str::to_string);
        let (hash, tree, parents) = (part()?, part()?, part()?);
        let mut files = files.lines().filter(|name| !name.is_empty());
        Some(Commit {
            hash,
            tree,
            parents: parents.split_whitespace().map(str::to_string).collect(),
            subject: part()?,
            is_quiet: !quiet.is_empty() && files.all(|name| is_quiet(name, quiet)),
        })
    });
    all.collect()
}

/// Whether a file matches a pattern of a recipe: a folder `doc/`, an end `*.md`, or a name.
fn is_quiet(name: &str, quiet: &[String]) -> bool {
    quiet.iter().any(|pattern| match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None if pattern.ends_with('/') => name.starts_with(pattern.as_str()),
        None => name == pattern,
    })
}

/// The submodules in a listed tree: path and commit.
pub(super) fn submodules(tree: &str) -> impl Iterator<Item = (&str, &str)> {
    tree.split('\0').filter_map(|entry| {
        let (facts, path) = entry.split_once('\t')?;
        let commit = facts.strip_prefix(SUBMODULE)?.strip_prefix(" commit ")?;
        Some((path, commit.trim()))
    })
}

/// The tags that a name may mean.
pub(super) fn nearest(revision: &str, tags: &str) -> String {
    let tags: Vec<&str> = tags.lines().collect();
    match tags.is_empty() {
        true => "; it has no tags".to_string(),
        false => format!(": {}", suggestion(revision, tags)),
    }
}

/// Why git failed, in its words.
pub(super) fn reason(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines().find_map(|line| line.strip_prefix("fatal: "));
    told.or_else(|| lines().next()).unwrap_or("it does not say why").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_quiet_if_all_their_files_are() {
        let log = "\x01aa\x02ta\x02p1 p2\x02a merge\n\ndoc/x\nREADME.md\n\n\
                   \x01bb\x02tb\x02aa\x02code\n\nsrc/doc/x.c\n\x01cc\x02tc\x02bb\x02nothing\n";
        let quiet = ["doc/".to_string(), "*.md".to_string()];
        let all = commits(log, &quiet).unwrap();
        assert_eq!(all[0].parents, ["p1", "p2"]);
        assert_eq!((all[1].subject.as_str(), all[1].tree.as_str()), ("code", "tb"));
        let quiets: Vec<bool> = all.iter().map(|commit| commit.is_quiet).collect();
        assert_eq!(quiets, [true, false, true]);
        assert!(commits(log, &[]).unwrap().iter().all(|commit| !commit.is_quiet));
        assert_eq!(commits("\x01aa\x02ta", &[]), None);
    }

    #[test]
    fn submodules_are_told_from_files() {
        let tree = "100644 blob aa\tx\x00160000 commit bb\tlib/y z\x00040000 tree cc\tt\x00";
        assert_eq!(submodules(tree).collect::<Vec<_>>(), [("lib/y z", "bb")]);
    }

    #[test]
    fn git_is_quoted_without_its_prefix() {
        assert_eq!(reason("warning: x\nfatal: not a git repository\n"), "not a git repository");
        assert_eq!(reason(""), "it does not say why");
    }
}
