//! Forecasts the time and disk of a plan before anything is started, from the plan and from
//! measured rates of such work. A busy or slow machine takes twice as long, a fast one half.

use std::ops::Add;
use std::time::Duration;

use rqps_dbms::{Descriptor, Footprint, descriptor};
use rqps_plan::{Build, CacheNeed, Contender, Dbms, Plan, Workload};
use rqps_workload::{Rest, Takes, Task};

use crate::error::LabError;

mod comparison;

/// Assumed rates of work, in rows per second. Medians of rqps with one client and 200K
/// rows on SQLite, Postgres 17, MySQL 8.0, MariaDB 11.4 and MyRocks, on a VM with two busy cores.
/// The slowest took three times as long as the fastest.
pub mod pace {
    /// Loading in key order.
    pub const LOAD: f64 = 100_000.0;
    /// Building the three secondary indexes of the Insert Benchmark.
    pub const INDEX: f64 = 80_000.0;
    /// Inserting and deleting with secondary indexes, in transactions of 50 rows.
    pub const WRITE: f64 = 15_000.0;
    /// The same in transactions of 5 rows.
    pub const SMALL_WRITE: f64 = 9_000.0;
    /// Reading a table and its indexes to check them.
    pub const CHECK: f64 = 300_000.0;
    /// The same if memory does not hold them: a row is fetched for each index entry. Measured with
    /// 3M rows of the microbenchmarks in 704 MB.
    pub const CHECK_BEYOND_MEMORY: f64 = 6_000.0;
    /// Copying a data directory, in bytes per second.
    pub const COPY: f64 = 200e6;
}

/// The overhead of a transaction with at least this many rows is small.
const LARGE_TRANSACTION: u32 = 50;
/// Room beside the data, in percent of them: old row versions, pages that are not full.
const ROOM: u64 = 25;

/// Time by kind of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Data directories are made, servers started and stopped, data copied.
    pub starts: Duration,
    /// Rows loaded and indexed.
    pub loads: Duration,
    pub measured: Duration,
    pub pauses: Duration,
    pub checks: Duration,
}

impl Time {
    pub fn total(&self) -> Duration {
        self.starts + self.loads + self.measured + self.pauses + self.checks
    }
}

/// The sums by kind.
impl<'a> FromIterator<&'a Piece> for Time {
    fn from_iter<I: IntoIterator<Item = &'a Piece>>(pieces: I) -> Self {
        let mut time = Time::default();
        for piece in pieces {
            let part = match piece.kind {
                Kind::Start | Kind::End => &mut time.starts,
                Kind::Load | Kind::Index => &mut time.loads,
                Kind::Write | Kind::Timed => &mut time.measured,
                Kind::Pause => &mut time.pauses,
                Kind::Check => &mut time.checks,
            };
            *part += piece.time * piece.times;
        }
        time
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time {
            starts: self.starts + other.starts,
            loads: self.loads + other.loads,
            measured: self.measured + other.measured,
            pauses: self.pauses + other.pauses,
            checks: self.checks + other.checks,
        }
    }
}

/// A kind of work. All pieces of a kind are slower or faster than estimated by a similar factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A data directory is made or copied, and a server started on it.
    Start,
    Load,
    Index,
    /// A number of rows is written.
    Write,
    /// Takes the time in the plan.
    Timed,
    Pause,
    Check,
    /// A server is stopped and its data are removed.
    End,
}

impl Kind {
    /// Whether a slow contender takes longer.
    pub(crate) fn is_work(self) -> bool {
        !matches!(self, Kind::Timed | Kind::Pause)
    }
}

/// A part of the work with an estimate of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// Empty if all contenders do it in turn.
    pub(crate) contender: String,
    /// Empty if it belongs to no step.
    pub(crate) step: String,
    pub(crate) kind: Kind,
    /// The time of doing it once.
    pub(crate) time: Duration,
    pub(crate) times: u32,
}

impl Piece {
    fn once(contender: &str, step: &str, kind: Kind, time: Duration) -> Piece {
        Piece { contender: contender.to_string(), step: step.to_string(), kind, time, times: 1 }
    }
}

