//! The Insert Benchmark as data: its profiles, its parameters, and the steps they expand to.
//!
//! There are four incompatible versions of the benchmark with published results. A profile names
//! one, so that an old report can be repeated with the statements that it used.

mod specification;
mod steps;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::nearest::suggestion;
use crate::quantity::{Count, Span};

pub use steps::{Maintenance, Query, Step, StepKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// December 2020: real prices, no deletes, twelve read-write steps, unprepared queries.
    P2020,
    /// April 2023: as 2020 with prepared queries and three read-write steps.
    P2023,
    /// March 2024: integer prices, the ten current steps, deletes by half-open key range.
    P2024,
    /// The current benchmark: deletes take the lowest keys by LIMIT.
    P2025,
}

impl Profile {
    pub const ALL: [Profile; 4] = [Profile::P2020, Profile::P2023, Profile::P2024, Profile::P2025];

    pub fn name(self) -> &'static str {
        match self {
            Profile::P2020 => "p2020",
            Profile::P2023 => "p2023",
            Profile::P2024 => "p2024",
            Profile::P2025 => "p2025",
        }
    }

    /// The 2020 and 2023 versions: insert only, real prices, one kind of query.
    pub fn is_legacy(self) -> bool {
        matches!(self, Profile::P2020 | Profile::P2023)
    }

    pub fn default_rates(self) -> Vec<u32> {
        match self {
            Profile::P2020 => {
                [100, 200, 400, 600, 800, 1000].into_iter().flat_map(|r| [r, r]).collect()
            }
            Profile::P2023 | Profile::P2024 | Profile::P2025 => vec![100, 500, 1000],
        }
    }

    /// The default rows written by l.i1 and l.i2 for a table of `rows`. The legacy profiles have no
    /// l.i2 and load as much again, as their posts did.
    fn default_writes(self, rows: u64) -> (u64, u64) {
        if self.is_legacy() { (rows, 0) } else { ((rows / 5 * 2).max(50), (rows / 10).max(5)) }
    }
}

/// When the writes of a rate-limited step start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Evenly spaced.
    Uniform,
    /// Exponential gaps of the same mean.
    Poisson,
    /// All writes of a second at its start, as in the original.
    Burst,
}

impl Pacing {
    pub const ALL: [Pacing; 3] = [Pacing::Uniform, Pacing::Poisson, Pacing::Burst];

    pub fn name(self) -> &'static str {
        match self {
            Pacing::Uniform => "uniform",
            Pacing::Poisson => "poisson",
            Pacing::Burst => "burst",
        }
    }
}

macro_rules! named {
    ($type:ty, $what:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
        impl FromStr for $type {
            type Err = String;
            fn from_str(name: &str) -> Result<Self, String> {
                let found = <$type>::ALL.into_iter().find(|value| value.name() == name);
                found.ok_or_else(|| {
                    let known = <$type>::ALL.map(<$type>::name);
                    format!("unknown {} '{name}': {}", $what, suggestion(name, known))
                })
            }
        }
    };
}
named!(Profile, "profile");
named!(Pacing, "pacing");

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InsertBenchmark {
    pub profile: Profile,
    /// Rows that each client loads in l.i0.
    pub rows: Count,
    /// Rows that each client inserts in l.i1 and in l.i2.
    pub writes: [Count; 2],
    /// The length of a read-write step, if its write rate is sustained.
    pub query_time: Span,
    /// Rows inserted per second and client in the read-write steps, in order.
    pub rates: Vec<u32>,
    pub clients: u32,
    /// All clients share one table, which has no deletes.
    pub one_table: bool,
    pub pacing: Pacing,
    /// The minimum time between the write steps and the first read-write step.
    pub pause: Span,
    /// The data are checked after every step. This reads whole tables between the steps, which the
    /// original does not do.
    pub check: bool,
    /// Tables are split into this many ranges of the primary key, the last one without an end; 0:
    /// not at all.
    #[serde(default)]
    pub partitions: u32,
    /// Each secondary index has a column family of its own, as in the posts whose tags end in
    /// `_cfx`. MyRocks only.
    #[serde(default)]
    pub column_families: bool,
    /// Only these steps, by name, in the benchmark's order; all when empty.
    #[serde(default)]
    pub only: Vec<String>,
}

