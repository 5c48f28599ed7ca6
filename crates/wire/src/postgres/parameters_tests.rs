//! The table of libpq's parameters, with the meaning of each in a URL, in files and in the
//! environment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::login;
use crate::address::Address;
use crate::login::{ChannelBinding, Login};
use crate::parameters::Environment;
use crate::tls_parameters::{Authorities, Check, Need, Tls, Version};

fn with(url: &str, variables: &[(&str, &str)]) -> Result<Login, String> {
    login(url, &Environment::with(variables)).map_err(|error| error.to_string())
}

fn alone(url: &str) -> Login {
    with(url, &[]).unwrap()
}

fn error(url: &str) -> String {
    with(url, &[]).map(|login| format!("{login:?}")).unwrap_err()
}

fn tls(login: &Login) -> Option<&Tls> {
    match &login.address {
        Address::Tls { tls, .. } => Some(tls),
        _ => None,
    }
}

/// A home with these files, each readable by its owner only.
fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = home.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    home
}

fn at(home: &tempfile::TempDir) -> (&'static str, &str) {
    ("HOME", home.path().to_str().unwrap())
}

#[test]
fn a_server_is_named_in_every_way_that_libpq_has() {
    let tcp = |host: &str, port| Some((host.to_string(), port));
    for (url, expected) in [
        ("postgres://a@db.example:6543/b", tcp("db.example", 6543)),
        ("postgresql://a@db/b", tcp("db", 5432)),
        ("postgres://a@[::1]:5433/b", tcp("::1", 5433)),
        ("postgres://a@ignored/b?host=db&port=7", tcp("db", 7)),
        ("postgres://a@/b?hostaddr=127.0.0.1", tcp("127.0.0.1", 5432)),
        ("postgres://a@db/b?hostaddr=127.0.0.1", tcp("db", 5432)),
    ] {
        let login = alone(url);
        match &login.address {
            Address::Tls { host, port, .. } => assert_eq!(Some((host.clone(), *port)), expected),
            other => panic!("{url}: {other:?}"),
        }
        assert_eq!((login.user.as_str(), login.database.as_str()), ("a", "b"));
        assert_eq!(login.terms.at.is_some(), url.contains("hostaddr"), "{url}");
    }
    for (url, file) in [
        ("postgres://a@localhost/b?host=/run/pg", "/run/pg/.s.PGSQL.5432"),
        ("postgresql:///b?host=/run/pg&port=7&user=a", "/run/pg/.s.PGSQL.7"),
        ("postgres://a@%2Frun%2Fpg:7/b", "/run/pg/.s.PGSQL.7"),
        // As in libpq, a socket is never encrypted.
        ("postgres://a@/b?host=/run/pg&sslmode=verify-full", "/run/pg/.s.PGSQL.5432"),
    ] {
        assert_eq!(alone(url).address, Address::Unix { path: file.into() }, "{url}");
    }
    let login = alone("postgres:///?user=ann&password=hush&dbname=d&host=h");
    assert_eq!((login.user.as_str(), login.database.as_str()), ("ann", "d"));
    assert_eq!(login.password.as_deref(), Some("hush"));
    assert_eq!(alone("postgres://ann@h").database, "ann");
}

