//! The arms of an experiment: the contenders, the first of which is the baseline of a comparison,
//! and its A/A control.

use rqps_plan::{CONTROL, Contender, Dbms, Injection, Plan, control_of};
use rqps_workload::Dialect;

use crate::selftest::treatment::Treatment;

#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) name: String,
    /// Its place in the plan.
    pub(crate) index: usize,
    pub(crate) dbms: Dbms,
    pub(crate) dialect: Dialect,
    pub(crate) is_control: bool,
    /// rqps did not start its server.
    pub(crate) is_remote: bool,
    /// The place of the arm whose tables it works on: another's, if contenders differ in the
    /// settings of their sessions alone. On a remote server it is also the number of the set of
    /// tables, so that two URLs of one server do not share any by accident.
    pub(crate) tables: usize,
    /// Made slower, for the selftest.
    pub(crate) injection: Option<Injection>,
}

impl Arm {
    /// Whether the others are compared with it.
    pub(crate) fn is_base(&self) -> bool {
        self.index == 0 && !self.is_control
    }
}

/// In the order of the plan, the A/A control last, behind those of other remote servers.
pub(crate) fn arms(plan: &Plan, treatment: &Treatment) -> Vec<Arm> {
    let of = |index: usize, contender: &Contender, is_control: bool| Arm {
        name: match (is_control, index) {
            (false, _) => contender.name(),
            (true, 0) => CONTROL.to_string(),
            (true, _) => control_of(&contender.name()),
        },
        index,
        dbms: contender.dbms,
        dialect: Dialect::from(contender),
        is_control,
        is_remote: contender.is_remote(),
        tables: 0,
        injection: treatment.of(index),
    };
    let contenders = plan.contenders.iter().enumerate();
    let mut all: Vec<Arm> =
        contenders.map(|(index, contender)| of(index, contender, false)).collect();
    let base = &plan.contenders[0];
    if plan.comparison().is_some_and(|comparison| comparison.control) {
        let is_other_server = |(_, contender): &(usize, &Contender)| {
            contender.is_remote() && !contender.is_same_url(base)
        };
        let others = plan.contenders.iter().enumerate().skip(1).filter(is_other_server);
        all.extend(others.map(|(index, contender)| of(index, contender, true)));
        all.push(of(0, base, true));
    }
    let only_reads = rqps_workload::tasks(plan.workload())
        .is_ok_and(|tasks| tasks.iter().all(|task| task.fills || !task.class.writes()));
    // A control of one of several servers has tables of its own, as the others have.
    let is_one_server = plan.contenders.iter().all(|one| one.is_same_url(base));
    let has_places = plan.contenders.iter().any(|one| one.place.is_some());
    let is_shared = |arm: &Arm| {
        only_reads
            && !has_places
            && plan.contenders[arm.index].is_same_url(base)
            && (is_one_server || arm.index > 0)
    };
    for (place, arm) in all.iter_mut().enumerate() {
        arm.tables = if is_shared(arm) { 0 } else { place };
    }
    all
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Comparison, Design, Microbenchmark, Span};

    use super::*;

    fn names(contenders: &str, test: &str) -> Vec<(String, usize)> {
        let moment = Span(std::time::Duration::from_secs(1));
        let benchmark = Microbenchmark {
            tables: 1,
            rows: "1K".parse().unwrap(),
            clients: vec![1],
            read_time: moment,
            write_time: moment,
            tests: vec![test.to_string()],
            fair_writes: true,
            pause: moment,
            quiesce_after_each_write: false,
            check: true,
        };
        let plan = Plan {
            contenders: contenders.split(' ').map(|one| one.parse().unwrap()).collect(),
            seed: 1,
            cache: None,
            memory: None,
            design: Design::Comparison(Comparison::new(benchmark.into())),
        };
        let all = arms(&plan, &Treatment::default()).into_iter();
        all.map(|arm| (arm.name, arm.tables)).collect()
    }

    fn expected(all: &[(&str, usize)]) -> Vec<(String, usize)> {
        all.iter().map(|(name, tables)| (name.to_string(), *tables)).collect()
    }

    #[test]
    fn every_remote_server_has_a_control_and_tables_of_its_own() {
        let controls = [("a", 0), ("b", 1), ("A/A control of b", 2), (CONTROL, 3)];
        assert_eq!(names("a=mysql://g/d b=mysql://h/d", "point-query"), expected(&controls));
        let builds = [("a", 0), ("b", 1), (CONTROL, 2)];
        assert_eq!(names("a=sqlite b=sqlite", "point-query"), expected(&builds));
    }

    #[test]
    fn settings_of_one_server_share_its_tables_unless_tests_write() {
        let places = "a=mysql://h/d b=mysql://h/d?place=@b.sql";
        assert_eq!(names(places, "point-query"), expected(&[("a", 0), ("b", 1), (CONTROL, 2)]));
        let both = "a=mysql://h/d b=mysql://h/d?set.sort_buffer_size=1";
        assert_eq!(names(both, "point-query"), expected(&[("a", 0), ("b", 0), (CONTROL, 0)]));
        assert_eq!(names(both, "update-index"), expected(&[("a", 0), ("b", 1), (CONTROL, 2)]));
    }
}
