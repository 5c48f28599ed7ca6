//! Loads the data of every arm, once for each round or as often as in the plan; rounds work on
//! copies.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rand::seq::SliceRandom;
use rqps_dbms::{DbmsError, Place, Quiesce};
use rqps_load::Crew;
use rqps_plan::Memory;
use rqps_store::RunDirectory;
use rqps_workload::{Assigned, Driver, Task};

use super::round::{Draw, Setting};
use crate::contender::{allow_connections, describe, file_error, keep};
use crate::laps::Laps;
use crate::{Event, Lab, LabError};

/// The data directories of a comparison.
pub(crate) struct Folders(PathBuf);

impl Folders {
    pub(crate) fn new(of_run: PathBuf) -> Self {
        Folders(of_run)
    }

    /// A loaded directory whose server has been stopped.
    pub(crate) fn loaded(&self, arm: usize, load: u32) -> PathBuf {
        self.0.join(format!("{arm}-load{load}"))
    }

    /// The copy that a round works on.
    pub(crate) fn round(&self, arm: usize) -> PathBuf {
        self.0.join(format!("{arm}-round"))
    }

    /// A note for the reader about a load, such as aborted maintenance.
    pub(crate) fn note(&self, arm: usize, load: u32) -> Option<String> {
        fs::read_to_string(note(&self.loaded(arm, load))).ok()
    }

    /// The last existing load of an arm, of at most `most`.
    pub(crate) fn last(&self, arm: usize, most: u32) -> Option<PathBuf> {
        let loads = (1..=most).rev().map(|load| self.loaded(arm, load));
        loads.into_iter().find(|loaded| loaded.exists())
    }

    /// The folder for temporary files.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes a load of all arms, which no round needs any more.
    fn forget(&self, arms: usize, load: u32) {
        for arm in 0..arms {
            let loaded = self.loaded(arm, load);
            let _ = fs::remove_dir_all(&loaded);
            let _ = fs::remove_file(note(&loaded));
        }
    }

    pub(crate) fn remove_all(&self) {
        // `rqps dbms prune` finds what cannot be removed now.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The file beside a loaded directory, in which only the DBMS writes.
fn note(loaded: &Path) -> PathBuf {
    loaded.with_extension("note")
}

/// Loads the data that a round needs, for these arms, if they do not exist yet.
pub(crate) fn load(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    setting: &Setting<'_>,
    members: impl IntoIterator<Item = usize>,
    round: u32,
) -> Result<(), LabError> {
    let number = setting.comparison.load_of(round);
    let mut order: Vec<usize> = members.into_iter().collect();
    order.shuffle(&mut setting.random(Draw::Loads, &[number.into()]));
    for place in order {
        let to = setting.folders.loaded(place, number);
        if !to.exists() {
            load_one(lab, directory, setting, place, &to)
                .map_err(|error| error.of(&setting.arms[place].name))?;
        }
    }
    Ok(())
}

/// Removes the data of this round alone, or, if data are kept, those of the round before.
pub(crate) fn unload(setting: &Setting<'_>, round: u32, keeps: bool) {
    let round = round - u32::from(keeps);
    if setting.comparison.loads.is_none() && round > 0 {
        setting.folders.forget(setting.arms.len(), setting.comparison.load_of(round));
    }
}

fn load_one(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    setting: &Setting<'_>,
    place: usize,
    to: &Path,
) -> Result<(), LabError> {
    let (plan, arm) = (setting.plan, &setting.arms[place]);
    let dbms = &*setting.ready[arm.index];
    let contender = &plan.contenders[arm.index];
    let name = arm.name.clone();
    // It has another name until it is complete.
    let mut fresh = to.as_os_str().to_owned();
    fresh.push(".making");
    let fresh = PathBuf::from(fresh);
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(file_error("remove", &fresh))?;
    }
    (lab.watch)(Event::Loading { contender: name.clone() });
    let begun = Instant::now();
    let mut laps = Laps::begin();
    let place = Place { data: fresh.clone(), log: directory.log(&name), ..Place::default() };
    let mut server = dbms.start(lab.home, &place, lab.cancel)?;
    let start_seconds = begun.elapsed().as_secs_f64();
    laps.lap("start");
    let record = describe(contender, dbms, &*server, start_seconds)?;
    allow_connections(&record, plan)?;
    if !arm.is_control {
        keep(directory, contender, &record)?;
    }
    laps.lap("describe");
    // A chain begins with filling its tables, and measures that.
    if let Some(task) = setting.tasks.iter().find(|task| task.fills) {
        let target = server.target().clone();
        let driver = setting.driver(arm, &target)?;
        fill(task, &*driver, lab)?;
        laps.lap("fill");
        if let Some(left) = server.quiesce(Quiesce::Full, &driver.tables())? {
            let text = format!("the maintenance after the load was aborted: {left}");
            let file = note(to);
            fs::write(&file, &text).map_err(file_error("write", &file))?;
            let (contender, step) = (name.clone(), task.name.clone());
            (lab.watch)(Event::Noted { contender, step, note: text });
        }
        laps.lap("quiesce");
    }
    server.stop()?;
    fs::rename(&fresh, to).map_err(file_error("make", to))?;
    laps.lap("stop");
    laps.tell(&format!("{name}, load"));
    let seconds = begun.elapsed().as_secs_f64();
    (lab.watch)(Event::Loaded { contender: name, version: record.version, seconds });
    Ok(())
}

fn fill(task: &Task, driver: &dyn Driver, lab: &Lab<'_>) -> Result<(), LabError> {
    driver.prepare(task, 1)?;
    let cast = driver.cast(task, task.clients, 0)?;
    work(cast.parts.into_iter().map(|part| (part.work, part.order)).collect(), lab)?;
    work(driver.indexers(task)?, lab)?;
    Ok((cast.end)()?)
}

fn work(assigned: Vec<Assigned>, lab: &Lab<'_>) -> Result<(), LabError> {
    let (work, orders): (Vec<_>, Vec<_>) = assigned.into_iter().unzip();
    let mut crew = Crew::start(work)?;
    crew.run(&orders, &mut |_, _| {}, lab.cancel)?;
    crew.finish();
    Ok(())
}

/// Copies a loaded directory for a round. If the memory of the server is limited, the copy is
/// dropped from the page cache, where it would count as rqps's and not as the server's.
pub(crate) fn restore(from: &Path, to: &Path, memory: Option<Memory>) -> Result<(), DbmsError> {
    rqps_dbms::copy_data(from, to)?;
    if memory.is_some() {
        rqps_dbms::forget_data(to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_known_of_a_load_is_beside_it_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let folders = Folders::new(folder.path().to_path_buf());
        let loaded = folders.loaded(1, 2);
        fs::create_dir(&loaded).unwrap();
        assert_eq!(folders.note(1, 2), None, "there is nothing to know");
        fs::write(note(&loaded), "the vacuum was given up").unwrap();
        assert_eq!(folders.note(1, 2).as_deref(), Some("the vacuum was given up"));
        assert_eq!(fs::read_dir(&loaded).unwrap().count(), 0, "only its DBMS writes there");
        assert_eq!((folders.note(0, 2), folders.note(1, 1)), (None, None), "those are other loads");
        folders.forget(2, 2);
        assert_eq!((folders.note(1, 2), loaded.exists()), (None, false));
    }
}
