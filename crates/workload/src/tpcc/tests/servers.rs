//! The same on real servers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use rqps_dbms::{Home, Place, Server};
use rqps_plan::{Contender, StockKey, Tpcc};
use rqps_wire::Cancel;

use super::{Loaded, plan};
use crate::Dialect;

const SERVERS: [&str; 3] = ["postgres@17.6", "mysql@8.0.33", "mariadb@11.4.5"];

/// Loads a server that ends with the test.
fn loaded(contender: &str, plan: Tpcc) -> Loaded {
    // Builds are shared with all tests of the workspace.
    let store = std::env::var_os("RQPS_TEST_HOME")
        .map_or(PathBuf::from("/var/tmp/rqps-tests"), PathBuf::from);
    fs::create_dir_all(store.join("builds")).unwrap();
    let directory = tempfile::Builder::new().prefix("w").tempdir_in(&store).unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("home")).unwrap();
    for open in [directory.path(), &path("home")] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink(store.join("builds"), path("home").join("builds")).unwrap();
    let home = Home::at(path("home")).unwrap();
    let contender: Contender = contender.parse().unwrap();
    let cancel = Cancel::default();
    let dbms = rqps_dbms::prepare(&home, &contender, &mut |_| Ok(()), &cancel).unwrap();
    let place = Place { data: path("data"), log: path("log"), ..Place::default() };
    let server: Box<dyn Server> = dbms.start(&home, &place, &cancel).unwrap();
    let (target, of) = (server.target().clone(), (contender.dbms, Dialect::from(&contender)));
    // The server ends before its folder goes.
    Loaded::on(target, of, plan, Box::new((server, directory)))
}

#[test]
fn clients_of_all_servers_keep_the_tables_consistent() {
    for contender in SERVERS {
        // Six clients share two warehouses: they wait for each other.
        let loaded = loaded(contender, Tpcc { clients: 6, ..plan() });
        loaded.is_broken_by_each_change();
        loaded.after(8, || {}).unwrap_or_else(|error| panic!("{contender}: {error}"));
        assert!(loaded.number("select max(length(c_data)) from customer") <= 500);
    }
}

#[test]
fn foreign_keys_and_the_other_key_of_the_stock_are_made() {
    for contender in SERVERS {
        let keyed = Tpcc { stock_key: StockKey::Iw, foreign_keys: true, clients: 2, ..plan() };
        let loaded = loaded(contender, keyed);
        loaded.after(4, || {}).unwrap_or_else(|error| panic!("{contender}: {error}"));
        let sql = "select count(*) from information_schema.referential_constraints";
        assert_eq!(loaded.number(sql), 10, "{contender}");
    }
}

#[test]
fn plans_of_postgres_use_the_indexes() {
    use crate::task::Driver;
    let loaded = loaded("postgres@17.6", plan());
    let driver = loaded.driver(rqps_plan::Method::Slices);
    let explained = driver.explained(&super::transactions()).unwrap();
    // Every statement but the inserts has a plan, so that its text and its values are valid.
    for one in &explained {
        assert_eq!(one.plan.is_none(), one.text.starts_with("insert"), "{}", one.text);
    }
}
