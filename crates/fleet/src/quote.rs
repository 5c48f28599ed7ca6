//! Names and values in the languages of schedulers. Everything that a person wrote passes through
//! one of these.

use std::fmt::Write;

use serde_json::Value;

use crate::error::FleetError;

/// A word for a POSIX shell, whatever characters it has. A NUL is in no word.
pub fn shell(word: &str) -> Result<String, FleetError> {
    let quoted = shlex::try_quote(word).map_err(|_| FleetError::Name {
        what: "word",
        value: word.escape_debug().to_string(),
        reason: "it has a NUL",
    })?;
    Ok(quoted.into_owned())
}

/// A command for a POSIX shell.
pub fn shell_line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Result<String, FleetError> {
    let quoted = words.into_iter().map(|word| shell(word.as_ref()));
    Ok(quoted.collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// Data as YAML. Texts are written as in JSON, which is a part of YAML, so that none of them is
/// read as a number, a switch or a tag.
pub fn yaml(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                // Writing to a String cannot fail.
                let _ = write!(text, "{indent}{}:", key(name));
                below(value, depth, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(text, "{indent}-");
                below(item, depth, text);
            }
        }
        scalar => {
            let _ = writeln!(text, "{indent}{scalar}");
        }
    }
}

/// What follows a key or a dash.
fn below(value: &Value, depth: usize, text: &mut String) {
    let is_block = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if is_block {
        text.push('\n');
        block(value, depth + 1, text);
    } else {
        let _ = writeln!(text, " {value}");
    }
}

/// A plain key where every reader takes it for a text.
fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphabetic();
    match name.len() > 3 && name.chars().all(is_plain) && name != "true" && name != "false" {
        true => name.to_string(),
        false => Value::String(name.to_string()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::*;

    /// Texts that mean something to a shell, to YAML or to both.
    const HOSTILE: [&str; 14] = [
        "",
        "-rf",
        "$(touch /tmp/owned)",
        "`id`",
        "a'b\"c\\d",
        "two\nlines",
        "no",
        "1e3",
        "0x10",
        "!!python/object",
        "&anchor *alias",
        "{a: b}",
        "# no comment",
        "größer: ja",
    ];

    #[test]
    fn a_shell_gets_each_word_as_it_is() {
        for word in HOSTILE {
            let script = format!("printf %s {}", shell(word).unwrap());
            let said = Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
        assert!(shell("a\0b").is_err());
    }

    #[test]
    fn a_reader_of_yaml_gets_each_text_as_it_is() {
        let mut fields = serde_json::Map::new();
        for text in HOSTILE {
            fields.insert(text.to_string(), Value::String(text.to_string()));
        }
        let value = json!({
            "texts": HOSTILE,
            "fields": fields,
            "nested": [{ "a": [], "b": {}, "c": [[1, true, null]] }],
        });
        let written = yaml(&value);
        let read: Value = serde_saphyr::from_str(&written).unwrap_or_else(|error| {
            panic!("{error}\n{written}");
        });
        assert_eq!(read, value, "{written}");
    }
}
