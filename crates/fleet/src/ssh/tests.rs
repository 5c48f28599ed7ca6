use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const QUICK: Patience = Patience {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(4),
    most: Duration::from_secs(60),
};

fn cell(id: &str) -> CellSpec {
    CellSpec {
        id: id.to_string(),
        machine: "m".to_string(),
        workload: "w".to_string(),
        repeat: 1,
        limit: "1h".parse().unwrap(),
        max_attempts: 3,
        binary: String::new(),
        plan: String::new(),
    }
}

fn options() -> SshOptions {
    SshOptions {
        rqps: "/opt/it's here/rqps".to_string(),
        home: "/var/`id`".to_string(),
        folder: Some("/var/fleet $HOME".to_string()),
        config: Some("ssh_config".into()),
    }
}

#[test]
fn a_host_gets_each_word_as_it_is() {
    let ssh = Ssh::new(Path::new("/here"), "abc", &options(), Path::new("/near"));
    let shown = ssh.shown("me@db1", &cell("c1")).unwrap();
    let words = shlex::split(&shown).unwrap();
    assert_eq!(words[..6], ["ssh"].into_iter().chain(OPTIONS).collect::<Vec<_>>()[..]);
    assert_eq!(words[6..10], ["-F", "/near/ssh_config", "--", "me@db1"]);
    let [command] = &words[10..] else { panic!("{words:?}") };
    let remote = shlex::split(command).unwrap();
    assert_eq!(remote[0], format!("{HOME}=/var/`id`"));
    let expected = ["exec", "/opt/it's here/rqps", "fleet", "cell", "/var/fleet $HOME", "c1"];
    assert_eq!(remote[1..7], expected);
}

#[test]
fn each_host_has_one_cell_at_a_time_and_all_are_measured() {
    let cells: Vec<CellSpec> = (0..20).map(|at| cell(&format!("c{at}"))).collect();
    let hosts = ["a", "b", "c"].map(str::to_string);
    let at_once: BTreeMap<&str, AtomicUsize> =
        hosts.iter().map(|host| (host.as_str(), AtomicUsize::new(0))).collect();
    let measure = |host: &str, _: &CellSpec| {
        assert_eq!(at_once[host].fetch_add(1, Ordering::SeqCst), 0, "{host} has two cells");
        thread::sleep(Duration::from_millis(2));
        at_once[host].fetch_sub(1, Ordering::SeqCst);
        OnHost::Measured
    };
    let cancel = Cancel::default();
    let mut driven = drive(&hosts, &cells, QUICK, &cancel, &measure, &|_| ());
    driven.sort_by(|one, other| one.cell.cmp(&other.cell));
    driven.dedup_by(|one, other| one.cell == other.cell);
    assert_eq!(driven.len(), 20);
}

/// A lost connection and a busy machine look alike: the cell is asked for again on the same host.
#[test]
fn a_cell_stays_with_the_host_that_is_busy_with_it() {
    let asked = Mutex::new(Vec::new());
    let measure = |host: &str, cell: &CellSpec| {
        let mut asked = asked.lock().unwrap();
        asked.push((host.to_string(), cell.id.clone()));
        let times = asked.iter().filter(|(_, id)| *id == cell.id).count();
        match times {
            1 | 2 => OnHost::Later("connection lost".to_string()),
            _ => OnHost::Measured,
        }
    };
    let cells = [cell("c1"), cell("c2")];
    let hosts = ["a", "b"].map(str::to_string);
    let driven = drive(&hosts, &cells, QUICK, &Cancel::default(), &measure, &|_| ());
    assert!(driven.iter().all(|one| one.outcome == OnHost::Measured), "{driven:?}");
    for one in driven {
        let asked = asked.lock().unwrap();
        let mut hosts = asked.iter().filter(|(_, id)| *id == one.cell).map(|(host, _)| host);
        assert!(hosts.all(|host| *host == one.host));
    }
}

#[test]
fn a_failure_is_told_and_the_next_cell_is_tried() {
    let measure = |_: &str, cell: &CellSpec| match cell.id.as_str() {
        "c1" => OnHost::Failed("no disk".to_string()),
        _ => OnHost::Measured,
    };
    let told = AtomicUsize::new(0);
    let tell = |_: &Driven| {
        told.fetch_add(1, Ordering::SeqCst);
    };
    let cells = [cell("c1"), cell("c2")];
    let hosts = ["a".to_string()];
    let driven = drive(&hosts, &cells, QUICK, &Cancel::default(), &measure, &tell);
    assert_eq!(driven[0].outcome, OnHost::Failed("no disk".to_string()));
    assert_eq!(driven[1].outcome, OnHost::Measured);
    assert_eq!(told.load(Ordering::SeqCst), 2);
}

#[test]
fn nothing_is_begun_after_a_person_wants_to_stop() {
    let cancel = Cancel::default();
    let measure = |_: &str, _: &CellSpec| {
        cancel.request();
        OnHost::Later("interrupted".to_string())
    };
    let cells = [cell("c1"), cell("c2")];
    let driven = drive(&["a".to_string()], &cells, Patience::USUAL, &cancel, &measure, &|_| ());
    assert_eq!(driven.len(), 1);
}
