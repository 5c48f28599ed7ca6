//! Load: connections as threads, when each operation starts, and what is recorded of it. Knows no
//! SQL; what an operation does is behind [`Work`].
//!
//! Who starts whom: the lab builds one [`Work`] per connection and hands them to a [`Crew`], which
//! gives each a thread. [`Crew::run`] may be called many times; connections, statements, generators
//! and threads live on between the calls, so that a call can be as short as a slice of 10 ms.

mod clock;
mod crew;
mod effect;
mod halt;
mod live;
mod pair;
mod recorder;
mod relay;
mod schedule;
mod worker;

pub use clock::now;
pub use crew::{Crew, Failure, Moment, Order};
pub use effect::{Effect, Statements};
pub use halt::Halt;
pub use live::{Live, ThreadCost};
pub use pair::{Pair, Side};
pub use recorder::{SecondTally, Tally};
pub use relay::{COUNTERS, Counters, Driving, Meter, Relay, Slice, Slicing, Turns};
pub use rqps_wire::{Cancel, Cancelled};
pub use schedule::Schedule;
pub use worker::{Until, Work};
