//! Failing builds: each has an error in one line, and leaves nothing unfinished.

use super::*;

use rqps_system::Cancelled;

#[test]
fn what_is_missing_is_named_before_anything_is_fetched() {
    let world = World::new();
    fs::remove_file(world.file("path/bison")).unwrap();
    let path = world.file("path").into_os_string();
    let machine = Machine { path, ..Machine::this() };
    let world = World { machine, ..world };
    let mut nothing = |progress: Progress| panic!("{progress:?}");
    let maker = |options| world.maker(options);
    world.program("nice", "");
    let error = maker(Options::default()).make("17.6", &mut nothing).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot build postgres 17.6: bison is missing. Install it, as with 'apt-get install bison'"
    );
    let lto = Options { lto: true, compiler: Some("clang".to_string()), ..Options::default() };
    let error = maker(lto).make("17.6", &mut nothing).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot build postgres 17.6: llvm-ar, llvm-ranlib, ld.lld and bison are missing. Install them, as \
         with 'apt-get install llvm lld bison'"
    );
    let none = Options { compiler: Some("gcc-99".to_string()), ..Options::default() };
    let error = maker(none).make("16.9", &mut nothing).unwrap_err().to_string();
    assert!(error.ends_with("gcc-99 is missing. Install it, as with 'apt-get install gcc-99'"));
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn a_compiler_that_does_not_run_is_named() {
    let world = World::with("17.6");
    world.program("gcc", "echo 'gcc: cannot execute cc1' >&2; exit 1");
    let error = world.error("17.6", Options::default());
    let expected =
        "cannot build postgres 17.6: compiler 'gcc' does not run: gcc: cannot execute cc1";
    assert_eq!(error, expected);
}

#[test]
fn a_build_that_fails_is_told_kept_and_remembered() {
    let world = World::new();
    let fails = "seq 100; echo 'a.c:1: error: no such thing'; seq 30; exit 3";
    world.release("17.6", fails);
    let error = world.error("17.6", flags("-O3"));
    let (line, tail) = error.split_once('\n').unwrap();
    let expected = "postgres 17.6 did not build: configure with gcc (test) 1.0: a.c:1: error: no such thing; \
                    the whole log is '";
    assert!(line.starts_with(expected), "{line}");
    assert!(line.ends_with("rqps dbms build --retry --flags '-O3' postgres@src-17.6"), "{line}");
    let last: Vec<String> = (11..=30).map(|number| format!("  {number}")).collect();
    assert_eq!(tail.lines().collect::<Vec<_>>(), last);
    let log = line.split('\'').find(|part| part.ends_with(LOG)).unwrap();
    assert!(fs::read_to_string(log).unwrap().starts_with("1\n2\n"), "all of it is kept");
    assert_eq!(world.kept(), ["failed"], "nothing else is");

    let mut nothing = |progress: Progress| match progress {
        Progress::Building { .. } => panic!("it is tried again"),
        _ => Ok(()),
    };
    let maker = world.maker(flags("-O3"));
    let again = maker.make("17.6", &mut nothing).unwrap_err().to_string();
    assert!(again.starts_with("postgres 17.6 did not build in an earlier attempt: configure"));
    assert!(again.ends_with(&error[line.len()..]), "{again}");
    // Other flags are another build.
    assert!(world.error("17.6", Options::default()).starts_with("postgres 17.6 did not build: "));

    world.program("seq", "exit 0");
    let retry = Options { retry: true, ..flags("-O3") };
    assert!(world.error("17.6", retry).starts_with("postgres 17.6 did not build: "));
    assert_eq!(forget(&world.home).unwrap(), 2);
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn a_build_that_works_at_last_is_no_failure_any_more() {
    let world = World::new();
    world.release("17.6", &format!("cat {}", world.file("there").display()));
    assert!(world.error("17.6", Options::default()).contains("No such file or directory"));
    fs::write(world.file("there"), "").unwrap();
    assert!(world.error("17.6", Options::default()).contains("earlier attempt"));
    world.make("17.6", Options { retry: true, ..Options::default() }).unwrap();
    assert_eq!(forget(&world.home).unwrap(), 0);
}

#[test]
fn a_build_is_ended_at_its_limit_with_all_that_it_started() {
    let world = World::new();
    world.release("17.6", "sleep 600 & echo waiting; wait");
    let limit = Duration::from_millis(300);
    let error = world.error("17.6", Options { limit, ..Options::default() });
    assert!(error.contains("configure with gcc (test) 1.0: the build did not end within 0 s ("));
    assert!(error.ends_with("\n  waiting"), "{error}");
    assert_eq!(world.kept(), ["failed"]);
}

#[test]
fn cancelling_leaves_nothing_at_any_stage() {
    type Stage = fn(&Progress) -> bool;
    let stages: [Stage; 4] = [
        |progress| matches!(progress, Progress::Unpacking { .. }),
        |progress| matches!(progress, Progress::Building { step: "configure", .. }),
        |progress| matches!(progress, Progress::Building { step: "install", .. }),
        |progress| matches!(progress, Progress::Asking { server } if server.ends_with("postgres")),
    ];
    for stage in stages {
        let world = World::new();
        world.release("17.6", "sleep 0.2");
        let mut reached = false;
        let mut tell = |progress: Progress| {
            reached |= stage(&progress);
            if reached { Err(Cancelled) } else { Ok(()) }
        };
        let made = world.maker(Options::default()).make("17.6", &mut tell);
        assert!(matches!(made, Err(SourceError::Cancelled(_))), "{made:?}");
        assert_eq!(world.kept(), Vec::<String>::new());
    }
}

#[test]
fn what_a_killed_build_left_is_removed() {
    let world = World::with("17.6");
    let left = world.home.source().unwrap().join("postgres/build");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("half"), "").unwrap();
    let made = world.make("17.6", Options::default()).unwrap();
    assert_eq!(world.kept(), [paths::file_name(&made.root)]);
}

