//! The tables and the transactions with few rows, on SQLite and on servers: what breaks a condition
//! is found, and so is a commit too few or too many.

#[cfg(feature = "servers")]
mod servers;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use rqps_load::{ClientThreads, Halt, Order, Schedule, Until, Work};
use rqps_plan::{Dbms, Method, Span, StockKey, Tpcc};
use rqps_wire::{Cancel, Connection, SqliteLibrary, Target, scalar};

use super::client::CardPlayer;
use super::deck::Dealer;
use super::driver::TpccDriver;
use super::ledger::CommitLedger;
use super::session::TerminalSession;
use super::{Cardinality, tasks};
use crate::check::CheckError;
use crate::task::{Assigned, Driver, Site};
use crate::{Dialect, Task};

const SMALL: Cardinality = Cardinality { items: 200, customers: 40, undelivered: 12 };

/// A database with two loaded warehouses.
struct Loaded {
    target: Target,
    dbms: Dbms,
    dialect: Dialect,
    plan: Tpcc,
    /// What ends with it: a folder, or a server.
    _kept: Box<dyn Any>,
}

fn plan() -> Tpcc {
    Tpcc {
        warehouses: 2,
        clients: 1,
        time: Span(Duration::from_secs(1)),
        stock_key: StockKey::Wi,
        foreign_keys: false,
        think: false,
        check: true,
    }
}

/// Runs work by its orders.
fn run(assigned: Vec<Assigned>) {
    let (work, orders): (Vec<_>, Vec<_>) = assigned.into_iter().unzip();
    let mut client_threads = ClientThreads::start(work).unwrap();
    client_threads.run(&orders, &mut |_, _| {}, &Cancel::default()).unwrap();
    client_threads.finish();
}

impl Loaded {
    /// On SQLite.
    fn new() -> Loaded {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::Sqlite {
            library: SqliteLibrary::bundled(),
            path: directory.path().join("db"),
            pragmas: vec![("synchronous".to_string(), "off".to_string())],
        };
        Loaded::on(target, (Dbms::Sqlite, Dialect::SQLITE), plan(), Box::new(directory))
    }

    fn on(
        target: Target,
        (dbms, dialect): (Dbms, Dialect),
        plan: Tpcc,
        kept: Box<dyn Any>,
    ) -> Loaded {
        let loaded = Loaded { target, dbms, dialect, plan, _kept: kept };
        loaded.load();
        loaded
    }

    fn load(&self) {
        let load = &tasks(&self.plan)[0];
        let driver = self.driver(Method::Slices);
        driver.prepare(load, 1).unwrap();
        let connected = driver.connect(load, 0, 0).unwrap();
        run(connected.parts.into_iter().map(|part| (part.work, part.order)).collect());
        run(driver.indexers(load).unwrap());
        (connected.end)().unwrap();
    }

    fn driver(&self, method: Method) -> TpccDriver<'_> {
        let site = Site {
            target: &self.target,
            dbms: self.dbms,
            dialect: self.dialect,
            seed: 7,
            is_own: true,
            method,
        };
        TpccDriver { plan: &self.plan, site, scale: SMALL, times: Default::default() }
    }

    fn connect(&self) -> Box<dyn Connection> {
        self.target.connect().unwrap()
    }

    fn number(&self, sql: &str) -> i64 {
        scalar(&mut *self.connect(), sql).unwrap().unwrap().parse().unwrap()
    }

    fn run(&self, sql: &str) {
        assert!(self.connect().run(sql).unwrap() > 0, "{sql} changes nothing");
    }

    /// What the check after some decks of each client says, if something is done between them and
    /// the check.
    fn after(&self, decks: u64, between: impl FnOnce()) -> Result<(), CheckError> {
        let driver = self.driver(Method::Slices);
        let connected = driver.connect(&transactions(), self.plan.clients, 0).unwrap();
        let order = Order { schedule: Schedule::Closed, until: Until::Operations(decks) };
        run(connected.parts.into_iter().map(|part| (part.work, order)).collect());
        between();
        (connected.end)()
    }
}

fn transactions() -> Task {
    tasks(&plan()).remove(1)
}

#[test]
fn tables_grow_by_what_was_done_and_stay_consistent() {
    let loaded = Loaded::new();
    let orders = || loaded.number("select count(*) from orders");
    assert_eq!(orders(), 2 * 10 * 40);
    loaded.after(60, || {}).unwrap();
    let since = orders() - 800;
    // Of 600 new orders one in a hundred is rolled back.
    assert!((580..600).contains(&since), "{since}");
    assert_eq!(loaded.number("select count(*) from history"), 800 + 600);
    assert!(loaded.number("select sum(c_delivery_cnt) from customer") > 500);
    assert!(loaded.number("select count(*) from history where h_w_id <> h_c_w_id") > 0);
    assert!(loaded.number("select sum(s_remote_cnt) from stock") > 0);
    assert!(loaded.number("select max(length(c_data)) from customer") <= 500);
    // Again, from the tables as they are now.
    loaded.after(20, || {}).unwrap();
}

#[test]
fn operations_are_decks_in_slices_and_transactions_in_whole_runs() {
    let loaded = Loaded::new();
    let total = |method| {
        let driver = loaded.driver(method);
        let mut connected = driver.connect(&transactions(), 1, 0).unwrap();
        let work: &mut Box<dyn Work> = &mut connected.parts[0].work;
        work.make(&Halt::default()).unwrap();
        let effect = work.execute().unwrap();
        (connected.worth, effect.statements.reads, effect.statements.writes)
    };
    assert_eq!(total(Method::Slices), (23.0, 2, 21));
    let (worth, reads, writes) = total(Method::Runs);
    assert_eq!((worth, reads + writes), (1.0, 1));
    let driver = loaded.driver(Method::Runs);
    let connected = driver.connect(&transactions(), 1, 0).unwrap();
    let order = Order { schedule: Schedule::Closed, until: Until::Operations(23) };
    run(connected.parts.into_iter().map(|part| (part.work, order)).collect());
    (connected.end)().unwrap();
    let told = driver.told().unwrap();
    assert!(told.contains("new-order ") && told.contains("; stock-level "), "{told}");
}

