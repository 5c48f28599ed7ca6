//! `--load-errors`: whether a load goes on after a statement that is refused.

use std::str::FromStr;

/// What a statement that cannot be loaded means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnLoadError {
    pub(crate) skips: bool,
}

impl FromStr for OnLoadError {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "stop" => Ok(OnLoadError { skips: false }),
            "skip" => Ok(OnLoadError { skips: true }),
            _ => Err(format!("'{text}' is not a way to go on. Write stop or skip")),
        }
    }
}
