//! Repositories that the user named, with an apt that is a shell script.

use std::os::unix::fs::symlink;

use super::*;

const KEY: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n";
const PGDG: &str = r#"
[pgdg]
uri = "https://mirror.example/pgdg"
suite = "bookworm-pgdg"
components = ["main"]
key = "pgdg.asc"
base = "bookworm"
postgres = ["postgresql-{major}", "postgresql-client-{major}", "postgresql-{major}-jit?"]
"#;

impl World {
    /// With two versions of Postgres 17 in a repository named in this file.
    fn with_named(text: &str) -> World {
        let world = World::with_postgres_of_apt("17", "17.6-1.pgdg12+1");
        world.name(text);
        world.lists(&[
            ("postgresql-17", "17.6-1.pgdg12+1"),
            ("postgresql-17", "17.5-1.pgdg12+1"),
            ("postgresql-18", "18.0-1.pgdg12+1"),
            ("postgresql-18-jit", "18.0-1.pgdg12+1"),
            ("postgresql-client-17", "17.5-1.pgdg12+1"),
            ("postgresql-common", "270"),
        ]);
        world
    }

    fn name(&self, text: &str) {
        fs::create_dir_all(self.home.root()).unwrap();
        fs::write(self.home.root().join("sources.toml"), text).unwrap();
        fs::write(self.home.root().join("pgdg.asc"), KEY).unwrap();
    }

    fn named(&self, build: &str) -> Build {
        format!("postgres@{build}").parse::<rqps_plan::Contender>().unwrap().build
    }
}

#[test]
fn any_version_of_a_named_repository_can_be_asked_for() {
    let world = World::with_named(PGDG);
    let installed = world.obtain(world.named("pgdg-17.6")).unwrap();
    assert!(installed.root.ends_with("builds/postgres-17.6-pgdg"), "{:?}", installed.root);
    let source = installed.source.clone().unwrap();
    assert_eq!(source.name(), "pgdg");
    let text = serde_json::to_string(&installed).unwrap();
    assert_eq!(serde_json::from_str::<Installed>(&text).unwrap(), installed);
    // The client has no such version, and there is no JIT of 17.
    let asked = "install --download-only --yes postgresql-17=17.6-1.pgdg12+1 postgresql-client-17";
    assert_eq!(world.told_apt("install"), [asked]);

    world.pack_postgres("17", "17.5");
    world.obtain(world.named("pgdg-17.5")).unwrap();
    let both = "postgresql-17=17.5-1.pgdg12+1 postgresql-client-17=17.5-1.pgdg12+1";
    assert!(world.told_apt("install")[1].ends_with(both));
    world.pack_postgres("18", "18.0");
    world.obtain(world.named("pgdg-18")).unwrap();
    let both =
        "postgresql-18=18.0-1.pgdg12+1 postgresql-client-18 postgresql-18-jit=18.0-1.pgdg12+1";
    assert!(world.told_apt("install")[2].ends_with(both));

    // A build in the store needs no repository, and no file that names one.
    fs::remove_file(world.home.root().join("sources.toml")).unwrap();
    assert_eq!(world.obtain(world.named("pgdg-17.6")).unwrap(), installed);
    let error = world.error(world.named("pgdg-17.4"));
    assert!(error.starts_with("no source is called 'pgdg': there are: system, npm, "), "{error}");
}

#[test]
fn a_repository_is_told_to_apt_with_its_key_and_the_suite_that_it_goes_with() {
    let world = World::with_named(PGDG);
    world.obtain(world.named("pgdg-17.6")).unwrap();
    let calls = fs::read_to_string(world.file("calls")).unwrap();
    let of_both = "\nURIs: https://mirror.example/pgdg\nSuites: bookworm-pgdg\nComponents: main\n";
    assert_eq!(calls.matches(of_both).count(), 2, "{calls}");
    assert!(calls.contains("/key.asc\nCheck-Date: yes\nCheck-Valid-Until: yes\n"), "{calls}");
    let base = "\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n";
    assert_eq!(calls.matches(base).count(), 1, "only to fetch: {calls}");
}

#[test]
fn folders_are_copied_from_and_need_no_components() {
    let text = PGDG.replace("https://mirror.example/pgdg", "file:///srv/pgdg");
    let text = text.replace("\"bookworm-pgdg\"\ncomponents = [\"main\"]", "\"./\"");
    let world = World::with_named(&text);
    world.obtain(world.named("pgdg-17.6")).unwrap();
    let calls = fs::read_to_string(world.file("calls")).unwrap();
    assert!(calls.contains("\nURIs: copy:///srv/pgdg\nSuites: ./\nArchitectures: "), "{calls}");
}

