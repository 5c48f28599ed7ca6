//! Logging in: mysql_native_password, caching_sha2_password, MariaDB's ed25519 and unix_socket, and
//! the other plugins of `mysql_common`.

use std::io;

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::{MyDeserialize, MySerialize};

use super::packet::{HEAD, send_payload, whole_payload};
use super::server_error;
use crate::address::Address;
use crate::error::Error;
use crate::login::{Login, ServerKey};
use crate::pem::read;
use crate::socket::Socket;
use crate::tls_parameters::{Need, Tls};

/// Bytes of a challenge of MySQL's plugins.
const SCRAMBLE: usize = 20;

/// Capabilities of the client; those that the server lacks are removed.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_CONNECT_WITH_DB)
    // A server that asks for a file gets the rows of the current load, and otherwise nothing.
    .union(CapabilityFlags::CLIENT_LOCAL_FILES)
    .union(CapabilityFlags::CLIENT_DEPRECATE_EOF);

/// The largest payload that the client announces: the maximum of the protocol.
const MAX_PAYLOAD: u32 = 1 << 30;

/// What to do where a password would be encrypted with a key of unknown origin.
const NO_KEY: &str = "the server asks for the whole password, and the connection is not encrypted. \
    Add ssl-mode=VERIFY_IDENTITY (or REQUIRED), or server-public-key-path=FILE with the server's \
    public key, or allow-public-key-retrieval=true if nobody can be in between";

/// Plugins that identify the client by the operating system, without a message from the client.
const ASKS_NOTHING: [&[u8]; 2] = [b"unix_socket", b"auth_socket"];

/// What authentication plugins may ask for.
struct Secrets<'a> {
    password: &'a [u8],
    is_unix_socket: bool,
    is_encrypted: bool,
    /// The challenge of the current plugin; a server that switches plugins sends a new one.
    scramble: Vec<u8>,
    /// The key that encrypts the password on an unencrypted connection.
    server_key: Option<Vec<u8>>,
    /// The server may be asked for that key.
    asks_for_key: bool,
}

impl Secrets<'_> {
    /// Nobody in between can read what is sent.
    fn is_private(&self) -> bool {
        self.is_unix_socket || self.is_encrypted
    }
}

impl Context for &Secrets<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.is_unix_socket
    }

    fn is_tls_transport(&self) -> bool {
        self.is_encrypted
    }

    fn scramble(&self) -> &[u8] {
        &self.scramble
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        self.server_key.as_deref()
    }
}

/// A plugin in the middle of its exchange.
enum Exchange {
    AsksNothing,
    Known(AuthProc),
}

impl Exchange {
    fn begin(plugin: &AuthPlugin<'_>, secrets: &Secrets<'_>, login: &Login) -> Result<Self, Error> {
        if ASKS_NOTHING.contains(&plugin.as_bytes()) {
            return Ok(Exchange::AsksNothing);
        }
        // Somebody who answers in the server's place can ask for these, too.
        let instead = match plugin {
            AuthPlugin::MysqlOldPassword => {
                Some("Give the user another plugin, such as caching_sha2_password")
            }
            AuthPlugin::MysqlClearPassword if !secrets.is_private() => {
                Some("Add ssl-mode=VERIFY_IDENTITY (or REQUIRED)")
            }
            _ => None,
        };
        let name = String::from_utf8_lossy(plugin.as_bytes());
        if let Some(instead) = instead {
            let reason =
                format!("{name} would show the password to anybody who listens. {instead}");
            return Err(refused(login, reason));
        }
        plugin.init().map(Exchange::Known).map_err(|_| {
            let reason = format!(
                "the server asks for the plugin {name}, which rqps does not have. Give the user \
                 another one, such as caching_sha2_password"
            );
            refused(login, reason)
        })
    }

