//! Versions of DBMSs by their numbers.

use std::cmp::Ordering;

/// Whether a version is the requested one, or one of its series: `17.6` is one of `17`.
pub(super) fn is(version: &str, wanted: &str) -> bool {
    let rest = version.strip_prefix(wanted);
    !wanted.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Orders versions by their numbers: 9.6.24 < 10.2 < 10.20. A beta (`18beta1`) counts as 18.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

fn numbers(version: &str) -> Vec<u32> {
    let number = |part: &str| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse().unwrap_or(0)
    };
    version.split('.').map(number).collect()
}

/// Alternatives to a version that does not exist: the others of the same major version, or else the
/// newest of each major version. `known` is newest first.
pub(super) fn alternatives<'a>(wanted: &str, known: &'a [String]) -> Vec<&'a str> {
    let same: Vec<&str> =
        known.iter().map(String::as_str).filter(|v| major(v) == major(wanted)).collect();
    if !same.is_empty() {
        return same;
    }
    let mut newest: Vec<&str> = known.iter().map(String::as_str).collect();
    newest.dedup_by_key(|version| major(version));
    newest
}

/// Whether two versions begin with the same number.
pub(super) fn are_of_one_series(a: &str, b: &str) -> bool {
    major(a) == major(b)
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}