#[test]
fn what_libpq_has_is_honoured_or_refused_with_its_name_and_what_to_do() {
    for harmless in [
        "application_name=x",
        "channel_binding=prefer",
        "client_encoding=UTF8",
        "fallback_application_name=x",
        "gssencmode=disable",
        "gssencmode=prefer",
        "keepalives=1",
        "keepalives_idle=30",
        "krbsrvname=postgres",
        "load_balance_hosts=disable",
        "replication=false",
        "sslcompression=0",
        "target_session_attrs=any",
        "target_session_attrs=prefer-standby",
        "tcp_user_timeout=1000",
    ] {
        assert_eq!(alone(&format!("postgres://a@h/b?{harmless}")), alone("postgres://a@h/b"));
    }
    for (query, why) in [
        ("gssencmode=require", "gssencmode=require cannot be honoured: rqps has no GSSAPI"),
        ("load_balance_hosts=random", "Name one host"),
        ("replication=database", "replication=database cannot be honoured"),
        ("requirepeer=postgres", "requirepeer cannot be honoured"),
        ("sslpassword=hush", "sslpassword cannot be honoured: rqps does not decrypt keys"),
        ("sslcrldir=/crl", "name a revocation list with sslcrl"),
        ("target_session_attrs=standby", "rqps writes"),
        ("client_encoding=LATIN1", "rqps speaks UTF8"),
        ("sslcertmode=require", "sslcertmode=require cannot be honoured"),
        ("sslmode=maybe", "unknown sslmode 'maybe' (there are: disable, allow, prefer, require"),
        ("connect_timeout=soon", "connect_timeout is not a number"),
        ("require_auth=sha", "unknown require_auth 'sha' (there are: password, md5"),
        ("require_auth=md5,!none", "with and without a !"),
        ("hostaddr=db", "hostaddr 'db' is not an IP address"),
        ("host=a,b", "rqps measures one server. Name one host"),
        ("sslmode=verify-full", "Add sslrootcert=FILE"),
        ("sslrootcert=/ca.pem", "sslrootcert has no effect unless"),
        ("sslrootcert=system&sslmode=require", "needs sslmode=verify-full"),
        ("sslnegotiation=direct", "needs sslmode=require"),
        ("channel_binding=require&sslmode=disable", "needs TLS"),
        ("ssl_max_protocol_version=TLSv1.1", "leaves no version"),
        ("options=-c%20search_path%3Dx", "which rqps sets itself"),
        ("sslMode=require", "unknown parameter 'sslMode': use sslmode"),
        ("connectTimeout=3", "use connect_timeout"),
        ("frob=1", "unknown parameter 'frob' (there are: channel_binding, "),
        ("p%61ssword=hush", "unknown parameter 'p%61ssword'"),
        ("sslmode=require&sslcert=/c.pem", "certificate '/c.pem' has no key"),
    ] {
        let error = error(&format!("postgres://ann:hush@h/b?{query}"));
        assert!(error.contains(why), "{query}: {error}");
        assert!(error.starts_with("'postgres://ann@h/b' is not a usable address"), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
    assert!(!error("postgres://ann:hush@h,i/b").contains("hush"));

    let login = alone(
        "postgres://a@h/b?sslmode=require&channel_binding=require&connect_timeout=3&\
         options=-c%20geqo%3Doff&require_auth=!password,!md5&target_session_attrs=read-write",
    );
    assert_eq!(login.parameters, [("geqo".to_string(), "off".to_string())]);
    assert_eq!(login.terms.channel_binding, ChannelBinding::Always);
    assert_eq!(login.terms.limit, Some(Duration::from_secs(3)));
    assert_eq!(login.terms.methods.as_deref(), Some(&["gss", "sspi", "scram-sha-256", "none"][..]));
    assert!(login.terms.is_writable);
}

#[test]
fn encryption_is_asked_for_and_checked_as_libpq_does() {
    use {Check::*, Need::*};
    let of = |query: &str| alone(&format!("postgres://a@h/b?{query}"));
    let file = |name: &str| Authorities::File(name.into());
    for (query, need, check, authorities) in [
        ("", IfThere, Nothing, Authorities::System),
        ("sslmode=allow", IfAsked, Nothing, Authorities::System),
        ("sslmode=prefer", IfThere, Nothing, Authorities::System),
        ("sslmode=require", Always, Nothing, Authorities::System),
        ("ssl=true", Always, Nothing, Authorities::System),
        ("sslmode=require&sslrootcert=/ca.pem", Always, Authority, file("/ca.pem")),
        ("sslmode=verify-ca&sslrootcert=/ca.pem", Always, Authority, file("/ca.pem")),
        ("sslrootcert=/ca.pem&sslmode=verify-full", Always, Host, file("/ca.pem")),
        ("sslrootcert=system", Always, Host, Authorities::System),
    ] {
        let login = of(query);
        let tls = tls(&login).unwrap_or_else(|| panic!("{query}"));
        assert_eq!((tls.need, tls.check), (need, check), "{query}");
        assert_eq!(tls.authorities, authorities, "{query}");
    }
    assert_eq!(tls(&of("sslmode=disable")), None);
    let login =
        of("sslmode=require&sslnegotiation=direct&sslsni=0&ssl_min_protocol_version=TLSv1.3\
                    &sslcert=/c&sslkey=/k&sslcrl=/r");
    let tls = tls(&login).unwrap();
    assert!(tls.is_direct && !tls.names_server);
    assert_eq!(tls.versions, (Version::V13, Version::V13));
    assert_eq!(tls.identity.as_ref().unwrap().key, Path::new("/k"));
    assert_eq!(tls.revoked, [Path::new("/r")]);
}

#[test]
fn the_files_of_the_home_are_used_as_libpq_uses_them() {
    let home = home(&[
        (".postgresql/root.crt", ""),
        (".postgresql/root.crl", ""),
        (".postgresql/postgresql.crt", ""),
        (".postgresql/postgresql.key", ""),
    ]);
    let in_home = |name: &str| home.path().join(".postgresql").join(name);
    let login = with("postgres://a@h/b?sslmode=require", &[at(&home)]).unwrap();
    let own = tls(&login).unwrap();
    assert_eq!(
        (own.check, &own.authorities),
        (Check::Authority, &Authorities::File(in_home("root.crt")))
    );
    assert_eq!(own.identity.as_ref().unwrap().certificate, in_home("postgresql.crt"));
    assert_eq!(own.revoked, [in_home("root.crl")]);
    let login = with("postgres://a@h/b", &[at(&home)]).unwrap();
    assert_eq!(tls(&login).unwrap().check, Check::Nothing);
    let login = with("postgres://a@h/b?sslcertmode=disable", &[at(&home)]).unwrap();
    assert_eq!(tls(&login).unwrap().identity, None);
}

#[test]
fn the_environment_fills_what_the_url_leaves_open() {
    let all = [
        ("PGHOST", "db"),
        ("PGPORT", "7"),
        ("PGUSER", "ann"),
        ("PGDATABASE", "d"),
        ("PGPASSWORD", "hush"),
        ("PGSSLMODE", "verify-full"),
        ("PGSSLROOTCERT", "/ca.pem"),
        ("PGCONNECT_TIMEOUT", "9"),
        ("PGOPTIONS", "-c geqo=off"),
        ("PGTZ", "UTC"),
        ("PGAPPNAME", "x"),
    ];
    let login = with("postgres://", &all).unwrap();
    assert_eq!(login.address.to_string(), "db:7");
    assert_eq!((login.user.as_str(), login.database.as_str()), ("ann", "d"));
    assert_eq!(login.password.as_deref(), Some("hush"));
    assert_eq!(tls(&login).unwrap().check, Check::Host);
    assert_eq!(login.terms.limit, Some(Duration::from_secs(9)));
    let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
    assert_eq!(login.parameters, [pair("geqo", "off"), pair("timezone", "UTC")]);
    let url = "postgres://bob:pw@h:8/e?sslmode=disable&connect_timeout=1&options=";
    let login = with(url, &all).unwrap();
    assert_eq!(login.address, Address::Tcp { host: "h".to_string(), port: 8 });
    assert_eq!((login.user.as_str(), login.database.as_str()), ("bob", "e"));
    assert_eq!(login.password.as_deref(), Some("pw"));

    assert_eq!(with("postgres://h/d", &[("USER", "eve")]).unwrap().user, "eve");
    assert!(with("postgres://h/d", &[]).unwrap_err().contains("names no user"));
    let refused = with("postgres://a@h/d", &[("PGGSSENCMODE", "require")]).unwrap_err();
    assert!(refused.contains("PGGSSENCMODE=require cannot be honoured"), "{refused}");
    let refused = with("postgres://a@h/d", &[("PGREQUIREPEER", "x")]).unwrap_err();
    assert!(refused.contains("PGREQUIREPEER cannot be honoured"), "{refused}");
    // The URL takes precedence.
    with("postgres://a@h/d?gssencmode=disable", &[("PGGSSENCMODE", "require")]).unwrap();
}

#[test]
fn a_password_file_is_read_as_libpq_reads_it() {
    let home = home(&[(
        ".pgpass",
        "# names\ndb:5432:d:ann:first\n*:*:*:bob:a\\:b\\\\c:d\ndb:\\*:d:eve:never\n\
         localhost:5432:*:ann:socket\nother:5432:d:ann\n",
    )]);
    let password = |url: &str| with(url, &[at(&home)]).unwrap().password;
    for (url, expected) in [
        ("postgres://ann@db/d", Some("first")),
        ("postgres://ann@db/other", None),
        ("postgres://bob@anywhere:9/d", Some("a:b\\c:d")),
        ("postgres://eve@db/d", None),
        ("postgres://ann@db/d?host=/tmp", Some("socket")),
        ("postgres://ann@other/d", None),
        ("postgres://ann:mine@db/d", Some("mine")),
    ] {
        assert_eq!(password(url).as_deref(), expected, "{url}");
    }
    let file = home.path().join(".pgpass");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let open = with("postgres://ann@db/d", &[at(&home)]).unwrap_err();
    assert!(
        open.contains("others may read the passwords in") && open.contains("chmod 600"),
        "{open}"
    );
    let named = ("PGPASSFILE", "/nowhere");
    assert_eq!(with("postgres://ann@db/d", &[at(&home), named]).unwrap().password, None);
}

#[test]
fn a_service_stands_between_url_and_environment() {
    let home = home(&[(
        ".pg_service.conf",
        "# services\n[prod]\nhost=db\nuser = ann\nsslmode=disable\n[bad]\nfrob=1\n\
         [ldap]\nldap://host/x\n[deep]\nservice=prod\n",
    )]);
    let of = |url: &str, more: &[(&str, &str)]| with(url, &[&[at(&home)], more].concat());
    let login = of("postgres:///d?service=prod", &[("PGHOST", "elsewhere")]).unwrap();
    assert_eq!(login.address, Address::Tcp { host: "db".to_string(), port: 5432 });
    assert_eq!(login.user, "ann");
    assert_eq!(
        of("postgres://h/d", &[("PGSERVICE", "prod")]).unwrap().address.to_string(),
        "h:5432"
    );
    for (service, why) in [
        ("none", "there is no service 'none'"),
        ("bad", "line 7: frob: unknown parameter 'frob'"),
        ("ldap", "line 9 has no ="),
        ("deep", "cannot name another service"),
    ] {
        let error = of(&format!("postgres:///d?service={service}"), &[]).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
