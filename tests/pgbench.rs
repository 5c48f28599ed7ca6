//! `rqps pgbench` without a server: the cases of PostgreSQL's own test of pgbench
//! (`src/bin/pgbench/t/002_pgbench_no_server.pl`), as data. Its scripts are read by the tests of
//! the crate `workload`, and some of them here as well.

use std::fs;
use std::process::{Command, Output};

/// A server that nobody has: everything is refused before it is asked.
const NOBODY: &str = "postgres://nobody@127.0.0.1:1/none";

/// What a case is in rqps.
enum Case {
    /// Refused, and this is said.
    Refused(&'static str),
    /// About an option that rqps does not have, which is refused with this reason.
    LeftOut(&'static str),
}

use Case::{LeftOut, Refused};

const NO_LOG: Case = LeftOut("rqps keeps no log of single transactions");
const NO_PARTITIONS: Case = LeftOut("rqps makes pgbench's tables without partitions");

/// Name there, options, and what is said.
#[rustfmt::skip]
const OPTIONS: [(&str, &str, Case); 40] = [
    ("bad option", "-d --bad-option", Refused("unexpected argument '--bad-option' found")),
    ("no file", "-f no-such-file", Refused("could not open file 'no-such-file':")),
    ("no builtin", "-b no-such-builtin", Refused("no builtin script 'no-such-builtin'")),
    ("invalid weight", "--builtin=select-only@one", Refused("invalid weight specification '@one'")),
    ("invalid weight", "-b select-only@-1", Refused("weight specification out of range (0 to 2147483647): -1")),
    ("too many scripts", "-S ×129", Refused("at most 128 SQL scripts")),
    ("bad #clients", "-c three", Refused("invalid value 'three' for '--client <N>'")),
    ("bad #threads", "-j eleven", Refused("invalid value 'eleven' for '--jobs <N>'")),
    ("bad scale", "-i -s two", Refused("invalid value 'two' for '--scale <N>'")),
    ("invalid #transactions", "-t zil", Refused("invalid value 'zil' for '--transactions <N>'")),
    ("invalid duration", "-T ten", Refused("invalid value 'ten' for '--time <SECONDS>'")),
    ("-t XOR -T", "-N -t 1000 -T 1", Refused("cannot be used with")),
    ("-T XOR -t", "-P 1 -T 10 -t 1000", Refused("cannot be used with")),
    ("bad variable", "--define foobla", Refused("invalid variable definition 'foobla'")),
    ("invalid fillfactor", "-F 1", Refused("invalid value '1' for '--fillfactor <N>': 1 is not in 10..=100")),
    ("invalid query mode", "-M no-such-mode", Refused("invalid query mode 'no-such-mode'")),
    ("invalid progress", "--progress=0", Refused("invalid value '0' for '--progress <SECONDS>'")),
    ("invalid rate", "--rate=0.0", Refused("invalid value '0.0' for '--rate <N>': a number above 0 was expected")),
    ("invalid latency", "--latency-limit=0.0", Refused("invalid value '0.0' for '--latency-limit <MS>'")),
    ("invalid sampling rate", "--sampling-rate=0", NO_LOG),
    ("invalid aggregate interval", "--aggregate-interval=-3", NO_LOG),
    ("weight zero", "-b se@0 -b si@0 -b tpcb@0", Refused("total script weight must not be zero")),
    ("init vs run", "-i -S", Refused("--select-only cannot be used in initialization")),
    ("run vs init", "-S -F 90", Refused("--fillfactor cannot be used in benchmarking")),
    ("ambiguous builtin", "-b s", Refused("ambiguous builtin script 's'")),
    ("--progress-timestamp => --progress", "--progress-timestamp", LeftOut("rqps shows the time since the start only")),
    ("-I without init option", "-I dtg", Refused("--init-steps cannot be used in benchmarking")),
    ("invalid init step", "-i -I dta", Refused("unrecognized initialization step 'a'. Allowed step characters are")),
    ("bad random seed", "--random-seed=one", Refused("unrecognized random seed 'one'. Write an unsigned integer, time or rand")),
    ("bad partition method", "-i --partition-method=BAD", NO_PARTITIONS),
    ("bad partition number", "-i --partitions=-1", NO_PARTITIONS),
    ("partition method without partitioning", "-i --partition-method=hash", NO_PARTITIONS),
    ("bad maximum number of tries", "--max-tries=-10", Refused("invalid value '-10' for '--max-tries <N>'")),
    ("an infinite number of tries", "--max-tries 0", Refused("--max-tries 0 needs an end: add -T or --latency-limit")),
    ("sampling => log", "--sampling-rate=0.01", NO_LOG),
    ("sampling XOR aggregate", "-l --sampling-rate=0.1 --aggregate-interval=3", NO_LOG),
    ("aggregate => log", "--aggregate-interval=3", NO_LOG),
    ("log-prefix => log", "--log-prefix=x", NO_LOG),
    ("duration & aggregation", "-l -T 1 --aggregate-interval=3", NO_LOG),
    ("duration % aggregation", "-l -T 5 --aggregate-interval=3", NO_LOG),
];

/// Scripts as files: what is said comes with the file.
const SCRIPTS: [(&str, &str, &str); 3] = [
    ("missing endif", "\\if 1", ":1:1: \\if without matching \\endif"),
    ("else syntax error", "\\if 0\n\\else BAD\n\\endif\n", ":2:7: unexpected argument 'BAD'"),
    ("misc empty script", "", ": empty command list"),
];

fn pgbench(words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rqps"));
    command.arg("pgbench").args(words).env("RQPS_HOME", folder.path());
    command.output().unwrap()
}

/// The exit code, and what is said on stdout and stderr.
fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn words(options: &str) -> Vec<&str> {
    let many = options.strip_suffix(" ×129").map(|option| vec![option; 129]);
    let mut words = many.unwrap_or_else(|| options.split(' ').collect());
    words.push(NOBODY);
    words
}

#[test]
fn options_that_pgbench_refuses_are_refused() {
    let (mut passed, mut left_out) = (0, Vec::new());
    for (name, options, case) in &OPTIONS {
        let (code, stdout, stderr) = said(&pgbench(&words(options)));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{name}: {stderr}");
        let expected = match case {
            Refused(expected) => {
                passed += 1;
                expected
            }
            LeftOut(why) => {
                left_out.push(format!("{name} ({why})"));
                why
            }
        };
        assert!(stderr.contains(expected), "{name}: {stderr}");
    }
    println!("002_pgbench_no_server.pl, options: {passed} of {} pass", OPTIONS.len());
    left_out.push("pgbench version (rqps --version)".to_string());
    println!("left out: {}: {}", left_out.len(), left_out.join(", "));
    assert_eq!((passed, left_out.len()), (28, 13));
}

#[test]
fn an_error_in_a_script_is_said_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, expected) in SCRIPTS {
        let path = folder.path().join("s.sql");
        fs::write(&path, text).unwrap();
        let path = path.display().to_string();
        let (code, stdout, stderr) = said(&pgbench(&["-f", &path, NOBODY]));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{name}: {stderr}");
        assert!(stderr.contains(&format!("{path}{expected}")), "{name}: {stderr}");
    }
}

