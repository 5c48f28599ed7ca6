//! The account for connections over loopback.

use rqps_wire::{Connection, Error, Target};

use crate::LOOPBACK_USER;
use crate::error::DbmsError;

/// The host of an account's connections, since names are not resolved.
const LOOPBACK: &str = "127.0.0.1";

/// Accounts without a password that can use TCP, as the scripts of old versions create them (host
/// names and `localhost` are not resolved): for versions with a column `password`, and for the
/// others.
const OPEN: [&str; 2] = [
    "select user, host from mysql.user where host regexp '^[0-9a-f.:/%_]+$' \
     and password = '' and coalesce(authentication_string, '') = ''",
    "select user, host from mysql.user where host regexp '^[0-9a-f.:/%_]+$' \
     and coalesce(authentication_string, '') = ''",
];

/// Creates the account, or sets its password, and that of accounts without one. The superuser at
/// `localhost` has none: that is the socket.
pub(super) fn set_password(target: &Target, password: &str) -> Result<(), DbmsError> {
    let connection = &mut *target.connect()?;
    let account = quoted(LOOPBACK_USER, LOOPBACK);
    match connection.run(&format!("create user {account} identified by '{password}'")) {
        // The account exists already.
        Err(Error::Server { .. }) => change(connection, &account, password)?,
        made => drop(made?),
    }
    connection.run(&format!("grant all on *.* to {account} with grant option"))?;
    let mut answers = OPEN.iter().map(|sql| connection.query(sql));
    let open = answers.next().expect("there are two").or_else(|error| match answers.next() {
        Some(answer) => answer,
        None => Err(error),
    })?;
    drop(answers);
    for row in open {
        let mut names = row.into_iter().map(Option::unwrap_or_default);
        let account = quoted(&names.next().unwrap_or_default(), &names.next().unwrap_or_default());
        change(connection, &account, password)?;
    }
    Ok(())
}

/// Sets the password of an account, in the syntax of new versions, or of old ones.
fn change(connection: &mut dyn Connection, account: &str, password: &str) -> Result<(), Error> {
    let new = format!("alter user {account} identified by '{password}'");
    let old = format!("set password for {account} = password('{password}')");
    connection.run(&new).or_else(|_| connection.run(&old)).map(drop)
}

fn quoted(user: &str, host: &str) -> String {
    let quote = |text: &str| format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"));
    format!("{}@{}", quote(user), quote(host))
}
