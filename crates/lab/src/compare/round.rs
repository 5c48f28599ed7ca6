//! A round: every arm is started once, on data as they were loaded, and driven through the tests in
//! turn with the others.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rand::seq::SliceRandom;
use rqps_dbms::{Dbms, EngineMeter, Home, Installed, Place, Server};
use rqps_load::Cancel;
use rqps_observe::{Group, Placement, pin_tree};
use rqps_plan::{Comparison, Method, Plan};
use rqps_store::RunDirectory;
use rqps_wire::Target;
use rqps_workload::{Driver, Random, Site, Task, stream};

use super::answers::Failing;
use super::loads::{Folders, restore};
use super::remote::Lost;
use super::seats::Seating;
use super::stored_baseline::Earlier;
use super::together::together;
use crate::arm::Arm;
use crate::client_cpus::ClientCpus;
use crate::confine::confine;
use crate::laps::Laps;
use crate::selftest::{DelaySite, Dosing, Treatment};
use crate::{Event, Lab, LabError};

/// The uses of random draws in a comparison: the order of loads, of tests in a round, of server
/// starts (slots), of slices, of whole runs, and of the user's restarts; the first of the sets that
/// slices begin with; and the instants at which operations are due.
#[derive(Clone, Copy)]
pub(crate) enum Draw {
    Loads = 1,
    Tests,
    Slots,
    Slices,
    Runs,
    Sets,
    Restarts,
    Arrivals,
}

/// The context that all rounds share.
pub(crate) struct Setting<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) arms: &'a [Arm],
    pub(crate) ready: &'a [Box<dyn Dbms>],
    pub(crate) folders: &'a Folders,
    pub(crate) treatment: &'a Treatment,
    /// The runs of an earlier baseline, which then is not measured.
    pub(crate) earlier: Option<&'a Earlier>,
    pub(crate) plan: &'a Plan,
    /// The tasks of the workload.
    pub(crate) tasks: &'a [Task],
    /// The servers of all arms may be up at the same time.
    pub(crate) fit_together: bool,
    /// Found when answers were compared.
    pub(crate) failing: Failing,
    pub(crate) lost: Lost,
    /// Where clients run.
    pub(crate) client_cpus: ClientCpus,
    /// The remote servers of the contenders, each by the place of the first contender that is on
    /// it; none for those that rqps starts.
    pub(crate) servers: Vec<Option<usize>>,
}

impl Setting<'_> {
    /// The task of a test.
    pub(crate) fn task(&self, test: &str) -> Result<&Task, LabError> {
        task(self.tasks, test)
    }

    /// A test's place in the plan.
    pub(super) fn place(&self, test: &str) -> u32 {
        let tests = self.comparison.tests();
        tests.iter().position(|name| name == test).unwrap_or(tests.len()) as u32
    }

    /// The measured arms, by their places.
    pub(crate) fn measured(&self) -> impl Iterator<Item = usize> {
        let is_measured = |place: &usize| self.earlier.is_none() || self.arms[*place].index > 0;
        (0..self.arms.len()).filter(is_measured)
    }

    /// The builds of these arms, as far as they are rqps's to start.
    pub(crate) fn builds(&self, members: &[usize]) -> impl Iterator<Item = &Installed> {
        members.iter().filter_map(|place| self.ready[self.arms[*place].index].build())
    }

    /// Whether data for a round of these arms exist.
    pub(crate) fn is_loaded(&self, members: &[usize], round: u32) -> bool {
        let load = self.comparison.load_of(round);
        members.iter().any(|place| self.folders.loaded(*place, load).exists())
    }

    /// Whether other arms work on the same tables as this one.
    pub(super) fn is_shared(&self, arm: &Arm) -> bool {
        self.arms.iter().filter(|other| other.tables == arm.tables).count() > 1
    }

    /// Whether no other member works on the server of this one.
    fn is_alone(&self, arm: &Arm, members: &[usize]) -> bool {
        let server = |arm: &Arm| self.servers[arm.index];
        let others = members.iter().map(|place| &self.arms[*place]);
        server(arm).is_none() || others.filter(|other| server(other) == server(arm)).count() < 2
    }

    /// Whether only one server is ever started on a load.
    pub(super) fn is_used_once(&self) -> bool {
        self.comparison.loads.is_none() && self.fit_together
    }

    /// A separate stream for each use, so that a resumed run has the same draws as an uninterrupted
    /// one.
    pub(crate) fn random(&self, of: Draw, which: &[u64]) -> Random {
        draw(self.plan.seed, of, which)
    }
}

