//! Checksums of files.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256, Sha512};

use super::error::{SourceError, at};

/// The prefix of a SHA-256 where a hash may be of another kind.
pub(super) const SHA256: &str = "sha256:";
/// The prefix of a SHA-512 in base64, as in npm.
pub(super) const SHA512: &str = "sha512-";

fn of_file<D: Digest>(path: &Path) -> Result<Vec<u8>, SourceError> {
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

/// In the form of the `sha256sum` program.
pub(super) fn sha256(path: &Path) -> Result<String, SourceError> {
    Ok(hex(&of_file::<Sha256>(path)?))
}

/// The same for bytes in memory.
pub(super) fn sha256_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// In npm's form.
pub(super) fn integrity(path: &Path) -> Result<String, SourceError> {
    Ok(format!("{SHA512}{}", STANDARD.encode(of_file::<Sha512>(path)?)))
}

/// The hash of a file, of the same kind as another hash.
pub(super) fn like(other: &str, path: &Path) -> Result<String, SourceError> {
    match other.starts_with(SHA512) {
        true => integrity(path),
        false => Ok(format!("{SHA256}{}", sha256(path)?)),
    }
}
