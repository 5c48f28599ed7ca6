//! From what was measured to what it means: what an operation cost on either side, and why one
//! contender is slower, faster or more expensive than another. Knows no servers and no terminals.

pub mod diagnosis;
