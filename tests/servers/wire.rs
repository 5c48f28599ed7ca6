//! The Postgres client against a real server: logging in, counting rows, errors, and endings.

use std::fs;
use std::sync::mpsc::channel;

use crate::common::{await_that, processes};
use rqps_dbms::{Home, Place, Server};
use rqps_system::Cancel;
use rqps_wire::{
    Address, Connection, Error, ErrorClass, FetchedRows, Login, Target, Type, Value, scalar,
};
use tempfile::TempDir;

/// A server that ends with the test.
struct Fixture {
    server: Box<dyn Server>,
    login: Login,
    _directory: TempDir,
    _turn: crate::common::Rqps,
}

impl Fixture {
    fn start() -> Fixture {
        let rqps = crate::common::Rqps::new();
        let directory = crate::common::directory();
        let home = Home::at(rqps.home()).unwrap();
        let contender = "postgres@17.6".parse().unwrap();
        let mut patient = |_| Ok(());
        let dbms = rqps_dbms::prepare(&home, &contender, &mut patient, &Cancel::default()).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let password = Some(rqps_dbms::new_password());
        let place = Place { data, log, password, ..Place::default() };
        let server = dbms.start(&home, &place, &Cancel::default()).unwrap();
        let Target::Postgres(login) = server.target().clone() else { panic!("not Postgres") };
        Fixture { server, login, _directory: directory, _turn: rqps }
    }

    fn connect(&self) -> Box<dyn Connection> {
        self.server.target().connect().unwrap()
    }

    fn as_user(&self, user: &str, password: Option<&str>, tcp: bool) -> Target {
        let mut login = self.login.clone();
        login.user = user.to_string();
        login.password = password.map(str::to_string);
        if tcp {
            let port = self.server.port().unwrap();
            login.address = Address::Tcp { host: "127.0.0.1".to_string(), port };
        }
        Target::Postgres(login)
    }

    /// Has everyone but rqps's own user log in by a method.
    fn demand(&self, method: &str) {
        let mut connection = self.connect();
        let hba = scalar(&mut *connection, "show hba_file").unwrap().unwrap();
        let rules = format!(
            "local all rqps trust\n\
             local all all {method}\n\
             host all all 127.0.0.1/32 {method}\n"
        );
        fs::write(hba, rules).unwrap();
        let loaded = "select pg_conf_load_time()";
        let before = scalar(&mut *connection, loaded).unwrap();
        connection.run("select pg_reload_conf()").unwrap();
        // The server reads the rules before a new connection can see the later time.
        await_that("the rules are loaded", || {
            let now = scalar(&mut *self.connect(), loaded).unwrap();
            now != before
        });
    }
}

#[test]
fn every_method_of_logging_in_over_both_transports() {
    let fixture = Fixture::start();
    let mut control = fixture.connect();
    for (user, encryption) in [("ann", "md5"), ("bob", "scram-sha-256")] {
        control.run(&format!("set password_encryption = '{encryption}'")).unwrap();
        control.run(&format!("create role {user} login password 'pa ss:wörd'")).unwrap();
    }
    let password = Some("pa ss:wörd");
    for (method, user) in
        [("trust", "ann"), ("password", "ann"), ("md5", "ann"), ("scram-sha-256", "bob")]
    {
        fixture.demand(method);
        for tcp in [false, true] {
            let log_in = |password| fixture.as_user(user, password, tcp).connect();
            let case = format!("{method}, tcp: {tcp}");
            if method == "password" && tcp {
                let refused = log_in(password).err().expect(&case).to_string();
                assert!(refused.contains("not encrypted. Add sslmode=verify-full"), "{refused}");
                continue;
            }
            let mut connection = log_in(password).unwrap_or_else(|e| panic!("{case}: {e}"));
            assert_eq!(scalar(&mut *connection, "select current_user").unwrap().unwrap(), user);
            let transport = "select coalesce(host(inet_client_addr()), 'unix')";
            let transport = scalar(&mut *connection, transport).unwrap().unwrap();
            assert_eq!(transport, if tcp { "127.0.0.1" } else { "unix" });
            if method == "trust" {
                assert!(log_in(None).is_ok(), "{case}");
                continue;
            }
            let wrong = log_in(Some("hunter2")).err().expect(&case).to_string();
            assert!(wrong.contains(&format!("cannot log in as '{user}'")), "{case}: {wrong}");
            assert!(wrong.contains("password authentication failed"), "{case}: {wrong}");
            assert!(!wrong.contains("hunter2"), "{case}: {wrong}");
            let missing = log_in(None).err().expect(&case).to_string();
            assert!(missing.contains("the server asks for a password"), "{case}: {missing}");
            assert!(missing.contains("PGPASSWORD"), "{case}: {missing}");
        }
    }
    let error = fixture.as_user("nobody_of_this_name", password, false).connect().err().unwrap();
    assert!(matches!(error, Error::Login { .. }), "{error}");
}

