//! Names and values in the languages of schedulers. Everything that a person wrote passes through
//! one of these.

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

/// Data as YAML. No text in it is read as a number, a switch or a tag, also by readers of YAML 1.1.
pub fn yaml(value: &Value) -> String {
    // Texts in one line, which people look for.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(value, options).expect("plain data is YAML")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::*;

    /// Texts that mean something to a shell, to YAML or to both.
    const HOSTILE: [&str; 19] = [
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
        "12:30:45",
        "<<",
        " edges ",
        "---",
        "\u{202e}\u{1b}[2J\u{85}",
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

    #[test]
    fn people_can_read_it() {
        let value = json!({ "kind": "Job", "spec": { "items": [{ "name": "no", "at": "/x" }], "size": 2 } });
        let read = "kind: Job\nspec:\n  items:\n  - at: /x\n    name: \"no\"\n  size: 2\n";
        assert_eq!(yaml(&value), read);
    }
}
