//! A rule, and how certain its finding is.

use std::fmt;

use super::next::Next;
use super::number::Number;
use super::view::View;

/// Why rates or costs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    Environment,
    SuiteShift,
    /// More CPU in the server, by more instructions or not.
    Cpu,
    /// More CPU, and about as many more instructions.
    CodePath,
    /// More CPU for the same instructions.
    Layout,
    /// More CPU, between builds of one source that were compiled differently.
    OtherBuild,
    /// The same between builds of different sources that were compiled differently.
    CodeOrBuild,
    Contention,
    RowContention,
    Reads,
    Writes,
    Checkpoints,
    Compression,
    Garbage,
    DeadEntries,
    Plan,
    Commit,
    /// More comparisons of keys.
    Search,
    /// More blocks read from files.
    Cache,
    /// More CPU of background threads.
    Background,
    /// The DBMS holds up writers.
    Stalls,
    Protocol,
    StatementOrRow,
    Efficiency,
    Unexplained,
}

impl Cause {
    /// The number of its rule in the specification.
    pub fn rule(self) -> &'static str {
        match self {
            Cause::Environment => "R0",
            Cause::Cpu
            | Cause::CodePath
            | Cause::Layout
            | Cause::OtherBuild
            | Cause::CodeOrBuild => "R1",
            Cause::Contention => "R2",
            Cause::RowContention => "R3",
            Cause::Reads => "R4",
            Cause::Writes => "R5",
            Cause::Checkpoints => "R6",
            Cause::Compression => "R7",
            Cause::Garbage => "R8",
            Cause::DeadEntries => "R9",
            Cause::Plan => "R10",
            Cause::Commit => "R11",
            Cause::Protocol => "R12",
            Cause::StatementOrRow => "R13",
            Cause::Efficiency => "R15",
            Cause::SuiteShift => "R16",
            Cause::Unexplained => "R17",
            Cause::Search => "R18",
            Cause::Cache => "R19",
            Cause::Background => "R20",
            Cause::Stalls => "R21",
        }
    }

    /// In words, for a contender that is slower (or costs more per operation), or faster.
    pub fn name(self, slower: bool) -> &'static str {
        let (slow, fast) = match self {
            Cause::Environment => ("the environment", "the environment"),
            Cause::SuiteShift => ("a common factor", "a common factor"),
            Cause::Cpu => ("more server CPU per operation", "less server CPU per operation"),
            Cause::CodePath => ("a longer code path", "a shorter code path"),
            Cause::Layout => ("the same instructions, slower", "the same instructions, faster"),
            Cause::OtherBuild => {
                ("another build of the same source", "another build of the same source")
            }
            Cause::CodeOrBuild => ("other code or another build", "other code or another build"),
            Cause::Contention => ("contention", "less contention"),
            Cause::RowContention => ("contention for rows", "less contention for rows"),
            Cause::Reads => ("more reads", "fewer reads"),
            Cause::Writes => ("more writes", "fewer writes"),
            Cause::Checkpoints => ("too many checkpoints", "fewer checkpoints"),
            Cause::Compression => {
                ("cost of compression or checksums", "less cost of compression or checksums")
            }
            Cause::Garbage => ("old row versions", "fewer old row versions"),
            Cause::DeadEntries => ("dead index entries", "fewer dead index entries"),
            Cause::Plan => ("another query plan", "another query plan"),
            Cause::Commit => ("slower commits", "faster commits"),
            Cause::Search => ("more comparisons of keys", "fewer comparisons of keys"),
            Cause::Cache => ("fewer cache hits", "more cache hits"),
            Cause::Background => ("more background work", "less background work"),
            Cause::Stalls => ("stalls of writers", "fewer stalls of writers"),
            Cause::Protocol => ("protocol or system calls", "protocol or system calls"),
            Cause::StatementOrRow => ("cost per statement or row", "cost per statement or row"),
            Cause::Efficiency => ("lost efficiency", "gained efficiency"),
            Cause::Unexplained => ("unexplained", "unexplained"),
        };
        if slower { slow } else { fast }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The main evidence with less than half of the supporting facts, or only its pattern.
    Hint,
    /// The main evidence with at least half of the supporting facts.
    Likely,
    /// All evidence, and everything that would contradict it was checked and does not apply.
    Strong,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Confidence::Hint => "hint",
            Confidence::Likely => "likely",
            Confidence::Strong => "strong",
        })
    }
}

