//! Servers that rqps did not start, as contenders of a comparison: what is checked before the first
//! round, what happens to those that go away, and the user's commands that restart them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rqps_dbms::{Dbms, Left};
use rqps_plan::{Comparison, Plan};
use rqps_store::RunDirectory;
use rqps_system::program::{self, Surroundings};

use super::context::{ComparisonContext, Draw};
use crate::Event;
use crate::arm::Arm;
use crate::contender::tidy;
use crate::error::{LabError, file_error};
use crate::lab::Lab;
use crate::restarts::{PATIENCE, Restarts};

const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// A server counts its age in whole seconds.
const ROUNDED: Duration = Duration::from_secs(1);
/// The lines of a command's output in an error.
const LAST_LINES: usize = 20;

/// Refuses a load that is kept on a remote server for all rounds while tests change it.
pub(crate) fn validate(plan: &Plan, comparison: &Comparison) -> Result<(), LabError> {
    let Some(remote) = plan.contenders.iter().find(|one| one.is_remote()) else { return Ok(()) };
    let tasks = rqps_workload::tasks(plan.workload())?;
    let writes = tasks.iter().any(|task| task.class.writes() && !task.fills);
    match writes && comparison.loads.is_some() {
        true => Err(LabError::RemoteWrites(remote.name())),
        false => Ok(()),
    }
}

/// A copy of a server, such as a standby that was promoted, has the identity of its origin. But
/// both are seldom started within this time.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Whether two URLs reach one server, as far as that is known.
fn is_one_server(one: &dyn Dbms, other: &dyn Dbms) -> Result<bool, LabError> {
    let identity = one.identity()?;
    if identity.is_none() || identity != other.identity()? {
        return Ok(false);
    }
    Ok(match (one.uptime()?, other.uptime()?) {
        (Some(one), Some(other)) => one.abs_diff(other) <= AT_ONCE,
        _ => true,
    })
}

/// The server of each contender, by the place of the first contender that is on it; none for those
/// that rqps starts.
pub(super) fn servers(
    plan: &Plan,
    ready: &[Box<dyn Dbms>],
) -> Result<Vec<Option<usize>>, LabError> {
    let all = &plan.contenders;
    let mut servers: Vec<Option<usize>> = Vec::new();
    for (place, contender) in all.iter().enumerate() {
        if !contender.is_remote() {
            servers.push(None);
            continue;
        }
        let mut first = place;
        for before in (0..place).filter(|before| servers[*before] == Some(*before)) {
            let is_same = contender.is_same_url(&all[before]);
            if is_same || is_one_server(&*ready[before], &*ready[place])? {
                first = before;
                break;
            }
        }
        servers.push(Some(first));
    }
    Ok(servers)
}

/// After all servers were reached: the contenders that are the baseline's server under another URL.
/// Refuses contenders that turn out to have the same settings.
pub(crate) fn compare_servers(
    plan: &Plan,
    ready: &[Box<dyn Dbms>],
) -> Result<Vec<String>, LabError> {
    let mut same = Vec::new();
    let base = &plan.contenders[0];
    for (contender, dbms) in plan.contenders.iter().zip(ready).skip(1) {
        if contender.is_same_url(base) {
            let names = || base.settings.iter().chain(&contender.settings).map(|(name, _)| name);
            let names: BTreeSet<String> = names().cloned().collect();
            let names: Vec<String> = names.into_iter().collect();
            let (own, other) = (ready[0].in_sessions(&names)?, dbms.in_sessions(&names)?);
            if !names.is_empty() && own == other && base.place == contender.place {
                let values = names.iter().zip(own).map(|(name, value)| format!("{name} = {value}"));
                let values = values.collect::<Vec<_>>().join(", ");
                return Err(LabError::SameSettings {
                    contenders: (base.name(), contender.name()),
                    values,
                });
            }
        } else if is_one_server(&*ready[0], &**dbms)? {
            same.push(contender.name());
        }
    }
    Ok(same)
}

