//! Instructions per operation of a comparison, for programs.

use rqps_analysis::comparison::{CountVerdict, CountedSide, CountedTest, FunctionChange};
use rqps_analysis::diagnosis::SAME;
use serde::Serialize;

use super::{Judged, Verdicts};

/// A test for programs. Counts are per operation, in user space.
#[derive(Serialize)]
pub(super) struct CountJson<'a> {
    test: String,
    /// `more`, `fewer`, `same`, `unknown`: by the threshold of --instructions-only, else by 0.3 %.
    verdict: &'static str,
    baseline: SideJson,
    contender: SideJson,
    /// As a share of the baseline's; null if one of them is not known.
    change: Option<f64>,
    /// The largest difference first.
    functions: Vec<FunctionChange<'a>>,
}

#[derive(Serialize)]
struct SideJson {
    /// How many were counted in each of the two servers.
    operations: u64,
    instructions: Option<f64>,
    /// By how much the two counts differ, as a share.
    spread: f64,
    /// The share in functions without a name.
    unnamed: f64,
    /// Why there are none.
    why: Option<String>,
}

/// Functions with less than this in both arms, as a share, are left out.
const TOLD: f64 = 0.000_1;

pub(super) fn json<'a>(verdicts: &Verdicts<'_>, judged: &'a Judged<'_>) -> Vec<CountJson<'a>> {
    let threshold = verdicts.plan.only_instructions().unwrap_or(SAME);
    let of = |counted: &'a CountedTest<'_>| {
        let [baseline, contender] = counted.sides.each_ref().map(side_json);
        let least = counted.both().map_or(0.0, |[base, _]| TOLD * base);
        let is_told =
            |one: &&FunctionChange<'_>| one.baseline.abs().max(one.contender.abs()) >= least;
        CountJson {
            test: counted.test.to_string(),
            verdict: match counted.verdict(threshold) {
                CountVerdict::More => "more",
                CountVerdict::Fewer => "fewer",
                CountVerdict::Same => "same",
                CountVerdict::Unknown => "unknown",
            },
            baseline,
            contender,
            change: counted.change(),
            functions: counted.functions.iter().filter(is_told).copied().collect(),
        }
    };
    judged.counts.iter().map(of).collect()
}

fn side_json(side: &CountedSide<'_>) -> SideJson {
    SideJson {
        operations: side.operations,
        instructions: side.instructions.ok(),
        spread: side.spread,
        unnamed: side.unnamed,
        why: side.instructions.err().map(str::to_string),
    }
}
