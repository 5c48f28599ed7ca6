//! Exit codes, and which error means which.

use std::process::ExitCode;

use rqps_dbms::source::SourceError;
use rqps_dbms::{DbmsError, HomeError};
use rqps_fleet::FleetError;
use rqps_lab::LabError;
use rqps_plan::PlanError;
use rqps_store::StoreError;
use rqps_store::track::TrackError;
use rqps_workload::CaptureError;
use serde::{Deserialize, Serialize};

/// How a command ended, for the calling shell, by severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Exit {
    Done,
    /// A comparison found a regression.
    Regression,
    /// Under --strict: a step did not sustain its write rate.
    SlaMissed,
    /// A selftest failed; under --strict: the machine is not fit to measure on.
    Unfit,
    /// `rqps pgbench` and `rqps sysbench` of one contender, as these programs exit: something was
    /// wrong before the run, or a client was aborted in it.
    ScriptRefused,
    ScriptAborted,
    /// The command or plan asks for something that does not exist or makes no sense.
    Usage,
    /// `rqps fleet cell`: the machine is busy, and the same command may work later.
    Busy,
    /// A step, check or server failed.
    Failed,
    Interrupted,
    /// For `git bisect run`: this commit says nothing, and the search cannot go on.
    GitSkips,
    GitStops,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Regression | Exit::ScriptRefused => 1,
            Exit::Usage | Exit::ScriptAborted => 2,
            Exit::Failed => 3,
            Exit::SlaMissed => 4,
            Exit::Unfit => 5,
            Exit::Busy => 75,
            Exit::Interrupted => 130,
            Exit::GitSkips => 125,
            Exit::GitStops => 128,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Whether the user can correct an error, or something failed.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    if error.downcast_ref::<PlanError>().is_some() {
        return Exit::Usage;
    }
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return of_store(error);
    }
    if let Some(TrackError::Store(error)) = error.downcast_ref::<TrackError>() {
        return of_store(error);
    }
    if let Some(error) = error.downcast_ref::<FleetError>() {
        return of_fleet(error);
    }
    if let Some(rqps_wire::Error::Interrupted(_)) = error.downcast_ref() {
        return Exit::Interrupted;
    }
    if let Some(error) = error.downcast_ref::<DbmsError>() {
        return of_dbms(error);
    }
    if let Some(error) = error.downcast_ref::<CaptureError>() {
        return of_capture(error);
    }
    if error.downcast_ref::<std::io::Error>().is_some() {
        return Exit::Failed;
    }
    error.downcast_ref::<LabError>().map_or(Exit::Usage, of_lab)
}

fn of_lab(error: &LabError) -> Exit {
    match error {
        LabError::Interrupted => Exit::Interrupted,
        LabError::Dbms(error) => of_dbms(error),
        LabError::Store(error) => of_store(error),
        LabError::Contender { error, .. } => of_lab(error),
        LabError::Workload(error) if !error.is_refusal() => Exit::Failed,
        LabError::Cache(_)
        | LabError::Workload(_)
        | LabError::RemoteWrites(_)
        | LabError::PlaceFile { .. }
        | LabError::PlaceChanged
        | LabError::SameSettings { .. }
        | LabError::NoRestartCommand(_)
        | LabError::StoredBaseline(_)
        | LabError::TooFewArrivals(_)
        | LabError::Memory { .. } => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn of_fleet(error: &FleetError) -> Exit {
    match error {
        FleetError::Store(error) => of_store(error),
        error if error.is_busy() => Exit::Busy,
        error if error.is_failure() => Exit::Failed,
        _ => Exit::Usage,
    }
}

fn of_capture(error: &CaptureError) -> Exit {
    match error {
        CaptureError::Wire(rqps_wire::Error::Interrupted(_)) => Exit::Interrupted,
        CaptureError::Wire(rqps_wire::Error::Address { .. }) => Exit::Usage,
        error if error.is_refusal() => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn of_store(error: &StoreError) -> Exit {
    match error {
        StoreError::Sql(_) | StoreError::File { .. } | StoreError::Full { .. } => Exit::Failed,
        _ => Exit::Usage,
    }
}

fn of_dbms(error: &DbmsError) -> Exit {
    match error {
        DbmsError::Cancelled(_) | DbmsError::Wire(rqps_wire::Error::Interrupted(_)) => {
            Exit::Interrupted
        }
        DbmsError::Source(error) => of_source(error),
        DbmsError::Guest(error) if error.is_refusal() => Exit::Usage,
        DbmsError::Config { .. }
        | DbmsError::ConfigFile { .. }
        | DbmsError::Setting { .. }
        | DbmsError::ProcessSetting { .. }
        | DbmsError::Settings { .. }
        | DbmsError::NoMyRocks { .. }
        | DbmsError::Reserved { .. }
        | DbmsError::Ignored { .. }
        | DbmsError::Wire(rqps_wire::Error::Address { .. })
        | DbmsError::User(_)
        | DbmsError::Home(HomeError::Unsafe { .. })
        | DbmsError::Rights { .. }
        | DbmsError::Closed { .. }
        | DbmsError::NotData { .. }
        | DbmsError::NotText { .. }
        | DbmsError::Elsewhere { .. } => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn of_source(error: &SourceError) -> Exit {
    match error {
        SourceError::Cancelled(_) => Exit::Interrupted,
        SourceError::Home(HomeError::Unsafe { .. }) => Exit::Usage,
        SourceError::Build(error) if !error.is_refusal() => Exit::Failed,
        SourceError::Checkout(error) if error.is_refusal() => Exit::Usage,
        SourceError::Image(error) if error.is_refusal() => Exit::Usage,
        SourceError::Build(_)
        | SourceError::BuiltIn(_)
        | SourceError::Running(_)
        | SourceError::NotABuild { .. }
        | SourceError::OtherDbms { .. }
        | SourceError::NotInstalled(_)
        | SourceError::NotThatInstalled { .. }
        | SourceError::UnknownVersion { .. }
        | SourceError::NotAlike { .. }
        | SourceError::NoPackage { .. }
        | SourceError::NotOurs(_)
        | SourceError::NoUser(_)
        | SourceError::UnknownSource { .. }
        | SourceError::NotServed { .. }
        | SourceError::Sources { .. }
        | SourceError::ForeignSources { .. }
        | SourceError::ForeignLibrary { .. }
        | SourceError::NoLibrary { .. }
        | SourceError::ForeignClient { .. } => Exit::Usage,
        _ => Exit::Failed,
    }
}
