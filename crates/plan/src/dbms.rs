//! The DBMSs, and what a contender may name of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::suggestion;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dbms {
    Sqlite,
    Postgres,
    Mysql,
    Mariadb,
    Rocksdb,
}

/// A name that no DBMS has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown DBMS '{name}': {hint}")]
pub struct UnknownDbms {
    name: String,
    hint: String,
}

/// What clients say to a DBMS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Sql,
    /// It is a library with functions for keys and values.
    KeyValue,
}

/// What a contender may name of a DBMS.
struct Described {
    dbms: Dbms,
    name: &'static str,
    /// The schemes of URLs beside its name.
    schemes: &'static [&'static str],
    /// The storage engines that may be named, the usual one first; none if it has only one.
    engines: &'static [&'static str],
    /// It runs inside rqps.
    is_embedded: bool,
    /// A build of it is part of rqps: its name alone means that build.
    is_bundled: bool,
    has_partitions: bool,
    interface: Interface,
    /// The DBMS whose SQL it mostly accepts.
    resembles: Option<&'static str>,
    /// A setting without which its servers hang under Valgrind.
    valgrind_needs: Option<&'static str>,
}

const SERVER: Described = Described {
    dbms: Dbms::Postgres,
    name: "postgres",
    schemes: &["postgresql"],
    engines: &[],
    is_embedded: false,
    is_bundled: false,
    has_partitions: true,
    interface: Interface::Sql,
    resembles: None,
    valgrind_needs: None,
};

/// By their places in [`Dbms`].
const DBMSS: &[Described] = &[
    Described {
        dbms: Dbms::Sqlite,
        name: "sqlite",
        schemes: &[],
        is_embedded: true,
        is_bundled: true,
        has_partitions: false,
        ..SERVER
    },
    SERVER,
    Described {
        dbms: Dbms::Mysql,
        name: "mysql",
        schemes: &[],
        engines: &["innodb", "rocksdb"],
        ..SERVER
    },
    Described {
        dbms: Dbms::Mariadb,
        name: "mariadb",
        schemes: &[],
        engines: &["innodb", "rocksdb"],
        resembles: Some("mysql"),
        valgrind_needs: Some("innodb_use_native_aio"),
        ..SERVER
    },
    Described {
        dbms: Dbms::Rocksdb,
        name: "rocksdb",
        schemes: &[],
        has_partitions: false,
        interface: Interface::KeyValue,
        ..SERVER
    },
];

impl Dbms {
    pub const ALL: [Dbms; DBMSS.len()] = {
        let mut all = [Dbms::Sqlite; DBMSS.len()];
        let mut place = 0;
        while place < all.len() {
            all[place] = DBMSS[place].dbms;
            place += 1;
        }
        all
    };

    fn kind(self) -> &'static Described {
        &DBMSS[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.kind().name
    }

    /// The storage engines that a contender may name, the usual one first; none if it has only one.
    pub fn engines(self) -> &'static [&'static str] {
        self.kind().engines
    }

    /// It runs inside rqps.
    pub fn is_embedded(self) -> bool {
        self.kind().is_embedded
    }

    /// A build of it is part of rqps: its name alone means that build.
    pub fn is_bundled(self) -> bool {
        self.kind().is_bundled
    }

    /// It is a server and no library.
    pub fn has_server(self) -> bool {
        !self.is_embedded() && self.interface() == Interface::Sql
    }

    /// Tables of it can be split by ranges of a key.
    pub fn has_partitions(self) -> bool {
        self.kind().has_partitions
    }

    pub fn interface(self) -> Interface {
        self.kind().interface
    }

    /// The name of the DBMS whose SQL it mostly accepts.
    pub fn resembles(self) -> Option<&'static str> {
        self.kind().resembles
    }

    /// A setting without which its servers hang under Valgrind (docs/instructions.md, limits).
    pub(crate) fn valgrind_needs(self) -> Option<&'static str> {
        self.kind().valgrind_needs
    }

    /// By the scheme of a URL.
    pub(crate) fn of_scheme(scheme: &str) -> Result<Dbms, UnknownDbms> {
        match DBMSS.iter().find(|kind| kind.schemes.contains(&scheme)) {
            Some(kind) => Ok(kind.dbms),
            None => scheme.parse(),
        }
    }
}

impl fmt::Display for Dbms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dbms {
    type Err = UnknownDbms;

    fn from_str(name: &str) -> Result<Self, UnknownDbms> {
        let found = Dbms::ALL.into_iter().find(|dbms| dbms.name() == name);
        found.ok_or_else(|| UnknownDbms {
            name: name.to_string(),
            hint: suggestion(name, Dbms::ALL.map(Dbms::name)),
        })
    }
}
