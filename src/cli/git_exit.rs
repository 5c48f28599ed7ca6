//! Exit codes for `git bisect run`, which calls a commit bad at any code from 1 to 127 but 125, and
//! stops at 128 and above.

use rqps_lab::LabError;
use rqps_observe::LockError;

use super::exit::{self, Exit};

/// The code for an exit or an error of a comparison.
pub(crate) fn translated(ended: &anyhow::Result<Exit>) -> Exit {
    let (exit, is_of_machine) = match ended {
        Ok(exit) => (*exit, false),
        Err(error) => (exit::of(error), is_of_machine(error)),
    };
    match exit {
        Exit::Done | Exit::Regression => exit,
        // Nothing is wrong with the commit: another comparison is running.
        Exit::Failed if is_of_machine => Exit::GitStops,
        // No verdict, or a build or a server failed: this commit says nothing.
        Exit::SlaMissed | Exit::Unfit | Exit::Failed => Exit::GitSkips,
        Exit::Usage
        | Exit::Busy
        | Exit::Interrupted
        | Exit::ScriptRefused
        | Exit::ScriptAborted
        | Exit::GitSkips
        | Exit::GitStops => Exit::GitStops,
    }
}

fn is_of_machine(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(LabError::Lock(LockError::Held { .. })))
}

#[cfg(test)]
mod tests {
    use rqps_dbms::DbmsError;
    use rqps_dbms::source::{BuildError, SourceError};

    use super::*;

    #[test]
    fn git_is_told_good_bad_skip_or_stop() {
        let failed =
            |error: BuildError| Err(anyhow::Error::from(DbmsError::from(SourceError::from(error))));
        let no_product = BuildError::NoProduct { what: "x".into(), product: "bin/x".into() };
        let held = LabError::Lock(LockError::Held { holder: "process 1".into() });
        for (ended, code) in [
            (Ok(Exit::Done), 0),
            (Ok(Exit::Regression), 1),
            (Ok(Exit::Unfit), 125),
            (Ok(Exit::Failed), 125),
            (Ok(Exit::SlaMissed), 125),
            (failed(no_product), 125),
            (Err(anyhow::anyhow!("no such flag")), 128),
            (Err(held.into()), 128),
            (Ok(Exit::Interrupted), 128),
            (Err(LabError::Interrupted.into()), 128),
        ] {
            let told = format!("{ended:?}");
            assert_eq!(translated(&ended).code(), code, "{told}");
        }
    }
}