/// The forecast of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanEstimate {
    /// The steps of every contender, in order; in a comparison, the tests.
    pub steps: Vec<String>,
    /// Of all contenders together.
    pub time: Time,
    /// Peak bytes of data directories with their logs.
    pub disk: u64,
    pub remote: RemoteNeeds,
    /// It takes longer if an operation does; none if that does not matter.
    pub longest_operation: Option<Duration>,
    pub(crate) pieces: Vec<Piece>,
}

/// What a comparison needs on remote servers, of all of them together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteNeeds {
    /// The arms that are measured there: contenders and A/A controls.
    pub arms: Vec<String>,
    /// Connections of clients at a time.
    pub clients: u64,
    /// Tables with their indexes, without the servers' logs.
    pub bytes: u64,
}

impl PlanEstimate {
    /// The time within a comparison's budget, which does not include profiles.
    pub fn budgeted(&self) -> Duration {
        self.pieces.iter().collect::<Time>().total()
    }
}

/// The estimate for a plan on a machine with `cpus` CPUs and `memory` bytes of memory. Fails if a
/// test does not exist.
pub fn estimate(plan: &Plan, cpus: u32, memory: u64) -> Result<PlanEstimate, LabError> {
    let held = plan.memory.map_or(memory, |most| most.0.min(memory));
    let machine = Machine { cpus, memory, held };
    if let Some(comparison) = plan.comparison() {
        return machine.comparison(plan, comparison);
    }
    let (workload, mut pieces) = (plan.workload(), Vec::new());
    let tasks = rqps_workload::tasks(workload)?;
    for one in &plan.contenders {
        pieces.push(start(one));
        pieces.extend(machine.tasks(one, &one.name(), &tasks, workload.most_rows()));
        pieces.push(end(one));
    }
    let disks = plan.contenders.iter().map(|one| machine.disk(one, workload));
    Ok(PlanEstimate {
        steps: tasks.into_iter().map(|task| task.name).collect(),
        time: pieces.iter().collect(),
        disk: disks.max().unwrap_or(0),
        remote: RemoteNeeds::default(),
        longest_operation: None,
        pieces,
    })
}

struct Machine {
    cpus: u32,
    memory: u64,
    /// Bytes of memory that a server may use.
    held: u64,
}

impl Machine {
    /// The time of rows that several clients share. A client and its server take turns on a CPU, or
    /// keep two busy.
    fn seconds(&self, rows: u64, rate: f64, clients: u32) -> Duration {
        let parallel = clients.min(self.cpus / 2).max(1);
        Duration::from_secs_f64(rows as f64 / (rate * f64::from(parallel)))
    }

    /// The time to check `rows` of at most `most_rows` rows.
    fn check(&self, contender: &Contender, rows: u64, most_rows: u64) -> Duration {
        let is_held = most_rows.saturating_mul(need(contender).row) <= self.held;
        let rate = if is_held { pace::CHECK } else { pace::CHECK_BEYOND_MEMORY };
        self.seconds(rows, rate, 1)
    }

    fn tasks(
        &self,
        contender: &Contender,
        name: &str,
        tasks: &[Task],
        most_rows: u64,
    ) -> Vec<Piece> {
        let of_task = |task: &Task| {
            let mut parts = Vec::new();
            if let Rest::Pause(_, time) = task.rest {
                parts.push((Kind::Pause, time));
            }
            parts.extend(task.takes.iter().map(|takes| self.takes(takes)));
            if task.checked_rows > 0 {
                parts.push((Kind::Check, self.check(contender, task.checked_rows, most_rows)));
            }
            let piece = |(kind, time)| Piece::once(name, &task.name, kind, time);
            parts.into_iter().map(piece).collect::<Vec<_>>()
        };
        tasks.iter().flat_map(of_task).collect()
    }

    fn takes(&self, takes: &Takes) -> (Kind, Duration) {
        match *takes {
            Takes::Load { rows, connections } => {
                (Kind::Load, self.seconds(rows, pace::LOAD, connections))
            }
            Takes::Index { rows, indexes, connections } => {
                let rate = pace::INDEX * 3.0 / f64::from(indexes);
                (Kind::Index, self.seconds(rows, rate, connections))
            }
            Takes::Write { rows, rows_per_commit, connections } => {
                let is_large = rows_per_commit >= LARGE_TRANSACTION;
                let rate = if is_large { pace::WRITE } else { pace::SMALL_WRITE };
                (Kind::Write, self.seconds(rows, rate, connections))
            }
            Takes::Time(time) => (Kind::Timed, time),
        }
    }

