//! The settings that a server runs with.

use std::collections::{BTreeMap, BTreeSet};

use rqps_plan::Flags;

use crate::source;

/// As the server reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// By name.
    pub values: BTreeMap<String, String>,
    /// Names of settings with the server's own default, where it reports that.
    pub defaults: BTreeSet<String>,
}

impl InForce {
    /// How it was compiled, if the server reports that among its settings.
    pub fn flags(&self) -> Option<Flags> {
        let told = |name: &str| self.values.get(name).map(String::as_str);
        let cflags = told("pg_config.CFLAGS")?;
        Some(source::of_pg_config(cflags, told("pg_config.CONFIGURE").unwrap_or_default()))
    }
}

/// The settings of sessions on a server as they were read first, by the place of these.
#[derive(Default)]
pub(crate) struct FirstInForce(BTreeMap<String, BTreeMap<String, String>>);

impl FirstInForce {
    /// The settings that had another value first, in words.
    pub(crate) fn changes(&mut self, place: &str, now: InForce) -> Option<String> {
        /// The most that are named.
        const MOST: usize = 6;
        let Some(first) = self.0.get(place) else {
            self.0.insert(place.to_string(), now.values);
            return None;
        };
        // What only one reading has was hidden in the other: a text that was empty, such as a list
        // of transactions, may hold anything later.
        let change = |(name, then): (&String, &String)| {
            let now = now.values.get(name).filter(|now| *now != then)?;
            Some(format!("{name} from '{then}' to '{now}'"))
        };
        let mut changes: Vec<String> = first.iter().filter_map(change).collect();
        let more = changes.len().saturating_sub(MOST);
        changes.truncate(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!changes.is_empty()).then(|| changes.join(", ") + &more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_with_another_value_has_changed_and_one_that_is_shown_no_more_has_not() {
        let values = |all: &[(&str, &str)]| InForce {
            values: all.iter().map(|(name, to)| (name.to_string(), to.to_string())).collect(),
            ..InForce::default()
        };
        let first = || values(&[("gtid_purged", ""), ("jit", "on"), ("work_mem", "4096 x kB")]);
        let mut known = FirstInForce::default();
        assert_eq!(known.changes("rqps", first()), None);
        let now = values(&[("jit", "off"), ("new", "1"), ("work_mem", "4096 x kB")]);
        assert_eq!(known.changes("rqps", now).as_deref(), Some("jit from 'on' to 'off'"));
        assert_eq!(known.changes("rqps", first()), None);
        // Sessions in another place have values of their own.
        assert_eq!(known.changes("rqps_2", values(&[("jit", "off")])), None);
    }
}
