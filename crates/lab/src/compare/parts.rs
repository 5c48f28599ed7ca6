//! Which arms are up together: all of them, or if memory is too small, the baseline with one
//! contender at a time.

use rqps_plan::{Comparison, Method, Plan};

use crate::Event;
use crate::arm::{Arm, arms};
use crate::cache::cache;
use crate::error::LabError;
use crate::selftest::treatment::Treatment;

/// The share of available memory that the servers may use, in percent: the rest is for the page
/// cache of their files.
const MOST_MEMORY: u64 = 80;
/// The memory of a server beside its cache, in bytes: code, buffers of connections, its own tables.
/// An idle MySQL 8.0 takes 380 MB, a Postgres 40 MB.
const BESIDE: u64 = 200 << 20;

/// Arms by their places, in groups that fit.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) groups: Vec<Vec<usize>>,
    /// Why there are several.
    pub(crate) reason: Option<Event>,
}

impl Parts {
    /// Each group with its number, from 1.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u32, &[usize])> {
        (1..).zip(self.groups.iter().map(Vec::as_slice))
    }

    pub(crate) fn new(plan: &Plan, comparison: &Comparison) -> Result<Parts, LabError> {
        let memory = rqps_dbms::memory();
        let available = rqps_observe::available_memory().unwrap_or(memory);
        Parts::within(plan, comparison, memory, available)
    }

    /// On a machine with `memory` bytes of memory, of which `available` are available.
    pub(crate) fn within(
        plan: &Plan,
        comparison: &Comparison,
        memory: u64,
        available: u64,
    ) -> Result<Parts, LabError> {
        let all = arms(plan, &Treatment::default());
        let together = vec![(0..all.len()).collect()];
        if !comparison.uses(Method::Slices) {
            return Ok(Parts { groups: together, reason: None });
        }
        let needs = needs(plan, &all, memory)?;
        split(&all, &needs, available / 100 * MOST_MEMORY)
    }
}

/// Whether the servers of all arms fit in memory at once.
pub(super) fn fit(plan: &Plan, all: &[Arm]) -> Result<bool, LabError> {
    let memory = rqps_dbms::memory();
    let available = rqps_observe::available_memory().unwrap_or(memory);
    Ok(needs(plan, all, memory)?.iter().sum::<u64>() <= available / 100 * MOST_MEMORY)
}

/// The memory of each arm's server.
fn needs(plan: &Plan, all: &[Arm], memory: u64) -> Result<Vec<u64>, LabError> {
    let need = |one: &Arm| -> Result<u64, LabError> {
        let contender = &plan.contenders[one.index];
        if one.is_remote {
            return Ok(0);
        }
        let chosen = cache(plan, contender, memory)?;
        let needed = rqps_dbms::cache_bytes(contender).or(chosen).unwrap_or(0) + BESIDE;
        // A control group may limit it to less, including the page cache of its files.
        let held = plan.memory.filter(|_| contender.has_own_processes());
        Ok(held.map_or(needed, |most| needed.min(most.0)))
    };
    all.iter().map(need).collect()
}

