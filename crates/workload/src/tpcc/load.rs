//! Loading the tables: batches of rows in the order of their keys.

use std::ops::Range;

use rqps_load::{Effect, Halt, Order, Schedule, Until, Work};
use rqps_wire::{Connection, Error, Interrupter};

use super::data::Population;
use super::schema::{
    CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, TpccTable, WAREHOUSE,
};
use super::{Cardinality, DISTRICTS};
use crate::task::Assigned;

/// Items and kinds of stock in a batch, which is one transaction.
const BATCH: u32 = 10_000;

/// How a table is filled.
struct Filling {
    table: &'static TpccTable,
    keys: FilledKeys,
    /// Appends what belongs to a key of a warehouse and district, and returns the number of rows.
    write: fn(&mut Population, (u32, u32), u32, &mut Vec<u8>) -> u64,
}

/// The keys of a table, and of what they are.
#[derive(Clone, Copy)]
enum FilledKeys {
    Items,
    Warehouses,
    ItemsOfWarehouse,
    DistrictsOfWarehouse,
    /// Of a district, as all that follow.
    Customers,
    Orders,
    UndeliveredOrders,
}

/// By connection: the tables of one are filled one after another, so that the rows of each are in
/// the order of their keys. Both connections take about as long.
static SHARES: [&[Filling]; 2] = [
    &[
        filling(&ITEM, FilledKeys::Items, |data, _, id, text| data.item(id, text)),
        filling(&WAREHOUSE, FilledKeys::Warehouses, |data, _, id, text| data.warehouse(id, text)),
        filling(&STOCK, FilledKeys::ItemsOfWarehouse, |data, (warehouse, _), id, text| {
            data.stock(warehouse, id, text)
        }),
        filling(&DISTRICT, FilledKeys::DistrictsOfWarehouse, |data, (warehouse, _), id, text| {
            data.district(warehouse, id, text)
        }),
        filling(&CUSTOMER, FilledKeys::Customers, |data, of, id, text| data.customer(of, id, text)),
        filling(&HISTORY, FilledKeys::Customers, |data, of, id, text| data.history(of, id, text)),
    ],
    &[
        filling(&ORDERS, FilledKeys::Orders, |data, of, id, text| data.order(of, id, text)),
        filling(&NEW_ORDER, FilledKeys::UndeliveredOrders, |data, of, id, text| {
            data.new_order(of, id, text)
        }),
        filling(&ORDER_LINE, FilledKeys::Orders, |data, of, id, text| {
            data.order_lines(of, id, text)
        }),
    ],
];

const fn filling(
    table: &'static TpccTable,
    keys: FilledKeys,
    write: fn(&mut Population, (u32, u32), u32, &mut Vec<u8>) -> u64,
) -> Filling {
    Filling { table, keys, write }
}

/// Consecutive keys of a table.
#[derive(Clone)]
pub(super) struct Batch {
    filling: &'static Filling,
    /// The warehouse and the district; 0 where the keys are of all of them.
    of: (u32, u32),
    keys: Range<u32>,
    /// The last column is left out, since it is empty in all rows.
    is_undelivered: bool,
}

/// The batches of each connection.
pub(super) fn shares(warehouses: u32, scale: Cardinality, connections: usize) -> Vec<Vec<Batch>> {
    let share = |fillings: &&'static [Filling]| -> Vec<Batch> {
        fillings.iter().flat_map(|filling| filling.batches(warehouses, scale)).collect()
    };
    let shares: Vec<Vec<Batch>> = SHARES.iter().map(share).collect();
    match connections {
        1 => vec![shares.concat()],
        _ => shares,
    }
}

