//! What a search among commits says: the commit with its probability, what was measured and in
//! which order, and what could not be built.

use rqps_document::{Block, Cell, Document, Heading, Inline, Row, Style, Table, Text, Tone};
use rqps_study::{
    BuildAttempt, CommitSearch, FoundCommits, MadeComparison, SearchKind, SearchMetric,
    SearchResult, SearchedCommit, TestEffect, label,
};

use super::{
    IN_COMMENT, IntervalScale, PAGE, SearchPlace, class, estimate, further, many, of_effect,
};
use crate::build::Extent;
use crate::comparison::{change, with_interval};
use crate::model::shell_line;

/// Commits of the credible set that are named in a sentence.
const NAMED: usize = 8;

const LEGEND: [(&str, &str); 4] = [
    ("rQPS", "throughput relative to the first commit; below 1 is slower"),
    ("instructions", "per operation, relative to the first commit: they have no noise"),
    (
        "probability",
        "that the speed changed with this commit. The model has one change, noise of measuring, and \
         layouts of builds, which no repetition lowers",
    ),
    ("credible set", "the fewest commits that have the probability of the search together"),
];

/// A search with its result.
type Searched<'a> = (&'a CommitSearch, &'a SearchResult);

pub(super) fn document(searched: Searched<'_>, place: &SearchPlace, extent: Extent) -> Document {
    let (search, result) = searched;
    let plan = search.plan();
    let among = many(plan.commits.len() - 1, "commit");
    let title = format!("{}: {among} from {} to {}", place.contender, plan.good, plan.bad);
    let mut blocks = vec![Block::Text(headline(searched))];
    blocks.extend(Block::list(Style::Bullets, support(searched)));
    blocks.extend(command(searched, place).map(|line| Block::Text(vec![Inline::Code(line)])));
    if !plan.notes.is_empty() {
        blocks.push(Block::heading("Range"));
        blocks.extend(Block::list(Style::Bullets, plan.notes.iter().cloned()));
    }
    let most = |table: Table| match extent {
        Extent::Comment => table.at_most(IN_COMMENT),
        Extent::Screen | Extent::Post => table,
    };
    let mut add = |title: &str, table: Table| {
        if !table.is_empty() {
            blocks.extend([Block::heading(title), Block::Table(most(table))]);
        }
    };
    add("Commits", commits(searched, &is_shown(searched)));
    add("Commits that were not measured", failed(search));
    if extent == Extent::Post {
        add("Comparisons, in their order", comparisons(searched));
        add(&format!("All tests at {}", plan.bad), ends(search));
    }
    if extent == Extent::Post && !result.probabilities.is_empty() {
        let all = Block::Table(commits(searched, &|_| true));
        blocks.push(Block::fold("All commits", vec![all]));
    }
    blocks.extend(further(place));
    match extent {
        Extent::Comment => {}
        Extent::Screen => blocks.push(elsewhere(search)),
        Extent::Post => blocks.push(Block::terms(LEGEND)),
    }
    Document { title, blocks }
}

fn named(commit: &SearchedCommit) -> [Inline; 2] {
    [Inline::Strong(commit.short().to_string()), format!(" \"{}\"", commit.subject).into()]
}

fn percent(probability: f64) -> String {
    format!("{:.1} %", 100.0 * probability)
}

/// How it ended: `found b3a1f0e1911f "Add x", with a probability of 98.2 %`.
fn headline((search, result): Searched<'_>) -> Text {
    let SearchResult { kind, why, found, .. } = result;
    let class = match (kind, &result.ends) {
        (SearchKind::Found, Some(ends)) => class(ends.value, search.plan().direction),
        (SearchKind::Nothing, _) => "same",
        _ => "unknown",
    };
    let mut text = vec![Inline::chip(class, kind.name())];
    if !why.is_empty() {
        text.push(format!(" {why}").into());
    }
    let has_commit = !matches!(kind, SearchKind::Nothing | SearchKind::Several);
    if let Some(FoundCommits { first, last, probability }) = found.filter(|_| has_commit) {
        if *kind != SearchKind::Found {
            text.push("; most likely".into());
        }
        text.push(" ".into());
        text.extend(named(search.commit(first)));
        if last > first {
            text.push(" to ".into());
            text.extend(named(search.commit(last)));
        }
        text.push(format!(", with a probability of {}", percent(probability)).into());
    }
    text
}

