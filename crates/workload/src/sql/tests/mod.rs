//! Texts, and folders of them.

mod answers;
pub(super) mod folders;
mod runs;
mod texts;
