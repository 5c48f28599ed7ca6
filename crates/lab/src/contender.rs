//! One contender in a single run: its server, its tasks, its end.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rqps_dbms::{Dbms, Descriptor, Home, Left, Needs, Place, Server};
use rqps_plan::{Build, Contender, Plan};
use rqps_store::{ContenderRecord, RoundRecord, RunDirectory, StoreError, write_whole};
use rqps_workload::Task;

use crate::alone::{Alone, Next};
use crate::arm::{Arm, arms};
use crate::client_cpus::ClientCpus;
use crate::error::{LabError, file_error};
use crate::lab::Lab;
use crate::selftest::treatment::Treatment;
use crate::stage::{measurement, round};
use crate::{Event, other_disk};

/// Connections beside those of the clients: for maintenance, for checks, and those that the server
/// reserves.
const CONTROL_CONNECTIONS: u64 = 5;

/// A file beside a run's data directories that names its run directory.
const OWNER: &str = "run";
/// A file beside them that exists if they are to be kept.
const KEPT: &str = "kept";
/// What there is beside data directories.
const OWN: [&str; 4] = [OWNER, KEPT, other_disk::LIST, other_disk::MARK];

/// Runs what the journal lacks of one contender. Its data stay until all is done.
pub(crate) fn run(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    arm: &Arm,
    dbms: &dyn Dbms,
) -> Result<(), LabError> {
    let contender = &plan.contenders[arm.index];
    let name = arm.name.clone();
    let part = arm.index as u32 + 1;
    let done = directory.done(part)?;
    if !done.is_empty() {
        (lab.watch)(Event::Resumed { contender: name.clone(), steps: done.len() });
    }
    if done.len() == rqps_workload::tasks(plan.workload())?.len() {
        return discard_rest(lab, directory, arm.index, dbms);
    }
    let place = place(lab, directory, arm)?;
    if done.is_empty() {
        start_afresh(&place)?;
    } else if !place.data.exists() {
        return Err(LabError::DataGone(place.data.display().to_string()));
    }

    ClientCpus::of(plan)?.tell(lab, &name);
    (lab.watch)(Event::Starting { contender: name.clone() });
    let mut alone = Alone::start(lab, plan, arm, dbms, &place)?;
    let seconds = alone.start_seconds;
    let record = describe(contender, dbms, &*alone.server, seconds)?;
    let version = record.version.clone();
    (lab.watch)(Event::Started { contender: name.clone(), version, seconds });
    keep(directory, contender, &record)?;

    // A remote server was inspected before anything was created there.
    if !contender.is_remote() {
        allow_connections(&record, plan)?;
    }
    let is_left = |task: &Task| !done.contains(&(task.index as u32));
    let result = alone
        .run(plan.workload(), is_left, |next| attempt(next, lab, directory, (name.as_str(), part)));
    let mut server = alone.server;
    let result = match result {
        Ok(()) if !lab.keep_data => server.discard().map_err(LabError::from),
        result => result,
    };
    // The data are kept for --resume, so the server is stopped in an orderly way.
    if result.is_err() || lab.keep_data {
        let kept = match server.left() {
            Some(left) => {
                let Left { place, url, .. } = left;
                Event::LeftOnServer { contender: name.clone(), place, url }
            }
            None => Event::DataKept { contender: name.clone(), path: place.data.clone() },
        };
        let stopped = server.stop();
        (lab.watch)(kept);
        stopped?;
    }
    if result.is_ok() {
        (lab.watch)(Event::ContenderDone { contender: name });
    }
    result
}

