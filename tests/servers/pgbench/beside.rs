//! rqps beside Debian's pgbench: from one seed, each client sends the same statements.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Logged;

/// The newest pgbench itself: the one on the path is a script that starts it.
pub(crate) fn pgbench() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("Debian's postgresql").flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let all = versions.map(|entry| entry.path()).filter(|path| path.join("bin/pgbench").exists());
    all.max_by_key(|path| version(path)).expect("Debian's pgbench").join("bin/pgbench")
}

/// Without the names of prepared statements, which are the same, and in the form of one release.
fn statements(log: &str) -> Vec<String> {
    let mut sessions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut last = None;
    for line in log.lines() {
        let Some((id, message)) = line.split_once('|').filter(|(id, _)| id.contains('.')) else {
            // A statement of several lines.
            if let Some(id) = last.filter(|_| line.starts_with('\t'))
                && let Some(text) =
                    sessions.get_mut(id).and_then(|it: &mut Vec<String>| it.last_mut())
            {
                text.push('\n');
                text.push_str(line.trim_start_matches('\t'));
            }
            continue;
        };
        last = Some(id);
        if let Some(told) = message.strip_prefix("LOG:  ") {
            sessions.entry(id).or_default().push(told.to_string());
        } else if let Some(detail) = message.strip_prefix("DETAIL:  ") {
            let list = detail.to_lowercase();
            sessions.entry(id).or_default().push(list);
        }
    }
    // Only sessions of clients execute something of the scripts.
    let is_client = |texts: &Vec<String>| texts.iter().any(|text| text.contains("of_the_script"));
    let mut all: Vec<String> =
        sessions.into_values().filter(is_client).map(|texts| texts.join("\n")).collect();
    all.sort();
    all
}

const SCRIPTS: [(&str, &str); 2] = [
    (
        "a.sql",
        "-- before\n\\set aid random(1, 100000 * :scale)\n\\set k random_zipfian(1, 1000, 1.1)\n\
         \\set g random_gaussian(1, 1000, 2.5)\n\\set e random_exponential(1, 1000, 3)\n\
         /* of_the_script */ SELECT :aid::int, :k::int -- within\n  , :g::int + :e::int;\n\
         \\if :aid % 2 = 0\nBEGIN;\nSELECT hash(:aid)::bigint from (select 1) as t(x), lateral \
         (select :h::bigint) as u(y);\nEND;\n\\else\n\\set b permute(:aid, 1000)\n\
         SELECT :b::int AS of_the_script;\n\\endif\n",
    ),
    ("b.sql", "\\set x random(1, 6)\nSELECT :x::int AS of_the_script, :client_id::int;\n"),
];

#[test]
fn the_statements_of_each_client_are_those_of_pgbench() {
    let server = Logged::start();
    let (folder, port) = server.socket();
    server.run("create function hash(int) returns bigint language sql as 'select $1::bigint'");
    let mut files = Vec::new();
    for (name, text) in SCRIPTS {
        let path = server.rqps.path(name);
        fs::write(&path, text).unwrap();
        files.push(path.display().to_string());
    }
    for mode in ["simple", "extended", "prepared"] {
        let options = [
            "-n",
            "-c",
            "3",
            "-j",
            "3",
            "-t",
            "20",
            "-M",
            mode,
            "-D",
            "h=7",
            "-s",
            "2",
            "--random-seed=42",
            "-f",
            &format!("{}@3", files[0]),
            "-f",
            &files[1],
        ]
        .map(str::to_string);
        let begin = fs::read_to_string(&server.log).unwrap().len();
        let theirs = Command::new(pgbench())
            .args(&options)
            .args(["-h", &folder, "-p", &port, "-U", &server.login.user, &server.login.database])
            .output()
            .unwrap();
        assert!(theirs.status.success(), "{}", String::from_utf8_lossy(&theirs.stderr));
        let middle = fs::read_to_string(&server.log).unwrap().len();
        let mut words = vec!["pgbench".to_string()];
        words.extend(options);
        words.push(server.url(&server.login.database));
        let ours = crate::common::Running::start(server.rqps.command(words)).finish();
        assert_eq!(ours.status.code(), Some(0), "{}", ours.stderr);
        let log = fs::read_to_string(&server.log).unwrap();
        let (theirs, ours) = (statements(&log[begin..middle]), statements(&log[middle..]));
        assert_eq!(theirs.len(), 3, "clients of pgbench, {mode}");
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert!(theirs.lines().count() > 40, "{theirs}");
            assert_eq!(ours, theirs, "{mode}");
        }
        assert_eq!(ours.len(), 3, "{mode}");
    }
}

#[test]
fn the_tables_are_those_of_pgbench() {
    let server = Logged::start();
    let (folder, port) = server.socket();
    let of_all = "select string_agg(format('%s %s %s %s', table_name, column_name, data_type, \
                  character_maximum_length) || coalesce(is_nullable, ''), E'\\n' \
                  order by table_name, ordinal_position) from information_schema.columns \
                  where table_name like 'pgbench%'";
    let sums = "select (select md5(string_agg(t::text, '|' order by bid)) from pgbench_branches t) \
                || (select md5(string_agg(t::text, '|' order by tid)) from pgbench_tellers t) \
                || (select md5(string_agg(t::text, '|' order by aid)) from pgbench_accounts t) \
                || (select count(*) from pgbench_history) \
                || (select string_agg(indexdef, '|' order by indexname) from pg_indexes \
                    where tablename like 'pgbench%')";
    let theirs = Command::new(pgbench())
        .args(["-i", "-q", "-s", "2", "-h", &folder, "-p", &port, "-U", &server.login.user])
        .arg(&server.login.database)
        .output()
        .unwrap();
    assert!(theirs.status.success(), "{}", String::from_utf8_lossy(&theirs.stderr));
    let expected = (server.scalar(of_all), server.scalar(sums));
    let refused = server.pgbench("-i", &[]);
    assert_eq!(refused.status.code(), Some(1));
    let said = "exists, and rqps is not known to have made it";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    // Nor are rows of others removed.
    server.run("insert into pgbench_history (tid) values (1)");
    let ended = server.pgbench("-S -t 1", &[]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(server.scalar("select count(*) from pgbench_history"), "1");
    server.run("drop table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers");
    for steps in ["dtgvp", "dtGvp"] {
        let ended = server.pgbench(&format!("-i -s 2 -I {steps}"), &[]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        assert_eq!((server.scalar(of_all), server.scalar(sums)), expected, "{steps}");
    }
}
