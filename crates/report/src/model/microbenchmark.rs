//! The tests of the microbenchmarks as the published tables have them: rows in four groups, a
//! column for each contender.

use std::ops::Deref;

use rqps_analysis::suite::{Test, TestGroups};
use rqps_document::{Cell, Heading, Row, Table, Tone};
use rqps_plan::Counts;
use rqps_stats::bands::{self, Relative};
use rqps_stats::client_share::{BOTTLENECK, client_busy};

use super::measures::{Measure, RATE, SCAN_NOTE, TRANSACTIONS};
use super::summary::unfinished;
use super::{Measured, Model, StepModel};

pub(crate) const PUBLISHED_NOTE: &str = "▲ is 1.05 and above, ▼ 0.95 and below, as printed. Each \
     value compares one run with one run. Use rqps compare to separate differences from noise.";

/// From this share on, all statements found a row: whole percents are printed.
const ALL_HIT: f64 = 0.995;

/// The title of what the published tables leave out.
pub(crate) const UNREPORTED: &str = "Not in the published tables";

/// A rate of tests, and what it is called.
pub(crate) struct CountedRate {
    pub(crate) measure: &'static Measure,
    pub(crate) title: &'static str,
    pub(crate) relative: &'static str,
    pub(crate) note: &'static str,
}

static OF_STATEMENTS: CountedRate = CountedRate {
    measure: &RATE,
    title: "Queries per second",
    relative: "Relative queries per second",
    note: SCAN_NOTE,
};

static OF_TRANSACTIONS: CountedRate = CountedRate {
    measure: &TRANSACTIONS,
    title: "Transactions per second",
    relative: "Relative transactions per second",
    note: "",
};

/// Those tests with the tables and words that formats print.
pub(crate) struct Suite<'m, 'a>(TestGroups<'m, 'a>);

impl<'m, 'a> Deref for Suite<'m, 'a> {
    type Target = TestGroups<'m, 'a>;

    fn deref(&self) -> &TestGroups<'m, 'a> {
        &self.0
    }
}

impl<'m, 'a> Suite<'m, 'a> {
    /// None for other runs.
    pub(crate) fn new(model: &'m Model<'a>) -> Option<Self> {
        TestGroups::new(model).map(Suite)
    }

