//! What rqps asks of the operating system where somebody else could interfere. There is one way
//! each to run a foreign program ([`program`]), to work in a place of another user ([`User::act`]),
//! to make a private folder ([`private_folder`]), to ask who could exchange a file
//! ([`others_can_change`]), to take a path from a file ([`below`]) and to show foreign text
//! ([`printable`]). Knows nothing of databases.

mod cancel;
mod path;
mod private;
pub mod program;
mod text;
mod trust;
mod user;

pub use cancel::{Cancel, Cancelled};
pub use path::{PathError, below, is_id};
pub use private::private_folder;
pub use text::printable;
pub use trust::{Changeable, others_can_change};
pub use user::{NoUser, User, act_as};
