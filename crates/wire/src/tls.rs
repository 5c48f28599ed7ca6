//! TLS over TCP: whom to trust, and a stream that is encrypted.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, ProtocolVersion,
    RootCertStore, SignatureScheme, StreamOwned,
};

use crate::error::Error;
use crate::patience::wait_on;

/// How an encrypted connection is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    pub check: Check,
    /// A PEM file with the authorities to trust; the system's unless one is named.
    pub authorities: Option<PathBuf>,
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

/// A TCP connection that is encrypted.
pub(crate) struct Encrypted(StreamOwned<ClientConnection, TcpStream>);

impl Encrypted {
    /// Shakes hands.
    pub(crate) fn begin(socket: OwnedFd, host: &str, tls: &Tls) -> Result<Self, Error> {
        let failed = |reason: String| Error::Tls { host: host.to_string(), reason };
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::new(tls, &provider).map_err(failed)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_string());
        let name = name.map_err(|error| failed(error.to_string()))?;
        let session = ClientConnection::new(Arc::new(config), name);
        let session = session.map_err(|error| failed(error.to_string()))?;
        let mut stream = StreamOwned::new(session, TcpStream::from(socket));
        while stream.conn.is_handshaking() {
            match stream.conn.complete_io(&mut stream.sock) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_on()?,
                Err(error) => return Err(failed(told(&error))),
                Ok(_) => {}
            }
        }
        Ok(Encrypted(stream))
    }

    pub(crate) fn transport(&self) -> &'static str {
        match self.0.conn.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "tcp with TLS 1.2",
            Some(ProtocolVersion::TLSv1_3) => "tcp with TLS 1.3",
            _ => "tcp with TLS",
        }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.0.sock
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let sent = self.0.write_all(bytes).and_then(|()| self.0.flush());
        sent.map_err(lost)
    }

    /// Answers how many bytes there were; 0 at the end of the stream.
    pub(crate) fn receive(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        loop {
            match self.0.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_on()?,
                // Servers that die do not take their leave.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                result => return result.map_err(lost),
            }
        }
    }
}

fn lost(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Error::Closed,
        _ => Error::Io(error),
    }
}

/// What a failed handshake means for the person who asked for it.
fn told(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(reason)) => {
            let why = match reason {
                // The signature is bad where an authority of the same name is trusted, as that of
                // every MySQL server is called.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    "no trusted authority has signed it".to_string()
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => {
                    "it is for another host".to_string()
                }
                other => other.to_string(),
            };
            format!("the server's certificate is not to be trusted: {why}")
        }
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}

/// Checks as much of a certificate as is asked for.
#[derive(Debug)]
struct Verifier {
    /// None where every certificate will do.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    check: Check,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn new(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let Tls { check, authorities } = tls;
        let provider = provider.clone();
        if *check == Check::Nothing {
            return Ok(Verifier { authorities: None, check: *check, provider });
        }
        let mut roots = RootCertStore::empty();
        match authorities {
            Some(file) => {
                let unreadable = |error| format!("'{}' cannot be read: {error}", file.display());
                let found =
                    CertificateDer::pem_file_iter(file).map_err(|e| unreadable(e.to_string()))?;
                for certificate in found {
                    let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                    roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(unreadable("there is no certificate in it".to_string()));
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let built =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let authorities = Some(built.map_err(|error| error.to_string())?);
        Ok(Verifier { authorities, check: *check, provider })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            authorities.verify_server_cert(certificate, intermediates, host, ocsp_response, now);
        match verified {
            // The name is looked at last, when everything else is in order.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.check == Check::Authority => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
