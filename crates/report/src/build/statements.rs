//! The statements of a test or step, and their query plans in each DBMS.

use rqps_document::{Block, Fold, Inline, List, ListItem, Style, Text};
use rqps_store::{Planning, StatementRecord};

use crate::model::number::{duration, significant};

const NOTE: &str = "? is a value that is drawn anew each time. A query plan is the shape from \
     EXPLAIN before the first operation, outermost node first. Planning times come from Postgres, \
     before the first operation and after the last.";

/// The statements of a contender, and the rows of an operation.
pub(super) struct By<'a> {
    pub(super) contender: &'a str,
    pub(super) statements: &'a [StatementRecord],
    /// Rows that an operation returned or changed, as the DBMS counts them.
    pub(super) rows: Option<f64>,
}

/// A statement with its query plans and the contenders of each.
struct Sent<'a> {
    text: &'a str,
    times: u32,
    by: Vec<&'a str>,
    plans: Vec<(&'a str, Vec<&'a str>)>,
    planning: Vec<(&'a str, Planning)>,
}

/// Equal statements and query plans of several contenders appear once.
pub(super) fn statements(of: &[By<'_>]) -> Option<Block> {
    let all = sent(of);
    if all.is_empty() {
        return None;
    }
    let items = all.iter().map(|one| item(one, of.len())).collect();
    let mut blocks = vec![Block::List(List { style: Style::Bullets, items })];
    let rows = rows(of).into_iter().map(|(rows, by)| rows + &whose(&by, of.len()));
    let rows = rows.collect::<Vec<_>>().join(", ");
    if !rows.is_empty() {
        blocks.push(Block::text(format!("Rows returned or changed per operation: {rows}.")));
    }
    blocks.push(Block::text(NOTE));
    let title = vec!["Statements and query plans".into()];
    Some(Block::Fold(Fold { title, blocks, is_open: true, ..Fold::default() }))
}

fn item(one: &Sent<'_>, all: usize) -> ListItem {
    let times = match one.times {
        1 => String::new(),
        times => format!(" × {times} in each operation"),
    };
    let text = vec![Inline::Code(one.text.to_string()), (times + &whose(&one.by, all)).into()];
    let most = if one.plans.len() > 1 { usize::MAX } else { one.by.len() };
    let plans = one.plans.iter().map(|(plan, by)| format!("→ {plan}{}", whose(by, most)));
    let planned = one.planning.iter();
    let planned = planned.map(|(by, planning)| format!("→ planned in {} ({by})", took(planning)));
    let details = plans.chain(planned).map(|line| -> Text { vec![line.into()] }).collect();
    ListItem { text, details, ..ListItem::default() }
}

/// Their names, unless all have it.
fn whose(by: &[&str], all: usize) -> String {
    if by.len() < all { format!(" ({})", by.join(", ")) } else { String::new() }
}

/// Numbers of rows, with the contenders of each.
fn rows<'a>(of: &[By<'a>]) -> Vec<(String, Vec<&'a str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for one in of {
        let Some(rows) = one.rows.map(significant) else { continue };
        match all.iter_mut().find(|(known, _)| *known == rows) {
            Some((_, by)) => by.push(one.contender),
            None => all.push((rows, vec![one.contender])),
        }
    }
    all
}

/// `41.0us, 1.24ms at the end`
fn took(planning: &Planning) -> String {
    let time = |micros: f64| duration((1e3 * micros).round() as u64);
    let after = planning.after.map(|after| format!(", {} at the end", time(after)));
    time(planning.before) + &after.unwrap_or_default()
}

fn sent<'a>(of: &[By<'a>]) -> Vec<Sent<'a>> {
    let mut all: Vec<Sent<'a>> = Vec::new();
    for By { contender: name, statements, .. } in of {
        for StatementRecord { text, times, plan, planning, .. } in *statements {
            let known = all.iter().position(|one| one.text == text && one.times == *times);
            let place = known.unwrap_or_else(|| {
                let (plans, planning) = (Vec::new(), Vec::new());
                all.push(Sent { text, times: *times, by: Vec::new(), plans, planning });
                all.len() - 1
            });
            let one = &mut all[place];
            one.by.push(name);
            one.planning.extend(planning.map(|planning| (*name, planning)));
            let Some(plan) = plan else { continue };
            match one.plans.iter_mut().find(|(known, _)| known == plan) {
                Some((_, by)) => by.push(name),
                None => one.plans.push((plan, vec![name])),
            }
        }
    }
    all
}
