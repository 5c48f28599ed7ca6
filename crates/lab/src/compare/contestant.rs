//! Who takes part in a comparison: the contenders, and the base a second time.

use rqps_plan::{Comparison, Contender, Plan};
use rqps_workload::Dialect;

/// What the base is called where it takes part a second time.
pub(crate) const TWIN: &str = "twin";

#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    pub(crate) name: String,
    /// Its place in the plan.
    pub(crate) index: usize,
    pub(crate) dialect: Dialect,
    pub(crate) is_twin: bool,
}

impl Contestant {
    /// What the others are held against.
    pub(crate) fn is_base(&self) -> bool {
        self.index == 0 && !self.is_twin
    }
}

/// In the order of the plan, the twin last.
pub(crate) fn contestants(plan: &Plan, comparison: &Comparison) -> Vec<Contestant> {
    let of = |index: usize, contender: &Contender, is_twin: bool| Contestant {
        name: if is_twin { TWIN.to_string() } else { contender.name() },
        index,
        dialect: Dialect::from(contender),
        is_twin,
    };
    let contenders = plan.contenders.iter().enumerate();
    let mut all: Vec<Contestant> =
        contenders.map(|(index, contender)| of(index, contender, false)).collect();
    if comparison.twin {
        all.push(of(0, &plan.contenders[0], true));
    }
    all
}
