//! Certificates and keys in PEM files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificates of a PEM file; an error if there is none.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => {
            Err(format!("'{}' has no certificate in PEM (-----BEGIN CERTIFICATE)", file.display()))
        }
    }
}

pub(crate) fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("'{}' cannot be read: {error}", file.display()))
}

/// A key that only its owner may read; for root's key, its group, too (libpq's rule).
pub(crate) fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let shown = file.display();
    let found = file.metadata().map_err(|error| format!("'{shown}' cannot be read: {error}"))?;
    let open_to = match found.uid() {
        0 => found.mode() & 0o037,
        _ => found.mode() & 0o077,
    };
    if open_to != 0 {
        return Err(format!(
            "others may read or change the key '{shown}'. Run chmod 600 '{shown}'"
        ));
    }
    let text = read(file)?;
    let is_encrypted = [&b"BEGIN ENCRYPTED"[..], b"Proc-Type: 4,ENCRYPTED"]
        .iter()
        .any(|mark| text.windows(mark.len()).any(|window| window == *mark));
    if is_encrypted {
        return Err(format!(
            "the key '{shown}' is encrypted, and rqps does not decrypt keys. Decrypt it with openssl \
             pkey -in '{shown}' -out FILE"
        ));
    }
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| format!("'{shown}' has no private key in PEM (-----BEGIN PRIVATE KEY)"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_a_key_that_others_cannot_read_and_that_is_not_encrypted_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.pem");
        for (text, mode, why) in [
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----", 0o600, "is encrypted"),
            ("Proc-Type: 4,ENCRYPTED", 0o600, "openssl pkey"),
            ("nothing", 0o600, "has no private key"),
            ("nothing", 0o644, "chmod 600"),
            ("nothing", 0o660, "others may read or change"),
        ] {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let error = private_key(&file).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(private_key(Path::new("/nowhere")).unwrap_err().contains("cannot be read"));
    }
}
