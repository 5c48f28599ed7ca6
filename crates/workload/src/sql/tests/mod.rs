//! Texts, and folders of them.

mod folders;
mod runs;
mod texts;
