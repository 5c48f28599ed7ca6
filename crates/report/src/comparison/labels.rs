//! The names of labels, and how many tests have each.

use rqps_analysis::builds;
use rqps_document::Chip;
use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;

use super::{Judged, Verdicts};

/// How a label is named: for programs, in the style sheet, where there is little room, in a
/// sentence, and there for more than one test.
type Names = [&'static str; 5];

/// In the order of their importance.
const NAMES: [Names; 9] = [
    ["regression", "slower", "slower", "regression", "regressions"],
    ["small_regression", "slower", "(slower)", "small regression", "small regressions"],
    [
        "efficiency_regression",
        "slower",
        "costlier",
        "efficiency regression",
        "efficiency regressions",
    ],
    ["improvement", "faster", "faster", "improvement", "improvements"],
    ["small_improvement", "faster", "(faster)", "small improvement", "small improvements"],
    ["no_change", "same", "same", "no change", "no change"],
    ["inconclusive", "unknown", "unclear", "inconclusive", "inconclusive"],
    ["invalid", "unknown", "invalid", "invalid", "invalid"],
    ["capped", "unknown", "capped", "capped", "capped"],
];

/// Its place in the order of importance.
fn place(label: &Label) -> usize {
    match label {
        Label::Regression { .. } | Label::Overdue { .. } => 0,
        Label::SmallRegression { .. } => 1,
        Label::EfficiencyRegression { .. } => 2,
        Label::Improvement { .. } => 3,
        Label::SmallImprovement { .. } => 4,
        Label::NoChange { .. } => 5,
        Label::Inconclusive { .. } => 6,
        Label::Invalid { .. } => 7,
        Label::Capped { .. } => 8,
    }
}

/// The label as programs know it.
pub(crate) fn label(label: &Label) -> &'static str {
    let [key, ..] = NAMES[place(label)];
    key
}

/// The label in the style sheet.
pub(crate) fn class(label: &Label) -> &'static str {
    let [_, class, ..] = NAMES[place(label)];
    class
}

/// The label as a page shows it.
pub(crate) fn chip(label: &Label) -> Chip {
    Chip { class: class(label), text: word(label, 1).to_string() }
}

/// Whether the rate or a cost has changed.
pub(crate) fn is_change(label: &Label) -> bool {
    !matches!(
        label,
        Label::NoChange { .. }
            | Label::Inconclusive { .. }
            | Label::Invalid { .. }
            | Label::Capped { .. }
    )
}

/// The label in a cell of a table for a post.
pub(crate) fn short(label: &Label) -> &'static str {
    let [_, _, short, ..] = NAMES[place(label)];
    short
}

/// The same for [`Verdicts::missed`].
pub(crate) const SHORT_MISSED: &str = "SLA";

impl Verdicts<'_> {
    /// A contender that never kept its write rate, whatever the verdict on its queries: `SLA
    /// missed: 89 of 100 rows/s`.
    pub(crate) fn missed(&self, contender: &str, index: usize) -> Option<String> {
        let (reached, wanted) = self.tests[index].missed_rate(contender)?;
        Some(format!("SLA missed: {reached:.0} of {wanted:.0} rows/s"))
    }

    /// The number of tests in which it missed its write rate.
    pub(crate) fn misses(&self, contender: &str) -> usize {
        (0..self.tests.len()).filter(|&index| self.missed(contender, index).is_some()).count()
    }

    /// The verdict on a test of a contender in words: a missed write rate, the label, the kind of
    /// change if it is known, and how the builds were compiled if that is unusual.
    pub(crate) fn told(&self, judged: &Judged<'_>, index: usize) -> String {
        let missed = self.missed(&judged.contender, index);
        let label = judged.verdicts[index].label.to_string();
        let kind = judged.kind(index).map(|kind| kind.name().to_string());
        let parts = missed.into_iter().chain([label]).chain(kind).chain(self.built(judged));
        parts.collect::<Vec<_>>().join("; ")
    }

    /// How a contender and its baseline were compiled, if one of them is unusual: `built -Os`.
    pub(crate) fn built(&self, judged: &Judged<'_>) -> Option<String> {
        let of = |name: &str| {
            let record = self.run.contenders.iter().find(|one| one.name == name)?;
            record.flags.as_ref()
        };
        builds::mark(of(&self.base), of(&judged.contender))
    }
}

/// The label for a number of tests.
pub(crate) fn word(label: &Label, tests: usize) -> &'static str {
    let [.., one, several] = NAMES[place(label)];
    if tests == 1 { one } else { several }
}

/// The number of tests with each label, in the order of importance.
pub(crate) fn counts<'a>(
    verdicts: impl IntoIterator<Item = &'a Verdict>,
) -> Vec<(&'a Label, usize)> {
    let mut counts: [Option<(&Label, usize)>; NAMES.len()] = Default::default();
    for verdict in verdicts {
        counts[place(&verdict.label)].get_or_insert((&verdict.label, 0)).1 += 1;
    }
    counts.into_iter().flatten().collect()
}
