//! Runs of one contender.

use std::fs;

use crate::common::result::Finished;
use crate::common::{Rqps, Running};

fn sysbench(rqps: &Rqps, words: &str) -> Finished {
    let all = ["sysbench"].into_iter().chain(words.split_whitespace());
    Running::start(rqps.command(all)).finish()
}

#[test]
fn a_build_is_prepared_run_and_removed() {
    let rqps = Rqps::new();
    // Nothing is written: a transaction that is a victim of another is begun again.
    let words = "oltp_read_only --threads=2 --events=40 --time=0 --table-size=1000 --tables=2 run \
                 mariadb@11.4.5";
    let ended = sysbench(&rqps, words);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    for part in [
        "Creating table 'sbtest2'...\n",
        "Number of threads: 2\n",
        "Threads started!\n",
        "    transactions:                        40     (",
        "        read:                            560\n",
        "    total number of events:              40\n",
        "        95th percentile:",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    rqps.assert_nothing_is_left();
}

#[test]
fn a_script_that_fails_on_the_server_is_told_with_its_line() {
    let rqps = Rqps::new();
    let path = rqps.path("mine.lua");
    let script = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                  function event()\n   con:query('select no_such_column')\nend\n";
    fs::write(&path, script).unwrap();
    let ended = sysbench(&rqps, &format!("{} --events=1 run postgres@17.6", path.display()));
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stdout);
    let told = "error: mine.lua:3: SQL error, errno = 0, state = '42703': column \
                \"no_such_column\" does not exist";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(!ended.stdout.contains("SQL statistics"), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

#[test]
fn limits_and_reports_are_those_of_the_options() {
    let rqps = Rqps::new();
    let path = rqps.path("sleeps.lua");
    let script = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                  function event() con:query('select pg_sleep(0.02)') end\n\
                  function sysbench.hooks.report_cumulative(stat)\n\
                     print('mine', stat.events > 10, stat.reads == stat.events)\nend\n";
    fs::write(&path, script).unwrap();
    let words = format!(
        "{} --threads=2 --time=2 --rate=20 --report-interval=1 --warmup-time=1 run postgres@17.6",
        path.display()
    );
    let ended = sysbench(&rqps, &words);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    for part in [
        "Warming up for 1 seconds...",
        "[ 1s ] thds: 2 tps: ",
        "queue length: ",
        "mine\ttrue\ttrue",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    // An event that never ends is ended.
    fs::write(&path, script.replace("0.02", "600").replace("events > 10", "events == 0")).unwrap();
    let words = format!("{} --time=1 --forced-shutdown=1 run postgres@17.6", path.display());
    let ended = sysbench(&rqps, &words);
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    let told = "Number of unfinished transactions on forced shutdown: 1";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_script_that_never_returns_is_ended_by_force() {
    let rqps = Rqps::new();
    let path = rqps.path("endless.lua");
    fs::write(&path, "function event() while true do end end\n").unwrap();
    let words = format!("{} --time=1 --forced-shutdown=1 run sqlite", path.display());
    let ended = sysbench(&rqps, &words);
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("the script does not return"), "{}", ended.stderr);
    let told = "Number of unfinished transactions on forced shutdown: 1";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}
