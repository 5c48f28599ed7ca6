//! `rqps track anchor`: another anchor, chained to the old one.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use jiff::Timestamp;
use rqps_analysis::track::{pair_ratios, tracked_build};
use rqps_plan::Contender;
use rqps_store::track::{AnchorChange, TRACK_SCHEMA, Track};

use super::super::exit::Exit;
use super::super::headings::MEASURE;
use super::super::output;
use super::super::session::Setup;
use super::compared::{self, Ended, Planned, measure, named, plan};

/// All later values depend on this comparison.
const LEAST_ROUNDS: u32 = 20;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Build that every night is compared with from now on.
    #[arg(value_name = "CONTENDER", help_heading = MEASURE)]
    anchor: Contender,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    let _alone = track.lock()?;
    let old = &track.settings.anchor;
    if old.spec() == arguments.anchor.spec() {
        bail!("'{old}' is the anchor already");
    }
    let both = named(&[(compared::BEFORE, old), (compared::AFTER, &arguments.anchor)]);
    let mut plan = plan(&track.settings.compare, both)?;
    if let Some(comparison) = plan.comparison_mut() {
        comparison.rounds = comparison.rounds.max(LEAST_ROUNDS);
        comparison.fewest_rounds = comparison.fewest_rounds.max(LEAST_ROUNDS);
        comparison.budget = None;
        comparison.confirm = None;
    }
    plan.validate()?;
    let setup = Setup::new()?;
    let ready = setup.prepare(&plan)?;
    let now = Timestamp::now();
    let id = Track::new_id(now);
    let run = match measure(&setup, &track, &id, Planned { plan, ready })? {
        Ended::Complete(run) => run,
        Ended::Not(exit) => return Ok(exit),
    };
    let results = compared::results(&run, &track.run_path(&id))?;
    let build = |name| tracked_build(&run, name).context("an anchor was not started");
    let change = AnchorChange {
        schema: TRACK_SCHEMA.to_string(),
        id,
        time: now,
        before: build(compared::BEFORE)?,
        after: build(compared::AFTER)?,
        run: run.manifest.id.clone(),
        tests: pair_ratios(&results, compared::AFTER),
    };
    track.add(&change, now)?;
    track.set_anchor(&arguments.anchor)?;
    output::note(&format!(
        "the anchor is {} from now on, chained by {} tests",
        arguments.anchor,
        change.tests.len()
    ));
    Ok(Exit::Done)
}
