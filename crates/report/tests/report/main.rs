//! The report of a run, format by format.

mod bisect;
#[cfg(feature = "servers")]
mod browser;
#[cfg(feature = "servers")]
mod cells;
mod comparison;
mod csv;
mod evidence;
mod export;
mod fleet;
mod html;
mod index;
mod instructions;
mod joined;
mod json;
mod made;
mod markdown;
mod merged;
mod microbenchmark;
mod nights;
#[cfg(feature = "servers")]
mod page;
mod post;
mod profile;
mod releases;
mod sample;
mod suite;
mod terminal;
mod text;
mod track;
#[cfg(feature = "servers")]
mod track_browser;
mod whole_runs;

/// The contenders of most tests.
const THREE: [&str; 3] = ["postgres@17.6", "postgres@18.0", "postgres@18.0:x10d?work_mem=16MB"];

/// A path may hold anything, and a path can name a contender.
const HOSTILE: &str = "postgres@/opt/</script><script>alert(1)</script>&\"'|`*,/bin";

/// Enough contenders that a table is longer than a screen.
fn fifty() -> Vec<String> {
    (0..50).map(|index| format!("c{index}=postgres@17.{index}")).collect()
}

/// A few tests of the suite: each has tables and charts of its own.
#[cfg(feature = "servers")]
fn few(mut run: rqps_store::Run) -> rqps_store::Run {
    let tests = ["load", "scan", "point-query", "insert"];
    run.rounds.retain(|round| tests.contains(&round.test.split('@').next().unwrap()));
    run
}
