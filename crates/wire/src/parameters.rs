//! Parameters of connections: tables of them, and their values from a URL, from files and from the
//! environment.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// A parameter of the DBMS's clients.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// The environment variable that sets it where nothing else does.
    pub(crate) variable: Option<&'static str>,
    pub(crate) means: Means,
}

/// How rqps handles a parameter.
pub(crate) enum Means {
    Honoured,
    /// Ignored: it changes nothing that is measured, or rqps has a way of its own.
    Ignored,
    /// Only these values change nothing; the text says what to do instead of others.
    Only(&'static [&'static str], &'static str),
    /// What to do instead.
    Refused(&'static str),
}

/// The variables and the home of the user of rqps; a value, so that tests have their own.
pub(crate) struct Environment {
    variables: HashMap<String, String>,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        let text = |name: std::ffi::OsString| name.into_string().ok();
        let variables = std::env::vars_os();
        let variables = variables.filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        Environment { variables: variables.collect() }
    }

    #[cfg(test)]
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        Environment { variables: variables.iter().map(owned).collect() }
    }

    /// A variable's value, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new)
    }

    /// A file in the home, if it exists.
    pub(crate) fn home_file(&self, name: &str) -> Option<PathBuf> {
        self.home().map(|home| home.join(name)).filter(|file| file.exists())
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.get("USER").or_else(|| self.get("LOGNAME"))
    }
}

/// The given values by parameter; the first value of a parameter stays.
pub(crate) struct Settings {
    table: &'static [Parameter],
    /// Names of other clients for them.
    synonyms: &'static [(&'static str, &'static str)],
    values: BTreeMap<&'static str, Setting>,
}

struct Setting {
    value: String,
    is_of_url: bool,
}

impl Settings {
    pub(crate) fn new(
        table: &'static [Parameter],
        synonyms: &'static [(&'static str, &'static str)],
    ) -> Self {
        Settings { table, synonyms, values: BTreeMap::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|setting| setting.value.as_str()).filter(|v| !v.is_empty())
    }

    /// Given in the URL itself.
    pub(crate) fn is_of_url(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|setting| setting.is_of_url)
    }

    /// Adds a value of the URL; of several the last counts.
    pub(crate) fn say(&mut self, name: &str, value: String) -> Result<(), String> {
        let Some(parameter) = self.table.iter().find(|parameter| parameter.name == name) else {
            return Err(self.unknown(name));
        };
        judge(parameter, name, &value)?;
        self.values.insert(parameter.name, Setting { value, is_of_url: true });
        Ok(())
    }

    /// Adds a value of a file or the environment; its origin is for errors.
    pub(crate) fn fill(&mut self, name: &str, value: &str, said: &str) -> Result<(), String> {
        let Some(parameter) = self.table.iter().find(|parameter| parameter.name == name) else {
            return Err(format!("{said}: {}", self.unknown(name)));
        };
        if self.values.contains_key(parameter.name) {
            return Ok(());
        }
        judge(parameter, said, value)?;
        let setting = Setting { value: value.to_string(), is_of_url: false };
        self.values.insert(parameter.name, setting);
        Ok(())
    }

    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.table.iter().any(|parameter| parameter.name == name)
    }

    pub(crate) fn fill_from(&mut self, environment: &Environment) -> Result<(), String> {
        for parameter in self.table {
            if let Some(variable) = parameter.variable
                && let Some(value) = environment.get(variable)
            {
                self.fill(parameter.name, value, variable)?;
            }
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> String {
        let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
        let own = self.table.iter().map(|parameter| (parameter.name, parameter.name));
        let mut known = self.synonyms.iter().copied().chain(own);
        if let Some((_, right)) = known.find(|(other, _)| plain(other) == plain(name)) {
            return format!("unknown parameter '{name}': use {right}");
        }
        let honoured = self.table.iter().filter(|one| matches!(one.means, Means::Honoured));
        let names: Vec<&str> = honoured.map(|parameter| parameter.name).collect();
        format!("unknown parameter '{name}' (there are: {})", names.join(", "))
    }

    /// The choice named by a parameter.
    pub(crate) fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let chosen = choices.iter().find(|(choice, _)| choice.eq_ignore_ascii_case(value));
        let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        let wrong = || format!("unknown {name} '{value}' (there are: {})", names.join(", "));
        chosen.map(|(_, meaning)| Some(*meaning)).ok_or_else(wrong)
    }

    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, String> {
        let choices = [
            ("1", true),
            ("true", true),
            ("on", true),
            ("0", false),
            ("false", false),
            ("off", false),
        ];
        self.choice(name, &choices)
    }
}

/// An error for a value that cannot be honoured; it is shown only where it cannot be a secret.
fn judge(parameter: &Parameter, said: &str, value: &str) -> Result<(), String> {
    match parameter.means {
        Means::Honoured | Means::Ignored => Ok(()),
        Means::Only(harmless, instead) => {
            let is_harmless = harmless.iter().any(|one| one.eq_ignore_ascii_case(value));
            match is_harmless || value.is_empty() {
                true => Ok(()),
                false => Err(format!("{said}={value} cannot be honoured: {instead}")),
            }
        }
        Means::Refused(instead) => Err(format!("{said} cannot be honoured: {instead}")),
    }
}

/// The numbered lines of a group of an INI file; none if it has no such group. All groups of the
/// name count.
pub(crate) fn group<'a>(text: &'a str, name: &str) -> Option<Vec<(usize, &'a str)>> {
    let (mut is_there, mut is_within, mut lines) = (false, false, Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            is_within = head.0.trim() == name;
            is_there |= is_within;
        } else if is_within && !line.is_empty() && !line.starts_with(['#', ';']) {
            lines.push((number, line));
        }
    }
    is_there.then_some(lines)
}

pub(crate) fn read_text(file: &Path) -> Result<String, String> {
    fs::read_to_string(file)
        .map_err(|error| format!("'{}' cannot be read: {error}", file.display()))
}