/// Refuses a resumed comparison without the commands of its plan.
pub(super) fn have_commands(comparison: &Comparison, given: &Restarts) -> Result<(), LabError> {
    let is_given = |name: &&String| given.commands.iter().any(|(other, _)| other == *name);
    match comparison.restarted.iter().find(|name| !is_given(name)) {
        Some(name) => Err(LabError::NoRestartCommand(name.clone())),
        None => Ok(()),
    }
}

/// Restarts the remote servers that have a command, in random order, and waits until they answer.
pub(super) fn restart(
    lab: &mut Lab<'_>,
    directory: &RunDirectory,
    shared: &ComparisonContext<'_>,
    round: u32,
) -> Result<(), LabError> {
    let restarts: &Restarts = lab.restarts;
    let command = |arm: &Arm| {
        let mut commands = restarts.commands.iter();
        commands.find(|(name, _)| *name == arm.name).map(|(_, command)| command)
    };
    let arms = shared.arms.iter().filter(|arm| !shared.lost.has(&arm.name));
    let mut restarted: Vec<_> = arms.filter_map(|arm| Some((arm, command(arm)?))).collect();
    restarted.shuffle(&mut shared.random(Draw::Restarts, &[round.into()]));
    for (arm, command) in restarted {
        (lab.watch)(Event::Restarting { contender: arm.name.clone() });
        let (dbms, log) = (&*shared.ready[arm.index], directory.log(&arm.name));
        restart_one(lab, dbms, command, &log).map_err(|error| error.of(&arm.name))?;
    }
    Ok(())
}

