//! A comparison as data: what is measured of each contender, how often, and when it ends.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::nearest::suggestion;
use crate::quantity::Span;
use crate::service_level::ServiceLevel;
use crate::workload::{SpecificationError, Workload};

/// The tests that are run again under a profiler after the verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiled {
    /// Those that became slower, faster or more costly per operation; of many, the largest changes.
    Changed,
    All,
    /// These, whatever their verdict is.
    Tests(Vec<String>),
}

/// The tests whose instructions per operation are counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Chosen as for profiles.
    pub of: Profiled,
    /// Nothing is timed: a test has changed if its instructions change by more than this share.
    /// None: they are counted after the verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<f64>,
}

/// A method for some of the tests, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub method: Method,
    pub why: String,
    pub tests: Vec<String>,
}

/// An earlier comparison whose whole runs of the baseline are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredBaseline {
    /// The run directory, and the run that is in it.
    pub path: PathBuf,
    pub run: String,
    /// RFC 3339: when it was created.
    pub created: String,
    /// Nanoseconds of the reference loop in that run: the median.
    pub reference_loop: u64,
    /// The amount of work of the reference loop, which is the same here.
    pub reference_loop_rounds: u64,
}

/// The name of the baseline's second measurement. No contender can have this name.
pub const CONTROL: &str = "A/A control";

