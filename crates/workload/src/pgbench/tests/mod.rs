//! The language of scripts, and scripts on SQLite.

mod errors;
mod runs;
mod scripts;
