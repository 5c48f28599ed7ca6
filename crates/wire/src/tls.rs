//! TLS over TCP: how it is asked for, and a stream that is encrypted.

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

/// How an encrypted connection is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    pub need: Need,
    pub check: Check,
    pub authorities: Authorities,
    /// PEM files with what authorities have revoked.
    pub revoked: Vec<PathBuf>,
    /// What the client shows of itself.
    pub identity: Option<Identity>,
    /// The oldest and the newest version that will do.
    pub versions: (Version, Version),
    /// The connection begins with TLS, without a word of the protocol before it.
    pub is_direct: bool,
    /// The name of the server goes over the wire before the encryption.
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
    /// Only where the server does not do without.
    IfAsked,
    /// Where the server has it.
    IfThere,
    Always,
}

/// What of the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Nothing: nobody can listen, but anybody may be the server.
    Nothing,
    /// That an authority has signed it.
    Authority,
    /// That it is also for the host that was named.
    Host,
}

/// Whom to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorities {
    /// Whom the operating system trusts.
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

/// The versions of TLS that there are implementations of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V12,
    V13,
}

/// Application protocol of a direct connection to Postgres, as its server wants it.
const ALPN: &[u8] = b"postgresql";

/// A TCP connection that is encrypted.
pub(crate) struct Encrypted {
    stream: StreamOwned<ClientConnection, TcpStream>,
    host: String,
}

impl Encrypted {
    /// Shakes hands.
    pub(crate) fn begin(
        socket: OwnedFd,
        host: &str,
        tls: &Tls,
        waits: &Waits,
    ) -> Result<Self, Error> {
        let failed = |reason: String| Error::Tls { host: host.to_string(), reason };
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| failed("a certificate cannot be for a host of that name".to_string()))?;
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

    /// The certificate that the server has shown.
    pub(crate) fn certificate(&self) -> Option<&CertificateDer<'_>> {
        self.stream.conn.peer_certificates().and_then(|chain| chain.first())
    }

    pub(crate) fn send(&mut self, mut bytes: &[u8], waits: &Waits) -> Result<(), Error> {
        let mut silences = 0;
        loop {
            // What was written is kept when the socket has no room for it: flushing sends it then.
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

    /// Answers how many bytes there were; 0 at the end of the stream.
    pub(crate) fn receive(&mut self, room: &mut [u8], waits: &Waits) -> Result<usize, Error> {
        let mut silences = 0;
        loop {
            match self.stream.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    waits.after_silence(&mut silences)?;
                }
                // Servers that die do not take their leave.
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
            // A server tells only after the handshake that it does not like the client's
            // certificate.
            _ if rustls_error(&error).is_some() => {
                Error::Tls { host: self.host.clone(), reason: told(&error) }
            }
            _ => Error::Io(error),
        }
    }
}

/// One step after the other, so that neither a silent server nor one that says a byte now and then
/// is waited for without an end.
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
                    // The server is to know why; it may have gone.
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
                .map_err(|error| format!("the client certificate '{shown}' does not do: {error}"))?
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

/// A key that only its owner may read; of root's, its group, too (libpq's rule).
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let shown = file.display();
    let found = file.metadata().map_err(|error| format!("'{shown}' cannot be read: {error}"))?;
    let open_to = match found.uid() {
        0 => found.mode() & 0o037,
        _ => found.mode() & 0o077,
    };
    if open_to != 0 {
        return Err(format!("others may read or change the key '{shown}': chmod 600 '{shown}'"));
    }
    let text = read(file)?;
    let is_encrypted = [&b"BEGIN ENCRYPTED"[..], b"Proc-Type: 4,ENCRYPTED"]
        .iter()
        .any(|mark| text.windows(mark.len()).any(|window| window == *mark));
    if is_encrypted {
        return Err(format!(
            "the key '{shown}' is encrypted, which rqps does not read: openssl pkey -in '{shown}' \
             -out FILE makes one that is not"
        ));
    }
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| format!("'{shown}' has no private key in PEM (-----BEGIN PRIVATE KEY)"))
}

fn rustls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>())
}

/// What a failed handshake means for the person who asked for it.
fn told(error: &io::Error) -> String {
    use AlertDescription as Alert;
    match rustls_error(error) {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(words))) => {
            format!("the server's certificate is not to be trusted: {words}")
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            "the server has not proven that its certificate is its own".to_string()
        }
        Some(rustls::Error::AlertReceived(alert)) => match alert {
            Alert::CertificateRequired => {
                "the server wants a client certificate (sslcert and sslkey; ssl-cert and ssl-key)"
            }
            Alert::UnknownCA | Alert::BadCertificate | Alert::DecryptError => {
                "the server does not trust the client's certificate"
            }
            Alert::CertificateExpired => "the client's certificate has expired",
            Alert::CertificateRevoked => "the client's certificate has been revoked",
            Alert::ProtocolVersion => "the server has no version of TLS that is asked for",
            Alert::HandshakeFailure => "the server has no cipher or certificate that rqps takes",
            Alert::NoApplicationProtocol => "the server does not begin with TLS",
            _ => "the server has broken the handshake off",
        }
        .to_string(),
        Some(rustls::Error::PeerIncompatible(_)) => {
            "the server has no version or cipher of TLS that rqps takes (1.2 and 1.3)".to_string()
        }
        Some(rustls::Error::InvalidMessage(_)) => "what the server says is not TLS".to_string(),
        Some(other) => other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection in the handshake".to_string()
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
