//! What a run of the Insert Benchmark says: its steps, and their details. A page has the same
//! details for every kind of step.

use rqps_document::{Bars, Block, Figure, Inline, List, ListItem, Style, Table, Tone};
use rqps_plan::Counts;
use rqps_stats::bands::{Relative, relative_band};

use super::statements::{By, statements};
use super::{Extent, Titled};
use crate::comparison::metrics_together;
use crate::model::{
    ABSOLUTE_NOTE, ENGINE_NOTE, HISTOGRAM_NOTE, LAG_NOTE, METRICS_NOTE, Measured, Model,
    RELATIVE_NOTE, SHORT_NOTE, SLA_NOTE, StepModel, absolute, all_sizes, costs, cpu_split,
    has_engine, histograms, lag, metrics, relative, shares, short_seconds, sla, variations,
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
fn summaries(model: &Model) -> [Titled; 4] {
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
fn promises(model: &Model) -> [Titled; 2] {
    [
        Titled::new("Seconds below the target insert rate", SHORT_NOTE, short_seconds(model)),
        Titled::new("Longest delay of a write", LAG_NOTE, lag(model)),
    ]
}

const POSTS_NOTE: &str = "The names are those of the posts. CPU, switches and IO are those of the \
     whole host.";

/// Fewer whole seconds are too few for a curve.
const LEAST_SECONDS: usize = 3;

/// Everything about a step, for a page.
pub(crate) fn whole(model: &Model, step: &StepModel) -> Vec<Block> {
    let mut blocks = bars(model, step);
    blocks.extend(chart(step));
    let unit = step.counts.unit();
    let title = format!("Variation of the rate from second to second, {unit}");
    blocks.extend(Titled::new(title, "", variations(model, step)).blocks());
    blocks.extend(tables(model, step));
    if has_engine(step) {
        blocks.push(counters(step.name, ENGINE_NOTE));
    }
    let by = step.measured.iter().flatten().map(|one| By {
        contender: one.contender,
        statements: &one.record.statements,
        rows: one.rows_by_operation(),
    });
    blocks.extend(statements(&by.collect::<Vec<_>>()));
    blocks
}

/// Times, the posts' metrics and costs.
pub(super) fn tables(model: &Model, step: &StepModel) -> Vec<Block> {
    let mut blocks = Vec::new();
    let histograms = histograms(model, step);
    let has_times = !histograms.is_empty();
    for one in histograms {
        blocks.extend(Titled::new(one.clock.title(one.operation), "", one.table).blocks());
    }
    blocks.extend(has_times.then(|| Block::text(HISTOGRAM_NOTE)));
    let metrics = metrics_together(model, step);
    if !metrics.is_empty() {
        let title = match step.counts {
            Counts::Statements | Counts::Transactions | Counts::RowsScanned => {
                "iostat, vmstat normalized by operation rate"
            }
            Counts::RowsInserted | Counts::RowsIndexed | Counts::Queries => "Metrics",
        };
        blocks.push(Block::heading(title));
        blocks.extend(metrics.into_iter().map(Block::Table));
        let note = format!("Per second or per {}. {POSTS_NOTE} ", step.counts.operation());
        blocks.push(Block::Text(vec![note.into(), legend()]));
    }
    let title = format!("Costs of server and client, per {}", step.counts.operation());
    blocks.extend(Titled::new(title, "", costs(model, step)).blocks());
    blocks
}

pub(super) fn legend() -> Inline {
    Inline::Link("Legend".to_string(), "legend")
}

/// The counters of the DBMS in a step or test: hundreds, which the script puts into the page.
pub(super) fn counters(of: &str, note: &str) -> Block {
    let table = Block::Figure(Figure::Counters(of.to_string()));
    Block::fold("Counters of the DBMS", vec![table, Block::text(note)])
}

/// The seconds of the step, which the script draws, and contenders that stalled or did not run at
/// one level. Building indexes is one statement and has none.
fn chart(step: &StepModel) -> Vec<Block> {
    let begun = step.measured.iter().flatten();
    let whole = begun.map(|one| one.seconds().min(one.record.seconds as usize));
    if step.counts == Counts::RowsIndexed || whole.max().unwrap_or(0) < LEAST_SECONDS {
        return Vec::new();
    }
    let levels = step.done().filter_map(|(_, measured)| {
        let remarks = measured.steadiness()?.remarks().join("; ");
        let name = measured.contender.to_string();
        let text = vec![Inline::Strong(name.clone()), format!(": {remarks}").into()];
        let item = ListItem { text, of: Some(name), ..ListItem::default() };
        (!remarks.is_empty()).then_some(item)
    });
    let items: Vec<ListItem> = levels.collect();
    let levels = (!items.is_empty()).then_some(List { style: Style::Bullets, items });
    let heading = Block::heading("Rates by second, and times by percentile");
    let chart = Block::Figure(Figure::Seconds(step.name.to_string()));
    [heading, chart].into_iter().chain(levels.map(Block::List)).collect()
}

/// Throughput as bars.
fn bars(model: &Model, step: &StepModel) -> Vec<Block> {
    let row = |(index, measured): (usize, &Measured<'_>)| {
        let kept = measured.sla().unwrap_or(true);
        let tone = if kept { Tone::Plain } else { Tone::Ignored };
        Some((model.contenders[index].to_string(), measured.throughput()?, tone))
    };
    let rows: Vec<_> = step.done().filter_map(row).collect();
    let unit = step.counts.unit();
    let bars = Bars { unit, saved_as: format!("{} {unit}", step.name), rows };
    if bars.rows.is_empty() { Vec::new() } else { vec![Block::Figure(Figure::Bars(bars))] }
}

/// The section of a page with the result at a glance.
pub(crate) fn glance(model: &Model) -> Vec<Block> {
    let words = ["▼ below 0.95", "from 0.95 to 1.05", "▲ above 1.05"];
    let mut blocks = strips(model, relative_band, words);
    let [rates, shares, kept, cpu] = summaries(model);
    let [short, lag] = promises(model);
    blocks.extend([rates, shares, kept, short, lag, cpu].into_iter().flat_map(Titled::blocks));
    blocks
}

/// The number of faster, slower and equal steps of each contender but the first, by the bounds from
/// which the published tables call a share slower or faster. Empty without a contender to compare.
pub(super) fn strips(
    model: &Model,
    band: fn(f64) -> Relative,
    words: [&'static str; 3],
) -> Vec<Block> {
    let is_shown = |step: &str| {
        let step = model.steps.iter().find(|known| known.name == step);
        step.is_some_and(|step| step.group.is_some() || !model.has_groups())
    };
    let shares: Vec<_> = shares(model).into_iter().filter(|(_, _, step)| is_shown(step)).collect();
    let Some(base) = model.base.filter(|_| !shares.is_empty()) else { return Vec::new() };
    let strip = |name: &&str| {
        let own = shares.iter().filter(|(_, contender, _)| contender == name);
        let mut own: Vec<(f64, &str)> = own.map(|(share, _, step)| (*share, *step)).collect();
        own.sort_by(|one, other| one.0.total_cmp(&other.0));
        let ((least, at_least), (most, at_most)) = (*own.first()?, *own.last()?);
        let about = format!(" relative to {}:", model.contenders[base]);
        let mut text = vec![Inline::Strong(name.to_string()), about.into()];
        for ((of, class), word) in CLASSES.into_iter().zip(words) {
            let count = own.iter().filter(|own| band(own.0) == of).count();
            text.extend((count > 0).then(|| Inline::chip(class, format!("{count} {word}"))));
        }
        let median = own[own.len() / 2].0;
        let told = format!(
            "median {median:.2}, least {least:.2} ({at_least}), most {most:.2} ({at_most})"
        );
        text.push(Inline::chip("", told));
        Some(Block::Of(name.to_string(), vec![Block::Text(text)]))
    };
    let strips = model.contenders.iter().filter_map(strip);
    let doubt = vec![
        "Each contender ran once, so a difference may be noise and has no verdict. Use ".into(),
        Inline::Code("rqps compare".to_string()),
        " for repeated rounds with verdicts.".into(),
    ];
    strips.chain([Block::Text(doubt)]).collect()
}

const CLASSES: [(Relative, &str); 3] =
    [(Relative::Slower, "slower"), (Relative::Same, "same"), (Relative::Faster, "faster")];

const POOLED_NOTE: &str = "The tables concatenate the runs of all rounds that count: a stretch of \
     seconds can span the end of one run and the start of the next. If no run counts, for example \
     because all missed the target rate, they use all runs.";

/// The section of a page on the write rates of a comparison; empty without a target.
pub(crate) fn promises_together(together: &Model) -> Vec<Block> {
    if !together.steps.iter().any(StepModel::is_promising) {
        return Vec::new();
    }
    let kept = Titled::new("Insert rate while queries ran", SLA_NOTE, sla(together));
    let [short, lag] = promises(together);
    let tables = [kept, short, lag].into_iter().flat_map(Titled::blocks);
    [Block::text(POOLED_NOTE)].into_iter().chain(tables).collect()
}

/// The section of a page on sizes; empty if none was read. Tests may be many: their sizes have a
/// row for each.
pub(crate) fn sizes(model: &Model, row_for_each: Option<&str>) -> Vec<Block> {
    let each = |(title, table): (&'static str, Table)| match row_for_each {
        Some(corner) => Titled::new(title, "", table.transposed(corner)),
        None => Titled::new(title, "", table),
    };
    all_sizes(model).into_iter().map(each).flat_map(Titled::blocks).collect()
}
