//! Throughput over the number of clients, as in the scale-up post, and the fitted law.

use rqps_analysis::suite::Growth;
use rqps_document::{Cell, Heading, Table};
use rqps_stats::scalability::{bounds, bucket};

use super::microbenchmark::{Suite, test_row};
use super::number::significant;

pub(crate) const SCALEUP_NOTE: &str = "Throughput over that with the fewest clients. Perfect \
     scaling is the ratio of the numbers of clients. cs/o is the ratio of context switches per \
     operation, most clients over fewest; a high one is a sign of contention. The knee is the \
     number of clients beyond which throughput falls, by the universal scalability law fitted to \
     one run for each number of clients. Without a number, there is no knee. With few numbers of \
     clients, the knee is a guess.";

impl<'a> Suite<'_, 'a> {
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
