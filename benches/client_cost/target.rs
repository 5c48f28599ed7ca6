//! The server that all clients ask, and the table they read.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, bail};
use rqps_dbms::{Home, Place, Server, source::Progress};
use rqps_plan::Contender;
use rqps_wire::Address;
use rqps_wire::Target;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const SERVER: &str = "postgres@17.6";

/// Rows of `sbtest1`.
pub(crate) const ROWS: u64 = 100_000;

/// What a client must be told to find the server.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    pub(crate) directory: PathBuf,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) database: String,
}

/// A server of this run, on the same CPU as this process and its children.
pub(crate) struct Running {
    server: Box<dyn Server>,
    socket: Socket,
    /// Holds the data directory and the log.
    directory: PathBuf,
}

impl Running {
    pub(crate) fn start(home: &Home) -> anyhow::Result<Self> {
        rqps_dbms::reap(home)?;
        let contender: Contender = SERVER.parse()?;
        let mut tell = |progress| {
            if let Progress::Fetching { what } = progress {
                eprintln!("fetching {what}");
            }
            ControlFlow::Continue(())
        };
        let dbms = rqps_dbms::prepare(home, &contender, &mut tell)?;
        pin_to_one_cpu()?;
        let own = home.data()?.join(format!("client-cost-{}", std::process::id()));
        fs::create_dir(&own).with_context(|| format!("cannot make {}", own.display()))?;
        let place = Place { data: own.join("data"), log: own.join("log"), detached: false };
        let server = dbms.start(home, &place, &|| false)?;
        let Target::Postgres(login) = server.target().clone() else {
            bail!("{SERVER} is not reached as Postgres");
        };
        let Address::Unix { path } = &login.address else {
            bail!("{SERVER} does not listen on a Unix socket");
        };
        // The other clients are told the directory and the port of the socket's name.
        let port = path.extension().and_then(|port| port.to_str()).context("a socket's port")?;
        let directory = path.parent().context("a socket's directory")?.to_path_buf();
        let (user, database) = (login.user.clone(), login.database.clone());
        let socket = Socket { directory, port: port.parse()?, user, database };
        Ok(Running { server, socket, directory: own })
    }

    pub(crate) fn target(&self) -> &Target {
        self.server.target()
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Makes `sbtest1` as `sysbench prepare` does, but without need of a sysbench.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        let mut connection = self.target().connect()?;
        for sql in [
            "create table sbtest1 (id serial primary key, k integer not null default 0, \
             c char(120) not null default '', pad char(60) not null default '')",
            &format!(
                "insert into sbtest1 (k, c, pad) select 1 + (random() * {})::integer, \
                 substr(repeat(md5(id::text), 4), 1, 119), substr(repeat(md5(id::text), 2), 1, 59) \
                 from generate_series(1, {ROWS}) id",
                ROWS - 1
            ),
            "create index k_1 on sbtest1 (k)",
            "vacuum analyze sbtest1",
            "checkpoint",
        ] {
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

/// Binds this process, and with it those it starts, to the last CPU that it may use: the first is
/// where interrupts tend to go.
fn pin_to_one_cpu() -> anyhow::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    let mut one = CpuSet::new();
    one.set(last.context("no CPU to run on")?);
    sched_setaffinity(None, &one).context("cannot bind to one CPU")
}