    /// The answer to a challenge; none if none is needed.
    fn answer(
        &mut self,
        challenge: &[u8],
        secrets: &Secrets<'_>,
        login: &Login,
    ) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Exchange::AsksNothing => Ok(Some(Vec::new())),
            Exchange::Known(plugin) => match plugin.run(secrets, challenge) {
                Ok(Response::Next { packet } | Response::Last { packet }) => {
                    // Somebody in between can answer with another key, and read the password.
                    let asks_for_key = matches!(
                        (plugin, packet.as_deref()),
                        (AuthProc::CachingSha2Password(_), Some([2]))
                            | (AuthProc::Sha256Password(_), Some([1]))
                    );
                    match asks_for_key && !secrets.is_private() && !secrets.asks_for_key {
                        true => Err(refused(login, NO_KEY.to_string())),
                        false => Ok(packet),
                    }
                }
                Err(error) => Err(refused(login, error.to_string())),
            },
        }
    }
}

/// A login that the server has accepted.
pub(super) struct MysqlSession {
    pub(super) socket: Socket,
    /// Those that both ends have.
    pub(super) capabilities: CapabilityFlags,
    /// The server's number of the connection.
    pub(super) id: u32,
}

/// Logs in, encrypted where the address asks for it.
pub(super) fn log_in(login: &Login) -> Result<MysqlSession, Error> {
    let Address::Tls { host, tls, .. } = &login.address else { return attempt(login, None) };
    match attempt(login, Some((host, tls))) {
        Err(first @ Error::Tls { .. }) if tls.need != Need::Always => {
            // The first refusal is reported: it is that of the preferred way.
            let mut session = attempt(login, None).map_err(|other| match other {
                Error::Interrupted(_) => other,
                _ => first,
            })?;
            session.socket.do_without_tls();
            Ok(session)
        }
        result => result,
    }
}

fn attempt(login: &Login, tls: Option<(&String, &Tls)>) -> Result<MysqlSession, Error> {
    let mut socket = Socket::connect(&login.address, login.terms.at, login.waits())?;
    let (mut sequence, mut payload) = (0, Vec::new());
    whole_payload(&mut socket, &mut sequence, &mut payload)?;
    if payload.first() == Some(&0xff) {
        return Err(refused(login, server_error(&payload).to_string()));
    }
    let handshake = match is_readable(&payload) {
        true => HandshakePacket::deserialize((), &mut ParseBuf(&payload)),
        false => Err(io::ErrorKind::InvalidData.into()),
    };
    let handshake = handshake
        .map_err(|error| Error::Protocol(format!("a greeting that cannot be read: {error}")))?;
    let mut capabilities = WANTED & handshake.capabilities();
    let has_tls = handshake.capabilities().contains(CapabilityFlags::CLIENT_SSL);
    let tls = match tls {
        Some((host, tls)) if !has_tls && tls.need == Need::Always => {
            let reason = "the server has it switched off".to_string();
            return Err(Error::Tls { host: host.clone(), reason });
        }
        Some(_) if !has_tls => {
            socket.do_without_tls();
            None
        }
        tls => tls,
    };
    if tls.is_some() {
        capabilities |= CapabilityFlags::CLIENT_SSL;
    }
    let server_key = match &login.terms.server_key {
        ServerKey::File(file) => Some(read(file).map_err(|reason| refused(login, reason))?),
        ServerKey::AsTold | ServerKey::Unknown => None,
    };
    let secrets = Secrets {
        password: login.password.as_deref().unwrap_or_default().as_bytes(),
        is_unix_socket: matches!(login.address, Address::Unix { .. }),
        is_encrypted: tls.is_some(),
        scramble: handshake.nonce(),
        server_key,
        asks_for_key: login.terms.server_key == ServerKey::AsTold,
    };
    let native = AuthPlugin::MysqlNativePassword;
    let plugin = handshake.auth_plugin().unwrap_or(native).into_owned();
    let mut exchange = Exchange::begin(&plugin, &secrets, login)?;
    let answer = exchange.answer(&secrets.scramble, &secrets, login)?;
    let version = handshake.server_version_parsed().unwrap_or((5, 5, 3));
    let response = HandshakeResponse::new(
        answer,
        version,
        Some(login.user.as_bytes()),
        Some(login.database.as_bytes()).filter(|database| !database.is_empty()),
        Some(plugin),
        capabilities,
        None,
        MAX_PAYLOAD,
    );
    if let Some((host, tls)) = tls {
        // The server uses the character set of the TLS request, so it must be that of the response.
        let request = SslRequest::new(response.capabilities(), MAX_PAYLOAD, response.collation());
        send(&mut socket, &mut sequence, &request)?;
        socket = socket.encrypt(host, tls)?;
    }
    send(&mut socket, &mut sequence, &response)?;
    finish(&mut socket, login, secrets, exchange, sequence)?;
    socket.logged_in();
    Ok(MysqlSession { socket, capabilities, id: handshake.connection_id() })
}

