//! Loads the data of every arm, once for each round or as often as in the plan. A round works on a
//! copy, unless no other needs the load.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use rand::seq::SliceRandom;
use rqps_dbms::{Dbms, Home, Place, Quiesce, Server};
use rqps_load::{Cancel, ClientThreads};
use rqps_plan::Plan;
use rqps_store::{ContenderRecord, RunDirectory};
use rqps_workload::{Assigned, Driver, PlaceFile, Task, place_file};

use super::context::{ComparisonContext, Draw, driver};
use super::folders::{beside, unfinished};
use super::remote;
use crate::Event;
use crate::arm::Arm;
use crate::contender::{allow_connections, describe, keep};
use crate::error::{LabError, file_error};
use crate::lab::Lab;
use crate::laps::Laps;

/// Loads the data that a round needs, for these arms, if they do not exist yet. A failure of one
/// ends the others.
pub(crate) fn load(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    shared: &ComparisonContext<'_>,
    members: impl IntoIterator<Item = usize>,
    round: u32,
) -> Result<(), LabError> {
    let number = shared.comparison.load_of(round);
    if shared.comparison.read_only {
        return visit(lab, directory, shared, members, number);
    }
    let mut first = None;
    let mut order: Vec<usize> = members.into_iter().collect();
    order.shuffle(&mut shared.random(Draw::Loads, &[number.into()]));
    let all = order.clone();
    order.retain(|place| {
        let arm = &shared.arms[*place];
        let is_lost = shared.lost.has(&arm.name);
        arm.tables == *place && !is_lost && !shared.folders.loaded(*place, number).exists()
    });
    let at_once = if shared.fit_together { order.len().max(1) } else { 1 };
    for arms in order.chunks(at_once) {
        side_by_side(lab, directory, shared, arms, (number, &mut first))?;
    }
    if !order.is_empty() {
        for place in all {
            describe_sharing(lab, directory, shared, (place, number))?;
        }
    }
    Ok(())
}

/// Stores the descriptions of servers that have their tables already.
fn visit(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    shared: &ComparisonContext<'_>,
    members: impl IntoIterator<Item = usize>,
    load: u32,
) -> Result<(), LabError> {
    for place in members {
        let arm = &shared.arms[place];
        if arm.is_control || shared.lost.has(&arm.name) {
            continue;
        }
        match describe_tables_of_others(lab, directory, shared, (place, load)) {
            // Others go on without a server that went away. The baseline is always needed.
            Err(error) if !arm.is_base() && error.is_disconnect() => {
                shared.lost.add(&arm.name);
                let (contender, error) = (arm.name.clone(), error.to_string());
                (lab.watch)(Event::Failed { contender, error });
            }
            described => described?,
        }
    }
    Ok(())
}

/// Stores the description of a contender that works on tables of another.
fn describe_sharing(
    lab: &Lab<'_>,
    directory: &mut RunDirectory,
    shared: &ComparisonContext<'_>,
    (place, load): (usize, u32),
) -> Result<(), LabError> {
    let arm = &shared.arms[place];
    match arm.tables == place || arm.is_control {
        true => Ok(()),
        false => describe_tables_of_others(lab, directory, shared, (place, load)),
    }
}

fn describe_tables_of_others(
    lab: &Lab<'_>,
    directory: &mut RunDirectory,
    shared: &ComparisonContext<'_>,
    (place, load): (usize, u32),
) -> Result<(), LabError> {
    let arm = &shared.arms[place];
    let (contender, dbms) = (&shared.plan.contenders[arm.index], &*shared.ready[arm.index]);
    let begun = Instant::now();
    let at = Place {
        data: shared.folders.loaded(arm.tables, load),
        log: directory.log(&arm.name),
        set: arm.tables as u32,
        is_shared: true,
        ..Place::default()
    };
    let described = || {
        let server = dbms.start(lab.home, &at, lab.cancel)?;
        describe(contender, dbms, &*server, begun.elapsed().as_secs_f64())
    };
    keep(directory, contender, &described().map_err(|error| error.of(&arm.name))?)
}

/// A contender with the rows of its tables.
type RowCounts = (String, BTreeMap<String, u64>);

