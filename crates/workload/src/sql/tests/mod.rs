//! Texts, and folders of them.

mod folders;
mod texts;