/// A fact that would contradict a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    pub what: &'static str,
    /// It was checked and does not apply.
    pub looked_at: bool,
}

/// A cause, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub cause: Cause,
    pub confidence: Confidence,
    /// The tests that show it.
    pub tests: Vec<String>,
    /// Whether the contender is slower, or costs more per operation, than the baseline.
    pub slower: bool,
    /// Of the change of the time per operation, where it is known.
    pub share: Option<f64>,
    /// Findings are sorted by this: the share, or an assumed one, of the change of rate, over all
    /// tests.
    pub importance: f64,
    /// In words, with the numbers and the confidence.
    pub statement: String,
    /// The numbers of the statement, and those of the other tests that it stands for.
    pub numbers: Vec<Number>,
    pub contradicted_by: Vec<Check>,
    /// The command, or the place, that shows more.
    pub next: String,
}

impl Finding {
    /// What would contradict it, in words: the checks that do not apply, then those not made.
    pub fn checks(&self) -> impl Iterator<Item = (&'static str, String)> {
        let kinds = [(true, "Checked, does not apply"), (false, "Not checked")];
        kinds.into_iter().filter_map(|(looked_at, what)| {
            let of = |check: &&Check| check.looked_at == looked_at;
            let checks: Vec<&str> =
                self.contradicted_by.iter().filter(of).map(|check| check.what).collect();
            (!checks.is_empty()).then(|| (what, checks.join("; ")))
        })
    }
}

/// The claim of a rule whose main evidence is there.
#[derive(Default)]
pub(super) struct Claim {
    pub(super) share: Option<f64>,
    pub(super) text: String,
    /// Those of the text, except for the rate and the share.
    pub(super) numbers: Vec<Number>,
    /// Only the pattern is there, not the main evidence: a hint at most, whatever supports it.
    pub(super) is_partial: bool,
}

pub(super) type Fact = fn(&View) -> Option<bool>;

/// One row of the table of rules.
pub(super) struct Rule {
    pub(super) cause: Cause,
    /// None without the main evidence.
    pub(super) main: fn(&View) -> Option<Claim>,
    /// Supporting facts; one that was not checked is `None`.
    pub(super) supported_by: &'static [Fact],
    pub(super) contradicted_by: &'static [(&'static str, Fact)],
    pub(super) next: Next,
}

/// The assumed share of a cause whose share is not known.
const ASSUMED_SHARE: f64 = 0.5;

impl Rule {
    /// None if the main evidence is missing or contradicted. A fact that was not checked supports
    /// nothing, so that a confidence means the same in each rule and with each method.
    pub(super) fn evaluate(&self, view: &View) -> Option<Finding> {
        let claim = (self.main)(view)?;
        let mut checks = Vec::new();
        for (what, fact) in self.contradicted_by {
            match fact(view) {
                Some(true) => return None,
                known => checks.push(Check { what, looked_at: known.is_some() }),
            }
        }
        let facts: Vec<_> = self.supported_by.iter().map(|fact| fact(view)).collect();
        let seen = facts.iter().filter(|fact| **fact == Some(true)).count();
        let confidence = match seen {
            _ if claim.is_partial => Confidence::Hint,
            all if all == facts.len() && checks.iter().all(|check| check.looked_at) => {
                Confidence::Strong
            }
            some if some * 2 >= facts.len() => Confidence::Likely,
            _ => Confidence::Hint,
        };
        let evidence = view.evidence;
        let change = evidence.theta.value.abs();
        let numbers = claim.numbers.into_iter();
        Some(Finding {
            cause: self.cause,
            confidence,
            tests: vec![evidence.test.clone()],
            slower: view.is_slower(),
            share: claim.share,
            importance: claim.share.unwrap_or(ASSUMED_SHARE).clamp(0.0, 1.0) * change,
            statement: format!("{} ({confidence}).", claim.text),
            numbers: numbers.map(|number| number.of(&evidence.test)).collect(),
            contradicted_by: checks,
            next: self.next.text(evidence),
        })
    }
}
