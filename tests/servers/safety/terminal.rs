//! What servers, files and arguments say, as a terminal gets it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use rusqlite::Connection;

use crate::common::{Rqps, Running};

/// Clears the screen, sets the title, goes to the line's beginning, turns the direction of writing.
const STEERS: &str = "red \x1b[31m\x1b[2J\x1b]0;owned\x07\rover \u{9b}2J \u{202e}txt.exe";

/// Nothing in it steers a terminal but line feeds and tabs.
#[track_caller]
fn assert_harmless(what: &str, text: &str) {
    assert_eq!(rqps_system::printable(text), text, "{what}");
}

#[test]
fn arguments_and_their_errors_steer_nothing() {
    let rqps = Rqps::new();
    let label = format!("{STEERS}=sqlite");
    for arguments in [
        &["micro", &label][..],
        &["micro", "sqlite", "--tests", STEERS],
        &["micro", "sqlite", "--out", STEERS, "--resume"],
        &["report", STEERS],
        &["report", "--format", STEERS],
        &["plan", STEERS],
        &["dbms", "configs", STEERS],
        &["dbms", "fetch", &format!("postgres@{STEERS}")],
        &[STEERS],
        &[&format!("--{STEERS}")],
        &["compare", "sqlite", &format!("--{STEERS}")],
    ] {
        let ended = Running::start(rqps.command(arguments)).finish();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}\n{}", ended.stderr);
        assert_harmless(&format!("{arguments:?}"), &(ended.stdout + &ended.stderr));
    }
}

#[test]
fn a_label_with_control_characters_is_refused_with_the_character() {
    let rqps = Rqps::new();
    for (contender, named) in [("a\x1b=sqlite", r"\u{1b}"), ("sqlite?cache_size=\n1", r"\n")] {
        let ended = Running::start(rqps.command(["micro", contender])).finish();
        ended.refuses(2, &["contains the character", named, "Drop it"]);
    }
}

#[test]
fn what_a_server_answers_steers_nothing() {
    let rqps = Rqps::new();
    let mut command = rqps.command(["dbms", "shell", "sqlite"]);
    command.stdin(std::process::Stdio::piped());
    let mut shell = Running::start(command);
    shell.type_in("select char(27) || '[2J' || char(155) || 'x', 'ä'\n");
    shell.type_in("select \"\x1b[2J\" from nowhere\n");
    let ended = shell.finish().ok();
    assert!(
        ended.stdout.contains(r"\x1b[2J\u{9b}x") && ended.stdout.contains('ä'),
        "{}",
        ended.stdout
    );
    assert_harmless("a shell", &(ended.stdout + &ended.stderr));
}

