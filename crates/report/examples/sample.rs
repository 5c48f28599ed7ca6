//! Writes every format of made-up and stored runs into a directory, to be looked at while the
//! reports are worked on: `cargo run -p rqps-report --example sample -- DIR [RUN…]`.

#[path = "../tests/report/sample.rs"]
mod sample;
#[path = "../tests/report/suite.rs"]
mod suite;

use std::path::Path;
use std::{env, fs, io};

use rqps_report::{Colour, File, Report, Terminal};
use rqps_store::{Run, Status};

const PLAIN: Terminal = Terminal::PLAIN;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "sample".to_string());
    let directory = Path::new(&directory);
    for (name, run) in made_up() {
        write(directory, name, &run)?;
    }
    for path in arguments {
        let run = Run::open(Path::new(&path)).map_err(io::Error::other)?;
        let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        write(directory, &name, &run)?;
    }
    Ok(())
}

fn made_up() -> [(&'static str, Run); 15] {
    let three = ["postgres@17.6", "postgres@18.0", "postgres@18.0:x10d?work_mem=16MB"];
    let mut trouble = sample::run(&three, 60);
    sample::trouble(&mut trouble);
    let mut silent = sample::run(&["sqlite", "postgres@17.6"], 5);
    sample::silence(&mut silent);
    let hostile = "postgres@/opt/</script><script>alert(1)</script>&\"'|`*/bin";
    let fifty: Vec<String> = (0..50).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let many: Vec<&str> = fifty.iter().map(String::as_str).collect();
    let mut vacuumed = suite::run(&three, &[1]);
    suite::vacuum_each_write(&mut vacuumed);
    // Only the first step of one contender was reached.
    let mut begun = sample::run(&["postgres@17.6", "postgres@18.0"], 3);
    sample::step(&mut begun, "postgres@17.6", "l.i0").status = Status::Running;
    begun.rounds.truncate(1);
    [
        ("usual", sample::run(&three, 60)),
        ("micro", suite::run(&three, &[1])),
        ("micro-vacuumed", vacuumed),
        ("scaleup", suite::run(&three, &[1, 2, 4, 8, 16])),
        ("comparison", suite::comparison()),
        ("judged", suite::judged()),
        ("released", suite::released()),
        ("crowd", suite::crowd(&fifty[..12], 8, 6, 40)),
        ("profiled", suite::profiled()),
        ("trouble", trouble),
        ("silent", silent),
        ("single", sample::run(&["sqlite"], 1)),
        ("hostile", sample::run(&[hostile, "postgres@17.6"], 12)),
        ("many", sample::run(&many, 20)),
        ("begun", begun),
    ]
}

/// Every format, in a folder with the name of the run.
fn write(directory: &Path, name: &str, run: &Run) -> io::Result<()> {
    let directory = directory.join(name);
    fs::create_dir_all(&directory)?;
    let report = &Report::new(run);
    let texts = [
        ("report.ansi", rqps_report::text(report, Terminal { colour: Colour::Always, ..PLAIN })),
        ("post.txt", rqps_report::post(report, PLAIN)),
        ("summary.md", rqps_report::summary_markdown(report)),
        ("report.html", rqps_report::html(report)),
        ("result.json", rqps_report::result_json(report)),
        ("table.csv", rqps_report::csv(report)),
        ("verdicts.csv", rqps_report::verdicts_csv(report)),
        ("metrics.csv", rqps_report::metrics_csv(report)),
        ("seconds.csv", rqps_report::seconds_csv(report)),
        ("junit.xml", rqps_report::junit(report).unwrap_or_default()),
        ("otava.csv", rqps_report::otava(report)),
        ("sysbench.txt", rqps_report::sysbench(report)),
    ];
    for (name, text) in texts {
        fs::write(directory.join(name), text)?;
    }
    for width in [40, 80, 100, 120, 200] {
        let text = rqps_report::text(report, Terminal { width, ..PLAIN });
        fs::write(directory.join(format!("report-{width}.txt")), text)?;
    }
    for (name, text) in rqps_report::suite_files(report) {
        fs::write(directory.join(name), text)?;
    }
    for File { name, contents } in
        rqps_report::hdr(report).into_iter().chain(rqps_report::parquet(report))
    {
        fs::write(directory.join(name.replace('/', "_")), contents)?;
    }
    Ok(())
}