#[test]
fn named_repositories_are_listed_with_the_others_and_asked_first() {
    let world = World::with_named(PGDG);
    let available =
        world.machine.available(&world.home, Dbms::Postgres, false, &mut go_on).unwrap();
    assert_eq!(available.versions, ["18.0", "17.6", "17.5"]);
    let asked = || fs::read_to_string(world.file("calls")).unwrap().matches("example/pgdg").count();
    let before = asked();
    let known = world.machine.available(&world.home, Dbms::Postgres, false, &mut go_on).unwrap();
    assert_eq!((known.versions, asked()), (available.versions, before), "good for a day");
    world.machine.available(&world.home, Dbms::Postgres, true, &mut go_on).unwrap();
    assert!(asked() > before, "unless it is to be asked again");
    assert_eq!(world.obtain(version("17.5")).unwrap_err().to_string().matches("17.6").count(), 1);
    world.pack_postgres("17", "17.5");
    let installed = world.obtain(version("17.5")).unwrap();
    assert_eq!(installed.source.unwrap().name(), "pgdg", "Debian lists it as well");
}

#[test]
fn the_next_version_is_taken_where_the_newest_is_not_there() {
    let world = World::with_named(PGDG);
    world.pack_postgres("17", "17.5");
    let folder = world.folder.path().display();
    let gone =
        "echo 'E: Failed to fetch http://m/postgresql-17_17.6.deb  404  Not Found' >&2; exit 100";
    world.program(
        "apt-get",
        &format!(
            "case \"$*\" in indextargets*) echo 'Debian|Debian|http://m';;\n*=17.6*) {gone};;\n\
             *install*) for a; do case $a in Dir::Cache::archives=*) cp {folder}/pool/*.deb ${{a#*=}};; \
             esac; done;; esac"
        ),
    );
    let mut told = Vec::new();
    let mut tell = |progress| {
        if let Progress::PassedOver { why } = progress {
            told.push(why);
        }
        Ok(())
    };
    let build = world.named("pgdg-17");
    let installed = world.machine.obtain(&world.home, Dbms::Postgres, &build, &mut tell).unwrap();
    assert_eq!(installed.version, "17.5");
    let why = "pgdg: postgresql-17 17.6-1.pgdg12+1 is listed, but its file 'postgresql-17_17.6.deb' \
               is missing: 404 Not Found";
    assert_eq!(told, [why]);
}

