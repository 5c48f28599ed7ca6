//! Real builds from real registries. They are kept between test runs in `$RQPS_TEST_HOME`, or else
//! in the workspace's target folder.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rqps_dbms::Home;
use rqps_dbms::source::{Installed, Progress, SourceError, available, installed, obtain, remove};
use rqps_plan::{Build, Dbms, Source};

fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn kept_home() -> Home {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rqps-test-home");
    Home::at(std::env::var_os("RQPS_TEST_HOME").map_or(target, PathBuf::from)).unwrap()
}

fn version(source: Option<Source>, version: &str) -> Build {
    Build::Version { source, version: version.to_string() }
}

fn get(home: &Home, build: &Build) -> Result<Installed, SourceError> {
    obtain(home, Dbms::Postgres, build, &mut go_on)
}

fn says(installed: &Installed) -> String {
    let server = installed.root.join("bin/postgres");
    let output = Command::new(server).arg("--version").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

#[test]
fn npm_has_postgres_17_6() {
    let build = version(Some(Source::Npm), "17.6");
    let installed = get(&kept_home(), &build).unwrap();
    assert_eq!(says(&installed), "postgres (PostgreSQL) 17.6");
    assert!(installed.root.ends_with("builds/postgres-17.6-npm"));
    assert!(installed.root.join("lib/libpq.so.5").is_symlink(), "listed links are made");
    assert!(installed.libc.as_ref().unwrap().starts_with("glibc 2."));
    assert!(installed.compiler.as_ref().unwrap().starts_with("gcc ("));
    assert_eq!(installed.archives[0].sha256.len(), 64);

    let begun = Instant::now();
    assert_eq!(get(&kept_home(), &build).unwrap(), installed);
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
}

#[test]
fn maven_has_postgres_9_6_24() {
    let installed = get(&kept_home(), &version(Some(Source::Maven), "9.6.24")).unwrap();
    assert_eq!(says(&installed), "postgres (PostgreSQL) 9.6.24");
    assert!(installed.root.join("lib/libpq.so.5").is_symlink());
    assert!(installed.compiler.as_ref().unwrap().starts_with("gcc ("));
}

#[test]
fn the_registries_list_old_and_new_versions() {
    let available = available(Dbms::Postgres, &mut go_on).unwrap();
    for known in ["18.0", "17.6", "12.22", "10.23", "9.6.24"] {
        assert!(available.versions.iter().any(|version| version == known), "{known}");
    }
    assert_eq!(available.unasked, Vec::<String>::new());
}

#[test]
fn a_version_that_never_was_is_answered_with_neighbours() {
    let error = get(&kept_home(), &version(None, "17.66")).unwrap_err().to_string();
    assert!(error.starts_with("postgres 17.66 is not to be had: did you mean '17.6'?"), "{error}");
    assert!(!error.contains("18.0") && !error.contains('\n'), "{error}");
}

#[test]
fn what_was_fetched_is_listed_until_it_is_removed() {
    let outer = tempfile::tempdir().unwrap();
    let home = Home::at(outer.path()).unwrap();
    let fetched = get(&home, &version(Some(Source::Npm), "12.22")).unwrap();
    assert!(installed(&home, &mut go_on).unwrap().contains(&fetched));
    remove(&home, &fetched, &mut go_on).unwrap();
    assert!(!installed(&home, &mut go_on).unwrap().contains(&fetched));
    assert!(!fetched.root.exists());
}
