//! TLS over TCP: the encrypted stream.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, ProtocolVersion,
    StreamOwned, SupportedProtocolVersion, version,
};

use crate::certificate::Verifier;
use crate::error::Error;
use crate::patience::Waits;
use crate::pem::{certificates, private_key};
use crate::tls_parameters::{Identity, Tls, Version};

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