/// What the result rests on, each in a sentence.
fn support((search, result): Searched<'_>) -> Vec<String> {
    let plan = search.plan();
    let mut lines = Vec::new();
    if let Some(effect) = &result.ends {
        lines.push(format!(
            "{}: {} against {}: {}; MDE {:.1} %",
            effect.test,
            plan.bad,
            plan.good,
            with_interval(&of_effect(effect)),
            100.0 * effect.detectable.exp_m1()
        ));
    }
    lines.extend(result.steps.iter().map(|&(before, after)| {
        let [before, after] = [before, after].map(|place| search.commit(place).short());
        format!("the speed changes between {before} and {after}")
    }));
    if let Some(effect) = &result.confirmation {
        lines.push(format!(
            "compared directly with the commit before, in {} fresh rounds: {}",
            effect.rounds,
            with_interval(&of_effect(effect))
        ));
    }
    let in_layout = |effect: &TestEffect| {
        format!("both built in another layout: {}", with_interval(&of_effect(effect)))
    };
    lines.extend(result.layouts.iter().map(in_layout));
    lines.extend(credible((search, result)));
    lines
}

/// `95 % credible set: 2 commits, 41/64 1a2b3c (90.1 %), 42/64 4d5e6f (6.0 %)`
fn credible((search, result): Searched<'_>) -> Option<String> {
    let set = &result.credible;
    let of = |place: &usize| {
        let probability = percent(result.probabilities[place - 1]);
        format!("{}/{} {} ({probability})", place, search.last(), search.commit(*place).short())
    };
    let all = match set.len() {
        0 => return None,
        count if count <= NAMED => set.iter().map(of).collect::<Vec<_>>().join(", "),
        _ => format!("from {} to {}", of(set.first()?), of(set.last()?)),
    };
    let share = percent(search.plan().probability).replace(".0 %", " %");
    Some(format!("{share} credible set: {}, {all}", many(set.len(), "commit")))
}

/// Shows the commit, or the commits, that were found.
pub(super) fn command((search, result): Searched<'_>, place: &SearchPlace) -> Option<String> {
    let FoundCommits { first, last, .. } = result.found?;
    let repo = place.repo.as_deref()?;
    let hash = |place: usize| search.commit(place).hash.clone();
    let what = match first == last {
        true => vec!["show".to_string(), hash(first)],
        false => vec!["log".to_string(), format!("{}..{}", hash(first - 1), hash(last))],
    };
    let words = ["git", "-C", repo].map(str::to_string).into_iter().chain(what);
    Some(shell_line(words))
}

/// The commits that a reader wants to see: measured ones, and those that may be it.
fn is_shown<'s>((search, result): Searched<'s>) -> impl Fn(usize) -> bool + 's {
    move |place| {
        let mut made = search.made().iter();
        let is_measured = made.any(|made| made.baseline == 0 && made.place == place);
        let is_likely = result.credible.len() <= NAMED && result.credible.contains(&place);
        is_measured || is_likely
    }
}

/// Commits in their order, with what they came to and how likely each is.
fn commits((search, result): Searched<'_>, is_shown: &dyn Fn(usize) -> bool) -> Table {
    let Some(ends) = &result.ends else { return Table::default() };
    let test = &ends.test;
    let rate = |place: usize| {
        let seen = search.effect_of(place, test, SearchMetric::Time)?;
        Some(estimate(seen.value, seen.low, seen.high))
    };
    let places = || (1..=search.last()).filter(|place| is_shown(*place));
    let scale = IntervalScale::of(places().filter_map(rate));
    let row = |place: usize| {
        let commit = search.commit(place);
        let missing = || match search.attempt(place) {
            Some(BuildAttempt::Failed { .. }) => "not measured",
            _ if search.first_same(place) != place => "as before",
            _ => "-",
        };
        let [own, interval] = match rate(place) {
            Some(rate) => scale.cells(&rate),
            None => [Cell::missing("-"), Cell::missing(missing())],
        };
        let counted = search.effect_of(place, test, SearchMetric::Instructions);
        // They are kept as if they were time: more of them are a lower rate.
        let counted = counted.map(|seen| change(&estimate(-seen.value, -seen.high, -seen.low)));
        let probability = result.probabilities.get(place - 1).copied();
        let shade = |probability: f64| Tone::Shade((20.0 * probability).round() as u8 * 5);
        let cells = vec![
            Cell::plain(format!("{place}/{}", search.last())),
            own,
            interval,
            Cell::known(counted),
            probability.map_or(Cell::missing("-"), |it| Cell::new(percent(it), shade(it))),
            Cell::plain(&commit.subject),
        ];
        let row = Row::new(commit.short(), cells);
        let mut made = search.made().iter().rev();
        let own = made.find(|made| made.baseline == 0 && made.place == place);
        match own {
            Some(made) => row.leading_to_page(page(made)),
            None => row,
        }
    };
    let headings = vec![
        Heading::new("place", "between the first commit and the last"),
        Heading::new("rQPS", "relative to the first commit"),
        scale.heading(),
        Heading::new("instructions", "per operation, relative to the first commit").ranked(2),
        Heading::new("probability", "that the speed changed with this commit"),
        Heading::words("subject"),
    ];
    Table::new(headings, places().map(row).collect()).named("commit").without_empty_columns()
}

fn page(made: &MadeComparison) -> String {
    format!("{}/{PAGE}", made.name)
}