    /// The peak size of a data directory. Logs and sorting take no more than the memory, by which
    /// the named configs limit their logs.
    fn disk(&self, contender: &Contender, workload: &Workload) -> u64 {
        if matches!(contender.build, Build::Server { .. }) {
            return 0;
        }
        let data = data(contender, workload);
        let logs = data.saturating_mul(sizes(contender).log_share).min(self.memory);
        let Footprint { empty, allocated, .. } = sizes(contender);
        (empty + allocated).saturating_add(data).saturating_add(logs)
    }

    /// The size of a copy of a loaded directory: its rows, and their remaining logs.
    fn copied(&self, contender: &Contender, workload: &Workload) -> u64 {
        let data = workload.most_rows().saturating_mul(need(contender).row);
        let sizes = sizes(contender);
        let logs = if sizes.keeps_logs { data.min(self.memory) } else { 0 };
        sizes.empty.saturating_add(data).saturating_add(logs)
    }
}

/// The size of tables with their indexes.
fn data(contender: &Contender, workload: &Workload) -> u64 {
    let rows = workload.most_rows().saturating_mul(need(contender).row);
    (rows / 100).saturating_mul(100 + ROOM)
}

fn need(contender: &Contender) -> CacheNeed {
    <&Descriptor>::from(contender).need
}

/// The sizes in the description of its DBMS.
fn sizes(contender: &Contender) -> Footprint {
    (<&Descriptor>::from(contender).sizes)(&contender.build)
}

/// Making an empty data directory, or copying one that a fetched build has made before, and
/// starting a server on it.
fn start(contender: &Contender) -> Piece {
    once(contender, Kind::Start, sizes(contender).start)
}

/// Stopping a server and removing its data.
fn end(contender: &Contender) -> Piece {
    once(contender, Kind::End, sizes(contender).end)
}

/// A remote server is neither started nor stopped.
fn once(contender: &Contender, kind: Kind, seconds: u64) -> Piece {
    let is_ours = !matches!(contender.build, Build::Server { .. });
    let seconds = if is_ours { seconds } else { 0 };
    Piece::once(&contender.name(), "", kind, Duration::from_secs(seconds))
}

/// The time to copy `bytes` of a data directory and start a server on it, if there is one.
fn restart(contender: &Contender, bytes: u64) -> Duration {
    let copied = Duration::from_secs_f64(bytes as f64 / pace::COPY);
    Duration::from_secs(sizes(contender).restart) + copied
}

/// The size of logs and sorting of a DBMS, as a multiple of the data.
pub fn log_share(dbms: Dbms) -> u64 {
    (descriptor(dbms, None).sizes)(&Build::Any).log_share
}

/// Bytes of a build with its downloads.
pub fn build_bytes(dbms: Dbms) -> u64 {
    (descriptor(dbms, None).sizes)(&Build::Any).build
}

#[cfg(test)]
mod tests {
    use rqps_plan::{
        Comparison, Count, Design, InsertBenchmark, Memory, Method, Microbenchmark, Profile,
        Profiled, Span, StoredBaseline,
    };

    use super::*;

    const GB: u64 = 1 << 30;

    fn plan(contenders: &str, design: Design) -> Plan {
        let contenders = contenders.split(' ').map(|one| one.parse().unwrap()).collect();
        Plan { contenders, seed: 1, cache: None, memory: None, design }
    }

    fn single(workload: impl Into<Workload>) -> Design {
        Design::Single(workload.into())
    }

    fn insert_benchmark(rows: u64) -> InsertBenchmark {
        let mut benchmark = InsertBenchmark::new(Profile::P2025, Count(rows));
        benchmark.query_time = Span(Duration::from_secs(60));
        benchmark
    }

    fn microbenchmark() -> Microbenchmark {
        Microbenchmark {
            tables: 1,
            rows: Count(100_000),
            clients: vec![1, 2],
            read_time: Span(Duration::from_secs(10)),
            write_time: Span(Duration::from_secs(20)),
            tests: vec!["point-query".to_string(), "delete".to_string(), "insert".to_string()],
            fair_writes: true,
            pause: Span(Duration::from_secs(3)),
            quiesce_after_each_write: false,
            check: true,
        }
    }

