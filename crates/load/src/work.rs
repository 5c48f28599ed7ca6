//! One connection's operations, and what it did when it performed several by itself.

use std::time::Duration;

use rqps_wire::{Error, Interrupter};

use crate::effect::Effect;
use crate::halt::Halt;

/// One connection's operations, one after the other.
pub trait Work: Send {
    /// Prepares the next operation, outside its measured time. May wait for a partner, and then
    /// returns early once `halt` says that the run is abandoned.
    fn make(&mut self, halt: &Halt) -> Result<(), Error>;

    /// Nanoseconds between the end of the last operation and the start of the prepared one, part of
    /// neither: a person at a terminal types and thinks.
    fn rest(&self) -> u64 {
        0
    }

    /// Performs the prepared operation and returns its effect. Called again for the same operation
    /// after an error of [`ErrorClass::Retry`].
    fn execute(&mut self) -> Result<Effect, Error>;

    /// Performs many operations, where another process performs them by itself, since each takes
    /// less time than a message to it. Each takes `delay` nanoseconds longer. None: operations are
    /// performed one by one.
    fn perform(&mut self, _portion: Portion, _delay: u64) -> Option<Result<Performed, Error>> {
        None
    }

    /// A turn begins: until it ends, this contender alone is driven.
    fn begin_turn(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Ends the turn.
    fn end_turn(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Makes the operation with this number the next one, where the number alone decides what an
    /// operation does: contenders that go to the same number do the same from there on.
    fn seek(&mut self, _operation: u64) {}

    /// Discards what it recorded by itself: that was warm-up.
    fn forget(&mut self) {}

    /// Ends an execution that blocks.
    fn interrupter(&self) -> Result<Interrupter, Error>;
}

/// What [`Work::perform`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Performed {
    pub operations: u64,
    /// Nanoseconds of the operations in sequence.
    pub nanos: u64,
    pub effect: Effect,
    /// Nanoseconds of single operations, and how many took so long.
    pub times: Vec<(u64, u64)>,
    /// Delays that nothing interrupted, and the nanoseconds spent in them.
    pub delays: u64,
    pub delayed: u64,
}

/// What a client does in a part of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// Operations until the first one that ends after this time.
    Time(Duration),
    Operations(u64),
}

impl Portion {
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, Portion::Time(Duration::ZERO) | Portion::Operations(0))
    }
}
