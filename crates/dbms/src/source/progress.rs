//! Reports progress to the caller, who may cancel.

use std::path::PathBuf;
use std::time::Duration;

use rqps_plan::Source;
use rqps_system::Cancelled;

/// The current step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A source is asked for its versions.
    Looking { source: Source },
    /// The source's client is downloading an archive, without progress.
    Fetching { what: String },
    /// No catalogue has the hash of the downloaded file.
    Unpinned { what: String, hash: String },
    /// A source lists something that it cannot deliver: another one is tried, if there is one.
    PassedOver { why: String },
    /// Unpacked bytes of the archive, and its size.
    Unpacking { done: u64, total: u64 },
    /// The program that an image would start as a container.
    EntryPoint { image: String, program: String },
    /// A server's program is asked for its version.
    Asking { server: PathBuf },
    /// The history or the files of a checkout are read.
    Reading { checkout: PathBuf },
    /// Another rqps is fetching a build into the same store.
    Waiting,
    /// A build from source waits for another process.
    WaitingToBuild { whom: String },
    /// A build from source: the step, the elapsed time, and the approximate total time.
    Building { what: String, step: &'static str, gone: Duration, estimate: Duration },
}

/// Called at each event, and repeatedly with the latest one while a client runs or an archive is
/// unpacked; an error ends the work within about a tenth of a second, without leftovers.
pub type Tell<'a> = dyn FnMut(Progress) -> Result<(), Cancelled> + 'a;
