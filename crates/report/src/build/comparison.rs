//! What a comparison says: the verdicts, their causes, and how certain they are.

use rqps_analysis::comparison::Time;
use rqps_analysis::diagnosis::Finding;
use rqps_document::{
    Block, Cell, Heading, Inline, List, ListItem, Row, Style, Table, Text, Tone, rest,
};
use rqps_plan::{Scope, ServiceLevel};
use rqps_stats::Estimate;

use super::{Extent, Titled, answers, instructions, profile, steps, verdicts};
use crate::comparison::{Judged, TAIL, Verdicts, metrics_together, ratio, span, time_told};
use crate::model::Model;
use crate::model::number::duration;

/// Contenders, rows and causes in a comment: with everything around them they stay below sixty
/// lines.
const CONTENDERS: usize = 6;
const ROWS: usize = 14;
/// A screen has as many causes as a comment.
const CAUSES: usize = 7;

const RATES: &str = "An outlier moves these means. It hardly moves rQPS, a robust estimate against \
     the baseline and the A/A control.";

const PLOTS: &str = "The largest slowdown comes first. In a plot, the line is the interval, the dots \
     are rounds, and the band is the margin: smaller changes do not matter in practice. The suite \
     shift is the change that all tests share; to suite is the change of a test without it. Each \
     contender has its own scale.";

const LARGEST_RATES: &str = "Response times are from when operations were due. Rates that were tried \
     are 3 % apart, so intervals are over rounds and half of that wider. rQPS compares these rates.";

const SIDE_BY_SIDE: &str = "rQPS of each contender, ± half of its 95 % interval:";

pub(super) fn blocks(verdicts: &Verdicts<'_>, extent: Extent) -> Vec<Block> {
    if verdicts.plan.only_instructions().is_some() {
        return instructions::blocks(verdicts, extent);
    }
    let judged: Vec<&Judged<'_>> = verdicts.judged.iter().collect();
    let mut blocks = answers::blocks(verdicts, extent);
    blocks.extend([Block::heading("Verdicts"), strips(verdicts, extent)]);
    if judged.len() > 1 {
        blocks.push(Block::text(SIDE_BY_SIDE));
    }
    let most = (extent == Extent::Comment).then_some(ROWS);
    blocks.push(Block::Table(verdicts::table(verdicts, &judged, most)));
    if extent == Extent::Post && judged.len() > 1 {
        for one in &judged {
            let table = verdicts::table(verdicts, &[one], None);
            blocks.extend([relative(verdicts, one), Block::Table(table)]);
        }
    }
    if let Some(level) = verdicts.plan.slo {
        blocks.extend(largest_rates(verdicts, level).blocks());
    }
    if verdicts.judges_times() {
        let is_brief = extent == Extent::Comment;
        let of = |one: &&Judged<'_>| all_times(verdicts, one, is_brief);
        blocks.extend(judged.iter().filter_map(of).flat_map(Titled::blocks));
    }
    blocks.extend(causes(verdicts, extent));
    blocks.extend(instructions::blocks(verdicts, extent));
    blocks.extend([Block::heading("Certainty"), certainty(verdicts, extent)]);
    let profiles = judged.iter().flat_map(|judged| &judged.profiles).flat_map(profile::blocks);
    if extent < Extent::Post {
        blocks.push(Block::text(legend(verdicts)));
        blocks.extend(profiles.filter(|_| extent == Extent::Screen));
        return blocks;
    }
    let discarded = verdicts.refusals();
    if !discarded.is_empty() {
        blocks.push(Block::heading("Discarded measurements"));
        blocks.extend(Block::list(Style::Bullets, discarded));
    }
    blocks.push(Block::text(format!("{}{}", legend(verdicts), limits(verdicts))));
    if !verdicts.judges_times() {
        let tails = judged.iter().filter_map(|one| tails(verdicts, one));
        blocks.extend(tails.flat_map(Titled::blocks));
    }
    blocks.extend(profiles);
    blocks.extend(pooled(verdicts));
    blocks
}

