//! Tables and indexes of the Insert Benchmark, by profile and dialect.

use rqps_dbms::{Indexes, Partitions};
use rqps_plan::{InsertBenchmark, Profile};

use super::rows::{CASH_REGISTERS, PRICES, PRODUCTS};
use crate::Dialect;

/// Keys that a session takes in advance, in dialects that need it.
const KEYS_AT_ONCE: u32 = 1000;

/// One of the three secondary indexes, and the range query that reads it: it selects the index's
/// columns from a random value of the first one on, in the order of the index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SecondaryIndex {
    /// Appended to the table's name.
    pub(crate) suffix: &'static str,
    pub(crate) columns: &'static [&'static str],
    /// Its column family where each index has its own, as published.
    pub(crate) family: &'static str,
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
        family: "xms",
        columns: &["productid", "customerid", "price"],
        from: ">=",
        start: Start::Below(PRODUCTS),
    },
    SecondaryIndex {
        suffix: "registersegment",
        family: "xrs",
        columns: &["cashregisterid", "customerid", "price"],
        from: ">",
        start: Start::Below(CASH_REGISTERS),
    },
    SecondaryIndex {
        suffix: "pdc",
        family: "xpdc",
        columns: &["price", "dateandtime", "customerid"],
        from: ">=",
        start: Start::Below(PRICES),
    },
];

/// The profiles of 2020 and 2023.
const LEGACY: [SecondaryIndex; 3] = [
    SecondaryIndex {
        suffix: "marketsegment",
        family: "xms",
        columns: &["price", "customerid"],
        from: ">=",
        start: Start::LegacyPrice,
    },
    SecondaryIndex {
        suffix: "registersegment",
        family: "xrs",
        columns: &["cashregisterid", "price", "customerid"],
        from: ">",
        start: Start::Below(CASH_REGISTERS),
    },
    SecondaryIndex {
        suffix: "pdc",
        family: "xpdc",
        columns: &["price", "dateandtime", "customerid"],
        from: ">=",
        start: Start::LegacyPrice,
    },
];

/// The layout of tables, if a plan wants more than the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// 0 for a table in one piece.
    pub(crate) partitions: u32,
    pub(crate) rows_per_partition: u64,
    /// Each secondary index has a column family of its own.
    pub(crate) families: bool,
}

impl Layout {
    pub(crate) fn of(plan: &InsertBenchmark) -> Self {
        Layout {
            partitions: plan.partitions,
            rows_per_partition: plan.rows_per_partition().unwrap_or(0),
            families: plan.column_families,
        }
    }

    /// Number and the key above its range, of each partition; the last has none above.
    fn bounds(self) -> impl Iterator<Item = (u32, Option<u64>)> {
        (1..=self.partitions).map(move |number| {
            let above = 1 + u64::from(number) * self.rows_per_partition;
            (number, (number < self.partitions).then_some(above))
        })
    }

    /// The tables that a vacuum can take one by one: in Postgres a partition is a table.
    pub(crate) fn parts(self, dialect: Dialect, table: &str) -> Vec<String> {
        match (dialect.partitions, self.partitions) {
            (Partitions::Tables, 1..) => {
                (1..=self.partitions).map(|number| partition(table, number)).collect()
            }
            _ => vec![table.to_string()],
        }
    }
}

fn partition(table: &str, number: u32) -> String {
    format!("{table}_p{number}")
}

/// The end of the statement that creates a partitioned table, and the statements after it.
fn partitioning(dialect: Dialect, layout: Layout, table: &str) -> (String, Vec<String>) {
    match (dialect.partitions, layout.partitions) {
        (_, 0) | (Partitions::None, _) => (String::new(), Vec::new()),
        (Partitions::Tables, _) => {
            let mut from = "minvalue".to_string();
            let child = |(number, above): (u32, Option<u64>)| {
                let to = above.map_or("maxvalue".to_string(), |above| above.to_string());
                let child = partition(table, number);
                let sql = format!(
                    "create table {child} partition of {table} for values from ({from}) to ({to})"
                );
                from = to;
                sql
            };
            (
                " partition by range (transactionid)".to_string(),
                layout.bounds().map(child).collect(),
            )
        }
        (Partitions::Clauses, _) => {
            let part = |(number, above): (u32, Option<u64>)| {
                let above = above.map_or("maxvalue".to_string(), |above| format!("({above})"));
                format!("partition p{number} values less than {above}")
            };
            let parts: Vec<String> = layout.bounds().map(part).collect();
            let parts = parts.join(", ");
            (format!(" partition by range (transactionid) ({parts})"), Vec::new())
        }
    }
}

pub(crate) fn secondary_indexes(profile: Profile) -> &'static [SecondaryIndex; 3] {
    if profile.is_legacy() { &LEGACY } else { &CURRENT }
}

