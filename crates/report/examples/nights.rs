//! How long a site takes: a folder of 400 nights of 40 tests.
//!
//! ```sh
//! cargo build --release --workspace --bins --examples
//! target/release/examples/nights DIR                    # makes the folder
//! /usr/bin/time -v target/release/rqps track site DIR
//! ```

// The tests need more of it.
#[allow(dead_code)]
#[path = "../tests/report/nights.rs"]
mod nights;

use std::env;
use std::error::Error;
use std::path::Path;

use rqps_store::track::Track;

const NIGHTS: usize = 400;
const TESTS: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder] = arguments.as_slice() else { return Err("usage: nights DIR".into()) };
    let contents = nights::contents(NIGHTS, TESTS);
    let track =
        Track::create(Path::new(folder), &contents.settings.anchor, &contents.settings.compare)?;
    for point in &contents.points {
        track.add(point, point.time)?;
    }
    for alert in &contents.alerts {
        track.add(alert, alert.time)?;
    }
    for ack in &contents.acks {
        track.add(ack, ack.when)?;
    }
    for note in &contents.notes {
        track.add(note, note.when)?;
    }
    for import in &contents.imports {
        track.add(import, import.time)?;
    }
    Ok(())
}
