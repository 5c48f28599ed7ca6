//! Where a Postgres server listens and who connects: from parts or from a `postgres://` URL.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

use crate::error::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The directory that holds `.s.PGSQL.<port>`.
    Unix {
        directory: PathBuf,
        port: u16,
    },
    Tcp {
        host: String,
        port: u16,
    },
}

impl Address {
    pub(crate) fn transport(&self) -> &'static str {
        match self {
            Address::Unix { .. } => "unix socket",
            Address::Tcp { .. } => "tcp",
        }
    }

    /// The socket file of a Unix address.
    pub(super) fn socket_path(&self) -> PathBuf {
        match self {
            Address::Unix { directory, port } => directory.join(format!(".s.PGSQL.{port}")),
            Address::Tcp { .. } => PathBuf::new(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix { .. } => write!(f, "{}", self.socket_path().display()),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// Everything a connection needs. Debug output leaves the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    /// Settings of the session, such as `search_path`.
    pub parameters: Vec<(String, String)>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.user, self.address, self.database)
    }
}

impl Config {
    /// Reads `postgres://[user[:password]@][host][:port][/database][?host=/socket/directory]`. The
    /// user defaults to the operating system's, the database to the user's name, the password to
    /// `PGPASSWORD`.
    pub fn from_url(text: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Address { url: without_password(text), reason };
        let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        let mut directory = None;
        for (key, value) in url.query_pairs() {
            match key.as_ref() {
                "host" if value.starts_with('/') => directory = Some(PathBuf::from(value.as_ref())),
                "sslmode" if value == "disable" || value == "prefer" || value == "allow" => {}
                "sslmode" => {
                    return Err(wrong("TLS is not spoken yet: use sslmode=disable".into()));
                }
                other => return Err(wrong(format!("parameter '{other}' is not known"))),
            }
        }
        let port = url.port().unwrap_or(5432);
        let address = match (directory, url.host_str()) {
            (Some(directory), _) => Address::Unix { directory, port },
            (None, Some(host)) if !host.is_empty() => {
                let host = decoded(host);
                if Path::new(&host).is_absolute() {
                    Address::Unix { directory: host.into(), port }
                } else {
                    let host = host.trim_start_matches('[').trim_end_matches(']');
                    Address::Tcp { host: host.to_string(), port }
                }
            }
            _ => Address::Tcp { host: "localhost".to_string(), port },
        };
        let user = match url.username() {
            "" => std::env::var("PGUSER").or_else(|_| std::env::var("USER")).unwrap_or_default(),
            user => decoded(user),
        };
        if user.is_empty() {
            return Err(wrong("it names no user: write postgres://user@host/database".to_string()));
        }
        let database = match decoded(url.path().trim_start_matches('/')) {
            database if database.is_empty() => user.clone(),
            database => database,
        };
        let password = url.password().map(decoded).or_else(|| std::env::var("PGPASSWORD").ok());
        Ok(Config { address, user, password, database, parameters: Vec::new() })
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn without_password(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) if url.password().is_some() => {
            // Fails only for URLs that cannot have a password.
            let _ = url.set_password(Some("***"));
            url.to_string()
        }
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_every_part() {
        let config = Config::from_url("postgres://ann:s%40cret@db.example:6543/bench").unwrap();
        let host = "db.example".to_string();
        assert_eq!(config.address, Address::Tcp { host, port: 6543 });
        assert_eq!((config.user.as_str(), config.database.as_str()), ("ann", "bench"));
        assert_eq!(config.password.as_deref(), Some("s@cret"));
    }

    #[test]
    fn a_directory_means_a_unix_socket() {
        for url in
            ["postgres://ann@localhost/bench?host=/run/pg", "postgres://ann@%2Frun%2Fpg/bench"]
        {
            let config = Config::from_url(url).unwrap();
            let directory = PathBuf::from("/run/pg");
            assert_eq!(config.address, Address::Unix { directory, port: 5432 }, "{url}");
        }
    }

    #[test]
    fn the_database_is_the_users_unless_named() {
        assert_eq!(Config::from_url("postgres://ann@host").unwrap().database, "ann");
    }

    #[test]
    fn what_is_not_understood_is_refused_without_showing_the_password() {
        for url in ["postgres://ann:pw@host/db?sslmode=require", "postgres://ann:pw@host/db?frob=1"]
        {
            let error = Config::from_url(url).unwrap_err().to_string();
            assert!(!error.contains(":pw@"), "{error}");
        }
    }

    #[test]
    fn debug_output_has_no_password() {
        let config = Config::from_url("postgres://ann:hush@host/db").unwrap();
        assert!(!format!("{config:?}").contains("hush"));
    }
}