#[test]
fn a_full_disk_is_no_failure_of_the_build() {
    let world = World::new();
    world.release("17.6", "echo 'cc1: fatal error: x.s: No space left on device'; exit 1");
    let error = world.error("17.6", Options::default());
    assert!(error.starts_with("no space left for '"), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());
    let much =
        World { recipe: RECIPE.replace("megabytes = 1\n", "megabytes = 99999999\n"), ..world };
    let error = much.error("17.6", Options::default());
    assert!(error.contains("it needs 99999999 MiB"), "{error}");
    assert_eq!(much.kept(), Vec::<String>::new());
}

#[test]
fn what_is_no_release_of_that_version_is_refused() {
    let world = World::with("17.6");
    let tarball = |name: &str, members: &[(&str, &str)]| {
        let path = world.file(name);
        let own = |(name, content): &(&str, &str)| (name.to_string(), content.to_string());
        pack_gz(&path, "top", &members.iter().map(own).collect::<Vec<_>>());
        path
    };
    let text = world.file("text.tar.gz");
    fs::write(&text, "<html>not found</html>").unwrap();
    let cut = world.file("cut.tar.gz");
    let whole = fs::read(world.file("tarballs/postgresql-17.6.tar.gz")).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let other = tarball("other.tar.gz", &[("README", "")]);
    let silent = tarball("silent.tar.gz", &[("configure", "no version")]);
    let hostile = tarball("hostile.tar.gz", &[("../../outside", "")]);
    let empty = world.file("empty");
    fs::create_dir(&empty).unwrap();
    let missing = world.file("missing.tar.gz");
    let made = world.file("tarballs/postgresql-17.6.tar.gz");
    for (source, version, expected) in [
        (text, "17.6", "text.tar.gz' is not a tarball. Name a .tar.gz"),
        (cut, "17.6", "cut.tar.gz' cannot be unpacked: "),
        (
            other,
            "17.6",
            "'other.tar.gz' does not contain the sources of postgres 17.6: it has no configure",
        ),
        (
            silent,
            "17.6",
            "'silent.tar.gz' does not contain the sources of postgres 17.6: it has no version",
        ),
        (hostile, "17.6", "'hostile.tar.gz' is refused: its member 'top/../../outside' leaves"),
        (
            made,
            "17.7",
            "'postgresql-17.6.tar.gz' contains postgres 17.6, not 17.7. Use postgres@17.6",
        ),
        (empty, "17.6", "/empty' has no postgresql-17.6.tar.bz2"),
        (missing, "17.6", "missing.tar.gz': No such file or directory"),
    ] {
        let error = world.error(version, from(source));
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        assert_eq!(world.kept(), Vec::<String>::new(), "{expected}");
    }
    let error = world.error("99.1", Options::default());
    let expected = "cannot get a tarball of postgres 99.1: '";
    assert!(error.starts_with(expected), "{error}");
    let reasons =
        "has no postgresql-99.1.tar.bz2; debian has sources of none; upstream publishes no SHA-256";
    assert!(error.contains(reasons), "{error}");
    let sources = Some("no/such/folder".into());
    let maker = Maker { sources, ..world.maker(Options::default()) };
    let error = maker.make("17.6", &mut go_on).unwrap_err().to_string();
    assert!(error.starts_with("'no/such/folder' in RQPS_SOURCES is not a folder. Set"), "{error}");
}

#[test]
fn a_build_that_installs_no_server_is_none() {
    let world = World::with("17.6");
    let install = r#"mkdir -p "$ROOT$PREFIX/bin"; "#;
    let recipe = RECIPE.replace("cp postgres \"$ROOT$PREFIX/bin/\"", "true");
    assert!(recipe.contains(install));
    let world = World { recipe, ..world };
    let error = world.error("17.6", Options::default());
    assert_eq!(
        error,
        "postgres@src-17.6 was built, but its 'bin/postgres' is missing. Check its recipe"
    );
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn what_was_built_leads_nowhere_else() {
    let world = World::with("17.6");
    let recipe =
        RECIPE.replace("cp postgres", "ln -s /etc/passwd \"$ROOT$PREFIX/bin/x\"; cp postgres");
    let world = World { recipe, ..world };
    let error = world.error("17.6", Options::default());
    assert!(error.starts_with("archive 'what was built' is refused: its member 'bin/x' links"));
    assert_eq!(world.kept(), Vec::<String>::new());
}
