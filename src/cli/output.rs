//! stdout is for the result, stderr for everything else. Either may be closed by the time we write
//! to it; what was measured is kept all the same, so that is no error.

use std::io::Write;

/// Writes the result.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a line for the person who waits.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