pub(super) fn relative(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> Block {
    Block::heading(format!("{} relative to {}", judged.contender, verdicts.base))
}

/// A line for each contender.
fn strips(verdicts: &Verdicts<'_>, extent: Extent) -> Block {
    let strip = |judged: &Judged<'_>| {
        let about = format!(" relative to {}: ", verdicts.base);
        let about = [Inline::Strong(judged.contender.clone()), about.into()];
        let told = invalid(judged).into_iter().chain(answers::wrong(judged));
        let details = told.map(|why| vec![why.into()]).collect();
        let text = about.into_iter().chain(verdicts.strip(judged)).collect();
        ListItem { text, details, ..ListItem::default() }
    };
    let all = verdicts.judged.len();
    let shown = if extent == Extent::Comment { all.min(CONTENDERS) } else { all };
    let mut items: Vec<ListItem> = verdicts.judged[..shown].iter().map(strip).collect();
    items.extend(rest(all, shown).map(ListItem::new));
    Block::List(List { style: Style::Bullets, items })
}

/// The section of a page: each contender by itself, since a reader can hide it.
pub(crate) fn by_contender(verdicts: &Verdicts<'_>) -> Vec<Block> {
    let of = |(place, judged): (usize, &Judged<'_>)| {
        let mut blocks = vec![relative(verdicts, judged)];
        blocks.extend(invalid(judged).into_iter().chain(answers::wrong(judged)).map(Block::text));
        blocks.push(Block::Text(verdicts.strip(judged)));
        let item = |(number, finding)| ListItem {
            anchor: Some(format!("finding-{}-{number}", place + 1)),
            ..cause(Some(&judged.contender), finding)
        };
        let items: Vec<ListItem> = (1..).zip(&judged.findings).map(item).collect();
        if !items.is_empty() {
            blocks.push(Block::List(List { style: Style::Numbers, items }));
        }
        Block::Of(judged.contender.clone(), blocks)
    };
    let mut blocks: Vec<Block> = verdicts.judged.iter().enumerate().map(of).collect();
    blocks.extend([Block::heading("Certainty"), certainty(verdicts, Extent::Post)]);
    let discarded = verdicts.refusals();
    let title = format!("Discarded measurements: {}", discarded.len());
    let discarded = Block::list(Style::Bullets, discarded);
    blocks.extend(discarded.map(|list| Block::fold(title, vec![list])));
    blocks
}

/// The section of a page with every test of every contender.
pub(crate) fn intervals(verdicts: &Verdicts<'_>) -> Vec<Block> {
    let of = |judged: &Judged<'_>| {
        let table = Block::Table(verdicts::intervals(verdicts, judged));
        Block::Of(judged.contender.clone(), vec![relative(verdicts, judged), table])
    };
    let blocks = verdicts.judged.iter().map(of);
    let counted = verdicts.counted();
    let note = format!(
        "{} cpu/o is the server's CPU time per {}, or that of server and client for a DBMS inside \
         the client. {PLOTS}{}",
        legend(verdicts),
        counted.one,
        limits(verdicts),
    );
    blocks.chain([Block::text(note)]).collect()
}

/// Why no result of a contender holds.
fn invalid(judged: &Judged<'_>) -> Option<String> {
    let why = judged.invalid.as_ref()?;
    Some(format!("All results of this contender are invalid: {why}"))
}