/// The workload on an arm's server.
pub(super) fn driver<'a>(
    plan: &'a Plan,
    arm: &Arm,
    target: &'a Target,
) -> Result<Box<dyn Driver + 'a>, LabError> {
    let site = Site {
        target,
        dbms: arm.dbms,
        dialect: arm.dialect,
        seed: plan.seed,
        is_own: !arm.is_remote,
        method: Method::Slices,
    };
    Ok(rqps_workload::driver(plan.workload(), site)?)
}

/// The task of that name.
pub(super) fn task<'a>(tasks: &'a [Task], name: &str) -> Result<&'a Task, LabError> {
    let found = tasks.iter().find(|task| task.name == name);
    found.ok_or_else(|| LabError::NoTest(name.to_string()))
}

fn draw(seed: u64, of: Draw, which: &[u64]) -> Random {
    stream(seed, &[&[of as u64], which].concat())
}

/// The context of one round.
pub(crate) struct Scene<'a> {
    pub(crate) setting: &'a Setting<'a>,
    /// The number of the round.
    pub(crate) number: u32,
    /// The number of the group of arms that are up together, from 1.
    pub(crate) part: u32,
    /// The arms of the group, by their places.
    pub(crate) members: &'a [usize],
    /// Another round needs the load, too.
    pub(crate) keeps_load: bool,
}

/// An arm's server in this round.
pub(super) struct Running<'a> {
    pub(super) arm: &'a Arm,
    pub(super) server: Box<dyn Server>,
    /// Reads the DBMS's own counters; none if it has none.
    pub(super) meter: Option<EngineMeter>,
    pub(super) group: Option<Group>,
    /// Its injected slowdown, for the selftest.
    pub(super) dosing: Option<Dosing>,
    /// Its place in the order in which servers were started.
    pub(super) slot: u32,
    /// A note about its data, or about its CPUs, for the reader.
    pub(super) note: Option<String>,
    _placement: Option<Placement>,
}

/// The round's servers, which end with it.
pub(crate) struct Round<'a> {
    pub(super) scene: &'a Scene<'a>,
    /// In the order of their slots.
    pub(super) running: Vec<Running<'a>>,
    /// The arms that could not be started, by name, and why.
    pub(super) absent: BTreeMap<String, String>,
    /// The CPUs that clients and servers are bound to.
    pub(super) seating: Seating,
}

impl<'a> Round<'a> {
    /// Starts the members' servers side by side, in random order. An arm that does not start is
    /// absent; without the baseline there is nothing to compare with.
    pub(crate) fn start(
        lab: &mut Lab<'_>,
        directory: &RunDirectory,
        scene: &'a Scene<'a>,
    ) -> Result<Self, LabError> {
        let setting = scene.setting;
        let seating = Seating::of(scene);
        let mut slots = scene.members.to_vec();
        slots.shuffle(&mut setting.random(Draw::Slots, &[scene.number.into(), scene.part.into()]));
        slots.retain(|place| !setting.lost.has(&setting.arms[*place].name));
        let is_kept = lab.keep_data || scene.keeps_load;
        let slots = (0..).zip(slots).map(|(slot, place)| {
            let log = directory.log(&setting.arms[place].name);
            Slot { scene, cpus: &seating.servers, slot, place, log, is_kept }
        });
        let (home, cancel) = (lab.home, lab.cancel);
        rqps_dbms::read_code_again(setting.builds(scene.members))?;
        let started = together(slots, |slot| (slot.place, slot.settle_in(home, cancel)));
        let (running, absent) = (Vec::new(), BTreeMap::new());
        let mut round = Round { scene, running, absent, seating };
        for (place, started) in started {
            let arm = &setting.arms[place];
            match started {
                Ok(running) => round.running.push(running),
                Err(error @ (LabError::Interrupted | LabError::Store(_))) => return Err(error),
                Err(error) => {
                    if arm.is_remote && error.is_disconnect() {
                        setting.lost.add(&arm.name);
                    }
                    if arm.is_base() {
                        return Err(error.of(&arm.name));
                    }
                    let (contender, error) = (arm.name.clone(), error.to_string());
                    round.absent.insert(contender.clone(), error.clone());
                    (lab.watch)(Event::Failed { contender, error });
                }
            }
        }
        Ok(round)
    }

