//! Why a contender is slower or faster: where the time of the counted operations went, and which
//! costs changed.

use rqps_analysis::diagnosis::{Change, Evidence, Part, budget};
use rqps_document::{
    Block, Cell, Figure, Fold, Heading, Picture, Row, Table, Tone, Waterfall, WaterfallBar,
};
use rqps_stats::Interval;
use rqps_stats::digits::Digits;
use rqps_stats::verdict::Verdict;

use super::comparison::relative;
use crate::comparison::{Judged, Verdicts, chip, is_change};

const BUDGET_NOTE: &str = "The plots show a connection's time in microseconds, contender minus baseline. The bars \
     add up to the change: blue is less, orange is more. A line, and the number after ±, is the 95 % interval over \
     rounds; the lowest line is that of the whole change. The interval of a pale bar includes 0. Background \
     processes are included with their CPU only.";

const METRICS_NOTE: &str = "The tables show changes relative to the baseline with 95 % intervals over rounds, not \
     adjusted. Grey changes are not significant, or smaller than the difference of the A/A control.";

/// Metrics by their name in the store, as columns: the first that a test has, as in the rules of
/// causes. In slices all arms share the device, so only the server's own IO is known.
pub(super) const METRICS: [(&[&str], &str, &str); 9] = [
    (&["server_cpu_user"], "cpu user", "the server's CPU in user mode"),
    (&["server_cpu_system"], "cpu sys", "the server's CPU in the kernel"),
    (&["server_voluntary_switches"], "cs vol.", "the server gave up a CPU because it had to wait"),
    (&["server_involuntary_switches"], "cs invol.", "the server was preempted"),
    (&["server_run_queue_wait"], "run queue", "the server's threads waited for a CPU"),
    (&["device_read_bytes", "server_read_bytes"], "rKB", "read from storage"),
    (&["device_write_bytes", "server_write_bytes"], "wKB", "written to storage"),
    (&["server_minor_faults"], "faults", "minor page faults of the server"),
    (&["database_bytes"], "size", "tables and indexes"),
];

/// The section of a page; empty without any evidence.
pub(crate) fn blocks(verdicts: &Verdicts<'_>) -> Vec<Block> {
    if !is_known(verdicts) {
        return Vec::new();
    }
    let contenders = verdicts.judged.iter().map(|judged| contender(verdicts, judged));
    let note = format!("{BUDGET_NOTE} {METRICS_NOTE}{}", verdicts.counted().here());
    contenders.chain([Block::text(note)]).collect()
}

/// Whether there is any evidence to show.
pub(super) fn is_known(verdicts: &Verdicts<'_>) -> bool {
    let mut evidence = verdicts.judged.iter().flat_map(|judged| &judged.evidence);
    evidence.any(|evidence| evidence.time.base > 0.0)
}

fn contender(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> Block {
    let one = verdicts.counted().one;
    let pair = format!("{} relative to {}", judged.contender, verdicts.base);
    let tests = judged.verdicts.iter().zip(&judged.evidence);
    let changed = tests.filter(|(verdict, _)| is_change(&verdict.label));
    let waterfalls: Vec<Waterfall> =
        changed.map(|(verdict, evidence)| waterfall(verdict, evidence, &pair)).collect();
    let mut blocks = vec![relative(verdicts, judged)];
    match waterfalls.is_empty() {
        true => blocks.push(Block::text("No test has changed.")),
        false => blocks.extend([
            Block::heading(format!("Where the time per {one} went")),
            Block::Figure(Figure::Waterfalls(waterfalls)),
        ]),
    }
    let changes = changes(judged);
    if !changes.is_empty() {
        let title = vec![format!("What else changed per {one}").into()];
        let blocks_of = vec![Block::Table(changes)];
        blocks.push(Block::Fold(Fold {
            title,
            blocks: blocks_of,
            is_open: true,
            ..Fold::default()
        }));
    }
    Block::Of(judged.contender.clone(), blocks)
}

fn waterfall(verdict: &Verdict, evidence: &Evidence, pair: &str) -> Waterfall {
    let parts = budget(evidence).into_iter();
    let parts = parts.filter(|bar| bar.part.is_some() || bar.change.abs() >= 0.05);
    let bars = parts.map(|bar| WaterfallBar {
        name: bar.part.map_or("unaccounted", Part::name),
        change: bar.change,
        interval: bar.interval,
        is_sure: bar.is_sure,
    });
    Waterfall {
        test: evidence.test.to_string(),
        label: chip(&verdict.label),
        saved_as: format!("Where the time of {} went: {pair}", evidence.test),
        baseline: evidence.time.base,
        contender: evidence.time.contender,
        bars: bars.collect(),
        change: evidence.time.change.ends(),
    }
}

/// A row for every test, a column for every metric that any test has.
fn changes(judged: &Judged<'_>) -> Table {
    let metric = |of: &'_ Evidence, names: &[&str]| -> Option<Change> {
        names.iter().find_map(|name| of.metrics.get(*name).copied())
    };
    let has = |names: &[&str]| judged.evidence.iter().any(|one| metric(one, names).is_some());
    let columns: Vec<_> = METRICS.iter().filter(|(names, _, _)| has(names)).collect();
    if columns.is_empty() {
        return Table::default();
    }
    let headings = columns.iter().map(|(_, name, legend)| Heading::new(*name, *legend));
    let row = |(verdict, evidence): (&Verdict, &Evidence)| {
        let label = chip(&verdict.label);
        let label = Cell::plain(label.text.as_str()).labelled(label);
        let cells = columns.iter().map(|(names, _, _)| change(metric(evidence, names)));
        let test = format!("test-{}", evidence.test);
        Row::new(evidence.test.as_str(), [label].into_iter().chain(cells).collect())
            .leading_to(test)
    };
    let rows = judged.verdicts.iter().zip(&judged.evidence).map(row).collect();
    let headings = [Heading::words("verdict")].into_iter().chain(headings).collect();
    Table::new(headings, rows).named("test")
}

fn change(of: Option<Change>) -> Cell {
    let Some(change) = of.filter(|change| change.log.low.is_finite()) else {
        return Cell::missing("-");
    };
    let log = change.log;
    let digits = Digits::of(Interval { low: log.low, high: log.high });
    let percent = |log| digits.percent(log);
    let tone = if change.is_sure() { Tone::Plain } else { Tone::Unsure };
    let noise = percent(change.noise);
    Cell::new(percent(log.value), tone)
        .hovered(format!("{} to {}, A/A control {noise}", percent(log.low), percent(log.high)))
        .drawn(Picture::Whisker { value: log.value, ends: (log.low, log.high) })
}
