//! What is read, written and removed on behalf of files that came from elsewhere.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::common::{Rqps, Running, entries};

/// What is in a file that is none of the run's.
const THEIRS: &str = "not rqps's\n";

/// A run of little, in `rqps`'s folder of outputs.
fn small_run(rqps: &Rqps) -> PathBuf {
    rqps.micro("sqlite --rows 1K --secs 0.1 --tests point-query,update-index").ok();
    rqps.out()
}

pub(super) fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in entries(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        match from.is_dir() {
            true => copied(&from, &to),
            false => drop(fs::copy(from, to).unwrap()),
        }
    }
}

/// All files below a folder with what is in them; of links, where they lead.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for name in entries(folder) {
        let path = folder.join(name);
        let found = path.symlink_metadata().unwrap();
        if found.is_dir() {
            all.push((path.clone(), Vec::new()));
            all.extend(contents(&path));
        } else if found.is_symlink() {
            all.push((
                path.clone(),
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            ));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all
}

fn rqps_with(rqps: &Rqps, arguments: &str, path: &Path) -> Running {
    let mut command = rqps.command(arguments.split_whitespace());
    command.arg(path);
    Running::start(command)
}

#[test]
fn a_folder_with_a_file_of_somebody_elses_is_refused_untouched() {
    let rqps = Rqps::new();
    let plan = rqps.path("plan.toml");
    fs::write(&plan, "contenders = ['sqlite']\n[micro.a]\nrows = '1K'\ntests = 'point-query'\n")
        .unwrap();
    // A lock is what other programs have, too; what comes before a run's results is not ours alone.
    for (name, text) in [("lock", THEIRS), ("lock", ""), ("plan.toml", THEIRS), (".rqps", THEIRS)] {
        for verb in [
            "micro sqlite --out",
            "ibench sqlite --out",
            "compare sqlite again=sqlite --out",
            "selftest --quick --dbms sqlite --out",
            &format!("run {} --out", plan.display()),
        ] {
            let folder = rqps.path("theirs-too");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(name), text).unwrap();
            let before = folder.join(name).metadata().unwrap().modified().unwrap();
            rqps_with(&rqps, verb, &folder).finish().refuses(2, &["theirs-too", "not empty"]);
            assert_eq!(entries(&folder), [name], "{verb}");
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), text, "{verb}");
            assert_eq!(folder.join(name).metadata().unwrap().modified().unwrap(), before);
            fs::remove_dir_all(&folder).unwrap();
        }
    }
    // What is no run gets no lock.
    let folder = rqps.path("theirs-too");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("results.sqlite"), THEIRS).unwrap();
    for verb in ["report", "micro --resume --out"] {
        rqps_with(&rqps, verb, &folder).finish().refuses(2, &["not an SQLite database"]);
        assert_eq!(entries(&folder), ["results.sqlite"], "{verb}");
    }
}

#[test]
fn reports_replace_no_file_of_somebody_elses() {
    let rqps = Rqps::new();
    let run = small_run(&rqps);
    let folder = rqps.path("page");
    fs::create_dir(&folder).unwrap();
    copied(&run, &folder.join("run"));
    for name in ["index.html", "report.html"] {
        fs::write(folder.join(name), THEIRS).unwrap();
    }
    rqps_with(&rqps, "report --index", &folder)
        .finish()
        .refuses(2, &["index.html' exists and was not written by rqps"]);
    let (run, out) = (run.display(), folder.display());
    rqps.run(&format!("report {run} --out {out}"))
        .refuses(2, &["report.html' exists and was not written by rqps"]);
    assert_eq!(entries(&folder), ["index.html", "report.html", "run"]);
    for name in ["index.html", "report.html"] {
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), THEIRS);
        fs::remove_file(folder.join(name)).unwrap();
    }
    // What rqps made is made again.
    for _ in 0..2 {
        rqps.run(&format!("report --index {out}")).ok();
        rqps.run(&format!("report {run} --out {out}")).ok();
    }
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let rqps = Rqps::with_own_locks();
    fs::write(rqps.path("file"), THEIRS).unwrap();
    symlink(rqps.path("nowhere"), rqps.path("dangling")).unwrap();
    let path = |name: &str| rqps.path(name).display().to_string();
    for (flag, path) in [
        ("--junit", path("no/folder/here.xml")),
        ("--junit", path("home")),
        ("--junit", path("file/x.xml")),
        ("--out", path("file")),
        ("--out", path("file/x")),
        ("--out", path("dangling")),
        ("--out", "/proc/rqps/x".to_string()),
    ] {
        let verb = format!("compare sqlite again=sqlite {flag} {path}");
        let before = contents(&rqps.work());
        rqps.run(&verb).refuses(2, &["cannot write to", &path]);
        assert_eq!(contents(&rqps.work()), before, "{verb}");
        assert!(
            !rqps.home().join("data").exists() || entries(&rqps.home().join("data")).is_empty()
        );
    }
    assert_eq!(fs::read_to_string(rqps.path("file")).unwrap(), THEIRS);
    // The folder that the run directory is made in is made, too.
    let few =
        "--workload micro:point-query --rows 1K --secs 0.2 --rounds 3 --no-guards --no-control";
    let beside = "--out made/run --junit made/run.xml";
    let ended = rqps.run(&format!("compare sqlite again=sqlite {few} {beside}"));
    // Equals may be told apart by chance.
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{}", ended.stderr);
    assert!(rqps.work().join("made/run.xml").is_file());
}

