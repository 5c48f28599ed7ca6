//! What has become of a cell, by its folder alone.

use serde::Serialize;

use crate::attempt::{Attempt, CellExit};
use crate::holder::{CellHolder, CellLife};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CellState {
    Done,
    Running {
        holder: CellHolder,
    },
    /// It was not begun, or can be resumed.
    Waiting {
        why: Option<String>,
    },
    Failed {
        attempts: usize,
        why: String,
    },
    /// Its files cannot be read.
    #[serde(rename = "damaged")]
    Broken {
        why: String,
    },
}

impl CellState {
    pub(crate) fn of(is_done: bool, holder: Option<CellHolder>, attempts: &[Attempt]) -> Self {
        if is_done {
            return CellState::Done;
        }
        if let Some(holder) = holder {
            return CellState::Running { holder };
        }
        let Some(last) = attempts.last() else { return CellState::Waiting { why: None } };
        let said = last.why.clone();
        let waiting = |why: &str| {
            let host = &last.holder.host;
            CellState::Waiting { why: Some(format!("{why} ({host})")) }
        };
        match last.exit {
            _ if last.is_forgiven => waiting("to be tried again"),
            None if last.holder.life() == CellLife::Unknown => waiting("no word from its host"),
            None => waiting("killed, to be resumed"),
            Some(CellExit::Interrupted) => waiting("interrupted, to be resumed"),
            Some(CellExit::Busy) => waiting(&said.unwrap_or("the machine was busy".to_string())),
            Some(CellExit::Measured) => CellState::Broken {
                why: "it was measured, but its results are not there".to_string(),
            },
            Some(CellExit::Failed | CellExit::Refused) => CellState::Failed {
                attempts: attempts.len(),
                why: said.unwrap_or("it does not say why".to_string()),
            },
        }
    }

    /// In a word.
    pub fn name(&self) -> &'static str {
        match self {
            CellState::Done => "done",
            CellState::Running { .. } => "running",
            CellState::Waiting { .. } => "waiting",
            CellState::Failed { .. } => "failed",
            CellState::Broken { .. } => "damaged",
        }
    }

    /// Where it is measured, or why it is not.
    pub fn told(&self) -> String {
        match self {
            CellState::Done => String::new(),
            CellState::Running { holder } => format!("{}, since {}", holder.told(), holder.since),
            CellState::Waiting { why } => why.clone().unwrap_or_default(),
            CellState::Failed { attempts, why } => format!("{why} (attempt {attempts})"),
            CellState::Broken { why } => why.clone(),
        }
    }
}
