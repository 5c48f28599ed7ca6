//! What was handed to a scheduler: a list of cells in the order of its indices, and what it
//! answered.

use std::path::Path;
use std::{env, fs};

use rqps_store::write_whole;
use rqps_system::is_id;
use serde::{Deserialize, Serialize};

use crate::cell::CellSpec;
use crate::error::{FleetError, io};

const SUBMISSIONS: &str = "submissions";

/// Where a scheduler says which job this is: its name, the variable with the number of the job, and
/// the one with the index of the cell.
const SCHEDULERS: [(&str, &str, &str); 2] = [
    ("slurm", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"),
    ("kubernetes", "HOSTNAME", "JOB_COMPLETION_INDEX"),
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Also the name of its file.
    pub id: String,
    pub machine: String,
    /// By index.
    pub cells: Vec<String>,
    /// What was handed over.
    pub command: String,
    /// What the scheduler calls it; none if it was only printed.
    pub job: Option<String>,
}

/// The cells of one machine entry.
pub type CellsByMachine<'a> = Vec<(&'a str, Vec<&'a CellSpec>)>;

impl Submission {
    /// A new one, with an id that sorts by time.
    pub fn new(machine: &str, number: usize, cells: &[&CellSpec]) -> Self {
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        Submission {
            id: format!("{now}-{}-{number}", std::process::id()),
            machine: machine.to_string(),
            cells: cells.iter().map(|cell| cell.id.clone()).collect(),
            command: String::new(),
            job: None,
        }
    }

    pub fn write(&self, fleet: &Path) -> Result<(), FleetError> {
        let folder = rqps_system::below(fleet, Path::new(SUBMISSIONS))?;
        fs::create_dir_all(&folder).map_err(io("create", &folder))?;
        let text = serde_json::to_vec_pretty(self).expect("a submission is plain data");
        let path = folder.join(format!("{}.json", self.id));
        Ok(write_whole(&path, |out| out.write_all(&text))?)
    }

    pub fn read(fleet: &Path, id: &str) -> Result<Submission, FleetError> {
        let damaged =
            |path: &Path, reason: String| FleetError::Damaged { path: path.to_path_buf(), reason };
        let name = Path::new(SUBMISSIONS).join(format!("{id}.json"));
        if !is_id(id) {
            return Err(damaged(&fleet.join(name), "it has no name of a submission".to_string()));
        }
        let path = rqps_system::below(fleet, &name)?;
        let bytes = fs::read(&path).map_err(io("read", &path))?;
        serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error.to_string()))
    }

    /// All that can be read, the oldest first.
    pub fn all(fleet: &Path) -> Vec<Submission> {
        let entries = fs::read_dir(fleet.join(SUBMISSIONS)).into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.strip_suffix(".json").map(str::to_string)
        });
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids.iter().filter_map(|id| Submission::read(fleet, id).ok()).collect()
    }

    /// The cell that the scheduler's variables mean.
    pub fn cell_of_environment(&self) -> Result<&str, FleetError> {
        let index = SCHEDULERS.iter().find_map(|(.., index)| env::var(index).ok());
        let index = index.unwrap_or_default();
        self.cell(&index)
    }

    fn cell(&self, index: &str) -> Result<&str, FleetError> {
        let known = index.parse().ok().and_then(|index: usize| self.cells.get(index));
        known.map(String::as_str).ok_or_else(|| FleetError::NoCell {
            id: format!("number {index} of submission {}", self.id),
            hint: format!("it has {}. Submit again", self.cells.len()),
        })
    }
}

/// `slurm 17_2`: what the scheduler calls this process.
pub(crate) fn job_of_environment() -> Option<String> {
    SCHEDULERS.iter().find_map(|(name, job, index)| {
        let (job, index) = (env::var(job).ok()?, env::var(index).ok()?);
        Some(format!("{name} {job}_{index}"))
    })
}

/// What the scheduler calls this machine. Only Slurm is told nodes by their names
/// (`SLURMD_NODENAME`, sbatch(1)).
pub(crate) fn node_of_environment() -> Option<String> {
    env::var("SLURMD_NODENAME").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submission() -> Submission {
        let cells = ["aaa", "bbb"].map(str::to_string).to_vec();
        Submission { cells, ..Submission::new("epyc", 0, &[]) }
    }

    #[test]
    fn what_was_submitted_is_read_back() {
        let fleet = tempfile::tempdir().unwrap();
        let submission = submission();
        submission.write(fleet.path()).unwrap();
        assert_eq!(Submission::read(fleet.path(), &submission.id).unwrap(), submission);
        assert_eq!(Submission::all(fleet.path()), [submission]);
        for bad in ["../plan", "", "a/b"] {
            assert!(Submission::read(fleet.path(), bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_index_is_a_cell_or_an_error() {
        let submission = submission();
        assert_eq!(submission.cell("1").unwrap(), "bbb");
        for bad in ["2", "-1", "", "x"] {
            let error = submission.cell(bad).unwrap_err().to_string();
            assert!(error.contains("it has 2. Submit again"), "{error}");
        }
    }
}
