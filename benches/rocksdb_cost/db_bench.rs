//! `readrandom` beside db_bench: the same library, database and number of keys.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use rqps_observe::{Callgrind, counts_file, read_counts};

use crate::Size;
use crate::host::{CACHE, Host, Place, as_user, give_to_user};
use crate::spread::Spread;

/// In the cache of both, which is filled before.
const KEYS: u64 = 100_000;

pub(crate) fn compare(size: &Size) -> anyhow::Result<()> {
    let Some(peer) = on_path("db_bench") else {
        println!("db_bench is missing. Install it, as in package rocksdb-tools");
        return Ok(());
    };
    let library = library(&peer)?;
    let client = format!("client readrandom {KEYS} 1 1");
    let place = Place::new()?;
    let mut host = Host::start(&library, &place, &[])?;
    host.ask(&format!("client fillseq {KEYS} 1 1"))?;
    host.ask(&format!("count {KEYS} 0"))?;
    host.ask("compact")?;
    host.end()?;

    let (mut own, mut others) = (Vec::new(), Vec::new());
    for _ in 0..size.rounds {
        let mut host = Host::start(&library, &place, &[])?;
        host.ask(&client)?;
        host.perform(size.operations)?;
        own.push(host.perform(size.operations)?.0);
        host.end()?;
        others.push(nanos(&mut db_bench(&peer, &place, "readrandom,readrandom", size.operations))?);
    }
    println!("\nreadrandom of {KEYS} keys by {}, ns", library.display());
    let ratios = Spread::of_ratios(&own, &others).context("db_bench took no time")?;
    println!("  rqps {}", Spread::of(&own).show(0));
    println!("  db_bench {}", Spread::of(&others).show(0));
    println!("  rqps to db_bench {}", ratios.show(3));

    let callgrind = match Callgrind::find() {
        Ok(callgrind) => callgrind,
        Err(why) => {
            println!("  instructions: {why}");
            return Ok(());
        }
    };
    let counts = Counts { folder: place.path("counts"), callgrind };
    let itself = std::env::current_exe()?;
    let of_own = |calls: u64| {
        counts.of(&itself, || {
            let mut host = Host::start(&library, &place, &counts.words())?;
            host.ask(&client)?;
            host.perform(calls)?;
            host.end().map(drop)
        })
    };
    let of_peer = |calls: u64| {
        counts.of(&peer, || {
            let bare = db_bench(&peer, &place, "readrandom", calls);
            let words = counts.words();
            let mut counted = as_user(Path::new(&words[0]), &place);
            counted.args(&words[1..]).arg(bare.get_program()).args(bare.get_args());
            run(&mut counted).map(drop)
        })
    };
    // Starting and filling the cache are in both runs of each.
    let (short, more) = (2 * KEYS.min(size.counted), size.counted);
    let per_call = |count: &dyn Fn(u64) -> anyhow::Result<Count>| -> anyhow::Result<Count> {
        let (long, short) = (count(short + more)?, count(short)?);
        let each = |long: u64, short: u64| long.saturating_sub(short) / more;
        Ok(Count { program: each(long.program, short.program), all: each(long.all, short.all) })
    };
    println!("  instructions of a call: in the program, and with all libraries");
    let (own, other) = (per_call(&of_own)?, per_call(&of_peer)?);
    for (name, count) in [("rqps", &own), ("db_bench", &other)] {
        println!("    {name:8} {:5} {:6}", count.program, count.all);
    }
    let ratio = own.program as f64 / other.program as f64;
    println!("    rqps to db_bench, in the program: {ratio:.2} (goal: at most 1)");
    Ok(())
}

/// Instructions of a program's own code, and of all.
struct Count {
    program: u64,
    all: u64,
}

/// Where callgrind leaves its counts.
struct Counts {
    folder: PathBuf,
    callgrind: Callgrind,
}

impl Counts {
    fn words(&self) -> Vec<OsString> {
        self.callgrind.words(&self.folder)
    }

    /// Counts what a program does in a run of it.
    fn of(
        &self,
        program: &Path,
        run: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Count> {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir(&self.folder)?;
        give_to_user(&self.folder)?;
        run()?;
        let name = program.file_name().context("a program has a name")?.to_string_lossy();
        let mut count = Count { program: 0, all: 0 };
        for file in fs::read_dir(&self.folder)? {
            let path = file?.path();
            let file = path.file_name().and_then(|name| counts_file(&name.to_string_lossy()));
            if file.is_none_or(|file| file.thread.is_none()) {
                continue;
            }
            for (function, instructions) in read_counts(BufReader::new(File::open(&path)?))? {
                count.all += instructions;
                count.program += if function.library == name { instructions } else { 0 };
            }
        }
        Ok(count)
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The library that db_bench is linked with.
fn library(peer: &Path) -> anyhow::Result<PathBuf> {
    let said = run(Command::new("ldd").arg(peer))?;
    let line = said.lines().find(|line| line.contains("librocksdb"));
    let path = line.and_then(|line| line.split_whitespace().nth(2));
    path.map(PathBuf::from).with_context(|| format!("db_bench has RocksDB inside:\n{said}"))
}

fn db_bench(peer: &Path, place: &Place, tests: &str, calls: u64) -> Command {
    let mut command = as_user(peer, place);
    command.arg(format!("--db={}", place.data().display())).args([
        format!("--benchmarks={tests}"),
        format!("--num={KEYS}"),
        format!("--reads={calls}"),
        format!("--cache_size={CACHE}"),
    ]);
    command.args(["--use_existing_db=1", "--key_size=20", "--value_size=400", "--threads=1"]);
    command.arg("--compression_type=none");
    command
}

/// Nanoseconds of a call in the last test.
fn nanos(command: &mut Command) -> anyhow::Result<f64> {
    let said = run(command)?;
    let line = said.lines().rev().find(|line| line.starts_with("readrandom"));
    let line = line.with_context(|| format!("db_bench gave no figures:\n{said}"))?;
    let (before, rest) = line.split_once(" ops/sec").context("no rate")?;
    let rate: f64 = before.rsplit(' ').next().context("no rate")?.parse()?;
    let found = rest.split_once('(').context("nothing of what was found")?.1;
    let (found, of) = found.split_once(" of ").context("nothing of what was found")?;
    let of = of.split(' ').next().unwrap_or_default();
    if found != of {
        bail!("db_bench has not found all keys: {line}");
    }
    Ok(1e9 / rate)
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if !output.status.success() {
        bail!("{program} ended with {}:\n{}", output.status, said.trim_end());
    }
    Ok(said)
}
