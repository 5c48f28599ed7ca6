//! Option files: the group `[client]`, as the programs of MySQL and MariaDB read it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::parameters::{group, read_text};

/// Files that include each other are not followed further.
const DEEPEST: usize = 5;

/// An option of a file.
pub(super) struct ClientOption {
    pub(super) name: String,
    pub(super) value: String,
    /// File and line.
    pub(super) at: String,
}

/// The options of clients, in order.
pub(super) fn client(file: &Path) -> Result<Vec<ClientOption>, String> {
    let mut options = Vec::new();
    read(file, DEEPEST, &mut options)?;
    Ok(options)
}

fn read(file: &Path, depth: usize, options: &mut Vec<ClientOption>) -> Result<(), String> {
    let shown = file.display();
    // Other users could name another server there, or turn off the encryption.
    let is_open = file.metadata().is_ok_and(|found| found.mode() & 0o002 != 0);
    if is_open {
        return Err(format!("everybody may write to '{shown}'. Run chmod 600 '{shown}'"));
    }
    let text = read_text(file)?;
    for (number, line) in group(&text, "client").unwrap_or_default() {
        if line.starts_with('!') {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "1"));
        let name = name.trim().to_lowercase().replace('_', "-");
        let name = name.trim_start_matches("loose-");
        let (name, value) = match name.strip_prefix("skip-") {
            Some(skipped) => (skipped, "0".to_string()),
            None => (name, unquoted(value)),
        };
        let at = format!("'{shown}', line {number}");
        options.push(ClientOption { name: name.to_string(), value, at });
    }
    let included = text.lines().filter_map(|line| line.trim().strip_prefix("!include "));
    for other in included {
        if depth == 0 {
            return Err(format!("'{shown}' includes files in a chain of more than {DEEPEST}"));
        }
        read(Path::new(other.trim()), depth - 1, options)?;
    }
    Ok(())
}

/// A value without its trailing comment, its quotes and its escapes.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let value = match quote {
        Some(quote) => value[1..].rsplit_once(quote).map_or(value, |(within, _)| within),
        None => value.split_once('#').map_or(value, |(value, _)| value.trim_end()),
    };
    let mut plain = String::new();
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        let escaped = if c == '\\' { characters.next() } else { None };
        match escaped {
            None => plain.push(c),
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('b') => plain.push('\u{8}'),
            Some('s') => plain.push(' '),
            Some(c @ ('\\' | '"' | '\'')) => plain.push(c),
            // Not an escape.
            Some(c) => plain.extend(['\\', c]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_in_several_ways() {
        for (written, meant) in [
            (" hush ", "hush"),
            ("'hu sh'", "hu sh"),
            ("\"hu#sh\" # why", "hu#sh"),
            ("hush # why", "hush"),
            (r"a\sb\\c\d", r"a b\c\d"),
            ("", ""),
        ] {
            assert_eq!(unquoted(written), meant);
        }
    }
}
