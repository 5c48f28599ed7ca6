//! Logging in: trust, clear-text, md5 and SCRAM-SHA-256.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::from_fields;
use super::message::next_decoded;
use crate::address::Address;
use crate::error::Error;
use crate::login::Login;
use crate::socket::Socket;
use crate::tls::Tls;

/// Logs in, encrypted where the address asks for it.
pub(super) fn log_in(socket: Socket, login: &Login) -> Result<Socket, Error> {
    let mut socket = match &login.address {
        Address::Tls { host, tls, .. } => encrypt(socket, host, tls)?,
        _ => socket,
    };
    let mut out = BytesMut::new();
    let parameters = [
        ("user", login.user.as_str()),
        ("database", login.database.as_str()),
        ("application_name", "rqps"),
        ("client_encoding", "UTF8"),
    ];
    let own = login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    frontend::startup_message(parameters.into_iter().chain(own), &mut out)?;
    socket.send(&out)?;
    authenticate(&mut socket, login)?;
    // Parameters and the cancellation key follow; the first query may be sent after them.
    loop {
        match next_decoded(&mut socket)? {
            Message::ReadyForQuery(_) => return Ok(socket),
            Message::ErrorResponse(body) => return Err(refused(login, from_fields(&body)?)),
            _ => {}
        }
    }
}

/// Asks the server for TLS, which it answers with one byte.
fn encrypt(mut socket: Socket, host: &str, tls: &Tls) -> Result<Socket, Error> {
    let mut out = BytesMut::new();
    frontend::ssl_request(&mut out);
    socket.send(&out)?;
    socket.receive(1)?;
    match socket.take(1) {
        b"S" => socket.encrypt(host, tls),
        b"N" => Err(Error::Tls {
            host: host.to_string(),
            reason: "the server has it switched off (ssl = on is its setting)".to_string(),
        }),
        _ => Err(Error::Protocol("the request for TLS was not understood".to_string())),
    }
}

fn authenticate(socket: &mut Socket, login: &Login) -> Result<(), Error> {
    let mut scram: Option<ScramSha256> = None;
    let broken = |error: std::io::Error| Error::Login {
        user: login.user.clone(),
        reason: format!("SCRAM failed: {error}"),
    };
    loop {
        let mut out = BytesMut::new();
        match next_decoded(socket)? {
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password(login)?, &mut out)?;
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(login.user.as_bytes(), password(login)?, body.salt());
                frontend::password_message(hash.as_bytes(), &mut out)?;
            }
            Message::AuthenticationSasl(body) => {
                let mechanisms: Vec<&str> = body.mechanisms().collect().map_err(broken)?;
                if !mechanisms.contains(&SCRAM_SHA_256) {
                    let reason = format!("the server offers only {}", mechanisms.join(", "));
                    return Err(Error::Login { user: login.user.clone(), reason });
                }
                let client = ScramSha256::new(password(login)?, ChannelBinding::unsupported());
                frontend::sasl_initial_response(SCRAM_SHA_256, client.message(), &mut out)?;
                scram = Some(client);
            }
            Message::AuthenticationSaslContinue(body) => {
                let client = scram.as_mut().ok_or_else(out_of_order)?;
                client.update(body.data()).map_err(broken)?;
                frontend::sasl_response(client.message(), &mut out)?;
            }
            // The server proves in turn that it knows the password.
            Message::AuthenticationSaslFinal(body) => {
                scram.as_mut().ok_or_else(out_of_order)?.finish(body.data()).map_err(broken)?;
            }
            Message::ErrorResponse(body) => return Err(refused(login, from_fields(&body)?)),
            _ => {
                let reason = "the server asks for a method other than trust, password, md5 or \
                              scram-sha-256"
                    .to_string();
                return Err(Error::Login { user: login.user.clone(), reason });
            }
        }
        socket.send(&out)?;
    }
}

fn password(login: &Login) -> Result<&[u8], Error> {
    login.password.as_deref().map(str::as_bytes).ok_or_else(|| Error::Login {
        user: login.user.clone(),
        reason: "the server asks for a password: put it in the URL or in PGPASSWORD".to_string(),
    })
}

/// What the server says against this user. One that is starting or ending says it to everybody.
fn refused(login: &Login, error: Error) -> Error {
    match error.is_disconnect() {
        true => error,
        false => Error::Login { user: login.user.clone(), reason: error.to_string() },
    }
}

fn out_of_order() -> Error {
    Error::Protocol("a SCRAM message before SCRAM began".to_string())
}