impl Filling {
    fn batches(&'static self, warehouses: u32, scale: Cardinality) -> Vec<Batch> {
        let (all, delivered) = (scale.customers + 1, scale.customers - scale.undelivered + 1);
        // Without and with the column that is empty in some.
        let ranges = match self.keys {
            FilledKeys::Items | FilledKeys::ItemsOfWarehouse => vec![(1..scale.items + 1, false)],
            FilledKeys::Warehouses => vec![(1..warehouses + 1, false)],
            FilledKeys::DistrictsOfWarehouse => vec![(1..DISTRICTS + 1, false)],
            FilledKeys::Customers => vec![(1..all, false)],
            FilledKeys::Orders => vec![(1..delivered, false), (delivered..all, true)],
            FilledKeys::UndeliveredOrders => vec![(delivered..all, false)],
        };
        let (warehouses, districts) = match self.keys {
            FilledKeys::Items | FilledKeys::Warehouses => (0..=0, 0..=0),
            FilledKeys::ItemsOfWarehouse | FilledKeys::DistrictsOfWarehouse => {
                (1..=warehouses, 0..=0)
            }
            FilledKeys::Customers | FilledKeys::Orders | FilledKeys::UndeliveredOrders => {
                (1..=warehouses, 1..=DISTRICTS)
            }
        };
        let mut batches = Vec::new();
        for warehouse in warehouses {
            for district in districts.clone() {
                for (keys, is_undelivered) in &ranges {
                    for start in keys.clone().step_by(BATCH as usize) {
                        let keys = start..(start + BATCH).min(keys.end);
                        let (filling, of) = (self, (warehouse, district));
                        batches.push(Batch { filling, of, keys, is_undelivered: *is_undelivered });
                    }
                }
            }
        }
        batches
    }
}

/// Loads batches, an operation each.
pub(super) struct BatchLoader {
    connection: Box<dyn Connection>,
    data: Population,
    /// In reverse, so that the next one is taken from the end.
    batches: Vec<Batch>,
    /// Of the batch that was made.
    rows: u64,
    lines: Vec<u8>,
}

impl BatchLoader {
    /// Work that loads these batches, and its order.
    pub(super) fn assigned(
        connection: Box<dyn Connection>,
        data: Population,
        mut batches: Vec<Batch>,
    ) -> Assigned {
        let until = Until::Operations(batches.len() as u64);
        batches.reverse();
        let loader = BatchLoader { connection, data, batches, rows: 0, lines: Vec::new() };
        (Box::new(loader), Order { schedule: Schedule::Closed, until })
    }
}

impl Work for BatchLoader {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        let BatchLoader { data, lines, .. } = self;
        let Some(batch) = self.batches.last() else { return Ok(()) };
        lines.clear();
        let write = batch.filling.write;
        self.rows = batch.keys.clone().map(|key| write(data, batch.of, key, lines)).sum();
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let Some(batch) = self.batches.last() else { return Ok(Effect::other()) };
        let table = batch.filling.table;
        let columns = table.column_names(usize::from(batch.is_undelivered));
        let rows = self.connection.load(table.name, &columns, &self.lines)?;
        if rows != self.rows {
            let (name, wanted) = (table.name, self.rows);
            let message = format!("loaded {wanted} rows into {name}, but the DBMS reports {rows}");
            return Err(Error::Protocol(message));
        }
        self.batches.pop();
        Ok(Effect::write(rows))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_one_batch() {
        let keys = |name: &str, warehouses| -> u32 {
            let shares = shares(warehouses, Cardinality::STANDARD, 2).concat();
            let batches = shares.iter().filter(|batch| batch.filling.table.name == name);
            batches.map(|batch| batch.keys.end - batch.keys.start).sum()
        };
        assert_eq!((keys("item", 2), keys("stock", 2)), (100_000, 200_000));
        assert_eq!((keys("warehouse", 2), keys("district", 2)), (2, 20));
        assert_eq!((keys("customer", 2), keys("history", 2)), (60_000, 60_000));
        assert_eq!((keys("orders", 1), keys("order_line", 1)), (30_000, 30_000));
        assert_eq!(keys("new_order", 1), 9_000);
    }

    #[test]
    fn one_connection_loads_all_tables() {
        let count = |connections| shares(1, Cardinality::STANDARD, connections).concat().len();
        assert_eq!(shares(1, Cardinality::STANDARD, 1).len(), 1);
        assert_eq!(count(1), count(2));
    }
}