/// The statements that create an empty table, whether or not one existed.
pub(crate) fn create_table(
    dialect: Dialect,
    profile: Profile,
    layout: Layout,
    table: &str,
) -> Vec<String> {
    let (suffix, children) = partitioning(dialect, layout, table);
    let price = if profile.is_legacy() { dialect.float } else { "int" };
    let engine = dialect.engine.map(|engine| format!(" engine = {engine}")).unwrap_or_default();
    let create = format!(
        "create table {table} (transactionid {}, dateandtime {}, cashregisterid int not null, \
         customerid int not null, productid int not null, price {price} not null, \
         data varchar(4000)){engine}{suffix}",
        dialect.bigserial, dialect.timestamp
    );
    let mut statements = vec![format!("drop table if exists {table}"), create];
    statements.extend(children);
    statements.extend(dialect.take_keys.map(|take| take(table, "transactionid", KEYS_AT_ONCE)));
    statements
}

/// The statements that create the secondary indexes.
pub(crate) fn create_indexes(
    dialect: Dialect,
    profile: Profile,
    layout: Layout,
    table: &str,
) -> Vec<String> {
    let parts = secondary_indexes(profile).each_ref().map(|index| {
        let columns = index.columns.join(", ");
        let comment = match layout.families {
            true => format!(" comment 'cfname={}'", index.family),
            false => String::new(),
        };
        (format!("{table}_{}", index.suffix), columns, comment)
    });
    let add = |(name, columns, comment): &(String, String, String)| {
        format!("add index {name} ({columns}){comment}")
    };
    match dialect.indexes {
        Indexes::Each => parts
            .iter()
            .map(|(name, columns, _)| format!("create index {name} on {table} ({columns})"))
            .collect(),
        Indexes::AllByAlter => {
            vec![format!("alter table {table} {}", parts.each_ref().map(add).join(", "))]
        }
        Indexes::EachByAlter => {
            parts.iter().map(|part| format!("alter table {table} {}", add(part))).collect()
        }
    }
}

/// The hint behind the name of the table in a statement that must read an index.
pub(crate) fn index_hint(dialect: Dialect, table: &str, index: &SecondaryIndex) -> String {
    (dialect.hint)(&format!("{table}_{}", index.suffix))
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
    fn every_table_has_a_primary_key_as_some_servers_demand() {
        let layout = Layout { partitions: 2, rows_per_partition: 500, families: false };
        for profile in [Profile::P2020, Profile::P2023, Profile::P2024, Profile::P2025] {
            for dialect in [Dialect::POSTGRES, Dialect::SQLITE, Dialect::INNODB, Dialect::MYROCKS] {
                for layout in [layout, Layout::default()] {
                    let table = &create_table(dialect, profile, layout, "pi1")[1];
                    assert!(table.contains("primary key"), "{table}");
                }
            }
        }
    }

    #[test]
    fn indexes_are_named_after_their_table() {
        let layout = Layout::default();
        let statements = create_indexes(Dialect::POSTGRES, Profile::P2025, layout, "pi3");
        assert_eq!(statements[2], "create index pi3_pdc on pi3 (price, dateandtime, customerid)");
    }

    #[test]
    fn innodb_builds_all_indexes_at_once_and_myrocks_one_at_a_time() {
        let create = |dialect| create_indexes(dialect, Profile::P2025, Layout::default(), "pi1");
        let [innodb] = create(Dialect::INNODB).try_into().unwrap();
        assert_eq!(innodb.matches("add index").count(), 3);
        let myrocks = create(Dialect::MYROCKS);
        assert_eq!(myrocks.len(), 3);
        assert_eq!(
            myrocks[0],
            "alter table pi1 add index pi1_marketsegment (productid, customerid, price)"
        );
    }

    #[test]
    fn partitions_are_ranges_of_the_key_and_the_last_is_open() {
        let layout = Layout { partitions: 3, rows_per_partition: 500, families: false };
        let create = |dialect| create_table(dialect, Profile::P2025, layout, "pi1");
        let postgres = create(Dialect::POSTGRES);
        assert!(postgres[1].ends_with(" partition by range (transactionid)"));
        assert_eq!(
            postgres[2..5],
            [
                "create table pi1_p1 partition of pi1 for values from (minvalue) to (501)",
                "create table pi1_p2 partition of pi1 for values from (501) to (1001)",
                "create table pi1_p3 partition of pi1 for values from (1001) to (maxvalue)",
            ]
        );
        let mysql = create(Dialect::INNODB);
        assert!(mysql[1].ends_with(
            " engine = innodb partition by range (transactionid) (partition p1 values less than \
             (501), partition p2 values less than (1001), partition p3 values less than maxvalue)"
        ));
        assert_eq!(layout.parts(Dialect::POSTGRES, "pi1"), ["pi1_p1", "pi1_p2", "pi1_p3"]);
        assert_eq!(layout.parts(Dialect::INNODB, "pi1"), ["pi1"]);
    }

    #[test]
    fn a_column_family_is_named_in_the_comment_of_its_index() {
        let layout = Layout { families: true, ..Layout::default() };
        let statements = create_indexes(Dialect::MYROCKS, Profile::P2025, layout, "pi1");
        let ends = ["comment 'cfname=xms'", "comment 'cfname=xrs'", "comment 'cfname=xpdc'"];
        for (statement, end) in statements.iter().zip(ends) {
            assert!(statement.ends_with(end), "{statement}");
        }
    }
}
