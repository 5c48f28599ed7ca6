//! The statements of a test or step, and their query plans in each DBMS.

use maud::{Markup, html};
use rqps_store::{Planning, StatementRecord};

use crate::model::number::{duration, significant};

const NOTE: &str = "? is a value that is drawn anew each time. A query plan is the shape from EXPLAIN before the \
     first operation, outermost node first. Planning times come from Postgres, before the first operation and \
     after the last.";

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
pub(super) fn statements(of: &[By<'_>]) -> Markup {
    let all = sent(of);
    let rows = rows(of);
    html! {
        @if !all.is_empty() {
            details.statements open {
                summary { "Statements and query plans" }
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
                        "Rows returned or changed per operation: "
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
