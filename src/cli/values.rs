//! Values of flags of `rqps compare`, as people write them.

use std::str::FromStr;

use rqps_analysis::comparison::FailOn;
use rqps_plan::Profiled;
use rqps_workload::Wanted;

/// A contender's name and a command.
pub(super) fn restart_command(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((label, command)) if !label.is_empty() && !command.trim().is_empty() => {
            Ok((label.to_string(), command.to_string()))
        }
        _ => {
            Err("write LABEL=COMMAND, as in 'db1=ssh db1 sudo systemctl restart mysql'".to_string())
        }
    }
}

/// `changed`, `all` or names of tests.
#[derive(Clone, Debug)]
pub(super) enum ToProfile {
    Changed,
    All,
    Tests(Vec<String>),
}

impl FromStr for ToProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "changed" => ToProfile::Changed,
            "all" => ToProfile::All,
            names => ToProfile::Tests(names.split(',').map(str::to_string).collect()),
        })
    }
}

/// The same, or `none`.
#[derive(Clone, Debug)]
pub(super) struct ToCount(pub(super) Option<ToProfile>);

impl FromStr for ToCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of = (text != "none").then(|| text.parse()).transpose()?;
        Ok(ToCount(of))
    }
}

/// What fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToFail(pub(super) FailOn);

impl FromStr for ToFail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "regression" => Ok(ToFail(FailOn::Regression)),
            "code-path" => Ok(ToFail(FailOn::CodePath)),
            "plan" => Ok(ToFail(FailOn::Plan)),
            "latency" => Ok(ToFail(FailOn::Latency)),
            "rows" => Ok(ToFail(FailOn::Rows)),
            _ => Err(format!(
                "'{text}' is not a kind of change. Write regression, code-path, plan, latency or rows"
            )),
        }
    }
}

impl ToProfile {
    pub(super) fn profiled(&self, wanted: &Wanted) -> anyhow::Result<Profiled> {
        Ok(match self {
            ToProfile::Changed => Profiled::Changed,
            ToProfile::All => Profiled::All,
            ToProfile::Tests(names) => Profiled::Tests(wanted.select(names)?),
        })
    }
}

/// `0.5%` or `0.5`, as a share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Percent(pub(super) f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim_end_matches('%').trim().parse::<f64>();
        number
            .map(|percent| Percent(percent / 100.0))
            .map_err(|_| format!("'{text}' is not a percentage. Write 0.5% or 2%"))
    }
}
