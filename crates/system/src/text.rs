//! Text from outside in a form that is safe to show.

use std::borrow::Cow;
use std::fmt::Write;

/// Text of a server, a log, a file or an argument without control of the terminal: control
/// characters other than line feed and tab, and those that change the direction of writing, are
/// shown as escapes (`\x1b`, `\u{202e}`).
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !steers(c) => shown.push(c),
            // Writing to a String cannot fail.
            c if c.is_ascii() => drop(write!(shown, "\\x{:02x}", u32::from(c))),
            c => drop(write!(shown, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(shown)
}

fn steers(c: char) -> bool {
    // The second kind is the Bidi_Control property (Unicode Standard Annex 9).
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_foreign_text_steers_the_terminal() {
        for (text, shown) in [
            ("plain, größer\n\tand indented", "plain, größer\n\tand indented"),
            ("\x1b]0;owned\x07red \x1b[31m", r"\x1b]0;owned\x07red \x1b[31m"),
            ("over\rwritten\u{8}", r"over\x0dwritten\x08"),
            ("c1 \u{9b}2J", r"c1 \u{9b}2J"),
            ("abc\u{202e}txt.exe", r"abc\u{202e}txt.exe"),
            ("\0\x7f", r"\x00\x7f"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
