//! What is stored of a night and beside the nights. Numbers are logs of ratios with their standard
//! errors: an absolute number says more of the machine than of the build.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::WriteOnce;

/// The longest name of a test, a line or a build.
const LONGEST_NAME: usize = 300;
/// The most tests of a night.
const MOST_TESTS: usize = 2000;
/// No ratio of two builds is larger or smaller than e to this power.
const LARGEST_LOG: f64 = 20.0;

/// The log of a ratio of rates, with its standard error from the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRatio {
    pub log: f64,
    pub error: f64,
}

impl StoredRatio {
    fn is_sound(self) -> bool {
        self.log.abs() <= LARGEST_LOG && (0.0..=LARGEST_LOG).contains(&self.error)
    }
}

/// A build that was measured, as found when it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrackedBuild {
    /// The contender as written, without its label.
    pub spec: String,
    /// As the server reports it.
    pub version: String,
    /// Of the server; none for a DBMS in rqps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When the commit was made, in whose order the series is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_time: Option<Timestamp>,
}

impl TrackedBuild {
    /// Equal for equal programs: the hash of the server, or its version and contender without one.
    pub fn key(&self) -> String {
        match &self.sha256 {
            Some(hash) => hash.clone(),
            None => format!("{} {}", self.version, self.spec),
        }
    }

    /// Its commit, shortened, or its version.
    pub fn name(&self) -> String {
        match &self.commit {
            Some(commit) => commit.chars().take(12).collect(),
            None => self.version.clone(),
        }
    }

    /// Whether a person means this build by a word: a version, a contender, or the beginning of a
    /// commit or hash.
    pub fn is_meant_by(&self, word: &str) -> bool {
        let begins = |text: &Option<String>| {
            text.as_ref().is_some_and(|text| word.len() >= 4 && text.starts_with(word))
        };
        self.version == word || self.spec == word || begins(&self.commit) || begins(&self.sha256)
    }

    fn fault(&self) -> Option<String> {
        let words = [&self.spec, &self.version];
        let more = [&self.sha256, &self.commit].into_iter().flatten();
        let is_wrong = words.into_iter().chain(more).any(|word| !is_name(word));
        is_wrong.then(|| "the name of a build is too long, or has control characters".to_string())
    }
}

/// What became of a night.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NightOutcome {
    Measured,
    /// The build is that of the last night.
    NoNewBuild,
    /// Why there was nothing to measure.
    BuildFailed(String),
}

/// A test in a night.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackedTest {
    /// The night's build to the anchor; none if the rounds were too few or discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<StoredRatio>,
    pub rounds: u32,
    /// The verdict, as in the report of the night.
    pub label: String,
    /// The smallest change that matters, as a log.
    pub margin: f64,
    /// `slices` or `runs`.
    pub method: String,
    /// Server CPU per operation to the anchor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<StoredRatio>,
    /// The build of the night before to the anchor, measured in this night again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<StoredRatio>,
    /// The night's build to that of the night before, in the same minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StoredRatio>,
}

/// A night.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackPoint {
    pub schema: String,
    pub id: String,
    /// What the series is of: the label of the contender, or the contender without its build.
    pub line: String,
    /// When the run was begun.
    pub time: Timestamp,
    pub build: TrackedBuild,
    pub outcome: NightOutcome,
    /// What a ratio depends on beside the builds, by name: CPU, kernel, anchor, workload.
    #[serde(default)]
    pub epoch: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<TrackedBuild>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<TrackedBuild>,
    /// The id of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The folder below `runs/`, if rqps put the run there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    pub rqps_version: String,
    #[serde(default)]
    pub tests: BTreeMap<String, TrackedTest>,
}

impl TrackPoint {
    /// The time by which it has its place in a series.
    pub fn place(&self) -> Timestamp {
        self.build.commit_time.unwrap_or(self.time)
    }
}

/// Two builds of a line that were compared directly, in rounds of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairPoint {
    pub schema: String,
    pub id: String,
    pub line: String,
    pub time: Timestamp,
    pub before: TrackedBuild,
    pub after: TrackedBuild,
    pub run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// After to before, by test.
    pub tests: BTreeMap<String, StoredRatio>,
}

/// A new anchor, compared with the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnchorChange {
    pub schema: String,
    pub id: String,
    pub time: Timestamp,
    pub before: TrackedBuild,
    pub after: TrackedBuild,
    pub run: String,
    /// New to old, by test.
    pub tests: BTreeMap<String, StoredRatio>,
}

