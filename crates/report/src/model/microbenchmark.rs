//! The tests of the microbenchmarks as the published tables have them: rows in four groups, a
//! column for each contender.

use std::cmp::Ordering;

use rqps_plan::{Counts, Design, Workload};
use rqps_stats::bands::{self, Relative};
use rqps_stats::client_share::{BOTTLENECK, client_busy};

use super::measures::{Measure, RATE, SCAN_NOTE, TRANSACTIONS, hit_share};
use super::summary::unfinished;
use super::{Measured, Model, StepModel};
use crate::document::{Cell, Heading, Row, Table, Tone};

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

/// A run of independent tests, arranged by test.
pub(crate) struct Suite<'m, 'a> {
    pub(crate) model: &'m Model<'a>,
    pub(crate) plan: &'a Workload,
    /// The groups of the published tables that have tests in this run.
    pub(crate) groups: Vec<Group<'m, 'a>>,
    /// Steps that the published tables leave out: the load and what warms caches, in their order.
    pub(crate) unreported: Vec<Test<'m, 'a>>,
    /// In ascending order.
    pub(crate) clients: Vec<u32>,
}

pub(crate) struct Group<'m, 'a> {
    pub(crate) title: &'a str,
    /// In the order of the posts.
    pub(crate) tests: Vec<Test<'m, 'a>>,
}

/// A test with every number of clients it ran with.
pub(crate) struct Test<'m, 'a> {
    pub(crate) name: &'a str,
    pub(crate) steps: Vec<(u32, &'m StepModel<'a>)>,
}

impl<'m, 'a> Suite<'m, 'a> {
    /// None for other runs.
    /// What the rates of its tests count.
    pub(crate) fn rate(&self) -> &'static CountedRate {
        let is_of_transactions = |step: &StepModel| step.counts == Counts::Transactions;
        match self.model.steps.iter().any(is_of_transactions) {
            true => &OF_TRANSACTIONS,
            false => &OF_STATEMENTS,
        }
    }

    pub(crate) fn new(model: &'m Model<'a>) -> Option<Self> {
        let Design::Single(plan) = &model.run.plan.design else { return None };
        if plan.is_chain() {
            return None;
        }
        let mut clients = plan.clients().to_vec();
        clients.sort_unstable();
        let mut suite = Suite { model, plan, groups: Vec::new(), unreported: Vec::new(), clients };
        for step in &model.steps {
            suite.add(step);
        }
        suite.groups.sort_by_key(|group| rqps_plan::Group::place(group.title));
        for group in &mut suite.groups {
            group.tests.sort_by(|left, right| published_order(left.name, right.name));
        }
        for test in suite.groups.iter_mut().flat_map(|group| &mut group.tests) {
            test.steps.sort_by_key(|(clients, _)| *clients);
        }
        Some(suite)
    }

    fn add(&mut self, step: &'m StepModel<'a>) {
        let [only] = self.clients[..] else {
            let (name, clients) = several(step.name);
            return self.add_as(name, clients.unwrap_or(self.clients[0]), step);
        };
        self.add_as(step.name, only, step);
    }

    fn add_as(&mut self, name: &'a str, clients: u32, step: &'m StepModel<'a>) {
        let tests = match step.group {
            None => &mut self.unreported,
            Some(title) => {
                let known = self.groups.iter().position(|group| group.title == title);
                let index = known.unwrap_or_else(|| {
                    self.groups.push(Group { title, tests: Vec::new() });
                    self.groups.len() - 1
                });
                &mut self.groups[index].tests
            }
        };
        match tests.iter_mut().find(|test| test.name == name) {
            Some(test) => test.steps.push((clients, step)),
            None => tests.push(Test { name, steps: vec![(clients, step)] }),
        }
    }

    /// The tests of the published tables, with their group.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (&'a str, &Test<'m, 'a>)> {
        self.groups.iter().flat_map(|group| group.tests.iter().map(|test| (group.title, test)))
    }

    /// Those, then the others, which have no group.
    pub(crate) fn all_tests(&self) -> impl Iterator<Item = (Option<&'a str>, &Test<'m, 'a>)> {
        let reported = self.tests().map(|(group, test)| (Some(group), test));
        reported.chain(self.unreported.iter().map(|test| (None, test)))
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

    /// Whether tests ran with several numbers of clients.
    pub(crate) fn is_scaleup(&self) -> bool {
        self.clients.len() > 1
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

    /// The contenders that are relative to the baseline.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + Clone {
        let base = self.model.base;
        (0..self.model.contenders.len()).filter(move |index| Some(*index) != base)
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
            group.tests.iter().filter_map(|test| test.row(group.title, clients, &cells))
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
            unreported.filter_map(|test| test.row(UNREPORTED, clients, &cells)).collect();
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
        let misses =
            self.noted("share of the statements that found a row to change", hit_share, |share| {
                share < ALL_HIT
            });
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

impl<'m, 'a> Test<'m, 'a> {
    /// The step with this number of clients.
    pub(crate) fn at(&self, clients: u32) -> Option<&'m StepModel<'a>> {
        self.steps.iter().find(|(of, _)| *of == clients).map(|(_, step)| *step)
    }

    /// Its row in a table of one number of clients.
    fn row(
        &self,
        group: &str,
        clients: u32,
        cells: impl Fn(&StepModel) -> Vec<Cell>,
    ) -> Option<Row> {
        Some(test_row(self.name, group, cells(self.at(clients)?)))
    }
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

/// `point-query@4` is the test point-query with four clients.
fn several(step: &str) -> (&str, Option<u32>) {
    match step.rsplit_once('@') {
        Some((name, clients)) if clients.parse::<u32>().is_ok() => (name, clients.parse().ok()),
        _ => (step, None),
    }
}

/// The posts sort file names in a locale that compares letters and digits only, and a letter
/// follows the range: read-only-order, read-only_range=10000, then 100.
fn published_order(left: &str, right: &str) -> Ordering {
    let key = |name: &str| {
        let seen = name.chars().filter(char::is_ascii_alphanumeric);
        seen.chain(['~']).collect::<String>()
    };
    key(left).cmp(&key(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_in_the_order_of_the_posts() {
        let published = "hot-points point-query points-covered-pk points-covered-si \
             points-notcovered-pk points-notcovered-si random-points_range=1000 \
             random-points_range=100 random-points_range=10 read-only-count read-only-distinct \
             read-only-order read-only_range=10000 read-only_range=100 read-only_range=10 \
             read-only-simple read-only-sum update-index update-inlist update-nonindex";
        let published: Vec<&str> = published.split_whitespace().collect();
        let mut names = published.clone();
        names.sort();
        assert_ne!(names, published);
        names.sort_by(|left, right| published_order(left, right));
        assert_eq!(names, published);
    }

    #[test]
    fn a_step_of_several_clients_names_them() {
        assert_eq!(several("point-query@16"), ("point-query", Some(16)));
        assert_eq!(several("load"), ("load", None));
    }
}
