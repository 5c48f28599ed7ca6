//! TLS over TCP: its parameters, and the encrypted stream.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, ProtocolVersion,
    StreamOwned, SupportedProtocolVersion, version,
};

use crate::certificate::Verifier;
use crate::error::Error;
use crate::patience::Waits;

/// Parameters of an encrypted connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    pub need: Need,
    pub check: Check,
    pub authorities: Authorities,
    /// PEM files with revocation lists.
    pub revoked: Vec<PathBuf>,
    /// The client's certificate and key.
    pub identity: Option<Identity>,
    /// The oldest and the newest allowed version.
    pub versions: (Version, Version),
    /// The connection begins with TLS, without a message of the protocol before it.
    pub is_direct: bool,
    /// The name of the server is sent before the encryption (SNI).
    pub names_server: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Tls {
            need: Need::Always,
            check: Check::Nothing,
            authorities: Authorities::System,
            revoked: Vec::new(),
            identity: None,
            versions: (Version::V12, Version::V13),
            is_direct: false,
            names_server: true,
        }
    }
}

/// Whether a connection may do without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Only where the server requires it.
    IfAsked,
    /// Where the server supports it.
    IfThere,
    Always,
}

/// Which parts of the server's certificate are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Nothing: nobody can listen, but anybody may be the server.
    Nothing,
    /// That an authority has signed it.
    Authority,
    /// That it is also for the host that was named.
    Host,
}

/// The trusted authorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorities {
    /// Those that the operating system trusts.
    System,
    /// The certificates of a PEM file.
    File(PathBuf),
}

/// PEM files of a client's certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The implemented versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V12,
    V13,
}

/// Application protocol of a direct connection to Postgres, which its server requires.
const ALPN: &[u8] = b"postgresql";

/// An encrypted TCP connection.
pub(crate) struct Encrypted {
    stream: StreamOwned<ClientConnection, TcpStream>,
    host: String,
}

impl Encrypted {
    /// Performs the handshake.
    pub(crate) fn begin(
        socket: OwnedFd,
        host: &str,
        tls: &Tls,
        waits: &Waits,
    ) -> Result<Self, Error> {
        let failed = |reason: String| Error::Tls { host: host.to_string(), reason };
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| failed("no certificate can be for a host of that name".to_string()))?;
        let config = config(tls, host).map_err(failed)?;
        let session = ClientConnection::new(Arc::new(config), name);
        let session = session.map_err(|error| failed(error.to_string()))?;
        let mut stream = StreamOwned::new(session, TcpStream::from(socket));
        shake_hands(&mut stream, waits, &failed)?;
        Ok(Encrypted { stream, host: host.to_string() })
    }

    pub(crate) fn transport(&self) -> &'static str {
        match self.stream.conn.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "tcp with TLS 1.2",
            Some(ProtocolVersion::TLSv1_3) => "tcp with TLS 1.3",
            _ => "tcp with TLS",
        }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.stream.sock
    }

    /// The certificate of the server.
    pub(crate) fn certificate(&self) -> Option<&CertificateDer<'_>> {
        self.stream.conn.peer_certificates().and_then(|chain| chain.first())
    }

    pub(crate) fn send(&mut self, mut bytes: &[u8], waits: &Waits) -> Result<(), Error> {
        let mut silences = 0;
        loop {
            // Written data are kept when the socket has no room for them; flushing sends them then.
            let step = match bytes.is_empty() {
                false => self.stream.write(bytes).map(|sent| bytes = &bytes[sent..]),
                true => match self.stream.flush() {
                    Ok(()) => return Ok(()),
                    Err(error) => Err(error),
                },
            };
            match step {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    waits.after_silence(&mut silences)?;
                }
                Err(error) => return Err(self.lost(error)),
                Ok(()) => {}
            }
        }
    }

    /// Returns the number of bytes; 0 at the end of the stream.
    pub(crate) fn receive(&mut self, room: &mut [u8], waits: &Waits) -> Result<usize, Error> {
        let mut silences = 0;
        loop {
            match self.stream.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    waits.after_silence(&mut silences)?;
                }
                // A server that crashes does not close the TLS session.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(self.lost(error)),
                Ok(received) => return Ok(received),
            }
        }
    }

    #[cold]
    fn lost(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Error::Closed,
            // A server rejects the client's certificate only after the handshake.
            _ if rustls_error(&error).is_some() => {
                Error::Tls { host: self.host.clone(), reason: told(&error) }
            }
            _ => Error::Io(error),
        }
    }
}

