//! Several contenders side by side, in the layout of published tables: the test comes last.

use super::{Judged, SHORT_MISSED, Verdicts, ratio, reach, short};
use crate::Colour;
use crate::model::{Cell, Grouped, Heading, Row};
use crate::text::{grouped, wrapped};

const NOTE: &str = "rQPS ± half of its 95 % interval. slower, faster: significant, and by at least \
     the margin; in parentheses: by less; costlier: as fast, but an operation costs more; same: no \
     change; unclear: inconclusive.";

const MISSED: &str = " SLA: it never kept its write rate.";

/// Empty for a single contender: its own table says the same.
pub(super) fn text(verdicts: &Verdicts<'_>) -> String {
    if verdicts.judged.len() < 2 {
        return String::new();
    }
    let names: Vec<String> = (1..=verdicts.judged.len()).map(|n| format!("col-{n}")).collect();
    let base = format!("Relative to: {}\n", verdicts.base);
    let columns = names.iter().zip(&verdicts.judged);
    let columns = columns.map(|(name, judged)| format!("{name} : {}\n", judged.contender));
    let columns = [base].into_iter().chain(columns).collect::<String>();
    let mut tests = 0..verdicts.tests.len();
    let has_missed = tests.any(|index| {
        verdicts.judged.iter().any(|one| verdicts.missed(&one.contender, index).is_some())
    });
    let note = NOTE.to_string() + if has_missed { MISSED } else { "" };
    let note = wrapped([[note.as_str()]].into_iter());
    format!(
        "All contenders\n{note}\n{columns}\n{}",
        grouped(&table(verdicts, &names), Colour::Never)
    )
}

fn table<'v>(verdicts: &'v Verdicts<'_>, names: &[String]) -> Grouped<'v> {
    let parts = |judged: &Judged<'_>| -> Vec<[String; 3]> {
        let of = judged.verdicts.iter().enumerate().map(|(index, verdict)| {
            let label = match verdicts.missed(&judged.contender, index) {
                Some(_) => SHORT_MISSED,
                None => short(&verdict.label),
            };
            [ratio(&verdict.estimate), reach(&verdict.estimate), label.to_string()]
        });
        of.collect()
    };
    let columns: Vec<Vec<[String; 3]>> = verdicts.judged.iter().map(parts).collect();
    let width = |part: usize| {
        let all = columns.iter().flatten().map(|parts| parts[part].chars().count());
        all.max().unwrap_or(0)
    };
    let (ratios, reaches, labels) = (width(0), width(1), width(2));
    // Nearly all ratios have one digit before the point, so the points align. Cells contain blanks,
    // so a single blank does not separate columns.
    let cell = |[ratio, reach, label]: &[String; 3]| {
        Cell::plain(format!("{ratio:<ratios$} {reach:<reaches$} {label:<labels$} "))
    };
    let headings = names.iter().map(|name| {
        let whole = ratios + reaches + labels + 3;
        Heading::new(format!("{name:<whole$}"), "")
    });
    let mut groups: Vec<(&str, Vec<Row>)> = Vec::new();
    for (index, test) in verdicts.tests.iter().enumerate() {
        let cells = columns.iter().map(|column| cell(&column[index])).collect();
        let row = Row::new(test.name, cells);
        match groups.last_mut().filter(|(group, _)| *group == test.group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((test.group, vec![row])),
        }
    }
    Grouped { headings: headings.collect(), groups }
}