/// A change that was told, so that it is told once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackAlert {
    pub schema: String,
    pub id: String,
    pub line: String,
    /// When it was told.
    pub time: Timestamp,
    /// The night that told it.
    pub night: String,
    pub is_slower: bool,
    pub before: TrackedBuild,
    pub after: TrackedBuild,
    /// Sizes of the step by test.
    pub tests: BTreeMap<String, StoredRatio>,
    /// The version of the method that found it.
    pub method: u32,
}

/// Values of another program, as they are: they have no anchor and no interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedValues {
    pub schema: String,
    pub id: String,
    /// The format and the file that they come from.
    pub source: String,
    pub time: Timestamp,
    pub points: Vec<ImportedPoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedPoint {
    pub test: String,
    pub unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub time: Timestamp,
    pub value: f64,
}

/// Whether a line of a table can show it.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME && !text.contains(char::is_control)
}

fn fault_of_ratios<'a>(
    tests: usize,
    mut ratios: impl Iterator<Item = (&'a String, StoredRatio)>,
) -> Option<String> {
    if tests > MOST_TESTS {
        return Some(format!("it has {tests} tests, and at most {MOST_TESTS} are possible"));
    }
    let wrong = |(name, ratio): (&String, StoredRatio)| {
        let is_wrong = !is_name(name) || !ratio.is_sound();
        is_wrong.then(|| format!("a ratio of '{}' is not possible", name.escape_debug()))
    };
    ratios.find_map(wrong)
}

fn fault_between(
    before: &TrackedBuild,
    after: &TrackedBuild,
    tests: &BTreeMap<String, StoredRatio>,
) -> Option<String> {
    let ratios = tests.iter().map(|(name, ratio)| (name, *ratio));
    before.fault().or(after.fault()).or(fault_of_ratios(tests.len(), ratios))
}

impl WriteOnce for TrackPoint {
    const FOLDER: &'static str = "points";
    const ENDING: &'static str = "json";

    fn id(&self) -> &str {
        &self.id
    }

    fn fault(&self) -> Option<String> {
        let ratios = self.tests.iter().flat_map(|(name, test)| {
            let margin = StoredRatio { log: test.margin, error: 0.0 };
            let all = [test.rate, test.cpu, test.previous, test.step, Some(margin)];
            all.into_iter().flatten().map(move |ratio| (name, ratio))
        });
        let builds = [Some(&self.build), self.anchor.as_ref(), self.previous.as_ref()];
        let of_build = builds.into_iter().flatten().find_map(TrackedBuild::fault);
        let is_wrong = !is_name(&self.line);
        of_build
            .or(is_wrong.then(|| "its line is too long, or has control characters".to_string()))
            .or(fault_of_ratios(self.tests.len(), ratios))
    }
}

impl WriteOnce for PairPoint {
    const FOLDER: &'static str = "pairs";
    const ENDING: &'static str = "json";

    fn id(&self) -> &str {
        &self.id
    }

    fn fault(&self) -> Option<String> {
        fault_between(&self.before, &self.after, &self.tests)
    }
}

impl WriteOnce for AnchorChange {
    const FOLDER: &'static str = "anchors";
    const ENDING: &'static str = "json";

    fn id(&self) -> &str {
        &self.id
    }

    fn fault(&self) -> Option<String> {
        fault_between(&self.before, &self.after, &self.tests)
    }
}

impl WriteOnce for TrackAlert {
    const FOLDER: &'static str = "alerts";
    const ENDING: &'static str = "json";

    fn id(&self) -> &str {
        &self.id
    }

    fn fault(&self) -> Option<String> {
        fault_between(&self.before, &self.after, &self.tests)
    }
}

impl WriteOnce for ImportedValues {
    const FOLDER: &'static str = "imports";
    const ENDING: &'static str = "json";

    fn id(&self) -> &str {
        &self.id
    }

    fn fault(&self) -> Option<String> {
        let is_wrong = |point: &&ImportedPoint| {
            !(point.value > 0.0 && point.value.is_finite() && is_name(&point.test))
        };
        let wrong = self.points.iter().find(is_wrong)?;
        Some(format!("a value of '{}' is not possible", wrong.test.escape_debug()))
    }
}
