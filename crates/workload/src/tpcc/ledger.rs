//! What the clients know that they did, and the sums of the tables that must have grown by it.

use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};

use rqps_wire::{Connection, Error, FetchedRows};

use super::money::DecimalForm;

/// What one transaction did, or all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Commits {
    pub(super) new_orders: i64,
    pub(super) lines: i64,
    /// Of them, lines whose stock is another warehouse's.
    pub(super) remote_lines: i64,
    pub(super) quantity: i64,
    /// Cents of the lines.
    pub(super) ordered: i64,
    pub(super) payments: i64,
    /// Cents of the payments.
    pub(super) paid: i64,
    /// Orders, not transactions.
    pub(super) deliveries: i64,
    /// Cents of their lines.
    pub(super) delivered: i64,
}

impl AddAssign for Commits {
    fn add_assign(&mut self, other: Commits) {
        self.new_orders += other.new_orders;
        self.lines += other.lines;
        self.remote_lines += other.remote_lines;
        self.quantity += other.quantity;
        self.ordered += other.ordered;
        self.payments += other.payments;
        self.paid += other.paid;
        self.deliveries += other.deliveries;
        self.delivered += other.delivered;
    }
}

/// What all clients of a test committed.
#[derive(Debug, Default)]
pub(super) struct CommitLedger(Mutex<Commits>);

impl CommitLedger {
    /// Enters a transaction, after its commit.
    pub(super) fn add(&self, done: Commits) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += done;
    }

    pub(super) fn total(&self) -> Commits {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sum of a table, and by how much it grows.
pub(super) struct GrowingSum {
    pub(super) table: &'static str,
    pub(super) what: &'static str,
    sql: &'static str,
    /// In cents.
    is_money: bool,
    pub(super) growth: fn(&Commits) -> i64,
}

const fn sum(
    table: &'static str,
    what: &'static str,
    sql: &'static str,
    growth: fn(&Commits) -> i64,
) -> GrowingSum {
    GrowingSum { table, what, sql, is_money: false, growth }
}

const fn money(
    table: &'static str,
    what: &'static str,
    sql: &'static str,
    growth: fn(&Commits) -> i64,
) -> GrowingSum {
    GrowingSum { table, what, sql, is_money: true, growth }
}

/// The sums of a table follow each other: they are read at once.
pub(super) static SUMS: [GrowingSum; 16] = [
    money("warehouse", "sum of w_ytd", "sum(w_ytd)", |done| done.paid),
    money("district", "sum of d_ytd", "sum(d_ytd)", |done| done.paid),
    sum("district", "sum of d_next_o_id", "sum(d_next_o_id)", |done| done.new_orders),
    sum("customer", "sum of c_payment_cnt", "sum(c_payment_cnt)", |done| done.payments),
    money("customer", "sum of c_ytd_payment", "sum(c_ytd_payment)", |done| done.paid),
    sum("customer", "sum of c_delivery_cnt", "sum(c_delivery_cnt)", |done| done.deliveries),
    money("customer", "sum of c_balance", "sum(c_balance)", |done| done.delivered - done.paid),
    sum("history", "row count", "count(*)", |done| done.payments),
    money("history", "sum of h_amount", "sum(h_amount)", |done| done.paid),
    sum("orders", "row count", "count(*)", |done| done.new_orders),
    sum("new_order", "row count", "count(*)", |done| done.new_orders - done.deliveries),
    sum("order_line", "row count", "count(*)", |done| done.lines),
    money("order_line", "sum of ol_amount", "sum(ol_amount)", |done| done.ordered),
    sum("stock", "sum of s_ytd", "sum(s_ytd)", |done| done.quantity),
    sum("stock", "sum of s_order_cnt", "sum(s_order_cnt)", |done| done.lines),
    sum("stock", "sum of s_remote_cnt", "sum(s_remote_cnt)", |done| done.remote_lines),
];

/// The sums of the tables now, in the order of [`SUMS`].
pub(super) fn sums(
    connection: &mut dyn Connection,
    numbers: DecimalForm,
) -> Result<Vec<i64>, Error> {
    let (mut found, mut rows) = (Vec::new(), FetchedRows::default());
    for of_table in SUMS.chunk_by(|one, next| one.table == next.table) {
        let columns: Vec<&str> = of_table.iter().map(|sum| sum.sql).collect();
        let sql = format!("select {} from {}", columns.join(", "), of_table[0].table);
        let statement = connection.prepare(&sql, &[])?;
        connection.fetch(statement, &[], &mut rows)?;
        for (column, sum) in of_table.iter().enumerate() {
            found.push(match sum.is_money {
                true => numbers.cents(&rows, 0, column)?,
                false => rows.int(0, column)?,
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_add_up() {
        let ledger = CommitLedger::default();
        let order = Commits { new_orders: 1, lines: 7, ordered: 100, ..Commits::default() };
        let payment = Commits { payments: 1, paid: 500, ..Commits::default() };
        [order, payment, order].into_iter().for_each(|done| ledger.add(done));
        let total = ledger.total();
        assert_eq!(total, Commits { lines: 14, new_orders: 2, ordered: 200, ..payment });
    }
}
