//! The folder on disk: reading all of it, and writing files that must not exist yet.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rqps_plan::Contender;
use rqps_system::{Lock, is_id};
use serde::Serialize;
use serde_json::Value;

use super::error::TrackError;
use super::record::{
    AnchorChange, ImportedValues, PairPoint, TrackAlert, TrackPoint, TrackedBuild,
};
use super::settings::{TrackSettings, refuse_newer, schema_version};
use super::words::{TrackAck, TrackNote};
use super::{TRACK_SCHEMA, WriteOnce};
use crate::directory::shown;
use crate::files::{alone_in, file, is_begun, open_own, own, read_own, write_new, write_whole};

const SETTINGS: &str = "track.toml";
const RUNS: &str = "runs";
/// Folders of files that are written once.
pub(super) const FOLDERS: [&str; 7] = [
    TrackPoint::FOLDER,
    PairPoint::FOLDER,
    AnchorChange::FOLDER,
    TrackAlert::FOLDER,
    TrackAck::FOLDER,
    TrackNote::FOLDER,
    ImportedValues::FOLDER,
];
/// What git leaves alone: it is large, or made from the rest.
const IGNORED: &str = "/runs/\n/site/\n/site.new/\n";

/// A folder of nights.
#[derive(Debug)]
pub struct Track {
    root: PathBuf,
    pub settings: TrackSettings,
}

/// All that is in the folder, in the order of time.
#[derive(Clone, Debug)]
pub struct TrackContents {
    pub settings: TrackSettings,
    pub points: Vec<TrackPoint>,
    pub pairs: Vec<PairPoint>,
    pub anchors: Vec<AnchorChange>,
    pub alerts: Vec<TrackAlert>,
    pub acks: Vec<TrackAck>,
    pub notes: Vec<TrackNote>,
    pub imports: Vec<ImportedValues>,
    /// Names in `runs/`.
    pub runs: BTreeSet<String>,
    /// Files that are left out, with the reason.
    pub faults: Vec<String>,
}