/// Each file of a run directory as a link to the same file elsewhere.
#[test]
fn links_in_a_run_directory_are_refused_or_replaced_and_never_followed() {
    let rqps = Rqps::new();
    let run = small_run(&rqps);
    let (hostile, elsewhere) = (rqps.path("hostile"), rqps.path("elsewhere"));
    let inputs = ["lock", "plan.toml", "manifest.json", "results.sqlite", "logs"];
    let beside = ["results.sqlite-journal", "results.sqlite-wal", "results.sqlite-shm"];
    for name in inputs.into_iter().chain(beside) {
        copied(&run, &hostile);
        copied(&run, &elsewhere);
        let (link, target) = (hostile.join(name), elsewhere.join(name));
        match link.is_dir() {
            true => fs::remove_dir(&link).unwrap(),
            false => drop(fs::remove_file(&link)),
        }
        symlink(&target, &link).unwrap();
        let before = contents(&elsewhere);
        for verb in ["report", "micro --resume --out"] {
            let ended = rqps_with(&rqps, verb, &hostile).finish();
            ended.refuses(2, &[name, "symbolic link"]);
            assert!(contents(&elsewhere) == before, "{verb} with a linked {name}");
        }
        fs::remove_dir_all(&hostile).unwrap();
        fs::remove_dir_all(&elsewhere).unwrap();
    }

    copied(&run, &hostile);
    fs::create_dir(&elsewhere).unwrap();
    let reports = ["report.html", "result.json", "summary.md", "tests.csv"];
    for name in reports {
        fs::write(elsewhere.join(name), THEIRS).unwrap();
        for link in [name.to_string(), format!("{name}.new")] {
            let _ = fs::remove_file(hostile.join(&link));
            symlink(elsewhere.join(name), hostile.join(link)).unwrap();
        }
    }
    for folder in ["parquet", "hdr"] {
        symlink(&elsewhere, hostile.join(folder)).unwrap();
        let verb = format!("report --format {folder}");
        rqps_with(&rqps, &verb, &hostile).finish().refuses(2, &[folder, "symbolic link"]);
    }
    rqps_with(&rqps, "report", &hostile).finish().ok();
    assert_eq!(entries(&elsewhere), reports);
    for name in reports {
        assert_eq!(fs::read_to_string(elsewhere.join(name)).unwrap(), THEIRS);
        assert!(hostile.join(name).symlink_metadata().unwrap().is_file(), "{name} is replaced");
    }
}

