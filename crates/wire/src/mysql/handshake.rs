//! Logging in: mysql_native_password, caching_sha2_password, MariaDB's ed25519 and unix_socket, and
//! whatever else `mysql_common` knows.

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
use crate::socket::Socket;
use crate::tls::{Need, Tls, read};

/// Bytes of a challenge of MySQL's plugins.
const SCRAMBLE: usize = 20;

/// What the client can do; what the server cannot is left out.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_CONNECT_WITH_DB)
    // A server that asks for a file gets the rows that are being loaded, and otherwise nothing.
    .union(CapabilityFlags::CLIENT_LOCAL_FILES)
    .union(CapabilityFlags::CLIENT_DEPRECATE_EOF);

/// The largest payload that the client says it takes: the most that the protocol has.
const MAX_PAYLOAD: u32 = 1 << 30;

/// What to do where a password would be encrypted with a key from nobody knows whom.
const NO_KEY: &str = "the server asks for the whole password, and the connection is not encrypted: \
    add ssl-mode=VERIFY_IDENTITY (or REQUIRED), or server-public-key-path=FILE with the server's \
    public key, or allow-public-key-retrieval=true if nobody can be between";

/// Plugins that ask the operating system who the client is, and the client for nothing.
const ASKS_NOTHING: [&[u8]; 2] = [b"unix_socket", b"auth_socket"];

/// What authentication plugins may ask.
struct Secrets<'a> {
    password: &'a [u8],
    is_unix_socket: bool,
    is_encrypted: bool,
    /// Of the plugin at hand: a server that asks for another one sends a new one with it.
    scramble: Vec<u8>,
    /// What encrypts the password where nothing else does.
    server_key: Option<Vec<u8>>,
    /// The server may be asked for that key.
    asks_for_key: bool,
}

impl Secrets<'_> {
    /// Nobody on the way can read what is sent.
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
        // Whoever answers in a server's place can ask for these, too.
        let instead = match plugin {
            AuthPlugin::MysqlOldPassword => {
                Some("give the user another plugin, as caching_sha2_password")
            }
            AuthPlugin::MysqlClearPassword if !secrets.is_private() => {
                Some("add ssl-mode=VERIFY_IDENTITY (or REQUIRED)")
            }
            _ => None,
        };
        let name = String::from_utf8_lossy(plugin.as_bytes());
        if let Some(instead) = instead {
            let reason = format!("{name} would show the password to whoever listens: {instead}");
            return Err(refused(login, reason));
        }
        plugin.init().map(Exchange::Known).map_err(|_| {
            let reason = format!(
                "the server wants the plugin {name}, which rqps does not have: give the user \
                 another one, as caching_sha2_password"
            );
            refused(login, reason)
        })
    }

    /// The answer to a challenge; none if there is nothing to say.
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
                    // Whoever is between can answer with a key of his own, and read the password.
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

/// Logs in, encrypted where the address asks for it; answers the capabilities that both sides have,
/// too.
pub(super) fn log_in(login: &Login) -> Result<(Socket, CapabilityFlags), Error> {
    let Address::Tls { host, tls, .. } = &login.address else { return attempt(login, None) };
    match attempt(login, Some((host, tls))) {
        Err(first @ Error::Tls { .. }) if tls.need != Need::Always => {
            // The first refusal is the one to tell: it is of the way that is meant.
            let (mut socket, capabilities) = attempt(login, None).map_err(|other| match other {
                Error::Interrupted(_) => other,
                _ => first,
            })?;
            socket.do_without_tls();
            Ok((socket, capabilities))
        }
        result => result,
    }
}

fn attempt(
    login: &Login,
    tls: Option<(&String, &Tls)>,
) -> Result<(Socket, CapabilityFlags), Error> {
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
        // The server goes by the character set of the request, so it has to be the response's.
        let request = SslRequest::new(response.capabilities(), MAX_PAYLOAD, response.collation());
        send(&mut socket, &mut sequence, &request)?;
        socket = socket.encrypt(host, tls)?;
    }
    send(&mut socket, &mut sequence, &response)?;
    finish(&mut socket, login, secrets, exchange, sequence)?;
    socket.logged_in();
    Ok((socket, capabilities))
}

/// Whether a greeting tells a length of its salt that `mysql_common` can reckon with: it takes that
/// of 128 bytes and more for a negative number, and servers send 21.
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

/// Answers what the server asks until it lets us in.
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
            // The server wants another plugin.
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