/// The name of the second measurement of a remote server that is not the baseline: the baseline's
/// says nothing about it.
pub fn control_of(contender: &str) -> String {
    format!("{CONTROL} of {contender}")
}

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The method of the tests that no choice names.
    pub method: Method,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The maximum number of rounds. A round is one observation: it restarts all servers that rqps
    /// starts, and renews what [`Scope`](crate::Scope) says of others.
    pub rounds: u32,
    /// The minimum number of rounds for a verdict.
    pub fewest_rounds: u32,
    /// The number of fresh rounds for tests that look different after those rounds; only these
    /// decide.
    pub confirm: Option<u32>,
    /// No round starts that would exceed this time.
    pub budget: Option<Span>,
    /// A test ends when its interval is within this distance of the estimate, as a share of it.
    pub precision: f64,
    /// The smallest change that matters, as a share; none: that of the test's class.
    pub margin: Option<f64>,
    /// The baseline is measured a second time, as A/A control, with data of its own.
    pub control: bool,
    /// How many times each contender loads its data; rounds take turns with the loads. None: once
    /// for every round, so that the noise of rounds includes that of loads.
    pub loads: Option<u32>,
    /// The measured part of a slice.
    pub slice: Span,
    /// The unmeasured part before that.
    pub warm_up: Span,
    /// Operations per second that are due, over all clients of a contender; none: each client waits
    /// for its answer before it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The largest rate that keeps it is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<ServiceLevel>,
    /// Operations per second on remote servers, of all contenders together; none: as fast as the
    /// servers answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<f64>,
    /// Nothing is made on remote servers: sessions only read, and tables are those that are there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Measurements taken on a busy machine are discarded and repeated.
    pub guards: bool,
    /// None: the baseline is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_from: Option<Box<StoredBaseline>>,
    /// None: nothing is profiled.
    pub profile: Option<Profiled>,
    /// None: no instructions are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// The remote servers that a command of the user restarts before each round, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarted: Vec<String>,
    /// The workload of every contender in every round.
    pub of: Workload,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ComparisonError {
    #[error(
        "a comparison needs at least two contenders. To compare a build with itself, add it under a \
         label, as in again={0}"
    )]
    OneContender(String),
    #[error("{0} must be at least {1}")]
    TooSmall(&'static str, String),
    #[error("{0} must be at most {1}")]
    TooLarge(&'static str, String),
    #[error("cannot measure the {0} by slices: its steps build on each other. Use --method runs")]
    SlicedChain(&'static str),
    #[error("cannot measure by slices: {0}")]
    NotSliced(String),
    #[error(
        "--max-rate is a limit on remote servers, and no contender is a URL. Drop it, or use --rate for \
         operations that are due"
    )]
    CappedBuilds,
    #[error(
        "--read-only measures tables that remote servers have, and {0} is none: {1}. Drop one of them"
    )]
    NotReadOnly(String, &'static str),
    #[error("max-rate must be between {LEAST_RATE} and {MOST_RATE} operations per second")]
    MaxRate,
    #[error("rate must be between {LEAST_RATE} and {MOST_RATE} operations per second")]
    Rate,
    #[error(
        "a rate cannot be used with slices: what is due while another contender has its turn would wait. \
         Use whole runs (--method runs)"
    )]
    SlicedRate,
    #[error(
        "{0} cannot be used with the {1}: its read-write steps have rates of their own. Drop {0}"
    )]
    ChainRate(&'static str, &'static str),
    #[error("{0} cannot be used with --instructions-only, which times nothing. Drop one of them")]
    UntimedRate(&'static str),
    #[error("--slo finds a rate, and --rate gives one. Drop one of them")]
    RateAndLevel,
    #[error(
        "cannot profile the {0}: its steps build on each other, so all of them would have to be \
         repeated. Drop --profile"
    )]
    ProfiledChain(&'static str),
    #[error(
        "--baseline-from cannot be used with slices, which drive all servers within milliseconds of each \
         other. Use whole runs (--method runs)"
    )]
    SlicedStoredBase,
    #[error("{0} cannot be used with --baseline-from. Drop one of them")]
    StoredBaseWith(&'static str),
    #[error("cannot profile '{0}', which is not compared here: {1}")]
    NotCompared(String, String),
    #[error(
        "cannot profile {0}: it runs inside rqps, and only servers can be profiled. Drop --profile"
    )]
    ProfiledInside(String),
    #[error(
        "cannot run the {1} on {0}: each run of it begins with an empty data directory, and {0} is a \
         remote server. Use another workload"
    )]
    RemoteChain(String, &'static str),
    #[error(
        "--max-rate limits slices, and whole runs have none. Drop it, or use --rate for operations that \
         are due"
    )]
    CappedRuns,
    #[error(
        "cannot compare {0} on {1} loads: a remote server keeps one load of each contender. Drop --loads"
    )]
    RemoteLoads(String, u32),
    #[error("cannot profile {0}: it is a remote server. Drop --profile")]
    ProfiledRemote(String),
    #[error(
        "cannot restart '{0}': {1}. Write --restart-cmd LABEL=COMMAND with the label of a contender that \
         is a URL"
    )]
    Restarted(String, &'static str),
    #[error("cannot count instructions of '{0}', which is not compared here: {1}")]
    NotCounted(String, String),
    #[error("cannot count only instructions of {0}: {1}. Drop --instructions-only")]
    Uncountable(String, &'static str),
    #[error(transparent)]
    Workload(#[from] SpecificationError),
}

/// Operations per second. Fewer than one in a minute are never enough, and no client can do more.
const LEAST_RATE: f64 = 0.02;
const MOST_RATE: f64 = 10_000_000.0;

/// Why instructions of a workload or a contender are not counted.
const BUILDS_ON_ITSELF: &str = "its steps build on each other";
const RUNS_INSIDE: &str = "it runs inside rqps, and only servers are counted";
const HANGS: &str = "its servers hang under valgrind, unless settings are chosen for that (limits in \
     docs/instructions.md)";
const NOT_STARTED: &str = "it is a remote server, and only servers that rqps starts are counted";
const OTHER_DBMS: &str = "it is another DBMS than the baseline";

impl Comparison {
    /// With defaults that were found to work (docs/slices.md).
    pub fn new(of: Workload) -> Self {
        let (method, loads) = match of.is_chain() {
            false => (Method::Slices, None),
            // Each run begins with an empty directory and loads its own data.
            true => (Method::Runs, Some(1)),
        };
        Comparison {
            method,
            choices: Vec::new(),
            rounds: 12,
            fewest_rounds: 6,
            confirm: None,
            budget: None,
            precision: 0.005,
            margin: None,
            control: true,
            loads,
            slice: Span(Duration::from_millis(10)),
            warm_up: Span(Duration::from_millis(1)),
            rate: None,
            slo: None,
            max_rate: None,
            read_only: false,
            guards: true,
            baseline_from: None,
            profile: None,
            instructions: None,
            restarted: Vec::new(),
            of,
        }
    }

    /// The names of the tests or steps, in the order of the plan.
    pub fn tests(&self) -> Vec<String> {
        self.of.tests()
    }

    /// Whether an earlier baseline can be used.
    pub fn validate_stored_base(&self) -> Result<(), ComparisonError> {
        use ComparisonError::{SlicedStoredBase, StoredBaseWith};
        if self.uses(Method::Slices) {
            return Err(SlicedStoredBase);
        }
        if self.confirm.is_some() {
            return Err(StoredBaseWith("--confirm"));
        }
        match self.profile {
            Some(_) => Err(StoredBaseWith("--profile")),
            None => Ok(()),
        }
    }

    /// The method of a test.
    pub fn method_of(&self, test: &str) -> Method {
        self.choice_of(test).map_or(self.method, |choice| choice.method)
    }

    /// The choice that names a test, if any.
    pub fn choice_of(&self, test: &str) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.tests.iter().any(|name| name == test))
    }

    /// Whether any test may be measured by this method.
    pub fn uses(&self, method: Method) -> bool {
        self.choices.iter().any(|choice| choice.method == method)
            || (self.method == method && !self.is_chosen_throughout())
    }

    /// Whether every test has a choice.
    fn is_chosen_throughout(&self) -> bool {
        !self.of.is_chain() && self.tests().iter().all(|test| self.choice_of(test).is_some())
    }

    /// The load that a round works on, both counted from 1.
    pub fn load_of(&self, round: u32) -> u32 {
        self.loads.map_or(round, |loads| (round - 1) % loads + 1)
    }

    /// How many loads of a contender exist at the same time.
    pub fn kept_loads(&self) -> u64 {
        self.loads.unwrap_or(1).into()
    }

    pub fn validate(&self, contenders: &[crate::Contender]) -> Result<(), ComparisonError> {
        use ComparisonError::{OneContender, SlicedChain, TooLarge, TooSmall};
        if let [only] = contenders {
            return Err(OneContender(only.spec()));
        }
        // An interval needs at least three. Largest rates differ by whole steps.
        let least = if self.slo.is_some() { 5 } else { 3 };
        if self.fewest_rounds < least {
            return Err(TooSmall("rounds", least.to_string()));
        }
        if self.rounds < self.fewest_rounds {
            return Err(TooSmall("rounds", self.fewest_rounds.to_string()));
        }
        if self.confirm.is_some_and(|rounds| rounds < least) {
            return Err(TooSmall("confirm", least.to_string()));
        }
        if self.loads == Some(0) {
            return Err(TooSmall("loads", "1".to_string()));
        }
        if self.loads > Some(self.rounds) {
            return Err(TooLarge("loads", format!("the number of rounds, {}", self.rounds)));
        }
        if self.slice.0 < Duration::from_millis(1) {
            return Err(TooSmall("slice", "1ms".to_string()));
        }
        for (name, share) in [("precision", Some(self.precision)), ("margin", self.margin)] {
            let Some(share) = share else { continue };
            if share.is_nan() || share < 1e-4 {
                return Err(TooSmall(name, "0.01%".to_string()));
            }
            if share > 0.5 {
                return Err(TooLarge(name, "50%".to_string()));
            }
        }
        self.validate_rate()?;
        if self.baseline_from.is_some() {
            self.validate_stored_base()?;
        }
        if let Some(profile) = &self.profile {
            self.validate_profile(profile, contenders)?;
        }
        if let Some(instructions) = &self.instructions {
            self.validate_instructions(instructions, contenders)?;
        }
        if self.of.is_chain() && self.uses(Method::Slices) {
            return Err(SlicedChain(self.of.title()));
        }
        let mut sliced = self.tests();
        sliced.retain(|test| self.method_of(test) == Method::Slices);
        if self.uses(Method::Slices)
            && let Some(why) = self.of.refused_by_slices(&sliced)
        {
            return Err(ComparisonError::NotSliced(why));
        }
        self.validate_remote(contenders)?;
        Ok(self.of.validate(contenders)?)
    }

    fn validate_remote(&self, contenders: &[crate::Contender]) -> Result<(), ComparisonError> {
        use ComparisonError::{
            CappedBuilds, CappedRuns, MaxRate, RemoteChain, RemoteLoads, Restarted,
        };
        for name in &self.restarted {
            match contenders.iter().find(|one| one.name() == *name) {
                None => return Err(Restarted(name.clone(), "no contender has this name")),
                Some(one) if !one.is_remote() => {
                    return Err(Restarted(name.clone(), "rqps starts it itself"));
                }
                Some(_) => {}
            }
        }
        let remote = contenders.iter().find(|one| one.is_remote());
        match self.max_rate {
            // Not a number is in no range.
            Some(rate) if !(LEAST_RATE..=MOST_RATE).contains(&rate) => return Err(MaxRate),
            Some(_) if remote.is_none() => return Err(CappedBuilds),
            _ => {}
        }
        if self.read_only {
            self.validate_read_only(contenders)?;
        }
        let Some(remote) = remote else { return Ok(()) };
        if self.of.is_chain() {
            return Err(RemoteChain(remote.name(), self.of.title()));
        }
        if self.max_rate.is_some() && self.uses(Method::Runs) {
            return Err(CappedRuns);
        }
        match self.loads {
            Some(loads @ 2..) => Err(RemoteLoads(remote.name(), loads)),
            _ => Ok(()),
        }
    }

    fn validate_read_only(&self, contenders: &[crate::Contender]) -> Result<(), ComparisonError> {
        let why = |one: &crate::Contender| match () {
            () if !one.is_remote() => Some("rqps starts it, without tables"),
            () if one.place.is_some() => Some("its file changes tables that rqps makes"),
            () if self.restarted.contains(&one.name()) => Some("a command restarts it"),
            () => None,
        };
        let refused = contenders.iter().find_map(|one| Some((one.name(), why(one)?)));
        refused.map_or(Ok(()), |(name, why)| Err(ComparisonError::NotReadOnly(name, why)))
    }

    fn validate_rate(&self) -> Result<(), ComparisonError> {
        use ComparisonError::{ChainRate, Rate, RateAndLevel, SlicedRate, UntimedRate};
        let flag = match (self.rate, self.slo) {
            (None, None) => return Ok(()),
            (Some(_), Some(_)) => return Err(RateAndLevel),
            (Some(_), None) => "--rate",
            (None, Some(_)) => "--slo",
        };
        match () {
            // Not a number is in no range.
            () if self.rate.is_some_and(|rate| !(LEAST_RATE..=MOST_RATE).contains(&rate)) => {
                Err(Rate)
            }
            () if self.of.is_chain() => Err(ChainRate(flag, self.of.title())),
            () if self.only_instructions().is_some() => Err(UntimedRate(flag)),
            () if self.uses(Method::Slices) => Err(SlicedRate),
            () => Ok(()),
        }
    }

    /// How long a client waits at least from the start of an operation to that of the next. Only
    /// one contender is driven at a time.
    pub fn spacing(&self) -> Duration {
        let clients = f64::from(self.of.most_clients());
        self.max_rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(clients / rate))
    }

    /// Whether operations are started when they are due, and timed from then.
    pub fn is_paced(&self) -> bool {
        self.rate.is_some() || self.slo.is_some()
    }

    /// The threshold, if only instructions are counted.
    pub fn only_instructions(&self) -> Option<f64> {
        self.instructions.as_ref()?.only
    }

    /// Why the instructions of a contender cannot be counted beside those of the baseline; none if
    /// they can.
    pub fn uncountable(
        &self,
        contender: &crate::Contender,
        baseline: &crate::Contender,
    ) -> Option<&'static str> {
        let dbms = contender.dbms;
        let has = |setting: &str| contender.settings.iter().any(|(name, _)| name == setting);
        match () {
            () if self.of.is_chain() => Some(BUILDS_ON_ITSELF),
            () if dbms.is_embedded() => Some(RUNS_INSIDE),
            () if contender.is_remote() || baseline.is_remote() => Some(NOT_STARTED),
            () if dbms != baseline.dbms => Some(OTHER_DBMS),
            () if dbms.valgrind_needs().is_some_and(|setting| !has(setting)) => Some(HANGS),
            () => None,
        }
    }

    /// Where instructions are all that is asked for, each contender must have them.
    fn validate_instructions(
        &self,
        instructions: &Instructions,
        contenders: &[crate::Contender],
    ) -> Result<(), ComparisonError> {
        use ComparisonError::{NotCounted, TooLarge, TooSmall, Uncountable};
        if let Profiled::Tests(tests) = &instructions.of {
            let compared = self.tests();
            if let Some(test) = tests.iter().find(|test| !compared.contains(test)) {
                let known = suggestion(test, compared.iter().map(String::as_str));
                return Err(NotCounted(test.clone(), known));
            }
        }
        let Some(threshold) = instructions.only else { return Ok(()) };
        if threshold.is_nan() || threshold < 1e-4 {
            return Err(TooSmall("instructions-threshold", "0.01%".to_string()));
        }
        if threshold > 0.5 {
            return Err(TooLarge("instructions-threshold", "50%".to_string()));
        }
        let why = |one: &crate::Contender| self.uncountable(one, &contenders[0]);
        let why = contenders.iter().find_map(|one| Some((one.name(), why(one)?)));
        why.map_or(Ok(()), |(name, why)| Err(Uncountable(name, why)))
    }

    /// Whether these contenders can be profiled.
    pub fn can_be_profiled(&self, contenders: &[crate::Contender]) -> bool {
        self.validate_profile(&Profiled::All, contenders).is_ok()
    }

    fn validate_profile(
        &self,
        profile: &Profiled,
        contenders: &[crate::Contender],
    ) -> Result<(), ComparisonError> {
        use ComparisonError::{NotCompared, ProfiledChain, ProfiledInside, ProfiledRemote};
        if self.of.is_chain() {
            return Err(ProfiledChain(self.of.title()));
        }
        if let Some(inside) = contenders.iter().find(|one| one.dbms.is_embedded()) {
            return Err(ProfiledInside(inside.name()));
        }
        if let Some(remote) = contenders.iter().find(|one| one.is_remote()) {
            return Err(ProfiledRemote(remote.name()));
        }
        let Profiled::Tests(tests) = profile else { return Ok(()) };
        let compared = self.tests();
        match tests.iter().find(|test| !compared.contains(test)) {
            Some(test) => {
                let known = suggestion(test, compared.iter().map(String::as_str));
                Err(NotCompared(test.clone(), known))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
