//! The account of those who come over loopback.

use rqps_wire::{Error, Target};

use crate::LOOPBACK_USER;
use crate::error::DbmsError;

/// Makes the account, or gives it this password. The superuser has none, and can only come by the socket.
pub(super) fn set_password(target: &Target, password: &str) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    // Whether a connection to 127.0.0.1 comes from `localhost` depends on how the server looks up names.
    for host in ["localhost", "127.0.0.1"] {
        let account = format!("'{LOOPBACK_USER}'@'{host}'");
        let made = connection.run(&format!("create user {account} identified by '{password}'"));
        match made {
            // It is there already, or this version spells it otherwise.
            Err(Error::Server { .. }) => {
                let change = format!("alter user {account} identified by '{password}'");
                let old = format!("set password for {account} = password('{password}')");
                connection.run(&change).or_else(|_| connection.run(&old))?;
            }
            made => drop(made?),
        }
        connection.run(&format!("grant all on *.* to {account} with grant option"))?;
    }
    Ok(())
}