/// Whether the length of the salt in a greeting is one that `mysql_common` can handle: it reads 128
/// and more as a negative number, and servers send 21.
fn is_readable(greeting: &[u8]) -> bool {
    /// Between the server's version and the length: number, salt, capabilities and the like.
    const BEFORE: usize = 20;
    let version = greeting.iter().position(|byte| *byte == 0);
    let length = version.and_then(|end| greeting.get(end + 1 + BEFORE));
    length.is_none_or(|length| *length < 128)
}

fn send(socket: &mut Socket, sequence: &mut u8, payload: &impl MySerialize) -> Result<(), Error> {
    let mut message = vec![0; HEAD];
    payload.serialize(&mut message);
    send_payload(socket, sequence, &mut message)
}

/// Answers the server's requests until the login succeeds.
fn finish(
    socket: &mut Socket,
    login: &Login,
    mut secrets: Secrets<'_>,
    mut exchange: Exchange,
    mut sequence: u8,
) -> Result<(), Error> {
    let mut payload = Vec::new();
    loop {
        socket.in_time()?;
        whole_payload(socket, &mut sequence, &mut payload)?;
        let answer = match payload.split_first() {
            Some((0x00, _)) => return Ok(()),
            Some((0xff, _)) => return Err(refused(login, server_error(&payload).to_string())),
            // The server switches to another plugin.
            Some((0xfe, request)) if !request.is_empty() => {
                let name_end = request.iter().position(|byte| *byte == 0).unwrap_or(request.len());
                let plugin = AuthPlugin::from_bytes(&request[..name_end]);
                exchange = Exchange::begin(&plugin, &secrets, login)?;
                let challenge = scramble(request.get(name_end + 1..).unwrap_or_default());
                secrets.scramble = challenge.to_vec();
                exchange.answer(challenge, &secrets, login)?
            }
            Some((0x01, more)) => exchange.answer(more, &secrets, login)?,
            _ => return Err(Error::Protocol("an unknown message during login".to_string())),
        };
        if let Some(answer) = answer {
            let mut message = vec![0; HEAD];
            message.extend_from_slice(&answer);
            send_payload(socket, &mut sequence, &mut message)?;
        }
    }
}

fn refused(login: &Login, reason: String) -> Error {
    Error::Login { user: login.user.clone(), reason }
}

/// The challenge for another plugin. MySQL's is sent as a C string. MariaDB's nonce for ed25519 is
/// not, and one of 256 ends with a zero of its own.
fn scramble(sent: &[u8]) -> &[u8] {
    match sent {
        [scramble @ .., 0] if scramble.len() == SCRAMBLE => scramble,
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_string_loses_the_zero_behind_it() {
        let string = [&[7; SCRAMBLE][..], &[0]].concat();
        assert_eq!(scramble(&string), [7; SCRAMBLE]);
        let nonce = [&[7; 31][..], &[0]].concat();
        assert_eq!(scramble(&nonce), nonce);
        assert_eq!(scramble(&[]), [0; 0]);
    }
}
