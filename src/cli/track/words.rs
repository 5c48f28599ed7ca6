//! `rqps track ack` and `note`: what people say of changes and builds.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use rqps_analysis::track::TrackHistory;
use rqps_store::track::{
    AckKind, CutChange, TRACK_SCHEMA, Track, TrackAck, TrackContents, TrackNote,
};

use super::super::exit::Exit;
use super::super::headings::MEASURE;
use super::super::output;

#[derive(Args)]
pub(crate) struct Ack {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Id of the change, or its beginning, as rqps track status shows it.
    #[arg(value_name = "CHANGE")]
    change: String,
    /// How it is taken: known, accepted (the new level is normal), noise or not-ours.
    #[arg(long = "as", value_name = "KIND", default_value = "known")]
    kind: AckKind,
    /// The reason, for others.
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// The date or build from which on it no longer holds.
    #[arg(long, value_name = "DATE|BUILD")]
    until: Option<String>,
    #[command(flatten)]
    who: Who,
}

#[derive(Args)]
pub(crate) struct Note {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// What is to be noted.
    #[arg(value_name = "TEXT")]
    text: String,
    /// Build: its version, contender, or the beginning of its commit.
    #[arg(long, value_name = "BUILD")]
    at: String,
    /// Test [default: all].
    #[arg(long, value_name = "TEST", help_heading = MEASURE)]
    test: Option<String>,
    /// The build is a release, and later ones are compared with it.
    #[arg(long)]
    release: bool,
    /// Set a step before the build, or remove the one that was found there.
    #[arg(long, value_name = "add|remove")]
    change_point: Option<CutWord>,
    #[command(flatten)]
    who: Who,
}

#[derive(Args)]
struct Who {
    /// Name of the person [default: the user].
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
}

impl Who {
    fn name(&self) -> String {
        let user = || ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        self.who.clone().or_else(user).unwrap_or_else(|| "somebody".to_string())
    }
}

#[derive(Clone, Copy, Debug)]
struct CutWord(CutChange);

impl std::str::FromStr for CutWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "add" => Ok(CutWord(CutChange::Add)),
            "remove" => Ok(CutWord(CutChange::Remove)),
            _ => Err(format!("'{text}' is neither add nor remove")),
        }
    }
}

pub(super) fn ack(arguments: &Ack) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    let _alone = track.lock()?;
    let all = track.contents()?;
    let history = TrackHistory::new(&all);
    let mut ids: Vec<&str> = all.alerts.iter().map(|alert| alert.id.as_str()).collect();
    ids.extend(history.changes().map(|group| group.id.as_str()));
    ids.sort_unstable();
    ids.dedup();
    let meant: Vec<&str> =
        ids.iter().copied().filter(|id| id.starts_with(&arguments.change)).collect();
    let change = match meant[..] {
        [change] => change.to_string(),
        [] if ids.is_empty() => bail!("there is no change to acknowledge"),
        [] => bail!("there is no change '{}': there are {}", arguments.change, ids.join(", ")),
        _ => bail!("'{}' may be {}. Write more of it", arguments.change, meant.join(" or ")),
    };
    let now = Timestamp::now();
    let ack = TrackAck {
        schema: TRACK_SCHEMA.to_string(),
        id: Track::new_id(now),
        change,
        kind: arguments.kind,
        who: arguments.who.name(),
        when: now,
        why: arguments.why.clone(),
        until: arguments.until.clone(),
    };
    track.add(&ack, now)?;
    output::note(&format!("change {} is acknowledged as {}", ack.change, ack.kind));
    Ok(Exit::Done)
}

pub(super) fn note(arguments: &Note) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    let _alone = track.lock()?;
    let all = track.contents()?;
    refuse_unknown(arguments, &all)?;
    let now = Timestamp::now();
    let note = TrackNote {
        schema: TRACK_SCHEMA.to_string(),
        id: Track::new_id(now),
        who: arguments.who.name(),
        when: now,
        text: arguments.text.clone(),
        at: arguments.at.clone(),
        test: arguments.test.clone(),
        release: arguments.release,
        change_point: arguments.change_point.map(|cut| cut.0),
    };
    let path = track.add(&note, now)?;
    output::note(&format!("wrote {}", path.display()));
    Ok(Exit::Done)
}

fn refuse_unknown(arguments: &Note, all: &TrackContents) -> anyhow::Result<()> {
    if !all.builds().any(|build| build.is_meant_by(&arguments.at)) {
        let mut names: Vec<String> = all.builds().map(|build| build.name()).collect();
        names.dedup();
        names.truncate(12);
        bail!("no night has a build '{}': the last are {}", arguments.at, names.join(", "));
    }
    let mut tests = all.points.iter().flat_map(|point| point.tests.keys());
    match &arguments.test {
        Some(test) if !tests.any(|known| known == test) => {
            bail!("no night has a test '{test}'. See rqps track status")
        }
        _ => Ok(()),
    }
}
