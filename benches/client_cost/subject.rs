//! The DBMSs that clients are compared on, one row each.

use std::ffi::OsStr;
use std::path::PathBuf;

use rqps_plan::Dbms;
use rqps_wire::{Address, Cancel, Login, Target, Terms};
use rqps_workload::Dialect;

use crate::exchange::Exchange;

pub(crate) struct Subject {
    pub(crate) dbms: Dbms,
    /// The build, as a contender of rqps.
    pub(crate) contender: &'static str,
    pub(crate) dialect: Dialect,
    /// The target of a login to this DBMS.
    pub(crate) target: fn(Login) -> Target,
    /// Makes the server analyze `sbtest1` and flush its memory, so that it does not do so later.
    pub(crate) settle: &'static [&'static str],
    /// In the form that rqps sends: key and result binary.
    pub(crate) point_query: Exchange,
}

pub(crate) static SUBJECTS: [Subject; 2] = [
    Subject {
        dbms: Dbms::Postgres,
        contender: "postgres@17.6",
        dialect: Dialect::POSTGRES,
        target: Target::Postgres,
        settle: &["vacuum analyze sbtest1", "checkpoint"],
        point_query: Exchange {
            // Bind of s0, of 30 bytes.
            before_key: b"B\0\0\0\x1e\0s0\0\0\x01\0\x01\0\x01\0\0\0\x08",
            key: u64::to_be_bytes,
            // Execute, Sync.
            after_key: b"\0\x01\0\x01E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04",
            // BindComplete, DataRow.
            begin: b"2\0\0\0\x04D",
            // ReadyForQuery.
            last: (b"Z\0\0\0\x05", 6),
        },
    },
    Subject {
        dbms: Dbms::Mysql,
        contender: "mysql@8.0.33",
        dialect: Dialect::INNODB,
        target: Target::Mysql,
        settle: &["analyze table sbtest1", "flush engine logs"],
        point_query: Exchange {
            // COM_STMT_EXECUTE of statement 1, of 20 bytes: no cursor, once, nothing is NULL.
            before_key: b"\x14\0\0\0\x17\x01\0\0\0\0\x01\0\0\0\0\0",
            key: u64::to_le_bytes,
            after_key: b"",
            // One column,
            begin: b"\x01\0\0\x01\x01",
            // and after its description and one row the end, which is the fourth packet.
            last: (b"\x07\0\0\x04\xfe", 11),
        },
    },
];

impl Subject {
    /// Where a client of this program connects.
    pub(crate) fn target_at(&self, path: &OsStr, user: &OsStr, database: &OsStr) -> Target {
        let text = |argument: &OsStr| argument.to_string_lossy().into_owned();
        let address = Address::Unix { path: PathBuf::from(path) };
        let (user, database) = (text(user), text(database));
        (self.target)(Login {
            address,
            user,
            password: None,
            database,
            parameters: Vec::new(),
            setup: Vec::new(),
            terms: Terms::default(),
            cancel: Cancel::default(),
        })
    }
}

/// A subject by the name of its DBMS.
pub(crate) fn named(name: &str) -> Option<&'static Subject> {
    SUBJECTS.iter().find(|subject| subject.dbms.name() == name)
}
