//! A repository of the user's own, made here of Debian's packages and signed with a key of this
//! test. The packages are kept beside the builds that tests fetch.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_dbms::source::{Installed, Progress, SourceError, obtain};
use rqps_dbms::{Home, Place, prepare};
use rqps_plan::Contender;
use rqps_system::{Cancel, Cancelled};
use rqps_wire::scalar;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Of a suite that changes no more.
const SUITE: &str = "bullseye";
const PACKAGES: [&str; 2] = ["postgresql-13", "postgresql-client-13"];

fn go_on(_: Progress) -> Result<(), Cancelled> {
    Ok(())
}

fn run(program: &str, args: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(args).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The packages of a server and all that it depends on, got once per machine.
fn pool() -> PathBuf {
    let shared = PathBuf::from("/var/tmp/rqps-tests");
    let kept = std::env::var_os("RQPS_TEST_HOME").map_or(shared, PathBuf::from);
    let pool = kept.join(format!("pool-{SUITE}"));
    if pool.is_dir() {
        return pool;
    }
    fs::create_dir_all(&kept).unwrap();
    let making = tempfile::tempdir_in(&kept).unwrap();
    let folder = making.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let sites = run("apt-get", &["indextargets", "--format", "$(LABEL)|$(SITE)"], folder);
    let site = sites.lines().find_map(|line| line.strip_prefix("Debian|")).unwrap();
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let source = format!("deb [signed-by={keyring}] {site} {SUITE} main\n");
    fs::write(folder.join("sources"), source).unwrap();
    // Nothing is installed here, so that all is asked for, but for what takes scripts to install.
    let mut status = String::new();
    for name in ["debconf", "dpkg", "locales", "postgresql-common", "ssl-cert", "tzdata"] {
        status += &format!("Package: {name}\nStatus: install ok installed\nMaintainer: x\n");
        status += "Architecture: all\nMulti-Arch: foreign\nVersion: 9999\nDescription: x\n\n";
    }
    fs::write(folder.join("status"), status).unwrap();
    for name in ["lists/partial", "pool/partial"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    let at = |option: &str, name: &str| format!("Dir::{option}={}/{name}", folder.display());
    let options = [
        at("State", ""),
        at("State::lists", "lists"),
        at("State::status", "status"),
        at("Cache", ""),
        at("Cache::archives", "pool"),
        at("Etc::sourcelist", "sources"),
        "Dir::Etc::sourceparts=/dev/null".to_string(),
        "APT::Install-Recommends=false".to_string(),
        "APT::Sandbox::User=root".to_string(),
    ];
    let options: Vec<&str> = options.iter().flat_map(|option| ["-o", option.as_str()]).collect();
    run("apt-get", &[&options[..], &["update"]].concat(), folder);
    let install = [&options[..], &["install", "--download-only", "--yes"], &PACKAGES].concat();
    run("apt-get", &install, folder);
    fs::remove_dir(folder.join("pool/partial")).unwrap();
    // Another test may have come first.
    let _ = fs::rename(folder.join("pool"), &pool);
    pool
}

/// A repository, and a home in which it is named `own`.
struct World {
    folder: TempDir,
    home: Home,
    keys: PathBuf,
}

impl World {
    fn new() -> World {
        let folder = tempfile::Builder::new().prefix("repo").tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        fs::create_dir_all(home.root()).unwrap();
        let keys = folder.path().join("keys");
        let world = World { folder, home, keys };
        world.make_key("own");
        let text = format!(
            "[own]\nuri = \"file://{}\"\nsuite = \"./\"\nkey = \"own.gpg\"\n\
             postgres = [\"postgresql-{{major}}\", \"postgresql-client-{{major}}\", \"x-{{major}}?\"]\n",
            world.repository().display()
        );
        fs::write(world.home.root().join("sources.toml"), text).unwrap();
        fs::create_dir(world.repository()).unwrap();
        for deb in fs::read_dir(pool()).unwrap().flatten() {
            let to = world.repository().join(deb.file_name());
            fs::copy(deb.path(), to).unwrap();
        }
        world.publish(|packages| packages, 1);
        world
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn gpg(&self, args: &[&str]) {
        let _ = fs::create_dir(&self.keys);
        fs::set_permissions(&self.keys, fs::Permissions::from_mode(0o700)).unwrap();
        let home = self.keys.to_str().unwrap();
        let batch = ["--homedir", home, "--batch", "--yes", "--passphrase", ""];
        run("gpg", &[&batch[..], args].concat(), self.folder.path());
    }

    fn make_key(&self, name: &str) {
        self.gpg(&["--quick-gen-key", name, "rsa2048", "sign", "never"]);
        let key = self.home.root().join("own.gpg");
        self.gpg(&["--output", key.to_str().unwrap(), "--export", name]);
    }

    /// Lists the packages, as the test would have them listed, and signs the list for some days.
    fn publish(&self, listed: impl Fn(String) -> String, days: i64) {
        let folder = self.repository();
        let mut packages = String::new();
        let mut debs: Vec<PathBuf> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        debs.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
        debs.sort();
        for deb in debs {
            let name = deb.file_name().unwrap().to_str().unwrap();
            let bytes = fs::read(&deb).unwrap();
            packages += &run("dpkg-deb", &["--field", name], &folder);
            packages += &format!("Filename: ./{name}\nSize: {}\nSHA256: ", bytes.len());
            packages += &format!("{}\n\n", sha256(&bytes));
        }
        let packages = listed(packages);
        fs::write(folder.join("Packages"), &packages).unwrap();
        let at = |days: i64| {
            let day = format!("{days} days");
            let format = "+%a, %d %b %Y %H:%M:%S UTC";
            run("env", &["LC_ALL=C", "date", "--utc", "--date", &day, format], &folder)
        };
        let release = format!(
            "Origin: own\nDate: {}\nValid-Until: {}\nArchitectures: amd64 arm64\nSHA256:\n {} {} \
             Packages\n",
            at(days.min(0) - 1).trim(),
            at(days).trim(),
            sha256(packages.as_bytes()),
            packages.len()
        );
        fs::write(folder.join("Release"), release).unwrap();
        let (release, signed) = (folder.join("Release"), folder.join("InRelease"));
        let (release, signed) = (release.to_str().unwrap(), signed.to_str().unwrap());
        self.gpg(&["--local-user", "own", "--clearsign", "--output", signed, release]);
        fs::remove_file(release).unwrap();
    }

    fn get(&self, contender: &str) -> Result<Installed, SourceError> {
        let contender: Contender = contender.parse().unwrap();
        obtain(&self.home, contender.dbms, &contender.build, &mut go_on)
    }

    /// What is answered, in one line, and that nothing is left in the store.
    fn error(&self) -> String {
        let error = self.get("postgres@own-13").unwrap_err().to_string();
        for folder in [self.home.builds().unwrap(), self.home.archives().unwrap()] {
            let left = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
            let left: Vec<_> =
                left.filter(|name| !name.to_string_lossy().starts_with(['.'])).collect();
            assert!(left.is_empty(), "{left:?}");
        }
        assert!(!error.contains('\n'), "{error}");
        error
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_server_of_a_named_repository_starts_and_answers() {
    let world = World::new();
    let installed = world.get("postgres@own-13").unwrap();
    assert_eq!(installed.source.as_ref().unwrap().name(), "own");
    assert!(installed.libc.as_ref().unwrap().starts_with("its own glibc 2.31"));

    let contender: Contender = "postgres@own-13".parse().unwrap();
    let postgres = prepare(&world.home, &contender, &mut go_on, &Cancel::default()).unwrap();
    let place = Place {
        data: world.folder.path().join("data"),
        log: world.folder.path().join("log"),
        ..Place::default()
    };
    let mut server = postgres.start(&world.home, &place, &Cancel::default()).unwrap();
    let mut connection = server.target().connect().unwrap();
    let mut ask = |sql: &str| scalar(&mut *connection, sql).unwrap().unwrap_or_default();
    assert!(ask("SHOW server_version").starts_with(&installed.version));
    // Both parts of the JIT, or neither: with one of them, queries fail.
    assert_eq!(ask("SELECT pg_jit_available()"), "t");
    ask("SET jit_above_cost = 0");
    assert_eq!(ask("SELECT sum(i * 2) FROM generate_series(1, 9) i"), "90");
    drop(connection);
    server.stop().unwrap();
}

#[test]
fn a_list_that_nobody_vouches_for_is_refused() {
    let world = World::new();
    let signed = world.repository().join("InRelease");
    let text = fs::read_to_string(&signed).unwrap();

    world.publish(|packages| packages, -3);
    let error = world.error();
    assert!(error.starts_with("cannot get postgres 13: own: apt-get failed: Release file for "));
    assert!(error.contains(" is expired "), "{error}");

    fs::remove_file(&signed).unwrap();
    let bare = text.lines().skip_while(|line| !line.starts_with("Origin")).collect::<Vec<_>>();
    let bare = bare.join("\n").split("-----BEGIN").next().unwrap().to_string();
    fs::write(world.repository().join("Release"), bare).unwrap();
    assert!(world.error().contains("is not signed"), "{}", world.error());
    fs::remove_file(world.repository().join("Release")).unwrap();

    fs::write(&signed, text).unwrap();
    world.make_key("other");
    let error = world.error();
    assert!(
        error.contains("own: apt-get failed: its list is signed with another key: "),
        "{error}"
    );
}

#[test]
fn what_is_not_as_listed_or_not_for_this_machine_is_refused() {
    let world = World::new();
    let machines = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    let (this, others) = (format!("Architecture: {machines}"), "Architecture: s390x");
    world.publish(|packages| packages.replace(&this, others), 1);
    let expected = format!(
        "cannot get postgres 13: own: apt-cache failed: there is no postgresql-{{major}} for {machines}"
    );
    assert_eq!(world.error(), expected);

    world.publish(|packages| packages, 1);
    let libz3 = fs::read_dir(world.repository()).unwrap().flatten().map(|entry| entry.path());
    let libz3 =
        libz3.into_iter().find(|path| path.to_string_lossy().contains("/libz3-4_")).unwrap();
    let mut bytes = fs::read(&libz3).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&libz3, bytes).unwrap();
    let error = world.error();
    assert!(error.contains("own: apt-get failed: ") && error.contains("/libz3-4_"), "{error}");
    fs::remove_file(&libz3).unwrap();
    let file = libz3.file_name().unwrap().to_str().unwrap();
    let expected = format!(" is listed, but its file '{file}' is missing: ");
    assert!(world.error().contains(&expected), "{}", world.error());
}
