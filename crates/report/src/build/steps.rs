//! What a run of the Insert Benchmark says: its steps, and their details.

use super::{Extent, Titled};
use crate::document::Block;
use crate::model::{
    ABSOLUTE_NOTE, HISTOGRAM_NOTE, LAG_NOTE, METRICS_NOTE, Model, RELATIVE_NOTE, SHORT_NOTE,
    SLA_NOTE, absolute, all_sizes, cpu_split, histograms, lag, metrics, relative, short_seconds,
    sla,
};

/// The rows of each table in a comment: three tables stay below sixty lines.
const ROWS: usize = 10;

const CPU_NOTE: &str = "Microseconds of CPU per row in the l. steps and per query in the others, \
     user plus system: server is the processes of the DBMS, client is rqps's worker threads.";

pub(super) fn blocks(model: &Model, extent: Extent) -> Vec<Block> {
    let [rates, shares, kept, cpu] = summaries(model);
    if extent == Extent::Comment {
        let cut = |noted: Titled| Titled::new(noted.title, "", noted.table.at_most(ROWS));
        return [shares, rates, kept].into_iter().map(cut).flat_map(Titled::blocks).collect();
    }
    let mut blocks: Vec<Block> =
        [rates, shares, kept, cpu].into_iter().flat_map(Titled::blocks).collect();
    if extent == Extent::Post {
        blocks.extend(posts(model));
        blocks.extend(details(model));
    }
    blocks
}

/// Rates, the same relative to the first contender, whether write rates were kept, and CPU.
pub(crate) fn summaries(model: &Model) -> [Titled; 4] {
    let (rates, shares) = (absolute(model), relative(model));
    [
        Titled::new("Rows inserted (l.x: indexed) or queries per second", ABSOLUTE_NOTE, rates),
        Titled::new("The same, relative to the first contender", RELATIVE_NOTE, shares),
        Titled::new("Rows inserted per second while queries ran", SLA_NOTE, sla(model)),
        Titled::new("CPU per row or query, us", CPU_NOTE, cpu_split(model)),
    ]
}

/// The posts' metrics of each step, with the name last.
fn posts(model: &Model) -> Vec<Block> {
    let tables = model.steps.iter().map(|step| (step, metrics(model, step)));
    let tables = tables.filter(|(_, table)| !table.is_empty());
    let noted = tables.enumerate().flat_map(|(index, (step, table))| {
        let note = if index == 0 { METRICS_NOTE } else { "" };
        Titled::new(step.heading(), note, table.named("tag").named_last()).blocks()
    });
    noted.collect()
}

/// Missed write rates, sizes and response times of steps, or of pooled whole runs.
pub(super) fn details(model: &Model) -> Vec<Block> {
    let mut noted: Vec<Titled> = promises(model).into();
    noted.extend(all_sizes(model).into_iter().map(|(title, table)| Titled::new(title, "", table)));
    let of_times = model.steps.iter().flat_map(|step| {
        let histograms = histograms(model, step).into_iter();
        histograms.map(|one| {
            let title = format!("{}: {}", step.name, one.clock.title(one.operation));
            Titled::new(title, "", one.table)
        })
    });
    let mut of_times: Vec<Titled> = of_times.collect();
    if let Some(first) = of_times.first_mut() {
        first.note = HISTOGRAM_NOTE.to_string();
    }
    noted.into_iter().chain(of_times).flat_map(Titled::blocks).collect()
}

/// How often and for how long a target rate was missed.
pub(crate) fn promises(model: &Model) -> [Titled; 2] {
    [
        Titled::new("Seconds below the target insert rate", SHORT_NOTE, short_seconds(model)),
        Titled::new("Longest delay of a write", LAG_NOTE, lag(model)),
    ]
}