/// The causes of all contenders, the most important first.
fn causes(verdicts: &Verdicts<'_>, extent: Extent) -> Vec<Block> {
    let of = |judged| -> Vec<(&Judged<'_>, &Finding)> {
        let judged: &Judged<'_> = judged;
        judged.findings.iter().map(|finding| (judged, finding)).collect()
    };
    let mut found: Vec<_> = verdicts.judged.iter().flat_map(of).collect();
    if found.is_empty() {
        return Vec::new();
    }
    found.sort_by(|(_, one), (_, other)| other.importance.total_cmp(&one.importance));
    let most = if extent == Extent::Post { usize::MAX } else { CAUSES };
    let rest = rest(found.len(), most);
    let is_one = verdicts.judged.len() == 1;
    let shown = found
        .into_iter()
        .take(most)
        .map(|(judged, finding)| cause((!is_one).then_some(judged.contender.as_str()), finding));
    let items = shown.collect();
    let list = Block::List(List { style: Style::Numbers, items });
    [Block::heading("Causes"), list].into_iter().chain(rest.map(Block::text)).collect()
}

/// A cause with what would contradict it, and what to do next.
fn cause(contender: Option<&str>, finding: &Finding) -> ListItem {
    let of = contender.map(|name| format!("{name}: ")).unwrap_or_default();
    let name = finding.cause.name(finding.slower);
    let checks = finding.checks().map(|(what, checks)| vec![format!("{what}: {checks}.").into()]);
    let next: Text = vec!["Next: ".into(), Inline::Code(finding.next.clone())];
    ListItem {
        text: vec![
            Inline::Strong(format!("{of}{name}:")),
            format!(" {}", finding.statement).into(),
        ],
        details: checks.chain([next]).collect(),
        ..ListItem::default()
    }
}

fn certainty(verdicts: &Verdicts<'_>, extent: Extent) -> Block {
    let mut remarks = verdicts.remarks();
    if extent < Extent::Post {
        remarks.extend(match verdicts.refusals().as_slice() {
            [] => None,
            [only] => Some(format!("One measurement was discarded: {only}.")),
            all => Some(format!("{} measurements were discarded: {}; …", all.len(), all[0])),
        });
    }
    Block::list(Style::Sentences, remarks).expect("a comparison has a method")
}

/// The words of the table.
fn legend(verdicts: &Verdicts<'_>) -> String {
    let counted = verdicts.counted();
    let here = counted.here();
    let each = match verdicts.scope {
        Scope::Build => "each of which restarts all servers".to_string(),
        scope => format!("each with {}", scope.renews()),
    };
    format!(
        "rQPS is {} per second as a share of the baseline's.{here} Intervals are over rounds, {each}, \
         and adjusted for the number of tests. docs/verdicts.md explains how a verdict is reached.",
        counted.many,
    )
}

/// What the numbers hold for.
fn limits(verdicts: &Verdicts<'_>) -> String {
    let mut told = String::new();
    if verdicts.plan.control {
        told += " The baseline is the mean of the baseline and its A/A control.";
    }
    if let Some((micros, share)) = verdicts.reading() {
        let share = 100.0 * share;
        told += &format!(
            " Reading counters at the edges of slices took {micros:.0} us of the client's CPU, \
             {share:.1} % beside each slice."
        );
    }
    told
}

