//! `capture.md`: what was captured, what was left out, and where values come from. It has no
//! values.

use rqps_system::printable;

use super::{Capture, SharedStatement};

/// Statements that are left out and named.
const NAMED: usize = 200;
/// Characters of a statement.
const SHOWN: usize = 160;

/// The text of the page. `from` names the source.
pub(super) fn report(capture: &Capture, ids: &[String], from: &str) -> String {
    let of = if capture.is_by_calls { "calls" } else { "time" };
    let all = || capture.statements.iter().zip(ids);
    let kept: Vec<_> = all()
        .filter_map(|(it, id)| it.outcome.as_ref().ok().map(|filled| (it, id, filled)))
        .collect();
    let left: Vec<_> =
        all().filter_map(|(it, _)| it.outcome.as_ref().err().map(|why| (it, why))).collect();
    let sum = |shares: &mut dyn Iterator<Item = u32>| percent(shares.sum());
    let share = sum(&mut kept.iter().map(|(it, ..)| it.share));
    let mut page = format!("# Captured statements\n\nFrom {}: {}", plain(from), capture.kind);
    if let Some(since) = &capture.since {
        page += &format!(", counted since {}", plain(since));
    }
    page += &format!(
        ".\n\nMeasured: {share} of the captured {of}, {} statements. Left out: {}, {} statements.\n",
        kept.len(),
        sum(&mut left.iter().map(|(it, _)| it.share)),
        left.len()
    );
    for remark in &capture.remarks {
        page += &format!("\n- {}", plain(remark));
    }
    if !capture.remarks.is_empty() {
        page.push('\n');
    }
    page += &format!(
        "\n## Measured\n\n| query | share of {of} | calls | mean | values | statement |\n|---|--:|--:|--:|---|---|\n"
    );
    for (it, id, filled) in &kept {
        let (share, mean, values) =
            (percent(it.share), mean(it, capture.is_by_calls), plain(&filled.told));
        page += &format!(
            "| {id} | {share} | {} | {mean} | {values} | {} |\n",
            it.captured.calls,
            text(it)
        );
    }
    if !left.is_empty() {
        page += &format!(
            "\n## Left out\n\n| share of {of} | calls | why | statement |\n|--:|--:|---|---|\n"
        );
    }
    let (named, others) = left.split_at(left.len().min(NAMED));
    for (it, why) in named {
        let share = percent(it.share);
        page += &format!("| {share} | {} | {} | {} |\n", it.captured.calls, plain(why), text(it));
    }
    if !others.is_empty() {
        let share = sum(&mut others.iter().map(|(it, _)| it.share));
        let calls: u64 = others.iter().map(|(it, _)| it.captured.calls).sum();
        page += &format!("| {share} | {calls} | {} more statements | |\n", others.len());
    }
    page += "\n## Values\n\n\
        Where the values of a statement come from:\n\n\
        - `logged`: sets of values from the log, drawn at random from all executions. `example`: the \
        one set that the server keeps.\n\
        - `data`: from the column that a value is compared with, drawn from the loaded data. How \
        values belong together in the application is not known, but for those of one row. Ranges \
        are as wide as the statement returns rows on average.\n\
        - `LIMIT`, `OFFSET`: taken from the mean number of rows.\n\n\
        A constant of a text goes back as a literal. pg_stat_statements does not tell constants from \
        parameters: all are parameters there, so that query plans may differ. Write `literal` behind \
        the type of one that is a constant.\n\n\
        Statements that write are rolled back after each execution.\n";
    page
}

fn percent(share: u32) -> String {
    format!("{}.{:02} %", share / 100, share % 100)
}

fn mean(it: &SharedStatement, is_by_calls: bool) -> String {
    let seconds = it.captured.seconds / it.captured.calls.max(1) as f64;
    match is_by_calls {
        true => "–".to_string(),
        false => format!("{:.3} ms", seconds * 1e3),
    }
}

/// The statement without values, as code: in more quotes than follow each other in it.
fn text(it: &SharedStatement) -> String {
    let key = &it.captured.key;
    let mut shown: String = key.chars().take(SHOWN).collect();
    if shown.len() < key.len() {
        shown.push('…');
    }
    match shown.is_empty() {
        true => "–".to_string(),
        false => {
            let runs = shown.split(|c| c != '`').map(str::len);
            let fence = "`".repeat(1 + runs.max().unwrap_or_default());
            format!("{fence} {} {fence}", one_line(&shown).replace('|', "\\|"))
        }
    }
}

/// Foreign text outside of code: none of it is markup.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::new();
    for c in one_line(text).chars() {
        if "\\`*<>[]|&".contains(c) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}
