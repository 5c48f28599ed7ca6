//! A real Slurm with two nodes, which are both this machine: a cell is sent away because the other
//! node measures, one is killed and resumed, and a job reports when all others have ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{has, port};
use crate::common::fleets::SmallFleet;
use crate::common::{Rqps, await_that, processes};

/// Slurm with daemons of its own, which end when it is dropped.
struct Cluster {
    root: PathBuf,
}

impl Cluster {
    fn start(root: &Path) -> Cluster {
        let cluster = Cluster { root: root.to_path_buf() };
        for folder in ["munge", "state", "log"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let munge = root.join("munge");
        // Its clients are other users, who must reach the socket.
        sh(&format!("chmod 755 {0} {1} && chmod 711 {1}", root.display(), munge.display()));
        sh(&format!("umask 377; head -c 1024 /dev/urandom > {}/key", munge.display()));
        let m = munge.display();
        sh(&format!(
            "munged --key-file={m}/key --socket={m}/s --pid-file={m}/pid --log-file={m}/log \
             --seed-file={m}/seed"
        ));
        let host = sh("hostname -s");
        fs::write(cluster.conf(), conf(root, host.trim())).unwrap();
        let conf = cluster.conf().display().to_string();
        sh(&format!("slurmctld -f {conf}"));
        sh(&format!("slurmd -f {conf} -N n1 && slurmd -f {conf} -N n2"));
        await_that("both nodes are idle", || {
            cluster.said("sinfo -N -h -o %T").matches("idle").count() == 2
        });
        cluster
    }

    fn conf(&self) -> PathBuf {
        self.root.join("slurm.conf")
    }

    fn said(&self, command: &str) -> String {
        let said = Command::new("sh").args(["-c", command]).env("SLURM_CONF", self.conf()).output();
        String::from_utf8_lossy(&said.unwrap().stdout).into_owned()
    }

    fn await_end(&self) {
        await_that("no job is left", || self.said("squeue -h").trim().is_empty());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let pid = |name: &str| fs::read_to_string(self.root.join(name)).unwrap_or_default();
        for name in ["slurmd-n1.pid", "slurmd-n2.pid", "slurmctld.pid", "munge/pid"] {
            if let Ok(pid) = pid(name).trim().parse() {
                processes::signal(pid, rustix::process::Signal::TERM);
            }
        }
    }
}

/// What a command of a shell says; daemons that it starts are not waited for.
fn sh(command: &str) -> String {
    let mut shell = Command::new("sh");
    let said = shell.args(["-ec", command]).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{command}: {told}");
    String::from_utf8_lossy(&said.stdout).into_owned()
}

fn conf(root: &Path, host: &str) -> String {
    let d = root.display();
    let [controller, one, two] = [port(), port(), port()];
    format!(
        "ClusterName=rqps\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={d}/munge/s\nCredType=cred/munge\n\
         SlurmctldPort={controller}\nSlurmdPort={one}\nStateSaveLocation={d}/state\n\
         SlurmdSpoolDir={d}/spool%n\nSlurmctldPidFile={d}/slurmctld.pid\n\
         SlurmdPidFile={d}/slurmd-%n.pid\nSlurmctldLogFile={d}/log/slurmctld.log\n\
         SlurmdLogFile={d}/log/slurmd-%n.log\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nMpiDefault=none\nJobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nReturnToService=2\nKillWait=5\nMinJobAge=3600\n\
         NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={one} CPUs=1 RealMemory=1000 \
         State=UNKNOWN Feature=intel\n\
         NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={two} CPUs=1 RealMemory=1000 \
         State=UNKNOWN Feature=amd\n\
         PartitionName=bench Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n"
    )
}

fn on(rqps: &Rqps, machine: &str) -> String {
    format!(
        "repeats = 2\n[on.slurm]\nrqps = '{}'\nhome = '{}'\npartition = 'bench'\n\
         [[machine]]\nname = 'both'\ncount = 2\n{machine}\n",
        env!("CARGO_BIN_EXE_rqps"),
        rqps.home().display(),
    )
}

#[test]
fn an_array_of_cells_is_measured_whatever_happens_to_it() {
    if !has(&["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"]) {
        return;
    }
    let rqps = Rqps::alone();
    let cluster = Cluster::start(&rqps.path("slurm"));
    let conf = cluster.conf().display().to_string();
    let fleet = SmallFleet::long(&rqps, &on(&rqps, ""));
    let cells = fleet.cells();
    let submit = |words: &str| {
        let dir = fleet.dir().display().to_string();
        let words = ["fleet", "submit", &dir].into_iter().chain(words.split_whitespace());
        let mut command = rqps.command(words);
        command.env("SLURM_CONF", &conf);
        crate::common::Running::start(command).finish()
    };
    let shown = submit("--dry-run").ok().stdout;
    assert!(shown.contains("sbatch --parsable") && shown.contains("--array=0-1%2"), "{shown}");
    assert_eq!(cluster.said("squeue -h"), "", "nothing was handed over");

    // Both nodes begin at once. They are one machine, so one of them is sent away; the other is
    // killed.
    submit("").ok();
    let is_sent_away = |id: &String| fleet.attempts(id) == [json!("busy")];
    await_that("a cell is sent away", || cells.iter().any(is_sent_away));
    let begun = cells.iter().find(|id| !is_sent_away(id)).unwrap().clone();
    let measuring = fleet.await_running(&begun);
    // Slurm lists its job for a moment longer.
    await_that("it is handed over again", || submit("").ok().stderr.contains("job"));
    processes::kill(measuring);
    for _ in 0..4 {
        cluster.await_end();
        if fleet.states().iter().all(|(_, state)| state == "done") {
            break;
        }
        submit("").ok();
    }
    let log = || {
        let logs = format!("cat {}/submissions/*.log", fleet.dir().display());
        cluster.said(&logs)
    };
    for (id, state) in fleet.states() {
        assert_eq!(state, "done", "{id}: {:?}\n{}", fleet.attempts(&id), log());
        assert_eq!(fleet.rounds(&id), 12, "{id}");
    }
    let attempts = fleet.attempts(&begun);
    assert_eq!(attempts.first(), Some(&Value::Null), "it was killed: {attempts:?}");
    assert_eq!(attempts.last(), Some(&json!("measured")), "{attempts:?}");
    assert!(fleet.dir().join("report.html").is_file(), "a job has made it: {}", log());
    submit("").ok().says(&["no cell is to be handed over"]);
}

#[test]
fn what_slurm_does_not_take_is_told_in_its_words_and_nothing_is_queued() {
    if !has(&["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"]) {
        return;
    }
    let rqps = Rqps::alone();
    let cluster = Cluster::start(&rqps.path("slurm"));
    let more = "[[machine]]\nname = 'arm'\nconstraint = 'arm'";
    let fleet = SmallFleet::new(&rqps, &on(&rqps, more));
    let dir = fleet.dir().display().to_string();
    let mut command = rqps.command(["fleet", "submit", &dir]);
    command.env("SLURM_CONF", cluster.conf());
    let refused = crate::common::Running::start(command).finish().expect_code(3);
    refused.says(&["error: sbatch: ", "nvalid feature specification"]);
    assert_eq!(cluster.said("squeue -h"), "");
    // Without a Slurm at all.
    let mut command = rqps.command(["fleet", "submit", &dir]);
    command.env("PATH", "/nowhere");
    let refused = crate::common::Running::start(command).finish().expect_code(2);
    refused.says(&["no squeue on this machine", "[on.ssh] or [on.local]"]);
}
