//! A commit of a checkout.

/// The mode of a submodule in a tree.
pub(super) const SUBMODULE: &str = "160000";

/// A commit, by its hash.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Commit {
    pub hash: String,
    /// The hash of its files.
    pub tree: String,
    pub parents: Vec<String>,
    pub subject: String,
    /// Whether it touches only files that cannot change the server, against its first parent.
    pub is_quiet: bool,
}

impl Commit {
    /// As people write it.
    pub fn short(&self) -> &str {
        short(&self.hash)
    }
}

fn short(hash: &str) -> &str {
    &hash[..12.min(hash.len())]
}
