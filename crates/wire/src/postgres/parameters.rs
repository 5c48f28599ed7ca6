//! Parameters of a connection from a URL, a service file and the environment, with libpq's rules
//! (PostgreSQL 17, "Parameter Key Words" and "Environment Variables").

use std::path::{Path, PathBuf};

use rqps_system::Cancel;
use std::time::Duration;

use crate::address::Address;
use crate::error::Error;
use crate::login::{ChannelBinding, Login, Terms};
use crate::parameters::{Environment, Means, Parameter, Settings};
use crate::tls_parameters::{Authorities, Check, Identity, Need, Tls, Version};
use crate::url::{Parts, is_port};

use super::files::{password_of_file, service, session_settings};

const PORT: &str = "5432";
/// Where the libraries of distributions and upstream look for sockets.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// The limit of a connection without one.
const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

const ONE_SERVER: &str = "rqps measures one server. Name one host";
const NO_GSS: &str = "rqps has no GSSAPI or Kerberos. Use gssencmode=disable and a password";
const NO_KEYS: &str =
    "rqps does not decrypt keys. Run openssl pkey -in KEY -out FILE, and name FILE";
const NO_OAUTH: &str = "rqps has no OAuth. Use a password";

/// Every parameter of libpq 17, and those of 18 that may be in a service file.
const TABLE: &[Parameter] = &[
    said("application_name", "PGAPPNAME", Means::Ignored),
    said("channel_binding", "PGCHANNELBINDING", Means::Honoured),
    said(
        "client_encoding",
        "PGCLIENTENCODING",
        Means::Only(&["utf8", "utf-8", "unicode", "auto"], "rqps speaks UTF8"),
    ),
    said("connect_timeout", "PGCONNECT_TIMEOUT", Means::Honoured),
    said("datestyle", "PGDATESTYLE", Means::Honoured),
    said("dbname", "PGDATABASE", Means::Honoured),
    only("fallback_application_name", Means::Ignored),
    said("geqo", "PGGEQO", Means::Honoured),
    said("gssdelegation", "PGGSSDELEGATION", Means::Only(&["0"], NO_GSS)),
    said("gssencmode", "PGGSSENCMODE", Means::Only(&["disable", "prefer"], NO_GSS)),
    said("gsslib", "PGGSSLIB", Means::Ignored),
    said("host", "PGHOST", Means::Honoured),
    said("hostaddr", "PGHOSTADDR", Means::Honoured),
    only("keepalives", Means::Ignored),
    only("keepalives_count", Means::Ignored),
    only("keepalives_idle", Means::Ignored),
    only("keepalives_interval", Means::Ignored),
    said("krbsrvname", "PGKRBSRVNAME", Means::Ignored),
    said("load_balance_hosts", "PGLOADBALANCEHOSTS", Means::Only(&["disable"], ONE_SERVER)),
    said(
        "max_protocol_version",
        "PGMAXPROTOCOLVERSION",
        Means::Only(&["3.0", "3.2", "latest"], "rqps speaks 3.0"),
    ),
    said("min_protocol_version", "PGMINPROTOCOLVERSION", Means::Only(&["3.0"], "rqps speaks 3.0")),
    only("oauth_client_id", Means::Refused(NO_OAUTH)),
    only("oauth_client_secret", Means::Refused(NO_OAUTH)),
    only("oauth_issuer", Means::Refused(NO_OAUTH)),
    only("oauth_scope", Means::Refused(NO_OAUTH)),
    said("options", "PGOPTIONS", Means::Honoured),
    said("passfile", "PGPASSFILE", Means::Honoured),
    said("password", "PGPASSWORD", Means::Honoured),
    said("port", "PGPORT", Means::Honoured),
    only(
        "replication",
        Means::Only(
            &["false", "off", "no", "0"],
            "nothing can be measured on a replication connection. Remove it",
        ),
    ),
    said("require_auth", "PGREQUIREAUTH", Means::Honoured),
    said(
        "requirepeer",
        "PGREQUIREPEER",
        Means::Refused(
            "rqps does not check the user of a server on a socket. Remove it, or use a socket in a folder of that user's",
        ),
    ),
    only("scram_client_key", Means::Refused("use a password")),
    only("scram_server_key", Means::Refused("use a password")),
    said("service", "PGSERVICE", Means::Honoured),
    said("servicefile", "PGSERVICEFILE", Means::Honoured),
    said("sslcert", "PGSSLCERT", Means::Honoured),
    said("sslcertmode", "PGSSLCERTMODE", Means::Honoured),
    said("sslcompression", "PGSSLCOMPRESSION", Means::Ignored),
    said("sslcrl", "PGSSLCRL", Means::Honoured),
    said("sslcrldir", "PGSSLCRLDIR", Means::Refused("name a revocation list with sslcrl")),
    said("sslkey", "PGSSLKEY", Means::Honoured),
    only(
        "sslkeylogfile",
        Means::Refused("rqps does not record the keys of a connection. Remove it"),
    ),
    said("sslmode", "PGSSLMODE", Means::Honoured),
    said("sslnegotiation", "PGSSLNEGOTIATION", Means::Honoured),
    only("sslpassword", Means::Refused(NO_KEYS)),
    said("sslrootcert", "PGSSLROOTCERT", Means::Honoured),
    said("sslsni", "PGSSLSNI", Means::Honoured),
    said("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", Means::Honoured),
    said("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", Means::Honoured),
    said("target_session_attrs", "PGTARGETSESSIONATTRS", Means::Honoured),
    only("tcp_user_timeout", Means::Ignored),
    said("timezone", "PGTZ", Means::Honoured),
    said("user", "PGUSER", Means::Honoured),
];

