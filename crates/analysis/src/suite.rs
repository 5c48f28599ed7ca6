//! A run of independent tests, arranged by test, and how their throughput grows with the clients.

use std::cmp::Ordering;

use rqps_plan::Workload;
use rqps_stats::normalised::switches_per_operation;
use rqps_stats::scalability::{Law, Point};

use crate::steps::{Model, StepModel};

/// A run of independent tests, arranged by test.
pub struct TestGroups<'m, 'a> {
    pub model: &'m Model<'a>,
    pub plan: &'a Workload,
    /// The groups of the published tables that have tests in this run.
    pub groups: Vec<Group<'m, 'a>>,
    /// Steps that the published tables leave out: the load and what warms caches, in their order.
    pub unreported: Vec<Test<'m, 'a>>,
    /// In ascending order.
    pub clients: Vec<u32>,
}

pub struct Group<'m, 'a> {
    pub title: &'a str,
    /// In the order of the posts.
    pub tests: Vec<Test<'m, 'a>>,
}

/// A test with every number of clients it ran with.
pub struct Test<'m, 'a> {
    pub name: &'a str,
    pub steps: Vec<(u32, &'m StepModel<'a>)>,
}

impl<'m, 'a> TestGroups<'m, 'a> {
    /// None for other runs.
    pub fn new(model: &'m Model<'a>) -> Option<Self> {
        let plan = model.run.plan.single().filter(|plan| !plan.is_chain())?;
        let mut clients = plan.clients().to_vec();
        clients.sort_unstable();
        let mut suite =
            TestGroups { model, plan, groups: Vec::new(), unreported: Vec::new(), clients };
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
    pub fn tests(&self) -> impl Iterator<Item = (&'a str, &Test<'m, 'a>)> {
        self.groups.iter().flat_map(|group| group.tests.iter().map(|test| (group.title, test)))
    }

    /// Those, then the others, which have no group.
    pub fn all_tests(&self) -> impl Iterator<Item = (Option<&'a str>, &Test<'m, 'a>)> {
        let reported = self.tests().map(|(group, test)| (Some(group), test));
        reported.chain(self.unreported.iter().map(|test| (None, test)))
    }

    /// Whether tests ran with several numbers of clients.
    pub fn is_scaleup(&self) -> bool {
        self.clients.len() > 1
    }

    /// The contenders that are relative to the baseline.
    pub fn others(&self) -> impl Iterator<Item = usize> + Clone {
        let base = self.model.base;
        (0..self.model.contenders.len()).filter(move |index| Some(*index) != base)
    }

    /// The fewest and the most clients.
    pub fn range(&self) -> (u32, u32) {
        (self.clients.first().copied().unwrap_or(1), self.clients.last().copied().unwrap_or(1))
    }

    /// The most clients over the fewest: the ratio of perfect scaling.
    pub fn ideal(&self) -> f64 {
        let (fewest, most) = self.range();
        f64::from(most) / f64::from(fewest)
    }

    /// By contender, then in the order of the tables.
    pub fn growths(&self) -> Vec<Growth<'a>> {
        let contenders = 0..self.model.contenders.len();
        let of = |index| self.tests().map(move |(group, test)| self.growth(group, test, index));
        contenders.flat_map(of).collect()
    }

    fn growth(&self, group: &'a str, test: &Test<'_, 'a>, contender: usize) -> Growth<'a> {
        let done = |clients: u32| {
            let measured = test.at(clients)?.measured[contender].as_ref();
            measured.filter(|measured| measured.is_done())
        };
        let rates: Vec<(u32, Option<f64>)> = self
            .clients
            .iter()
            .map(|&clients| (clients, done(clients).and_then(|measured| measured.throughput())))
            .collect();
        let point = |(clients, rate): &(u32, Option<f64>)| {
            Some(Point { clients: f64::from(*clients), rate: (*rate)? })
        };
        let points: Vec<Point> = rates.iter().filter_map(point).collect();
        let (fewest, most) = self.range();
        let switches = |clients: u32| switches_per_operation(&done(clients)?.window());
        let grown = switches(fewest).filter(|few| *few > 0.0).zip(switches(most));
        Growth {
            group,
            test: test.name,
            contender,
            switches: grown.map(|(few, many)| many / few),
            law: Law::fit(&points),
            rates,
        }
    }
}

impl<'m, 'a> Test<'m, 'a> {
    /// The step with this number of clients.
    pub fn at(&self, clients: u32) -> Option<&'m StepModel<'a>> {
        self.steps.iter().find(|(of, _)| *of == clients).map(|(_, step)| *step)
    }
}

/// One test of one contender.
pub struct Growth<'a> {
    pub group: &'a str,
    pub test: &'a str,
    pub contender: usize,
    /// Each number of clients with the rate; none if the step did not finish.
    pub rates: Vec<(u32, Option<f64>)>,
    /// Context switches per operation with the most clients over those with the fewest.
    pub switches: Option<f64>,
    /// None for fewer than three numbers of clients.
    pub law: Option<Law>,
}

impl Growth<'_> {
    /// The rate with this number of clients over that with the fewest.
    pub fn relative(&self, clients: u32) -> Option<f64> {
        let base = self.rates.first()?.1.filter(|rate| *rate > 0.0)?;
        let found = self.rates.iter().find(|(of, _)| *of == clients)?;
        Some(found.1? / base)
    }

    /// The ratio with the most clients.
    pub fn most(&self) -> Option<f64> {
        self.relative(self.rates.last()?.0)
    }

    /// The number of clients beyond which throughput falls: the fewest, if a second client is
    /// already too many.
    pub fn knee(&self) -> Option<f64> {
        let (law, fewest) = (self.law?, f64::from(self.rates.first()?.0));
        match law.contention >= 1.0 {
            true => Some(fewest),
            false => Some(law.knee()?.max(fewest)),
        }
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