/// The 99th percentile of each test.
fn tails(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> Option<Titled> {
    let rows = verdicts.tests.iter().zip(&judged.times).filter_map(|(test, times)| {
        let time = times.iter().find(|time| time.name == TAIL)?;
        Some(Row::new(test.name, time_cells(time).into()))
    });
    let table = Table::new(time_headings(verdicts, &judged.contender), rows.collect());
    let title = format!("{TAIL} of service times");
    (!table.is_empty()).then(|| Titled::new(title, verdicts.times_note(), table.named("test")))
}

/// Of each contender in each test, the largest rate that keeps a service level.
fn largest_rates(verdicts: &Verdicts<'_>, level: ServiceLevel) -> Titled {
    let arms = |test| verdicts.names().into_iter().map(move |arm| (test, arm));
    let rows = verdicts.tests.iter().flat_map(arms).filter_map(|(test, arm)| {
        let found = verdicts.largest_rate(test, arm)?;
        let interval = found.interval.exp();
        let cells = [
            arm.to_string(),
            format!("{:.0}", found.ratio()),
            format!("{:.0} – {:.0}", interval.low, interval.high),
        ];
        Some(Row::new(test.name, cells.map(Cell::plain).into()))
    });
    let headings =
        ["contender", "operations/s", "95 % interval"].map(|name| Heading::new(name, ""));
    let table = Table::new(headings.into(), rows.collect()).named("test");
    Titled::new(format!("Largest rates that keep {level}"), LARGEST_RATES, table)
}

/// Every percentile of each test; of many tests the tails alone, if there is little room.
fn all_times(verdicts: &Verdicts<'_>, judged: &Judged<'_>, is_brief: bool) -> Option<Titled> {
    let is_brief = is_brief && verdicts.tests.len() > 2;
    let rows = verdicts.tests.iter().zip(&judged.times).flat_map(|(test, times)| {
        let shown = times.iter().filter(move |time| !is_brief || time.name == TAIL);
        shown.map(move |time| {
            let cells = [Cell::plain(time.name)].into_iter().chain(time_cells(time));
            Row::new(test.name, cells.collect())
        })
    });
    let rows = rows.take(if is_brief { ROWS } else { usize::MAX });
    let mut headings = vec![Heading::new("percentile", "")];
    headings.extend(time_headings(verdicts, &judged.contender));
    let table = Table::new(headings, rows.collect());
    let title = format!("{}s of {}", verdicts.time(), judged.contender);
    (!table.is_empty()).then(|| Titled::new(title, verdicts.times_note(), table.named("test")))
}

/// The headings of [`time_cells`].
pub(crate) fn time_headings(verdicts: &Verdicts<'_>, contender: &str) -> Vec<Heading> {
    let names = [verdicts.base.as_str(), contender, "ratio", "95 % interval"];
    let names = names.map(|name| Heading::new(name, ""));
    names.into_iter().chain([Heading::words("verdict")]).collect()
}

/// Both times, their ratio, its interval and the verdict.
pub(crate) fn time_cells(time: &Time) -> [Cell; 5] {
    let of_ratio = |text: fn(&Estimate) -> String| match &time.ratio {
        Some(ratio) => Cell::plain(text(ratio)),
        None => Cell::missing("-"),
    };
    let label = time.verdict.as_ref().ok().map(|verdict| &verdict.label);
    [
        Cell::plain(duration(time.base.round() as u64)),
        Cell::plain(duration(time.contender.round() as u64)),
        of_ratio(ratio),
        of_ratio(span),
        Cell::new(time_told(time), label.map_or(Tone::Missing, verdicts::tone)),
    ]
}

/// Rates as measured, and the posts' metrics of whole runs, pooled over rounds.
fn pooled(verdicts: &Verdicts<'_>) -> Vec<Block> {
    let many = verdicts.counted().many;
    let title = format!("Rates: {many} per second, the mean of the rounds that count");
    let mut blocks = Titled::new(title, RATES, rates(verdicts)).blocks();
    let together: Model<'_> = verdicts.together();
    for step in &together.steps {
        let tables = metrics_together(&together, step).into_iter();
        let titled = tables
            .map(|table| Titled::new(format!("{}, pooled over rounds", step.name), "", table));
        blocks.extend(titled.flat_map(Titled::blocks));
    }
    blocks.extend(steps::details(&together));
    blocks
}

fn rates(verdicts: &Verdicts<'_>) -> Table {
    let headings = verdicts.names().into_iter().map(|name| Heading::new(name, ""));
    let cell = |rate: Option<f64>| Cell::known(rate.map(|rate| format!("{rate:.0}")));
    let rows = verdicts.tests.iter().map(|test| {
        let cells = verdicts.names().into_iter().map(|name| cell(test.rate(name)));
        Row::new(test.name, cells.collect())
    });
    Table::new(headings.collect(), rows.collect()).named("test")
}