    fn of(plan: &Plan) -> PlanEstimate {
        estimate(plan, 2, 16 * GB).unwrap()
    }

    #[test]
    fn measured_time_and_pauses_are_those_of_the_plan() {
        let of = of(&plan("a=sqlite b=sqlite", single(microbenchmark())));
        assert_eq!(
            of.steps.join(" "),
            "load point-query@1 point-query@2 delete@1 delete@2 insert@1 insert@2"
        );
        // Two contenders, each with two tests of 10 s and 2 s before, and four of 20 s and 4 s.
        assert_eq!(of.time.measured, Duration::from_secs(2 * (2 * 12 + 4 * 24)));
        // The load is paid for before the first read.
        assert_eq!(of.time.pauses, Duration::from_secs(2 * 3));
        assert!(of.time.checks > Duration::ZERO && of.time.starts == Duration::ZERO);
    }

    #[test]
    fn a_check_of_what_the_memory_does_not_hold_takes_long() {
        let run = plan("postgres", single(microbenchmark()));
        let within = |memory: Option<u64>| {
            let memory = memory.map(Memory);
            of(&Plan { memory, ..run.clone() }).time.checks.as_secs_f64()
        };
        // 150K rows at most, of 285 bytes each.
        assert_eq!(within(None), within(Some(64 << 20)));
        let longer = pace::CHECK / pace::CHECK_BEYOND_MEMORY;
        assert!((within(Some(32 << 20)) / within(None) - longer).abs() < 0.01);
    }

    #[test]
    fn loads_grow_with_the_rows_and_are_shared_by_clients() {
        let loads = |rows| of(&plan("postgres", single(insert_benchmark(rows)))).time.loads;
        assert!(
            (loads(10_000_000).as_secs_f64() / loads(1_000_000).as_secs_f64() - 10.0).abs() < 0.1
        );
        let mut benchmark = insert_benchmark(1_000_000);
        benchmark.clients = 4;
        let four = plan("postgres", single(benchmark));
        let on = |cpus| estimate(&four, cpus, 16 * GB).unwrap().time.loads;
        assert_eq!(on(2), on(8) * 4);
    }

    #[test]
    fn contenders_have_the_disk_one_after_the_other() {
        let disk = |contenders| of(&plan(contenders, single(insert_benchmark(10_000_000)))).disk;
        let postgres = disk("postgres");
        // Ten million rows with their indexes are 3 GB: see `CacheNeed`.
        assert!((5 * GB..10 * GB).contains(&postgres), "{postgres}");
        assert_eq!(disk("a=postgres b=postgres"), postgres);
        assert!(disk("mariadb/rocksdb") < disk("mariadb"));
        assert_eq!(disk("postgres://host/db"), 0, "it is not on this machine");
    }

    #[test]
    fn remote_servers_have_the_clients_and_tables_of_all_arms_together() {
        let comparison = |test: &str| {
            let tests = vec![test.to_string()];
            let benchmark = Microbenchmark { clients: vec![3], tests, ..microbenchmark() };
            Design::Comparison(Comparison::new(benchmark.into()))
        };
        let needs = |contenders: &str, test| of(&plan(contenders, comparison(test))).remote;
        let two = needs("a=mysql://g/d b=mysql://h/d", "point-query");
        assert_eq!(two.arms, ["a", "b", "A/A control of b", "A/A control"]);
        assert_eq!(two.clients, 4 * 3);
        let settings = "a=mysql://g/d b=mysql://g/d?set.sort_buffer_size=1";
        let shared = needs(settings, "point-query");
        assert_eq!(two.bytes, 4 * shared.bytes, "sessions of one server share tables");
        assert_eq!(shared.clients, 3 * 3);
        assert_eq!(needs("a=mysql b=mysql", "point-query"), RemoteNeeds::default());
    }

