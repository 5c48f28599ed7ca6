//! A workload derived from TPC-C (Standard Specification, Revision 5.11), not a TPC result: nine
//! tables of a wholesale supplier, and five transactions on them.
//!
//! Clients deal their transactions from decks of 23 cards, shuffled (clause 5.2.4.2). In slices an
//! operation is a deck, so that all contenders do the same work in a cycle; in whole runs it is a
//! transaction, so that each kind has its own latency. `docs/tpcc.md` says what else differs from
//! the standard.

mod check;
mod client;
mod conditions;
mod data;
mod deck;
mod dice;
mod driver;
mod flags;
mod ledger;
mod load;
mod money;
mod schema;
mod session;
mod statements;
mod times;
mod transactions;

#[cfg(test)]
mod tests;

pub(crate) use driver::{driver, tasks};
pub(crate) use flags::{TpccFlags, asked};
pub(crate) use schema::is_table;
pub(crate) use statements::texts;

/// How many rows there are: the standard's numbers, or fewer in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cardinality {
    /// Items, and kinds of stock of a warehouse.
    items: u32,
    /// Customers of a district, and orders that it has at first.
    customers: u32,
    /// The newest of these orders are not delivered.
    undelivered: u32,
}

/// Districts of a warehouse.
const DISTRICTS: u32 = 10;

impl Cardinality {
    const STANDARD: Cardinality =
        Cardinality { items: 100_000, customers: 3_000, undelivered: 900 };

    /// Last names: the first customers of a district have one each.
    fn names(self) -> u32 {
        self.customers.min(1_000)
    }
}
