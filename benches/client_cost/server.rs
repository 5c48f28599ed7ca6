//! The server of all clients.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rqps_dbms::{Home, Place, Server, source::Progress};
use rqps_load::Cancel;
use rqps_plan::{Contender, Dbms};
use rqps_wire::{Address, Target};
use rqps_workload::microbenchmark::Benchmark;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::run::run;
use crate::sbtest::{ROWS, SEED, plan};
use crate::subject::Subject;

/// The address and login of the server for a client.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    pub(crate) dbms: Dbms,
    pub(crate) path: PathBuf,
    pub(crate) user: String,
    pub(crate) database: String,
}

impl Socket {
    /// The directory and the port in the name of Postgres's socket, which its own clients need.
    pub(crate) fn directory_and_port(&self) -> Option<(&Path, &str)> {
        Some((self.path.parent()?, self.path.extension()?.to_str()?))
    }
}

/// A server of this run, on the same CPUs as this process and its children.
pub(crate) struct Running {
    subject: &'static Subject,
    server: Box<dyn Server>,
    socket: Socket,
    /// Contains the data directory and the log.
    directory: PathBuf,
}

impl Running {
    pub(crate) fn start(home: &Home, subject: &'static Subject) -> anyhow::Result<Self> {
        rqps_dbms::reap(home)?;
        let contender: Contender = subject.contender.parse()?;
        let mut tell = |progress| {
            if let Progress::Fetching { what } = progress {
                eprintln!("fetching {what}");
            }
            Ok(())
        };
        let dbms = rqps_dbms::prepare(home, &contender, &mut tell, &Cancel::default())?;
        let name = format!("client-cost-{}-{}", subject.dbms, std::process::id());
        let own = home.data()?.join(name);
        fs::create_dir(&own).with_context(|| format!("cannot make {}", own.display()))?;
        let place = Place { data: own.join("data"), log: own.join("log"), ..Place::default() };
        let server = dbms.start(home, &place, &Cancel::default())?;
        let (Target::Postgres(login) | Target::Mysql(login)) = server.target().clone() else {
            bail!("{} is no server", subject.contender);
        };
        let Address::Unix { path } = login.address else {
            bail!("{} does not listen on a Unix socket", subject.contender);
        };
        let (user, database) = (login.user, login.database);
        let socket = Socket { dbms: subject.dbms, path, user, database };
        Ok(Running { subject, server, socket, directory: own })
    }

    pub(crate) fn target(&self) -> &Target {
        self.server.target()
    }

    pub(crate) fn server(&self) -> &dyn Server {
        &*self.server
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn subject(&self) -> &'static Subject {
        self.subject
    }

    /// Creates `sbtest1`.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        let plan = plan(ROWS);
        let benchmark = Benchmark::new(self.target(), self.subject.dialect, &plan, SEED);
        run(benchmark.loaders(true)?)?;
        run(benchmark.indexers()?)?;
        self.settle()
    }

    /// Makes the server do pending work now that it would do later.
    pub(crate) fn settle(&self) -> anyhow::Result<()> {
        let mut connection = self.target().connect()?;
        for sql in self.subject.settle {
            connection.run(sql).with_context(|| sql.to_string())?;
        }
        Ok(())
    }

    /// Stops the server and removes its files.
    pub(crate) fn discard(&mut self) -> anyhow::Result<()> {
        self.server.discard()?;
        let directory = &self.directory;
        fs::remove_dir_all(directory)
            .with_context(|| format!("cannot remove {}", directory.display()))
    }
}

/// Binds this process, and with it its children, to the last CPU that it may use: the first one
/// tends to handle interrupts.
pub(crate) fn pin_to_one_cpu() -> anyhow::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    let mut one = CpuSet::new();
    one.set(last.context("no CPU to run on")?);
    sched_setaffinity(None, &one).context("cannot bind to one CPU")
}
