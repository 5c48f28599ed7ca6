//! The log of `-v`: server starts, discarded measurements, retries. It goes to stderr, above the
//! live view.

use std::io::{self, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use super::progress::say;

/// Sets the level: by `RQPS_LOG`, such as `debug` or `rqps_dbms=debug`, else by how often `-v`
/// was given.
pub(crate) fn begin(verbose: u8) -> anyhow::Result<()> {
    let targets = match std::env::var("RQPS_LOG") {
        Ok(text) if !text.is_empty() => text.parse().map_err(|_| {
            anyhow::anyhow!(
                "cannot use RQPS_LOG='{text}'. Write a level (error, warn, info, debug, trace), or one \
                 for each crate, as in rqps_dbms=debug,info"
            )
        })?,
        _ => Targets::new().with_default(match verbose {
            0 => LevelFilter::OFF,
            1 => LevelFilter::INFO,
            2 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        }),
    };
    let lines = fmt::layer().with_ansi(false).without_time().with_writer(|| Logged(Vec::new()));
    registry().with(lines).with(targets).init();
    Ok(())
}

/// A line that is printed when it is complete.
struct Logged(Vec<u8>);

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        say(String::from_utf8_lossy(&self.0).trim_end());
    }
}
