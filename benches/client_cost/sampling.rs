//! The cost of sampling: rqps's CPU for reading the counters of the machine and of the DBMS once a
//! second, and the server's CPU for answering. Once a second and not in a row, which would find
//! everything in the caches.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use rqps_dbms::{DbmsError, EngineMeter};
use rqps_observe::{EngineReading, Metric, Observer, Reading};
use rustix::time::{ClockId, clock_gettime};

use crate::clients::Kind;
use crate::server::Running;
use crate::size::Size;
use crate::table::{Goal, Table};

/// The limit of rqps's CPU, in percent of a core.
const GOAL: f64 = 0.5;

type Look = fn(&mut Eyes) -> Result<(), DbmsError>;

/// The kinds of samples. All counters of the DBMS are read only at the edges of a window.
const LOOKS: [(&str, Look); 3] = [
    ("the machine", Eyes::see_machine),
    ("the machine and a few counters of the DBMS (whole runs)", Eyes::see_few),
    ("the machine and all counters of the DBMS", Eyes::see_all),
];

/// CPU in percent of a core.
struct Percent {
    own: f64,
    server: f64,
}

/// The kinds of samples in turn, each in a window of its own.
pub(crate) fn measure(running: &Running, size: &Size) -> anyhow::Result<Table> {
    let mut eyes = Eyes::on(running)?;
    let mut costs: [Vec<Percent>; LOOKS.len()] = Default::default();
    for round in 1..=size.rounds {
        println!("sampling: round {round} of {}", size.rounds);
        let idle = eyes.window(size.seconds, |_| Ok(()))?;
        for ((_, look), costs) in LOOKS.iter().zip(&mut costs) {
            let cost = eyes.window(size.seconds, *look)?;
            costs.push(Percent { server: cost.server - idle.server, ..cost });
        }
    }
    let mut table = Table::new();
    for ((what, _), costs) in LOOKS.iter().zip(&costs) {
        let own = costs.iter().map(|cost| cost.own).collect();
        table.own(&format!("{what}, % of a core"), own, 3, Goal::Own(GOAL));
        let server = costs.iter().map(|cost| cost.server).collect();
        let server = BTreeMap::from([(Kind::Rqps, server)]);
        table.compare("  the server, above its idling", &server, 3, None);
    }
    Ok(table)
}

/// Samples like a measured window: each reading is compared with the one before.
struct Eyes {
    observer: Observer,
    meter: EngineMeter,
    seen: Reading,
    counted: EngineReading,
}

impl Eyes {
    fn on(running: &Running) -> anyhow::Result<Self> {
        let server = running.server();
        let observer = Observer::new(server.process(), server.data(), server.database_path()?);
        let meter = server.meter()?.context("the DBMS counts nothing")?;
        let (seen, counted) = (Reading::default(), EngineReading::default());
        Ok(Eyes { observer: observer.in_own_group(), meter, seen, counted })
    }

    fn see_machine(&mut self) -> Result<(), DbmsError> {
        let now = self.observer.read();
        drop(black_box(now.since(&self.seen)));
        self.seen = now;
        Ok(())
    }

    fn see_few(&mut self) -> Result<(), DbmsError> {
        self.see_machine()?;
        let now = self.meter.glance()?;
        self.count(now);
        Ok(())
    }

    fn see_all(&mut self) -> Result<(), DbmsError> {
        self.see_machine()?;
        let now = self.meter.read()?;
        self.count(now);
        Ok(())
    }

    fn count(&mut self, now: EngineReading) {
        drop(black_box(now.since(&self.counted)));
        self.counted = now;
    }

    /// Samples once a second for this many seconds.
    fn window(&mut self, seconds: u32, look: Look) -> anyhow::Result<Percent> {
        let server = self.server_cpu()?;
        let (begun, own) = (Instant::now(), own_cpu());
        for second in 1..=seconds {
            let next = begun + Duration::from_secs(second.into());
            sleep(next.saturating_duration_since(Instant::now()));
            look(self)?;
        }
        let (own, elapsed) = (own_cpu() - own, begun.elapsed().as_secs_f64());
        let server = self.server_cpu()? - server;
        let percent = |cpu: f64| 100.0 * cpu / elapsed;
        Ok(Percent { own: percent(own), server: percent(server) })
    }

    /// Seconds: exact where a control group can be created, else in ticks of 10 ms.
    fn server_cpu(&mut self) -> anyhow::Result<f64> {
        let micros = self.observer.read().sum(&[Metric::ServerCpuUser, Metric::ServerCpuSystem]);
        Ok(micros.context("the server's CPU cannot be read")? as f64 / 1e6)
    }
}

/// Seconds of this thread.
fn own_cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
