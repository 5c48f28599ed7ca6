//! rqps's own part of an operation.

use std::process::Command;

use anyhow::{Context, bail};

use crate::Size;
use crate::host::{Host, Place};
use crate::spread::Spread;

const LIBRARY: &str = include_str!("nothing.c");
const TESTS: [&str; 5] = ["readrandom", "multireadrandom", "fwdrange", "revrange", "overwrite"];
/// A call takes so many times less than one of a real library.
const FASTER: u64 = 10;

pub(crate) fn measure(size: &Size) -> anyhow::Result<()> {
    let place = Place::new()?;
    let (source, library) = (place.path("nothing.c"), place.path("libnothing.so"));
    std::fs::write(&source, LIBRARY)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).args([&library, &source]);
    let compiled = compiler.output().context("cc is missing. Install it, as in package gcc")?;
    if !compiled.status.success() {
        bail!("cc: {}", String::from_utf8_lossy(&compiled.stderr));
    }
    let mut host = Host::start(&library, &place, &[])?;
    println!("rqps's own part of a call, with a library that does nothing (goal: 300 ns)");
    for test in TESTS {
        host.ask(&format!("client {test} 100000 1 1"))?;
        let (mut times, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..size.rounds {
            let (time, used) = host.perform(size.operations * FASTER)?;
            times.push(time);
            cpu.push(used);
        }
        let [times, cpu] = [times, cpu].map(|figures| Spread::of(&figures).show(1));
        println!("  {test:16} {times} ns, CPU {cpu} ns");
    }
    host.end().map(drop)
}
