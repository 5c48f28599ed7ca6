//! The folder of a fleet: what was planned, and a folder for each cell.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rqps_store::{Run, write_whole};
use rqps_system::is_id;
use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::cell::{CellSpec, hash};
use crate::error::{FleetError, io as at};
use crate::file::FleetFile;
use crate::lease::CellLease;
use crate::state::CellState;

const FILE: &str = "fleet.toml";
const PLAN: &str = "plan.toml";
const INDEX: &str = "fleet.json";
const CELLS: &str = "cells";
const SPEC: &str = "cell.toml";
const SCHEMA: &str = "rqps-fleet-folder/1";

/// The cells of the fleet as it was planned last, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CellIndex {
    schema: String,
    /// SHA-256 of the fleet's file.
    file: String,
    cells: Vec<String>,
}

#[derive(Debug)]
pub struct FleetFolder {
    path: PathBuf,
    index: CellIndex,
    pub file: FleetFile,
}

/// A cell's folder.
#[derive(Clone, Debug)]
pub struct CellFolder {
    pub path: PathBuf,
    pub spec: CellSpec,
}

impl FleetFolder {
    /// Writes a fleet into a new folder, or into that of an earlier plan: cells that are there
    /// already stay as they are, and so do those that are no longer planned. `plan` has no
    /// passwords.
    pub fn create(
        path: &Path,
        text: &str,
        plan: &str,
        cells: &[CellSpec],
    ) -> Result<FleetFolder, FleetError> {
        let file = FleetFile::parse(text)?;
        let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if path.exists() && !is_empty && !path.join(INDEX).is_file() {
            return Err(FleetError::NotEmpty(path.to_path_buf()));
        }
        let all = path.join(CELLS);
        fs::create_dir_all(&all).map_err(at("create", &all))?;
        for cell in cells {
            let folder = rqps_system::below(path, &Path::new(CELLS).join(&cell.id))?;
            fs::create_dir_all(&folder).map_err(at("create", &folder))?;
            let spec = toml::to_string(cell).expect("a cell is plain data");
            if !folder.join(SPEC).exists() {
                write(&folder.join(SPEC), &spec)?;
            }
        }
        let index = CellIndex {
            schema: SCHEMA.to_string(),
            file: hash(text.as_bytes()),
            cells: cells.iter().map(|cell| cell.id.clone()).collect(),
        };
        write(&path.join(FILE), text)?;
        write(&path.join(PLAN), plan)?;
        // It comes last: a folder without it is not of a fleet yet.
        let json = serde_json::to_string_pretty(&index).expect("it holds only text");
        write(&path.join(INDEX), &(json + "\n"))?;
        Ok(FleetFolder { path: path.to_path_buf(), index, file })
    }

