//! A baseline that is not measured again: its whole runs are those of an earlier comparison.
//!
//! They can be used only if everything else is the same: the plan, the build, the settings in force
//! and the machine. The reference loop shows how the speed of the machine has changed since, and
//! intervals include that change.

use std::path::Path;
use std::time::{Duration, Instant};

use rqps_dbms::{Dbms, Home, Place};
use rqps_observe::Usual;
use rqps_plan::{CONTROL, Comparison, Method, Plan, StoredBaseline};
use rqps_store::{ContenderRecord, RoundRecord, Run, RunDirectory};

use super::folders::Folders;
use super::stored_baseline_error::StoredBaselineError;
use crate::contender::{describe, keep};
use crate::error::LabError;
use crate::lab::Lab;

/// The stored baseline of the comparison in `path`, if it can be used for `plan`, and its number of
/// rounds. Its build and settings are compared later: see [`Earlier::open`].
pub fn stored_baseline(
    home: &Home,
    path: &Path,
    plan: &Plan,
) -> Result<(StoredBaseline, u32), LabError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let run = Run::open_without_samples(&path)?;
    let (Some(wanted), Some(stored)) = (plan.comparison(), run.plan.comparison()) else {
        return Err(StoredBaselineError::NoComparison(path).into());
    };
    if stored.baseline_from.is_some() {
        return Err(StoredBaselineError::NotItsOwn(path).into());
    }
    let passes = counted(&run, plan, stored);
    let tests = wanted.tests();
    if tests.iter().any(|test| stored.method_of(test) == Method::Slices) {
        return Err(StoredBaselineError::Sliced(path).into());
    }
    let machine = rqps_observe::machine_facts(&home.data().map_err(rqps_dbms::DbmsError::from)?);
    let is_same = [
        ("the baseline", run.plan.contenders.first() == plan.contenders.first()),
        ("the seed", run.plan.seed == plan.seed),
        ("the cache", run.plan.cache == plan.cache),
        ("the memory limit", run.plan.memory == plan.memory),
        ("the workload", stored.of == wanted.of),
        ("the number of loads", stored.loads == wanted.loads),
        ("the A/A control", stored.control == wanted.control),
        ("the use of guards", stored.guards == wanted.guards),
        ("the release of rqps", run.manifest.rqps_version == env!("CARGO_PKG_VERSION")),
    ];
    let mut differing: Vec<String> =
        is_same.iter().filter(|(_, same)| !same).map(|(what, _)| what.to_string()).collect();
    differing.extend(changed(&run.manifest.machine, &machine));
    let nanos = passes.iter().flat_map(|pass| &pass.reference_loop);
    let reference_loop =
        Usual::of(&nanos.map(|nanos| Duration::from_nanos(*nanos)).collect::<Vec<_>>());
    let (Some(reference_loop_rounds), Some(reference_loop), []) =
        (run.manifest.reference_loop_rounds, reference_loop, &differing[..])
    else {
        if differing.is_empty() {
            differing.push("the reference loop (the run has none)".to_string());
        }
        return Err(StoredBaselineError::Differs { path, what: differing.join(", ") }.into());
    };
    let mut rounds = u32::MAX;
    for test in tests {
        let own = passes.iter().filter(|pass| pass.test == test).count();
        let fewest = wanted.fewest_rounds.min(wanted.rounds);
        if own < fewest as usize {
            return Err(StoredBaselineError::TooFew { path, test, rounds: own, fewest }.into());
        }
        rounds = rounds.min(own as u32);
    }
    let stored = StoredBaseline {
        path,
        run: run.manifest.id,
        created: run.manifest.created,
        reference_loop: reference_loop.median.as_nanos() as u64,
        reference_loop_rounds,
    };
    Ok((stored, rounds))
}

/// The facts that differ, with both values. A fact that only one run has is no difference: another
/// release of rqps may record more facts of the same machine.
fn changed(stored: &[(String, String)], now: &[(String, String)]) -> Vec<String> {
    let difference = |(name, then): &(String, String)| {
        let (_, now) = now.iter().find(|(known, _)| known == name)?;
        (then != now).then(|| format!("{name} ({then}, now {now})"))
    };
    stored.iter().filter_map(difference).collect()
}

/// The rounds in which the baseline took part, and its A/A control if there is one, and that no
/// guard discarded.
fn counted(run: &Run, plan: &Plan, stored: &Comparison) -> Vec<RoundRecord> {
    let base = plan.contenders.first().map(|base| base.name()).unwrap_or_default();
    let took_part =
        |pass: &RoundRecord, name: &str| pass.slices.iter().any(|slice| slice.arm == name);
    let counts = |pass: &&RoundRecord| {
        pass.discarded.is_none()
            && pass.round <= stored.rounds
            && took_part(pass, &base)
            && (!stored.control || took_part(pass, CONTROL))
    };
    run.rounds.iter().filter(counts).cloned().collect()
}

/// The baseline of an earlier comparison.
pub(crate) struct Earlier {
    /// The names of the baseline and of its A/A control.
    names: [String; 2],
    passes: Vec<RoundRecord>,
}

