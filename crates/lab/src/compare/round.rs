//! A round: every arm is started once, on data as they were loaded, and driven through the tests in
//! turn with the others.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rand::seq::SliceRandom;
use rqps_dbms::{EngineMeter, Home, Place, Server};
use rqps_load::Cancel;
use rqps_observe::{Group, Placement, pin_tree};
use rqps_store::RunDirectory;

use super::context::{Draw, RoundContext};
use super::folders::restore;
use super::seating::Seating;
use super::together::together;
use crate::Event;
use crate::arm::Arm;
use crate::confine::confine;
use crate::error::LabError;
use crate::lab::Lab;
use crate::laps::Laps;
use crate::selftest::dosing::{DelaySite, Dosing};

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
    pub(super) context: &'a RoundContext<'a>,
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
        context: &'a RoundContext<'a>,
    ) -> Result<Self, LabError> {
        let shared = context.shared;
        let seating = Seating::of(context);
        let mut slots = context.members.to_vec();
        slots.shuffle(
            &mut shared.random(Draw::Slots, &[context.number.into(), context.part.into()]),
        );
        slots.retain(|place| !shared.lost.has(&shared.arms[*place].name));
        let is_kept = lab.keep_data || context.keeps_load;
        let slots = (0..).zip(slots).map(|(slot, place)| {
            let log = directory.log(&shared.arms[place].name);
            Slot { context, cpus: &seating.servers, slot, place, log, is_kept }
        });
        let (home, cancel) = (lab.home, lab.cancel);
        rqps_dbms::read_code_again(shared.builds(context.members))?;
        let started = together(slots, |slot| (slot.place, slot.settle_in(home, cancel)));
        let (running, absent) = (Vec::new(), BTreeMap::new());
        let mut round = Round { context, running, absent, seating };
        for (place, started) in started {
            let arm = &shared.arms[place];
            match started {
                Ok(running) => round.running.push(running),
                Err(error @ (LabError::Interrupted | LabError::Store(_))) => return Err(error),
                Err(error) => {
                    if arm.is_remote && error.is_disconnect() {
                        shared.lost.add(&arm.name);
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
    context: &'a RoundContext<'a>,
    cpus: &'c [usize],
    slot: u32,
    place: usize,
    log: PathBuf,
    /// Whether its load is kept after the round.
    is_kept: bool,
}

impl<'a> Slot<'a, '_> {
    fn settle_in(self, home: &Home, cancel: &Cancel) -> Result<Running<'a>, LabError> {
        let Slot { context, place, slot, log, .. } = self;
        let shared = context.shared;
        let arm = &shared.arms[place];
        let load = shared.comparison.load_of(context.number);
        let loaded = shared.folders.loaded(arm.tables, load);
        let mut laps = Laps::begin();
        let data = match arm.is_remote {
            true if !shared.comparison.read_only && !loaded.exists() => {
                return Err(LabError::NotLoaded);
            }
            // The tables are on the server, once.
            true => loaded,
            false => {
                let data = shared.folders.round(place);
                let is_moved = shared.is_used_once() && !self.is_kept;
                restore(&loaded, &data, is_moved, shared.plan.memory)?;
                data
            }
        };
        laps.lap("restore");
        let delays = DelaySite::of_contender(&shared.plan.contenders[arm.index]);
        let dosing = Dosing::of(arm.injection, delays, &data)?;
        let environment = dosing.as_ref().map(Dosing::environment).unwrap_or_default();
        let (set, is_shared) = (arm.tables as u32, shared.is_shared(arm));
        let at = Place { data, log, environment, set, is_shared, ..Place::default() };
        let server = shared.ready[arm.index].start(home, &at, cancel)?;
        laps.lap("start");
        laps.tell(&format!("{}, server", arm.name));
        // The counters of a server that others work on, too, do not show what this arm does.
        let meter = match shared.is_alone(arm, context.members) {
            true => server.meter()?,
            false => None,
        };
        let notes = [shared.folders.note(place, load), shared.client_cpus.note()];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let (group, _placement) = (None, None);
        let mut running = Running { arm, server, meter, group, dosing, slot, note, _placement };
        let Some(root) = running.process() else { return Ok(running) };
        running.group = match shared.plan.memory {
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