    /// Whether no contender remains, or the baseline is missing.
    pub(crate) fn is_over(&self) -> bool {
        self.running.len() < 2 || !self.running.iter().any(|one| one.arm.is_base())
    }

    pub(crate) fn stop(self) -> Result<(), LabError> {
        together(self.running, Running::discard).into_iter().collect()
    }
}

/// An arm whose server is to be started.
struct Slot<'a, 'c> {
    scene: &'a Scene<'a>,
    cpus: &'c [usize],
    slot: u32,
    place: usize,
    log: PathBuf,
    /// Whether its load is kept after the round.
    is_kept: bool,
}

impl<'a> Slot<'a, '_> {
    fn settle_in(self, home: &Home, cancel: &Cancel) -> Result<Running<'a>, LabError> {
        let Slot { scene, place, slot, log, .. } = self;
        let setting = scene.setting;
        let arm = &setting.arms[place];
        let load = setting.comparison.load_of(scene.number);
        let loaded = setting.folders.loaded(arm.tables, load);
        let mut laps = Laps::begin();
        let data = match arm.is_remote {
            true if !setting.comparison.read_only && !loaded.exists() => {
                return Err(LabError::NotLoaded);
            }
            // The tables are on the server, once.
            true => loaded,
            false => {
                let data = setting.folders.round(place);
                let is_moved = setting.is_used_once() && !self.is_kept;
                restore(&loaded, &data, is_moved, setting.plan.memory)?;
                data
            }
        };
        laps.lap("restore");
        let delays = DelaySite::of_contender(&setting.plan.contenders[arm.index]);
        let dosing = Dosing::of(arm.injection, delays, &data)?;
        let environment = dosing.as_ref().map(Dosing::environment).unwrap_or_default();
        let (set, is_shared) = (arm.tables as u32, setting.is_shared(arm));
        let at = Place { data, log, environment, set, is_shared, ..Place::default() };
        let server = setting.ready[arm.index].start(home, &at, cancel)?;
        laps.lap("start");
        laps.tell(&format!("{}, server", arm.name));
        // The counters of a server that others work on, too, do not show what this arm does.
        let meter = match setting.is_alone(arm, scene.members) {
            true => server.meter()?,
            false => None,
        };
        let notes = [setting.folders.note(place, load), setting.client_cpus.note()];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let (group, _placement) = (None, None);
        let mut running = Running { arm, server, meter, group, dosing, slot, note, _placement };
        let Some(root) = running.process() else { return Ok(running) };
        running.group = match setting.plan.memory {
            Some(memory) => Some(confine(root, memory, &arm.name)?),
            // Without a group, the processes are read one by one.
            None => Group::create(&arm.name).filter(|group| group.add_tree(root).is_ok()),
        };
        if !self.cpus.is_empty() {
            running._placement = Some(pin_tree(root, self.cpus).map_err(LabError::Placement)?);
        }
        Ok(running)
    }
}

impl Running<'_> {
    /// The root of its processes; none if it runs inside the client, and is measured as the client.
    pub(super) fn process(&self) -> Option<u32> {
        self.server.process().filter(|_| !self.server.is_embedded())
    }

    /// Ends the server, and discards what it wrote in this round. A remote one goes on, and its
    /// tables are removed when no round needs them any more.
    pub(super) fn discard(mut self) -> Result<(), LabError> {
        match self.arm.is_remote {
            true => self.server.stop()?,
            false => self.server.discard()?,
        }
        Ok(self.group.map_or(Ok(()), Group::remove)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_started_first_as_often_and_the_seed_decides() {
        let first = |seed: u64, round: u64| {
            let mut slots = [0, 1, 2];
            slots.shuffle(&mut draw(seed, Draw::Slots, &[round, 1]));
            slots[0]
        };
        let mut counts = [0; 3];
        (1..=300).for_each(|round| counts[first(1, round)] += 1);
        // 100 each, give or take four standard deviations of 8.2.
        assert!(counts.iter().all(|count| (67..=133).contains(count)), "{counts:?}");
        let firsts = |seed| (1..=50).map(|round| first(seed, round)).collect::<Vec<_>>();
        assert_eq!(firsts(7), firsts(7));
        assert_ne!(firsts(7), firsts(8));
    }
}