/// The log has the output of the last command. It is no pipe, since a server that is started by the
/// command may inherit it.
fn restart_one(
    lab: &mut Lab<'_>,
    dbms: &dyn Dbms,
    command: &str,
    log: &Path,
) -> Result<(), LabError> {
    let begun = Instant::now();
    let output = File::create(log).map_err(file_error("write", log))?;
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    // The user's own command, such as ssh with the user's agent.
    let around = Surroundings { folder: &folder, user: None, environment: &["*"], at_end: None };
    let mut shell = program::command(Path::new("/bin/sh"), &around);
    shell.arg("-c").arg(command);
    let cancel = lab.cancel;
    let failed = |why: String| {
        let said = fs::read(log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        let said = if last.is_empty() { String::new() } else { format!(". It said:\n{last}") };
        LabError::Restart { why, said }
    };
    let limit = lab.restarts.timeout;
    match program::run_into(&output, &mut shell, limit, &mut || cancel.check()) {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(failed(format!("the command failed with {status}"))),
        Err(program::RunError::Cancelled(wish)) => return Err(wish.into()),
        Err(error) => return Err(failed(error.to_string())),
    }
    let deadline = Instant::now() + PATIENCE;
    let uptime = loop {
        match dbms.uptime() {
            Ok(uptime) => break uptime,
            Err(error) if Instant::now() > deadline => {
                return Err(failed(format!("the server does not answer: {error}")));
            }
            Err(_) => cancel.sleep_until(Instant::now() + LOOK_AGAIN)?,
        }
    };
    match uptime {
        Some(uptime) if uptime <= begun.elapsed() + ROUNDED => Ok(()),
        Some(uptime) => {
            let seconds = uptime.as_secs();
            let why = format!(
                "the command ended well, but the server has been up for {seconds} s already"
            );
            Err(failed(why))
        }
        None => Err(failed("the server does not tell since when it is up".to_string())),
    }
}

/// Says where the tables of a comparison are that stay on remote servers.
pub(super) fn tell_left(lab: &mut Lab<'_>, shared: &ComparisonContext<'_>) {
    let most = shared.comparison.rounds + shared.comparison.confirm.unwrap_or(0);
    for (place, arm) in shared.arms.iter().enumerate() {
        if !arm.is_remote || arm.tables != place {
            continue;
        }
        let last = shared.folders.last(place, most).and_then(|path| Left::read(&path));
        if let Some(Left { place, url, .. }) = last {
            (lab.watch)(Event::LeftOnServer { contender: arm.name.clone(), place, url });
        }
    }
}

/// After an error that ends the run: tables stay on remote servers only if another session can
/// resume what was measured on them.
pub(super) fn abandon(lab: &mut Lab<'_>, directory: &RunDirectory, shared: &ComparisonContext<'_>) {
    if directory.rounds().is_ok_and(|rounds| !rounds.is_empty()) || lab.keep_data {
        return tell_left(lab, shared);
    }
    let most = shared.comparison.rounds + shared.comparison.confirm.unwrap_or(0);
    for load in 1..=most {
        remove(lab, shared, load);
        // The record of tables that could not be removed stays.
        let is_gone = |place: &usize| !shared.folders.loaded(*place, load).exists();
        shared.folders.forget((0..shared.arms.len()).filter(is_gone), load);
    }
    tidy(lab, directory);
}

/// Removes what loads that failed left on remote servers: no session resumes such a load.
pub(super) fn remove_unfinished(lab: &mut Lab<'_>, shared: &ComparisonContext<'_>) {
    let most = shared.comparison.rounds + shared.comparison.confirm.unwrap_or(0);
    (1..=most)
        .for_each(|load| remove_at(lab, shared, |place| shared.folders.unfinished(place, load)));
}

/// Removes the tables of a load from remote servers, as far as these can be reached.
pub(super) fn remove(lab: &mut Lab<'_>, shared: &ComparisonContext<'_>, load: u32) {
    remove_at(lab, shared, |place| shared.folders.loaded(place, load));
}

fn remove_at(lab: &mut Lab<'_>, shared: &ComparisonContext<'_>, at: impl Fn(usize) -> PathBuf) {
    for (place, arm) in shared.arms.iter().enumerate() {
        let data = at(place);
        if !arm.is_remote || arm.tables != place || !data.exists() {
            continue;
        }
        let left = Left::read(&data);
        if let Err(error) = shared.ready[arm.index].disclaim(&data) {
            tracing::info!("{}: its tables cannot be removed: {error}", arm.name);
            if let Some(Left { place, url, .. }) = left {
                (lab.watch)(Event::LeftOnServer { contender: arm.name.clone(), place, url });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rqps_dbms::{DbmsError, Home, Installed, Place, Server};
    use rqps_load::Cancel;

    use super::*;

    /// An identity, and seconds since the start.
    struct Stub(Option<&'static str>, Option<u64>);

    impl Dbms for Stub {
        fn build(&self) -> Option<&Installed> {
            None
        }

        fn start(&self, _: &Home, _: &Place, _: &Cancel) -> Result<Box<dyn Server>, DbmsError> {
            unreachable!("nothing is started")
        }

        fn identity(&self) -> Result<Option<String>, DbmsError> {
            Ok(self.0.map(str::to_string))
        }

        fn uptime(&self) -> Result<Option<Duration>, DbmsError> {
            Ok(self.1.map(Duration::from_secs))
        }
    }

    #[test]
    fn a_copy_of_a_server_that_was_started_at_another_time_is_another_server() {
        let is_one = |one: Stub, other: Stub| is_one_server(&one, &other).unwrap();
        assert!(is_one(Stub(Some("a"), Some(500)), Stub(Some("a"), Some(501))));
        assert!(!is_one(Stub(Some("a"), Some(500)), Stub(Some("a"), Some(90))));
        assert!(!is_one(Stub(Some("a"), Some(500)), Stub(Some("b"), Some(500))));
        assert!(is_one(Stub(Some("a"), None), Stub(Some("a"), Some(90))), "it is not known");
        assert!(!is_one(Stub(None, Some(9)), Stub(None, Some(9))), "that is not known either");
    }
}
