//! Throughput over the number of clients, as in the scale-up post, and the fitted law.

use rqps_stats::normalised::switches_per_operation;
use rqps_stats::scalability::{Law, Point, bounds, bucket};

use super::microbenchmark::{Suite, Test, test_row};
use super::number::significant;
use crate::document::{Cell, Heading, Table};

pub(crate) const SCALEUP_NOTE: &str = "Throughput over that with the fewest clients. Perfect \
     scaling is the ratio of the numbers of clients. cs/o is the ratio of context switches per \
     operation, most clients over fewest; a high one is a sign of contention. The knee is the \
     number of clients beyond which throughput falls, by the universal scalability law fitted to \
     one run for each number of clients. Without a number, there is no knee. With few numbers of \
     clients, the knee is a guess.";

/// One test of one contender.
pub(crate) struct Growth<'a> {
    pub(crate) group: &'a str,
    pub(crate) test: &'a str,
    pub(crate) contender: usize,
    /// Each number of clients with the rate; none if the step did not finish.
    pub(crate) rates: Vec<(u32, Option<f64>)>,
    /// Context switches per operation with the most clients over those with the fewest.
    pub(crate) switches: Option<f64>,
    /// None for fewer than three numbers of clients.
    pub(crate) law: Option<Law>,
}

impl Growth<'_> {
    /// The rate with this number of clients over that with the fewest.
    pub(crate) fn relative(&self, clients: u32) -> Option<f64> {
        let base = self.rates.first()?.1.filter(|rate| *rate > 0.0)?;
        let found = self.rates.iter().find(|(of, _)| *of == clients)?;
        Some(found.1? / base)
    }

    /// The ratio with the most clients.
    pub(crate) fn most(&self) -> Option<f64> {
        self.relative(self.rates.last()?.0)
    }

    /// The number of clients beyond which throughput falls: the fewest, if a second client is
    /// already too many.
    pub(crate) fn knee(&self) -> Option<f64> {
        let (law, fewest) = (self.law?, f64::from(self.rates.first()?.0));
        match law.contention >= 1.0 {
            true => Some(fewest),
            false => Some(law.knee()?.max(fewest)),
        }
    }
}

impl<'a> Suite<'_, 'a> {
    /// The fewest and the most clients.
    pub(crate) fn range(&self) -> (u32, u32) {
        (self.clients.first().copied().unwrap_or(1), self.clients.last().copied().unwrap_or(1))
    }

    /// The most clients over the fewest: the ratio of perfect scaling.
    pub(crate) fn ideal(&self) -> f64 {
        let (fewest, most) = self.range();
        f64::from(most) / f64::from(fewest)
    }

    /// By contender, then in the order of the tables.
    pub(crate) fn growths(&self) -> Vec<Growth<'a>> {
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

    /// Rows as published, a column for each number of clients but the fewest.
    pub(crate) fn scaleup(&self, contender: usize) -> Table {
        let (fewest, most) = self.range();
        let more = &self.clients[1..];
        let by_clients = more.iter().map(|clients| {
            Heading::new(
                format!("x{clients}"),
                format!("throughput with {clients} clients over that with {fewest}"),
            )
        });
        let others = [
            ("cs/o", format!("context switches per operation: {most} clients over {fewest}")),
            (
                "contend%",
                "share of an operation that cannot run in parallel, by the fitted law".into(),
            ),
            ("cohere%", "cost of each pair of clients, by the fitted law".into()),
            ("knee", "clients beyond which throughput falls, by the fitted law".to_string()),
        ];
        let headings = by_clients.chain(others.map(|(name, legend)| Heading::new(name, legend)));
        let growths = self.growths();
        let row = |growth: &Growth| {
            let relative = |clients: &u32| growth.relative(*clients).map(|r| format!("{r:.2}"));
            let cells = more.iter().map(relative);
            let others = [
                growth.switches,
                growth.law.map(|law| law.contention * 100.0),
                growth.law.map(|law| law.coherency * 100.0),
                growth.knee(),
            ];
            let cells =
                cells.chain(others.map(|value| value.map(significant))).map(|text| match text {
                    Some(text) => Cell::plain(text),
                    None => Cell::missing("-"),
                });
            test_row(growth.test, growth.group, cells.collect())
        };
        let own = growths.iter().filter(|growth| growth.contender == contender);
        Table::new(headings.collect(), own.map(row).collect()).named("test")
    }

    /// The post's lists of each group: `40 and above` with its tests, down to `below 10`.
    pub(crate) fn buckets(&self, contender: usize) -> Vec<(&'a str, Vec<(String, String)>)> {
        let bounds = bounds(self.ideal()).map(significant);
        let title = |place: usize| match place {
            0 => format!("{} and above", bounds[0]),
            place if place < bounds.len() => format!("{} to {}", bounds[place], bounds[place - 1]),
            _ => format!("below {}", bounds[bounds.len() - 1]),
        };
        let growths = self.growths();
        let of_group = |group: &'a str| {
            let in_bucket = |place: usize| {
                let tests = growths.iter().filter(|growth| {
                    let found = growth.most().map(|relative| bucket(relative, self.ideal()));
                    growth.contender == contender && growth.group == group && found == Some(place)
                });
                let names: Vec<&str> = tests.map(|growth| growth.test).collect();
                let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
                (title(place), names)
            };
            (group, (0..=bounds.len()).map(in_bucket).collect())
        };
        self.groups.iter().map(|group| of_group(group.title)).collect()
    }
}