#[test]
fn rows_are_counted_and_errors_leave_the_connection_usable() {
    let fixture = Fixture::start();
    let mut connection = fixture.connect();
    let connection = &mut *connection;
    connection.run("create table t (id int8 primary key, n int4, v varchar)").unwrap();
    let insert = "insert into t select i, i, 'v' || i from generate_series(1, 10000) i";
    assert_eq!(connection.run(insert).unwrap(), 10_000);
    assert_eq!(connection.run("select * from t").unwrap(), 10_000);
    assert_eq!(connection.run("select * from t where id > 10000").unwrap(), 0);
    assert_eq!(connection.run("update t set n = n where id <= 7").unwrap(), 7);
    assert_eq!(connection.run("delete from t where id > 9990").unwrap(), 10);
    assert_eq!(connection.run("delete from t where id > 9990").unwrap(), 0);
    assert_eq!(connection.run("create index t_n on t (n)").unwrap(), 0);

    let types = [Type::Int8, Type::Int4, Type::Varchar];
    let insert = connection.prepare("insert into t values ($1, $2, $3)", &types).unwrap();
    let values = [Value::Int(1 << 40), Value::Int(-5), Value::Text("grün".as_bytes())];
    assert_eq!(connection.execute(insert, &values).unwrap(), 1);
    let select = connection.prepare("select * from t where id <= $1", &[Type::Int8]).unwrap();
    assert_eq!(connection.execute(select, &[Value::Int(20_000)]).unwrap(), 9_990);
    assert_eq!(connection.execute(select, &[Value::Int(0)]).unwrap(), 0);
    let stored = connection.query("select n, v, null, '' from t where id = 1 << 40::int8").err();
    assert!(stored.is_some(), "1 << 40 overflows in SQL as in Rust");
    let stored = connection.query("select n, v, null, '' from t where id > 20000").unwrap();
    let text = |text: &str| Some(text.to_string());
    assert_eq!(stored, [vec![text("-5"), text("grün"), None, text("")]]);

    // The same with values: of numbers, texts, decimals and NULL, and of a command without rows.
    let mut rows = FetchedRows::default();
    let sql = "select id, n, v, n / 4.0, null from t where id > $1 order by id";
    let found = connection.prepare(sql, &[Type::Int8]).unwrap();
    assert_eq!(connection.fetch(found, &[Value::Int(9_989)], &mut rows).unwrap(), 2);
    assert_eq!((rows.int(0, 0).unwrap(), rows.int(1, 1).unwrap()), (9_990, -5));
    assert_eq!(rows.bytes(1, 2).unwrap(), "grün".as_bytes());
    let (digits, places) = rows.decimal(1, 3).unwrap();
    assert_eq!(digits * 100, -125 * 10_i64.pow(places as u32));
    assert!(rows.int(1, 4).is_err() && rows.bytes(1, 4).is_err());
    assert_eq!(connection.fetch(found, &[Value::Int(1 << 50)], &mut rows).unwrap(), 0);
    assert!(rows.is_empty());
    assert_eq!(connection.execute(found, &[Value::Int(9_989)]).unwrap(), 2);
    let values = [Value::Int(-1), Value::Int(0), Value::Null];
    assert_eq!(connection.fetch(insert, &values, &mut rows).unwrap(), 1);
    assert!(connection.fetch(insert, &values, &mut rows).is_err(), "the key is there");
    assert_eq!(connection.run("delete from t where id = -1").unwrap(), 1);

    // A row that is larger than the buffer, between others.
    let large = "select repeat('x', case when i = 2 then 5000000 else 3 end) \
                 from generate_series(1, 3) i";
    assert_eq!(connection.run(large).unwrap(), 3);
    let rows = connection.query(large).unwrap();
    let lengths: Vec<usize> = rows.iter().map(|row| row[0].as_ref().unwrap().len()).collect();
    assert_eq!(lengths, [3, 5_000_000, 3]);

    for sql in ["select 1 / 0", "select nothing", "insert into t values (1, 1, 'twice')"] {
        let error = connection.run(sql).unwrap_err();
        assert!(matches!(error, Error::Server { .. }), "{sql}: {error}");
        assert_eq!(error.class(), ErrorClass::Stop);
        assert_eq!(connection.run("select 1").unwrap(), 1, "after {sql}");
    }
    let error = connection.execute(insert, &[Value::Int(1), Value::Int(1), Value::Text(b"")]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("23505") && error.contains("Key (id)=(1)"), "{error}");
    assert_eq!(connection.execute(select, &[Value::Int(5)]).unwrap(), 5, "after an error");
    assert!(connection.prepare("select * from nowhere", &[]).is_err());
    assert_eq!(connection.execute(select, &[Value::Int(5)]).unwrap(), 5, "after a failed prepare");
    assert!(connection.query("select nothing").is_err());
    assert_eq!(scalar(connection, "select 7").unwrap(), text("7"));
}

