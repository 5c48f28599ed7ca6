//! Parameters of a connection from a URL, option files and the environment, with the rules of the
//! clients of MySQL and MariaDB.

use std::path::{Path, PathBuf};

use rqps_system::Cancel;
use std::time::Duration;

use crate::address::Address;
use crate::error::Error;
use crate::login::{Login, ServerKey, Terms};
use crate::parameters::{Environment, Means, Parameter, Settings};
use crate::tls_parameters::{Authorities, Check, Identity, Need, Tls, Version};
use crate::url::{Parts, is_port};

use super::option_file;

const PORT: &str = "3306";

const NO_CIPHERS: &str = "rqps uses the ciphers that rustls allows. Remove it";
const NOT_COMPRESSED: &str = "rqps measures without compression. Remove it";

const TABLE: &[Parameter] = &[
    only("allow-public-key-retrieval", Means::Honoured),
    only("compress", Means::Only(&["0", "false", "off"], NOT_COMPRESSED)),
    only("compression-algorithms", Means::Only(&["uncompressed"], NOT_COMPRESSED)),
    only("connect-timeout", Means::Honoured),
    only("database", Means::Honoured),
    // The server decides which plugin a user has.
    only("default-auth", Means::Ignored),
    only("default-character-set", Means::Ignored),
    only("defaults-file", Means::Honoured),
    only(
        "defaults-group-suffix",
        Means::Refused("rqps reads the group [client] only. Put the options there"),
    ),
    // Always on over TLS and Unix sockets, and never elsewhere.
    only("enable-cleartext-plugin", Means::Ignored),
    only("get-server-public-key", Means::Honoured),
    said("host", "MYSQL_HOST", Means::Honoured),
    only("init-command", Means::Refused("all sessions must be alike. Set it on the server")),
    said("password", "MYSQL_PWD", Means::Honoured),
    only("plugin-dir", Means::Ignored),
    said("port", "MYSQL_TCP_PORT", Means::Honoured),
    only("protocol", Means::Honoured),
    only("server-public-key-path", Means::Honoured),
    said("socket", "MYSQL_UNIX_PORT", Means::Honoured),
    only("ssl", Means::Honoured),
    only("ssl-ca", Means::Honoured),
    only("ssl-capath", Means::Refused("name one file with ssl-ca")),
    only("ssl-cert", Means::Honoured),
    only("ssl-cipher", Means::Refused(NO_CIPHERS)),
    only("ssl-crl", Means::Honoured),
    only("ssl-crlpath", Means::Refused("name one file with ssl-crl")),
    only("ssl-fips-mode", Means::Only(&["OFF"], "rqps has no certified cryptography. Remove it")),
    only("ssl-key", Means::Honoured),
    only("ssl-mode", Means::Honoured),
    only("ssl-verify-server-cert", Means::Honoured),
    only("tls-ciphersuites", Means::Refused(NO_CIPHERS)),
    only("tls-version", Means::Honoured),
    said("user", "MYSQL_USER", Means::Honoured),
];

/// Names of other clients for the same.
const SYNONYMS: &[(&str, &str)] = &[
    ("useSSL", "ssl-mode=REQUIRED, or DISABLED"),
    ("requireSSL", "ssl-mode=REQUIRED"),
    ("verifyServerCertificate", "ssl-mode=VERIFY_CA"),
    ("tls", "ssl-mode"),
    ("sslrootcert", "ssl-ca"),
    ("serverSslCert", "ssl-ca"),
    ("trustCertificateKeyStoreUrl", "ssl-ca"),
    ("clientCertificateKeyStoreUrl", "ssl-cert and ssl-key"),
    ("serverRSAPublicKeyFile", "server-public-key-path"),
    ("serverPubKey", "server-public-key-path"),
    ("loginTimeout", "connect-timeout"),
    ("timeout", "connect-timeout"),
    ("unix_socket", "socket"),
    ("localSocket", "socket"),
    ("dbname", "database"),
    ("passwd", "password"),
    ("username", "user"),
];

const fn said(name: &'static str, variable: &'static str, means: Means) -> Parameter {
    Parameter { name, variable: Some(variable), means }
}

