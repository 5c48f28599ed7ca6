//! Texts, and folders of them.

mod answers;
mod folders;
mod runs;
mod texts;
