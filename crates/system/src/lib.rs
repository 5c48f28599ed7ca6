//! Operations of the system with which other users could interfere. There is one way each to run
//! another program ([`program`]), to work in a place of another user ([`User::act`]), to create a
//! private folder ([`private_folder`]), to check who could replace a file ([`others_can_change`]),
//! to take a path from a file ([`below`]), to hold the lock of a file ([`Lock`]) and to show text
//! from outside ([`printable`]). Knows nothing of databases.

mod cancel;
mod lock;
mod path;
mod private;
pub mod program;
mod text;
mod trust;
mod user;

pub use cancel::{Cancel, Cancelled};
pub use lock::Lock;
pub use path::{PathError, below, is_id};
pub use private::private_folder;
pub use text::printable;
pub use trust::{Changeable, others_can_change};
pub use user::{NoUser, User, act_as};