/// One change for each condition, which breaks no earlier one.
const BREAKS: [(u32, &str); 13] = [
    (1, "update warehouse set w_ytd = w_ytd + 1 where w_id = 2"),
    (2, "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = 1 and d_id = 3"),
    (3, "update new_order set no_o_id = -1 where no_w_id = 1 and no_d_id = 2 and no_o_id = 30"),
    (4, "update orders set o_ol_cnt = o_ol_cnt + 1 where o_w_id = 1 and o_d_id = 2 and o_id = 7"),
    (5, "update orders set o_carrier_id = 5 where o_w_id = 1 and o_d_id = 2 and o_id = 40"),
    (
        6,
        "update orders set o_ol_cnt = o_ol_cnt + (case when o_id = 1 then 1 else -1 end) \
         where o_w_id = 1 and o_d_id = 2 and o_id in (1, 2)",
    ),
    (7, "update order_line set ol_delivery_d = null where ol_w_id = 2 and ol_o_id = 9"),
    (
        8,
        "update history set h_amount = h_amount + 1 where h_w_id = 1 and h_d_id = 1 and h_c_id = 1",
    ),
    (9, "update history set h_d_id = 2 where h_w_id = 1 and h_d_id = 1 and h_c_id = 1"),
    (10, "update customer set c_balance = c_balance + 1 where c_w_id = 2 and c_id = 4"),
    (11, "update customer set c_delivery_cnt = 1 where c_w_id = 2 and c_d_id = 9 and c_id = 4"),
    (12, "update customer set c_ytd_payment = 0 where c_w_id = 2 and c_d_id = 9 and c_id = 4"),
    (10, "delete from customer where c_w_id = 1 and c_d_id = 1 and c_id = 1"),
];

impl Loaded {
    /// One change breaks each condition, and is undone then.
    fn is_broken_by_each_change(&self) {
        let driver = self.driver(Method::Slices);
        let check = |connection: &mut dyn Connection| driver.examiner(connection).conditions();
        let connection = &mut *self.connect();
        check(connection).unwrap();
        for (number, sql) in BREAKS {
            connection.run(self.dialect.begin(true)).unwrap();
            assert!(connection.run(sql).unwrap() > 0, "{sql} changes nothing");
            let error = check(connection).unwrap_err().to_string();
            connection.run("rollback").unwrap();
            let named = format!("consistency condition {number},");
            assert!(error.contains(&named), "{number}: {error}");
        }
        check(connection).unwrap();
    }
}

#[test]
fn one_update_breaks_each_condition() {
    Loaded::new().is_broken_by_each_change();
}

#[test]
fn a_commit_too_few_or_too_many_is_found() {
    let loaded = Loaded::new();
    // A payment that no client knows: all conditions hold with it.
    let payment = || {
        loaded.run("update warehouse set w_ytd = w_ytd + 500 where w_id = 1");
        loaded.run("update district set d_ytd = d_ytd + 500 where d_w_id = 1 and d_id = 1");
        loaded.run(
            "update customer set c_balance = c_balance - 500, c_ytd_payment = c_ytd_payment + 500, \
             c_payment_cnt = c_payment_cnt + 1 where c_w_id = 1 and c_d_id = 1 and c_id = 1",
        );
        loaded.run("insert into history values (1, 1, 1, 1, 1, current_timestamp, 500, 'x')");
    };
    let error = loaded.after(2, payment).unwrap_err().to_string();
    assert!(error.starts_with("warehouse: sum of w_ytd should be"), "{error}");
    // Clients that know of an order that was not committed.
    let driver = loaded.driver(Method::Slices);
    let before = driver.examiner(&mut *loaded.connect()).sums().unwrap();
    let ledger = Arc::new(CommitLedger::default());
    let session = TerminalSession::new(loaded.connect(), Dialect::SQLITE).unwrap();
    let dealer = Dealer::new(7, 3, 1, 2, SMALL);
    let mut client = CardPlayer::new(session, dealer, ledger.clone(), super::client::Played::Deck);
    client.make(&Halt::default()).unwrap();
    client.execute().unwrap();
    let done = ledger.total();
    let check = |done| driver.examiner(&mut *loaded.connect()).after(&before, &done);
    check(done).unwrap();
    let error = check(super::ledger::Commits { new_orders: done.new_orders + 1, ..done });
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("district: sum of d_next_o_id should be"), "{error}");
}

#[test]
fn the_same_draws_make_the_same_tables() {
    let sums = || {
        let loaded = Loaded::new();
        loaded.after(10, || {}).unwrap();
        let lines = "select sum(ol_i_id * ol_number) + sum(ol_amount) from order_line";
        (loaded.number(lines), loaded.number("select sum(h_amount * h_c_id) from history"))
    };
    assert_eq!(sums(), sums());
}

#[test]
fn statements_have_query_plans() {
    let loaded = Loaded::new();
    let explained = loaded.driver(Method::Slices).explained(&transactions()).unwrap();
    let of = |start: &str| {
        let found = explained.iter().find(|one| one.text.starts_with(start));
        found.and_then(|one| one.plan.clone()).unwrap_or_default()
    };
    assert!(of("select c_id from customer").contains("customer_by_name"));
    assert!(of("select o_id, o_entry_d").contains("orders_by_customer"));
    assert_eq!(of("insert into orders"), "");
}
