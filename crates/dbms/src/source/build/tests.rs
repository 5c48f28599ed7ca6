//! Builds of a DBMS that is a shell script, with the tests' own recipe, from tarballs in folders
//! and on the tests' own web server.

mod bad;
mod site;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;

use flate2::write::GzEncoder;
use rqps_system::Cancelled;
use tempfile::TempDir;

use super::*;

const RECIPE: &str = r#"
dbms = "postgres"
product = "bin/postgres"
prefix = "/usr/local/rqps"
cc = "gcc"
flags = "-O2 -g"
seconds = 100
megabytes = 1
quiet = ["doc/"]

[[version]]
file = "configure"
marks = ["PACKAGE_VERSION='"]

[tarball]
folder = "source/v{version}"
names = ["postgresql-{version}.tar.bz2", "postgresql-{version}.tar.gz"]
checksum = "{tarball}.sha256"

[[needs]]
program = "bison"
package = "bison"
from = "17"

[[way]]
file = "configure"
configure = 'sh "$SRC/configure"'
build = 'sed "s|flags|$CFLAGS|" "$SRC/server" > postgres; chmod +x postgres'
install = 'mkdir -p "$ROOT$PREFIX/bin"; cp postgres "$ROOT$PREFIX/bin/"'
"#;

fn go_on(_: Progress) -> Result<(), Cancelled> {
    Ok(())
}

/// A computer with a compiler, and a folder with tarballs.
struct World {
    folder: TempDir,
    home: Home,
    machine: Machine,
    recipe: String,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        // For the user of servers, which runs the build.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("path");
        let machine = Machine {
            path: format!("{}:/usr/bin:/bin", path.display()).into(),
            arch: "x86_64",
            ..Machine::this()
        };
        let home = Home::at(folder.path().join("home")).unwrap();
        let world = World { folder, home, machine, recipe: RECIPE.to_string() };
        for compiler in ["gcc", "clang"] {
            world.program(compiler, &format!("echo '{compiler} (test) 1.0'"));
        }
        world.program("bison", "");
        fs::create_dir(world.file("tarballs")).unwrap();
        world
    }

    /// With a tarball of a version.
    fn with(version: &str) -> World {
        let world = World::new();
        world.release(version, "");
        world
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.file("path").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Puts a tarball into the folder, whose `configure` does this.
    fn release(&self, version: &str, configure: &str) -> PathBuf {
        let path = self.file(&format!("tarballs/postgresql-{version}.tar.gz"));
        let members = sources(version, configure);
        pack_gz(&path, &format!("postgresql-{version}"), &members);
        path
    }

    fn maker(&self, options: Options) -> Maker<'_> {
        Maker {
            machine: &self.machine,
            home: &self.home,
            recipe: Recipe::parse(&self.recipe).unwrap(),
            options,
            sources: Some(self.file("tarballs").into()),
            alone: None,
        }
    }

    fn make(&self, version: &str, options: Options) -> Result<Installed, SourceError> {
        self.maker(options).make(version, &mut go_on)
    }

    fn error(&self, version: &str, options: Options) -> String {
        self.make(version, options).unwrap_err().to_string()
    }

    /// The contents of the store and of the folders of builds, except locks, notes and complete
    /// tarballs.
    fn kept(&self) -> Vec<String> {
        let folders = [self.home.builds().unwrap(), self.home.source().unwrap()];
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let notes = ["lock", ".hashes", "tarballs"];
        names.filter(|name| !notes.iter().any(|note| name.ends_with(note))).collect()
    }
}

/// The sources of a server that is a script, with what their `configure` does.
fn sources(version: &str, configure: &str) -> Vec<(String, String)> {
    let server = format!("#!/bin/sh\n# flags\necho 'postgres (PostgreSQL) {version}'\n");
    let configure = format!("PACKAGE_VERSION='{version}'\n{configure}\n");
    vec![("configure".to_string(), configure), ("server".to_string(), server)]
}