    /// What the rates of its tests count.
    pub(crate) fn rate(&self) -> &'static CountedRate {
        let is_of_transactions = |step: &StepModel| step.counts == Counts::Transactions;
        match self.model.steps.iter().any(is_of_transactions) {
            true => &OF_TRANSACTIONS,
            false => &OF_STATEMENTS,
        }
    }

    /// ` with 4 clients`; empty where the run has one number of clients.
    pub(crate) fn with_clients(&self, clients: u32) -> String {
        match (self.is_scaleup(), clients) {
            (false, _) => String::new(),
            (true, 1) => " with one client".to_string(),
            (true, _) => format!(" with {clients} clients"),
        }
    }

    /// `Relative to: postgres@17.6`, then a line for each other contender: `col-1 : postgres@18.0`.
    pub(crate) fn columns_told(&self) -> Vec<String> {
        let Some(base) = self.model.base else { return Vec::new() };
        let columns = self.columns();
        let others = self
            .others()
            .map(|index| format!("{} : {}", columns[index], self.model.contenders[index]));
        let baseline = format!("Relative to: {}", self.model.contenders[base]);
        [baseline].into_iter().chain(others).collect()
    }

    /// The names of contenders in tables with a column for each: `col-1` is the first after the
    /// baseline.
    pub(crate) fn columns(&self) -> Vec<String> {
        let mut others = 0;
        let mut name = |index: usize| match Some(index) == self.model.base {
            true => "baseline".to_string(),
            false => {
                others += 1;
                format!("col-{others}")
            }
        };
        (0..self.model.contenders.len()).map(&mut name).collect()
    }

    fn headings(&self, indices: impl Iterator<Item = usize>) -> Vec<Heading> {
        let columns = self.columns();
        let heading = |index: usize| {
            let contender = self.model.contenders[index];
            Heading::new(&columns[index], contender).of(contender)
        };
        indices.map(heading).collect()
    }

    /// As published: throughput as a share of the baseline's, a column for each other contender.
    /// None without other contenders, or without a baseline.
    pub(crate) fn relative(&self, clients: u32) -> Option<Table> {
        let base = self.model.base?;
        let headings = self.headings(self.others());
        let cell = |step: &StepModel, index: usize| {
            let Some(measured) = &step.measured[index] else { return Cell::missing("-") };
            match (share(step, base, index), measured.is_done()) {
                (_, false) => unfinished(measured),
                (Some(share), _) => Cell::new(format!("{share:.2}"), tone(share)),
                (None, _) => Cell::missing(rqps_stats::NOT_AVAILABLE),
            }
        };
        let table = self.grouped(headings, clients, |step| {
            self.others().map(|index| cell(step, index)).collect()
        });
        (self.others().next().is_some()).then_some(table)
    }

    /// A measure with a column for each contender, of the unreported steps too.
    pub(crate) fn by_contender(&self, clients: u32, measure: &Measure) -> Table {
        let all = 0..self.model.contenders.len();
        self.detailed(self.headings(all.clone()), clients, |step| {
            all.clone().map(|index| printed(measure, step.measured[index].as_ref())).collect()
        })
    }

    /// Several measures of one contender, a column for each, of the unreported steps too.
    pub(crate) fn by_measure(&self, clients: u32, index: usize, measures: &[Measure]) -> Table {
        let headings =
            measures.iter().map(|measure| Heading::new(measure.name, measure.legend)).collect();
        self.detailed(headings, clients, |step| {
            let measured = step.measured[index].as_ref();
            measures.iter().map(|measure| printed(measure, measured)).collect()
        })
    }

    fn grouped(
        &self,
        headings: Vec<Heading>,
        clients: u32,
        cells: impl Fn(&StepModel) -> Vec<Cell>,
    ) -> Table {
        let groups = self.groups.iter().flat_map(|group| {
            group.tests.iter().filter_map(|test| row(test, group.title, clients, &cells))
        });
        Table::new(headings, groups.collect()).named("test")
    }

    /// The same, and the unreported steps.
    fn detailed(
        &self,
        headings: Vec<Heading>,
        clients: u32,
        cells: impl Fn(&StepModel) -> Vec<Cell>,
    ) -> Table {
        let unreported = self.unreported.iter();
        let unreported: Vec<Row> =
            unreported.filter_map(|test| row(test, UNREPORTED, clients, &cells)).collect();
        let mut table = self.grouped(headings, clients, cells);
        table.rows.extend(unreported);
        table
    }

    /// What a reader must know before the numbers, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let bottleneck = self.noted(
            "the client is the bottleneck; share of the time in which it was busy",
            |measured| client_busy(&measured.window(), measured.record.clients),
            |busy| busy >= BOTTLENECK,
        );
        let misses = self.noted(
            "share of the statements that found a row to change",
            |m| m.hit_share(),
            |share| share < ALL_HIT,
        );
        [bottleneck, misses].into_iter().flatten().collect()
    }

    /// `<what>: <contender> <step> 62%, <step> 51%; <contender> …`, for the steps with a notable
    /// share.
    fn noted(
        &self,
        what: &str,
        share: fn(&Measured) -> Option<f64>,
        is_told: fn(f64) -> bool,
    ) -> Option<String> {
        let of = |(index, name): (usize, &&str)| {
            let tests = self.listed(index, |measured| {
                let share = share(measured).filter(|share| is_told(*share))?;
                Some(format!("{:.0}%", share * 100.0))
            });
            Some(format!("{name} {}", tests?))
        };
        let told: Vec<String> = self.model.contenders.iter().enumerate().filter_map(of).collect();
        (!told.is_empty()).then(|| format!("{what}: {}", told.join("; ")))
    }

    /// `point-query 62%, hot-points@4 51%`, for the steps of which `say` returns a text.
    fn listed(&self, index: usize, say: impl Fn(&Measured) -> Option<String>) -> Option<String> {
        const LISTED: usize = 6;
        let steps = self.tests().flat_map(|(_, test)| &test.steps);
        let all: Vec<String> = steps
            .filter_map(|(_, step)| {
                let measured = step.measured[index].as_ref().filter(|m| m.is_done())?;
                Some(format!("{} {}", step.name, say(measured)?))
            })
            .collect();
        let more = match all.len() {
            0 => return None,
            count if count > LISTED => format!(" and {} more", count - LISTED),
            _ => String::new(),
        };
        Some(format!("{}{more}", all[..all.len().min(LISTED)].join(", ")))
    }
}

/// The row of a test in a table of one number of clients.
fn row(
    test: &Test,
    group: &str,
    clients: u32,
    cells: impl Fn(&StepModel) -> Vec<Cell>,
) -> Option<Row> {
    Some(test_row(test.name, group, cells(test.at(clients)?)))
}

/// A row that leads to its test in the page.
pub(super) fn test_row(test: &str, group: &str, cells: Vec<Cell>) -> Row {
    Row::new(test, cells).within(group).leading_to(format!("test-{test}"))
}

fn printed(measure: &Measure, measured: Option<&Measured>) -> Cell {
    match measured {
        None => Cell::missing("-"),
        Some(measured) if !measured.is_done() => unfinished(measured),
        Some(measured) => match (measure.value)(measured) {
            Some(value) => Cell::plain((measure.print)(value)),
            None => Cell::missing("-"),
        },
    }
}

/// Throughput of a contender as a share of the baseline's, if both finished.
pub(crate) fn share(step: &StepModel, base: usize, index: usize) -> Option<f64> {
    let rate = |index: usize| step.measured[index].as_ref()?.finished_rate();
    bands::relative(rate(index)?, rate(base)?)
}

fn tone(share: f64) -> Tone {
    match bands::published_band(share) {
        Relative::Faster => Tone::Faster,
        Relative::Slower => Tone::Slower,
        Relative::Same => Tone::Plain,
    }
}
