//! A DBMS that fails when a test wants it to: SQLite with a script, so that a comparison takes
//! milliseconds and fails in the same way each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rqps_dbms::{Dbms, DbmsError, Home, Installed, Place, Server, prepare};
use rqps_load::Cancel;
use rqps_plan::{Contender, Flags};

/// What happens at a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server does not start.
    Absent,
    /// It starts, and then has no table any more: every statement of a client fails.
    Dead,
    /// It loses a row as soon as one is changed.
    LosesRow,
    /// The view `v` has no end any more.
    Endless,
    /// It never answers.
    Frozen,
    /// It answers when as many are being started at the same time.
    Meets(u32),
}

/// How long those who are to meet wait for each other: they do it for the whole time only if they
/// are started one by one.
const PATIENCE: Duration = Duration::from_secs(20);

/// A contender that has been prepared.
pub(crate) struct Fake {
    inner: Box<dyn Dbms>,
    /// Its starts so far. In each round a contender is started to be loaded, and then to be
    /// measured.
    starts: AtomicU32,
    /// What happens at which start, counted from 1.
    script: Vec<(u32, Fault)>,
    /// How many have met so far.
    met: Arc<AtomicU32>,
}

impl Fake {
    /// Those who are to meet share `met`.
    pub(crate) fn new(
        home: &Home,
        contender: &Contender,
        script: &[(u32, Fault)],
        met: &Arc<AtomicU32>,
    ) -> Fake {
        let inner = prepare(home, contender, &mut |_| Ok(()), &Cancel::default()).unwrap();
        Fake { inner, starts: AtomicU32::new(0), script: script.to_vec(), met: met.clone() }
    }

    fn meet(&self, others: u32, cancel: &Cancel) -> Result<(), DbmsError> {
        let deadline = Instant::now() + PATIENCE;
        self.met.fetch_add(1, Ordering::Relaxed);
        while self.met.load(Ordering::Relaxed) < others {
            cancel.check()?;
            if Instant::now() > deadline {
                let reason = "nobody else is being started".to_string();
                return Err(DbmsError::Start { what: "the fake", reason });
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Dbms for Fake {
    fn build(&self) -> Option<&Installed> {
        None
    }

    fn flags(&self) -> Flags {
        self.inner.flags()
    }

    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError> {
        let number = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        let fault = self.script.iter().find(|(start, _)| *start == number);
        let sql = match fault.map(|(_, fault)| fault) {
            Some(Fault::Absent) => {
                let reason = "the script says so".to_string();
                return Err(DbmsError::Start { what: "the fake", reason });
            }
            Some(Fault::Dead) => &["drop table sbtest1"][..],
            Some(Fault::LosesRow) => &[
                "create trigger loses after update on sbtest1 begin delete from sbtest1 where id = 1; end",
            ],
            Some(Fault::Endless) => &[
                "drop view v",
                "create view v as with recursive c(n) as (select 1 union all select n + 1 from c) \
                 select n from c",
            ],
            Some(Fault::Frozen) => {
                cancel.sleep_until(Instant::now() + Duration::from_secs(600))?;
                return self.inner.start(home, place, cancel);
            }
            Some(Fault::Meets(others)) => {
                self.meet(*others, cancel)?;
                return self.inner.start(home, place, cancel);
            }
            None => return self.inner.start(home, place, cancel),
        };
        let server = self.inner.start(home, place, cancel)?;
        let mut connection = server.target().connect()?;
        for statement in sql {
            connection.run(statement)?;
        }
        Ok(server)
    }
}
