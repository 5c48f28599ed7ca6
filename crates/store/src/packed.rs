//! A histogram as it is stored, which takes a hundredth of its memory: a comparison has thousands.

use hdrhistogram::Histogram;

use crate::WorkerRecord;
use crate::read::decode;
use crate::write::encode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedHistogram(Vec<u8>);

impl PackedHistogram {
    pub fn of(histogram: &Histogram<u64>) -> Self {
        PackedHistogram(encode(histogram))
    }

    pub fn unpacked(&self) -> Histogram<u64> {
        decode(&self.0).expect("what was packed, or read and found whole, can be unpacked")
    }
}

impl WorkerRecord {
    pub fn packed(self) -> WorkerRecord<PackedHistogram> {
        self.with_times(|times| PackedHistogram::of(&times))
    }
}

impl WorkerRecord<PackedHistogram> {
    pub fn unpacked(self) -> WorkerRecord {
        self.with_times(|times| times.unpacked())
    }
}

/// A histogram that a table can hold.
pub(crate) trait Stored: Sized {
    fn to_bytes(&self) -> Vec<u8>;

    /// From what was stored, if that is whole.
    fn from_bytes(bytes: Vec<u8>) -> Result<Self, rusqlite::Error>;
}

impl Stored for Histogram<u64> {
    fn to_bytes(&self) -> Vec<u8> {
        encode(self)
    }

    fn from_bytes(bytes: Vec<u8>) -> Result<Self, rusqlite::Error> {
        decode(&bytes)
    }
}

impl Stored for PackedHistogram {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn from_bytes(bytes: Vec<u8>) -> Result<Self, rusqlite::Error> {
        decode(&bytes)?;
        Ok(PackedHistogram(bytes))
    }
}
