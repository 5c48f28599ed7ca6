//! The meaning of columns and words, also in print.

use rqps_document::Block;
use rqps_plan::Scope;
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{COSTS, Column, METRICS};

use super::why;
use crate::comparison::{Verdicts, posts_columns};
use crate::model::{MEASURES, Matrix, Model};

/// Verdicts in the order of severity; docs/verdicts.md has the rules.
const LABELS: [(&str, &str); 7] = [
    ("regression", "slower: the interval excludes 0, and the change is at least the margin"),
    ("small regression", "slower: the interval excludes 0, but the change is below the margin"),
    ("improvement, small improvement", "the same for faster"),
    (
        "efficiency regression",
        "same throughput, but an operation costs significantly more CPU or writes, by at least the margin",
    ),
    ("no change", "the 90 % interval lies within ± the margin"),
    ("inconclusive", "none of the above can be concluded"),
    (
        "invalid",
        "discarded by a guard, failed, or undecided beside an A/A control that is off by more than the margin",
    ),
];

/// Words in the tables of a comparison.
const WORDS: [(&str, &str); 5] = [
    ("rQPS", "operations per second as a share of the baseline's: 0.97 is 3 % slower"),
    ("MDE", "minimum detectable effect: the true change that is found with 80 % power at 5 %"),
    (
        "A/A control",
        "the baseline measured a second time, from data of its own; its difference is noise",
    ),
    ("suite shift", "the change that all tests share; to suite is the change of a test without it"),
    ("margin", "the smallest change that matters in practice: the band in the plots"),
];

/// Of a comparison, `together` has the tests by whole runs, which also have the columns of steps.
pub(crate) fn comparison(verdicts: &Verdicts<'_>, matrix: &Matrix, together: &Model) -> Vec<Block> {
    let counted = verdicts.counted();
    let operation = ("operation", counted.what.as_str());
    let renewed = match verdicts.scope {
        Scope::Build => "one restart of all servers",
        scope => scope.renews(),
    };
    let round = format!("{renewed} and one measurement of each test; intervals are over rounds");
    let measures = matrix.measures.iter();
    let measures = measures.map(|of| (of.name.as_str(), format!("{} ({})", of.legend, of.unit)));
    let capped = ("capped", "held back by --max-rate: percentiles of its times have the verdicts");
    let capped = verdicts.plan.max_rate.map(|_| capped);
    let mut blocks = vec![
        Block::heading("Verdicts"),
        Block::terms(LABELS.into_iter().chain(capped)),
        Block::heading("Words"),
        Block::terms([operation, ("round", round.as_str())].into_iter().chain(WORDS)),
        Block::heading("Measures"),
        Block::terms(measures),
    ];
    if why::is_known(verdicts) {
        let metrics = why::METRICS.into_iter().map(|(_, name, legend)| (name, legend));
        blocks.push(Block::heading(format!("What else changed per {}", counted.one)));
        blocks.push(Block::terms(metrics));
    }
    if let Some(step) = together.steps.first() {
        blocks.push(Block::heading("Metrics pooled over rounds"));
        blocks.extend(posts_columns(step.counts).iter().map(|columns| definitions(columns)));
        blocks.extend(costs());
    }
    blocks
}

/// Of a run of the Insert Benchmark.
pub(crate) fn steps() -> Vec<Block> {
    let mut blocks = vec![
        Block::heading("Metrics, with the names of the Insert Benchmark posts"),
        definitions(&METRICS),
    ];
    blocks.extend(costs());
    blocks.push(Block::text(
        "An operation is a row inserted in l.i0, l.i1 and l.i2, a row indexed in l.x, and a query \
         in the other steps. NA means not measured or not applicable.",
    ));
    blocks
}

/// Of a run of the microbenchmarks.
pub(crate) fn suite() -> Vec<Block> {
    let mut blocks = vec![
        Block::heading("Tests"),
        Block::terms(MEASURES.iter().map(|measure| (measure.name, measure.legend))),
        Block::heading("iostat, vmstat normalized by operation rate"),
        definitions(&IOSTAT),
        definitions(&VMSTAT),
    ];
    blocks.extend(costs());
    blocks.push(Block::text(
        "An operation is a statement, BEGIN and COMMIT included; a row in scan, and an inserted \
         row in load. NA means not measured or not applicable.",
    ));
    blocks
}

fn costs() -> [Block; 2] {
    [Block::heading("Costs of server and client"), definitions(&COSTS)]
}

fn definitions(columns: &[Column]) -> Block {
    let legend = |column: &Column| format!("{} ({})", column.legend, column.unit);
    Block::terms(columns.iter().map(|column| (column.name, legend(column))))
}