/// Commits that do not build or do not run.
fn failed(search: &CommitSearch) -> Table {
    let row = |(place, attempt): (&usize, &BuildAttempt)| {
        let BuildAttempt::Failed { why, log } = attempt else { return None };
        let cells = vec![
            Cell::plain(format!("{place}/{}", search.last())),
            Cell::plain(why),
            Cell::plain(log),
        ];
        Some(Row::new(search.commit(*place).short(), cells))
    };
    let headings =
        vec![Heading::new("place", ""), Heading::words("why"), Heading::words("log").ranked(1)];
    Table::new(headings, search.attempts().iter().filter_map(row).collect()).named("commit")
}

/// What was compared, in order: two commits, and what came of it.
fn comparisons((search, result): Searched<'_>) -> Table {
    let Some(ends) = &result.ends else { return Table::default() };
    let test = &ends.test;
    let timed = |made: &&MadeComparison| made.by == SearchMetric::Time;
    let effects = search.made().iter().filter(timed).filter_map(|made| made.effect(test));
    let scale = IntervalScale::of(effects.map(of_effect));
    let row = |(number, made): (usize, &MadeComparison)| {
        let name = |place: usize| label(search.commit(place), made.layout);
        let invalid = made.effects.iter().find(|effect| effect.test == *test);
        let invalid = invalid.and_then(|effect| effect.invalid.clone());
        let (cells, rounds) = match (made.effect(test), made.by) {
            (Some(effect), SearchMetric::Time) => {
                (scale.cells(&of_effect(effect)), effect.rounds.to_string())
            }
            (Some(effect), SearchMetric::Instructions) => {
                let more = change(&estimate(-effect.value, -effect.high, -effect.low));
                let counted = Cell::plain(format!("{more} instructions"));
                ([Cell::missing("-"), counted], effect.rounds.to_string())
            }
            (None, _) => ([Cell::missing("-"), Cell::missing("-")], "-".to_string()),
        };
        let what = invalid.map_or_else(|| purpose(search, made), |why| format!("invalid: {why}"));
        let names = [made.baseline, made.place].map(|place| Cell::plain(name(place)));
        let cells = names.into_iter().chain(cells).chain([Cell::plain(rounds), Cell::plain(what)]);
        Row::new(number.to_string(), cells.collect()).leading_to_page(page(made))
    };
    let headings = vec![
        Heading::words("baseline"),
        Heading::words("commit"),
        Heading::new("rQPS", "relative to the baseline"),
        scale.heading(),
        Heading::new("rounds", ""),
        Heading::words("what for"),
    ];
    let rows = (1..).zip(search.made()).map(row).collect();
    Table::new(headings, rows).named("comparison")
}

/// Why a comparison was made.
fn purpose(search: &CommitSearch, made: &MadeComparison) -> String {
    let is_again = |other: &MadeComparison| {
        (other.baseline, other.place, other.layout, other.by)
            == (made.baseline, made.place, made.layout, made.by)
            && other.name < made.name
    };
    match (made.layout, made.baseline, made.place) {
        (1.., ..) => "another layout",
        (_, 0, place) if place == search.last() => "the ends",
        (_, 0, _) if search.made().iter().any(is_again) => "again",
        (_, 0, _) => "search",
        _ => "confirmation",
    }
    .to_string()
}

/// All tests that were measured along, in the comparison of the ends.
fn ends(search: &CommitSearch) -> Table {
    let is_ends = |made: &&MadeComparison| {
        (made.baseline, made.place, made.by) == (0, search.last(), SearchMetric::Time)
    };
    let Some(made) = search.made().iter().find(is_ends) else { return Table::default() };
    let valid = made.effects.iter().filter(|effect| effect.is_valid());
    let scale = IntervalScale::of(valid.map(of_effect));
    let row = |effect: &TestEffect| {
        let [ratio, interval] = match effect.is_valid() {
            true => scale.cells(&of_effect(effect)),
            false => [Cell::missing("-"), Cell::missing("-")],
        };
        let mde = format!("{:.1} %", 100.0 * effect.detectable.exp_m1());
        let what = match &effect.invalid {
            Some(why) => format!("invalid: {why}"),
            None if search.test() == Some(&effect.test) => "decides".to_string(),
            None => String::new(),
        };
        let mde = Cell::known(effect.is_valid().then_some(mde));
        Row::new(&effect.test, vec![ratio, interval, mde, Cell::plain(what)])
    };
    let headings = vec![
        Heading::new("rQPS", "relative to the first commit"),
        scale.heading(),
        Heading::new("MDE", "minimum detectable effect"),
        Heading::words(""),
    ];
    Table::new(headings, made.effects.iter().map(row).collect()).named("test")
}

fn elsewhere(search: &CommitSearch) -> Block {
    let count = many(search.comparisons(), "comparison");
    Block::text(format!("{count}: report.html has them with their intervals"))
}
