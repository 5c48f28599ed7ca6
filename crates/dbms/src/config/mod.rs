//! Named configs, the user's own config files, and the settings of a contender on top of them.

mod cache;
mod file;
mod machine;
mod named;
mod settings;
mod vocabulary;

pub(crate) use cache::cache_in_force;
pub use cache::{cache_bytes, with_cache};
pub use machine::memory;
pub use named::{NamedConfig, all_configs, configs};
pub use settings::resolved;
pub(crate) use vocabulary::{Settings, Vocabulary, own};
