//! Checksums of files.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::{SourceError, at};

pub(super) fn of_file<D: Digest>(path: &Path) -> Result<Vec<u8>, SourceError> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(at(path))?);
    let mut digest = D::new();
    loop {
        let bytes = reader.fill_buf().map_err(at(path))?;
        if bytes.is_empty() {
            return Ok(digest.finalize().to_vec());
        }
        digest.update(bytes);
        let read = bytes.len();
        reader.consume(read);
    }
}

/// As the `sha256sum` program prints it.
pub(super) fn sha256(path: &Path) -> Result<String, SourceError> {
    let digest = of_file::<Sha256>(path)?;
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
