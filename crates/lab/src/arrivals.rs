//! Operations that are due at random instants, whatever the server does (open loop).

use std::time::Duration;

use rand::RngExt;
use rqps_load::{Order, Schedule, Until};
use rqps_plan::Comparison;
use rqps_workload::{Random, Task, stream};

/// What is due may be done this much later than planned: a share of the time, and at least this.
const GRACE: f64 = 0.02;
const LEAST_GRACE: Duration = Duration::from_secs(1);

/// With fewer operations for each client, the rate that is reached is rounded by more than 1 %.
const FEWEST: f64 = 50.0;

/// The arrivals of operations in a round: the same for all arms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrivals {
    /// Of all clients together.
    per_second: f64,
    seed: u64,
}

/// A rate that leaves too few operations to a client.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "with --rate {per_second}, each of {clients} clients has {due:.0} operations in the {seconds} s of \
     {test}, fewer than {FEWEST}. Use --secs {needed} or more, or a higher rate"
)]
pub struct TooFewArrivals {
    per_second: f64,
    clients: u32,
    due: f64,
    seconds: f64,
    test: String,
    needed: u64,
}

impl Arrivals {
    /// None in a closed loop. `random` is that of a round.
    pub(crate) fn draw(comparison: &Comparison, random: Random) -> Option<Arrivals> {
        Some(Arrivals::at(comparison.rate?, random))
    }

    pub(crate) fn at(per_second: f64, mut random: Random) -> Arrivals {
        Arrivals { per_second, seed: random.random() }
    }

    /// The order of one of the clients of a task, counted from 1.
    pub(crate) fn order(self, task: &Task, client: u32, clients: u32) -> Order {
        let per_second = self.per_second / f64::from(clients);
        let operations = (per_second * task.time.as_secs_f64()).round() as u64;
        let seed = stream(self.seed, &[task.index as u64, client.into()]).random();
        Order {
            schedule: Schedule::Poisson { per_second, seed },
            until: Until::OperationsWithin(operations, task.time + grace(task.time)),
        }
    }
}

/// How much later than planned what is due may be done.
pub(crate) fn grace(time: Duration) -> Duration {
    time.mul_f64(GRACE).max(LEAST_GRACE)
}

/// Refuses a rate with which a task would have too few operations.
pub(crate) fn validate(comparison: &Comparison, tasks: &[Task]) -> Result<(), TooFewArrivals> {
    let Some(per_second) = comparison.rate else { return Ok(()) };
    let mut timed = tasks.iter().filter(|task| !task.fills && !task.time.is_zero());
    let too_few = timed.find_map(|task| {
        let (clients, seconds) = (task.clients.max(1), task.time.as_secs_f64());
        let due = per_second * seconds / f64::from(clients);
        let needed = (FEWEST * f64::from(clients) / per_second).ceil() as u64;
        let test = task.name.clone();
        (due < FEWEST).then_some(TooFewArrivals { per_second, clients, due, seconds, test, needed })
    });
    too_few.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use rqps_plan::Method;

    use super::*;

    fn comparison(rate: f64, secs: &str, clients: u32) -> (Comparison, Vec<Task>) {
        let micro = rqps_plan::Microbenchmark {
            tables: 1,
            rows: "1K".parse().unwrap(),
            clients: vec![clients],
            read_time: secs.parse().unwrap(),
            write_time: secs.parse().unwrap(),
            tests: vec!["point-query".to_string()],
            fair_writes: true,
            pause: "0s".parse().unwrap(),
            quiesce_after_each_write: false,
            check: false,
        };
        let of = Comparison::new(micro.into());
        let comparison = Comparison { rate: Some(rate), method: Method::Runs, ..of };
        let tasks = rqps_workload::tasks(&comparison.of).unwrap();
        (comparison, tasks)
    }

    #[test]
    fn clients_share_the_rate_and_rounds_differ() {
        let (comparison, tasks) = comparison(500.0, "30s", 2);
        let task = tasks.iter().find(|task| !task.fills).unwrap();
        let order = |round, client| {
            let arrivals = Arrivals::draw(&comparison, stream(1, &[round])).unwrap();
            arrivals.order(task, client, 2)
        };
        let Order { schedule: Schedule::Poisson { per_second, .. }, until } = order(1, 1) else {
            panic!("arrivals are random")
        };
        assert_eq!(per_second, 250.0);
        assert_eq!(until, Until::OperationsWithin(7_500, Duration::from_secs(31)));
        assert_eq!(order(1, 1).schedule, order(1, 1).schedule, "arms have the same arrivals");
        assert_ne!(order(1, 1).schedule, order(1, 2).schedule);
        assert_ne!(order(1, 1).schedule, order(2, 1).schedule);
    }

    #[test]
    fn a_rate_with_too_few_operations_is_refused_with_what_would_do() {
        let (few, tasks) = comparison(10.0, "2s", 4);
        let error = validate(&few, &tasks).unwrap_err().to_string();
        assert!(error.contains("each of 4 clients has 5 operations"), "{error}");
        assert!(error.contains("--secs 20 or more"), "{error}");
        let (enough, tasks) = comparison(10.0, "20s", 4);
        assert_eq!(validate(&enough, &tasks), Ok(()));
    }
}