fn split(all: &[Arm], needs: &[u64], available: u64) -> Result<Parts, LabError> {
    let sum = |places: &[usize]| places.iter().map(|place| needs[*place]).sum::<u64>();
    let everybody: Vec<usize> = (0..all.len()).collect();
    if sum(&everybody) <= available {
        return Ok(Parts { groups: vec![everybody], reason: None });
    }
    let fit = (1..=all.len()).take_while(|count| sum(&everybody[..*count]) <= available).count();
    let control = all.iter().position(|one| one.is_control && one.index == 0);
    let mut groups = Vec::new();
    let mut has_control = false;
    for place in (1..all.len()).filter(|place| !all[*place].is_control) {
        let mut group = vec![0, place];
        let is_its_control = |other: &Arm| other.is_control && other.index == all[place].index;
        group.extend(all.iter().position(is_its_control));
        let needed = sum(&group);
        if needed > available {
            let (base, contender) = (all[0].name.clone(), all[place].name.clone());
            let (needed, most) = (needed >> 20, available >> 20);
            return Err(LabError::Memory { base, contender, needed, most });
        }
        if let Some(control) = control.filter(|control| needed + needs[*control] <= available) {
            group.push(control);
            has_control = true;
        }
        groups.push(group);
    }
    if let Some(control) =
        control.filter(|control| !has_control && sum(&[0, *control]) <= available)
    {
        groups.push(vec![0, control]);
    }
    let (needed, available) = (sum(&everybody) >> 20, available >> 20);
    let reason = Event::InPairs { servers: all.len(), fit, needed, available };
    Ok(Parts { groups, reason: Some(reason) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_plan::{Cache, Dbms, Design, Microbenchmark};
    use rqps_workload::Dialect;

    /// A baseline, contenders and the A/A control.
    fn all(contenders: usize) -> Vec<Arm> {
        let one = |index: usize, is_control| Arm {
            name: format!("{index}"),
            index,
            dbms: Dbms::Sqlite,
            dialect: Dialect::SQLITE,
            is_control,
            is_remote: false,
            tables: index,
            injection: None,
        };
        let mut all: Vec<Arm> = (0..=contenders).map(|index| one(index, false)).collect();
        all.push(one(0, true));
        all
    }

    fn groups(needs: &[u64], available: u64) -> Vec<Vec<usize>> {
        split(&all(needs.len() - 2), needs, available).unwrap().groups
    }

    #[test]
    fn all_are_up_at_once_where_they_fit() {
        assert_eq!(groups(&[10, 20, 20, 10], 60), [[0, 1, 2, 3]]);
    }

    #[test]
    fn otherwise_the_baseline_is_up_with_one_contender_at_a_time_and_the_control_where_it_fits() {
        assert_eq!(groups(&[10, 20, 20, 10], 59), [[0, 1, 3], [0, 2, 3]]);
        assert_eq!(groups(&[10, 20, 25, 10], 40), [vec![0, 1, 3], vec![0, 2]]);
        assert_eq!(groups(&[10, 20, 20, 10], 35), [[0, 1], [0, 2], [0, 3]]);
        let parts = split(&all(2), &[10 << 20, 20 << 20, 20 << 20, 10 << 20], 50 << 20).unwrap();
        let reason = Event::InPairs { servers: 4, fit: 3, needed: 60, available: 50 };
        assert_eq!(parts.reason, Some(reason));
    }

    /// The parts of builds whose caches are chosen, on a machine with 16 GB of memory of which 8
    /// are available.
    fn on_a_machine(contenders: &str, rows: &str, memory: Option<&str>) -> Result<Parts, LabError> {
        let benchmark = Microbenchmark {
            tables: 1,
            rows: rows.parse().unwrap(),
            clients: vec![1],
            read_time: "1s".parse().unwrap(),
            write_time: "1s".parse().unwrap(),
            tests: vec!["point-query".to_string()],
            fair_writes: true,
            pause: "1s".parse().unwrap(),
            quiesce_after_each_write: false,
            check: true,
        };
        let comparison = Comparison::new(benchmark.into());
        let plan = Plan {
            contenders: contenders.split(' ').map(|one| one.parse().unwrap()).collect(),
            seed: 1,
            cache: Some(Cache::Cached),
            memory: memory.map(|memory| memory.parse().unwrap()),
            design: Design::Comparison(comparison.clone()),
        };
        Parts::within(&plan, &comparison, 16 << 30, 8 << 30)
    }

    #[test]
    fn servers_that_are_held_to_less_memory_need_no_more() {
        let servers = "mysql?innodb_buffer_pool_size=4G again=mysql?innodb_buffer_pool_size=4G";
        assert!(on_a_machine(servers, "100K", None).is_err(), "not even two of them fit");
        let held = on_a_machine(servers, "100K", Some("2G")).unwrap();
        assert_eq!(held.groups, [[0, 1, 2]], "three times 2 GB are 6 of 6.4");
        let pairs = on_a_machine(servers, "100K", Some("3G")).unwrap();
        assert_eq!(pairs.groups, [[0, 1], [0, 2]]);
        let reason = Event::InPairs { servers: 3, fit: 2, needed: 3 * 3072, available: 6553 };
        assert_eq!(pairs.reason, Some(reason));
    }

    #[test]
    fn a_cache_is_chosen_within_the_memory_that_a_server_may_use() {
        // A cache of 20M rows is 10 GB: most of the machine, and more than the limit.
        assert!(on_a_machine("postgres again=postgres", "20M", Some("2G")).is_err_and(|error| {
            let text = error.to_string();
            text.contains("of the memory that it may use is 1433 MB")
        }));
    }

    #[test]
    fn a_pair_that_does_not_fit_is_refused_with_what_would_do() {
        let error = split(&all(1), &[10 << 20, 20 << 20, 10 << 20], 25 << 20).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("30 MB together") && text.contains("--method runs"), "{text}");
    }
}
