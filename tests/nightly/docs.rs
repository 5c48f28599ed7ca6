//! Runs the commands of the documentation, in the order of each page.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use crate::common::pages::{Page, pages, root, workflow};
use crate::common::{Rqps, TURNS, can_limit_memory, lock};
use rcgen::{CertificateParams, KeyPair};

/// A comparison may find a regression: that exit code is a verdict, not a failure of the page.
/// `cargo run` uses the rqps that the tests have built, and no other cargo command is allowed.
/// Manual pages are shown where `man` exists. With `$FEW` a comparison takes seconds, with `$SHORT`
/// the Insert Benchmark.
const PRELUDE: &str = r#"
    rqps() { command rqps "$@" || [ "$? $1" = "1 compare" ]; }
    cargo() { [ "${*:1:3}" = "run --release --" ] && rqps "${@:4}"; }
    command -v man > /dev/null || man() { cat > /dev/null; }
    FEW='--rows 10K --secs 0.2 --rounds 3 --loads 1 --no-control --no-guards'
    SHORT='--rows 10K --writes 1K,100 --rates 100 --query-secs 1'
"#;

/// The assumptions of a page, and its replacements.
struct Given {
    page: &'static str,
    /// Run before its first block, and after its last.
    before: &'static str,
    after: &'static str,
    /// In blocks marked `sh,small`, the second replaces the first, in this order.
    small: &'static [(&'static str, &'static str)],
    /// It limits the memory of servers, which not every machine allows.
    limits_memory: bool,
    /// It encrypts: `ca.pem` is the authority of a server called `localhost` with `server.key`.
    encrypts: bool,
}

const NOTHING: Given =
    Given { page: "", before: "", after: "", small: &[], limits_memory: false, encrypts: false };

