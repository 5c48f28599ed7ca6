//! The result of a search for the terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::conclusion::{SearchKind, SearchResult};
use super::observed::TestEffect;
use super::{BuildAttempt, CommitSearch, SearchMetric, SearchedCommit};

/// Of a subject, in a table.
const SUBJECT: usize = 48;

/// `-4.1 %` of a log ratio.
fn signed(log: f64) -> String {
    format!("{:+.1} %", 100.0 * log.exp_m1())
}

fn interval(effect: &TestEffect) -> String {
    format!("{} – {}", signed(effect.low), signed(effect.high))
}

fn named(commit: &SearchedCommit) -> String {
    format!("{} \"{}\"", commit.short(), commit.subject)
}

/// The result for people.
pub fn bisect_text(search: &CommitSearch, result: &SearchResult) -> String {
    let mut text = String::new();
    for note in &search.plan().notes {
        text += &format!("{note}\n");
    }
    if let Some(effect) = &result.ends {
        text += &format!(
            "{}, BAD against GOOD: {} ({}; MDE {:.1} %)\n\n",
            effect.test,
            signed(effect.value),
            interval(effect),
            100.0 * effect.detectable.exp_m1()
        );
        text += &measured(search, result, effect);
        text += &failed(search);
        text += "\n";
    }
    text + &conclusion(search, result)
}

/// The commits that were measured, in their order: by instructions, and by time.
fn measured(search: &CommitSearch, result: &SearchResult, ends: &TestEffect) -> String {
    let tables = [(SearchMetric::Instructions, "instructions"), (SearchMetric::Time, "rate")];
    tables.map(|(by, name)| of_metric(search, result, ends, (by, name))).concat()
}

fn of_metric(
    search: &CommitSearch,
    result: &SearchResult,
    ends: &TestEffect,
    (by, name): (SearchMetric, &str),
) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.force_no_tty();
    table.set_header(["", "commit", name, "95 % interval", "probability", "subject"]);
    let mut made: Vec<_> = search.with_first(by).collect();
    if made.is_empty() {
        return String::new();
    }
    made.sort_by_key(|made| made.place);
    for one in made {
        let commit = search.commit(one.place);
        let (rate, interval) = match (one.effect(&ends.test), by) {
            (Some(effect), SearchMetric::Time) => (signed(effect.value), interval(effect)),
            // They have no noise to speak of, and more of them are a lower rate.
            (Some(effect), SearchMetric::Instructions) => (signed(-effect.value), String::new()),
            (None, _) => ("invalid".to_string(), String::new()),
        };
        let probability = result.probabilities.get(one.place - 1).copied().unwrap_or(0.0);
        let subject: String = commit.subject.chars().take(SUBJECT).collect();
        table.add_row([
            format!("{}/{}", one.place, search.last()),
            commit.short().to_string(),
            rate,
            interval,
            format!("{:.1} %", 100.0 * probability),
            subject,
        ]);
    }
    for column in [0, 2, 3, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_string() + "\n");
    lines.collect()
}

/// The commits that cannot be measured.
fn failed(search: &CommitSearch) -> String {
    let mut text = String::new();
    for (place, attempt) in &search.attempts {
        if let BuildAttempt::Failed { why, .. } = attempt {
            text += &format!("skipped: {} {why}\n", search.commit(*place).short());
        }
    }
    text
}

fn conclusion(search: &CommitSearch, result: &SearchResult) -> String {
    let SearchResult { kind, why, .. } = result;
    let head = match why.is_empty() {
        true => format!("{}:", kind.name()),
        false => format!("{}: {why}", kind.name()),
    };
    let mut text = match (kind, &result.found) {
        (SearchKind::Found, Some(found)) => {
            let commit = named(search.commit(found.first));
            format!("{head} {commit}, with a probability of {:.1} %\n", 100.0 * found.probability)
        }
        (SearchKind::Several, _) => {
            let of = |(before, after): &(usize, usize)| {
                let [before, after] = [before, after].map(|place| search.commit(*place).short());
                format!("  between {before} and {after}\n")
            };
            format!("{head}\n{}", result.steps.iter().map(of).collect::<String>())
        }
        (SearchKind::Range | SearchKind::Layout | SearchKind::Undecided, Some(found)) => {
            let [first, last] = [found.first, found.last].map(|place| search.commit(place));
            let probability = 100.0 * found.probability;
            let range = match found.first == found.last {
                true => named(first),
                false => format!("{} to {}", named(first), named(last)),
            };
            format!("{head}\n  most likely {range}, with a probability of {probability:.1} %\n")
        }
        _ => format!("{head}\n"),
    };
    if let Some(effect) = &result.confirmation {
        text += &format!(
            "  compared directly with the commit before, in {} fresh rounds: {} ({})\n",
            effect.rounds,
            signed(effect.value),
            interval(effect)
        );
    }
    for effect in &result.layouts {
        text += &format!(
            "  both built in another layout: {} ({})\n",
            signed(effect.value),
            interval(effect)
        );
    }
    text + &format!("{} comparisons\n", search.comparisons())
}