/// Names of the Java driver and others that are spelt differently.
const SYNONYMS: &[(&str, &str)] = &[
    ("currentSchema", "none, since rqps works in a schema of its own"),
    ("loginTimeout", "connect_timeout"),
    ("database", "dbname"),
    ("passwd", "password"),
    ("username", "user"),
    ("sslfactory", "sslmode"),
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
    let user = user.ok_or("it names no user. Write postgres://USER@HOST/DATABASE")?.to_string();
    let port = settings.get("port").unwrap_or(PORT);
    if !is_port(port) {
        return Err("its port is not a number from 1 to 65535".to_string());
    }
    let number = port.parse().map_err(|_| "its port is not a number".to_string())?;
    let (host, at) = place(&settings, port)?;
    let address = match host.strip_prefix('/') {
        Some(_) => Address::Unix { path: Path::new(&host).join(format!(".s.PGSQL.{port}")) },
        None => match tls(&settings, environment)? {
            Some(tls) => Address::Tls { host: host.clone(), port: number, tls },
            None => Address::Tcp { host: host.clone(), port: number },
        },
    };
    let database = settings.get("dbname").unwrap_or(&user).to_string();
    let password = match settings.get("password") {
        Some(password) => Some(password.to_string()),
        None => password_of_file(&settings, environment, [&host, port, &database, &user])?,
    };
    let terms = terms(&settings, at.as_deref())?;
    if terms.channel_binding == ChannelBinding::Always && !matches!(address, Address::Tls { .. }) {
        return Err("channel_binding=require needs TLS. Add sslmode=verify-full".to_string());
    }
    let mut parameters = session_settings(settings.get("options").unwrap_or_default())?;
    for name in ["datestyle", "timezone", "geqo"] {
        if let Some(value) = settings.get(name)
            && parameters.iter().all(|(other, _)| other != name)
        {
            parameters.push((name.to_string(), value.to_string()));
        }
    }
    let (setup, cancel) = (Vec::new(), Cancel::default());
    Ok(Login { address, user, password, database, parameters, setup, terms, cancel })
}

/// All given values, in libpq's order: URL, service, environment.
fn gather(parts: Parts, environment: &Environment) -> Result<Settings, String> {
    let mut settings = Settings::new(TABLE, SYNONYMS);
    let own = [
        ("user", parts.user),
        ("password", parts.password),
        ("host", parts.host),
        ("port", parts.port),
        ("dbname", parts.database),
    ];
    for (name, value) in own {
        if let Some(value) = value {
            settings.say(name, value)?;
        }
    }
    for (name, value) in parts.parameters {
        // libpq accepts this for URLs of the Java driver.
        match (name.as_str(), value.as_str()) {
            ("ssl", "true") => settings.say("sslmode", "require".to_string())?,
            _ => settings.say(&name, value)?,
        }
    }
    service(&mut settings, environment)?;
    settings.fill_from(environment)?;
    if environment.get("PGREQUIRESSL").is_some_and(|value| value.starts_with('1')) {
        settings.fill("sslmode", "require", "PGREQUIRESSL")?;
    }
    Ok(settings)
}

