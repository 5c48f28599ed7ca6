//! The three tables at the start of a report, and the delay of writes.

use rqps_document::{Cell, Heading, Row, Table, Tone};
use rqps_stats::bands::{self, Band, Relative, Throughput};
use rqps_stats::{NOT_AVAILABLE, sla as promise};
use rqps_store::{Operation, Status};

use super::number::duration;
use super::{Measured, Model, StepModel, by_step, step_headings};

pub(crate) const ABSOLUTE_NOTE: &str = "Averages over the whole step: rows inserted per second \
     (l.i0, l.i1, l.i2), rows indexed per second (l.x), queries per second (q…). Each column's \
     range is cut in four: ▲ is its top quarter, ▼ its bottom quarter. Nothing is ▼ where the \
     smallest value is at least 80% of the largest. ✕ is not comparable, since the step missed its \
     write rate.";

pub(crate) const RELATIVE_NOTE: &str = "The throughput of the table above as a share of the first \
     contender's. ▲ is above 1.05, ▼ below 0.95.";

pub(crate) const SLA_NOTE: &str = "Rows inserted per second while queries ran, on average over \
     the step. The last row is the target. ✕ is less than 95% of it.";

pub(crate) const LAG_NOTE: &str = "The longest delay of a write of the table above: time from when \
     it was due to its start, since the write before it had not ended. Response times start when a \
     write is due.";

/// Throughput by contender and step.
pub(crate) fn absolute(model: &Model) -> Table {
    let mut table = by_step(model, |measured| match measured.throughput() {
        Some(rate) if measured.is_done() => Cell::plain(format!("{rate:.0}")),
        _ => unfinished(measured),
    });
    for (column, step) in model.steps.iter().enumerate() {
        for (row, tone) in tones(step) {
            table.rows[row].cells[column].tone = tone;
        }
    }
    table
}

/// The tone of each contender's throughput in one step, by the index of the contender.
fn tones(step: &StepModel) -> Vec<(usize, Tone)> {
    let (rows, column): (Vec<usize>, Vec<Throughput>) = step
        .done()
        .filter_map(|(index, measured)| {
            let rate = measured.throughput()?.round() as u64;
            Some((index, Throughput { rate, sustained: measured.sla().unwrap_or(true) }))
        })
        .unzip();
    let tones = bands::throughput(&column).into_iter().map(|band| match band {
        Band::Good => Tone::Good,
        Band::Bad => Tone::Bad,
        Band::Ignored => Tone::Ignored,
        Band::Plain => Tone::Plain,
    });
    rows.into_iter().zip(tones).collect()
}

/// Throughput as a share of the first contender's, whose row is 1.00.
pub(crate) fn relative(model: &Model) -> Table {
    let base_of = |step: &StepModel| step.measured[model.base?].as_ref()?.finished_rate();
    let rows = model.contenders.iter().enumerate().map(|(index, name)| {
        let cells = model.steps.iter().map(|step| {
            let Some(measured) = &step.measured[index] else { return Cell::missing("-") };
            let Some(rate) = measured.finished_rate() else { return unfinished(measured) };
            match base_of(step).and_then(|base| bands::relative(rate, base)) {
                Some(share) => Cell::new(format!("{share:.2}"), relative_tone(share)),
                None => Cell::missing(NOT_AVAILABLE),
            }
        });
        Row::new(*name, cells.collect())
    });
    Table::new(step_headings(model), rows.collect()).named("contender")
}

/// Every finished throughput as a share of the first contender's, with contender and step.
pub(crate) fn shares<'a>(model: &Model<'a>) -> Vec<(f64, &'a str, &'a str)> {
    let Some(base) = model.base else { return Vec::new() };
    let mut shares = Vec::new();
    for step in &model.steps {
        let of_base = step.measured[base].as_ref().and_then(Measured::finished_rate);
        for (index, measured) in step.done().filter(|(index, _)| *index != base) {
            let rates = measured.finished_rate().zip(of_base);
            let share = rates.and_then(|(rate, base)| bands::relative(rate, base));
            shares.extend(share.map(|share| (share, model.contenders[index], step.name)));
        }
    }
    shares
}

fn relative_tone(share: f64) -> Tone {
    match bands::relative_band(share) {
        Relative::Faster => Tone::Faster,
        Relative::Slower => Tone::Slower,
        Relative::Same => Tone::Plain,
    }
}

