//! The load generator: connections as threads, the start of each operation, and what is recorded of
//! it. Knows no SQL; [`Work`] is what an operation does.
//!
//! The lab builds one [`Work`] per connection and passes them to [`ClientThreads`], which starts a
//! thread for each. [`ClientThreads::run`] may be called many times; connections, statements,
//! generators and threads persist between the calls, so that a call can be as short as a slice of
//! 10 ms.

mod client_threads;
mod clock;
mod effect;
mod ending;
mod failure;
mod halt;
mod live;
mod pair;
mod recorder;
mod relay;
mod schedule;
mod work;
mod worker;

pub use client_threads::{ClientThreads, Moment, Order};
pub use clock::now;
pub use effect::{Effect, Statements};
pub use failure::{Failure, Overdue};
pub use halt::Halt;
pub use live::{Live, ThreadCost};
pub use pair::{Pair, Side};
pub use recorder::{SecondTally, Tally};
pub use relay::{COUNTERS, Counters, Driving, Meter, Relay, Slice, Slicing, Turns};
pub use rqps_wire::{Cancel, Cancelled};
pub use schedule::Schedule;
pub use work::{Performed, Portion, Work};
pub use worker::Until;
