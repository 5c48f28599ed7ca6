//! Real builds from real registries. They are kept between test runs in `$RQPS_TEST_HOME`, or else
//! in a folder that all checkouts on the machine share.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rqps_dbms::Home;
use rqps_dbms::source::{Installed, Progress, SourceError, available, installed, obtain, remove};
use rqps_plan::{Build, Dbms, Source};
use rqps_system::Cancelled;

fn go_on(_: Progress) -> Result<(), Cancelled> {
    Ok(())
}

fn kept_home() -> Home {
    let shared = PathBuf::from("/var/tmp/rqps-tests");
    Home::at(std::env::var_os("RQPS_TEST_HOME").map_or(shared, PathBuf::from)).unwrap()
}

fn version(source: Option<Source>, version: &str) -> Build {
    Build::Version { source, version: version.to_string() }
}

fn get(home: &Home, build: &Build) -> Result<Installed, SourceError> {
    obtain(home, Dbms::Postgres, build, &mut go_on)
}

fn says(installed: &Installed) -> String {
    let (program, args) = installed.command(&installed.server().unwrap());
    let output = Command::new(program).args(args).arg("--version").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// Gets a build of MySQL or MariaDB and checks what all of them have to be like.
fn whole(dbms: Dbms, source: Source, asked: &str, plugin: Option<&str>) -> Installed {
    let build = version(Some(source), asked);
    let installed = obtain(&kept_home(), dbms, &build, &mut go_on).unwrap();
    assert!(installed.version.starts_with(asked), "{}", installed.version);
    assert!(says(&installed).contains(&installed.version));
    assert!(installed.libc.is_some());
    assert!(installed.share().unwrap().unwrap().join("charsets/Index.xml").is_file());
    if let Some(plugin) = plugin {
        assert!(installed.plugins().unwrap().unwrap().join(plugin).is_file(), "{plugin}");
    }

    let mut none = |progress: Progress| panic!("{progress:?} for a build that is there");
    assert_eq!(obtain(&kept_home(), dbms, &build, &mut none).unwrap(), installed);
    installed
}

/// Without the empty data directories that other tests had it make.
fn megabytes(installed: &Installed) -> u64 {
    let mut command = Command::new("du");
    command.args(["-sm", "--exclude=rqps.empty"]).arg(&installed.root);
    let output = command.output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    output.split_whitespace().next().unwrap().parse().unwrap()
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
    assert_eq!(installed.flags.as_ref().unwrap().short(), "-Os");
    assert_eq!(installed.archives[0].sha256.len(), 64);

    assert_eq!(get(&kept_home(), &build).unwrap(), installed);
}

#[test]
fn maven_has_postgres_9_6_24() {
    let installed = get(&kept_home(), &version(Some(Source::Maven), "9.6.24")).unwrap();
    assert_eq!(says(&installed), "postgres (PostgreSQL) 9.6.24");
    assert!(installed.root.join("lib/libpq.so.5").is_symlink());
    assert!(installed.compiler.as_ref().unwrap().starts_with("gcc ("));
    assert_eq!(installed.flags.as_ref().unwrap().short(), "-O2");
}

#[test]
fn maven_has_mysql_5_6_14() {
    let installed = whole(Dbms::Mysql, Source::Maven, "5.6.14", Some("semisync_master.so"));
    for script in ["mysql_system_tables.sql", "mysql_system_tables_data.sql"] {
        assert!(installed.root.join("share").join(script).is_file(), "{script}");
    }
    assert!(installed.compiler.as_ref().unwrap().starts_with("GNU C++ 4.1.2"));
    // An older rqps left the notes of the vendor out.
    let is_noted = installed.root.join("docs/INFO_BIN").is_file();
    let flags = installed.flags.as_ref().unwrap();
    assert_eq!(flags.short(), if is_noted { "-O3" } else { "not known" }, "{flags:?}");
    assert!(megabytes(&installed) < 120, "{}", megabytes(&installed));
}

#[test]
fn maven_has_mysql_8_0_33() {
    let plugin = Some("component_log_sink_json.so");
    let installed = whole(Dbms::Mysql, Source::Maven, "8.0.33", plugin);
    let flags = installed.flags.as_ref().unwrap();
    assert_eq!(flags.short(), "-O2", "of compressed debug information: {flags:?}");
    assert!(megabytes(&installed) < 400, "{}", megabytes(&installed));
}

#[test]
fn maven_has_mariadb_11_4_5() {
    let installed = whole(Dbms::Mariadb, Source::Maven, "11.4.5", None);
    assert_eq!(installed.flags.as_ref().unwrap().short(), "-O3");
    assert!(installed.root.join("share/mariadb_system_tables.sql").is_file());
    assert!(megabytes(&installed) < 400, "{}", megabytes(&installed));
}

/// The suites move on, so only the start of their versions is known.
#[test]
fn debian_has_mariadb_with_myrocks() {
    for asked in ["10.11", "11.8"] {
        let plugin = Some("ha_rocksdb.so");
        let installed = whole(Dbms::Mariadb, Source::Debian, asked, plugin);
        assert!(installed.libc.as_ref().unwrap().starts_with("its own glibc 2."));
        assert!(installed.archives.iter().any(|archive| archive.name.starts_with("libc6_")));
        assert!(megabytes(&installed) < 200, "{}", megabytes(&installed));
    }
}

#[test]
fn debian_has_mysql_9() {
    let installed = whole(Dbms::Mysql, Source::Debian, "9", Some("mysql_clone.so"));
    assert!(installed.libc.as_ref().unwrap().starts_with("its own glibc 2."));
    let flags = installed.flags.unwrap();
    assert!(flags.told().starts_with("not known: it was stripped of its debug"), "{flags:?}");
}

#[test]
#[ignore = "nightly: asks every registry"]
fn the_registries_list_old_and_new_versions() {
    let available = available(&kept_home(), Dbms::Postgres, true, &mut go_on).unwrap();
    for known in ["18.0", "17.6", "12.22", "10.23", "9.6.24"] {
        assert!(available.versions.iter().any(|version| version == known), "{known}");
    }
    assert_eq!(available.unasked, Vec::<String>::new());
}

#[test]
#[ignore = "nightly: asks every registry"]
fn old_and_new_versions_of_mysql_and_mariadb_are_listed() {
    for (dbms, starts) in
        [(Dbms::Mysql, ["5.5.34", "8.0.33", "9."]), (Dbms::Mariadb, ["10.1.8", "11.4.5", "11.8."])]
    {
        let available = available(&kept_home(), dbms, true, &mut go_on).unwrap();
        for start in starts {
            assert!(available.versions.iter().any(|version| version.starts_with(start)), "{start}");
        }
        assert_eq!(available.unasked, Vec::<String>::new());
    }
}

#[test]
#[ignore = "nightly: asks every registry"]
fn a_version_that_never_was_is_answered_with_neighbours() {
    let error = get(&kept_home(), &version(None, "17.66")).unwrap_err().to_string();
    assert!(error.starts_with("postgres 17.66 is not available: did you mean '17.6'?"), "{error}");
    assert!(!error.contains("18.0") && !error.contains('\n'), "{error}");
}

#[test]
fn what_was_fetched_is_listed_until_it_is_removed() {
    let outer = tempfile::tempdir().unwrap();
    // For the user that programs of builds run as.
    fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let home = Home::at(outer.path()).unwrap();
    let fetched = get(&home, &version(Some(Source::Npm), "12.22")).unwrap();
    assert!(installed(&home, &mut go_on).unwrap().contains(&fetched));
    remove(&home, &fetched, &mut go_on).unwrap();
    assert!(!installed(&home, &mut go_on).unwrap().contains(&fetched));
    assert!(!fetched.root.exists());
}