/// Inspects a remote server, and locks other runs out of rqps's schemas there.
pub(crate) fn arrive(plan: &Plan, index: usize, dbms: &dyn Dbms) -> Result<(), LabError> {
    let contender = &plan.contenders[index];
    let tasks = rqps_workload::tasks(plan.workload())?;
    let is_read_only = plan.comparison().is_some_and(|comparison| comparison.read_only);
    let read = match is_read_only {
        true => rqps_workload::calls(plan.workload(), contender).map(|calls| (Vec::new(), calls)),
        false => rqps_workload::made_tables(plan.workload(), contender).map(|it| (it, Vec::new())),
    };
    let (made, calls) = read.map_err(|error| LabError::from(error).of(&contender.name()))?;
    // In a comparison several arms are connected to a server at the same time.
    let arms = match plan.comparison() {
        Some(_) => arms(plan, &Treatment::default()),
        None => Vec::new(),
    };
    let is_there = |arm: &&Arm| plan.contenders[arm.index].is_same_url(contender);
    let at_once = arms.iter().filter(is_there).count().max(1) as u64;
    let own = arms.iter().filter(|arm| arm.index == index).map(|arm| arm.tables as u32);
    let sets: BTreeSet<u32> = own.collect();
    let sets: Vec<u32> = if sets.is_empty() { vec![0] } else { sets.into_iter().collect() };
    let needs = Needs {
        connections: (CONTROL_CONNECTIONS + plan.workload().connections()) * at_once,
        statement: tasks.iter().map(|task| task.statement_bytes).max().unwrap_or(0),
        is_table: rqps_workload::is_table,
        made,
        is_read_only,
        calls,
    };
    dbms.arrive(&needs, &sets).map_err(|error| LabError::from(error).of(&contender.name()))
}

/// Stores the description of a contender.
pub(crate) fn keep(
    directory: &mut RunDirectory,
    contender: &Contender,
    record: &ContenderRecord,
) -> Result<(), LabError> {
    directory.save_contender(record)?;
    let is_direct = rqps_dbms::reads_directly(contender, &record.settings);
    Ok(directory.set_direct_reads(&record.name, is_direct)?)
}

/// Refuses more clients than the server accepts, before anything is measured.
pub(crate) fn allow_connections(record: &ContenderRecord, plan: &Plan) -> Result<(), LabError> {
    let setting = record.settings.get("max_connections").and_then(|limit| limit.parse().ok());
    let Some(allowed) = setting else { return Ok(()) };
    let needed = CONTROL_CONNECTIONS + plan.workload().connections();
    if needed > allowed {
        return Err(LabError::Connections { needed, allowed });
    }
    Ok(())
}

/// Runs one of the tasks, and notes its outcome in the journal.
fn attempt(
    mut next: Next<'_>,
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    (contender, part): (&str, u32),
) -> Result<(), LabError> {
    let mut round = RoundRecord { part, ..round(next.task) };
    round.arms.insert(contender.to_string(), measurement(next.task));
    directory.begin(&mut round)?;
    let attempt = round.attempt;
    let measured = round.arms.get_mut(contender).expect("it was inserted right now");
    let result = next.run(lab, attempt, measured);
    if let Some(told) = next.driver.told() {
        next.stage(lab).note(measured, told);
    }
    directory.save(&round)?;
    result
}

/// The places of a contender's files, the same for every session of a run.
fn place(lab: &Lab<'_>, directory: &RunDirectory, arm: &Arm) -> Result<Place, LabError> {
    let data = data(&folder(lab, directory)?, directory, arm.index)?;
    Ok(Place { data, log: directory.log(&arm.name), ..Place::default() })
}

/// The data directory of a contender.
fn data(of_run: &Path, directory: &RunDirectory, index: usize) -> Result<PathBuf, LabError> {
    let folders = other_disk::folders(of_run, &directory.plan.contenders)?;
    Ok(folders[index].join(index.to_string()))
}

/// The folder of a run's data directories.
pub(crate) fn folder(lab: &Lab<'_>, directory: &RunDirectory) -> Result<PathBuf, LabError> {
    of_run(lab.home, directory)?;
    let of_run = lab.home.data_of(directory.id()?).map_err(rqps_dbms::DbmsError::from)?;
    // It distinguishes data directories of removed runs from those that may be resumed.
    let owner = of_run.join(OWNER);
    let run = std::path::absolute(directory.path()).unwrap_or_else(|_| directory.path().into());
    write_whole(&owner, |out| out.write_all(run.as_os_str().as_encoded_bytes()))?;
    if lab.keep_data {
        write_whole(&of_run.join(KEPT), |_| Ok(()))?;
    }
    Ok(of_run)
}

fn of_run(home: &Home, directory: &RunDirectory) -> Result<PathBuf, LabError> {
    let data = home.data().map_err(rqps_dbms::DbmsError::from)?;
    let of_run = data.join(directory.id()?);
    // A copy of a run, or another one with its identity, must not use its data.
    let owner =
        fs::read(of_run.join(OWNER)).ok().map(|owner| PathBuf::from(OsString::from_vec(owner)));
    let other = owner.filter(|owner| is_other(owner, directory.path()));
    match other {
        Some(other) => Err(StoreError::SameId { path: directory.path().into(), other }.into()),
        None => Ok(of_run),
    }
}