/// Texts of a database, a manifest and a plan that came from elsewhere.
#[test]
fn a_run_from_elsewhere_steers_nothing() {
    let rqps = Rqps::new();
    rqps.micro("sqlite --rows 1K --secs 0.1 --tests point-query,update-index").ok();
    let out = rqps.out();
    let connection = Connection::open(out.join("results.sqlite")).unwrap();
    for (table, column) in [
        ("round", "title"),
        ("round", "grouped"),
        ("round", "discarded"),
        ("round", "started"),
        ("measurement", "note"),
        ("measurement", "error"),
    ] {
        let sql = format!("update {table} set {column} = ?1");
        connection.execute(&sql, [STEERS]).unwrap();
    }
    for column in ["version", "source", "compiler", "libc", "transport"] {
        connection.execute(&format!("update contender set {column} = ?1"), [STEERS]).unwrap();
    }
    let flags = serde_json::json!({
        "level": STEERS, "march": STEERS, "compiler": STEERS, "read_in": STEERS,
        "unknown": STEERS, "sanitizers": [STEERS], "hardening": [STEERS],
    });
    connection.execute("update contender set flags = ?1", [flags.to_string()]).unwrap();
    connection.execute("update setting set value = ?1", [STEERS]).unwrap();
    connection.execute("update engine set name = name || ?1", [STEERS]).unwrap();
    let statements =
        serde_json::json!([{ "text": STEERS, "times": 1, "plan": STEERS }]).to_string();
    connection.execute("update measurement set statements = ?1", [statements]).unwrap();
    let manifest = fs::read_to_string(out.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    manifest["command"] = serde_json::json!(["rqps", STEERS]);
    manifest["machine"] = serde_json::json!([[STEERS, STEERS], ["cpu", STEERS]]);
    fs::write(out.join("manifest.json"), manifest.to_string()).unwrap();

    let path = out.display().to_string();
    let ended = rqps.run(&format!("report {path}")).ok();
    assert_harmless("the tables", &(ended.stdout + &ended.stderr));
    for name in ["summary.md", "report.html", "result.json", "tests.csv", "metrics.csv"] {
        assert_harmless(name, &fs::read_to_string(out.join(name)).unwrap());
    }
    for format in ["text", "markdown", "json", "csv", "seconds-csv", "html", "otava", "sysbench"] {
        let ended = rqps.run(&format!("report {path} --format {format}")).ok();
        if format == "json" {
            serde_json::from_str::<serde_json::Value>(&ended.stdout).unwrap();
        }
        assert_harmless(format, &ended.stdout);
    }

    let plan = fs::read_to_string(out.join("plan.toml")).unwrap();
    fs::write(out.join("plan.toml"), plan.replace("point-query", r"\u001b[2J")).unwrap();
    rqps.run(&format!("report {path}")).refuses(2, &["plan.toml' is damaged"]);
}

/// Values that a shell, a script or a slip of the finger makes.
fn odd_values() -> Vec<OsString> {
    let long = "x".repeat(4_000);
    let texts = [
        "",
        " ",
        "-",
        "--",
        "=",
        "?",
        "@",
        "/",
        ":",
        ",",
        ".",
        "..",
        "\n",
        "a\nb",
        "'\"`$(id)",
        "{}",
        "{{",
        "a{b",
        "%00",
        "-1",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "99999999999999999999",
        "sqlite?=",
        "a=",
        "a=@:/?",
        "sqlite@",
        "postgres@",
        "postgres://",
        "mysql://%",
        STEERS,
        &long,
    ];
    let bytes = [&b"\xff\xfe"[..], b"sqlite?x=\xff", b"/\xff\n/x", b"a=postgres@/\xc3("];
    let bytes = bytes.map(|bytes| OsString::from_vec(bytes.to_vec()));
    texts.iter().map(OsString::from).chain(bytes).collect()
}

/// The verbs below some words, and the flags with values, as the help lists them.
fn listed(rqps: &Rqps, words: &[String]) -> (Vec<String>, Vec<String>) {
    let help = rqps.run(&format!("{} --help", words.join(" "))).ok().stdout;
    let mut section = "";
    let (mut verbs, mut flags) = (Vec::new(), Vec::new());
    for line in help.lines() {
        if line.ends_with(':') && !line.starts_with(' ') {
            section = line;
        }
        let word = line.split_whitespace().next().unwrap_or_default();
        match section {
            "Commands:" if line.starts_with("  ") && !line.starts_with("   ") && word != "help" => {
                verbs.push(word.to_string());
            }
            "Options:" if word.starts_with("--") => {
                flags.push(word.split(['=', '[']).next().unwrap_or(word).to_string());
            }
            _ => {}
        }
    }
    (verbs, flags)
}

/// Whatever the words are: no verb panics, and each ends soon with a code that the help has.
#[test]
#[ignore = "nightly: tries every flag with every value"]
fn no_argument_makes_rqps_panic() {
    let rqps = Rqps::new();
    let (verbs, _) = listed(&rqps, &[]);
    let mut paths: Vec<Vec<String>> = vec![Vec::new()];
    for verb in verbs {
        let (below, _) = listed(&rqps, std::slice::from_ref(&verb));
        paths.push(vec![verb.clone()]);
        paths.extend(below.into_iter().map(|inner| vec![verb.clone(), inner]));
    }
    assert!(paths.len() > 15, "{paths:?}");
    // Of those that measure, one contender that is nowhere ends all that gets so far.
    let measures = ["compare", "ibench", "micro", "scaleup"];
    let mut tried = 0;
    for path in &paths {
        let (_, flags) = listed(&rqps, path);
        let is_measuring = path.first().is_some_and(|verb| measures.contains(&verb.as_str()));
        for value in odd_values() {
            let with_flag = flags.iter().map(|flag| {
                let mut word = OsString::from(format!("{flag}="));
                word.push(&value);
                word
            });
            for word in std::iter::once(value.clone()).chain(with_flag) {
                let mut command = rqps.command(path);
                command.env("PATH", rqps.path("nothing")).env("RQPS_HOME", rqps.path("own-home"));
                command.arg(&word);
                if is_measuring {
                    command.args(["postgres@/nowhere", "again=postgres@/nowhere"]);
                }
                let begun = std::time::Instant::now();
                let ended = Running::start(command).finish();
                let code = ended.status.code();
                let told = format!("{path:?} {word:?}: {code:?}\n{}", ended.stderr);
                assert!(code.is_some_and(|code| (0..=5).contains(&code)), "{told}");
                assert!(!ended.stderr.contains("panicked"), "{told}");
                assert_harmless(&told, &ended.stderr);
                assert!(begun.elapsed() < Duration::from_secs(60), "{told}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1_000, "{tried}");
}