/// The host, or the folder of its socket, and the address in place of a look-up.
fn place(settings: &Settings, port: &str) -> Result<(String, Option<String>), String> {
    let (host, at) = (settings.get("host"), settings.get("hostaddr"));
    if [host, at, Some(port)].into_iter().flatten().any(|text| text.contains(',')) {
        return Err(format!("it names several hosts, but {ONE_SERVER}"));
    }
    if host.is_some_and(|host| host.starts_with('@')) {
        return Err(
            "rqps does not use abstract sockets. Name the folder of a socket file".to_string()
        );
    }
    let host = match (host, at) {
        (Some(host), _) => host.to_string(),
        (None, Some(at)) => at.to_string(),
        (None, None) => {
            let has_socket =
                |folder: &&str| Path::new(folder).join(format!(".s.PGSQL.{port}")).exists();
            SOCKET_FOLDERS.into_iter().find(has_socket).unwrap_or("localhost").to_string()
        }
    };
    Ok((host, at.map(str::to_string)))
}

fn terms(settings: &Settings, at: Option<&str>) -> Result<Terms, String> {
    let at = match at {
        None => None,
        Some(at) => Some(at.parse().map_err(|_| format!("hostaddr '{at}' is not an IP address"))?),
    };
    let limit = match settings.get("connect_timeout").map(|text| text.parse::<i64>()) {
        None => None,
        Some(Ok(seconds @ 1..)) => Some(Duration::from_secs(seconds as u64).min(NO_LIMIT)),
        Some(Ok(_)) => Some(NO_LIMIT),
        Some(Err(_)) => return Err("connect_timeout is not a number of seconds".to_string()),
    };
    let binding = [
        ("disable", ChannelBinding::Never),
        ("prefer", ChannelBinding::IfThere),
        ("require", ChannelBinding::Always),
    ];
    let sessions = [
        ("any", Some(false)),
        ("read-write", Some(true)),
        ("primary", Some(true)),
        ("prefer-standby", Some(false)),
        ("read-only", None),
        ("standby", None),
    ];
    let session = settings.choice("target_session_attrs", &sessions)?.unwrap_or(Some(false));
    let is_writable = session.ok_or(
        "target_session_attrs cannot be honoured: rqps writes. Use read-write, primary or any",
    )?;
    Ok(Terms {
        limit,
        at,
        channel_binding: settings.choice("channel_binding", &binding)?.unwrap_or_default(),
        methods: methods(settings.get("require_auth"))?,
        is_writable,
        ..Terms::default()
    })
}

/// Methods of authentication that a server may ask for, by libpq's names.
const METHODS: [&str; 6] = ["password", "md5", "gss", "sspi", "scram-sha-256", "none"];

/// The allowed methods: those that are named, or all but those named with a `!`.
fn methods(list: Option<&str>) -> Result<Option<Vec<&'static str>>, String> {
    let Some(list) = list else { return Ok(None) };
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    let negated = names.iter().filter(|name| name.starts_with('!')).count();
    if negated != 0 && negated != names.len() {
        return Err("require_auth mixes names with and without a !".to_string());
    }
    let names: Vec<&str> = names.iter().map(|name| name.trim_start_matches('!')).collect();
    if let Some(unknown) = names.iter().find(|name| !METHODS.contains(name)) {
        return Err(format!(
            "unknown require_auth '{unknown}' (there are: {})",
            METHODS.join(", ")
        ));
    }
    let wanted = |method: &&str| names.contains(method) == (negated == 0);
    Ok(Some(METHODS.into_iter().filter(wanted).collect()))
}

