//! What is found, in sysbench's form, so that what reads sysbench's output reads this.

use super::limits::EventLimits;
use super::tally::EventTally;

/// What is printed before a run.
pub(super) fn options(limits: &EventLimits) -> String {
    let mut text = "Running the test with following options:\n".to_string();
    text += &format!("Number of threads: {}\n", limits.threads);
    if let Some(warm_up) = limits.warm_up {
        text += &format!("Warmup time: {}s\n", warm_up.as_secs());
    }
    if let Some(rate) = limits.rate {
        text += &format!("Target transaction rate: {rate}/sec\n");
    }
    if let Some(interval) = limits.interval {
        let seconds = interval.as_secs();
        text += &format!("Report intermediate results every {seconds} second(s)\n");
    }
    if !limits.checkpoints.is_empty() {
        let all: Vec<String> =
            limits.checkpoints.iter().map(|it| it.as_secs().to_string()).collect();
        text += &format!("Report checkpoint(s) at {} seconds\n", all.join(", "));
    }
    text += &match limits.is_seeded {
        true => format!("Initializing random number generator from seed ({}).\n", limits.seed),
        false => "Initializing random number generator from current time\n".to_string(),
    };
    if let (Some(grace), Some(time)) = (limits.forced, limits.time) {
        text += &format!("Forcing shutdown in {} seconds\n", (time + grace).as_secs());
    }
    text + "\n\nInitializing worker threads...\n\n"
}

/// The figures of an interval, or of a whole run.
pub(super) struct Figures<'a> {
    pub(super) tally: &'a EventTally,
    pub(super) threads: u32,
    /// Of the interval, and since the start.
    pub(super) seconds: f64,
    pub(super) total: f64,
    /// Events that wait, and that are running, at a rate.
    pub(super) queue: Option<(u64, u64)>,
    pub(super) percentile: u32,
}

impl Figures<'_> {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }

    fn latency(&self) -> f64 {
        self.tally.latencies.percentile(f64::from(self.percentile))
    }

    /// A line of `--report-interval`.
    pub(super) fn line(&self) -> String {
        let statements = self.tally.counts.effect.statements;
        let mut line = format!(
            "[ {:.0}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{}%): \
             {:.2} err/s: {:.2} reconn/s: {:.2}\n",
            self.total,
            self.threads,
            self.per_second(self.tally.events),
            self.per_second(self.tally.queries()),
            self.per_second(statements.reads),
            self.per_second(statements.writes),
            self.per_second(statements.others),
            self.percentile,
            self.latency(),
            self.per_second(self.tally.counts.errors),
            self.per_second(self.tally.counts.reconnects),
        );
        if let Some((waiting, running)) = self.queue {
            line += &format!(
                "[ {:.0}s ] queue length: {waiting}, concurrency: {running}\n",
                self.total
            );
        }
        line
    }

    /// The report at the end; `clients` are those that it is the sum of.
    pub(super) fn summary(&self, clients: &[EventTally]) -> String {
        let EventTally { events, counts, min, max, sum, .. } = self.tally;
        let statements = counts.effect.statements;
        let rated = |name: &str, count: u64| {
            format!("    {name:<36} {count:<6} ({:.2} per sec.)\n", self.per_second(count))
        };
        let mut text = format!(
            "SQL statistics:\n    queries performed:\n        read:                            {}\n\
             {:8}write:                           {}\n{:8}other:                           {}\n\
             {:8}total:                           {}\n",
            statements.reads,
            "",
            statements.writes,
            "",
            statements.others,
            "",
            self.tally.queries(),
        );
        text += &rated("transactions:", *events);
        text += &rated("queries:", self.tally.queries());
        text += &rated("ignored errors:", counts.errors);
        text += &rated("reconnects:", counts.reconnects);
        text += &format!(
            "\nGeneral statistics:\n    total time:                          {:.4}s\n    \
             total number of events:              {events}\n\n",
            self.total
        );
        let mean = if *events == 0 { 0.0 } else { sum / *events as f64 };
        text += "Latency (ms):\n";
        for (name, seconds) in [("min", *min), ("avg", mean), ("max", *max)] {
            text += &format!("         {name}: {:39.2}\n", seconds * 1e3);
        }
        text += &match self.percentile {
            0 => "         percentile stats:               disabled\n".to_string(),
            percent => format!("        {percent:3}th percentile: {:27.2}\n", self.latency()),
        };
        text += &format!("         sum: {:39.2}\n\n", sum * 1e3);
        let (events_mean, events_deviation) =
            spread(clients.iter().map(|client| client.events as f64));
        let (time_mean, time_deviation) = spread(clients.iter().map(|client| client.sum));
        text + &format!(
            "Threads fairness:\n    events (avg/stddev):           {events_mean:.4}/\
             {events_deviation:.2}\n    execution time (avg/stddev):   {time_mean:.4}/\
             {time_deviation:.2}\n\n"
        )
    }

    /// By the names that hooks of scripts know; times are in seconds.
    pub(super) fn for_hooks(&self) -> Vec<(&'static str, f64)> {
        let EventTally { events, counts, min, max, sum, .. } = self.tally;
        let statements = counts.effect.statements;
        let (waiting, running) = self.queue.unwrap_or_default();
        let mean = if *events == 0 { 0.0 } else { sum / *events as f64 };
        vec![
            ("threads_running", f64::from(self.threads)),
            ("time_interval", self.seconds),
            ("time_total", self.total),
            ("latency_pct", self.latency() / 1e3),
            ("events", *events as f64),
            ("reads", statements.reads as f64),
            ("writes", statements.writes as f64),
            ("other", statements.others as f64),
            ("errors", counts.errors as f64),
            ("reconnects", counts.reconnects as f64),
            ("queue_length", waiting as f64),
            ("concurrency", running as f64),
            ("latency_min", *min),
            ("latency_max", *max),
            ("latency_avg", mean),
            ("latency_sum", *sum),
        ]
    }
}

/// Mean and deviation of a population.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / count).sqrt())
}