impl Earlier {
    /// Starts the baseline once, to check that its build and the settings in force are those of the
    /// stored run; its description is the current one.
    pub(crate) fn open(
        stored: &StoredBaseline,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        plan: &Plan,
        dbms: &dyn Dbms,
        folders: &Folders,
    ) -> Result<Earlier, LabError> {
        let path = &stored.path;
        let run = Run::open_without_samples(path)?;
        let Some(comparison) = run.plan.comparison() else {
            return Err(StoredBaselineError::NoComparison(path.clone()).into());
        };
        if run.manifest.id != stored.run {
            return Err(StoredBaselineError::OtherRun(path.clone()).into());
        }
        let base = &plan.contenders[0];
        let begun = Instant::now();
        let place = Place {
            data: folders.of(0).join("looked-at"),
            log: directory.log(&base.name()),
            ..Place::default()
        };
        let mut server = dbms.start(lab.home, &place, lab.cancel)?;
        let seen = describe(base, dbms, &*server, begun.elapsed().as_secs_f64());
        server.discard()?;
        let seen = seen?;
        let then = run.contenders.iter().find(|one| one.name == base.name());
        let differing =
            then.map_or(vec!["the baseline".to_string()], |then| differing(then, &seen));
        if !differing.is_empty() {
            let what = differing.join(", ");
            return Err(StoredBaselineError::Differs { path: path.clone(), what }.into());
        }
        keep(directory, base, &seen)?;
        let names = [base.name(), CONTROL.to_string()];
        Ok(Earlier { names, passes: counted(&run, plan, comparison) })
    }

    /// Adds the baseline's whole run of the same round to a new measurement of the test.
    pub(super) fn join(&self, pass: &mut RoundRecord) {
        let mut of_test = self.passes.iter().filter(|stored| stored.test == pass.test);
        let Some(stored) = of_test.nth(pass.round as usize - 1) else { return };
        // Its place is behind the arms that ran now. Each of these had a turn, even if it could not
        // run.
        let behind = pass.slices.iter().map(|slice| slice.place + 1).max().unwrap_or(0);
        for name in &self.names {
            let own = stored.slices.iter().filter(|slice| slice.arm == *name);
            for slice in own {
                let mut slice = slice.clone();
                slice.place += behind;
                pass.slices.push(slice);
            }
            if let Some(arm) = stored.arms.get(name) {
                let mut arm = arm.clone();
                arm.slot += behind;
                pass.arms.insert(name.clone(), arm);
            }
        }
    }
}

/// How a contender differs from before.
fn differing(then: &ContenderRecord, now: &ContenderRecord) -> Vec<String> {
    let is_same = [
        ("its version", then.version == now.version),
        ("its build", then.server_sha256 == now.server_sha256),
        ("its packages", then.archive_sha256 == now.archive_sha256),
        ("its libc", then.libc == now.libc),
        ("its transport", then.transport == now.transport),
    ];
    let mut all: Vec<String> =
        is_same.iter().filter(|(_, same)| !same).map(|(what, _)| what.to_string()).collect();
    let is_other = |name: &&String| then.settings.get(*name) != now.settings.get(*name);
    let names = then.settings.keys().chain(now.settings.keys());
    let mut settings: Vec<String> = names.filter(is_other).cloned().collect();
    settings.sort();
    settings.dedup();
    if !settings.is_empty() {
        all.push(format!("its settings {}", settings.join(", ")));
    }
    all
}

#[cfg(test)]
mod tests {
    use rqps_plan::{CONTROL, Class, Counts};
    use rqps_store::SliceRecord;

    use super::*;

    #[test]
    fn a_stored_baseline_has_its_place_behind_all_new_turns() {
        let slice = |place: u32, contender: &str| SliceRecord {
            place,
            arm: contender.to_string(),
            ..SliceRecord::default()
        };
        let pass = |slices| RoundRecord {
            round: 1,
            slices,
            ..RoundRecord::new(Class::Point, Counts::Statements)
        };
        let earlier = Earlier {
            names: ["base".to_string(), CONTROL.to_string()],
            passes: vec![pass(vec![slice(0, CONTROL), slice(1, "base")])],
        };
        // Of two contenders the one whose turn was first could not run.
        let mut now = pass(vec![slice(1, "second")]);
        earlier.join(&mut now);
        let places: Vec<u32> = now.slices.iter().map(|slice| slice.place).collect();
        assert_eq!(places, [1, 3, 2]);
    }

    #[test]
    fn what_is_not_as_it_was_is_named() {
        let record = |version: &str, size: &str| ContenderRecord {
            version: version.to_string(),
            settings: [("shared_buffers".to_string(), size.to_string())].into(),
            ..ContenderRecord::default()
        };
        assert!(differing(&record("17.6", "1GB"), &record("17.6", "1GB")).is_empty());
        let told = differing(&record("17.6", "1GB"), &record("17.7", "2GB"));
        assert_eq!(told, ["its version", "its settings shared_buffers"]);
        let facts = |kernel: &str| vec![("kernel".to_string(), kernel.to_string())];
        assert!(changed(&facts("6.18"), &facts("6.18")).is_empty());
        assert_eq!(changed(&facts("6.12"), &facts("6.18")), ["kernel (6.12, now 6.18)"]);
        assert!(changed(&[], &facts("6.18")).is_empty(), "an older rqps told fewer facts");
        assert!(changed(&facts("6.18"), &[]).is_empty());
    }
}
