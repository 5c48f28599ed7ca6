//! A cell: one comparison on one machine, and what identifies it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rqps_plan::{Plan, Span};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{FleetError, io};
use crate::file::{FleetFile, SplitBy};

/// Hexadecimal digits of a cell's id.
const DIGITS: usize = 12;

/// What is measured where. It is written once and never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSpec {
    pub id: String,
    /// The name of the machine in the fleet's file.
    pub machine: String,
    /// The workload of the plan file, and the contender if each has a cell of its own.
    pub workload: String,
    /// From 1 on.
    pub repeat: u32,
    pub limit: Span,
    pub max_attempts: u32,
    /// SHA-256 of the rqps that measures.
    pub binary: String,
    /// The plan as a run directory stores it.
    pub plan: String,
}

impl CellSpec {
    /// From what it does: the same cell has the same id, in whichever order cells are made.
    pub fn identified(self) -> CellSpec {
        let repeat = self.repeat.to_string();
        let whole = [&self.plan, &self.machine, &repeat, &self.binary].map(String::as_str);
        let id = hash(whole.join("\0").as_bytes())[..DIGITS].to_string();
        CellSpec { id, ..self }
    }

    /// Whether it is as it was planned.
    pub fn is_unchanged(&self) -> bool {
        self.clone().identified().id == self.id
    }

    /// What it is called in tables: `micro-cached on epyc, 2`.
    pub fn title(&self) -> String {
        let repeat = if self.repeat > 1 { format!(", {}", self.repeat) } else { String::new() };
        format!("{} on {}{repeat}", self.workload, self.machine)
    }
}

/// The cells of a fleet: workloads by machines by repeats, in this order. `workloads` are the
/// comparisons of the plan file by title, each with the limit of its cells.
pub fn cells(file: &FleetFile, workloads: &[(String, Plan, Span)], binary: &str) -> Vec<CellSpec> {
    let mut cells = Vec::new();
    for (title, plan, limit) in workloads {
        for (title, plan) in split(file.split, title, plan) {
            for machine in file.machines() {
                cells.extend((1..=file.repeats).map(|repeat| {
                    CellSpec {
                        id: String::new(),
                        machine: machine.name.clone(),
                        workload: title.clone(),
                        repeat,
                        limit: file.limit.unwrap_or(*limit),
                        max_attempts: file.max_attempts,
                        binary: binary.to_string(),
                        plan: plan.to_toml(),
                    }
                    .identified()
                }));
            }
        }
    }
    cells
}

fn split(by: Option<SplitBy>, title: &str, plan: &Plan) -> Vec<(String, Plan)> {
    match (by, plan.contenders.split_first()) {
        (Some(SplitBy::Contender), Some((base, others))) if others.len() > 1 => {
            let pair = |(place, other): (usize, &rqps_plan::Contender)| {
                let contenders = vec![base.clone(), other.clone()];
                (format!("{title}-{}", place + 1), Plan { contenders, ..plan.clone() })
            };
            others.iter().enumerate().map(pair).collect()
        }
        _ => vec![(title.to_string(), plan.clone())],
    }
}

/// SHA-256 in hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn hash_file(path: &Path) -> Result<String, FleetError> {
    let mut file = File::open(path).map_err(io("read", path))?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut buffer).map_err(io("read", path))?;
        if read == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&buffer[..read]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Comparison, Design, InsertBenchmark, Profile, Workload};

    use super::*;

    fn plan(seed: u64) -> Plan {
        let benchmark = InsertBenchmark::new(Profile::P2025, "1K".parse().unwrap());
        let comparison = Comparison::new(Workload::InsertBenchmark(benchmark));
        Plan {
            contenders: ["a=sqlite", "b=sqlite", "c=sqlite"].map(|it| it.parse().unwrap()).into(),
            seed,
            cache: None,
            memory: None,
            design: Design::Comparison(comparison),
        }
    }

    fn made(text: &str, seed: u64, binary: &str) -> Vec<CellSpec> {
        let file = format!(
            "plan = 'p'\n{text}\n[on.local]\n[[machine]]\nname = 'm1'\n[[machine]]\nname = 'm2'"
        );
        let file = FleetFile::parse(&file).unwrap();
        let workloads = [("compare-x".to_string(), plan(seed), "1h".parse().unwrap())];
        cells(&file, &workloads, binary)
    }

    fn ids(cells: &[CellSpec]) -> Vec<&str> {
        cells.iter().map(|cell| cell.id.as_str()).collect()
    }

    #[test]
    fn cells_are_the_same_whenever_they_are_made_and_different_for_what_they_do() {
        let all = made("repeats = 2", 1, "abc");
        assert_eq!(ids(&all), ids(&made("repeats = 2", 1, "abc")));
        let titles: Vec<String> = all.iter().map(CellSpec::title).collect();
        let expected = ["m1", "m1, 2", "m2", "m2, 2"].map(|on| format!("compare-x on {on}"));
        assert_eq!(titles, expected);
        let mut distinct = ids(&all);
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
        assert!(all.iter().all(|cell| cell.id.len() == 12 && cell.is_unchanged()));
        for other in [made("repeats = 2", 2, "abc"), made("repeats = 2", 1, "abd")] {
            assert!(ids(&other).iter().all(|id| !ids(&all).contains(id)));
        }
        // More repeats leave the cells that are there as they are.
        let more = made("repeats = 3", 1, "abc");
        assert!(ids(&all).iter().all(|id| ids(&more).contains(id)));
        let mut changed = all[0].clone();
        changed.plan.push('#');
        assert!(!changed.is_unchanged());
    }

    #[test]
    fn contenders_are_split_where_that_is_asked_for() {
        let split = made("split = 'contender'", 1, "abc");
        assert_eq!(split.len(), 4);
        let names = |cell: &CellSpec| -> Vec<String> {
            Plan::from_toml(&cell.plan).unwrap().contenders.iter().map(|it| it.name()).collect()
        };
        assert_eq!(
            (names(&split[0]), names(&split[2])),
            (vec!["a".into(), "b".into()], vec!["a".into(), "c".into()])
        );
        assert_eq!(made("", 1, "abc").len(), 2);
    }

    #[test]
    fn a_limit_of_the_file_comes_before_the_estimate() {
        assert_eq!(made("", 1, "x")[0].limit.to_string(), "1h");
        assert_eq!(made("limit = '5m'", 1, "x")[0].limit.to_string(), "5m");
    }

    #[test]
    fn a_hash_is_that_of_other_programs() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash(b""), empty);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 3 << 20]).unwrap();
        assert_eq!(hash_file(&path).unwrap(), hash(&vec![7; 3 << 20]));
    }
}
