//! A histogram as it is stored, which takes a hundredth of its memory: a comparison has thousands.

use hdrhistogram::Histogram;

use crate::read::decode;
use crate::write::encode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedHistogram(Vec<u8>);

impl PackedHistogram {
    pub fn of(histogram: &Histogram<u64>) -> Self {
        PackedHistogram(encode(histogram))
    }

    /// From what was stored, if that is whole.
    pub(crate) fn stored(bytes: Vec<u8>) -> Result<Self, rusqlite::Error> {
        decode(&bytes)?;
        Ok(PackedHistogram(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn unpacked(&self) -> Histogram<u64> {
        decode(&self.0).expect("what was packed, or read and found whole, can be unpacked")
    }
}
