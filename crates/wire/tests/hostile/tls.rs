//! Hostile servers behind TLS. What is in clear text is honest, so that the client comes to what is
//! behind it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock};

use rqps_wire::{Address, Tls};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::conversation::{honest, in_clear};
use crate::server::{Answers, Protocol, ask};

/// Bytes with which a client asks for TLS.
const POSTGRES_REQUEST: usize = 8;
const MYSQL_REQUEST: usize = 36;

/// A certificate that nobody checks, and its key.
const IDENTITY: &[u8] = include_bytes!("identity.pem");

static CONFIG: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let certificate = CertificateDer::from_pem_slice(IDENTITY).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(IDENTITY).expect("its key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    Arc::new(config.expect("a config"))
});

thread_local! {
    /// A port for all conversations of a test, each of which is one connection: there are not as
    /// many ports as conversations, and one that was closed is not free for a minute.
    static LISTENER: TcpListener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
}

/// What a server does that has agreed to TLS.
#[derive(Clone, Copy)]
pub(crate) enum Handshake {
    /// It shakes hands, and says what it says behind that.
    Honest,
    /// It says what it says instead.
    Missing,
}

/// Has a client ask for TLS, log in and make every kind of call, with a server that says these
/// bytes after it has agreed to TLS.
pub(crate) fn converse(protocol: Protocol, handshake: Handshake, says: &[u8]) -> Answers {
    let listener = LISTENER.with(TcpListener::try_clone).expect("another descriptor");
    let port = listener.local_addr().expect("its number").port();
    let says = says.to_vec();
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the client connects");
        // A client that has had enough closes the connection, which ends all of this.
        let _ = speak(&stream, protocol, handshake, &says);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = io::copy(&mut &stream, &mut io::sink());
    });
    let tls = Tls::default();
    let answers = ask(protocol, Address::Tls { host: "127.0.0.1".to_string(), port, tls });
    server.join().expect("the server has no reason to panic");
    answers
}

/// Like a server that dies, it does not take its leave.
fn speak(
    mut stream: &TcpStream,
    protocol: Protocol,
    handshake: Handshake,
    says: &[u8],
) -> io::Result<()> {
    agree(stream, protocol)?;
    match handshake {
        Handshake::Honest => {
            let mut session = ServerConnection::new(CONFIG.clone()).map_err(io::Error::other)?;
            let mut tls = Stream::new(&mut session, &mut stream);
            // It shakes hands even if it has nothing to say.
            tls.flush()?;
            tls.write_all(says)
        }
        Handshake::Missing => {
            // Together with the answer before it the client would take it for clear text.
            stream.peek(&mut [0])?;
            stream.write_all(says)
        }
    }
}

/// Comes to the point at which both sides would shake hands.
fn agree(mut stream: &TcpStream, protocol: Protocol) -> io::Result<()> {
    stream.write_all(&honest(protocol)[..in_clear(protocol)].concat())?;
    match protocol {
        Protocol::Postgres => {
            stream.read_exact(&mut [0; POSTGRES_REQUEST])?;
            stream.write_all(b"S")
        }
        Protocol::Mysql => stream.read_exact(&mut [0; MYSQL_REQUEST]),
    }
}
