//! A histogram in its stored form, with a hundredth of the memory: a comparison has thousands.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::column::garbled;

/// Significant digits of a histogram, which determine its memory.
const DIGITS: u32 = 3;

/// In the V2 encoding of HdrHistogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedHistogram(Vec<u8>);

impl PackedHistogram {
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut bytes)
            .expect("writing to memory and counts below 2^63 cannot fail");
        PackedHistogram(bytes)
    }

    pub fn unpacked(&self) -> Histogram<u64> {
        decode(&self.0).expect("what was packed, or read and found whole, can be unpacked")
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// From stored bytes, if they are valid.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Result<Self, rusqlite::Error> {
        decode(&bytes)?;
        Ok(PackedHistogram(bytes))
    }
}

/// The header has the length and parameters that determine the memory (HdrHistogram, V2 encoding):
/// they must be those that rqps writes.
fn decode(bytes: &[u8]) -> Result<Histogram<u64>, rusqlite::Error> {
    const HEAD: usize = 40;
    let unreadable = || garbled("a histogram cannot be read");
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let is_whole = word(4).is_some_and(|length| length as usize + HEAD == bytes.len());
    if !is_whole || word(12).is_none_or(|digits| digits > DIGITS) {
        return Err(unreadable());
    }
    Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| unreadable())
}
