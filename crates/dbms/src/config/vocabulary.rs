//! The settings that a build accepts.

use rqps_plan::{Contender, suggestion};

use super::file::Setting;
use super::settings::settings;
use crate::error::DbmsError;

/// How many similar settings an error about an unknown one lists.
const NEAR: usize = 12;

/// Names in lower case with underscores, and values.
pub(crate) type Settings = Vec<(String, String)>;

/// Why most reserved settings are.
const OWN: &str = "rqps sets it itself";

/// The settings that are reserved for rqps, which sets them.
pub(crate) fn own(names: &[&str]) -> impl Fn(&str) -> Option<&'static str> {
    move |name| names.contains(&name).then_some(OWN)
}

/// The settings that a build accepts, and those that are reserved for rqps.
pub(crate) struct Vocabulary<'a> {
    pub(crate) version: &'a str,
    pub(crate) names: &'a [String],
    /// Whether the build accepts a name; it may accept more than it lists.
    pub(crate) knows: &'a dyn Fn(&str) -> bool,
    /// Names that a contender cannot set, and why.
    pub(crate) reserved: &'a dyn Fn(&str) -> Option<&'static str>,
}

impl Vocabulary<'_> {
    /// The settings that a contender's build will run with: those of its config, then its own.
    pub(crate) fn settings(&self, contender: &Contender) -> Result<Settings, DbmsError> {
        let mut chosen = Settings::new();
        for Setting { name, value, optional } in settings(contender)? {
            if let Some(why) = (self.reserved)(&name) {
                return Err(DbmsError::Reserved { name, why });
            }
            if (self.knows)(&name) {
                chosen.push((name, value));
            } else if !optional {
                let hint = suggestion(&name, self.near(&name));
                let (dbms, version) = (contender.dbms, self.version.to_string());
                return Err(DbmsError::Setting { dbms, version, name, hint });
            }
        }
        Ok(chosen)
    }

    /// Several hundred names do not help; only those that share a word with the wanted one are
    /// listed.
    fn near(&self, wanted: &str) -> Vec<&str> {
        let words: Vec<&str> = wanted.split('_').filter(|word| word.len() > 3).collect();
        let all = || self.names.iter().map(String::as_str);
        let closest = all().min_by_key(|name| strsim::damerau_levenshtein(wanted, name));
        let related = all().filter(|name| words.iter().any(|word| name.contains(word)));
        let others = related.filter(|name| Some(*name) != closest).take(NEAR);
        closest.into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_setting_that_a_build_does_not_know_is_left_out_or_refused() {
        let names = ["jit".to_string(), "work_mem".to_string()];
        let knows = |name: &str| names.iter().any(|known| known == name);
        let reserved = own(&["port"]);
        let vocabulary =
            Vocabulary { version: "17.6", names: &names, knows: &knows, reserved: &reserved };
        let file = tempfile::NamedTempFile::new().unwrap();
        let with = |text: &str| {
            fs::write(&file, text).unwrap();
            let contender = format!("postgres:{}", file.path().display());
            vocabulary.settings(&contender.parse().unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(with("?io_method = sync\njit = off"), Ok(vec![("jit".into(), "off".into())]));
        let error = with("work_memm = 1").unwrap_err();
        assert!(
            error.starts_with("postgres 17.6 has no setting 'work_memm': did you mean 'work_mem'"),
            "{error}"
        );
        assert!(with("PORT = 1").unwrap_err().contains("'port'"));
    }
}
