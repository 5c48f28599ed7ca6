//! Telling the caller how far things are, and asking whether to go on.

use std::path::PathBuf;
use std::time::Duration;

use rqps_plan::Source;
use rqps_system::Cancelled;

/// What is being done for the caller at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A source is asked which versions it has.
    Looking { source: Source },
    /// An archive is being downloaded by the source's client, which does not tell how far it is.
    Fetching { what: String },
    /// What was downloaded is in no catalogue that could tell its hash.
    Unpinned { what: String, hash: String },
    /// A source lists something that cannot be fetched from it: another is taken, if there is one.
    PassedOver { why: String },
    /// Bytes of the archive that are unpacked, and its size.
    Unpacking { done: u64, total: u64 },
    /// A server's program is asked for its version.
    Asking { server: PathBuf },
    /// Another rqps is fetching a build into the same store.
    Waiting,
    /// A build from source has to wait for somebody.
    WaitingToBuild { whom: String },
    /// A build is made from source: what of it, for how long, and about how long all of it takes.
    Building { what: String, step: &'static str, gone: Duration, estimate: Duration },
}

/// Called at each event, and again and again with the latest one while a client runs or an archive
/// is unpacked; an error makes the work end within a tenth of a second or so, leaving nothing
/// behind.
pub type Tell<'a> = dyn FnMut(Progress) -> Result<(), Cancelled> + 'a;
