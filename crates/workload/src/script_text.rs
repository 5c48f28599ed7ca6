//! The text of a script's file: one that a run can keep in its plan.

use std::fs::File;
use std::io::{self, Read};

use rqps_plan::is_printable;

/// Bytes of a file at most.
const LONGEST: u64 = 1 << 20;

/// The text of a file; an error if a run could not read it back.
pub(crate) fn script_text(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    // Some files of the system tell no length.
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("a script has at most {LONGEST} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::other(format!("byte {at} is not UTF-8. Convert it to UTF-8"))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
    let is_shown = |c: char| c == '\t' || is_printable(c);
    for (number, line) in (1..).zip(text.split('\n')) {
        if let Some(c) = line.chars().find(|c| !is_shown(*c)) {
            let what = format!("line {number} has the control character {c:?}. Remove it");
            return Err(io::Error::other(what));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_run_could_not_keep_is_told_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.lua");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            File::open(&path).and_then(script_text)
        };
        assert_eq!(read("\u{feff}a = 1\r\n\tb = 2\r\n").unwrap(), "a = 1\n\tb = 2\n");
        for (text, told) in [
            ("a = 1\n\u{c}b = 2", "line 2 has the control character '\\u{c}'. Remove it"),
            ("a = 1\rb = 2", "line 1 has the control character '\\r'"),
            ("\n\n-- \u{202e}", "line 3 has the control character '\\u{202e}'"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
