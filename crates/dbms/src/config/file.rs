//! The syntax of config files: `name = value` on a line, and `include <name>` to build on another.

/// A line of a config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Inserts the settings of another named config.
    Include(String),
    Setting(Setting),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
    /// Skipped by builds that do not know it.
    pub(super) optional: bool,
}

impl Setting {
    /// The name in the form that all DBMSs accept; MySQL also accepts dashes.
    pub(super) fn plain(name: &str) -> String {
        name.replace('-', "_").to_lowercase()
    }

    /// A name that begins with ? is optional.
    pub(super) fn new(name: &str, value: String) -> Self {
        let (name, optional) = match name.strip_prefix('?') {
            Some(name) => (name, true),
            None => (name, false),
        };
        Setting { name: Setting::plain(name), value, optional }
    }
}

/// Lines with comments from # on, and values with or without quotes. A line that begins with ? is
/// only for builds that know the setting; one that ends with a backslash continues in the next.
pub(super) fn parse(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut begun = String::new();
    for line in text.lines() {
        let line = without_comment(line).trim();
        if let Some(part) = line.strip_suffix('\\') {
            begun += part.trim();
            continue;
        }
        let line = std::mem::take(&mut begun) + line;
        let end = line.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let rest = rest.trim_start();
        let value = rest.strip_prefix('=').unwrap_or(rest).trim();
        let value = match value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) {
            Some(quoted) => quoted.replace("''", "'").replace(r"\\", r"\"),
            None => value.to_string(),
        };
        match name {
            "" => {}
            "include" => lines.push(Line::Include(value)),
            name => lines.push(Line::Setting(Setting::new(name, value))),
        }
    }
    lines
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (index, character) in line.char_indices() {
        match character {
            '\'' => quoted = !quoted,
            '#' if !quoted => return &line[..index],
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str, optional: bool) -> Line {
        Line::Setting(Setting { name: name.to_string(), value: value.to_string(), optional })
    }

    #[test]
    fn files_are_read_as_postgres_reads_them() {
        let text = "a = 1 # one\nb='x # y'\n\n# c = 3\nd 4\ne = 'it''s'\nf = g=1;h=2\nh='a\\\\b'\n";
        let expected = [
            ("a", "1"),
            ("b", "x # y"),
            ("d", "4"),
            ("e", "it's"),
            ("f", "g=1;h=2"),
            ("h", r"a\b"),
        ];
        assert_eq!(parse(text), expected.map(|(name, value)| setting(name, value, false)));
    }

    #[test]
    fn names_are_spelled_as_mysql_likes() {
        assert_eq!(parse("Skip-Name-Resolve = 1"), [setting("skip_name_resolve", "1", false)]);
    }

    #[test]
    fn a_question_mark_makes_a_setting_optional() {
        assert_eq!(parse("?jit = off"), [setting("jit", "off", true)]);
    }

    #[test]
    fn a_file_may_build_on_another() {
        assert_eq!(parse("include x9a2  # the baseline\n"), [Line::Include("x9a2".to_string())]);
    }

    #[test]
    fn a_backslash_joins_lines() {
        assert_eq!(
            parse("a = x=1; \\\n    y=2\nb = 3"),
            [setting("a", "x=1;y=2", false), setting("b", "3", false)]
        );
    }
}
