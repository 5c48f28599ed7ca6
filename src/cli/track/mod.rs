//! `rqps track`: a comparison every night against an anchor, and what has changed over the nights.

mod anchor;
mod compared;
mod exchange;
mod hook;
mod night;
mod site;
mod status;
mod told;
mod words;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rqps_plan::Contender;
use rqps_store::track::Track;

use super::exit::Exit;
use super::headings::{MEASURE, OUTPUT};
use super::output;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a folder of nights
    ///
    /// Flags behind -- are those of rqps compare: rqps track init DIR --anchor postgres@17.6
    /// --workload micro:point -- --budget 30m. They go into DIR/track.toml, where they can be
    /// changed.
    Init(Init),
    /// Measure a build against the anchor and the build of the night before
    ///
    /// Exit code 1: a change towards slower was found with this night, and nobody has acknowledged
    /// it. Exit code 5: with --strict, a test of the night has no valid result.
    Run(night::Arguments),
    /// Add an existing run directory as a night
    ///
    /// Its baseline must be the anchor. The run stays where it is. Exit codes are those of rqps
    /// track run.
    Add(night::Added),
    /// Show open changes and the state of every test.
    Status(status::Arguments),
    /// List the nights.
    List(status::NightList),
    /// Acknowledge a change
    ///
    /// The last acknowledgement of a change counts.
    Ack(words::Ack),
    /// Note something about a build: a release, or a step that is set or removed by hand.
    Note(words::Note),
    /// Use another anchor from now on, and measure it against the old one
    ///
    /// The comparison takes at least 20 rounds. The values of both anchors are chained by it.
    Anchor(anchor::Arguments),
    /// Look for damaged, doubled and misplaced files.
    Check(Folder),
    /// Write the site: pages that any host of files serves, and that a browser shows from a folder.
    Site(site::Arguments),
    /// Write the history in the format of another program.
    Export(exchange::Export),
    /// Take over the nights of another folder, or values of another program
    ///
    /// Values of other programs have no anchor and no interval: they are shown, and never an alert.
    Import(exchange::Import),
}

#[derive(Args)]
pub(crate) struct Folder {
    /// Folder of nights, which rqps track init has created.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Args)]
pub(crate) struct Init {
    /// Folder to create; it must not exist, or be empty.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Build that every night is compared with, such as the last release.
    #[arg(long, value_name = "CONTENDER", help_heading = MEASURE)]
    anchor: Contender,
    /// Workload of every night [default: ten read tests].
    #[arg(long, value_name = "WORKLOAD", help_heading = MEASURE)]
    workload: Option<String>,
    /// Further flags of rqps compare, behind --.
    #[arg(value_name = "FLAGS", last = true, help_heading = MEASURE)]
    flags: Vec<String>,
}

/// When the source of a build was committed.
#[derive(Args, Clone)]
pub(crate) struct CommitShown {
    /// CommitShown of the build.
    #[arg(long, value_name = "SHA", help_heading = MEASURE)]
    commit: Option<String>,
    /// Time of the commit, in whose order the builds are, as from git show -s --format=%cI
    ///
    /// [default: the time of the run]
    #[arg(long, value_name = "TIME", help_heading = MEASURE)]
    time: Option<jiff::Timestamp>,
}

/// What is said of a night.
#[derive(Args, Clone, Copy)]
pub(crate) struct Severity {
    /// Exit with 5 if a test of the night has no valid result.
    #[arg(long, help_heading = OUTPUT)]
    strict: bool,
}

pub(crate) fn run(verb: &Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Init(arguments) => init(arguments),
        Verb::Run(arguments) => night::run(arguments),
        Verb::Add(arguments) => night::add(arguments),
        Verb::Status(arguments) => status::run(arguments),
        Verb::List(arguments) => status::list(arguments),
        Verb::Ack(arguments) => words::ack(arguments),
        Verb::Note(arguments) => words::note(arguments),
        Verb::Anchor(arguments) => anchor::run(arguments),
        Verb::Check(arguments) => status::check(arguments),
        Verb::Site(arguments) => site::run(arguments),
        Verb::Export(arguments) => exchange::export(arguments),
        Verb::Import(arguments) => exchange::import(arguments),
    }
}

fn init(Init { folder, anchor, workload, flags }: &Init) -> anyhow::Result<Exit> {
    let workload = workload.iter().flat_map(|workload| ["--workload", workload]);
    let compare: Vec<String> = workload.map(str::to_string).chain(flags.iter().cloned()).collect();
    // Everything that can be wrong with the flags shows now, not in the first night.
    compared::plan(&compare, compared::named(&[("anchor", anchor), ("today", anchor)]))?;
    let track = Track::create(folder, anchor, &compare)?;
    let path = track.path().display();
    output::note(&format!("created {path}. Measure: rqps track run {path} --build CONTENDER"));
    Ok(Exit::Done)
}
