//! What differs between remote servers: a comparison of two of them cannot say which difference is
//! the cause of a change.

use std::collections::BTreeSet;

use rqps_plan::Scope;
use rqps_store::ContenderRecord;

use super::{Judged, Verdicts};
use crate::model::PLACES;

/// The most settings that a sentence names.
const MOST: usize = 6;

impl Verdicts<'_> {
    /// The facts in which a contender differs from the baseline, if either is a remote server.
    pub(super) fn differences(&self, judged: &Judged<'_>) -> Option<String> {
        let record = |name: &str| self.run.contenders.iter().find(|record| record.name == name);
        let (base, contender) = (record(&self.base)?, record(&judged.contender)?);
        let settings = matches!(self.scope, Scope::Session | Scope::Place);
        let all = differ(base, contender);
        match (self.scope, all.len()) {
            (Scope::Build, _) => None,
            (_, 0) => Some(format!(
                "{} and {} do not differ in version, transport or any setting that can be read.",
                base.name, contender.name
            )),
            (_, count) => {
                let cause = match settings && count == 1 {
                    true => "",
                    false => " Which of these is the cause of a change cannot be said.",
                };
                let more = match count.saturating_sub(MOST) {
                    0 => String::new(),
                    more => format!(", and {more} more (see Contenders)"),
                };
                let named = all[..count.min(MOST)].join(", ");
                Some(format!(
                    "{} and {} differ in: {named}{more}.{cause}",
                    base.name, contender.name
                ))
            }
        }
    }
}

/// `version 16.4/17.2`
fn differ(base: &ContenderRecord, contender: &ContenderRecord) -> Vec<String> {
    if base.dbms != contender.dbms {
        return vec![format!("DBMS {}/{}", base.dbms, contender.dbms)];
    }
    let facts = [
        ("version", &base.version, &contender.version),
        ("transport", &base.transport, &contender.transport),
    ];
    let facts = facts.into_iter().filter(|(_, one, other)| one != other);
    let facts = facts.map(|(name, one, other)| format!("{name} {one}/{other}"));
    let is_told = |name: &&String| !PLACES.contains(&name.as_str());
    let names: BTreeSet<&String> =
        base.settings.keys().chain(contender.settings.keys()).filter(is_told).collect();
    let settings = names.into_iter().filter_map(|name| {
        let (one, other) = (base.settings.get(name)?, contender.settings.get(name)?);
        // A default of another version says no more than the version.
        let is_default = base.defaults.contains(name) && contender.defaults.contains(name);
        (one != other && !is_default).then(|| format!("{name} {one}/{other}"))
    });
    facts.chain(settings).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(version: &str, settings: &[(&str, &str)]) -> ContenderRecord {
        let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        ContenderRecord {
            dbms: "postgres".to_string(),
            version: version.to_string(),
            settings: settings.iter().map(pair).collect(),
            ..ContenderRecord::default()
        }
    }

    #[test]
    fn versions_and_settings_are_named_and_places_are_not() {
        let one = record("16.4", &[("jit", "on"), ("port", "1"), ("work_mem", "4096 x kB")]);
        let mut other = record("17.2", &[("jit", "off"), ("port", "2"), ("work_mem", "4096 x kB")]);
        assert_eq!(differ(&one, &other), ["version 16.4/17.2", "jit on/off"]);
        let mut one = one;
        for record in [&mut one, &mut other] {
            record.defaults.insert("jit".to_string());
        }
        assert_eq!(differ(&one, &other), ["version 16.4/17.2"]);
        other.dbms = "mysql".to_string();
        assert_eq!(differ(&one, &other), ["DBMS postgres/mysql"]);
    }
}
