//! Builds in Debian packages, from an apt that is a shell script.

use liblzma::write::XzEncoder;

use super::*;

const LOADER: &str = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

/// A Debian package with these files.
pub(super) fn package(path: &Path, files: &[(&str, &str)], data_name: &str) {
    let mut tar = tar::Builder::new(XzEncoder::new(Vec::new(), 0));
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        // Written directly, since the library would reject names that tests need.
        let name = format!("./{name}");
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, content.as_bytes()).unwrap();
    }
    let data = tar.into_inner().unwrap().finish().unwrap();
    let mut deb = b"!<arch>\n".to_vec();
    for (name, bytes) in [("debian-binary", &b"2.0"[..]), (data_name, &data)] {
        deb.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}", 0, 0, 0, 100_644).bytes());
        deb.extend(format!("{:<10}`\n", bytes.len()).bytes());
        deb.extend(bytes);
        deb.extend(std::iter::repeat_n(b'\n', bytes.len() % 2));
    }
    fs::write(path, deb).unwrap();
}

impl World {
    /// With an apt that has MySQL and a C library, and records each call.
    pub(super) fn with_apt() -> World {
        let world = World::new();
        fs::write(&world.machine.keyring, "").unwrap();
        fs::create_dir(world.file("pool")).unwrap();
        let mysqld = "#!/bin/sh\n[ -n \"$LOADED\" ] && echo \"$0  Ver 9.7.4-2 for Linux\"\n";
        let files = [("usr/sbin/mysqld", mysqld), ("usr/share/doc/x", ""), ("etc/my.cnf", "")];
        package(&world.file("pool/mysql-server-core_9.7.4.deb"), &files, "data.tar.xz");
        // Like a loader it reads the server, whose exec fails while a child of another test has it
        // open.
        let loader = "#!/bin/sh\n\
                      case $1 in --version) echo 'ld.so (Debian) stable version 2.43.'; exit;; esac\n\
                      shift 2; LOADED=1 exec sh \"$@\"\n";
        let files = [(LOADER, loader), ("lib/x86_64-linux-gnu/gconv/x.so", "")];
        package(&world.file("pool/libc6_2.43.deb"), &files, "data.tar.xz/");
        world.apt("Debian|Debian|http://mirror.example/debian", ":");
        world
    }

    fn apt(&self, target: &str, update: &str) {
        let folder = self.folder.path().display();
        self.program(
            "apt-get",
            &format!(
                "echo \"$*\" >> {folder}/calls\n\
                 case \"$*\" in\n\
                 indextargets*) echo 'Other|Other|http://other.example'; echo '{target}';;\n\
                 *update*) {update}; stat -c 'folder %a' . >> {folder}/calls\n\
                 cat suite.sources >> {folder}/calls;;\n\
                 *install*) for a; do case $a in Dir::Cache::archives=*)\n\
                 cp {folder}/pool/*.deb ${{a#*=}};; esac; done;;\n\
                 esac"
            ),
        );
        self.lists(&[("mysql-server-core", "1:9.7.4-2")]);
    }

    /// Makes apt list these packages, each with a version.
    pub(super) fn lists(&self, packages: &[(&str, &str)]) {
        let of = |(name, version): &(&str, &str)| {
            format!(
                "case \"$*\" in *madison*\" {name}\"|*madison*\" {name} \"*)\n\
                 echo ' {name} | {version} | http://mirror.example/debian sid/main Packages';;\n\
                 *pkgnames*) echo {name};; esac\n"
            )
        };
        let folder = self.folder.path().display();
        let lists: String = packages.iter().map(of).collect();
        self.program("apt-cache", &format!("echo \"$*\" >> {folder}/calls\n{lists}true"));
    }

    /// The same with a Postgres of this version instead.
    pub(super) fn with_postgres_of_apt(major: &str, version: &str) -> World {
        let world = World::with_apt();
        fs::remove_file(world.file("pool/mysql-server-core_9.7.4.deb")).unwrap();
        world.pack_postgres(major, version.split('-').next().unwrap());
        let names = [format!("postgresql-{major}"), format!("postgresql-client-{major}")];
        world.lists(&[(&names[0], version), (&names[1], version)]);
        world
    }

    pub(super) fn pack_postgres(&self, major: &str, version: &str) {
        let server = format!(
            "#!/bin/sh\n[ -n \"$LOADED\" ] && echo \"postgres (PostgreSQL) {version} (Debian)\"\n"
        );
        let bin = format!("usr/lib/postgresql/{major}/bin");
        let (postgres, initdb) = (format!("{bin}/postgres"), format!("{bin}/initdb"));
        let (share, man) = (format!("usr/share/postgresql/{major}"), "man/man1/psql.1.gz");
        let (sample, man) = (format!("{share}/postgresql.conf.sample"), format!("{share}/{man}"));
        let initdb_text = "#!/bin/sh\n\"${0%/*}/postgres\" -V; echo \"$@\"\n";
        let files: [(&str, &str); 4] =
            [(&postgres, &server), (&initdb, initdb_text), (&sample, ""), (&man, "")];
        package(&self.file("pool/postgresql.deb"), &files, "data.tar.xz");
    }

