//! What clients send in a test or step, and how each DBMS carries it out.

use maud::{Markup, html};
use rqps_store::StatementRecord;

const NOTE: &str = "? is a value that is drawn anew each time. A plan is the shape that EXPLAIN tells before the \
     first operation, the outermost node first.";

/// A statement with its plans, and who has which.
struct Sent<'a> {
    text: &'a str,
    times: u32,
    by: Vec<&'a str>,
    plans: Vec<(&'a str, Vec<&'a str>)>,
}

/// By contender. What several send or do alike is told once.
pub(super) fn statements<'a>(of: &[(&'a str, &'a [StatementRecord])]) -> Markup {
    let all = sent(of);
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
                    }
                }
                p.note { (NOTE) }
            }
        }
    }
}

fn sent<'a>(of: &[(&'a str, &'a [StatementRecord])]) -> Vec<Sent<'a>> {
    let mut all: Vec<Sent<'a>> = Vec::new();
    for (name, statements) in of {
        for StatementRecord { text, times, plan } in *statements {
            let known = all.iter().position(|one| one.text == text && one.times == *times);
            let place = known.unwrap_or_else(|| {
                all.push(Sent { text, times: *times, by: Vec::new(), plans: Vec::new() });
                all.len() - 1
            });
            let one = &mut all[place];
            one.by.push(name);
            let Some(plan) = plan else { continue };
            match one.plans.iter_mut().find(|(known, _)| known == plan) {
                Some((_, by)) => by.push(name),
                None => one.plans.push((plan, vec![name])),
            }
        }
    }
    all
}