/// An error if a table that both contenders have has other rows in one of them: then they would not
/// do the same work.
fn check_rows((one, its): &RowCounts, (other, of_other): &RowCounts) -> Result<(), LabError> {
    let both = its.iter().filter_map(|(table, rows)| Some((table, *rows, *of_other.get(table)?)));
    match both.into_iter().find(|(_, rows, others)| rows != others) {
        None => Ok(()),
        Some((table, rows, others)) => Err(LabError::OtherRows {
            table: table.clone(),
            contenders: (one.clone(), other.clone()),
            rows: (rows, others),
        }),
    }
}

fn side_by_side(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    shared: &ComparisonContext<'_>,
    arms: &[usize],
    (number, first): (u32, &mut Option<RowCounts>),
) -> Result<(), LabError> {
    let (home, cancel) = (lab.home, lab.cancel.part());
    let ComparisonContext { plan, tasks, ready, .. } = *shared;
    let (tell, told) = channel();
    let mut failed = None;
    thread::scope(|scope| {
        for place in arms {
            let arm = &shared.arms[*place];
            let to = shared.folders.loaded(*place, number);
            let (dbms, log) = (&*ready[arm.index], directory.log(&arm.name));
            let load = Load { plan, tasks, arm, dbms, to, log };
            (lab.watch)(Event::Loading { contender: arm.name.clone() });
            let (tell, cancel) = (tell.clone(), &cancel);
            // They are received until the last of them has ended.
            scope.spawn(move || drop(tell.send((arm, load.make(home, cancel)))));
        }
        drop(tell);
        for (arm, made) in told {
            let kept = made.map_err(|error| error.of(&arm.name)).and_then(|mut made| {
                let rows = (arm.name.clone(), std::mem::take(&mut made.rows));
                check_rows(first.get_or_insert_with(|| rows.clone()), &rows)?;
                made.keep(lab, directory, plan, arm).map_err(|error| error.of(&arm.name))
            });
            match kept {
                Ok(()) => {}
                // Others go on without a server that went away. The baseline is always needed.
                Err(error) if arm.is_remote && !arm.is_base() && error.is_disconnect() => {
                    shared.lost.add(&arm.name);
                    let (contender, error) = (arm.name.clone(), error.to_string());
                    (lab.watch)(Event::Failed { contender, error });
                }
                Err(error) => {
                    cancel.request();
                    failed.get_or_insert(error);
                }
            }
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Removes the data of this round alone, or, if data are kept, those of the round before.
pub(crate) fn unload(lab: &mut Lab<'_>, shared: &ComparisonContext<'_>, round: u32, keeps: bool) {
    let round = round - u32::from(keeps);
    if shared.comparison.loads.is_none() && round > 0 {
        remote::remove(lab, shared, shared.comparison.load_of(round));
        // The record of tables that could not be removed from a server stays.
        let own = (0..shared.arms.len()).filter(|place| !shared.arms[*place].is_remote);
        shared.folders.forget(own, shared.comparison.load_of(round));
    }
}

/// A load of one arm.
struct Load<'a> {
    plan: &'a Plan,
    tasks: &'a [Task],
    arm: &'a Arm,
    dbms: &'a dyn Dbms,
    to: PathBuf,
    log: PathBuf,
}

/// Its result, beside the data.
struct NewLoad {
    record: ContenderRecord,
    /// The step, and what of its maintenance was aborted.
    note: Option<(String, String)>,
    /// By table.
    rows: BTreeMap<String, u64>,
    seconds: f64,
}

impl Load<'_> {
    fn place_file(&self) -> Result<Option<PlaceFile>, LabError> {
        let path = self.plan.contenders[self.arm.index].place.as_ref();
        let read = path.map(|path| place_file(path, self.arm.dialect)).transpose();
        read.map_err(|error| LabError::Workload(error.into()))
    }

    fn make(&self, home: &Home, cancel: &Cancel) -> Result<NewLoad, LabError> {
        let Load { plan, arm, dbms, to, .. } = self;
        let fresh = unfinished(to);
        if fresh.exists() {
            fs::remove_dir_all(&fresh).map_err(file_error("remove", &fresh))?;
        }
        let file = self.place_file()?;
        let begun = Instant::now();
        let mut laps = Laps::begin();
        let (data, log, set) = (fresh.clone(), self.log.clone(), arm.tables as u32);
        let place = Place { data, log, set, ..Place::default() };
        let mut server = dbms.start(home, &place, cancel)?;
        let start_seconds = begun.elapsed().as_secs_f64();
        laps.lap("start");
        let mut record = describe(&plan.contenders[arm.index], *dbms, &*server, start_seconds)?;
        if plan.contenders.iter().any(|one| one.place.is_some()) && arm.is_remote {
            record.settings.insert(PLACE.to_string(), in_words(file.as_ref()));
        }
        // A remote server was inspected before anything was created there.
        if !arm.is_remote {
            allow_connections(&record, plan)?;
        }
        laps.lap("describe");
        let (mut note, mut rows) = (None, BTreeMap::new());
        // A chain begins with filling its tables, and measures that.
        if let Some(task) = self.tasks.iter().find(|task| task.fills) {
            let target = server.target().clone();
            let driver = driver(plan, arm, &target)?;
            let of_load = fill(task, &*driver, cancel)?;
            if arm.is_remote {
                alter(&*server, file.as_ref())?;
            }
            rows = driver.row_counts()?;
            laps.lap("fill");
            let left = server.quiesce(Quiesce::Full, &driver.tables())?;
            let left = left.map(|it| format!("the maintenance after the load was aborted: {it}"));
            let text = of_load.into_iter().chain(left).collect::<Vec<_>>().join("; ");
            if !text.is_empty() {
                let file = beside(to);
                fs::write(&file, &text).map_err(file_error("write", &file))?;
                note = Some((task.name.clone(), text));
            }
            laps.lap("quiesce");
        }
        server.stop()?;
        fs::rename(&fresh, to).map_err(file_error("make", to))?;
        laps.lap("stop");
        laps.tell(&format!("{}, load", arm.name));
        Ok(NewLoad { record, note, rows, seconds: begun.elapsed().as_secs_f64() })
    }
}

/// The name among settings of what a file did to the tables.
const PLACE: &str = "place";

/// What a reader is told of it.
fn in_words(file: Option<&PlaceFile>) -> String {
    let Some(file) = file else { return "as loaded".to_string() };
    let statements = file.statements.iter();
    let in_a_line =
        |(_, text): &(u32, String)| text.split_whitespace().collect::<Vec<_>>().join(" ");
    statements.map(in_a_line).collect::<Vec<_>>().join("; ")
}

/// Runs the file of a place, and looks whether all that is there now can be removed again.
fn alter(server: &dyn Server, file: Option<&PlaceFile>) -> Result<(), LabError> {
    if let Some(file) = file {
        let connection = &mut *server.target().connect()?;
        for (line, sql) in &file.statements {
            connection.run(sql).map_err(|error| match error.is_disconnect() {
                true => error.into(),
                false => LabError::PlaceFile { line: *line, error },
            })?;
        }
    }
    Ok(server.still_ours()?)
}

impl NewLoad {
    fn keep(
        self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        plan: &Plan,
        arm: &Arm,
    ) -> Result<(), LabError> {
        let NewLoad { record, note, seconds, .. } = self;
        let contender = arm.name.clone();
        if !arm.is_control {
            let before = directory.setting(&record.name, PLACE)?;
            if before.is_some() && before.as_ref() != record.settings.get(PLACE) {
                return Err(LabError::PlaceChanged);
            }
            keep(directory, &plan.contenders[arm.index], &record)?;
        }
        if let Some((step, note)) = note {
            (lab.watch)(Event::Noted { contender: contender.clone(), step, note });
        }
        (lab.watch)(Event::Loaded { contender, version: record.version, seconds });
        Ok(())
    }
}

/// Returns what a reader must know of the load.
fn fill(task: &Task, driver: &dyn Driver, cancel: &Cancel) -> Result<Option<String>, LabError> {
    let note = driver.prepare(task, 1)?;
    let connected = driver.connect(task, task.clients, 0)?;
    work(connected.parts.into_iter().map(|part| (part.work, part.order)).collect(), cancel)?;
    work(driver.indexers(task)?, cancel)?;
    (connected.end)()?;
    Ok(note)
}

fn work(assigned: Vec<Assigned>, cancel: &Cancel) -> Result<(), LabError> {
    let (work, orders): (Vec<_>, Vec<_>) = assigned.into_iter().unzip();
    let mut client_threads = ClientThreads::start(work)?;
    client_threads.run(&orders, &mut |_, _| {}, cancel)?;
    client_threads.finish();
    Ok(())
}