/// Flags stay unchanged, except sizes and times. SQLite replaces servers where the page is not
/// about them, and MySQL and MariaDB in comparisons, where starting them takes most of the time:
/// `src/cli/documents.rs` parses the named contenders, and other tests start them.
static GIVEN: [Given; 16] = [
    Given {
        page: "README.md",
        small: &[("--budget 2m", "--budget 2m --workload micro:point-query $FEW")],
        ..NOTHING
    },
    Given {
        page: "docs/config-sweep.md",
        small: &[
            ("--out out/wal", "$FEW --out out/wal"),
            (
                "mysql@8.0.33:z12a 'flush=mysql@8.0.33:z12a?innodb_flush_log_at_trx_commit=1'",
                "sqlite 'flush=sqlite?synchronous=full' $FEW",
            ),
            (
                "'postgres@17:x9a2{,a,b,c}' --workload ibench --rows 1M",
                "'sqlite{,?mmap_size=256M}' --workload ibench:l.i0 --rows 10K --rounds 3 --no-control --no-guards",
            ),
            (
                "'postgres@{17,18}:x10{a,b}' --workload micro:range",
                "'sqlite:{base,stock}' --workload micro:range-covered-pk $FEW",
            ),
            ("micro:point,range", "micro:point-query $FEW"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/files.md",
        before: "rqps ibench postgres@17.6 $SHORT --out other/pg",
        small: &[
            ("--out out/18", "--workload micro:point-query $FEW --out out/18"),
            ("--rows 200K --writes 40K,5K --query-secs 5", "$SHORT"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/instructions.md",
        before: "rqps dbms fetch postgres@npm-17.6 postgres@npm-18.0",
        small: &[
            (
                "postgres@15 postgres@17 --workload micro:hot-points",
                "postgres@17.6 postgres@18.0 --workload micro:point-query $FEW",
            ),
            ("/opt/base", "$RQPS_HOME/builds/postgres-17.6-npm"),
            ("/opt/head", "$RQPS_HOME/builds/postgres-18.0-npm"),
            ("micro:point,range", "micro:point-query --rows 2K"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/io-bound.md",
        small: &[
            ("postgres@17 postgres@18 --rows 10M", "postgres@17.6 --rows 300K --rates 100"),
            // A tenth of so few rows is too small a cache for a server.
            ("--rows 10M --io-bound --query-secs 300", "--rows 10K --only l.i0"),
            ("--query-secs 300", "--query-secs 1 --writes 1K,100"),
            ("ibench --rows 10M", "ibench:l.i0 --rows 300K --rounds 3 --no-control --no-guards"),
            (
                "mariadb@10.11 mariadb@11.8 --workload micro:point --rows 20M",
                "postgres@17.6 postgres@18.0 --workload micro:point-query --rows 200K --secs 0.2 \
                 --rounds 3 --loads 1 --no-control --no-guards",
            ),
        ],
        limits_memory: true,
        ..NOTHING
    },
    Given {
        page: "docs/microbenchmarks.md",
        small: &[("--secs 4", "--secs 0.3 --rows 10K")],
        ..NOTHING
    },
    Given {
        page: "docs/own-build.md",
        before: "rqps dbms fetch postgres@npm-17.6 postgres@npm-18.0",
        small: &[
            (
                "base=mysql@/opt/mysql/base head=mysql@/opt/mysql/head",
                "base=sqlite head=sqlite $FEW",
            ),
            ("/opt/pg/base", "$RQPS_HOME/builds/postgres-17.6-npm"),
            ("/opt/pg/head", "$RQPS_HOME/builds/postgres-18.0-npm"),
            ("--out out/patch", "--workload micro:point-query $FEW --out out/patch"),
            ("micro:point,range", "micro:point-query $FEW"),
            ("postgres@18 --workload", "postgres@18 $FEW --workload"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/performance.md",
        before: "rqps micro sqlite --rows 2K --secs 0.2 --tests point-query --out out/large",
        small: &[
            ("--budget 2m", "--budget 2m --workload micro:point-query $FEW"),
            ("postgres@17.6 postgres@18.0", "sqlite again=sqlite $FEW"),
            ("micro:point,range,aggregate", "micro:point-query"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/plan-files.md",
        before: r#"printf '%s\n' 'contenders = "postgres@17.6"' 'configs = "base"' \
                       'rows = "10K"' 'secs = 0.2' 'tests = ["point-query"]' \
                       '[micro.cached]' '[scaleup.reads]' 'clients = [1, 2]' \
                       '[ibench.small]' 'contenders = "sqlite"' 'configs = []' 'only = ["l.i0"]' \
                       > small.toml"#,
        small: &[("pg.toml", "small.toml")],
        ..NOTHING
    },
    Given {
        page: "docs/regress.md",
        before: "mkdir docs; cp -r \"$ROOT/docs/examples\" docs/",
        ..NOTHING
    },
    Given {
        page: "docs/remote-server.md",
        before: r#"rqps dbms start --tcp postgres@17.6 > postgres.url
                   rqps dbms start --tcp mysql@8.0.33 > mysql.url
                   for dbms in postgres mysql; do
                     sed -E 's|.*127.0.0.1:([0-9]+)/.*|\1|' $dbms.url > $dbms.port
                     sed -E 's|.*//rqps:([^@]+)@.*|\1|' $dbms.url > $dbms.password
                   done
                   data="$RQPS_HOME/data/postgres_17.6"
                   cp ca.pem "$data/server.crt"
                   cp server.key "$data/server.key"
                   chmod 600 "$data/server.key"
                   chown --reference="$data" "$data/server.crt" "$data/server.key"
                   printf '%s\n' 'alter system set ssl = on' 'select pg_reload_conf()' |
                     rqps dbms shell "$(cat postgres.url)"
                   cp "$RQPS_HOME/data/mysql_8.0.33/ca.pem" mysql-ca.pem
                   printf '%s\n' 'create user bench require ssl' 'grant all on rqps.* to bench' \
                          'grant select on ib.* to bench' |
                     rqps dbms shell "$(cat mysql.url)""#,
        after: "rqps dbms stop --all",
        small: &[
            (
                "'postgres://bench@db.example/bench?sslmode=verify-full&sslrootcert=ca.pem'",
                "\"postgres://rqps:$(cat postgres.password)@localhost:$(cat postgres.port)/ib?sslmode=verify-full&sslrootcert=ca.pem\" \
                 --secs 0.2 --rows 2K --out out/postgres-tls",
            ),
            (
                "'mysql://bench@db.example/test?ssl-mode=VERIFY_CA&ssl-ca=ca.pem'",
                "\"mysql://bench@localhost:$(cat mysql.port)/ib?ssl-mode=VERIFY_CA&ssl-ca=mysql-ca.pem\" \
                 --secs 0.2 --rows 2K --out out/mysql-tls",
            ),
            ("postgres://bench@db.example/bench", "\"$(cat postgres.url)\""),
            ("--rows 1M --query-secs 60", "$SHORT"),
            ("mysql://bench@db.example:3306/test", "\"$(cat mysql.url)\""),
            ("point,range --secs 30", "point-query --secs 0.2 --rows 2K"),
        ],
        encrypts: true,
        ..NOTHING
    },
    Given {
        page: "docs/track.md",
        small: &[
            (
                "postgres@17.6 --workload micro:point,range -- --budget 30m",
                "sqlite --workload micro:point-query -- --rows 2K --secs 0.2 --rounds 3 --loads 1 --no-guards",
            ),
            ("main=postgres@18.0", "main=sqlite?mmap_size=256M"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/tutorial.md",
        small: &[("--out out/pg17", "$FEW --out out/pg17")],
        ..NOTHING
    },
    Given {
        page: "docs/upgrade.md",
        small: &[("micro:point,range,aggregate,write --budget 30m", "micro:point-query $FEW")],
        ..NOTHING
    },
    Given {
        page: "docs/evidence.md",
        small: &[
            (
                "postgres@17.6 postgres@12.22 postgres@15.18 postgres@16.2 postgres@16.10 postgres@18.0",
                "sqlite again=sqlite --rows 10K --loads 1",
            ),
            ("--rounds 12", "--rounds 3"),
            ("--precision 0.01%\n", "--precision 0.01% --secs 0.2 --no-guards\n"),
            ("--secs 30", "--secs 0.2"),
        ],
        ..NOTHING
    },
    Given {
        page: "reproductions/README.md",
        before: r#"{
                     printf '%s\n' 'rows = "10K"' 'secs = 0.2' 'loads = 1' 'no-control = true' 'no-guards = true'
                     sed 's/^rounds = .*/rounds = 3/' "$ROOT/reproductions/01-hot-points.toml"
                   } > hot-points.toml"#,
        small: &[("reproductions/01-hot-points.toml", "hot-points.toml")],
        ..NOTHING
    },
];

/// Runs a script in the working directory, with rqps on the path.
fn run(rqps: &Rqps, script: &str, place: &str) {
    let programs = rqps.path("programs");
    if !programs.exists() {
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_rqps"), programs.join("rqps")).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let output = rqps
        .program("bash")
        .args(["-euo", "pipefail", "-c", &format!("{PRELUDE}\n{script}")])
        .env("ROOT", root())
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{place}: {}\n{told}", output.status);
}

/// Creates a key and a self-signed certificate.
fn certify(folder: &Path) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_string()]).unwrap();
    fs::write(folder.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
}

/// Runs the commands of a page.
fn run_page(rqps: &Rqps, page: &Page, given: &Given) {
    if given.encrypts {
        certify(&rqps.work());
    }
    run(rqps, given.before, &page.name);
    let mut unused: Vec<&str> = given.small.iter().map(|(from, _)| *from).collect();
    for block in page.blocks() {
        if let Some(file) = block.file() {
            fs::write(rqps.work().join(file), &block.text).unwrap();
        }
        let mut script = block.text.clone();
        if block.is(&["sh", "small"]) {
            for (from, to) in given.small {
                unused.retain(|unused| unused != from || !script.contains(from));
                script = script.replace(from, to);
            }
            assert_ne!(script, block.text, "{}: what is to be smaller?", block.place);
        } else if !block.is(&["sh"]) {
            continue;
        }
        run(rqps, &script, &block.place);
    }
    assert!(unused.is_empty(), "{} has no {unused:?}", page.name);
    run(rqps, given.after, &page.name);
}

/// Names of the files in the directories of runs.
fn files_below(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => files_below(&entry.path(), names),
            // Answers are named after their query and contender.
            false if folder.ends_with("answers") => names.push("*.txt".to_string()),
            false => names.push(entry.file_name().into_string().unwrap()),
        }
    }
}

/// Every file in the directories of runs is described.
fn assert_files_are_described(rqps: &Rqps) {
    let described = fs::read_to_string(root().join("docs/files.md")).unwrap();
    let mut files = Vec::new();
    files_below(&rqps.work().join("out"), &mut files);
    for file in files {
        // Logs are named after their contents.
        let name = file.rsplit_once('.').filter(|(_, kind)| ["log", "hlog"].contains(kind));
        let name = name.map_or(file.clone(), |(_, kind)| format!("*.{kind}"));
        let is_there =
            ["`", "/"].iter().any(|start| described.contains(&format!("{start}{name}`")));
        assert!(is_there, "docs/files.md lacks {name}");
    }
}

#[test]
fn every_command_does_what_its_page_says_and_every_file_it_leaves_is_described() {
    let is_run = |page: &Page| {
        let has = |info: &[&str]| page.blocks().iter().any(|block| block.is(info));
        has(&["sh"]) || has(&["sh", "small"])
    };
    let of = |page: Page| {
        let given = GIVEN.iter().find(|given| given.page == page.name).unwrap_or(&NOTHING);
        (!given.limits_memory || can_limit_memory()).then_some((page, given))
    };
    let left: Vec<(Page, &Given)> = pages().into_iter().filter(is_run).filter_map(of).collect();
    assert!(left.iter().any(|(page, _)| page.name == "docs/tutorial.md"));
    let left = Mutex::new(left);
    let run_pages = || {
        let next = || lock(&left).pop();
        while let Some((page, given)) = next() {
            let rqps = Rqps::with_own_locks();
            run_page(&rqps, &page, given);
            rqps.assert_no_server_is_left();
            assert_files_are_described(&rqps);
        }
    };
    thread::scope(|scope| {
        for _ in 0..TURNS {
            scope.spawn(run_pages);
        }
    });
}

#[test]
fn the_documented_gate_compares_two_builds_and_shows_the_verdicts() {
    let rqps = Rqps::with_own_locks();
    let workflow = workflow();
    let steps = workflow["jobs"]["compare"]["steps"].as_array().unwrap();
    let step = |name: &str| {
        let step = steps.iter().find(|step| step["name"] == name);
        step.and_then(|step| step["run"].as_str()).unwrap_or_else(|| panic!("no step '{name}'"))
    };
    let (long, short) = ("point,range --budget 30m --confirm", "point-query $FEW --confirm=3");
    let compare = step("Compare").replace(long, short);
    assert!(compare.contains(short), "{compare}");
    let show = step("Show the verdicts");
    let script = format!(
        "rqps dbms fetch postgres@npm-17.6 postgres@npm-18.0
         export RUNNER_TEMP=$PWD/temp GITHUB_STEP_SUMMARY=$PWD/shown
         mkdir $RUNNER_TEMP
         ln -s $RQPS_HOME/builds/postgres-17.6-npm $RUNNER_TEMP/base
         ln -s $RQPS_HOME/builds/postgres-18.0-npm $RUNNER_TEMP/head
         {compare}\n{show}"
    );
    run(&rqps, &script, "docs/ci-gate.md");
    let shown = fs::read_to_string(rqps.work().join("shown")).unwrap();
    assert!(shown.contains("point-query"), "{shown}");
    let verdicts = fs::read_to_string(rqps.work().join("out/pr.xml")).unwrap();
    assert!(verdicts.contains(r#"name="point-query""#), "{verdicts}");
    rqps.assert_nothing_is_left();
}

#[test]
fn every_reproduction_is_a_plan_that_can_be_run() {
    let rqps = Rqps::new();
    let mut plans = 0;
    for entry in fs::read_dir(root().join("reproductions")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let shown = rqps.run(&format!("plan {}", path.display())).ok().stdout;
            assert!(shown.contains("total"), "{}: {shown}", path.display());
            plans += 1;
        }
    }
    assert!(plans > 10, "{plans}");
}
