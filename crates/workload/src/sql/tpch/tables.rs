//! The rows of the tables, made while they are loaded by the crate tpchgen, which makes those of
//! the standard's own generator.

use std::fmt::{Display, Write};

use rqps_plan::ScaleFactor;
use rqps_wire::{Connection, Error};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen::text::TextPool;

/// Rows that are sent at a time: a transaction.
const BATCH: usize = 50_000;
/// Bytes of the text that comments are parts of, as in the standard's own generator.
const TEXT: i32 = 300 * 1024 * 1024;

/// Fills all tables.
pub(super) fn load(scale: ScaleFactor, connection: &mut dyn Connection) -> Result<(), Error> {
    fill(scale.value(), TEXT, &mut |table, columns, rows, lines| {
        let loaded = connection.load(table, columns, lines)?;
        match loaded == rows {
            true => Ok(()),
            false => Err(Error::Protocol(format!(
                "loaded {rows} rows into {table}, but the DBMS reports {loaded}"
            ))),
        }
    })
}

/// The same with fewer texts, which takes less time.
#[cfg(test)]
pub(super) fn load_with_few_texts(
    scale: ScaleFactor,
    connection: &mut dyn Connection,
) -> Result<(), Error> {
    fill(scale.value(), 1 << 20, &mut |table, columns, _, lines| {
        connection.load(table, columns, lines).map(drop)
    })
}

/// What takes the rows of a table: its name, its columns, the number of rows and their lines.
type Sink<'s> = dyn FnMut(&str, &[&str], u64, &[u8]) -> Result<(), Error> + 's;

fn fill(scale: f64, text: i32, sink: &mut Sink<'_>) -> Result<(), Error> {
    let words = Distributions::static_default();
    // It goes when the tables are full: a server is measured beside this process.
    let text = &TextPool::new(text, words);
    /// The rows of a generator that draws words and texts.
    macro_rules! rows {
        ($generator:ident) => {
            $generator::new_with_distributions_and_text_pool(scale, 1, 1, words, text).iter()
        };
    }
    let part_suppliers = PartSuppGenerator::new_with_text_pool(scale, 1, 1, text);
    let regions = RegionGenerator::new_with_distributions_and_text_pool(words, text);
    let nations = NationGenerator::new_with_distributions_and_text_pool(words, text);
    table("region", &["r_regionkey", "r_name", "r_comment"], regions.iter(), sink)?;
    let columns = ["n_nationkey", "n_name", "n_regionkey", "n_comment"];
    table("nation", &columns, nations.iter(), sink)?;
    let columns =
        ["s_suppkey", "s_name", "s_address", "s_nationkey", "s_phone", "s_acctbal", "s_comment"];
    table("supplier", &columns, rows!(SupplierGenerator), sink)?;
    let columns = [
        "p_partkey",
        "p_name",
        "p_mfgr",
        "p_brand",
        "p_type",
        "p_size",
        "p_container",
        "p_retailprice",
        "p_comment",
    ];
    table("part", &columns, rows!(PartGenerator), sink)?;
    let columns = ["ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost", "ps_comment"];
    table("partsupp", &columns, part_suppliers.iter(), sink)?;
    let columns = [
        "c_custkey",
        "c_name",
        "c_address",
        "c_nationkey",
        "c_phone",
        "c_acctbal",
        "c_mktsegment",
        "c_comment",
    ];
    table("customer", &columns, rows!(CustomerGenerator), sink)?;
    let columns = [
        "o_orderkey",
        "o_custkey",
        "o_orderstatus",
        "o_totalprice",
        "o_orderdate",
        "o_orderpriority",
        "o_clerk",
        "o_shippriority",
        "o_comment",
    ];
    table("orders", &columns, rows!(OrderGenerator), sink)?;
    let columns = [
        "l_orderkey",
        "l_partkey",
        "l_suppkey",
        "l_linenumber",
        "l_quantity",
        "l_extendedprice",
        "l_discount",
        "l_tax",
        "l_returnflag",
        "l_linestatus",
        "l_shipdate",
        "l_commitdate",
        "l_receiptdate",
        "l_shipinstruct",
        "l_shipmode",
        "l_comment",
    ];
    table("lineitem", &columns, rows!(LineItemGenerator), sink)
}

/// Sends the rows of a table. The crate writes each with `|` behind every field.
fn table<R: Display>(
    name: &str,
    columns: &[&str],
    rows: impl Iterator<Item = R>,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let (mut lines, mut count) = (String::new(), 0);
    let mut rows = rows.peekable();
    while let Some(row) = rows.next() {
        // Writing to a text does not fail.
        let _ = write!(lines, "{row}");
        lines.pop();
        lines.push('\n');
        count += 1;
        if count == BATCH || rows.peek().is_none() {
            sink(name, columns, count as u64, lines.replace('|', "\t").as_bytes())?;
            lines.clear();
            count = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_line_has_the_fields_of_its_columns() {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        fill(0.01, 1 << 20, &mut |table, columns, rows, lines| {
            let lines = str::from_utf8(lines).unwrap();
            assert_eq!(lines.lines().count() as u64, rows, "{table}");
            for line in lines.lines() {
                assert_eq!(line.split('\t').count(), columns.len(), "{table}: {line}");
                assert!(!line.contains(['\\', '\'', '"', '|']), "{table}: {line}");
            }
            *counts.entry(table.to_string()).or_default() += rows;
            Ok(())
        })
        .unwrap();
        let expected = [
            ("customer", 1_500),
            ("lineitem", 60_175),
            ("nation", 25),
            ("orders", 15_000),
            ("part", 2_000),
            ("partsupp", 8_000),
            ("region", 5),
            ("supplier", 100),
        ];
        assert_eq!(counts, BTreeMap::from(expected.map(|(name, rows)| (name.to_string(), rows))));
    }
}