impl Track {
    /// Creates the folder; it must not exist or must be empty.
    pub fn create(
        root: &Path,
        anchor: &Contender,
        compare: &[String],
    ) -> Result<Track, TrackError> {
        if root.join(SETTINGS).symlink_metadata().is_ok() {
            return Err(TrackError::Taken(root.to_path_buf()));
        }
        if fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(TrackError::NotEmpty(root.to_path_buf()));
        }
        fs::create_dir_all(root).map_err(file("create", root))?;
        let write = |name: &str, text: &str| {
            write_whole(&root.join(name), |out| out.write_all(text.as_bytes()))
        };
        write(".gitignore", IGNORED)?;
        write(SETTINGS, &TrackSettings::text(anchor, compare))?;
        Track::open(root)
    }

    pub fn open(root: &Path) -> Result<Track, TrackError> {
        if root.join(SETTINGS).symlink_metadata().is_err() {
            return Err(TrackError::NoTrack(root.to_path_buf()));
        }
        let text = read_own(root, SETTINGS)?;
        let settings = TrackSettings::parse(&root.join(SETTINGS), &text)?;
        Ok(Track { root: root.to_path_buf(), settings })
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The right to add to the folder, held by one process at a time. Readers need none.
    pub fn lock(&self) -> Result<Option<Lock>, TrackError> {
        Ok(alone_in(&self.root)?)
    }

    /// A new name: the time, and a number that no other machine has drawn in the same second.
    pub fn new_id(now: Timestamp) -> String {
        // The keys of a hash table are random in each process and table.
        let drawn = RandomState::new().hash_one(std::process::id());
        format!("{}-{:08x}", now.strftime("%Y%m%dT%H%M%S"), drawn as u32)
    }

    /// Where the run of an id goes.
    pub fn run_path(&self, id: &str) -> PathBuf {
        self.root.join(RUNS).join(id)
    }

    pub fn contents(&self) -> Result<TrackContents, TrackError> {
        let mut faults = Vec::new();
        let mut points: Vec<TrackPoint> = self.read(&mut faults)?;
        points.sort_by(|one, other| (one.time, &one.id).cmp(&(other.time, &other.id)));
        points.dedup_by(|later, earlier| {
            let is_same = later.id == earlier.id;
            if is_same {
                faults.push(format!("night {} is in two files", later.id));
            }
            is_same
        });
        let mut acks: Vec<TrackAck> = self.read(&mut faults)?;
        acks.sort_by(|one, other| (one.when, &one.id).cmp(&(other.when, &other.id)));
        let mut alerts: Vec<TrackAlert> = self.read(&mut faults)?;
        alerts.sort_by(|one, other| (one.time, &one.id).cmp(&(other.time, &other.id)));
        let runs = fs::read_dir(self.root.join(RUNS)).into_iter().flatten().flatten();
        Ok(TrackContents {
            settings: self.settings.clone(),
            points,
            pairs: self.read(&mut faults)?,
            anchors: self.read(&mut faults)?,
            alerts,
            acks,
            notes: self.read(&mut faults)?,
            imports: self.read(&mut faults)?,
            runs: runs.filter_map(|entry| entry.file_name().into_string().ok()).collect(),
            faults,
        })
    }

    /// All files of a kind, in the order of their names. Those that cannot be used are told.
    fn read<T: WriteOnce>(&self, faults: &mut Vec<String>) -> Result<Vec<T>, TrackError> {
        let mut found = Vec::new();
        for name in names(&self.root, T::FOLDER) {
            let path = self.root.join(&name);
            let read = match read_own(&self.root, &name) {
                Ok(text) => self::read::<T>(&path, &text)?,
                Err(error) => Err(error.to_string()),
            };
            match read {
                Ok(one) => found.push(one),
                Err(why) => faults.push(format!("'{}' is left out: {why}", path.display())),
            }
        }
        Ok(found)
    }

    /// Writes a file that does not exist yet. The same contents again are no error.
    pub fn add<T: WriteOnce + Serialize>(
        &self,
        record: &T,
        time: Timestamp,
    ) -> Result<PathBuf, TrackError> {
        let folder = match T::FOLDER {
            TrackPoint::FOLDER => format!("{}/{}", T::FOLDER, time.strftime("%Y")),
            other => other.to_string(),
        };
        let text = match T::ENDING {
            "toml" => toml::to_string(record).expect("it holds only text, numbers and tables"),
            _ => serde_json::to_string(record).expect("it holds only text and numbers") + "\n",
        };
        let name = format!("{folder}/{}.{}", record.id(), T::ENDING);
        self.write(&name, text.as_bytes())
    }

    pub(super) fn write(&self, name: &str, contents: &[u8]) -> Result<PathBuf, TrackError> {
        let path = own(&self.root, name)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(file("create", folder))?;
        }
        match write_new(&path, contents) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                match fs::read(&path).is_ok_and(|there| there == contents) {
                    true => Ok(path),
                    false => Err(TrackError::Conflict { one: path.clone(), other: path }),
                }
            }
            written => Ok(written.map(|()| path.clone()).map_err(file("write", &path))?),
        }
    }

    /// Takes over the files of another folder. Nothing is written if two of the same name differ.
    pub fn take_over(&self, other: &Track) -> Result<usize, TrackError> {
        let mut fresh = Vec::new();
        // A newer file is found before anything is written.
        other.contents()?;
        for folder in FOLDERS {
            for name in names(&other.root, folder) {
                let theirs = read_own(&other.root, &name)?;
                let (one, there) = (own(&self.root, &name)?, other.root.join(&name));
                match open_own(&self.root, &name) {
                    Err(_) => fresh.push((name, theirs)),
                    Ok(_) if read_own(&self.root, &name)? == theirs => {}
                    Ok(_) => return Err(TrackError::Conflict { one, other: there }),
                }
            }
        }
        for (name, text) in &fresh {
            self.write(name, text.as_bytes())?;
        }
        Ok(fresh.len())
    }

    /// Names another anchor in `track.toml`.
    pub fn set_anchor(&self, anchor: &Contender) -> Result<(), TrackError> {
        let text = TrackSettings::with_anchor(&read_own(&self.root, SETTINGS)?, anchor);
        // What people write may have any form: nothing is replaced by what would not be read.
        let path = self.root.join(SETTINGS);
        TrackSettings::parse(&path, &text)?;
        Ok(write_whole(&path, |out| out.write_all(text.as_bytes()))?)
    }

    /// Removes run directories that are not to be kept. Only what a night of this folder names is
    /// removed.
    pub fn prune(&self, keep: &BTreeSet<String>, all: &TrackContents) -> Result<usize, TrackError> {
        let nights = all.points.iter().filter_map(|point| point.kept.as_ref());
        let named = nights.chain(all.pairs.iter().filter_map(|pair| pair.kept.as_ref()));
        let mut removed = 0;
        for name in named.filter(|name| is_id(name) && !keep.contains(*name)) {
            let path = own(&self.root, Path::new(RUNS).join(name))?;
            if path.join("manifest.json").is_file() {
                fs::remove_dir_all(&path).map_err(file("remove", &path))?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl TrackContents {
    /// The builds that a word may mean, by the last night of each.
    pub fn builds(&self) -> impl Iterator<Item = &TrackedBuild> {
        self.points.iter().rev().map(|point| &point.build)
    }
}

/// The names of files with the endings of a folder, relative to the root: also those in a folder
/// below, such as a year.
pub(super) fn names(root: &Path, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_string()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root.join(&folder)).into_iter().flatten().flatten();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !folder.contains('/') => folders.push(path),
                _ if is_begun(&entry.file_name()) => {}
                _ if name.ends_with(".json") || name.ends_with(".toml") => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// A record, or why it is left out. A newer schema is an error: half of a history is none.
pub(super) fn read<T: WriteOnce>(path: &Path, text: &str) -> Result<Result<T, String>, TrackError> {
    let value: Result<Value, String> = match T::ENDING {
        "toml" => toml::from_str(text).map_err(|error| error.message().to_string()),
        _ => serde_json::from_str(text).map_err(|error| error.to_string()),
    };
    let value = match value {
        Ok(value) => value,
        Err(why) => return Ok(Err(why)),
    };
    let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
    refuse_newer(path, schema)?;
    if schema_version(schema).is_none() {
        return Ok(Err(format!("its schema is not {TRACK_SCHEMA}")));
    }
    let record: T = match serde_json::from_value(shown(value)) {
        Ok(record) => record,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if !is_id(record.id()) || path.file_stem().is_none_or(|name| name != record.id()) {
        return Ok(Err(format!("its id is '{}'", record.id())));
    }
    Ok(match record.fault() {
        Some(why) => Err(why),
        None => Ok(record),
    })
}