const fn only(name: &'static str, means: Means) -> Parameter {
    Parameter { name, variable: None, means }
}

pub(super) fn login(url: &str, environment: &Environment) -> Result<Login, Error> {
    let parts = Parts::read(url)?;
    let shown = parts.shown.clone();
    read(parts, environment).map_err(|reason| Error::Address { url: shown, reason })
}

fn read(parts: Parts, environment: &Environment) -> Result<Login, String> {
    let settings = gather(parts, environment)?;
    let user = settings.get("user").or_else(|| environment.user());
    let user = user.ok_or("it names no user. Write mysql://USER@HOST/DATABASE")?.to_string();
    let port = settings.get("port").unwrap_or(PORT);
    if !is_port(port) {
        return Err("its port is not a number from 1 to 65535".to_string());
    }
    let number = port.parse().map_err(|_| "its port is not a number".to_string())?;
    let address = match socket(&settings)? {
        Some(path) => Address::Unix { path },
        None => {
            let host = settings.get("host").unwrap_or("localhost").to_string();
            if host.contains(',') {
                return Err("it names several hosts, but rqps measures one server. Name one host"
                    .to_string());
            }
            match tls(&settings)? {
                Some(tls) => Address::Tls { host, port: number, tls },
                None => Address::Tcp { host, port: number },
            }
        }
    };
    Ok(Login {
        address,
        user,
        password: settings.get("password").map(str::to_string),
        database: settings.get("database").unwrap_or_default().to_string(),
        parameters: Vec::new(),
        setup: Vec::new(),
        terms: terms(&settings)?,
        cancel: Cancel::default(),
    })
}

/// All given values: URL, option files, environment.
fn gather(parts: Parts, environment: &Environment) -> Result<Settings, String> {
    let mut settings = Settings::new(TABLE, SYNONYMS);
    let own = [
        ("user", parts.user),
        ("password", parts.password),
        ("host", parts.host),
        ("port", parts.port),
        ("database", parts.database),
    ];
    for (name, value) in own {
        if let Some(value) = value {
            settings.say(name, value)?;
        }
    }
    for (name, value) in parts.parameters {
        settings.say(&name.replace('_', "-"), value)?;
    }
    let named = settings.get("defaults-file").map(PathBuf::from);
    if let Some(file) = named.or_else(|| environment.home_file(".my.cnf")) {
        // Of two values the last counts.
        for option in option_file::client(&file)?.iter().rev() {
            // Clients have many more options, which do not concern connections.
            if settings.is_known(&option.name) {
                let said = format!("{}: {}", option.at, option.name);
                settings.fill(&option.name, &option.value, &said)?;
            }
        }
    }
    settings.fill_from(environment)?;
    Ok(settings)
}

/// The Unix socket, if the host is reached through one: where one is named and the host is this
/// machine. A port in the URL means TCP.
fn socket(settings: &Settings) -> Result<Option<PathBuf>, String> {
    let host = settings.get("host");
    if let Some(path) = host.filter(|host| host.starts_with('/')) {
        return Ok(Some(path.into()));
    }
    let protocols =
        [("tcp", Some(false)), ("socket", Some(true)), ("pipe", None), ("memory", None)];
    let protocol = settings.choice("protocol", &protocols)?;
    if protocol == Some(None) {
        return Err("protocol must be tcp or socket on this operating system".to_string());
    }
    let path = settings.get("socket").filter(|path| Path::new(path).is_absolute());
    let is_meant = settings.is_of_url("socket")
        || !settings.is_of_url("port") && host.is_none_or(|host| host == "localhost");
    match (protocol.flatten(), path) {
        (Some(true), None) => Err("protocol=socket needs socket=/PATH".to_string()),
        (Some(false), _) | (None, None) => Ok(None),
        (Some(true), Some(path)) => Ok(Some(path.into())),
        (None, Some(path)) => Ok(is_meant.then(|| path.into())),
    }
}

