//! An arm alone on the machine: its server, and the tasks of a workload on it, one after the other.
//! A single run is one turn of each contender, and a comparison by whole runs has one in each
//! round. What differs is where the data come from, what counts, and when it is stored.

use std::time::Instant;

use rqps_dbms::{Dbms, Place, Server};
use rqps_observe::{Group, Placement};
use rqps_plan::{Method, Plan, Workload};
use rqps_store::{Measurement, Status};
use rqps_wire::Target;
use rqps_workload::{Driver, Site, Task};

use crate::arm::Arm;
use crate::arrivals::Arrivals;
use crate::client_cpus::ClientCpus;
use crate::confine::confine;
use crate::error::LabError;
use crate::lab::Lab;
use crate::selftest::limit::limit;
use crate::stage::{Stage, with_last_words};
use crate::trying::Trying;
use crate::{Event, task};

/// An arm whose server is up.
pub(crate) struct Alone<'a> {
    plan: &'a Plan,
    arm: &'a Arm,
    pub(crate) server: Box<dyn Server>,
    /// Limits the server's memory, if the plan does.
    group: Option<Group>,
    /// Makes it slower, for the selftest.
    _limit: Option<Group>,
    /// What readers must know of all measurements.
    note: Option<String>,
    /// Of its clients.
    _placement: Option<Placement>,
    pub(crate) start_seconds: f64,
    /// When operations are due; none in a closed loop.
    pub(crate) arrivals: Option<Arrivals>,
}

/// A task that is to be run on an arm's server.
pub(crate) struct Next<'t> {
    pub(crate) task: &'t Task,
    pub(crate) driver: &'t dyn Driver,
    pub(crate) server: &'t mut dyn Server,
    group: Option<&'t Group>,
    note: Option<&'t str>,
    pub(crate) arrivals: Option<Arrivals>,
    /// The service level for which that rate is tried, if it is.
    pub(crate) trying: Option<&'t Trying>,
    arm: &'t Arm,
    /// Its number among the tasks that are left, from 0, and how many these are.
    pub(crate) place: (usize, usize),
    /// The number of all tasks of the workload.
    tasks: usize,
}

impl<'a> Alone<'a> {
    pub(crate) fn start(
        lab: &Lab<'_>,
        plan: &'a Plan,
        arm: &'a Arm,
        dbms: &dyn Dbms,
        at: &Place,
    ) -> Result<Self, LabError> {
        let begun = Instant::now();
        let server = dbms.start(lab.home, at, lab.cancel)?;
        let start_seconds = begun.elapsed().as_secs_f64();
        let _limit = limit(arm.injection, &*server, &arm.name)?;
        let held = plan.memory.zip(server.process());
        let group = held.map(|(memory, root)| confine(root, memory, &arm.name)).transpose()?;
        // Not sooner: the server would inherit the CPUs.
        let clients = ClientCpus::of(plan)?;
        let (note, _placement, arrivals) = (clients.note(), clients.pin()?, None);
        Ok(Alone { plan, arm, server, group, _limit, note, _placement, start_seconds, arrivals })
    }

    /// Runs those tasks of a workload that are left, in their order, until one fails. `each` runs
    /// one and keeps what was measured.
    pub(crate) fn run(
        &mut self,
        workload: &Workload,
        is_left: impl Fn(&Task) -> bool,
        mut each: impl FnMut(Next<'_>) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let target = self.target();
        let driver = self.driver(workload, &target)?;
        let tasks = rqps_workload::tasks(workload)?;
        let left: Vec<&Task> = tasks.iter().filter(|task| is_left(task)).collect();
        for (number, task) in left.iter().enumerate() {
            each(self.next(task, &*driver, (number, left.len()), tasks.len()))?;
        }
        Ok(())
    }

    /// What its clients connect to.
    pub(crate) fn target(&self) -> Target {
        self.server.target().clone()
    }

    /// A workload on its server.
    pub(crate) fn driver<'d>(
        &self,
        workload: &'d Workload,
        target: &'d Target,
    ) -> Result<Box<dyn Driver + 'd>, LabError> {
        let site = Site {
            target,
            dbms: self.arm.dbms,
            dialect: self.arm.dialect,
            seed: self.plan.seed,
            is_own: self.server.data().is_some(),
            method: Method::Runs,
        };
        Ok(rqps_workload::driver(workload, site)?)
    }

    /// A task that is to be run next, by its place among those that are left.
    pub(crate) fn next<'t>(
        &'t mut self,
        task: &'t Task,
        driver: &'t dyn Driver,
        place: (usize, usize),
        tasks: usize,
    ) -> Next<'t> {
        let Alone { arm, arrivals, .. } = *self;
        let (server, group) = (&mut *self.server, self.group.as_ref());
        let (note, trying) = (self.note.as_deref(), None);
        Next { task, driver, server, group, note, arrivals, trying, arm, place, tasks }
    }
}

impl Next<'_> {
    /// The context of the task.
    pub(crate) fn stage<'s, 'l>(&'s self, lab: &'s mut Lab<'l>) -> Stage<'s, 'l> {
        let Next { task, group, arrivals, trying, arm, tasks, .. } = *self;
        let (server, contender) = (&*self.server, arm.name.as_str());
        Stage { lab, server, group, contender, task, tasks, arrivals, trying }
    }

    /// Runs the task, and fills in what is measured and how it ended. `attempt` counts from 1.
    pub(crate) fn run(
        &mut self,
        lab: &mut Lab<'_>,
        attempt: u32,
        measured: &mut Measurement,
    ) -> Result<(), LabError> {
        measured.note = self.note.map(str::to_string);
        let mut stage = self.stage(lab);
        let result = stage.server.still_ours().map_err(LabError::from);
        match result.and_then(|()| task::run(self.driver, attempt, &mut stage, measured)) {
            Ok(()) => {
                measured.status = Status::Done;
                Ok(())
            }
            Err(LabError::Interrupted) => {
                measured.status = Status::Interrupted;
                Err(LabError::Interrupted)
            }
            Err(error) => {
                let is_disconnect = error.is_disconnect();
                let reason = with_last_words(&error, &mut *self.server, self.group);
                measured.fail(reason.clone());
                Err(LabError::Step { step: self.task.name.clone(), reason, is_disconnect })
            }
        }
    }
}

/// One arm after the other, by their places; `turn` also gets the number of the turn, from 0. That
/// one fails is reported, and does not end the others. Returns the errors of those that did.
pub(crate) fn in_turn(
    lab: &mut Lab<'_>,
    arms: &[Arm],
    order: &[usize],
    mut turn: impl FnMut(&mut Lab<'_>, u32, usize) -> Result<(), LabError>,
) -> Result<Vec<LabError>, LabError> {
    let mut failed = Vec::new();
    for (number, &place) in (0..).zip(order) {
        match turn(lab, number, place) {
            Ok(()) => {}
            Err(error @ (LabError::Interrupted | LabError::Store(_))) => return Err(error),
            Err(error) => {
                let name = &arms[place].name;
                let failure = Event::Failed { contender: name.clone(), error: error.to_string() };
                (lab.watch)(failure);
                failed.push(error.of(name));
            }
        }
    }
    Ok(failed)
}
