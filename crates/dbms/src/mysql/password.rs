//! The account of those who come over loopback.

use rqps_wire::{Connection, Error, Target};

use crate::LOOPBACK_USER;
use crate::error::DbmsError;

/// Where an account's connections come from, names not being looked up.
const LOOPBACK: &str = "127.0.0.1";

/// Accounts without a password that do not come by the socket alone, as the scripts of old versions
/// make them (names of hosts and `localhost` are not looked up): by versions that keep passwords in
/// a column of that name, and by the others.
const OPEN: [&str; 2] = [
    "select user, host from mysql.user where host regexp '^[0-9a-f.:/%_]+$' \
     and password = '' and coalesce(authentication_string, '') = ''",
    "select user, host from mysql.user where host regexp '^[0-9a-f.:/%_]+$' \
     and coalesce(authentication_string, '') = ''",
];

/// Makes the account, or gives it this password, which accounts without one get, too. The superuser
/// at `localhost` has none: that is the socket.
pub(super) fn set_password(target: &Target, password: &str) -> Result<(), DbmsError> {
    let connection = &mut *target.connect()?;
    let account = quoted(LOOPBACK_USER, LOOPBACK);
    match connection.run(&format!("create user {account} identified by '{password}'")) {
        // It is there already.
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

/// Gives an account a password, as new versions spell it, or old ones.
fn change(connection: &mut dyn Connection, account: &str, password: &str) -> Result<(), Error> {
    let new = format!("alter user {account} identified by '{password}'");
    let old = format!("set password for {account} = password('{password}')");
    connection.run(&new).or_else(|_| connection.run(&old)).map(drop)
}

fn quoted(user: &str, host: &str) -> String {
    let quote = |text: &str| format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"));
    format!("{}@{}", quote(user), quote(host))
}
