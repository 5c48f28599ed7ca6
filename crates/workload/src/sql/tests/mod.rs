//! Texts.

mod texts;