/// The meaning of `sslmode`; none without encryption.
fn tls(settings: &Settings, environment: &Environment) -> Result<Option<Tls>, String> {
    let modes = [
        ("disable", None),
        ("allow", Some((Need::IfAsked, Check::Nothing))),
        ("prefer", Some((Need::IfThere, Check::Nothing))),
        ("require", Some((Need::Always, Check::Nothing))),
        ("verify-ca", Some((Need::Always, Check::Authority))),
        ("verify-full", Some((Need::Always, Check::Host))),
    ];
    let named = settings.choice("sslmode", &modes)?;
    let root = settings.get("sslrootcert");
    let is_system = root == Some("system");
    let default = if is_system { modes[5].1 } else { modes[2].1 };
    let mode = named.unwrap_or(default);
    if is_system && mode != modes[5].1 {
        return Err("sslrootcert=system needs sslmode=verify-full, since anybody can get a \
                    certificate that the system trusts"
            .to_string());
    }
    let encrypts = matches!(mode, Some((Need::Always, _)));
    if settings.is_of_url("sslrootcert") && !encrypts {
        return Err(
            "sslrootcert has no effect unless sslmode is require, verify-ca or verify-full"
                .to_string(),
        );
    }
    let is_direct = settings
        .choice("sslnegotiation", &[("postgres", false), ("direct", true)])?
        .unwrap_or(false);
    if is_direct && !encrypts {
        return Err("sslnegotiation=direct needs sslmode=require or stricter".to_string());
    }
    let Some((need, check)) = mode else { return Ok(None) };
    let own = |name: &str| environment.home_file(&format!(".postgresql/{name}"));
    let root = match root {
        Some("system") => Some(Authorities::System),
        Some(file) => Some(Authorities::File(file.into())),
        None => own("root.crt").map(Authorities::File),
    };
    // Naming authorities implies that they are checked.
    let check = match (&root, check, need) {
        (Some(_), Check::Nothing, Need::Always) => Check::Authority,
        (_, check, _) => check,
    };
    let authorities = match (root, check) {
        (Some(authorities), _) => authorities,
        (None, Check::Nothing) => Authorities::System,
        (None, _) => {
            return Err(
                "no trusted authority is named. Add sslrootcert=FILE with the authority's \
                        certificate, or sslrootcert=system"
                    .to_string(),
            );
        }
    };
    let revoked = settings.get("sslcrl").map(PathBuf::from).or_else(|| own("root.crl"));
    Ok(Some(Tls {
        need,
        check,
        authorities,
        revoked: revoked.into_iter().collect(),
        identity: identity(settings, own)?,
        versions: versions(settings)?,
        is_direct,
        names_server: settings.switch("sslsni")?.unwrap_or(true),
    }))
}

fn identity(
    settings: &Settings,
    own: impl Fn(&str) -> Option<PathBuf>,
) -> Result<Option<Identity>, String> {
    let modes = [("disable", Some(false)), ("allow", Some(true)), ("require", None)];
    let is_shown = settings.choice("sslcertmode", &modes)?.unwrap_or(Some(true));
    let is_shown = is_shown.ok_or(
        "sslcertmode=require cannot be honoured: the server decides. Require it there (clientcert)",
    )?;
    let certificate = settings.get("sslcert").map(PathBuf::from).or_else(|| own("postgresql.crt"));
    let Some(certificate) = certificate.filter(|_| is_shown) else { return Ok(None) };
    let key = settings.get("sslkey").map(PathBuf::from).or_else(|| own("postgresql.key"));
    let key = key.ok_or_else(|| {
        format!("certificate '{}' has no key. Add sslkey=FILE", certificate.display())
    })?;
    Ok(Some(Identity { certificate, key }))
}

fn versions(settings: &Settings) -> Result<(Version, Version), String> {
    use Version::{V12, V13};
    let old = [("TLSv1", None), ("TLSv1.1", None), ("TLSv1.2", Some(V12)), ("TLSv1.3", Some(V13))];
    let least = settings.choice("ssl_min_protocol_version", &old)?.flatten().unwrap_or(V12);
    let most = settings.choice("ssl_max_protocol_version", &old)?.unwrap_or(Some(V13));
    match most {
        Some(most) if most >= least => Ok((least, most)),
        _ => Err("ssl_max_protocol_version leaves no version that rqps has (TLSv1.2, TLSv1.3)"
            .to_string()),
    }
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
