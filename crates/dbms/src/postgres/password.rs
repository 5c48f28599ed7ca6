//! The password for connections over loopback.

use postgres_protocol::password::{md5, scram_sha_256};
use rqps_wire::{Target, scalar};

use super::names::SUPERUSER;
use crate::error::DbmsError;

/// Versions before 10 have no SCRAM.
const SCRAM_SINCE: u32 = 100_000;

/// Sets it in the hashed form of the server, so that the password itself is in no log.
pub(super) fn set_password(target: &Target, password: &str) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    let version = scalar(&mut *connection, "show server_version_num")?;
    let version: u32 = version.and_then(|number| number.parse().ok()).unwrap_or(SCRAM_SINCE);
    let kept = match version >= SCRAM_SINCE {
        true => scram_sha_256(password.as_bytes()),
        false => md5(password.as_bytes(), SUPERUSER),
    };
    connection.run(&format!("alter role {SUPERUSER} password '{kept}'"))?;
    Ok(())
}
