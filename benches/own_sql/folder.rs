//! Fifty short statements of a folder, compared in a budget: how precise is that?

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::Value;

/// The goals: all of it in ten minutes, and this MDE for statements below a millisecond.
const BUDGET: &str = "10m";
const MDE: f64 = 0.01;
const STATEMENTS: usize = 50;

const SCHEMA: &str = "create table t (id int primary key, k int not null, note text not null)";
const LOAD: &str = "insert into t select n, n * 7919 % 5000, repeat(chr(97 + n % 26), 100) \
                    from generate_series(0, 49999) as n";
const INDEXES: &str = "create index by_k on t (k)";

/// The shapes of the statements, with a number that tells them apart.
const SHAPES: [&str; 5] = [
    "select note from t where id = :id + {n}",
    "select id, note from t where k = :id % 5000 order by id limit 5 + {n}",
    "select count(*), max(note) from t where id between :id and :id + 20 + {n}",
    "select a.note from t a join t b on b.id = a.k where a.id = :id and b.id >= {n} - 100",
    "select id from t where id in (:id, :id + {n} + 1, :id + 1000, :id + 2000)",
];

pub(crate) fn compare(is_full: bool) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let folder = place.path().join("fifty");
    fs::create_dir_all(folder.join("queries"))?;
    fs::create_dir(folder.join("load"))?;
    fs::write(folder.join("schema.sql"), SCHEMA)?;
    fs::write(folder.join("load/1.sql"), LOAD)?;
    fs::write(folder.join("indexes.sql"), INDEXES)?;
    let count = if is_full { STATEMENTS } else { SHAPES.len() };
    for number in 0..count {
        let (shape, n) = (SHAPES[number % SHAPES.len()], number / SHAPES.len());
        let text = shape.replace("{n}", &n.to_string());
        let text = format!("-- rqps: param id int = random(0, 40000)\n{text}\n");
        fs::write(folder.join(format!("queries/q{number:02}.sql")), text)?;
    }
    let out = place.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rqps"));
    command.args(["compare", "postgres@17.6", "again=postgres@17.6", "--out"]).arg(&out);
    command.arg("--workload").arg(format!("sql:{}", folder.display()));
    command.arg("--instructions=none");
    match is_full {
        true => command.args(["--budget", BUDGET]),
        false => command.args(["--rounds", "3", "--secs", "0.1", "--no-guards"]),
    };
    let begun = Instant::now();
    let output = command.output()?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("rqps ended with {}: {}", output.status, said.trim_end());
    }
    println!("\n{}", told(&out, begun.elapsed().as_secs_f64())?);
    Ok(())
}

fn told(out: &Path, seconds: f64) -> anyhow::Result<String> {
    let result: Value = serde_json::from_str(&fs::read_to_string(out.join("result.json"))?)?;
    let tests = &result["comparison"]["contenders"][0]["tests"];
    let tests = tests.as_array().context("a result has tests")?;
    let mut mdes: Vec<f64> = tests.iter().filter_map(|test| test["detectable"].as_f64()).collect();
    mdes.sort_by(f64::total_cmp);
    let precise = mdes.iter().filter(|mde| **mde <= MDE).count();
    let changed = tests.iter().filter(|test| {
        test["label"]
            .as_str()
            .is_some_and(|label| label.contains("ression") || label.contains("improve"))
    });
    let (all, changed) = (tests.len(), changed.count());
    let percent =
        |mde: Option<&f64>| mde.map_or("-".to_string(), |mde| format!("{:.2} %", mde * 100.0));
    Ok(format!(
        "{all} statements in {:.1} min: {precise} have an MDE of at most {} % (median {}, most {}); \
         {changed} of one build with itself are called changed",
        seconds / 60.0,
        MDE * 100.0,
        percent(mdes.get(mdes.len() / 2)),
        percent(mdes.last()),
    ))
}
