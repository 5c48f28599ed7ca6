//! Logging in: trust, clear-text, md5 and SCRAM-SHA-256, over TLS where requested or available.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding as Binding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::from_fields;
use super::message::next_decoded;
use crate::address::Address;
use crate::certificate::end_point;
use crate::error::Error;
use crate::login::{ChannelBinding, Login};
use crate::socket::Socket;
use crate::tls_parameters::{Need, Tls};

/// The server has no entry for this kind of connection (pg_hba.conf).
const NOT_THIS_WAY: &str = "28000";

/// Logs in, trying the ways of the address in order.
pub(super) fn log_in(login: &Login) -> Result<(Socket, CancelKey), Error> {
    let Address::Tls { host, tls, .. } = &login.address else {
        return attempt(login, None).map_err(|error| refused(login, error));
    };
    let encrypted = Some((host.as_str(), tls));
    let (first, second) = match tls.need {
        Need::Always => {
            return attempt(login, encrypted).map_err(|error| refused(login, error));
        }
        Need::IfThere => (encrypted, None),
        Need::IfAsked => (None, encrypted),
    };
    let error = match attempt(login, first) {
        Err(error) if is_about_the_way(&error) => error,
        result => return result.map_err(|error| refused(login, error)),
    };
    // The first refusal is reported: it is that of the preferred way.
    let (mut socket, key) = attempt(login, second).map_err(|other| match other {
        Error::Interrupted(_) => other,
        _ => refused(login, error),
    })?;
    if second.is_none() {
        socket.do_without_tls();
    }
    Ok((socket, key))
}

/// What a server asks for before it ends a statement.
#[derive(Clone, Copy, Default)]
pub(super) struct CancelKey {
    process: i32,
    secret: i32,
    /// It came over TLS, so nobody else has seen it.
    is_private: bool,
}

