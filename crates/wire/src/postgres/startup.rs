//! Logging in: trust, clear-text, md5 and SCRAM-SHA-256.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::address::Config;
use super::from_fields;
use super::stream::Stream;
use crate::error::Error;

pub(super) fn log_in(stream: &mut Stream, config: &Config) -> Result<(), Error> {
    let mut out = BytesMut::new();
    let parameters = [
        ("user", config.user.as_str()),
        ("database", config.database.as_str()),
        ("application_name", "rqps"),
        ("client_encoding", "UTF8"),
    ];
    let own = config.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    frontend::startup_message(parameters.into_iter().chain(own), &mut out)?;
    stream.send(&out)?;
    authenticate(stream, config)?;
    // Parameters and the cancellation key follow; the first query may be sent after them.
    loop {
        match stream.next_decoded()? {
            Message::ReadyForQuery(_) => return Ok(()),
            Message::ErrorResponse(body) => return Err(refused(config, &from_fields(&body)?)),
            _ => {}
        }
    }
}

fn authenticate(stream: &mut Stream, config: &Config) -> Result<(), Error> {
    let mut scram: Option<ScramSha256> = None;
    let broken = |error: std::io::Error| Error::Login {
        user: config.user.clone(),
        reason: format!("SCRAM failed: {error}"),
    };
    loop {
        let mut out = BytesMut::new();
        match stream.next_decoded()? {
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password(config)?, &mut out)?;
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(config.user.as_bytes(), password(config)?, body.salt());
                frontend::password_message(hash.as_bytes(), &mut out)?;
            }
            Message::AuthenticationSasl(body) => {
                let mechanisms: Vec<&str> = body.mechanisms().collect().map_err(broken)?;
                if !mechanisms.contains(&SCRAM_SHA_256) {
                    let reason = format!("the server offers only {}", mechanisms.join(", "));
                    return Err(Error::Login { user: config.user.clone(), reason });
                }
                let client = ScramSha256::new(password(config)?, ChannelBinding::unsupported());
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
            Message::ErrorResponse(body) => return Err(refused(config, &from_fields(&body)?)),
            _ => {
                let reason = "the server asks for a method other than trust, password, md5 or \
                              scram-sha-256"
                    .to_string();
                return Err(Error::Login { user: config.user.clone(), reason });
            }
        }
        stream.send(&out)?;
    }
}

fn password(config: &Config) -> Result<&[u8], Error> {
    config.password.as_deref().map(str::as_bytes).ok_or_else(|| Error::Login {
        user: config.user.clone(),
        reason: "the server asks for a password: put it in the URL or in PGPASSWORD".to_string(),
    })
}

fn refused(config: &Config, error: &Error) -> Error {
    Error::Login { user: config.user.clone(), reason: error.to_string() }
}

fn out_of_order() -> Error {
    Error::Protocol("a SCRAM message before SCRAM began".to_string())
}