fn terms(settings: &Settings) -> Result<Terms, String> {
    let limit = match settings.get("connect-timeout").map(|text| text.parse::<u32>()) {
        None => None,
        Some(Ok(0)) => Some(Duration::from_secs(u64::from(u32::MAX))),
        Some(Ok(seconds)) => Some(Duration::from_secs(u64::from(seconds))),
        Some(Err(_)) => return Err("connect-timeout is not a number of seconds".to_string()),
    };
    let is_as_told = settings.switch("allow-public-key-retrieval")?.unwrap_or(false)
        || settings.switch("get-server-public-key")?.unwrap_or(false);
    let server_key = match settings.get("server-public-key-path") {
        Some(file) => ServerKey::File(file.into()),
        None if is_as_told => ServerKey::AsTold,
        None => ServerKey::Unknown,
    };
    Ok(Terms { limit, server_key, ..Terms::default() })
}

/// The meaning of `ssl-mode` and MariaDB's older options; none without encryption.
fn tls(settings: &Settings) -> Result<Option<Tls>, String> {
    let modes = [
        ("DISABLED", None),
        ("PREFERRED", Some((Need::IfThere, Check::Nothing))),
        ("REQUIRED", Some((Need::Always, Check::Nothing))),
        ("VERIFY_CA", Some((Need::Always, Check::Authority))),
        ("VERIFY_IDENTITY", Some((Need::Always, Check::Host))),
    ];
    let authorities = settings.get("ssl-ca");
    let named = settings.choice("ssl-mode", &modes)?;
    let is_verified = settings.switch("ssl-verify-server-cert")?.unwrap_or(false);
    let mode = match (named, settings.switch("ssl")?) {
        (Some(mode), _) => mode,
        (None, Some(false)) => None,
        (None, _) if is_verified => Some((Need::Always, Check::Host)),
        // Naming authorities implies that they are checked.
        (None, _) if authorities.is_some() => Some((Need::Always, Check::Authority)),
        (None, Some(true)) => Some((Need::Always, Check::Nothing)),
        (None, None) => Some((Need::IfThere, Check::Nothing)),
    };
    if settings.is_of_url("ssl-ca") && !matches!(mode, Some((Need::Always, _))) {
        return Err(
            "ssl-ca has no effect unless ssl-mode is REQUIRED, VERIFY_CA or VERIFY_IDENTITY"
                .to_string(),
        );
    }
    let Some((need, check)) = mode else { return Ok(None) };
    let least = match (authorities, need) {
        (Some(_), Need::Always) => Check::Authority,
        _ => Check::Nothing,
    };
    let check = check.max(least);
    let authorities = match authorities {
        Some("system") => Authorities::System,
        Some(file) => Authorities::File(file.into()),
        None if check == Check::Nothing => Authorities::System,
        None => {
            return Err("no trusted authority is named. Add ssl-ca=FILE with the authority's \
                        certificate, or ssl-ca=system"
                .to_string());
        }
    };
    let identity = match (settings.get("ssl-cert"), settings.get("ssl-key")) {
        (None, None) => None,
        (Some(certificate), Some(key)) => {
            Some(Identity { certificate: certificate.into(), key: key.into() })
        }
        (Some(_), None) => {
            return Err("ssl-cert has no ssl-key. Name the file of the key".to_string());
        }
        (None, Some(_)) => {
            return Err("ssl-key has no ssl-cert. Name the file of the certificate".to_string());
        }
    };
    Ok(Some(Tls {
        need,
        check,
        authorities,
        revoked: settings.get("ssl-crl").map(PathBuf::from).into_iter().collect(),
        identity,
        versions: versions(settings.get("tls-version"))?,
        ..Tls::default()
    }))
}

/// The oldest and the newest of a list of versions.
fn versions(list: Option<&str>) -> Result<(Version, Version), String> {
    let Some(list) = list else { return Ok((Version::V12, Version::V13)) };
    let has = |version: &str| list.split(',').any(|one| one.trim().eq_ignore_ascii_case(version));
    match (has("TLSv1.2"), has("TLSv1.3")) {
        (true, true) => Ok((Version::V12, Version::V13)),
        (true, false) => Ok((Version::V12, Version::V12)),
        (false, true) => Ok((Version::V13, Version::V13)),
        (false, false) => Err("tls-version has none that rqps has (TLSv1.2, TLSv1.3)".to_string()),
    }
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
