//! The descriptors of all DBMSs with each of their engines: a table in the folder of each, and a
//! line here.

use rqps_plan::{Contender, Dbms};

use crate::descriptor::Descriptor;
use crate::dialect::Dialect;

/// The default engine of a DBMS comes before its others.
static ALL: &[&Descriptor] = &[
    &crate::sqlite::descriptor::DESCRIPTOR,
    &crate::postgres::descriptor::DESCRIPTOR,
    &crate::mysql::descriptor::MYSQL,
    &crate::mysql::descriptor::MYSQL_ROCKS,
    &crate::mysql::descriptor::MARIADB,
    &crate::mysql::descriptor::MARIADB_ROCKS,
    &crate::rocksdb::descriptor::DESCRIPTOR,
];

/// The descriptor of a DBMS with an engine, or with its default one.
pub fn descriptor(dbms: Dbms, engine: Option<&str>) -> &'static Descriptor {
    let of_dbms = || ALL.iter().filter(|one| one.dbms == dbms);
    let with_engine = of_dbms().find(|one| engine.is_some() && one.engine == engine);
    with_engine.or_else(|| of_dbms().next()).expect("each DBMS has a descriptor")
}

impl From<&Contender> for &'static Descriptor {
    fn from(contender: &Contender) -> Self {
        descriptor(contender.dbms, contender.engine.as_deref())
    }
}

impl From<&Contender> for Dialect {
    fn from(contender: &Contender) -> Self {
        <&Descriptor>::from(contender).dialect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dbms_is_described_with_each_of_its_engines() {
        let named = |text: &str| {
            let contender: Contender = text.parse().unwrap();
            let descriptor: &Descriptor = (&contender).into();
            (descriptor.dbms, descriptor.dialect.name)
        };
        for (text, dbms, dialect) in [
            ("sqlite", Dbms::Sqlite, "sqlite"),
            ("postgres@17", Dbms::Postgres, "postgres"),
            ("mysql", Dbms::Mysql, "innodb"),
            ("mysql/innodb", Dbms::Mysql, "innodb"),
            ("mysql/rocksdb", Dbms::Mysql, "myrocks"),
            ("mariadb", Dbms::Mariadb, "innodb"),
            ("mariadb/rocksdb", Dbms::Mariadb, "myrocks"),
            ("rocksdb@10.4.2", Dbms::Rocksdb, "rocksdb"),
        ] {
            assert_eq!(named(text), (dbms, dialect), "{text}");
        }
    }
}
