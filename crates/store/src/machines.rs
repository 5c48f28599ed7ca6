//! Runs by the machine that they were made on. Rounds are merged within a machine only: between
//! machines, only what each has found of a baseline of its own is compared.

use rqps_observe::MachineIdentity;

use crate::difference::Difference;
use crate::join::differences_of_machines;
use crate::merge::merge;
use crate::merge_error::MergeError;
use crate::run::Run;

/// The comparisons of one machine, with the rounds of all.
#[derive(Clone, Debug)]
pub struct MachineRuns {
    /// The names of the runs.
    pub names: Vec<String>,
    pub run: Run,
}

/// Comparisons of the same contenders on several machines.
#[derive(Clone, Debug)]
pub struct Machines {
    /// In the order of their first runs.
    pub machines: Vec<MachineRuns>,
    /// What differs between them, if they were put together with force.
    pub differences: Vec<Difference>,
    /// Names of runs whose machines look like copies of each other.
    pub clones: Vec<(String, String)>,
}

/// Whether these are comparisons on more than one machine, as far as it is known of all.
pub fn are_of_machines(runs: &[(String, Run)]) -> bool {
    let is_known = |(_, run): &(String, Run)| {
        run.manifest.identity.is_some() && run.plan.comparison().is_some()
    };
    runs.iter().all(is_known) && places(&identities(runs)).iter().any(|place| *place > 0)
}

/// The runs by machine, each under a name; there must be one. Runs whose machine is not known count
/// as of one machine. Runs that differ are rejected, except with `force`.
pub fn by_machine(runs: Vec<(String, Run)>, force: bool) -> Result<Machines, MergeError> {
    let identities = identities(&runs);
    let places = places(&identities);
    let differences = differences_of_machines(&runs)?;
    if !differences.is_empty() && !force {
        return Err(MergeError::NotComparable(differences));
    }
    let mut clones = Vec::new();
    for (later, identity) in identities.iter().enumerate() {
        let copied = (0..later).find(|earlier| identities[*earlier].is_clone(identity));
        clones.extend(copied.map(|earlier| (runs[earlier].0.clone(), runs[later].0.clone())));
    }
    let count = places.iter().max().map_or(0, |last| last + 1);
    let mut of_machines: Vec<Vec<(String, Run)>> = vec![Vec::new(); count];
    for (place, run) in places.into_iter().zip(runs) {
        of_machines[place].push(run);
    }
    let merged = of_machines.into_iter().map(|mut runs| {
        let names = runs.iter().map(|(name, _)| name.clone()).collect();
        let run = match runs.len() {
            1 => runs.remove(0).1,
            _ => merge(runs, force)?,
        };
        Ok(MachineRuns { names, run })
    });
    let machines = merged.collect::<Result<_, MergeError>>()?;
    Ok(Machines { machines, differences, clones })
}

fn identities(runs: &[(String, Run)]) -> Vec<MachineIdentity> {
    runs.iter().map(|(_, run)| run.manifest.identity.clone().unwrap_or_default()).collect()
}

/// The machine of each run, counted from 0 in their order.
fn places(identities: &[MachineIdentity]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..identities.len()).collect();
    for (later, identity) in identities.iter().enumerate() {
        for earlier in 0..later {
            let (one, other) = (places[earlier], places[later]);
            if one != other && identities[earlier].is_same(identity) {
                // A run can show that two others are of one machine.
                let kept = one.min(other);
                places
                    .iter_mut()
                    .filter(|it| **it == one || **it == other)
                    .for_each(|it| *it = kept);
            }
        }
    }
    let mut order: Vec<usize> = Vec::new();
    let number = |place: usize| {
        order.iter().position(|known| *known == place).unwrap_or_else(|| {
            order.push(place);
            order.len() - 1
        })
    };
    places.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(boot: &str, installation: Option<&str>, host: &str) -> MachineIdentity {
        let installation = installation.map(str::to_string);
        MachineIdentity { boot: boot.to_string(), installation, host: host.to_string() }
    }

    #[test]
    fn runs_of_one_machine_are_found_in_any_order() {
        let host = identity("b1", Some("m1"), "h1");
        let rebooted = identity("b2", Some("m1"), "h1");
        let container = identity("b2", None, "pod");
        let other = identity("b9", Some("m9"), "h9");
        assert_eq!(places(&[host.clone(), other.clone(), rebooted.clone()]), [0, 1, 0]);
        // The container and the host have nothing in common but the boot of the third.
        assert_eq!(places(&[container, host, rebooted, other]), [0, 0, 0, 1]);
        assert_eq!(places(&[]), Vec::<usize>::new());
    }
}
