//! Texts, and folders of them.

mod answers;
mod compressed;
pub(super) mod folders;
mod runs;
mod texts;
