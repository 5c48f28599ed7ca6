//! Slurm: one array of jobs for each machine entry, and the clients that are asked.

use std::collections::BTreeSet;
use std::path::Path;

use rqps_plan::Span;

use crate::client::SchedulerClient;
use crate::error::FleetError;
use crate::file::{MachineEntry, SlurmOptions};
use crate::holder::CellHolder;
use crate::quote::{shell, shell_line};
use crate::submission::Submission;

/// Seconds before the limit at which a cell is asked to end.
const WARNING: u64 = 120;

/// A job as `sbatch` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    pub arguments: Vec<String>,
    pub script: String,
}

/// The array of the cells of a submission. `exclude` are nodes that have measured cells of this
/// machine already, where several are wanted.
pub fn array(
    (fleet, hash): (&Path, &str),
    options: &SlurmOptions,
    (machine, submission): (&MachineEntry, &Submission),
    limit: Span,
    exclude: &[String],
) -> Result<SlurmJob, FleetError> {
    let folder = fleet.to_string_lossy();
    // Slurm replaces some of these in the names of logs.
    if folder.contains(['%', '\\']) || folder.chars().any(char::is_control) {
        return Err(FleetError::Name {
            what: "folder",
            value: folder.escape_debug().to_string(),
            reason: "Slurm cannot write logs to it: its path has % or \\, or control characters",
        });
    }
    let last = submission.cells.len().saturating_sub(1);
    let minutes = limit.0.as_secs().div_ceil(60).max(1) + WARNING.div_ceil(60);
    let mut arguments = common(options);
    arguments.extend([
        format!("--job-name=rqps-{}", machine.name),
        format!("--array=0-{last}%{}", machine.count),
        "--exclusive".to_string(),
        "--mem=0".to_string(),
        format!("--time={minutes}"),
        format!("--signal=B:TERM@{WARNING}"),
        "--requeue".to_string(),
        "--open-mode=append".to_string(),
        format!("--output={folder}/submissions/{}_%a.log", submission.id),
    ]);
    arguments.extend(machine.constraint.iter().map(|it| format!("--constraint={it}")));
    let exclude: Vec<&str> =
        exclude.iter().map(String::as_str).filter(|it| is_node_name(it)).collect();
    if !exclude.is_empty() {
        arguments.push(format!("--exclude={}", exclude.join(",")));
    }
    let cell =
        [&*options.rqps, "fleet", "cell", &*folder, "--of", &*submission.id, "--fleet", hash];
    Ok(SlurmJob { arguments, script: script(options, &cell)? })
}

/// Names are from files of a shared folder. To Slurm a slash means a file with names, and brackets
/// mean many nodes (sbatch(1), `--exclude`).
fn is_node_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain)
}

/// The job that makes the report when all others have ended, however they did.
pub fn report(
    fleet: &Path,
    options: &SlurmOptions,
    jobs: &[String],
) -> Result<SlurmJob, FleetError> {
    let folder = fleet.to_string_lossy();
    let mut arguments = common(options);
    arguments.extend([
        "--job-name=rqps-report".to_string(),
        format!("--dependency=afterany:{}", jobs.join(":")),
        format!("--output={folder}/submissions/report.log"),
    ]);
    let report = [&*options.rqps, "fleet", "report", &*folder];
    Ok(SlurmJob { arguments, script: script(options, &report)? })
}

fn common(options: &SlurmOptions) -> Vec<String> {
    let named = [("partition", &options.partition), ("account", &options.account)];
    let named = named
        .into_iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("--{name}={value}")));
    ["--parsable", "--export=NONE", "--chdir=/"]
        .map(str::to_string)
        .into_iter()
        .chain(named)
        .collect()
}

fn script(options: &SlurmOptions, words: &[&str]) -> Result<String, FleetError> {
    let (home, line) = (shell(&options.home)?, shell_line(words)?);
    Ok(format!("#!/bin/sh\nexport RQPS_HOME={home}\nexec {line}\n"))
}

/// The clients of Slurm on this machine.
#[derive(Debug)]
pub struct Slurm {
    client: SchedulerClient,
}

impl Slurm {
    pub fn new() -> Self {
        let hint = "Run this where Slurm's clients are, or use [on.ssh] or [on.local]";
        Slurm {
            client: SchedulerClient {
                scheduler: "Slurm",
                hint,
                environment: &["SLURM_*", "HOME", "USER"],
            },
        }
    }

    /// Whether Slurm would take a job: an error is in its words, and nothing is queued.
    pub fn test(&self, job: &SlurmJob, script: &Path) -> Result<(), FleetError> {
        self.sbatch(job, script, Some("--test-only")).map(drop)
    }

