//! The time and disk that plans need, which is told before anything starts.

use std::path::PathBuf;

use rqps_dbms::source::{self, Progress, SourceError};
use rqps_dbms::{DbmsError, Home};
use rqps_lab::{PlanEstimate, Time};
use rqps_plan::{Build, Contender, Plan, Source};
use rqps_system::Cancelled;

use super::output;
use super::units::{Bytes, Roughly};

/// The time and disk of workloads that run one after another.
pub(crate) struct Forecast {
    pub(crate) each: Vec<PlanEstimate>,
    pub(super) time: Time,
    /// Warnings of budgets that may be too small.
    pub(super) short: Vec<String>,
    /// Peak bytes of data and logs: those of a workload are removed when it is done.
    pub(super) data: u64,
    /// Builds that are not installed, and their bytes.
    pub(super) fetched: Vec<String>,
    pub(super) builds: u64,
    pub(super) free: Option<u64>,
    pub(super) folder: PathBuf,
}

impl Forecast {
    pub(crate) fn of<'a>(
        plans: impl Iterator<Item = &'a Plan> + Clone,
        home: &Home,
    ) -> anyhow::Result<Self> {
        let (cpus, memory) = (rqps_observe::cpus(), rqps_dbms::memory());
        let estimates = plans.clone().map(|plan| rqps_lab::estimate(plan, cpus, memory));
        let each: Vec<PlanEstimate> = estimates.collect::<Result<_, _>>()?;
        let short = plans.clone().zip(&each).filter_map(|(plan, estimate)| short(plan, estimate));
        let short = short.collect();
        let folder = home.data().map_err(DbmsError::from)?;
        let mut absent: Vec<Contender> = Vec::new();
        for plan in plans {
            for contender in as_taken(home, plan)? {
                let is_same = |one: &Contender| one.to_string() == contender.to_string();
                if !absent.iter().any(is_same) && !is_present(home, &contender)? {
                    refuse_unknown(home, &contender)?;
                    absent.push(contender);
                }
            }
        }
        Ok(Forecast {
            time: each.iter().map(|estimate| estimate.time).fold(Time::default(), |a, b| a + b),
            data: each.iter().map(|estimate| estimate.disk).max().unwrap_or(0),
            each,
            short,
            fetched: absent.iter().map(Contender::to_string).collect(),
            builds: absent.iter().map(|one| rqps_lab::build_bytes(one.dbms)).sum(),
            free: rqps_observe::free_bytes(&folder),
            folder,
        })
    }

    /// Prints it before anything starts.
    pub(crate) fn tell(&self) {
        output::note(&self.line());
        self.short.iter().chain(&self.warning()).for_each(|warning| output::note(warning));
    }

    pub(super) fn line(&self) -> String {
        let fetched = match self.fetched.is_empty() {
            true => String::new(),
            false => format!(", after fetching {}", self.fetched.join(", ")),
        };
        let longest = self.each.iter().filter_map(|estimate| estimate.longest_operation).min();
        let longer = longest.map_or(String::new(), |longest| {
            format!(" (longer if a query takes over {} ms)", longest.as_millis())
        });
        format!(
            "estimate: about {}{longer} and at most {} of disk{fetched}",
            Roughly(self.time.total()),
            Bytes(self.data + self.builds)
        )
    }

    /// A warning if there is not enough disk space.
    pub(super) fn warning(&self) -> Option<String> {
        let needed = self.data + self.builds;
        let free = self.free.filter(|free| *free < needed)?;
        Some(format!(
            "not enough disk space: '{}' has {} free, and {} may be needed. Free some, set RQPS_HOME \
             to another place, or plan fewer rows",
            self.folder.display(),
            Bytes(free),
            Bytes(needed)
        ))
    }
}

/// A warning if the budget of a comparison is less than its estimate.
fn short(plan: &Plan, estimate: &PlanEstimate) -> Option<String> {
    let comparison = plan.comparison()?;
    let budget = comparison.budget?;
    // The estimate has as many rounds as fit, but no fewer than a verdict needs.
    let needed = estimate.budgeted();
    (needed > budget.0).then(|| {
        format!(
            "a budget of {budget} may be too small: the {} rounds that a verdict needs take about {}. \
             Use fewer tests, a shorter --secs or fewer contenders",
            comparison.fewest_rounds,
            Roughly(needed)
        )
    })
}

/// Whether there is nothing to fetch for a contender.
fn is_present(home: &Home, contender: &Contender) -> anyhow::Result<bool> {
    if contender.dbms.is_bundled() || matches!(contender.build, Build::Server { .. }) {
        return Ok(true);
    }
    let mut tell = |_| Ok(());
    let present = source::present(home, contender.dbms, &contender.build, &mut tell);
    Ok(present.map_err(DbmsError::from)?.is_some())
}

/// The builds of a plan's contenders, without engines, configs and settings. If lists of versions
/// would have to be fetched, they are as the plan has them.
fn as_taken(home: &Home, plan: &Plan) -> anyhow::Result<Vec<Contender>> {
    let wanted: Vec<_> = plan.contenders.iter().map(|it| (it.dbms, it.build.clone())).collect();
    let builds = match source::alike(home, &wanted, &mut ask_nobody) {
        Ok(builds) => builds,
        Err(SourceError::Cancelled(_)) => wanted.iter().map(|(_, build)| build.clone()).collect(),
        Err(error) => return Err(DbmsError::from(error).into()),
    };
    let only = |(build, one): (Build, &Contender)| Contender {
        label: None,
        engine: None,
        config: None,
        settings: Vec::new(),
        build,
        ..one.clone()
    };
    Ok(builds.into_iter().zip(&plan.contenders).map(only).collect())
}

/// A plan asks no registry, and fetches and builds nothing; it only looks for builds of the system,
/// and for images.
fn ask_nobody(progress: Progress) -> Result<(), Cancelled> {
    match progress {
        Progress::Looking { source: Source::System | Source::Image } | Progress::Asking { .. } => {
            Ok(())
        }
        _ => Err(Cancelled),
    }
}

/// Refuses a build that no source of rqps can have, as a run would: it proceeds like a run up to
/// the first request to a registry. Only registries know whether they have that version.
fn refuse_unknown(home: &Home, contender: &Contender) -> anyhow::Result<()> {
    match source::obtain(home, contender.dbms, &contender.build, &mut ask_nobody) {
        Ok(_) | Err(SourceError::Cancelled(_)) => Ok(()),
        Err(error) => Err(DbmsError::from(error).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// npm packages have no MySQL; only the registry knows all versions of Postgres.
    #[test]
    fn a_build_that_no_source_has_is_refused_without_asking_anybody() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let refused = |contender: &str| refuse_unknown(&home, &contender.parse().unwrap());
        let error = refused("mysql@npm-8.0.33").unwrap_err().to_string();
        assert!(error.starts_with("cannot get mysql 8.0.33: "), "{error}");
        assert!(refused("postgres@npm-1.2.3").is_ok());
        // If tools for the build are missing, it is refused for that.
        if let Err(error) = refused("postgres@src-18.6") {
            let error = error.to_string();
            assert!(error.starts_with("cannot build postgres 18.6: "), "{error}");
        }
        let tarballs = std::fs::read_dir(folder.path().join("source/tarballs"));
        assert_eq!(tarballs.into_iter().flatten().count(), 0, "nothing is fetched");
    }
}