/// More than any machine can hold; everything computed from less fits in 64 bits.
const MOST_ROWS: Count = Count(1_000_000_000_000);
/// Each has up to three threads and connections.
const MOST_CLIENTS: Count = Count(10_000);
/// The limit of MySQL.
const MOST_PARTITIONS: Count = Count(8192);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum InsertBenchmarkError {
    #[error("{0} must be at least {1}")]
    TooSmall(&'static str, u64),
    #[error("{0} must be at most {1}")]
    TooLarge(&'static str, Count),
    #[error(
        "--one-table cannot be used with {0}, which deletes rows. Use a profile without deletes (p2020 \
         or p2023)"
    )]
    OneTable(Profile),
    #[error("{0} has no partitioned tables. Drop --partitions")]
    NoPartitions(String),
    #[error("{0} has no column families: only MyRocks has them, as in mariadb@10.11/rocksdb")]
    NoColumnFamilies(String),
    #[error("--partitions and --column-families cannot be combined. Drop one of them")]
    PartitionedFamilies,
    #[error("unknown step '{name}': {hint}")]
    Step { name: String, hint: String },
    #[error(
        "step '{0}' needs the steps before it. Add them; only read-write steps can be left out"
    )]
    Gap(String),
}

impl InsertBenchmark {
    /// The benchmark at a size, with the defaults of the profile.
    pub fn new(profile: Profile, rows: Count) -> Self {
        let (first, second) = profile.default_writes(rows.0);
        InsertBenchmark {
            profile,
            rows,
            writes: [Count(first), Count(second)],
            query_time: Span(Duration::from_secs(5)),
            rates: profile.default_rates(),
            clients: 1,
            one_table: false,
            pacing: Pacing::Uniform,
            pause: default_pause(rows.0),
            check: true,
            partitions: 0,
            column_families: false,
            only: Vec::new(),
        }
    }

    pub fn tables(&self) -> u32 {
        if self.one_table { 1 } else { self.clients }
    }

    /// The peak number of rows in all tables together.
    pub(super) fn rows_at_most(&self) -> u64 {
        // With deletes, there are never many more rows than were loaded.
        let lasting = |step: &&Step| step.kind == StepKind::Load || !step.deletes;
        let rows = self.steps().iter().filter(lasting).map(|step| step.rows).sum::<u64>();
        rows.saturating_mul(u64::from(self.clients))
    }

    /// Whether these contenders can run it.
    fn refuse_unfit(&self, contenders: &[Contender]) -> Result<(), InsertBenchmarkError> {
        contenders.iter().try_for_each(|contender| self.validate_for(contender))?;
        let at_least = [
            // Deletes may run nine statements ahead of the inserts, and must find rows.
            ("rows", self.rows.0, 1_000),
            ("clients", u64::from(self.clients), 1),
            ("writes of l.i1", self.writes[0].0, 50),
            ("rates", u64::from(self.rates.iter().copied().min().unwrap_or(1)), 1),
            ("query-secs", self.query_time.0.as_secs(), 1),
        ];
        for (name, value, minimum) in at_least {
            if value < minimum {
                return Err(InsertBenchmarkError::TooSmall(name, minimum));
            }
        }
        let at_most = [
            ("rows", self.rows.0, MOST_ROWS),
            ("writes", self.writes[0].0.max(self.writes[1].0), MOST_ROWS),
            ("clients", u64::from(self.clients), MOST_CLIENTS),
            ("partitions", u64::from(self.partitions), MOST_PARTITIONS),
        ];
        for (name, value, maximum) in at_most {
            if value > maximum.0 {
                return Err(InsertBenchmarkError::TooLarge(name, maximum));
            }
        }
        if !self.profile.is_legacy() && self.writes[1].0 < 5 {
            return Err(InsertBenchmarkError::TooSmall("writes of l.i2", 5));
        }
        if self.one_table && !self.profile.is_legacy() {
            return Err(InsertBenchmarkError::OneTable(self.profile));
        }
        if self.partitions > 0 && self.column_families {
            return Err(InsertBenchmarkError::PartitionedFamilies);
        }
        self.validate_only()
    }

    /// Whether a contender has the features that the benchmark needs.
    fn validate_for(&self, contender: &Contender) -> Result<(), InsertBenchmarkError> {
        let name = || contender.name();
        if self.partitions > 0 && !contender.dbms.has_partitions() {
            return Err(InsertBenchmarkError::NoPartitions(name()));
        }
        if self.column_families && contender.engine.as_deref() != Some("rocksdb") {
            return Err(InsertBenchmarkError::NoColumnFamilies(name()));
        }
        Ok(())
    }

