//! Named configs and caches as a user sees them: what is listed, what is refused, and what a run
//! and its report say of them. That each starts on a real build is seen to in `rqps-dbms`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::Rqps;
use crate::common::processes::signal;
use crate::common::result::RunResult;
use rustix::process::Signal;

const SMALL: &str = "--rows 2K --writes 500,50 --rates 100 --query-secs 1";

#[test]
fn configs_are_listed_with_what_they_are_for() {
    let rqps = Rqps::new();
    let all = rqps.run("dbms configs").ok().stdout;
    let line = |text: &str, name: &str| {
        let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.find(|words| words.get(1) == Some(&name)).map(|words| words.join(" "))
    };
    for (name, purpose) in [
        ("x9a2c", "postgres x9a2c 2024: x9a2 with an autovacuum that looks for work every second"),
        ("y9c4g", "myrocks y9c4g 2023: y9c with a small cache, so that the OS page cache holds"),
    ] {
        let line = line(&all, name).unwrap_or_default();
        assert!(line.starts_with(purpose), "{line}");
    }
    let of_myrocks = rqps.run("dbms configs mariadb/rocksdb").ok().stdout;
    assert!(line(&of_myrocks, "za1").is_some() && line(&of_myrocks, "z12a").is_none());
}

#[test]
fn a_config_is_shown_as_its_file_and_as_this_machine_has_it() {
    let rqps = Rqps::new();
    let file = rqps.run("dbms configs cx10a").ok().stdout;
    assert!(file.contains("include x9a2\nshared_buffers = 70%"), "{file}");
    let here = rqps.run("dbms configs postgres:x10a?jit=on").ok().stdout;
    assert!(here.contains("\njit = on\n") && here.contains("\nhuge_pages = off\n"), "{here}");
    assert!(!here.contains("shared_buffers = 70%"), "{here}");
    rqps.run("dbms configs x10").refuses(2, &["unknown DBMS or config 'x10': did you mean 'x"]);
    rqps.run("dbms configs postgres:x11").refuses(2, &["postgres has no config 'x11'"]);
}

#[test]
fn a_server_has_the_library_and_variable_of_its_contender_or_does_not_start() {
    let rqps = Rqps::new();
    let (library, source) = (rqps.path("empty.so"), rqps.path("empty.c"));
    fs::write(&source, "int rqps_nothing;\n").unwrap();
    let compiled = Command::new("cc").args(["-shared", "-o"]).args([&library, &source]).status();
    assert!(compiled.unwrap().success());
    let run = |preload: &Path| {
        let _ = fs::remove_dir_all(rqps.out());
        let process = "process.env.MALLOC_ARENA_MAX=1";
        let preload = preload.display();
        rqps.micro(&format!(
            "a=postgres@17.6?{process}&process.preload={preload} --rows 1K --secs 0.1 --tests point-query"
        ))
    };
    run(&library).ok();
    let settings = RunResult::of(&rqps.out()).0["contenders"][0]["settings"].clone();
    assert_eq!(settings["process.preload"], library.display().to_string());
    assert_eq!(settings["process.env.MALLOC_ARENA_MAX"], "1");
    let failed = run(&source);
    assert!(!failed.status.success());
    failed.says(&["did not start", "empty.c' was not loaded"]);
    rqps.assert_no_server_is_left();
}

#[test]
fn the_cache_is_chosen_from_the_size_of_the_data() {
    let cache = |arguments: &str| {
        let rqps = Rqps::new();
        rqps.ibench(&format!("a=sqlite b=sqlite?cache_size=-999 {arguments}")).ok();
        let plan = fs::read_to_string(rqps.out().join("plan.toml")).unwrap();
        let result = RunResult::of(&rqps.out());
        let contenders = result.0["contenders"].as_array().unwrap().clone();
        let size = |index: usize| contenders[index]["settings"]["cache_size"].clone();
        assert_eq!(size(1), "-999", "a setting of the contender's own wins");
        let report = fs::read_to_string(rqps.out().join("report.html")).unwrap();
        let differs = |name: &str| report.contains(&format!("<th scope=\"row\">{name}</th>"));
        assert!(differs("cache_size") && !differs("journal_mode"), "only what differs");
        (plan, size(0).as_str().unwrap().parse::<i64>().unwrap())
    };
    let (plan, small) = cache(&format!("{SMALL} --cached"));
    assert!(plan.contains("cache = \"cached\""), "{plan}");
    assert_eq!(small, -(128 << 10), "2K rows fit the least cache");
    // The fewest rows that are larger than the least cache.
    let (plan, tenth) = cache("--rows 600K --only l.i0 --no-check --io-bound");
    assert!(plan.contains("cache = \"io-bound\""), "{plan}");
    assert_eq!(tenth, -(600_000 * 140 / 10 / 1024));
    let (plan, _) = cache(SMALL);
    assert!(!plan.contains("cache ="), "{plan}");
}

#[test]
fn a_cache_that_cannot_be_is_refused_with_what_can() {
    let rqps = Rqps::new();
    rqps.ibench("sqlite --rows 900G --cached")
        .refuses(2, &["of the memory that it may use", "rows"]);
    rqps.ibench("sqlite --rows 2K --io-bound").refuses(2, &["Load 600K rows or more"]);
    let url = "postgres://ann@localhost/db";
    rqps.ibench(&format!("{url} {SMALL} --cached")).refuses(2, &["it is a remote server"]);
    rqps.ibench("sqlite --cached --io-bound").expect_code(2).says(&["cannot be used with"]);
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn a_run_with_a_chosen_cache_goes_on_with_it() {
    let rqps = Rqps::new();
    let arguments = SMALL.replace("--query-secs 1", "--query-secs 4");
    let running = rqps.start_ibench(&format!("mariadb@10.11/rocksdb:cza1 {arguments} --cached"));
    running.wait_for("qr100 (5 of 6)");
    signal(running.pid(), Signal::INT);
    running.finish().expect_code(130);
    rqps.resume().ok();
    let result = RunResult::of(&rqps.out());
    result.assert_all_done();
    let settings = &result.0["contenders"][0]["settings"];
    assert_eq!(settings["rocksdb_block_cache_size"], (128 << 20).to_string());
    assert_eq!(settings["rocksdb_block_size"], "8192");
    rqps.assert_nothing_is_left();
}

#[test]
fn a_build_without_myrocks_is_refused() {
    let rqps = Rqps::new();
    let ended = rqps.ibench(&format!("mariadb@11.4.5/rocksdb {SMALL}"));
    ended.refuses(2, &["has no MyRocks. Use Debian's MariaDB, as in mariadb@debian-10.11/rocksdb"]);
}
