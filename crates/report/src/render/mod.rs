//! Documents in the layout of a terminal, of Markdown and of a page.

mod figures;
mod fit;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod terminal;

pub use terminal::{Colour, Terminal};