/// Asks a server to end the statement of the connection with this key.
pub(super) fn cancel(login: &Login, key: CancelKey) -> Result<(), Error> {
    let login = login.to_cancel();
    let mut socket = Socket::connect(&login.address, login.terms.at, login.waits())?;
    if let Some((host, tls)) = encryption_of(key, &login) {
        socket = encrypt(socket, host, &tls)?;
    }
    let mut out = BytesMut::new();
    frontend::cancel_request(key.process, key.secret, &mut out);
    socket.send(&out)?;
    // The server has done what it can when it closes the connection.
    match socket.receive(1) {
        Ok(()) | Err(Error::Closed) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The TLS of a request with this key, which must not do without it if the key came over TLS: who
/// reads the key could end other statements.
fn encryption_of(key: CancelKey, login: &Login) -> Option<(&str, Tls)> {
    match &login.address {
        Address::Tls { host, tls, .. } if key.is_private => {
            Some((host, Tls { need: Need::Always, ..tls.clone() }))
        }
        _ => None,
    }
}

fn is_about_the_way(error: &Error) -> bool {
    match error {
        Error::Tls { .. } => true,
        Error::Server { code, .. } => code == NOT_THIS_WAY,
        _ => false,
    }
}

fn attempt(login: &Login, tls: Option<(&str, &Tls)>) -> Result<(Socket, CancelKey), Error> {
    let mut socket = Socket::connect(&login.address, login.terms.at, login.waits())?;
    if let Some((host, tls)) = tls {
        socket = encrypt(socket, host, tls)?;
    }
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
    let mut key = CancelKey::default();
    loop {
        socket.in_time()?;
        match next_decoded(&mut socket)? {
            Message::ReadyForQuery(_) => {
                socket.logged_in();
                return Ok((socket, key));
            }
            Message::BackendKeyData(body) => {
                let is_private = socket.encrypted().is_some();
                key =
                    CancelKey { process: body.process_id(), secret: body.secret_key(), is_private };
            }
            Message::ErrorResponse(body) => return Err(from_fields(&body)?),
            _ => {}
        }
    }
}

/// Asks the server for TLS, which it answers with one byte; a direct connection does not ask.
fn encrypt(mut socket: Socket, host: &str, tls: &Tls) -> Result<Socket, Error> {
    if tls.is_direct {
        return socket.encrypt(host, tls);
    }
    let mut out = BytesMut::new();
    frontend::ssl_request(&mut out);
    socket.send(&out)?;
    socket.receive(1)?;
    let refused =
        |reason: &str| Err(Error::Tls { host: host.to_string(), reason: reason.to_string() });
    match socket.take(1) {
        b"S" => socket.encrypt(host, tls),
        b"N" if tls.need != Need::Always => {
            socket.do_without_tls();
            Ok(socket)
        }
        b"N" => refused("the server has it switched off. Set ssl = on there"),
        b"E" => refused("the server does not support it"),
        _ => Err(Error::Protocol("the request for TLS was not understood".to_string())),
    }
}

/// The state of a login.
#[derive(Default)]
struct Exchange {
    scram: Option<ScramSha256>,
    /// SCRAM is bound to its TLS connection.
    is_bound: bool,
    /// The server has proved that it knows the password.
    is_proven: bool,
    /// The server has asked for something.
    is_asked: bool,
}

fn authenticate(socket: &mut Socket, login: &Login) -> Result<(), Error> {
    let mut exchange = Exchange::default();
    let broken = |error: std::io::Error| Error::Login {
        user: login.user.clone(),
        reason: format!("SCRAM failed: {error}"),
    };
    loop {
        socket.in_time()?;
        let mut out = BytesMut::new();
        match next_decoded(socket)? {
            Message::AuthenticationOk => return exchange.end(login),
            Message::AuthenticationCleartextPassword => {
                allow(login, "password")?;
                if !socket.is_private() {
                    return Err(unwilling(
                        login,
                        "the server asks for the password in clear text, and the connection is \
                         not encrypted. Add sslmode=verify-full (or require), or have the \
                         server ask for scram-sha-256 (pg_hba.conf)",
                    ));
                }
                frontend::password_message(password(login)?, &mut out)?;
            }
            Message::AuthenticationMd5Password(body) => {
                allow(login, "md5")?;
                let hash = md5_hash(login.user.as_bytes(), password(login)?, body.salt());
                frontend::password_message(hash.as_bytes(), &mut out)?;
            }
            Message::AuthenticationSasl(body) => {
                allow(login, "scram-sha-256")?;
                let mechanisms: Vec<&str> = body.mechanisms().collect().map_err(broken)?;
                exchange.begin(socket, login, &mechanisms, &mut out)?;
            }
            Message::AuthenticationSaslContinue(body) => {
                let client = exchange.scram.as_mut().ok_or_else(out_of_order)?;
                client.update(body.data()).map_err(broken)?;
                frontend::sasl_response(client.message(), &mut out)?;
            }
            // The server proves in turn that it knows the password.
            Message::AuthenticationSaslFinal(body) => {
                let client = exchange.scram.as_mut().ok_or_else(out_of_order)?;
                client.finish(body.data()).map_err(broken)?;
                exchange.is_proven = true;
            }
            Message::ErrorResponse(body) => return Err(from_fields(&body)?),
            _ => {
                return Err(unwilling(
                    login,
                    "the server asks for a method other than trust, password, md5 or \
                     scram-sha-256. Give the user one of these in pg_hba.conf",
                ));
            }
        }
        exchange.is_asked = true;
        socket.send(&out)?;
    }
}

impl Exchange {
    /// Begins SCRAM, bound to the TLS connection where both ends can (RFC 5802, section 6).
    fn begin(
        &mut self,
        socket: &Socket,
        login: &Login,
        mechanisms: &[&str],
        out: &mut BytesMut,
    ) -> Result<(), Error> {
        let wanted = login.terms.channel_binding;
        let end_point = socket
            .encrypted()
            .and_then(|encrypted| encrypted.certificate())
            .and_then(end_point)
            .filter(|_| wanted != ChannelBinding::Never);
        let has = |mechanism| mechanisms.contains(&mechanism);
        if has(SCRAM_SHA_256_PLUS) && socket.encrypted().is_none() {
            return Err(unwilling(
                login,
                "the server sees an encrypted connection, but this end is not encrypted: somebody \
                 is in between",
            ));
        }
        let (mechanism, binding) = match end_point {
            Some(hash) if has(SCRAM_SHA_256_PLUS) => {
                (SCRAM_SHA_256_PLUS, Binding::tls_server_end_point(hash))
            }
            _ if wanted == ChannelBinding::Always => {
                let reason = "channel_binding=require, but the server offers no SCRAM that is \
                              bound to TLS. Postgres 11 and later offer it to users whose \
                              password is stored as scram-sha-256";
                return Err(unwilling(login, reason));
            }
            // Tells the server that binding is possible, so that a hidden offer is detected.
            Some(_) => (SCRAM_SHA_256, Binding::unrequested()),
            None => (SCRAM_SHA_256, Binding::unsupported()),
        };
        if !has(mechanism) {
            let offered = mechanisms.join(", ");
            return Err(unwilling(login, &format!("the server offers only {offered}")));
        }
        let client = ScramSha256::new(password(login)?, binding);
        frontend::sasl_initial_response(mechanism, client.message(), out)?;
        self.is_bound = mechanism == SCRAM_SHA_256_PLUS;
        self.is_proven = false;
        self.scram = Some(client);
        Ok(())
    }

    /// Checks whether this kind of login is allowed.
    fn end(&self, login: &Login) -> Result<(), Error> {
        if !self.is_asked {
            allow(login, "none")?;
        }
        // Somebody in the server's place without the password would accept every login.
        if self.scram.is_some() && !self.is_proven {
            return Err(unwilling(
                login,
                "the server allowed the login without proving that it knows the password: it may be \
                 another server",
            ));
        }
        if login.terms.channel_binding == ChannelBinding::Always && !self.is_bound {
            return Err(no_binding(login));
        }
        Ok(())
    }
}

/// Whether a method that the server asks for is allowed.
fn allow(login: &Login, method: &str) -> Result<(), Error> {
    if let Some(methods) = &login.terms.methods
        && !methods.contains(&method)
    {
        let asked = match method {
            "none" => "the server asks for nothing".to_string(),
            _ => format!("the server asks for {method}"),
        };
        let wanted = methods.join(", ");
        return Err(unwilling(login, &format!("{asked}, but require_auth allows only {wanted}")));
    }
    match login.terms.channel_binding {
        ChannelBinding::Always if method != "scram-sha-256" => Err(no_binding(login)),
        _ => Ok(()),
    }
}

fn no_binding(login: &Login) -> Error {
    unwilling(
        login,
        "channel_binding=require, but the server does not ask for SCRAM. Give the user \
         scram-sha-256 in pg_hba.conf",
    )
}

fn unwilling(login: &Login, reason: &str) -> Error {
    Error::Login { user: login.user.clone(), reason: reason.to_string() }
}

fn password(login: &Login) -> Result<&[u8], Error> {
    login.password.as_deref().map(str::as_bytes).ok_or_else(|| {
        unwilling(
            login,
            "the server asks for a password. Put it in PGPASSWORD, ~/.pgpass or the URL",
        )
    })
}

/// The server's refusal of this user. A server that is starting or ending refuses every user.
fn refused(login: &Login, error: Error) -> Error {
    match error {
        Error::Server { .. } if !error.is_disconnect() => {
            Error::Login { user: login.user.clone(), reason: error.to_string() }
        }
        other => other,
    }
}

fn out_of_order() -> Error {
    Error::Protocol("a SCRAM message before SCRAM began".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_came_over_tls_goes_back_over_tls_alone() {
        for mode in ["allow", "prefer", "require"] {
            let url = format!("postgres://user@db1/shop?sslmode={mode}");
            let login = crate::postgres::login(&url).unwrap();
            let needed = |is_private| {
                let key = CancelKey { is_private, ..CancelKey::default() };
                encryption_of(key, &login).map(|(host, tls)| (host.to_string(), tls.need))
            };
            assert_eq!(needed(true), Some(("db1".to_string(), Need::Always)), "{mode}");
            assert_eq!(needed(false), None, "{mode}");
        }
    }
}
