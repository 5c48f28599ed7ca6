//! stdout is for the result, stderr for everything else. Whoever reads them may have gone by the
//! time we write; what was measured is kept all the same, so that is no error.

use std::io::{self, ErrorKind, Write};

use anyhow::Context;

/// Writes the result. An error if there is a reader and it could not be given everything.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("the result cannot be written to stdout")
        }
        _ => Ok(()),
    }
}

/// Writes a line for the person who waits.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