#[test]
fn builtin_scripts_are_listed_and_shown() {
    let (code, list, _) = said(&pgbench(&["-b", "list"]));
    assert_eq!(code, Some(0));
    for name in ["tpcb-like", "simple-update", "select-only"] {
        assert!(list.contains(name), "{list}");
    }
    let (code, shown, _) = said(&pgbench(&["--show-script", "se"]));
    assert_eq!(code, Some(0));
    assert!(shown.contains("select-only: "), "{shown}");
    assert!(shown.contains("SELECT abalance FROM pgbench_accounts WHERE"), "{shown}");
    assert!(!shown.contains("UPDATE") && !shown.contains("INSERT"), "{shown}");
    let (code, help, _) = said(&pgbench(&["--help"]));
    assert_eq!(code, Some(0));
    for part in ["Usage", "Initialization:", "--max-tries"] {
        assert!(help.contains(part), "{help}");
    }
}

#[test]
fn what_only_one_contender_can_do_is_refused_for_several() {
    let both = ["sqlite", "b=sqlite?mmap_size=256M"];
    for flag in ["-r", "-C", "-t=10", "--rate=10", "--max-tries=2"] {
        let output = pgbench(&[&["-S", flag], &both[..]].concat());
        let (code, _, stderr) = said(&output);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("is for one contender, but 2 are compared"), "{stderr}");
    }
    for wrong in ["-M=foo", "-T=0.1", "-P=2147483648", "--nothing"] {
        let (code, _, stderr) = said(&pgbench(&[&both[..], &[wrong]].concat()));
        assert_eq!(code, Some(2), "{stderr}");
        assert_eq!(said(&pgbench(&["sqlite", wrong])).0, Some(1), "{wrong} with one");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sql");
    fs::write(&path, "select 1;\n\\sleep 1 ms\n").unwrap();
    let path = path.display().to_string();
    let (code, _, stderr) = said(&pgbench(&[&["-f", &path], &both[..]].concat()));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("the sleep would be measured. Use --method runs"), "{stderr}");
}
