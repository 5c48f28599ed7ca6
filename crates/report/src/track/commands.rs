//! What a reader may do about a change, as commands: to compare its builds again, and to search the
//! commits or releases between them.

use rqps_analysis::track::ChangeGroup;
use rqps_plan::{Build, Contender};
use rqps_store::track::TrackedBuild;

use super::words::tests_of;
use crate::model::shell_line;

/// The comparison of two builds as a command.
pub(super) fn compare_command(
    before: &TrackedBuild,
    after: &TrackedBuild,
    flags: &[String],
) -> String {
    let builds = [format!("before={}", before.spec), format!("after={}", after.spec)];
    let start = ["rqps".to_string(), "compare".to_string()];
    shell_line(start.iter().chain(&builds).chain(flags))
}

/// Flags of `rqps compare` that `rqps bisect` has, too, and whether each has a value.
const SHARED_FLAGS: [(&str, bool); 6] = [
    ("--workload", true),
    ("--rows", true),
    ("--clients", true),
    ("--seed", true),
    ("--secs", true),
    ("--no-guards", false),
];

/// The tests that are named in a command.
const TESTS_OF_SEARCH: usize = 4;

/// The search between the two builds of a change, as a command: among commits if both have one,
/// else among releases if both are. None for other builds, such as folders.
pub(super) fn bisect_command(group: &ChangeGroup<'_>, flags: &[String]) -> Option<String> {
    let [good, bad] = ends(&group.before.build, &group.after.build)?;
    let mut flags = shared_flags(flags);
    let tests: Vec<String> = tests_of(group).into_iter().map(|(test, _)| test).collect();
    match flags.iter_mut().find(|(name, _)| name == "--workload") {
        // Only the tests that have changed: fewer take less time.
        Some((_, Some(of))) if of.split(':').next() == Some(MICRO) => *of = micro(&tests),
        Some(_) => flags.push(("--test".to_string(), tests.first().cloned())),
        None => flags.insert(0, ("--workload".to_string(), Some(micro(&tests)))),
    }
    if !group.is_slower {
        flags.push(("--direction".to_string(), Some("faster".to_string())));
    }
    if good.contains(GIT) {
        flags.push(("--repo".to_string(), Some("CHECKOUT".to_string())));
    }
    let start = ["rqps", "bisect", &good, &bad].map(str::to_string);
    let flags = flags.into_iter().flat_map(|(name, value)| [name].into_iter().chain(value));
    Some(shell_line(start.into_iter().chain(flags)))
}

/// What a commit is written after in a contender.
const GIT: &str = "@git:";

/// The workload of `rqps compare` if none is named.
const MICRO: &str = "micro";

fn micro(tests: &[String]) -> String {
    format!("{MICRO}:{}", tests[..tests.len().min(TESTS_OF_SEARCH)].join(","))
}

/// Two builds as `rqps bisect` takes them: `postgres@git:1a2b3c4`, or `postgres@17.6`. They differ
/// in nothing else.
fn ends(before: &TrackedBuild, after: &TrackedBuild) -> Option<[String; 2]> {
    let contender = |build: &TrackedBuild| build.spec.parse::<Contender>().ok();
    let (good, bad) = (contender(before)?, contender(after)?);
    let kind = |one: &Contender| Contender { label: None, build: Build::Any, ..one.clone() };
    if kind(&good) != kind(&bad) {
        return None;
    }
    let kind = kind(&good).to_string();
    let (dbms, rest) = kind.split_at(good.dbms.name().len());
    let commit = |build: &TrackedBuild| {
        let commit = build.commit.as_deref().filter(|commit| is_hash(commit))?;
        Some(format!("{dbms}{GIT}{commit}{rest}"))
    };
    if let (Some(good), Some(bad)) = (commit(before), commit(after)) {
        return (good != bad).then_some([good, bad]);
    }
    let is_release = |one: &Contender| matches!(one.build, Build::Version { .. });
    let release = |one: &Contender| Contender { label: None, ..one.clone() }.to_string();
    (is_release(&good) && is_release(&bad) && good.build != bad.build)
        .then(|| [release(&good), release(&bad)])
}

/// What no shell and no git takes for anything else.
fn is_hash(commit: &str) -> bool {
    (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Those of the flags of a comparison that a search has, with their values.
fn shared_flags(flags: &[String]) -> Vec<(String, Option<String>)> {
    let mut shared = Vec::new();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let (name, joined) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (flag.as_str(), None),
        };
        match SHARED_FLAGS.iter().find(|(known, _)| *known == name) {
            Some((_, true)) => {
                let value = joined.or_else(|| flags.next().cloned());
                shared.push((name.to_string(), value));
            }
            Some((_, false)) => shared.push((name.to_string(), None)),
            None => {}
        }
    }
    shared
}
