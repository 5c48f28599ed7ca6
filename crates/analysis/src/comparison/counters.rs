//! The counters of the DBMS per operation in both arms, from which causes are computed.

use rqps_observe::Metric;

use super::{Judged, Results};
use crate::diagnosis::{Change, is_looked_at};

impl Results<'_> {
    /// By name, the counters of a test that differ significantly and by at least the margin, and
    /// those that a rule uses. A DBMS has hundreds of others.
    pub fn counters<'v>(&self, judged: &'v Judged<'_>, index: usize) -> Vec<(&'v str, &'v Change)> {
        let margin = self.margin(&self.tests[index]);
        let meanings = &judged.evidence[index].meanings;
        let is_looked_at = |name: &str| meanings.get(name).is_some_and(|of| is_looked_at(*of));
        let is_shown = |name: &str, change: &Change| {
            let differs = change.is_sure() && change.log.value.abs() >= margin;
            let is_something = change.base > 0.0 || change.contender > 0.0;
            Metric::from_name(name).is_none() && is_something && (differs || is_looked_at(name))
        };
        let all = judged.evidence[index].metrics.iter();
        let all = all.map(|(name, change)| (name.as_str(), change));
        all.filter(|(name, change)| is_shown(name, change)).collect()
    }
}