fn pack_gz(path: &Path, top: &str, members: &[(String, String)]) {
    let gzip = GzEncoder::new(File::create(path).unwrap(), Default::default());
    let mut tar = tar::Builder::new(gzip);
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        let name = format!("{top}/{name}");
        // Written directly, since the library would reject names that tests need.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, content.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

fn flags(flags: &str) -> Options {
    Options { flags: Some(flags.to_string()), ..Options::default() }
}

fn from(source: PathBuf) -> Options {
    Options { source: Some(source), ..Options::default() }
}

fn log(build: &Installed) -> String {
    fs::read_to_string(build.root.join(LOG)).unwrap()
}

#[test]
fn a_build_is_made_once_and_found_by_its_name() {
    let world = World::with("17.6");
    let made = world.make("17.6", Options::default()).unwrap();
    assert_eq!((made.version.as_str(), made.source.clone()), ("17.6", Some(Source::Src)));
    assert_eq!(made.contender().as_deref(), Some("postgres@src-17.6"));
    assert_eq!(made.archives[0].name, "postgresql-17.6.tar.gz");
    let folder = paths::file_name(&made.root);
    assert!(folder.starts_with(&format!("src-{}-", &made.archives[0].sha256[..12])), "{folder}");
    assert_eq!(world.kept(), [folder], "nothing else is left of it");
    let built = made.built.clone().unwrap();
    assert_eq!((built.flags.as_str(), built.compiler.as_str()), ("-O2 -g", "gcc (test) 1.0"));

    // Neither the tarball nor a compiler is needed to find it again.
    fs::remove_dir_all(world.file("tarballs")).unwrap();
    let mut nothing = |progress: Progress| match progress {
        Progress::Asking { .. } => Ok(()),
        other => panic!("{other:?}"),
    };
    assert_eq!(world.maker(Options::default()).make("17.6", &mut nothing).unwrap(), made);
    fs::remove_dir_all(world.file("path")).unwrap();
    for wanted in ["17.6", "17"] {
        assert_eq!(find(&world.home, Dbms::Postgres, wanted).unwrap(), Some(made.clone()));
        let build = rqps_plan::Build::Version { source: Some(Source::Src), version: wanted.into() };
        let present = world
            .machine
            .present(&world.home, Dbms::Postgres, &build, &mut |other| panic!("{other:?}"));
        assert_eq!(present.unwrap(), Some(made.clone()));
    }
    for wanted in ["17.60", "1", "17.6+clang", "18"] {
        assert_eq!(find(&world.home, Dbms::Postgres, wanted).unwrap(), None, "{wanted}");
    }
}

#[test]
fn commands_run_as_the_servers_user_with_nothing_of_ours() {
    let world = World::new();
    let says = "id -u; pwd; ls -A; env | sort; true > \"$SRC/x\" || echo 'sources are not to be written'\n\
                [ \"$SRC/configure\" -nt \"$SRC/server\" ] && echo newer; \
                [ \"$SRC/server\" -nt \"$SRC/configure\" ] && echo newer; nice";
    world.release("17.6", says);
    let made = world.make("17.6", flags("-Os")).unwrap();
    let (log, place) = (log(&made), world.home.source().unwrap().join("postgres"));
    let place = place.display();
    if let Some(user) = User::of_servers().unwrap() {
        assert!(log.starts_with(&format!("{}\n", user.uid)), "{log}");
        assert!(log.contains("sources are not to be written"), "{log}");
    }
    assert!(log.contains(&format!("\n{place}/build\nCC=gcc\n")), "an empty folder: {log}");
    for line in [
        format!("CFLAGS=-Os -ffile-prefix-map={place}=/usr/src/rqps"),
        "CXX=g++".to_string(),
        format!("HOME={place}/build"),
        "LC_ALL=C".to_string(),
        "LDFLAGS=".to_string(),
        "PREFIX=/usr/local/rqps".to_string(),
        format!("ROOT={place}/root"),
        "SOURCE_DATE_EPOCH=0".to_string(),
        format!("SRC={place}/src"),
        "TZ=UTC".to_string(),
    ] {
        assert!(log.lines().any(|found| found == line), "{line}: {log}");
    }
    for of_ours in ["CARGO", "RQPS", "USER=", "newer"] {
        assert!(!log.contains(of_ours), "{of_ours}: {log}");
    }
    assert!(log.lines().last().unwrap().parse::<i32>().unwrap() >= 10, "niceness: {log}");
    let server = fs::read_to_string(made.root.join("bin/postgres")).unwrap();
    assert!(server.contains("# -Os -ffile"), "{server}");
}

#[test]
fn variants_of_a_version_stand_beside_each_other() {
    let world = World::with("17.6");
    let clang = |options| Options { compiler: Some("clang".to_string()), ..options };
    let all = [Options::default(), flags("-O3"), clang(Options::default()), clang(flags("-O3"))];
    let made = all.clone().map(|options| world.make("17.6", options).unwrap());
    let names = made.each_ref().map(|build| build.contender().unwrap());
    assert_eq!(
        names,
        [
            "postgres@src-17.6",
            "postgres@src-17.6+O3",
            "postgres@src-17.6+clang",
            "postgres@src-17.6+clang-O3"
        ]
    );
    for (name, build) in names.iter().zip(&made) {
        let wanted = name.strip_prefix("postgres@src-").unwrap();
        assert_eq!(find(&world.home, Dbms::Postgres, wanted).unwrap().as_ref(), Some(build));
    }
    let lengths: Vec<usize> = made.iter().map(|build| build.root.as_os_str().len()).collect();
    assert_eq!(lengths, [lengths[0]; 4]);
    // Nothing is built for a name.
    let wanted = |version| obtain(&world.machine, &world.home, Dbms::Postgres, version, &mut go_on);
    let error = wanted("17.6+lto").unwrap_err().to_string();
    let expected = "no build of postgres 17.6 is called 'lto' (there are: postgres@src-17.6";
    assert!(error.starts_with(expected), "{error}");
    // A name is one way to build.
    let named = |options| Options { name: Some("O3".to_string()), ..options };
    let error = world.error("17.6", named(flags("-O1")));
    assert!(error.starts_with(
        "another build is called 'postgres@src-17.6+O3', with --cc gcc --flags '-O3'"
    ));
    let own = Options { name: Some("mine".to_string()), ..flags("-O1") };
    let own = world.make("17.6", own).unwrap();
    assert_eq!(own.contender().as_deref(), Some("postgres@src-17.6+mine"));
}

#[test]
fn a_tarball_is_got_once_for_all_variants() {
    let world = World::with("17.6");
    world.make("17.6", Options::default()).unwrap();
    fs::remove_dir_all(world.file("tarballs")).unwrap();
    let other = world.make("17.6", flags("-O3")).unwrap();
    assert_eq!(other.archives[0].name, "postgresql-17.6.tar.gz");
    // A damaged tarball is not used.
    let kept = world.home.source().unwrap().join("tarballs").join(&other.archives[0].sha256);
    fs::write(kept.join("postgresql-17.6.tar.gz"), "").unwrap();
    assert!(world.error("17.6", flags("-O1")).ends_with("or to an http:// or https:// URL"));
    fs::create_dir(world.file("tarballs")).unwrap();
    world.release("17.6", "");
    world.make("17.6", flags("-O1")).unwrap();
    assert_eq!(forget(&world.home).unwrap(), 0);
    assert!(!kept.exists());
}

#[test]
fn another_compiler_of_the_same_name_builds_anew_and_its_build_is_found() {
    let world = World::with("17.6");
    let old = world.make("17.6", Options::default()).unwrap();
    world.program("gcc", "echo 'gcc (test) 2.0'");
    // Times are told apart by seconds.
    thread::sleep(Duration::from_millis(1_100));
    let new = world.make("17.6", Options::default()).unwrap();
    assert!(old.root != new.root && old.root.exists());
    assert_eq!(find(&world.home, Dbms::Postgres, "17.6").unwrap(), Some(new));
}

#[test]
fn a_folder_with_sources_is_built_as_what_it_is() {
    let world = World::new();
    let tree = world.file("tree");
    fs::create_dir_all(tree.join(".git")).unwrap();
    for (name, content) in sources("17.6", "ls -A \"$SRC\"") {
        fs::write(tree.join(name), content).unwrap();
    }
    let first = world.make("17", from(tree.clone())).unwrap();
    let hash = first.archives[0].sha256.clone();
    let expected = format!("postgres@src-17.6+tree-{}", &hash[..8]);
    assert_eq!(first.contender(), Some(expected));
    assert_eq!(log(&first), "configure\nserver\n", "what git keeps is no source");
    assert_eq!(find(&world.home, Dbms::Postgres, "17.6").unwrap(), None, "it is no release");

    let touched = File::open(tree.join("server")).unwrap();
    touched.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    fs::write(tree.join(".git/HEAD"), "moved").unwrap();
    assert_eq!(world.make("17.6", from(tree.clone())).unwrap(), first);
    fs::write(tree.join("more"), "").unwrap();
    assert_ne!(world.make("17.6", from(tree.clone())).unwrap().root, first.root);
    let error = world.error("18.0", from(tree));
    assert!(
        error.starts_with("'tree' contains postgres 17.6, not 18.0. Use postgres@17.6"),
        "{error}"
    );
}

#[test]
fn the_newest_of_a_series_is_found_in_a_folder() {
    let world = World::new();
    for version in ["17.6", "17.10", "18.0"] {
        world.release(version, "");
    }
    let layout = world.file("tarballs/source/v17.11");
    fs::create_dir_all(&layout).unwrap();
    let path = world.release("17.11", "");
    fs::rename(&path, layout.join("postgresql-17.11.tar.gz")).unwrap();
    assert_eq!(world.make("17", Options::default()).unwrap().version, "17.11");
    assert_eq!(world.make("17.6", Options::default()).unwrap().version, "17.6");
}

#[test]
fn two_at_once_build_once_and_both_have_it() {
    let world = World::new();
    world.release("17.6", "sleep 0.5");
    let together = Barrier::new(2);
    let make = || {
        let mut built = false;
        let mut tell = |progress: Progress| {
            built |= matches!(progress, Progress::Building { .. });
            Ok(())
        };
        together.wait();
        let made = world.maker(Options::default()).make("17.6", &mut tell).unwrap();
        (made, built)
    };
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(make);
        (make(), other.join().unwrap())
    });
    assert_eq!(one.0, other.0);
    assert!(one.1 != other.1, "one builds, and the other does not");
}

#[test]
fn nothing_is_built_while_something_is_measured() {
    let world = World::with("17.6");
    let path = world.file("session.lock");
    let mut measuring = Some(SessionLock::take(&path).unwrap());
    let maker = Maker { alone: Some(path), ..world.maker(Options::default()) };
    let mut tell = |progress: Progress| {
        match progress {
            Progress::WaitingToBuild { whom } => {
                assert!(whom.starts_with("the measuring session (process "), "{whom}");
                measuring = None;
            }
            Progress::Building { .. } => assert!(measuring.is_none()),
            _ => {}
        }
        Ok(())
    };
    maker.make("17.6", &mut tell).unwrap();
    assert!(measuring.is_none(), "it waited");
}

#[test]
fn the_next_build_takes_as_long_as_the_last_one() {
    let world = World::with("17.6");
    let recipe = Recipe::parse(RECIPE).unwrap();
    let first = estimate(&world.home, &recipe).unwrap().as_secs_f64();
    assert!((15.0..=100.0).contains(&first), "as the recipe says: {first}");
    world.make("17.6", Options::default()).unwrap();
    assert!(estimate(&world.home, &recipe).unwrap().as_secs_f64() < 15.0, "as it was here");
}
