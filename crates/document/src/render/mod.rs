//! Documents in the layout of a terminal, of Markdown and of a page.

mod chip;
mod figures;
mod fit;
pub mod html;
pub mod markdown;
pub mod terminal;

pub use terminal::{Colour, Terminal};