    /// The calls of apt, without options: `update`, `install … postgresql-17=17.6-1`.
    pub(super) fn told_apt(&self, verb: &str) -> Vec<String> {
        let calls = fs::read_to_string(self.file("calls")).unwrap_or_default();
        let of_verb = calls.lines().filter_map(|call| call.split_once(&format!(" {verb}")));
        of_verb.map(|(_, rest)| format!("{verb}{rest}")).collect()
    }
}

#[test]
fn a_postgres_lies_where_its_packages_have_it_and_is_run_by_its_own_loader() {
    let world = World::with_postgres_of_apt("17", "17.12-0+deb13u1");
    let installed = world.obtain(from(Source::Debian, "17.12")).unwrap();
    assert_eq!(installed.version, "17.12");
    assert!(installed.root.ends_with("builds/postgres-17.12-debian"));
    let server = installed.server().unwrap();
    assert_eq!(server, installed.root.join("usr/lib/postgresql/17/bin/postgres"));
    let share = installed.root.join("usr/share/postgresql/17");
    assert!(share.join("postgresql.conf.sample").is_file() && !share.join("man").exists());

    // `initdb` starts the server beside it, and gets the path of the rest.
    let (program, args) = installed.initdb().unwrap();
    let output = Command::new(program).args(args).arg("--pgdata").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected =
        format!("postgres (PostgreSQL) 17.12 (Debian)\n-L {} --pgdata\n", share.display());
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn only_the_suite_that_can_have_it_is_asked_once_and_for_just_this_version() {
    let world = World::with_postgres_of_apt("17", "17.12-0+deb13u1");
    world.obtain(from(Source::Debian, "17.12")).unwrap();
    assert_eq!(world.told_apt("update").len(), 1);
    let calls = fs::read_to_string(world.file("calls")).unwrap();
    assert!(calls.contains("\nSuites: trixie\n") && !calls.contains("\nSuites: sid\n"));
    let both = "postgresql-17=17.12-0+deb13u1 postgresql-client-17=17.12-0+deb13u1";
    assert_eq!(world.told_apt("install"), [format!("install --download-only --yes {both}")]);

    let error = world.error(from(Source::Debian, "14.1"));
    let expected = "postgres 14.1 is not available: did you mean '17.12'? (there are: 17.12)";
    assert_eq!(error, expected, "whoever cannot have it is asked what there is instead");
}

#[test]
fn a_package_that_is_listed_and_not_there_is_told_as_that() {
    let world = World::with_postgres_of_apt("17", "17.12-0+deb13u1");
    let gone =
        "echo 'E: Failed to fetch http://m/libz3-4_4.13.3.deb  404  Not Found' >&2; exit 100";
    world.program(
        "apt-get",
        &format!(
            "case \"$*\" in indextargets*) echo 'Debian|Debian|http://m';; *install*) {gone};; esac"
        ),
    );
    for asked in ["17.12", "17"] {
        let error = world.error(from(Source::Debian, asked));
        let why = "postgresql-17 17.12-0+deb13u1 is listed, but its file 'libz3-4_4.13.3.deb' is missing: \
                   404 Not Found";
        assert_eq!(error, format!("cannot get postgres {asked}: {why}"));
        assert_eq!(world.kept(), Vec::<String>::new());
    }
}

#[test]
fn packages_are_unpacked_and_run_by_their_own_loader() {
    let world = World::with_apt();
    let installed = world.obtain_of(Dbms::Mysql, from(Source::Debian, "9.7")).unwrap();
    assert_eq!(
        (installed.version.as_str(), installed.source.clone()),
        ("9.7.4", Some(Source::Debian))
    );
    assert!(installed.root.ends_with("builds/mysql-9.7.4-debian"));
    assert_eq!(installed.libc.as_deref(), Some("its own glibc 2.43"));
    let names: Vec<&str> = installed.archives.iter().map(|archive| archive.name.as_str()).collect();
    assert_eq!(names, ["libc6_2.43.deb", "mysql-server-core_9.7.4.deb"]);
    for left in ["usr/share", "etc", "lib/x86_64-linux-gnu/gconv"] {
        assert!(!installed.root.join(left).exists(), "{left}");
    }
    let server = installed.server().unwrap();
    assert_eq!(installed.base().unwrap(), installed.root.join("usr"));
    let (program, args) = installed.command(&server);
    assert_eq!(program, installed.root.join(LOADER));
    let libraries = "$ORIGIN/../../lib/x86_64-linux-gnu".into();
    assert_eq!(args, ["--library-path".into(), libraries, server.into_os_string()]);

    let calls = world.calls();
    for asked in ["9", "9.7", "9.7.4"] {
        assert_eq!(world.obtain_of(Dbms::Mysql, from(Source::Debian, asked)).unwrap(), installed);
    }
    assert_eq!(world.calls(), calls, "apt is not started again");
    let error = world.error_of(Dbms::Mysql, from(Source::Debian, "9.8"));
    assert_eq!(error, "mysql 9.8 is not available: there are: 9.7.4");
}

#[test]
fn apt_is_kept_to_its_own_folder_and_the_users_mirror() {
    let world = World::with_apt();
    world.obtain_of(Dbms::Mysql, from(Source::Debian, "9.7")).unwrap();
    let calls = fs::read_to_string(world.file("calls")).unwrap();
    assert!(calls.contains("\nURIs: http://mirror.example/debian\nSuites: sid\n"), "{calls}");
    assert!(calls.contains(&format!("Signed-By: {}\n", world.machine.keyring.display())));
    assert!(calls.contains("\nfolder 711\n"), "passable, and no more: {calls}");
    let changing = calls.lines().filter(|call| call.contains("update") || call.contains("install"));
    for call in changing {
        for own in ["State", "State::lists", "State::status", "Cache", "Cache::archives"] {
            assert!(call.contains(&format!("--option Dir::{own}=")), "{own}: {call}");
        }
    }
    assert_eq!(world.kept(), ["mysql-9.7.4-debian"], "nothing of apt's is left");
}

#[test]
fn what_apt_cannot_do_is_told_in_its_words() {
    let world = World::with_apt();
    world.apt("Debian|Debian|http://m", "echo 'E: The repository is not signed.' >&2; exit 100");
    let build = || from(Source::Debian, "9.7");
    let expected = "cannot get mysql 9.7: apt-get failed: The repository is not signed.";
    assert_eq!(world.error_of(Dbms::Mysql, build()), expected);
    for full in ["No space left on device", "You have not enough free space in /x/."] {
        world.apt("Debian|Debian|http://m", &format!("echo 'E: {full}' >&2; exit 100"));
        let error = world.error_of(Dbms::Mysql, build());
        assert!(error.starts_with("apt-get found no space left"), "{error}");
    }
    world.apt("Ubuntu|Ubuntu|http://m", ":");
    let error = world.error_of(Dbms::Mysql, build());
    assert!(error.contains("apt has no archive of Debian. Add one"), "{error}");
    world.apt("Debian|Debian|http://m", ":");
    fs::remove_file(&world.machine.keyring).unwrap();
    let error = world.error_of(Dbms::Mysql, build());
    assert!(error.ends_with("as with 'apt-get install debian-archive-keyring'"), "{error}");
    let error = World::new().error_of(Dbms::Mysql, build());
    assert!(error.contains("debian: apt-get is not on PATH"), "{error}");
}

#[test]
fn a_package_whose_files_leave_the_folder_is_refused() {
    let world = World::with_apt();
    let deb = world.file("pool/libc6_2.43.deb");
    package(&deb, &[("lib/../outside", "")], "data.tar.xz");
    let error = world.error_of(Dbms::Mysql, from(Source::Debian, "9.7"));
    let expected = "archive 'libc6_2.43.deb' is refused: its member './lib/../outside' leaves";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());
    // Cut off in the middle of the files.
    package(&deb, &[("lib/x", &"x".repeat(4096))], "data.tar.xz");
    let whole = fs::read(&deb).unwrap();
    fs::write(&deb, &whole[..whole.len() - 64]).unwrap();
    let error = world.error_of(Dbms::Mysql, from(Source::Debian, "9.7"));
    assert!(error.starts_with("archive 'libc6_2.43.deb' cannot be unpacked: "), "{error}");
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn a_package_that_is_none_is_an_error() {
    for (content, reason) in [
        (&b"<html>not found</html>"[..], "it is not a Debian package"),
        (b"!<arch>\n", "it contains no files"),
        (b"", "it is too short"),
    ] {
        let world = World::with_apt();
        fs::write(world.file("pool/libc6_2.43.deb"), content).unwrap();
        let error = world.error_of(Dbms::Mysql, from(Source::Debian, "9.7"));
        let expected = format!("archive 'libc6_2.43.deb' cannot be unpacked: {reason}");
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(world.kept(), Vec::<String>::new());
    }
    let world = World::with_apt();
    package(&world.file("pool/libc6_2.43.deb"), &[], "data.tar.zst");
    let error = world.error_of(Dbms::Mysql, from(Source::Debian, "9.7"));
    assert!(error.ends_with("its data.tar.zst is compressed in a way that rqps cannot read"));
    package(&world.file("pool/libc6_2.43.deb"), &[], "data.tar.xz");
    let error = world.error_of(Dbms::Mysql, from(Source::Debian, "9.7"));
    assert!(error.ends_with("it contains no dynamic loader"), "{error}");
}