    /// Queues a job, and answers its number.
    pub fn submit(&self, job: &SlurmJob, script: &Path) -> Result<String, FleetError> {
        let said = self.sbatch(job, script, None)?;
        // With several clusters its name follows.
        let number = said.trim().split(';').next().unwrap_or_default();
        match !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            true => Ok(number.to_string()),
            false => Err(FleetError::Client {
                program: "sbatch".to_string(),
                said: format!("instead of the number of a job, '{}'", said.trim()),
            }),
        }
    }

    fn sbatch(
        &self,
        job: &SlurmJob,
        script: &Path,
        more: Option<&str>,
    ) -> Result<String, FleetError> {
        let script = script.to_string_lossy().into_owned();
        let words = more.map(str::to_string).into_iter().chain(job.arguments.iter().cloned());
        self.client.run("sbatch", &words.chain([script]).collect::<Vec<_>>(), None)
    }

    /// The tasks of this user that wait or run, as `17_2`.
    pub fn queue(&self) -> Result<BTreeSet<String>, FleetError> {
        let words = ["-h", "-r", "--me", "-o", "%F_%K"].map(str::to_string);
        let said = self.client.run("squeue", &words, None)?;
        Ok(said.split_whitespace().map(str::to_string).collect())
    }

    /// Whether the process of a lease is known to have ended.
    pub fn is_gone(&self, holder: &CellHolder) -> bool {
        let task = holder.job.as_deref().and_then(|job| job.strip_prefix("slurm "));
        let queue = task.and_then(|task| Some((task, self.queue().ok()?)));
        queue.is_some_and(|(task, queue)| !queue.contains(task))
    }

    pub fn cancel(&self, jobs: &[String]) -> Result<(), FleetError> {
        self.client.run("scancel", jobs, None).map(drop)
    }
}

impl Default for Slurm {
    fn default() -> Self {
        Slurm::new()
    }
}

/// A job as it is shown before it is handed over.
pub fn shown(job: &SlurmJob, script: &Path) -> Result<String, FleetError> {
    let script = script.to_string_lossy();
    let words = ["sbatch"].into_iter().chain(job.arguments.iter().map(String::as_str));
    Ok(format!("{}\n{}", shell_line(words.chain([&*script]))?, indented(&job.script)))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::FleetFile;

    fn file(name: &str, constraint: &str) -> FleetFile {
        let text = format!(
            "plan = 'p'\n[on.slurm]\nrqps = \"/opt/it's here/rqps\"\nhome = '/var/$HOME `id`'\n\
             partition = 'bench'\n[[machine]]\nname = '{name}'\nconstraint = '{constraint}'\ncount = 2\n"
        );
        FleetFile::parse(&text).unwrap()
    }

    fn made(fleet: &str, constraint: &str) -> Result<SlurmJob, FleetError> {
        let file = file("epyc", constraint);
        let crate::Scheduler::Slurm(options) = &file.on else { panic!() };
        let cells = ["a", "b", "c"].map(str::to_string).to_vec();
        let submission = Submission {
            id: "s-1".to_string(),
            machine: "epyc".to_string(),
            cells,
            command: String::new(),
            job: None,
        };
        let machine = file.machines().next().unwrap();
        let limit = "2h".parse().unwrap();
        array(
            (Path::new(fleet), "abc"),
            options,
            (machine, &submission),
            limit,
            &["n1", "/etc/passwd", "n[1-9]", "a,b", ""].map(str::to_string),
        )
    }

    #[test]
    fn an_array_has_all_that_a_measurement_needs() {
        let job = made("/shared/fleet", "amd&nvme").unwrap();
        for argument in [
            "--array=0-2%2",
            "--exclusive",
            "--export=NONE",
            "--constraint=amd&nvme",
            "--partition=bench",
            "--time=122",
            "--signal=B:TERM@120",
            "--exclude=n1",
            "--output=/shared/fleet/submissions/s-1_%a.log",
        ] {
            assert!(job.arguments.iter().any(|it| it == argument), "{argument}: {job:#?}");
        }
    }

    #[test]
    fn no_value_is_a_command_of_the_script() {
        let job = made("/shared/my $(touch owned) fleet", "amd").unwrap();
        let line = job.script.lines().last().unwrap();
        let words = shlex::split(line.strip_prefix("exec ").unwrap()).unwrap();
        let expected = ["/opt/it's here/rqps", "fleet", "cell", "/shared/my $(touch owned) fleet"];
        assert_eq!(words[..4], expected);
        let home = job.script.lines().nth(1).unwrap().strip_prefix("export RQPS_HOME=").unwrap();
        assert_eq!(shlex::split(home).unwrap(), ["/var/$HOME `id`"]);
    }

    #[test]
    fn a_folder_whose_name_slurm_would_change_is_refused() {
        for bad in ["/shared/100%a", "/shared/a\\b", "/shared/a\nb"] {
            let error = made(bad, "amd").unwrap_err().to_string();
            assert!(error.starts_with("cannot use the folder"), "{error}");
        }
    }

    #[test]
    fn a_report_waits_for_all_jobs() {
        let file = file("epyc", "amd");
        let crate::Scheduler::Slurm(options) = &file.on else { panic!() };
        let jobs = ["17", "18"].map(str::to_string);
        let job = report(Path::new("/shared/fleet"), options, &jobs).unwrap();
        assert!(job.arguments.iter().any(|it| it == "--dependency=afterany:17:18"));
        assert!(job.script.ends_with("fleet report /shared/fleet\n"), "{}", job.script);
    }
}
