//! The scan of releases: all between two are compared with the first, since releases are few and
//! their speed need not go one way.

use std::path::Path;

use anyhow::bail;
use rqps_dbms::source::{self, compare_versions};
use rqps_dbms::{DbmsError, Home};
use rqps_plan::{Build, Contender, Plan, Source};
use rqps_store::Run;
use rqps_study::{ReleaseScan, scan_json, scan_text};

use super::files::{JSON, TEXT, refuse_taken};
use super::{BisectWork, Exit, StepOutcome, commits, instead};
use crate::cli::output::{self, note};
use crate::cli::progress::Fetching;
use crate::cli::units::{Bytes, Roughly};

/// The most releases that are measured at once; of more, some first.
const AT_ONCE: usize = 16;
/// Where the commits between two releases are searched.
const COMMITS: &str = "commits";

/// Compares the releases between two with the first.
pub(super) fn scan(
    work: &BisectWork<'_>,
    (good, bad): (&Contender, &Contender),
    out: &Path,
) -> anyhow::Result<Exit> {
    let home = &work.setup.home;
    let versions = ReleaseList::find(work, home, good, bad)?;
    let contenders = versions.contenders(good);
    let mut scan = ReleaseScan::new(versions.all.clone(), work.arguments.direction.into());
    let first = scan.begin(AT_ONCE);
    let named: Vec<Contender> = first.iter().map(|place| contenders[*place].clone()).collect();
    let plan = work.arguments.plan(named)?;
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
    if !out.join(JSON).exists() && out.join("001-releases").exists() {
        note("the comparisons that are in there are used");
    } else {
        refuse_taken(out)?;
    }
    note(&format!("results go to {}", out.display()));
    let mut number = 0;
    let mut compare = |places: &[usize]| {
        number += 1;
        let contenders = places.iter().map(|place| contenders[*place].clone()).collect();
        let plan: Plan = instead(&plan, contenders, number, None);
        let path = out.join(format!("{number:03}-releases"));
        Ok::<_, anyhow::Error>(match work.measure(&path, &plan)? {
            StepOutcome::Interrupted => {
                note("interrupted. To resume: the same command with the same --out");
                None
            }
            // A release that refuses is out, with its log; the others are compared.
            StepOutcome::Failed => Some(Box::new(Run::open_without_samples(&path)?)),
            StepOutcome::Done(run) => Some(run),
        })
    };
    let mut places = first;
    while places.len() > 1 {
        let Some(run) = compare(&places)? else { return Ok(Exit::Interrupted) };
        scan.add(&run);
        places = scan.next(AT_ONCE);
    }
    let result = scan.result();
    if let Some((before, after)) = result.largest() {
        let Some(run) = compare(&[before, after])? else { return Ok(Exit::Interrupted) };
        scan.confirm(&run);
    }
    let text = scan_text(&scan, &result);
    let json = scan_json(&scan, &result, env!("CARGO_PKG_VERSION"));
    for (name, text) in [(TEXT, &text), (JSON, &json)] {
        rqps_store::write_whole(&out.join(name), |out| out.write_all(text.as_bytes()))?;
    }
    match work.arguments.json {
        true => output::print_json(&json)?,
        false => output::print(&text)?,
    }
    note(&format!("wrote {}", out.join(JSON).display()));
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
    commits::between_releases(work, good, tags, &out.join(COMMITS))
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