    pub fn open(path: &Path) -> Result<FleetFolder, FleetError> {
        let index = read(path, INDEX)?;
        let damaged = |reason: String| FleetError::Damaged { path: path.join(INDEX), reason };
        let index: CellIndex =
            serde_json::from_str(&index).map_err(|error| damaged(error.to_string()))?;
        if index.schema != SCHEMA {
            return Err(damaged(format!("its schema is {}, not {SCHEMA}", index.schema)));
        }
        if let Some(id) = index.cells.iter().find(|id| !is_id(id)) {
            return Err(damaged(format!("'{}' is no id of a cell", id.escape_debug())));
        }
        let text = read(path, FILE)?;
        let file = FleetFile::parse(&text)?;
        if hash(text.as_bytes()) != index.file {
            return Err(FleetError::Damaged {
                path: path.join(FILE),
                reason: "it was edited after the fleet was planned. Keep the edit, and plan again \
                         with rqps fleet plan"
                    .to_string(),
            });
        }
        Ok(FleetFolder { path: path.to_path_buf(), index, file })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Of the fleet's file.
    pub fn hash(&self) -> &str {
        &self.index.file
    }

    /// The planned cells by their ids; an error stands for one that cannot be read.
    pub fn cells(&self) -> Vec<(&str, Result<CellFolder, FleetError>)> {
        self.index.cells.iter().map(|id| (id.as_str(), self.cell(id))).collect()
    }

    /// The number of cells in the folder that are no longer planned.
    pub fn earlier(&self) -> usize {
        let entries = fs::read_dir(self.path.join(CELLS)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| is_id(name) && !self.index.cells.contains(name)).count()
    }

    /// A planned cell, as it was planned.
    pub fn cell(&self, id: &str) -> Result<CellFolder, FleetError> {
        if !self.index.cells.iter().any(|known| known == id) {
            let hint = rqps_plan::suggestion(id, self.index.cells.iter().map(String::as_str));
            return Err(FleetError::NoCell { id: id.escape_debug().to_string(), hint });
        }
        let path = rqps_system::below(&self.path, &Path::new(CELLS).join(id))?;
        let text = read(&path, SPEC)?;
        let spec: CellSpec = toml::from_str(&text).map_err(|error| FleetError::Damaged {
            path: path.join(SPEC),
            reason: error.message().lines().collect::<Vec<_>>().join(" "),
        })?;
        if spec.id != id || !spec.is_unchanged() {
            return Err(FleetError::Changed { id: id.to_string() });
        }
        Ok(CellFolder { path, spec })
    }
}

impl CellFolder {
    /// The run directory of a cell that is done.
    pub fn run(&self) -> PathBuf {
        self.path.join("run")
    }

    /// The run directory of a cell that is not.
    pub fn partial(&self) -> PathBuf {
        self.path.join("run.partial")
    }

    pub fn is_done(&self) -> bool {
        self.run().is_dir()
    }

    pub fn state(&self) -> CellState {
        let (attempts, damaged) = Attempt::all(&self.path);
        if !damaged.is_empty() {
            return CellState::Broken {
                why: format!("cannot read attempts/{}", damaged.join(", ")),
            };
        }
        CellState::of(self.is_done(), CellLease::holder(&self.path), &attempts)
    }

    /// What the cell has measured. Results that were put there by hand may be of something else.
    pub fn results(&self) -> Result<Run, FleetError> {
        let run = Run::open_without_samples(&self.run())?;
        match run.plan.to_toml() == self.spec.plan {
            true => Ok(run),
            false => Err(FleetError::Damaged {
                path: self.run(),
                reason: format!("its plan is not that of cell {}", self.spec.id),
            }),
        }
    }

    /// Keeps what another machine has begun, but out of the way: rounds of two machines are never
    /// in one run.
    pub fn set_aside(&self) -> Result<PathBuf, FleetError> {
        for number in 1.. {
            let path = self.path.join(format!("run.aside-{number}"));
            if !path.exists() {
                let from = self.partial();
                fs::rename(&from, &path).map_err(at("move", &from))?;
                return Ok(path);
            }
        }
        unreachable!("there are more numbers than folders")
    }

    /// The partial run is the result from now on.
    pub fn finish(&self) -> Result<(), FleetError> {
        let from = self.partial();
        fs::rename(&from, self.run()).map_err(at("move", &from))?;
        sync(&self.path)
    }
}

fn sync(folder: &Path) -> Result<(), FleetError> {
    fs::File::open(folder).and_then(|it| it.sync_all()).map_err(at("write", folder))
}

fn write(path: &Path, text: &str) -> Result<(), FleetError> {
    Ok(write_whole(path, |out| out.write_all(text.as_bytes()))?)
}

fn read(folder: &Path, name: &'static str) -> Result<String, FleetError> {
    let path = rqps_system::below(folder, Path::new(name))?;
    fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FleetError::NoFleet { path: folder.to_path_buf(), name },
        _ => at("read", &path)(error),
    })
}

#[cfg(test)]
mod tests;