/// Whether two paths are different run directories: a moved one is not different.
fn is_other(owner: &Path, run: &Path) -> bool {
    let file = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino()));
    match (file(&owner.join("results.sqlite")), file(&run.join("results.sqlite"))) {
        (Ok(owner), Ok(run)) => owner != run,
        _ => false,
    }
}

/// Whether an earlier session of the run wanted its data to be kept.
pub(crate) fn were_to_stay(home: &Home, directory: &RunDirectory) -> bool {
    of_run(home, directory).is_ok_and(|of_run| of_run.join(KEPT).exists())
}

/// Removes the folder of a run's data directories if it contains none.
pub(crate) fn tidy(lab: &Lab<'_>, directory: &RunDirectory) {
    let Ok(of_run) = of_run(lab.home, directory) else { return };
    let folders: Vec<PathBuf> =
        other_disk::on_other_disks(&of_run).into_iter().chain([of_run.clone()]).collect();
    folders.iter().for_each(|folder| remove_begun(folder));
    let is_own = |entry: &fs::DirEntry| OWN.iter().any(|name| entry.file_name() == *name);
    let is_empty = |folder: &PathBuf| {
        let entries = fs::read_dir(folder);
        entries.is_ok_and(|mut all| !all.any(|entry| entry.is_ok_and(|entry| !is_own(&entry))))
    };
    if folders.iter().all(is_empty) {
        // `rqps dbms prune` finds what cannot be removed now.
        let _ = other_disk::remove(&of_run);
    }
}

/// Removes incomplete data directories of a killed rqps.
fn remove_begun(folder: &Path) {
    let is_begun = |entry: &fs::DirEntry| {
        entry.file_name().as_encoded_bytes().starts_with(rqps_dbms::BEGUN.as_bytes())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(is_begun) {
        // `rqps dbms prune` finds what cannot be removed now.
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// Removes the data of a completed contender, if rqps was killed before it removed them.
fn discard_rest(
    lab: &Lab<'_>,
    directory: &RunDirectory,
    index: usize,
    dbms: &dyn Dbms,
) -> Result<(), LabError> {
    let data = data(&of_run(lab.home, directory)?, directory, index)?;
    if lab.keep_data || !data.exists() {
        return Ok(());
    }
    Ok(dbms.disclaim(&data)?)
}

/// Removes what an attempt without any completed step left.
fn start_afresh(place: &Place) -> Result<(), LabError> {
    if place.data.exists() {
        fs::remove_dir_all(&place.data).map_err(file_error("remove", &place.data))?;
    }
    Ok(())
}

pub(crate) fn describe(
    contender: &Contender,
    dbms: &dyn Dbms,
    server: &dyn Server,
    start_seconds: f64,
) -> Result<ContenderRecord, LabError> {
    let build = dbms.build();
    let source = match (build, &contender.build) {
        (Some(build), _) => build
            .source
            .as_ref()
            .map_or(build.root.display().to_string(), |source| source.to_string()),
        (None, Build::Server { .. }) => "running server".to_string(),
        (None, _) => "in rqps".to_string(),
    };
    let archives = build.map(|build| {
        build.archives.iter().map(|archive| archive.sha256.clone()).collect::<Vec<_>>().join(" ")
    });
    let transport = server.target().connect().map_err(rqps_dbms::DbmsError::from)?.transport();
    let in_force = server.settings()?;
    let told = build.is_none().then(|| in_force.flags()).flatten();
    let flags = told.unwrap_or_else(|| dbms.flags());
    Ok(ContenderRecord {
        name: contender.name(),
        spec: contender.spec(),
        dbms: contender.dbms.to_string(),
        version: server.version().to_string(),
        source,
        archive_sha256: archives.filter(|sums| !sums.is_empty()),
        server_sha256: build.map(|build| build.server_sha256.clone()),
        compiler: build.and_then(|build| build.compiler.clone()),
        flags: Some(flags),
        libc: build.and_then(|build| build.libc.clone()),
        transport: transport.to_string(),
        settings: in_force.values,
        defaults: in_force.defaults,
        counters: <&Descriptor>::from(contender).counters(),
        start_seconds,
    })
}
