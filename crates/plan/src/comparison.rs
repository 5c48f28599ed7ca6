//! A comparison as data: what is done to each contender, how often, and when it is enough.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::nearest::suggestion;
use crate::quantity::Span;
use crate::workload::{SpecificationError, Workload};

/// Which tests are run again under a profiler once there are verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiled {
    /// Those that have become slower, faster or dearer; of many, those that changed the most.
    Changed,
    All,
    /// These, whatever their verdict is.
    Tests(Vec<String>),
}

/// A method for some of the tests, and why it is theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub method: Method,
    pub why: String,
    pub tests: Vec<String>,
}

/// An earlier comparison whose whole runs of the base stand for runs of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredBase {
    /// The run directory, and the run that is in it.
    pub path: PathBuf,
    pub run: String,
    /// RFC 3339: when it was begun.
    pub created: String,
    /// Nanoseconds that the canary took there, in the median.
    pub canary: u64,
    /// How much work that canary is: it is the same one here.
    pub canary_rounds: u64,
}

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Of the tests that no choice names.
    pub method: Method,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Servers are started so often; a start is what counts as one observation.
    pub rounds: u32,
    /// No test is judged on fewer rounds.
    pub fewest_rounds: u32,
    /// What looks different after those rounds is measured in so many fresh ones, which alone
    /// decide.
    pub confirm: Option<u32>,
    /// No round begins that would not end within so long.
    pub budget: Option<Span>,
    /// A test needs no more rounds when its interval reaches so far to either side of the estimate,
    /// as a share of it.
    pub precision: f64,
    /// Changes below this share do not matter in practice; none for that of the test's class.
    pub margin: Option<f64>,
    /// The base takes part a second time under another name, from data of its own.
    pub twin: bool,
    /// How many times each contender loads its data; rounds take turns with them. None: for every
    /// round anew, so that what a load is worth is in the noise of rounds.
    pub loads: Option<u32>,
    /// The measured part of a slice.
    pub slice: Span,
    /// The unmeasured part before it.
    pub head: Span,
    /// A test during which the machine did something else does not count and is measured again.
    pub guards: bool,
    /// None: the base is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_from: Option<Box<StoredBase>>,
    /// None: nothing is profiled.
    pub profile: Option<Profiled>,
    /// What every contender does in every round.
    pub of: Workload,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ComparisonError {
    #[error(
        "a comparison needs two contenders: to see how much a build differs from itself, write it again under a label, as in again={0}"
    )]
    OneContender(String),
    #[error("{0} must be at least {1}")]
    TooSmall(&'static str, String),
    #[error("{0} must be at most {1}")]
    TooLarge(&'static str, String),
    #[error(
        "slices are for tests that stand alone: the steps of the {0} build on each other, so it is \
         compared by --method runs"
    )]
    SlicedChain(&'static str),
    #[error(
        "profiles are of tests that stand alone: the steps of the {0} build on each other, and \
         profiling them would be doing all of them again"
    )]
    ProfiledChain(&'static str),
    #[error(
        "slices rest on driving all servers in turn, within milliseconds of each other, so a base that was \
         measured at another time cannot be one of them: --base-from is for whole runs (--method runs)"
    )]
    SlicedStoredBase,
    #[error("{0} needs a base that is measured here: leave it away, or --base-from")]
    StoredBaseWith(&'static str),
    #[error("'{0}' is not compared here, so it cannot be profiled: {1}")]
    NotCompared(String, String),
    #[error(
        "{0} runs inside rqps, so a profile of it would be one of rqps: profiles are of servers"
    )]
    ProfiledInside(String),
    #[error(transparent)]
    Workload(#[from] SpecificationError),
}

impl Comparison {
    /// With everything but the workload as it was found to work (docs/slices.md).
    pub fn new(of: Workload) -> Self {
        let (method, loads) = match of.is_chain() {
            false => (Method::Slices, None),
            // Its runs begin with an empty directory and load by themselves.
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
            twin: true,
            loads,
            slice: Span(Duration::from_millis(10)),
            head: Span(Duration::from_millis(1)),
            guards: true,
            base_from: None,
            profile: None,
            of,
        }
    }

    /// The names of the tests or steps, in the order of the plan.
    pub fn tests(&self) -> Vec<String> {
        self.of.tests()
    }

    /// Whether this can be had with a base that was measured earlier.
    pub fn validate_stored_base(&self) -> Result<(), ComparisonError> {
        use ComparisonError::{SlicedStoredBase, StoredBaseWith};
        if self.uses(Method::Slices) {
            return Err(SlicedStoredBase);
        }
        if self.confirm.is_some() {
            return Err(StoredBaseWith("--confirm, which decides by fresh rounds,"));
        }
        match self.profile {
            Some(_) => Err(StoredBaseWith("--profile")),
            None => Ok(()),
        }
    }

    /// How a test is measured.
    pub fn method_of(&self, test: &str) -> Method {
        self.choice_of(test).map_or(self.method, |choice| choice.method)
    }

    /// Why a test is measured so, where that was chosen.
    pub fn choice_of(&self, test: &str) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.tests.iter().any(|name| name == test))
    }

    /// Whether any test may be measured so.
    pub fn uses(&self, method: Method) -> bool {
        self.choices.iter().any(|choice| choice.method == method)
            || (self.method == method && !self.is_chosen_throughout())
    }

    /// Whether every test has a choice.
    fn is_chosen_throughout(&self) -> bool {
        !self.of.is_chain() && self.tests().iter().all(|test| self.choice_of(test).is_some())
    }

    /// Which of the loads a round works on, both counted from 1.
    pub fn load_of(&self, round: u32) -> u32 {
        self.loads.map_or(round, |loads| (round - 1) % loads + 1)
    }

    /// How many loads of a contender are there at once.
    pub fn kept_loads(&self) -> u64 {
        self.loads.unwrap_or(1).into()
    }

    pub fn validate(&self, contenders: &[crate::Contender]) -> Result<(), ComparisonError> {
        use ComparisonError::{OneContender, SlicedChain, TooLarge, TooSmall};
        if let [only] = contenders {
            return Err(OneContender(only.spec()));
        }
        // Three is the least that an interval can be made of.
        if self.fewest_rounds < 3 {
            return Err(TooSmall("rounds", "3".to_string()));
        }
        if self.rounds < self.fewest_rounds {
            return Err(TooSmall("rounds", self.fewest_rounds.to_string()));
        }
        if self.confirm.is_some_and(|rounds| rounds < 3) {
            return Err(TooSmall("confirm", "3".to_string()));
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
        if self.base_from.is_some() {
            self.validate_stored_base()?;
        }
        if let Some(profile) = &self.profile {
            self.validate_profile(profile, contenders)?;
        }
        if self.of.is_chain() && self.uses(Method::Slices) {
            return Err(SlicedChain(self.of.title()));
        }
        Ok(self.of.validate(contenders)?)
    }

    /// Whether `--profile` is for these contenders.
    pub fn can_be_profiled(&self, contenders: &[crate::Contender]) -> bool {
        self.validate_profile(&Profiled::All, contenders).is_ok()
    }

    fn validate_profile(
        &self,
        profile: &Profiled,
        contenders: &[crate::Contender],
    ) -> Result<(), ComparisonError> {
        use ComparisonError::{NotCompared, ProfiledChain, ProfiledInside};
        if self.of.is_chain() {
            return Err(ProfiledChain(self.of.title()));
        }
        if let Some(inside) = contenders.iter().find(|one| one.dbms.is_embedded()) {
            return Err(ProfiledInside(inside.name()));
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
