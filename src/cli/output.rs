//! Output: stdout is for the result, stderr for everything else. A reader that is gone is no error,
//! since the measurements are stored. Text of servers, logs and files passes through here, so that
//! it cannot control the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Context;
use console::Term;
use rqps_report::{Colour, Terminal};
use rqps_system::printable;

/// Writes the result. Fails if there is a reader that could not be given all of it.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(&printable(text))
}

/// Writes a result that may have colours.
pub(crate) fn print_styled(text: &str) -> anyhow::Result<()> {
    write(&styled(text))
}

/// Writes a result in JSON, which has escapes of its own.
pub(crate) fn print_json(text: &str) -> anyhow::Result<()> {
    write(&json(text))
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result to stdout")
        }
        _ => Ok(()),
    }
}

/// Writes a line to stderr.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// What went wrong and why, in one line without repeated causes.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Text without control sequences, except for those that set colour and weight.
pub(crate) fn styled(text: &str) -> Cow<'_, str> {
    let mut pieces = text.split('\x1b');
    let first = printable(pieces.next().unwrap_or_default());
    pieces.fold(first, |shown, piece| {
        let (style, rest) = piece.split_at(style_end(piece));
        let escape = if style.is_empty() { "\\x1b" } else { "\x1b" };
        Cow::Owned(format!("{shown}{escape}{style}{}", printable(rest)))
    })
}

/// Where the rest of a sequence such as `[1;31m` ends (ECMA-48, Select Graphic Rendition).
fn style_end(text: &str) -> usize {
    let parameters = text.strip_prefix('[').unwrap_or_default();
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';');
    end.filter(|end| parameters[*end..].starts_with('m')).map_or(0, |end| end + 2)
}

fn json(text: &str) -> Cow<'_, str> {
    if let unchanged @ Cow::Borrowed(_) = printable(text) {
        return unchanged;
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    let (mut utf8, mut utf16) = ([0; 4], [0; 2]);
    for c in text.chars() {
        match printable(c.encode_utf8(&mut utf8)) {
            Cow::Borrowed(same) => escaped.push_str(same),
            Cow::Owned(_) => c.encode_utf16(&mut utf16).iter().for_each(|unit| {
                // A String takes everything.
                let _ = write!(escaped, "\\u{unit:04x}");
            }),
        }
    }
    Cow::Owned(escaped)
}

/// Tables are readable from this width on, in columns.
const NARROWEST: usize = 40;

/// Where stdout is shown. Colour is for a person at a terminal who has not declined it
/// (no-color.org).
pub(super) fn terminal() -> Terminal {
    let size = Term::stdout().size_checked().filter(|_| io::stdout().is_terminal());
    let Some((_, columns)) = size else { return Terminal::PLAIN };
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = if declined { Colour::Never } else { Colour::Always };
    Terminal { width: usize::from(columns).max(NARROWEST), colour }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_let_through_and_nothing_else() {
        for (text, shown) in [
            ("plain", "plain"),
            ("\x1b[1;31mred\x1b[0m and\n", "\x1b[1;31mred\x1b[0m and\n"),
            ("\x1b[2J\x1b]0;title\x07\x1b", r"\x1b[2J\x1b]0;title\x07\x1b"),
            ("\x1b[31", r"\x1b[31"),
            ("\x1b[m\u{9b}31m", "\x1b[m\\u{9b}31m"),
        ] {
            assert_eq!(styled(text), shown, "{text:?}");
        }
    }

    #[test]
    fn json_stays_json() {
        let text = serde_json::to_string("\u{7f}\u{9b}2J\u{202e}ö").unwrap();
        assert_eq!(json(&text), r#""\u007f\u009b2J\u202eö""#);
        assert_eq!(
            serde_json::from_str::<String>(&json(&text)).unwrap(),
            "\u{7f}\u{9b}2J\u{202e}ö"
        );
    }

    #[test]
    fn a_cause_is_told_once() {
        let file = std::io::Error::other("it is gone");
        let error = anyhow::Error::from(file).context("cannot read 'x': it is gone").context("why");
        assert_eq!(told(&error), "why: cannot read 'x': it is gone");
    }
}
