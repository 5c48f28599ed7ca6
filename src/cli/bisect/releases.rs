//! The scan of releases: all between two are compared with the first, since releases are few and
//! their speed need not go one way.

use std::path::Path;

use anyhow::bail;
use rqps_dbms::source::{self, compare_versions};
use rqps_dbms::{DbmsError, Home};
use rqps_plan::{Build, Contender, Plan, Source};
use rqps_report::BisectReport;
use rqps_store::Run;
use rqps_study::{ReleaseScan, ScanStep};

use super::files::{COMMITS, StoredScan, refuse_taken};
use super::{BisectWork, Exit, StepOutcome, commits, instead, written};
use crate::cli::output::note;
use crate::cli::progress::Fetching;
use crate::cli::units::{Bytes, Roughly};

/// Compares the releases between two with the first.
pub(super) fn scan(
    work: &BisectWork<'_>,
    (good, bad): (&Contender, &Contender),
    out: &Path,
) -> anyhow::Result<Exit> {
    let home = &work.setup.home;
    let versions = ReleaseList::find(work, home, good, bad)?;
    let contenders = versions.contenders(good);
    let direction = work.arguments.direction.into();
    let mut scan = ReleaseScan::new(versions.all.clone(), direction);
    let first = scan.next();
    let named = first.places().iter().map(|place| contenders[*place].clone());
    let plan = work.arguments.plan(named.collect())?;
    let (time, disk) = work.estimate(&plan)?;
    note(&format!(
        "{} releases of {} from {}: {}",
        versions.all.len(),
        good.dbms,
        versions.source,
        versions.all.join(", ")
    ));
    note(&format!(
        "about {} and at most {} of disk, if one comparison is enough",
        Roughly(time),
        Bytes(disk)
    ));
    if work.arguments.dry_run {
        return Ok(Exit::Done);
    }
    if StoredScan::exists(out) && !out.join(written::JSON).exists() {
        if StoredScan::read(out)?.releases != versions.all {
            bail!("'{}' is a scan of other releases. Use another --out", out.display());
        }
        note("the comparisons that are in there are used");
    } else {
        refuse_taken(out)?;
        let like = Contender { label: None, build: Build::Any, ..good.clone() };
        StoredScan::new(&like, &versions.all, direction).write(out)?;
    }
    note(&format!("results go to {}", out.display()));
    let mut step = first;
    for number in 1.. {
        if step == ScanStep::Done {
            break;
        }
        let of_step = step.places().iter().map(|place| contenders[*place].clone()).collect();
        let plan: Plan = instead(&plan, of_step, number, None);
        let path = StoredScan::comparison(out, number);
        let run = match work.measure(&path, &plan)? {
            StepOutcome::Interrupted => {
                note("interrupted. To resume: the same command with the same --out");
                return Ok(Exit::Interrupted);
            }
            // A release that refuses is out, with its log; the others are compared.
            StepOutcome::Failed => Box::new(Run::open_without_samples(&path)?),
            StepOutcome::Done(run) => run,
        };
        scan.add_run(&written::name(&path), &step, &run);
        step = scan.next();
    }
    let report = || BisectReport::of_releases(&scan, written::place(out, good, None)).formats();
    super::tell(out, &report(), work.arguments.json)?;
    let result = scan.result();
    let largest = result.largest().filter(|_| scan.is_confirmed(&result));
    let Some((before, after)) = largest else { return Ok(Exit::Done) };
    let pair = [before, after].map(|place| versions.all[place].clone());
    if work.arguments.repo.is_none() {
        note(&format!(
            "to search the commits between {} and {}: add --repo and a checkout",
            pair[0], pair[1]
        ));
        return Ok(Exit::Done);
    }
    let tags =
        pair.map(|version| source::tags(good.dbms, &version)).map(|tags| tags.unwrap_or_default());
    let exit = commits::between_releases(work, good, tags, &out.join(COMMITS))?;
    // It leads to the search that followed now.
    written::write(out, &report())?;
    Ok(exit)
}

/// The releases of one source.
struct ReleaseList {
    source: Source,
    all: Vec<String>,
}

impl ReleaseList {
    fn find(
        work: &BisectWork<'_>,
        home: &Home,
        good: &Contender,
        bad: &Contender,
    ) -> anyhow::Result<ReleaseList> {
        let mut fetching = Fetching::new();
        let mut tell = |event| fetching.tell(event, &work.setup.cancel);
        let wanted = [good, bad].map(|one| (one.dbms, one.build.clone()));
        // One source for the whole scan, since builds of different packagers differ by more than
        // their release.
        let alike = source::alike(home, &wanted, &mut tell).map_err(DbmsError::from)?;
        let (source, from, to) = match &alike[..] {
            [
                Build::Version { source: Some(one), version: from },
                Build::Version { source: Some(other), version: to },
            ] if one == other => (one.clone(), from.clone(), to.clone()),
            [Build::Version { .. }, Build::Version { .. }] => bail!(
                "{good} and {bad} are not of one source. Name it, as in postgres@debian-17.6, so that all \
                 releases are built alike"
            ),
            _ => bail!(
                "{good} and {bad} are no releases. Name two, as in postgres@17.6 and postgres@18.0, or two \
                 commits, as in postgres@git:REL_17_6"
            ),
        };
        if compare_versions(&from, &to).is_ge() {
            bail!(
                "GOOD is not older than BAD: {from} and {to}. Name the older one first; to search for a \
                 change to the better: --direction faster"
            );
        }
        let all = source::releases(home, good.dbms, &source, (&from, &to), &mut tell);
        Ok(ReleaseList { source, all: all.map_err(DbmsError::from)? })
    }

    /// A contender for each, labelled by its version.
    fn contenders(&self, like: &Contender) -> Vec<Contender> {
        let one = |version: &String| Contender {
            label: Some(version.clone()),
            build: Build::Version { source: Some(self.source.clone()), version: version.clone() },
            ..like.clone()
        };
        self.all.iter().map(one).collect()
    }
}