/// Step by step, so that neither a silent server nor one that sends a byte now and then can block
/// for ever.
fn shake_hands(
    stream: &mut StreamOwned<ClientConnection, TcpStream>,
    waits: &Waits,
    failed: &dyn Fn(String) -> Error,
) -> Result<(), Error> {
    let StreamOwned { conn, sock } = stream;
    let mut silences = 0;
    while conn.is_handshaking() || conn.wants_write() {
        waits.in_time()?;
        let step = match conn.wants_write() {
            true => conn.write_tls(sock).map(drop),
            false => match conn.read_tls(sock) {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => conn.process_new_packets().map(drop).map_err(|error| {
                    // Tells the server why; it may have ended.
                    let _ = conn.write_tls(sock);
                    io::Error::new(io::ErrorKind::InvalidData, error)
                }),
                Err(error) => Err(error),
            },
        };
        match step {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                waits.after_silence(&mut silences)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(told(&error))),
            Ok(()) => {}
        }
    }
    Ok(())
}

fn config(tls: &Tls, host: &str) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(tls, host, &provider)?;
    let known: [(Version, &SupportedProtocolVersion); 2] =
        [(Version::V12, &version::TLS12), (Version::V13, &version::TLS13)];
    let (least, most) = tls.versions;
    let versions: Vec<_> = known
        .into_iter()
        .filter(|(version, _)| (least..=most).contains(version))
        .map(|(_, version)| version)
        .collect();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(Identity { certificate, key }) => {
            let chain = certificates(certificate)?;
            let shown = certificate.display();
            builder
                .with_client_auth_cert(chain, private_key(key)?)
                .map_err(|error| format!("cannot use the client certificate '{shown}': {error}"))?
        }
    };
    config.enable_sni = tls.names_server;
    if tls.is_direct {
        config.alpn_protocols = vec![ALPN.to_vec()];
    }
    Ok(config)
}

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
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
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

fn rustls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>())
}

/// The reason for a failed handshake, for the user.
fn told(error: &io::Error) -> String {
    use AlertDescription as Alert;
    match rustls_error(error) {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(words))) => {
            format!("the server's certificate is not trusted: {words}")
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            "the server has not proven that its certificate is its own".to_string()
        }
        Some(rustls::Error::AlertReceived(alert)) => match alert {
            Alert::CertificateRequired => {
                "the server asks for a client certificate. Add sslcert and sslkey (Postgres) or ssl-cert \
                 and ssl-key (MySQL)"
            }
            Alert::UnknownCA | Alert::BadCertificate | Alert::DecryptError => {
                "the server does not trust the client's certificate"
            }
            Alert::CertificateExpired => "the client's certificate has expired",
            Alert::CertificateRevoked => "the client's certificate has been revoked",
            Alert::ProtocolVersion => "the server supports none of the requested TLS versions",
            Alert::HandshakeFailure => "the server has no cipher or certificate that rqps supports",
            Alert::NoApplicationProtocol => "the server does not accept direct TLS",
            _ => "the server broke off the handshake",
        }
        .to_string(),
        Some(rustls::Error::PeerIncompatible(_)) => {
            "the server has no TLS version or cipher that rqps supports (1.2 and 1.3)".to_string()
        }
        Some(rustls::Error::InvalidMessage(_)) => "the server's answer is not TLS".to_string(),
        Some(other) => other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection during the handshake".to_string()
        }
        None => error.to_string(),
    }
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
