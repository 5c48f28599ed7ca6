//! Writes every format of some made-up runs into a directory, to be looked at while the page is
//! worked on: `cargo run -p rqps-report --example sample -- DIR`.

#[path = "../tests/report/sample.rs"]
mod sample;
#[path = "../tests/report/suite.rs"]
mod suite;

use std::path::Path;
use std::{env, fs, io};

use rqps_report::{Colour, csv, html, result_json, seconds_csv, summary_markdown, text};
use rqps_store::Run;

fn main() -> io::Result<()> {
    let directory = env::args().nth(1).unwrap_or_else(|| "sample".to_string());
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;

    let three = ["postgres@17.6", "postgres@18.0", "postgres@18.0:x10d?work_mem=16MB"];
    let usual = sample::run(&three, 60);
    fs::write(directory.join("usual.txt"), text(&usual, Colour::Never))?;
    fs::write(directory.join("usual.ansi"), text(&usual, Colour::Always))?;
    fs::write(directory.join("usual.md"), summary_markdown(&usual))?;
    fs::write(directory.join("usual.json"), result_json(&usual))?;
    fs::write(directory.join("usual.csv"), csv(&usual))?;
    fs::write(directory.join("usual-seconds.csv"), seconds_csv(&usual))?;

    let mut trouble = sample::run(&three, 60);
    sample::trouble(&mut trouble);
    let mut silent = sample::run(&["sqlite", "postgres@17.6"], 5);
    sample::silence(&mut silent);
    let hostile = "postgres@/opt/</script><script>alert(1)</script>&\"'|`*/bin";
    let fifty: Vec<String> = (0..50).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let many: Vec<&str> = fifty.iter().map(String::as_str).collect();
    let mut vacuumed = suite::run(&three, &[1]);
    suite::vacuum_each_write(&mut vacuumed);
    let runs: [(&str, Run); 14] = [
        ("micro", suite::run(&three, &[1])),
        ("micro-vacuumed", vacuumed),
        ("scaleup", suite::run(&three, &[1, 2, 4, 8, 16])),
        ("comparison", suite::comparison()),
        ("judged", suite::judged()),
        ("released", suite::released()),
        ("crowd", suite::crowd(&fifty, 8, 6, 40)),
        ("profiled", suite::profiled()),
        ("usual", usual),
        ("trouble", trouble),
        ("silent", silent),
        ("single", sample::run(&["sqlite"], 1)),
        ("hostile", sample::run(&[hostile, "postgres@17.6"], 12)),
        ("many", sample::run(&many, 20)),
    ];
    for (name, run) in &runs {
        fs::write(directory.join(format!("{name}.html")), html(run))?;
        fs::write(directory.join(format!("{name}.txt")), text(run, Colour::Never))?;
        fs::write(directory.join(format!("{name}.md")), summary_markdown(run))?;
    }
    step_by_hand(directory)
}

/// A run of which only the first step of one contender was reached.
fn step_by_hand(directory: &Path) -> io::Result<()> {
    let mut begun = sample::run(&["postgres@17.6", "postgres@18.0"], 3);
    sample::step(&mut begun, "postgres@17.6", "l.i0").status = rqps_store::Status::Running;
    begun.rounds.truncate(1);
    fs::write(directory.join("begun.html"), html(&begun))
}