    /// Rows in each partition except the last, which takes all later ones: all planned inserts and
    /// 100 more, in equal parts. None if tables are not partitioned.
    pub fn rows_per_partition(&self) -> Option<u64> {
        let planned = |step: &Step| {
            let rounds = step.rows.div_ceil(u64::from(step.rows_per_commit));
            rounds * u64::from(step.rows_per_commit) * u64::from(self.clients)
        };
        let total: u64 = self.all_steps().iter().map(planned).sum();
        let parts = u64::from(self.partitions) * u64::from(self.tables());
        (parts > 0).then(|| ((total + 100) / parts).max(1))
    }

    /// A step works on the results of those before it, so only trailing steps and read-write steps
    /// can be left out.
    fn validate_only(&self) -> Result<(), InsertBenchmarkError> {
        let all = self.all_steps();
        for name in &self.only {
            if !all.iter().any(|step| step.name == *name) {
                let hint = suggestion(name, all.iter().map(|step| step.name.as_str()));
                return Err(InsertBenchmarkError::Step { name: name.clone(), hint });
            }
        }
        let steps = self.steps();
        let last_write = steps.iter().rposition(|step| !step.kind.is_query());
        let needed = match (steps.iter().any(|step| step.kind.is_query()), last_write) {
            (true, _) => all.iter().filter(|step| !step.kind.is_query()).count(),
            (false, Some(_)) => steps.len(),
            (false, None) => 0,
        };
        for (step, expected) in steps.iter().zip(all.iter().take(needed)) {
            if step.name != expected.name {
                return Err(InsertBenchmarkError::Gap(step.name.clone()));
            }
        }
        Ok(())
    }
}

