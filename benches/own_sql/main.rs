//! Own SQL beside the clients of the DBMSs: `cargo bench --bench own_sql`.
//!
//! - `-- load`: the time to load a dump, beside `psql` and `mysql` (Debian: postgresql-client,
//!   default-mysql-client). `--mb=200` is a smaller dump than 1000 MB.
//! - `-- folder`: whether 50 statements are compared in ten minutes, and how precisely.
//!
//! A benchmark, not a test: it prints figures beside the goals of docs/performance.md and exits
//! with 0 for any figures. Without `--bench`, which `cargo bench` passes, or with `--quick` it only
//! shows that it works.

mod dump;
mod folder;
mod load;

use anyhow::{Context, bail};

/// The parts, in their order.
const PARTS: [&str; 2] = ["load", "folder"];
const MB: &str = "--mb=";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let is_full = given("--bench") && !given("--quick");
    let size = arguments.iter().find_map(|argument| argument.strip_prefix(MB));
    let size: Option<u64> = size.map(str::parse).transpose().context("--mb=NUMBER")?;
    let names: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|one| !one.starts_with("--")).collect();
    if let Some(unknown) = names.iter().find(|name| !PARTS.contains(name)) {
        bail!("'{unknown}' is no part of this benchmark: {}", PARTS.join(", "));
    }
    let is_wanted = |part: &str| names.is_empty() || names.contains(&part);
    if is_wanted("load") {
        let (mb, rounds) = if is_full { (1000, 3) } else { (2, 1) };
        load::compare(size.unwrap_or(mb) * 1_000_000, rounds)?;
    }
    if is_wanted("folder") {
        folder::compare(is_full)?;
    }
    if !is_full {
        println!("A smoke run: too short for its figures to mean anything.");
    }
    Ok(())
}