/// The word for a step without a number.
pub(super) fn unfinished(measured: &Measured) -> Cell {
    Cell::missing(match measured.record.status {
        Status::Failed | Status::Overdue => "failed",
        Status::Running | Status::Interrupted => "stopped",
        Status::Done => NOT_AVAILABLE,
    })
}

/// Insert rates of the steps with a target, which is the last row.
pub(crate) fn sla(model: &Model) -> Table {
    let mut table = promised(model, |measured| {
        let rate = measured.window().insert_rate().unwrap_or(0.0);
        let met = measured.sla().unwrap_or(true);
        Cell::new(format!("{rate:.0}"), if met { Tone::Plain } else { Tone::Missed })
    });
    let targets = promising(model).map(|step| {
        let mut records = step.measured.iter().flatten();
        let target = records.find_map(|measured| measured.record.target_rate);
        let text = target.map_or(NOT_AVAILABLE.to_string(), |target| format!("{target:.0}"));
        Cell::new(text, Tone::Reference)
    });
    let targets = Row::new("target", targets.collect());
    if !table.is_empty() {
        table.rows.push(targets);
    }
    table
}

/// The longest delay of a write, in the steps with a target rate.
pub(crate) fn lag(model: &Model) -> Table {
    promised(model, |measured| match measured.of(Operation::Insert) {
        Some(inserts) => Cell::plain(duration(inserts.max_lag)),
        None => Cell::missing(NOT_AVAILABLE),
    })
}

pub(crate) const SHORT_NOTE: &str = "Whole seconds with less than 95% of the target, and in \
     parentheses the most of them in succession. One commit of each client may fall into a \
     neighbouring second with more than the target: it does not count as missing.";

/// How often and for how long the target rate was missed; without rows if it never was.
pub(crate) fn short_seconds(model: &Model) -> Table {
    let mut table = promised(model, |measured| {
        let (target, inserts) = (measured.record.target_rate, measured.of(Operation::Insert));
        let Some((target, inserts)) = target.zip(inserts) else {
            return Cell::missing(NOT_AVAILABLE);
        };
        let whole = inserts.seconds.iter().take(measured.record.seconds as usize);
        let rows: Vec<f64> = whole.map(|second| second.rows as f64).collect();
        let commit = inserts.rows as f64 / inserts.operations.max(1) as f64;
        let commits = commit * f64::from(measured.record.clients.max(1));
        let is_short = promise::short(&rows, commits, target);
        let count = is_short.iter().filter(|short| **short).count();
        let runs = is_short.chunk_by(|one, other| one == other).filter(|run| run[0]);
        match runs.map(<[bool]>::len).max() {
            Some(longest) => Cell::plain(format!("{count} ({longest})")),
            None => Cell::plain("0"),
        }
    });
    if table.rows.iter().flat_map(|row| &row.cells).all(|cell| !cell.text.contains('(')) {
        table.rows.clear();
    }
    table
}

fn promised(model: &Model, cell: impl Fn(&Measured) -> Cell) -> Table {
    let steps = || promising(model);
    let headings = steps().map(|step| Heading::new(step.name, step.title)).collect();
    let rows = model.contenders.iter().enumerate().map(|(index, name)| {
        let cells = steps().map(|step| match &step.measured[index] {
            Some(measured) if measured.is_done() => cell(measured),
            Some(measured) => unfinished(measured),
            None => Cell::missing("-"),
        });
        Row::new(*name, cells.collect())
    });
    Table::new(headings, rows.collect()).named("contender")
}

fn promising<'m, 'a>(model: &'m Model<'a>) -> impl Iterator<Item = &'m StepModel<'a>> {
    model.steps.iter().filter(|step| step.is_promising())
}

/// A sentence for each contender that missed target rates.
pub(super) fn missed(model: &Model) -> Vec<String> {
    let of = |index: usize, name: &str| {
        let missed: Vec<String> = promising(model)
            .filter_map(|step| {
                let measured = step.measured[index].as_ref()?;
                let target = measured.record.target_rate?;
                let rate = measured.window().insert_rate()?;
                let is_missed = measured.is_done() && measured.sla() == Some(false);
                is_missed.then(|| format!("{} {rate:.0} of {target:.0}", step.name))
            })
            .collect();
        let needed = 100.0 * promise::REQUIRED_SHARE;
        (!missed.is_empty()).then(|| {
            format!(
                "{name}: wrote less than {needed:.0}% of the target: {} rows/s",
                missed.join(", ")
            )
        })
    };
    model.contenders.iter().enumerate().filter_map(|(index, name)| of(index, name)).collect()
}