    #[test]
    fn a_comparison_has_the_time_of_its_fresh_rounds_and_of_its_profiles() {
        let benchmark = Microbenchmark { clients: vec![1], ..microbenchmark() };
        let sliced = Comparison::new(benchmark.into());
        let measured = |comparison: &Comparison, contenders| {
            of(&plan(contenders, Design::Comparison(comparison.clone()))).time.measured.as_secs()
        };
        // Two contenders and the A/A control, 12 rounds, a test of 10 s and two of 20 s, with
        // warm-up.
        assert_eq!(measured(&sliced, "a=sqlite b=sqlite"), 3 * 12 * 60);
        let confirmed = Comparison { confirm: Some(4), ..sliced.clone() };
        assert_eq!(measured(&confirmed, "a=sqlite b=sqlite"), 3 * 16 * 60);
        let profiled = Comparison { profile: Some(Profiled::All), ..sliced.clone() };
        assert_eq!(measured(&profiled, "a=postgres b=postgres"), 3 * 12 * 60 + 2 * 4 * 60);
        // In pairs: the baseline with the contender, and with its A/A control.
        let large = "mysql?innodb_buffer_pool_size=6G b=mysql?innodb_buffer_pool_size=6G";
        assert_eq!(measured(&sliced, large), 4 * 12 * 60);
        let runs = Comparison { method: Method::Runs, ..sliced };
        assert_eq!(measured(&runs, large), 3 * 12 * 60, "one at a time");
        let stored = StoredBaseline {
            path: "out/base".into(),
            run: "1".to_string(),
            created: String::new(),
            reference_loop: 50_000_000,
            reference_loop_rounds: 60,
        };
        let stored = Comparison { baseline_from: Some(Box::new(stored)), ..runs };
        assert_eq!(measured(&stored, large), 12 * 60, "the contender alone");
    }

    #[test]
    fn a_round_copies_what_was_written_and_starts_what_is_a_server() {
        let benchmark = Microbenchmark { clients: vec![1], ..microbenchmark() };
        let anew = Comparison::new(benchmark.into());
        let compared = Comparison { loads: Some(12), ..anew.clone() };
        // Of each of two contenders and the A/A control, in each of twelve rounds: two at a time.
        let each = |contenders: &str, compared: &Comparison| {
            let starts = of(&plan(contenders, Design::Comparison(compared.clone()))).time.starts;
            starts.as_secs_f64() / (12.0 * 3.0) * 2.0
        };
        // 150K rows at most, of 140 bytes: the log of a loaded file is gone, and there is no
        // server.
        let sqlite = each("a=sqlite b=sqlite", &compared);
        assert!((sqlite - 150_000.0 * 140.0 / pace::COPY).abs() < 0.01, "{sqlite}");
        assert_eq!(each("a=sqlite b=sqlite", &anew), 0.0, "no other round needs the load");
        // 10 s for an empty directory and 1 s for a server on a copy, which has no empty redo logs.
        let small = "innodb_buffer_pool_size=100M";
        let mysql = each(&format!("a=mysql?{small} b=mysql?{small}"), &compared);
        assert!((11.0..13.0).contains(&mysql), "{mysql}");
        // Its redo logs hold zeros, which are copied.
        let early = each(&format!("a=mysql@5.6.14?{small} b=mysql@5.6.14?{small}"), &compared);
        let logs = (2_020_u64 << 20) as f64 / pace::COPY;
        assert!((early - mysql - logs).abs() < 0.01, "{early}");
    }

    #[test]
    fn a_comparison_keeps_every_load_and_ends_with_its_budget() {
        let mut comparison = Comparison::new(microbenchmark().into());
        let alone = of(&plan("sqlite", single(microbenchmark())));
        let compared = |comparison: &Comparison| {
            of(&plan("a=sqlite b=sqlite", Design::Comparison(comparison.clone())))
        };
        let all = compared(&comparison);
        // Two contenders and the A/A control, a load and a copy of each at a time.
        assert_eq!(all.disk, 3 * 2 * alone.disk);
        let kept = compared(&Comparison { loads: Some(4), ..comparison.clone() });
        assert_eq!(kept.disk, 3 * 5 * alone.disk);
        assert_eq!(
            kept.time.loads * 3,
            all.time.loads,
            "four loads, and one for each of twelve rounds"
        );
        comparison.budget = Some(Span(all.time.total() * 3 / 4));
        let within = compared(&comparison).time.total();
        assert!(within <= all.time.total() * 3 / 4 && within > all.time.total() / 2);
        comparison.budget = Some(Span(Duration::from_secs(1)));
        assert!(compared(&comparison).time.measured == all.time.measured / 2, "the fewest rounds");
    }
}
