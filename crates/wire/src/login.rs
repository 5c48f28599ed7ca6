//! Where to connect and as whom: from parts or from a URL.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

use crate::address::Address;
use crate::error::Error;
use crate::tls::{Check, Tls};

/// Everything a connection needs. Debug output leaves the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    /// Settings of the session, such as `search_path`.
    pub parameters: Vec<(String, String)>,
    /// Statements that every connection runs after it has logged in, before it is handed out.
    pub setup: Vec<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.user, self.address, self.database)
    }
}

/// How the URLs of a protocol read, and the environment variables that fill their gaps.
pub(crate) struct Scheme {
    pub(crate) port: u16,
    pub(crate) user: &'static str,
    pub(crate) password: &'static str,
    /// The parameter that names a Unix socket, and the file of the socket for its value and a port.
    pub(crate) socket: (&'static str, fn(&Path, u16) -> PathBuf),
    /// The parameter that asks for TLS, and what of a certificate each of its values has checked;
    /// nothing is encrypted with those that do not insist on it.
    pub(crate) tls: (&'static str, &'static [(&'static str, Option<Check>)]),
    /// The parameter that names a file with the authorities to trust.
    pub(crate) authorities: &'static str,
}

impl Login {
    /// Reads `scheme://[user[:password]@][host][:port][/database][?parameters]`. The user defaults
    /// to the protocol's environment variable or the operating system's user, the database to the
    /// user's name, the password to the environment.
    pub(crate) fn from_url(text: &str, scheme: &Scheme) -> Result<Self, Error> {
        let url = Url::parse(text).map_err(|error| unreadable(text, error))?;
        let wrong = |reason: String| Error::Address { url: without_secrets(&url), reason };
        let (mut socket, mut check, mut authorities) = (None, None, None);
        let (tls, modes) = scheme.tls;
        for (key, value) in url.query_pairs() {
            if key == scheme.socket.0 && value.starts_with('/') {
                socket = Some(PathBuf::from(value.as_ref()));
            } else if key == scheme.authorities {
                authorities = Some(PathBuf::from(value.as_ref()));
            } else if key == tls {
                let mode = modes.iter().find(|(name, _)| name.eq_ignore_ascii_case(&value));
                let known = || modes.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                let unknown = || wrong(format!("there is no {tls} '{value}', but {}", known()));
                check = mode.ok_or_else(unknown)?.1;
            } else {
                return Err(wrong(format!("parameter '{key}' is not known")));
            }
        }
        if authorities.is_some() && check.is_none() {
            let name = scheme.authorities;
            return Err(wrong(format!("{name} is of no use without a {tls} that encrypts")));
        }
        // Who names authorities wants them to be asked.
        let least = if authorities.is_some() { Check::Authority } else { Check::Nothing };
        let tls = check.map(|check| Tls { check: check.max(least), authorities });
        let port = url.port().unwrap_or(scheme.port);
        let host = url.host_str().map(decoded).unwrap_or_default();
        if Path::new(&host).is_absolute() {
            socket = Some(PathBuf::from(&host));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { "localhost" } else { host }.to_string();
        let address = match (socket, tls) {
            (Some(_), Some(_)) => {
                return Err(wrong("nothing is encrypted on a Unix socket".to_string()));
            }
            (Some(socket), None) => Address::Unix { path: (scheme.socket.1)(&socket, port) },
            (None, Some(tls)) => Address::Tls { host, port, tls },
            (None, None) => Address::Tcp { host, port },
        };
        let from_environment = |name: &str| std::env::var(name).ok();
        let user = match url.username() {
            "" => from_environment(scheme.user).or_else(|| from_environment("USER")),
            user => Some(decoded(user)),
        };
        let user = user.filter(|user| !user.is_empty());
        let user = user.ok_or_else(|| wrong("it names no user".to_string()))?;
        let database = match decoded(url.path().trim_start_matches('/')) {
            database if database.is_empty() => user.clone(),
            database => database,
        };
        let password = url.password().map(decoded).or_else(|| from_environment(scheme.password));
        Ok(Login { address, user, password, database, parameters: Vec::new(), setup: Vec::new() })
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Without the password, and without parameters: somebody may have put it there.
fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    if url.password().is_some() {
        // Fails only for URLs that cannot have a password.
        let _ = url.set_password(Some("***"));
    }
    url.to_string()
}

/// Where the password of such a URL begins and ends nobody knows, so none of it is shown.
fn unreadable(text: &str, error: url::ParseError) -> Error {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    let reason = format!("{error} (in a name or password / ? # @ : % are %2F %3F %23 %40 %3A %25)");
    Error::Address { url: format!("{scheme}://…"), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mysql, postgres};

    #[test]
    fn a_url_gives_every_part() {
        let login = postgres::login("postgres://ann:s%40cret@db.example:6543/bench").unwrap();
        let host = "db.example".to_string();
        assert_eq!(login.address, Address::Tcp { host, port: 6543 });
        assert_eq!((login.user.as_str(), login.database.as_str()), ("ann", "bench"));
        assert_eq!(login.password.as_deref(), Some("s@cret"));
    }

    #[test]
    fn a_unix_socket_can_be_named() {
        for (login, file) in [
            (postgres::login("postgres://ann@localhost/b?host=/run/pg"), "/run/pg/.s.PGSQL.5432"),
            (postgres::login("postgres://ann@%2Frun%2Fpg/b"), "/run/pg/.s.PGSQL.5432"),
            (mysql::login("mysql://ann@localhost/b?socket=/run/my.sock"), "/run/my.sock"),
        ] {
            assert_eq!(login.unwrap().address, Address::Unix { path: file.into() });
        }
    }

    #[test]
    fn every_protocol_has_its_port() {
        for (login, expected) in
            [(postgres::login("postgres://a@h"), 5432), (mysql::login("mariadb://a@h"), 3306)]
        {
            assert!(
                matches!(login.unwrap().address, Address::Tcp { port, .. } if port == expected)
            );
        }
    }

    #[test]
    fn the_database_is_the_users_unless_named() {
        assert_eq!(postgres::login("postgres://ann@host").unwrap().database, "ann");
    }

    #[test]
    fn what_is_not_understood_is_refused_without_showing_the_password() {
        for url in [
            "postgres://ann:hush@host/db?sslmode=maybe",
            "postgres://ann:hush@host/db?frob=1",
            "postgres://ann@host/db?password=hush",
            "postgres://ann:hu/hush@host/db",
            "postgres://ann:hush@host:99999/db",
        ] {
            let error = postgres::login(url).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn encryption_and_what_it_checks_are_asked_for_as_drivers_have_it() {
        use Check::{Authority, Host, Nothing};
        let postgres = |query: &str| postgres::login(&format!("postgres://a@db/b?{query}"));
        let mysql = |query: &str| mysql::login(&format!("mysql://a@db/b?{query}"));
        let file = Some(PathBuf::from("/ca.pem"));
        for (login, expected) in [
            (postgres("sslmode=disable"), None),
            (postgres("sslmode=prefer"), None),
            (postgres("sslmode=require"), Some((Nothing, None))),
            (postgres("sslmode=verify-full"), Some((Host, None))),
            (postgres("sslmode=require&sslrootcert=/ca.pem"), Some((Authority, file.clone()))),
            (postgres("sslrootcert=/ca.pem&sslmode=verify-full"), Some((Host, file.clone()))),
            (mysql("ssl-mode=DISABLED"), None),
            (mysql("ssl-mode=required"), Some((Nothing, None))),
            (mysql("ssl-mode=VERIFY_CA&ssl-ca=/ca.pem"), Some((Authority, file))),
            (mysql("ssl-mode=VERIFY_IDENTITY"), Some((Host, None))),
        ] {
            let found = match login.unwrap().address {
                Address::Tls { tls, .. } => Some((tls.check, tls.authorities)),
                _ => None,
            };
            assert_eq!(found, expected);
        }
        for (query, why) in [
            ("sslmode=maybe", "there is no sslmode 'maybe', but disable, allow, prefer, require"),
            ("sslrootcert=/ca.pem", "sslrootcert is of no use without a sslmode that encrypts"),
            ("sslmode=require&host=/run", "nothing is encrypted on a Unix socket"),
        ] {
            let error = postgres(query).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn debug_output_has_no_password() {
        let login = postgres::login("postgres://ann:hush@host/db").unwrap();
        assert!(!format!("{login:?}").contains("hush"));
    }
}