#[test]
fn what_a_repository_lacks_is_told_with_its_name() {
    let world = World::with_named(PGDG);
    world.lists(&[("libpq5", "17.6-1")]);
    let error = world.error(world.named("pgdg-17.6"));
    let expected = "cannot get postgres 17.6: pgdg: apt-cache failed: there is no postgresql-{major} \
                    for amd64";
    assert_eq!(error, expected);
    for (said, reason) in [
        ("E: The repository x is not signed.", "The repository x is not signed."),
        (
            "W: GPG error: x InRelease: the public key is not available: NO_PUBKEY AB12\nE: not signed",
            "its list is signed with another key: AB12",
        ),
        (
            "E: Release file is expired (invalid since 2d).",
            "Release file is expired (invalid since 2d).",
        ),
    ] {
        let said = said.replace('\'', "'\\''").replace('\n', "' >&2; echo '");
        world.program("apt-get", &format!("echo '{said}' >&2; exit 100"));
        let error = world.error(world.named("pgdg-17.6"));
        assert_eq!(error, format!("cannot get postgres 17.6: pgdg: apt-get failed: {reason}"));
    }
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn an_unknown_source_is_answered_with_the_nearest_and_where_they_are_named() {
    let world = World::with_named(PGDG);
    let file = world.home.root().join("sources.toml");
    let error = world.error(world.named("pgd-17.6"));
    let expected = format!(
        "no source is called 'pgd': did you mean 'pgdg'? (there are: system, npm, maven, debian, src, \
         pgdg). Sources can be added in '{}'",
        file.display()
    );
    assert_eq!(error, expected);
    let contender = "mysql@pgdg-8.0.36".parse::<rqps_plan::Contender>().unwrap();
    let error = world.error_of(Dbms::Mysql, contender.build);
    let expected = format!("'pgdg' has no mysql packages. Name them in '{}'", file.display());
    assert_eq!(error, expected);
}

#[test]
fn what_is_wrong_in_the_file_is_told_with_its_line() {
    let world = World::with_named(PGDG);
    let without = |key: &str| {
        PGDG.lines().filter(|line| !line.starts_with(key)).map(|l| format!("{l}\n")).collect()
    };
    let with = |old: &str, new: &str| {
        assert!(PGDG.contains(old), "{old}");
        PGDG.replace(old, new)
    };
    let key = world.home.root().join("pgdg.asc");
    fs::write(world.home.root().join("other"), "<html>").unwrap();
    for (text, line, reason) in [
        (with("uri = ", "url = "), 3, "unknown key 'url': did you mean 'uri'?"),
        (with("postgres = ", "sqlite = "), 8, "unknown key 'sqlite': "),
        (without("uri"), 2, "[pgdg] has no uri"),
        (without("suite"), 2, "[pgdg] has no suite"),
        (without("key"), 2, "[pgdg] has no key"),
        (without("postgres"), 2, "[pgdg] has no packages of a DBMS. Name them, as in postgres = "),
        (without("components"), 4, "a suite needs components, as in components = [\"main\"]; "),
        (with("bookworm-pgdg", "./"), 4, "a suite needs components, "),
        (format!("{PGDG}{PGDG}"), 10, "duplicate key"),
        (
            with("[pgdg]", "[npm]"),
            2,
            "a source cannot be called 'npm': rqps has a source of this name",
        ),
        (with("[pgdg]", "[PGDG]"), 2, "a source cannot be called 'PGDG': only a to z and digits"),
        (with("https:", "ftp:"), 3, "'ftp://mirror.example/pgdg' does not begin with https://, "),
        (
            with("mirror.example/pgdg", "a:b@c/d"),
            3,
            "the address contains a login, which would be shown. ",
        ),
        (
            with("example/pgdg", "example/a b"),
            3,
            "'https://mirror.example/a b' is not a value that apt takes",
        ),
        (
            with("bookworm-pgdg", "x\\nTrusted: yes"),
            4,
            "'x\\nTrusted: yes' is not a value that apt",
        ),
        (with("[\"main\"]", "\"main\""), 5, "components must be a list of strings in quotes"),
        (with("\"bookworm-pgdg\"", "12"), 4, "suite must be a string in quotes"),
        (with("\"postgresql-{major}\"", "\"--purge\""), 8, "'--purge' is not a value that apt"),
        (
            with("\"postgresql-{major}\"", "\"postgresql?\""),
            8,
            "'postgresql?' is not a value that apt takes",
        ),
        (with("pgdg.asc", "absent.asc"), 6, "the key '"),
        (with("pgdg.asc", "other"), 6, "the key '"),
        ("x = 1".to_string(), 1, "the settings of a source belong below [x]"),
        ("[x".to_string(), 1, ""),
    ] {
        world.name(&text);
        let error = world.error(world.named("pgdg-17.6"));
        let file = world.home.root().join("sources.toml");
        let start = format!("'{}', line {line}: {reason}", file.display());
        assert!(error.starts_with(&start) && !error.contains('\n'), "{error}\n{start}");
    }
    world.name(&with("pgdg.asc", "absent.asc"));
    assert!(world.error(world.named("pgdg-17.6")).ends_with("/absent.asc' does not exist"));
    world.name(&with("pgdg.asc", "other"));
    assert!(world.error(world.named("pgdg-17.6")).contains("/other' is not an OpenPGP public key"));
    world.name(PGDG);
    fs::write(&key, [0xC6, 0x33, 0x04]).unwrap();
    assert!(world.obtain(world.named("pgdg-17.6")).is_ok(), "a key need not be text");
}

#[test]
fn a_file_or_key_that_others_can_change_is_refused() {
    for name in ["sources.toml", "pgdg.asc"] {
        let world = World::with_named(PGDG);
        let file = world.home.root().join(name);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let error = world.error(world.named("pgdg-17.6"));
        let file = file.display();
        let expected =
            format!("rqps does not use '{file}': '{file}' can be written by everybody, so others");
        assert!(error.starts_with(&expected), "{error}");
    }
    // Nor the target of a link.
    let world = World::with_named(PGDG);
    let (file, other) = (world.home.root().join("sources.toml"), world.file("other"));
    fs::rename(&file, &other).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o666)).unwrap();
    symlink(&other, &file).unwrap();
    assert!(world.error(world.named("pgdg-17.6")).contains("can be written by everybody"));
}