#[test]
fn a_victim_of_other_transactions_is_told_to_try_again() {
    let fixture = Fixture::start();
    let (mut a, mut b) = (fixture.connect(), fixture.connect());
    a.run("create table t (id int primary key, n int)").unwrap();
    a.run("insert into t values (1, 0), (2, 0)").unwrap();

    for connection in [&mut a, &mut b] {
        connection.run("begin isolation level repeatable read").unwrap();
        connection.run("select * from t").unwrap();
    }
    a.run("update t set n = 1 where id = 1").unwrap();
    a.run("commit").unwrap();
    let error = b.run("update t set n = 2 where id = 1").unwrap_err();
    assert!(error.to_string().contains("40001"), "{error}");
    assert_eq!(error.class(), ErrorClass::Retry);
    b.run("rollback").unwrap();

    // Each holds a row and wants the other's; the server ends one of them.
    for (connection, id) in [(&mut a, 1), (&mut b, 2)] {
        connection.run("set deadlock_timeout = '20ms'").unwrap();
        connection.run("begin").unwrap();
        connection.run(&format!("update t set n = 3 where id = {id}")).unwrap();
    }
    let results = std::thread::scope(|scope| {
        let other =
            scope.spawn(|| b.run("update t set n = 4 where id = 1").map(|_| b.run("commit")));
        let mine = a.run("update t set n = 4 where id = 2").map(|_| a.run("commit"));
        // Whichever was ended lets the other go on when its transaction is over.
        if mine.is_err() {
            a.run("rollback").unwrap();
        }
        [mine, other.join().unwrap()]
    });
    let errors: Vec<&Error> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert_eq!(errors.len(), 1, "one victim: {results:?}");
    assert!(errors[0].to_string().contains("40P01"), "{}", errors[0]);
    assert_eq!(errors[0].class(), ErrorClass::Retry);
}

#[test]
fn a_statement_can_be_cancelled_without_its_connection() {
    let fixture = Fixture::start();
    let mut sleeper = fixture.connect();
    let interrupter = sleeper.hand_over().unwrap();
    let (done, ended) = channel();
    std::thread::spawn(move || {
        let slept = sleeper.run("select pg_sleep(600)");
        let after = sleeper.run("select 1");
        done.send((slept, after)).unwrap();
    });
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
    let sleeping = |many: &str| scalar(&mut *fixture.connect(), asleep).unwrap().unwrap() == many;
    await_that("the server sleeps", || sleeping("1"));
    interrupter.cancel_statement();
    let (slept, after) = ended.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    let error = slept.unwrap_err();
    assert!(error.to_string().contains("57014"), "{error}");
    assert_eq!(after.unwrap(), 1);
    assert!(sleeping("0"), "the server has ended it");
}

#[test]
fn control_work_that_is_given_up_does_not_go_on_in_the_server() {
    let fixture = Fixture::start();
    let Target::Postgres(login) = fixture.server.target().clone() else { panic!("a Postgres") };
    let login = rqps_wire::Login { cancel: Cancel::default(), ..login };
    let cancel = login.cancel.clone();
    let mut sleeper = Target::Postgres(login).connect().unwrap();
    let slept = std::thread::spawn(move || sleeper.run("select pg_sleep(600)"));
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
    let sleeping = |many: &str| scalar(&mut *fixture.connect(), asleep).unwrap().unwrap() == many;
    await_that("the server sleeps", || sleeping("1"));
    cancel.request();
    assert!(matches!(slept.join().unwrap(), Err(Error::Interrupted(_))));
    await_that("the server has ended it", || sleeping("0"));
}

#[test]
fn a_blocked_call_can_be_interrupted_and_a_dead_server_is_noticed() {
    let fixture = Fixture::start();
    let mut control = fixture.connect();
    let mut sleeper = fixture.connect();
    let interrupter = sleeper.interrupter().unwrap();
    let (done, ended) = channel();
    std::thread::spawn(move || done.send(sleeper.run("select pg_sleep(600)")).unwrap());
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
    await_that("the server sleeps", || {
        scalar(&mut *fixture.connect(), asleep).unwrap().unwrap() == "1"
    });
    interrupter.interrupt();
    let result = ended.recv_timeout(std::time::Duration::from_secs(60)).expect("it ends at once");
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Closed | Error::Interrupted(_)), "{error}");

    // One backend ended by an administrator, then the whole server by a signal.
    let mut victim = fixture.connect();
    let pid = scalar(&mut *victim, "select pg_backend_pid()").unwrap().unwrap();
    control.run(&format!("select pg_terminate_backend({pid}, 60000)")).unwrap();
    let error = victim.run("select 1").unwrap_err();
    assert!(error.is_disconnect(), "{error}");
    let mut waiting = fixture.connect();
    processes::kill(fixture.server.process().unwrap() as i32);
    let error = loop {
        // Its backends end a moment after it.
        if let Err(error) = waiting.run("select 1") {
            break error;
        }
    };
    assert!(error.is_disconnect(), "{error}");
    await_that("nobody listens", || fixture.server.target().connect().is_err());
    let error = fixture.server.target().connect().err().unwrap();
    assert!(error.is_disconnect(), "{error}");
}
