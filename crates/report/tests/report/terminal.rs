//! The texts in terminals of every width.

use rqps_report::{Report, Terminal, post, text};
use rqps_store::Run;

use crate::sample;
use crate::suite;
use crate::whole_runs;
use crate::{HOSTILE, THREE};

/// What is wider than the terminal: only a command may be, which is copied whole.
fn too_wide(text: &str, width: usize) -> Vec<&str> {
    let is_command = |line: &&str| {
        let starts = ["rqps ", "perf ", "the flame graphs "];
        starts.iter().any(|start| line.trim_start().starts_with(start))
    };
    text.lines()
        .filter(|line| line.chars().count() > width)
        .filter(|line| !is_command(line))
        .collect()
}

#[test]
fn a_report_fits_into_terminals_of_40_to_200_columns() {
    let mut trouble = sample::run(&THREE, 12);
    sample::trouble(&mut trouble);
    let many: Vec<String> = (0..7).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let runs: [(&str, Run); 9] = [
        ("trouble", trouble),
        ("hostile", sample::run(&[HOSTILE, "postgres@17.6"], 12)),
        ("micro", suite::run(&THREE, &[1])),
        ("scaleup", suite::run(&THREE, &[1, 2, 3, 4, 10])),
        ("judged", suite::judged()),
        ("released", suite::released()),
        ("crowd", suite::crowd(&many, 8, 6, 4)),
        ("profiled", suite::profiled()),
        ("whole runs", whole_runs::complete()),
    ];
    for (name, run) in &runs {
        let report = Report::new(run);
        for width in [40, 41, 60, 79, 80, 99, 100, 101, 120, 160, 200] {
            let terminal = Terminal { width, ..Terminal::PLAIN };
            for text in [text(&report, terminal), post(&report, terminal)] {
                let wide = too_wide(&text, width);
                assert!(wide.is_empty(), "{name} in {width} columns: {wide:#?}");
            }
        }
    }
}
