//! How often causes are right where the truth is known: `cargo bench --bench causes`, for one DBMS
//! with `-- postgres` or `-- mysql`, or some of the experiments with `-- same added`. It runs `rqps
//! compare` and prints a table for docs/evidence.md.
//!
//! A benchmark, not a test: what is timed depends on the machine. Counts (`same`, `added`) do not.
//! It needs valgrind, patchelf, perf and a C compiler. Without `--bench`, which `cargo bench`
//! passes, or with `--quick` there are two tests of each kind, which only shows that it works.

mod altered;
mod experiment;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use rqps_dbms::{Home, source::Progress};
use rqps_load::Cancel;
use rqps_plan::Contender;

use altered::Folder;
use experiment::{Case, Expected, Outcome};

/// A DBMS, and what its experiments are made with.
struct Subject {
    name: &'static str,
    build: &'static str,
    /// A setting that makes the server execute more instructions for each statement.
    longer: &'static str,
    /// A release after `build`, or before, whose path is known to differ in `hot-points`.
    release: &'static str,
}

static SUBJECTS: [Subject; 2] = [
    Subject {
        name: "postgres",
        build: "postgres@17.6",
        longer: "plan_cache_mode=force_custom_plan",
        release: "postgres@16.10",
    },
    Subject {
        name: "mysql",
        build: "mysql@8.0.33",
        longer: "performance_schema=ON",
        release: "mysql@9.7",
    },
];

/// The experiments, in their order.
const PARTS: [&str; 5] = ["same", "added", "moved", "longer", "release"];

/// An operation is one statement, whose result the server sends at once.
const SENT_AT_ONCE: &[&str] = &[
    "point-query",
    "random-points_range=10",
    "points-covered-pk",
    "points-covered-si",
    "range-covered-pk",
    "range-covered-si",
    "update-index",
    "update-nonindex",
    "update-one",
    "insert",
];
const TWENTY: &[&str] = &[
    "point-query",
    "random-points_range=10",
    "random-points_range=100",
    "hot-points",
    "points-covered-pk",
    "points-covered-si",
    "points-notcovered-pk",
    "points-notcovered-si",
    "range-covered-pk",
    "range-covered-si",
    "range-notcovered-pk",
    "range-notcovered-si",
    "read-only_range=10",
    "read-only_range=100",
    "read-only-count",
    "read-only-sum",
    "update-index",
    "update-nonindex",
    "update-one",
    "insert",
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let is_full = given("--bench") && !given("--quick");
    let names: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|one| !one.starts_with("--")).collect();
    let subjects = chosen(SUBJECTS.iter().map(|subject| subject.name), &names);
    let parts = chosen(PARTS, &names);
    let is_known = |name: &&str| subjects.contains(name) || parts.contains(name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        bail!("'{unknown}' is neither a DBMS nor an experiment of this benchmark");
    }
    for subject in SUBJECTS.iter().filter(|subject| subjects.contains(&subject.name)) {
        let outcomes = measured(subject, &parts, is_full)?;
        println!("\n{}\n{}", subject.build, table(&outcomes));
    }
    Ok(())
}

/// Those that are named, or all if none is.
fn chosen(all: impl IntoIterator<Item = &'static str>, names: &[&str]) -> Vec<&'static str> {
    let all: Vec<&str> = all.into_iter().collect();
    let named: Vec<&str> = all.iter().copied().filter(|one| names.contains(one)).collect();
    if named.is_empty() { all } else { named }
}

fn measured(subject: &Subject, parts: &[&str], is_full: bool) -> anyhow::Result<Vec<Outcome>> {
    let home = Home::from_env()?;
    let contender: Contender = subject.build.parse()?;
    let mut tell = |progress| {
        if let Progress::Fetching { what } = progress {
            eprintln!("fetching {what}");
        }
        Ok(())
    };
    let dbms = rqps_dbms::prepare(&home, &contender, &mut tell, &Cancel::default())?;
    let build = dbms.build().context("it is a build")?;
    let folder = Folder::new()?;
    let (moved, spinning) = (folder.moved(build)?, folder.spinning(build)?);
    let copy = |name: &str, path: &Path| format!("{name}={}@{}", subject.name, path.display());
    let some = |tests: &'static [&'static str]| if is_full { tests } else { &tests[..2] };
    let build = subject.build;
    let experiments = [
        Case {
            what: "the build with itself: instructions",
            contenders: [build.to_string(), format!("again={build}")],
            tests: some(TWENTY),
            is_timed: false,
            expected: Expected::SameCount,
        },
        Case {
            what: "500 instructions more for each statement: instructions",
            contenders: [build.to_string(), copy("longer", &spinning)],
            tests: some(SENT_AT_ONCE),
            is_timed: false,
            expected: Expected::MoreBy(altered::ADDED, altered::FUNCTION),
        },
        Case {
            what: "a copy whose code lies elsewhere: cause",
            contenders: [build.to_string(), copy("moved", &moved)],
            tests: some(SENT_AT_ONCE),
            is_timed: true,
            expected: Expected::Kind("layout"),
        },
        Case {
            what: subject.longer,
            contenders: [build.to_string(), format!("longer={build}?{}", subject.longer)],
            tests: some(SENT_AT_ONCE),
            is_timed: true,
            expected: Expected::Kind("code-path"),
        },
        Case {
            what: subject.release,
            contenders: [build.to_string(), subject.release.to_string()],
            tests: &["hot-points"],
            is_timed: true,
            expected: Expected::FunctionsOfProfile,
        },
    ];
    let of_each = |(part, one): (&str, &Case)| {
        eprintln!("{}: {}", subject.build, one.what);
        one.run(&folder.path().join(format!("{part}-out")), is_full)
    };
    let all = PARTS.into_iter().zip(&experiments);
    all.filter(|(part, _)| parts.contains(part)).map(of_each).collect()
}

/// In Markdown, a row for each experiment.
fn table(outcomes: &[Outcome]) -> String {
    let mut text = "| compared | as expected | found | time per contender and test |\n\
                    |---|---|---|---|\n"
        .to_string();
    for one in outcomes {
        let (what, found) = (&one.what, &one.found);
        let seconds = one.counting.unwrap_or(Duration::ZERO).as_secs_f64();
        let time = one.counting.map_or("-".to_string(), |_| format!("{seconds:.0} s"));
        writeln!(text, "| {what} | {} of {} | {found} | {time} |", one.right, one.of)
            .expect("a text takes everything");
    }
    text
}