#[test]
fn what_a_database_from_elsewhere_would_do_is_not_done() {
    let rqps = Rqps::new();
    let out = rqps.out().display().to_string();
    rqps.micro("sqlite --rows 1K --secs 0.1 --tests point-query").ok();
    let connection = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    // As of an interrupted run, so that there is something left to write.
    let schema = "update measurement set status = 'interrupted';
        create trigger evil after insert on round begin delete from contender; end";
    connection.execute_batch(schema).unwrap();
    let rows = |table: &str| -> u32 {
        let sql = format!("select count(*) from {table}");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let before = rows("contender");
    rqps.run(&format!("micro --resume --out {out}")).expect_code(0);
    assert_eq!(rows("contender"), before, "a trigger was run");
    // A view that never ends.
    connection
        .execute_batch(
            "drop trigger evil; alter table slice rename to other;
             create view slice as with recursive n(id) as (select 1 union all select id from n)
             select id as round from n",
        )
        .unwrap();
    rqps.run(&format!("report {out}")).refuses(2, &["results.sqlite' is damaged"]);
}

/// The data directories of a run are called by its id.
#[test]
fn an_id_from_elsewhere_decides_over_no_other_files() {
    let rqps = Rqps::new();
    let run = small_run(&rqps);
    let manifest = fs::read_to_string(run.join("manifest.json")).unwrap();
    let id = serde_json::from_str::<serde_json::Value>(&manifest).unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    let (hostile, data) = (rqps.path("hostile"), rqps.home().join("data"));
    copied(&run, &hostile);
    Connection::open(hostile.join("results.sqlite"))
        .unwrap()
        .execute_batch("update measurement set status = 'failed'")
        .unwrap();
    let victims = [rqps.path("victim"), rqps.home().join("builds-of-mine"), data.join("other-1")];
    for victim in &victims {
        fs::create_dir_all(victim.join("0")).unwrap();
        fs::write(victim.join("0/precious"), THEIRS).unwrap();
    }
    let absolute = victims[0].display().to_string();
    for named in [absolute.as_str(), "../builds-of-mine", "", ".", "a/b", "\\u0000"] {
        let text = manifest.replacen(id, named, 1);
        fs::write(hostile.join("manifest.json"), text).unwrap();
        let ended = rqps_with(&rqps, "micro --resume --out", &hostile).finish();
        ended.expect_code(2).says(&["manifest.json' is damaged", "its id"]);
    }
    // That of a run whose data are there.
    fs::write(data.join("other-1/run"), run.as_os_str().as_encoded_bytes()).unwrap();
    fs::write(hostile.join("manifest.json"), manifest.replacen(id, "other-1", 1)).unwrap();
    let ended = rqps_with(&rqps, "micro --resume --out", &hostile).finish();
    ended.expect_code(2).says(&["has the id of the one in", &run.display().to_string()]);
    for victim in &victims {
        assert_eq!(fs::read_to_string(victim.join("0/precious")).unwrap(), THEIRS);
    }
}

/// Any path that the system allows is one.
#[test]
fn a_path_need_not_be_text() {
    let rqps = Rqps::new();
    let out = rqps.root().join(OsString::from_vec(b"o\xff\n'{}".to_vec()));
    let run = |words: &str| rqps_with(&rqps, words, &out).finish();
    run("micro sqlite --rows 1K --secs 0.1 --tests point-query --out").ok();
    run("micro --resume --out").ok();
    run("report").ok();
    run("report --format json").ok();
    let index = rqps.root().join(OsString::from_vec(b"i\xff".to_vec()));
    copied(&out, &index.join("run"));
    rqps_with(&rqps, "report --index", &index).finish().ok();
    assert!(index.join("index.html").exists());
    rqps.assert_nothing_is_left();
}

/// Each file of a run emptied, cut in half and with single bits turned over.
#[test]
fn a_damaged_file_is_named_with_what_can_be_done() {
    let rqps = Rqps::new();
    let run = small_run(&rqps);
    let hostile = rqps.path("hostile");
    copied(&run, &hostile);
    for name in ["plan.toml", "manifest.json", "results.sqlite"] {
        let path = hostile.join(name);
        let whole = fs::read(&path).unwrap();
        let flipped = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            bytes
        };
        // The head of a database decides over all of it.
        let heads = (0..100.min(whole.len())).step_by(7);
        let spots = heads.chain((0..40).map(|part| part * (whole.len() - 1) / 40));
        let cut = [Vec::new(), whole[..whole.len() / 2].to_vec()];
        for (case, bytes) in cut.into_iter().chain(spots.map(flipped)).enumerate() {
            fs::write(&path, bytes).unwrap();
            let ended = rqps_with(&rqps, "report", &hostile).finish();
            let (code, said) = (ended.status.code(), &ended.stderr);
            assert!(!said.contains("panicked"), "{name} {case}: {said}");
            match code {
                // What was turned over was a part of a value.
                Some(0) if case > 1 => {}
                Some(2) => {
                    let error = said.strip_prefix("error: ").unwrap_or_else(|| panic!("{said}"));
                    let is_named =
                        error.contains(&format!("{name}'")) || error.contains("has schema");
                    assert!(is_named, "{name} {case}: {error}");
                    let remedies = ["restore a copy", "use the rqps that"];
                    assert!(
                        remedies.iter().any(|remedy| error.to_lowercase().contains(remedy)),
                        "{error}"
                    );
                    assert_eq!(error.lines().count(), 1, "{error}");
                }
                _ => panic!("{name} {case}: {code:?} {said}"),
            }
        }
        fs::write(&path, "").unwrap();
        let ended = rqps_with(&rqps, "micro --resume --out", &hostile).finish();
        ended.refuses(2, &[name, "is damaged"]);
        fs::write(&path, whole).unwrap();
    }
    // What is made of these is made again, whatever they were.
    for name in ["lock", "result.json", "report.html", "summary.md"] {
        fs::write(hostile.join(name), "").unwrap();
        rqps_with(&rqps, "report", &hostile).finish().ok();
    }
}
