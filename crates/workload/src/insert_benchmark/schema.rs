//! Tables and indexes of the Insert Benchmark, by profile and dialect.

use rqps_load::{Effect, Halt, Work};
use rqps_plan::Profile;
use rqps_wire::{Connection, Error, Interrupter};

use super::rows::{CASH_REGISTERS, PRICES, PRODUCTS};
use crate::dialect::Dialect;

/// One of the three secondary indexes, and the range query that reads it: it selects the index's
/// columns from a random value of the first one on, in the order of the index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SecondaryIndex {
    /// Appended to the table's name.
    pub(crate) suffix: &'static str,
    pub(crate) columns: &'static [&'static str],
    /// The comparison with the random value.
    pub(crate) from: &'static str,
    pub(crate) start: Start,
}

/// Where a range query starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Below(u32),
    /// A price as the rows of the legacy profiles have it, cut to an integer.
    LegacyPrice,
}

/// The profiles of 2024 and later. The strict comparison of the second is the original's.
const CURRENT: [SecondaryIndex; 3] = [
    SecondaryIndex {
        suffix: "marketsegment",
        columns: &["productid", "customerid", "price"],
        from: ">=",
        start: Start::Below(PRODUCTS),
    },
    SecondaryIndex {
        suffix: "registersegment",
        columns: &["cashregisterid", "customerid", "price"],
        from: ">",
        start: Start::Below(CASH_REGISTERS),
    },
    SecondaryIndex {
        suffix: "pdc",
        columns: &["price", "dateandtime", "customerid"],
        from: ">=",
        start: Start::Below(PRICES),
    },
];

/// The profiles of 2020 and 2023.
const LEGACY: [SecondaryIndex; 3] = [
    SecondaryIndex {
        suffix: "marketsegment",
        columns: &["price", "customerid"],
        from: ">=",
        start: Start::LegacyPrice,
    },
    SecondaryIndex {
        suffix: "registersegment",
        columns: &["cashregisterid", "price", "customerid"],
        from: ">",
        start: Start::Below(CASH_REGISTERS),
    },
    SecondaryIndex {
        suffix: "pdc",
        columns: &["price", "dateandtime", "customerid"],
        from: ">=",
        start: Start::LegacyPrice,
    },
];

pub(crate) fn secondary_indexes(profile: Profile) -> &'static [SecondaryIndex; 3] {
    if profile.is_legacy() { &LEGACY } else { &CURRENT }
}

/// The statements that make an empty table, whether or not one was there.
pub(crate) fn create_table(dialect: Dialect, profile: Profile, table: &str) -> Vec<String> {
    let price = match (profile.is_legacy(), dialect) {
        (false, _) => "int",
        (true, Dialect::Postgres | Dialect::Sqlite) => "real",
        (true, Dialect::Innodb | Dialect::Myrocks) => "float",
    };
    let columns = |key: &str, time: &str| {
        format!(
            "create table {table} ({key}, dateandtime {time}, cashregisterid int not null, \
             customerid int not null, productid int not null, price {price} not null, \
             data varchar(4000))"
        )
    };
    let mysql = |engine: &str| {
        let key = "transactionid bigint not null auto_increment primary key";
        format!("{} engine = {engine}", columns(key, "datetime"))
    };
    let mut statements = vec![format!("drop table if exists {table}")];
    match dialect {
        Dialect::Postgres => {
            let key = "transactionid bigserial not null primary key";
            statements.push(columns(key, "timestamp without time zone"));
            let sequence = format!("{table}_transactionid_seq");
            statements.push(format!("alter sequence {sequence} cache 1000"));
        }
        Dialect::Sqlite => {
            statements.push(columns("transactionid integer not null primary key", "datetime"));
        }
        Dialect::Innodb => statements.push(mysql("innodb")),
        Dialect::Myrocks => statements.push(mysql("rocksdb")),
    }
    statements
}

/// The statements that create the secondary indexes. InnoDB gets all in one, so that the table is
/// read once; MyRocks one at a time, since all at once take too much memory.
pub(crate) fn create_indexes(dialect: Dialect, profile: Profile, table: &str) -> Vec<String> {
    let parts = secondary_indexes(profile).each_ref().map(|index| {
        let columns = index.columns.join(", ");
        (format!("{table}_{}", index.suffix), columns)
    });
    let add = |(name, columns): &(String, String)| format!("add index {name} ({columns})");
    match dialect {
        Dialect::Postgres | Dialect::Sqlite => parts
            .iter()
            .map(|(name, columns)| format!("create index {name} on {table} ({columns})"))
            .collect(),
        Dialect::Innodb => {
            vec![format!("alter table {table} {}", parts.each_ref().map(add).join(", "))]
        }
        Dialect::Myrocks => {
            parts.iter().map(|part| format!("alter table {table} {}", add(part))).collect()
        }
    }
}

/// What a statement that must read an index says behind the table's name.
pub(crate) fn index_hint(dialect: Dialect, table: &str, index: &SecondaryIndex) -> String {
    match dialect {
        Dialect::Postgres | Dialect::Sqlite => String::new(),
        Dialect::Innodb | Dialect::Myrocks => {
            format!(" force index ({table}_{})", index.suffix)
        }
    }
}

/// Builds the indexes of one table, one operation each.
pub(super) struct IndexBuilder {
    pub(super) connection: Box<dyn Connection>,
    /// In reverse, so that the next one is taken from the end.
    pub(super) statements: Vec<String>,
}

impl Work for IndexBuilder {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let Some(statement) = self.statements.last() else { return Ok(Effect::other()) };
        self.connection.run(statement)?;
        self.statements.pop();
        Ok(Effect::other())
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.interrupter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_columns_are_those_of_the_profiles() {
        let columns =
            |profile| secondary_indexes(profile).each_ref().map(|index| index.columns.join(","));
        let current = [
            "productid,customerid,price",
            "cashregisterid,customerid,price",
            "price,dateandtime,customerid",
        ];
        assert_eq!(columns(Profile::P2025), current);
        assert_eq!(columns(Profile::P2024), current);
        let legacy =
            ["price,customerid", "cashregisterid,price,customerid", "price,dateandtime,customerid"];
        assert_eq!(columns(Profile::P2020), legacy);
        assert_eq!(columns(Profile::P2023), legacy);
    }

    #[test]
    fn indexes_are_named_after_their_table() {
        let statements = create_indexes(Dialect::Postgres, Profile::P2025, "pi3");
        assert_eq!(statements[2], "create index pi3_pdc on pi3 (price, dateandtime, customerid)");
    }

    #[test]
    fn innodb_builds_all_indexes_at_once_and_myrocks_one_at_a_time() {
        let [innodb] = create_indexes(Dialect::Innodb, Profile::P2025, "pi1").try_into().unwrap();
        assert_eq!(innodb.matches("add index").count(), 3);
        let myrocks = create_indexes(Dialect::Myrocks, Profile::P2025, "pi1");
        assert_eq!(myrocks.len(), 3);
        assert_eq!(
            myrocks[0],
            "alter table pi1 add index pi1_marketsegment (productid, customerid, price)"
        );
    }
}
