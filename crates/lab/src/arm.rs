//! The arms of an experiment: the contenders, the first of which is the baseline of a comparison,
//! and its A/A control.

use rqps_plan::{CONTROL, Contender, Dbms, Injection, Plan};
use rqps_workload::Dialect;

use crate::selftest::Treatment;

#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) name: String,
    /// Its place in the plan.
    pub(crate) index: usize,
    pub(crate) dbms: Dbms,
    pub(crate) dialect: Dialect,
    pub(crate) is_control: bool,
    /// Made slower, for the selftest.
    pub(crate) injection: Option<Injection>,
}

impl Arm {
    /// Whether the others are compared with it.
    pub(crate) fn is_base(&self) -> bool {
        self.index == 0 && !self.is_control
    }
}

/// In the order of the plan, the A/A control last.
pub(crate) fn arms(plan: &Plan, treatment: &Treatment) -> Vec<Arm> {
    let of = |index: usize, contender: &Contender, is_control: bool| Arm {
        name: if is_control { CONTROL.to_string() } else { contender.name() },
        index,
        dbms: contender.dbms,
        dialect: Dialect::from(contender),
        is_control,
        injection: treatment.of(index),
    };
    let contenders = plan.contenders.iter().enumerate();
    let mut all: Vec<Arm> =
        contenders.map(|(index, contender)| of(index, contender, false)).collect();
    if plan.comparison().is_some_and(|comparison| comparison.control) {
        all.push(of(0, &plan.contenders[0], true));
    }
    all
}