/// The published pause is min(1200, 60 + rows/1e6) seconds. Its 60 seconds are for tables of tens
/// of millions of rows; below 10M it shrinks in proportion, so that a small run is not mostly a
/// pause.
pub fn default_pause(total_rows: u64) -> Span {
    let published = (60.0 + total_rows as f64 / 1e6).min(1200.0);
    let scaled = published * (total_rows as f64 / 10e6).min(1.0);
    Span(Duration::from_secs_f64(scaled.max(1.0).round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(benchmark: &InsertBenchmark) -> Vec<String> {
        benchmark.steps().into_iter().map(|step| step.name).collect()
    }

    fn at(profile: Profile) -> InsertBenchmark {
        InsertBenchmark::new(profile, Count(100_000))
    }

    #[test]
    fn the_current_profile_has_the_ten_published_steps() {
        let expected = "l.i0 l.x l.i1 l.i2 qr100 qp100 qr500 qp500 qr1000 qp1000";
        assert_eq!(names(&at(Profile::P2025)).join(" "), expected);
        assert_eq!(names(&at(Profile::P2024)).join(" "), expected);
    }

    #[test]
    fn the_old_profiles_have_their_own_steps() {
        assert_eq!(names(&at(Profile::P2023)).join(" "), "l.i0 l.x l.i1 q100.1 q500.1 q1000.1");
        let p2020 = names(&at(Profile::P2020));
        assert_eq!(p2020.len(), 15);
        assert_eq!(p2020[3..7].join(" "), "q100.1 q100.2 q200.1 q200.2");
    }

    #[test]
    fn batches_are_100_50_5_and_at_most_the_rate() {
        let mut benchmark = at(Profile::P2025);
        benchmark.rates = vec![20, 100];
        let batches: Vec<u32> = benchmark.steps().iter().map(|step| step.rows_per_commit).collect();
        assert_eq!(batches, [100, 100, 50, 5, 20, 20, 50, 50]);
    }

    #[test]
    fn a_read_write_step_inserts_rate_times_seconds() {
        let steps = at(Profile::P2025).steps();
        assert_eq!(steps.iter().find(|step| step.name == "qp500").unwrap().rows, 2500);
    }

    #[test]
    fn only_the_first_read_write_step_has_the_pause() {
        let paused = |profile| {
            let steps = at(profile).steps();
            steps
                .iter()
                .map(|step| step.before)
                .filter(|&m| m != Maintenance::None)
                .collect::<Vec<_>>()
        };
        assert_eq!(paused(Profile::P2025), [Maintenance::Pause]);
        assert_eq!(
            paused(Profile::P2023),
            [Maintenance::Pause, Maintenance::Background, Maintenance::Background]
        );
    }

    #[test]
    fn the_pause_is_the_published_one_from_ten_million_rows_on() {
        for (rows, seconds) in
            [(30_000_000, 90), (200_000_000, 260), (800_000_000, 860), (2_000_000_000, 1200)]
        {
            assert_eq!(default_pause(rows), Span(Duration::from_secs(seconds)));
        }
        assert_eq!(default_pause(100_000), Span(Duration::from_secs(1)));
    }

    #[test]
    fn steps_can_be_left_out_only_where_nothing_needs_them() {
        let only = |names: &[&str]| {
            let mut benchmark = at(Profile::P2025);
            benchmark.only = names.iter().map(|name| name.to_string()).collect();
            benchmark.refuse_unfit(&[])
        };
        assert_eq!(only(&["l.i0"]), Ok(()));
        assert_eq!(only(&["l.i0", "l.x", "l.i1", "l.i2", "qp500"]), Ok(()));
        assert!(matches!(only(&["l.i0", "l.i1"]), Err(InsertBenchmarkError::Gap(_))));
        assert!(matches!(only(&["qr100"]), Err(InsertBenchmarkError::Gap(_))));
        assert!(matches!(only(&["l.i0", "l.x", "qr100"]), Err(InsertBenchmarkError::Gap(_))));
        let unknown = only(&["qr10"]).unwrap_err().to_string();
        assert!(unknown.contains("did you mean 'qr100'"), "{unknown}");
    }

    #[test]
    fn partitions_share_all_planned_inserts() {
        let mut benchmark = InsertBenchmark::new(Profile::P2025, Count(1000));
        benchmark.rates = vec![100];
        benchmark.query_time = Span(Duration::from_secs(1));
        assert_eq!(benchmark.rows_per_partition(), None);
        benchmark.partitions = 4;
        // 1000 + 100 in l.x + 400 + 100 + 2 x 100, and 100 more.
        assert_eq!(benchmark.rows_per_partition(), Some(1900 / 4));
        benchmark.clients = 3;
        assert_eq!(benchmark.rows_per_partition(), Some((3 * 1800 + 100) / 12));
    }

    #[test]
    fn what_a_contender_does_not_have_is_refused() {
        let refused = |contender: &str, partitions, column_families| {
            let mut benchmark = at(Profile::P2025);
            (benchmark.partitions, benchmark.column_families) = (partitions, column_families);
            benchmark.validate_for(&contender.parse().unwrap()).err().map(|e| e.to_string())
        };
        assert!(refused("sqlite", 4, false).unwrap().contains("no partitioned tables"));
        assert!(refused("mysql@8.0.33", 0, true).unwrap().contains("only MyRocks"));
        assert_eq!(refused("mariadb@10.11/rocksdb", 0, true), None);
        assert_eq!(refused("postgres@17.6", 4, false), None);
        assert_eq!(refused("sqlite", 0, false), None);
    }

    #[test]
    fn a_table_grows_only_where_nothing_is_deleted() {
        let of = |profile| InsertBenchmark { clients: 2, ..at(profile) }.rows_at_most();
        assert_eq!(of(Profile::P2025), 2 * (100_000 + 100));
        // Loaded, then l.x, l.i1 and three read-write steps of 5 s.
        assert_eq!(of(Profile::P2023), 2 * (100_000 + 50_000 + 100_000 + 5 * (100 + 500 + 1000)));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let refused = |change: fn(&mut InsertBenchmark)| {
            let mut benchmark = at(Profile::P2025);
            change(&mut benchmark);
            benchmark.refuse_unfit(&[]).unwrap_err().to_string()
        };
        assert!(refused(|b| b.rows = Count(5)).contains("rows must be at least 1000"));
        assert!(refused(|b| b.rows = Count(u64::MAX)).contains("rows must be at most 1000G"));
        assert!(refused(|b| b.clients = u32::MAX).contains("clients must be at most"));
        assert!(refused(|b| b.clients = 0).contains("clients"));
        assert!(refused(|b| b.rates = vec![0]).contains("rates"));
        assert!(refused(|b| b.one_table = true).contains("without deletes"));
        assert!(refused(|b| b.partitions = 9000).contains("partitions must be at most"));
        let both = refused(|b| (b.partitions, b.column_families) = (2, true));
        assert!(both.contains("cannot be combined"));
    }
}
