//! What clients send in a test or step, and how each DBMS carries it out.

use maud::{Markup, html};
use rqps_store::{Planning, StatementRecord};

use crate::model::number::{duration, significant};

const NOTE: &str = "? is a value that is drawn anew each time. A plan is the shape that EXPLAIN tells before the \
     first operation, the outermost node first; planning takes what Postgres says, before the first operation and \
     after the last.";

/// What a contender was sent, and what came of it.
pub(super) struct By<'a> {
    pub(super) contender: &'a str,
    pub(super) statements: &'a [StatementRecord],
    /// Returned or changed, as the DBMS counts them, by an operation.
    pub(super) rows: Option<f64>,
}

/// A statement with its plans, and who has which.
struct Sent<'a> {
    text: &'a str,
    times: u32,
    by: Vec<&'a str>,
    plans: Vec<(&'a str, Vec<&'a str>)>,
    planning: Vec<(&'a str, Planning)>,
}

/// What several send or do alike is told once.
pub(super) fn statements(of: &[By<'_>]) -> Markup {
    let all = sent(of);
    let rows = rows(of);
    html! {
        @if !all.is_empty() {
            details.statements open {
                summary { "Statements and plans" }
                dl {
                    @for one in &all {
                        dt {
                            code { (one.text) }
                            @if one.times > 1 { " " span.by { "× " (one.times) " in each operation" } }
                            @if one.by.len() < of.len() { " " span.by { (one.by.join(", ")) } }
                        }
                        @for (plan, by) in &one.plans {
                            dd {
                                (plan)
                                @if one.plans.len() > 1 || by.len() < one.by.len() {
                                    " " span.by { (by.join(", ")) }
                                }
                            }
                        }
                        @for (by, planning) in &one.planning {
                            dd { "planned in " (took(planning)) " " span.by { (by) } }
                        }
                    }
                }
                @if !rows.is_empty() {
                    p.returned {
                        "Rows returned or changed by an operation: "
                        @for (index, (rows, by)) in rows.iter().enumerate() {
                            @if index > 0 { ", " }
                            (rows)
                            @if by.len() < of.len() { " " span.by { (by.join(", ")) } }
                        }
                        "."
                    }
                }
                p.note { (NOTE) }
            }
        }
    }
}

/// Numbers of rows, with who has which.
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

/// `41.0us, 1.24ms in the end`
fn took(planning: &Planning) -> String {
    let time = |micros: f64| duration((1e3 * micros).round() as u64);
    let after = planning.after.map(|after| format!(", {} in the end", time(after)));
    time(planning.before) + &after.unwrap_or_default()
}

fn sent<'a>(of: &[By<'a>]) -> Vec<Sent<'a>> {
    let mut all: Vec<Sent<'a>> = Vec::new();
    for By { contender: name, statements, .. } in of {
        for StatementRecord { text, times, plan, planning } in *statements {
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
