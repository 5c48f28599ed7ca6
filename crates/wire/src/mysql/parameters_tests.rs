//! The table of the parameters of MySQL's and MariaDB's clients, with the meaning of each.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::login;
use crate::address::Address;
use crate::login::{Login, ServerKey};
use crate::parameters::Environment;
use crate::tls_parameters::{Authorities, Check, Need, Tls, Version};

fn with(url: &str, variables: &[(&str, &str)]) -> Result<Login, String> {
    login(url, &Environment::with(variables)).map_err(|error| error.to_string())
}

fn alone(url: &str) -> Login {
    with(url, &[]).unwrap()
}

fn tls(login: &Login) -> Option<&Tls> {
    match &login.address {
        Address::Tls { tls, .. } => Some(tls),
        _ => None,
    }
}

fn home(options: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".my.cnf"), options).unwrap();
    home
}

#[test]
fn a_server_is_named_in_every_way() {
    for (url, expected) in [
        ("mysql://a@db:3307/b", "db:3307"),
        ("mariadb://a@db", "db:3306"),
        ("mysql://a@localhost", "localhost:3306"),
        ("mysql://a@db?socket=/run/my.sock", "/run/my.sock"),
        ("mysql://a@%2Frun%2Fmy.sock/b", "/run/my.sock"),
        ("mysql://a@db?socket=/run/my.sock&protocol=tcp", "db:3306"),
        ("mysql:///b?user=a&host=db&port=7", "db:7"),
    ] {
        assert_eq!(alone(url).address.to_string(), expected, "{url}");
    }
    // A login without a database has none.
    assert_eq!(alone("mysql://lim:pw@host").database, "");
    assert_eq!(alone("mysql://lim:pw@host/b").database, "b");
}

#[test]
fn what_clients_have_is_honoured_or_refused_with_its_name_and_what_to_do() {
    for harmless in [
        "default_auth=x",
        "default-character-set=utf8mb4",
        "enable-cleartext-plugin=1",
        "compress=0",
    ] {
        assert_eq!(alone(&format!("mysql://a@h/b?{harmless}")), alone("mysql://a@h/b"));
    }
    for (query, why) in [
        ("useSSL=true", "unknown parameter 'useSSL': use ssl-mode=REQUIRED"),
        ("sslMode=REQUIRED", "use ssl-mode"),
        ("allowPublicKeyRetrieval=true", "use allow-public-key-retrieval"),
        ("tls=skip-verify", "use ssl-mode"),
        ("ssl-mode=maybe", "unknown ssl-mode 'maybe' (there are: DISABLED, PREFERRED"),
        ("ssl-mode=VERIFY_CA", "Add ssl-ca=FILE"),
        ("ssl-ca=/ca.pem&ssl-mode=DISABLED", "ssl-ca has no effect unless"),
        ("ssl-cert=/c.pem", "ssl-cert has no ssl-key"),
        ("ssl-cipher=x", "ssl-cipher cannot be honoured"),
        ("ssl-capath=/x", "name one file with ssl-ca"),
        ("compress=1", "rqps measures without compression"),
        ("tls-version=TLSv1.1", "tls-version has none"),
        ("connect-timeout=soon", "connect-timeout is not a number"),
        ("protocol=pipe", "protocol must be tcp or socket"),
        ("host=a,b", "Name one host"),
        ("get-server-public-key=maybe", "unknown get-server-public-key 'maybe'"),
        ("frob=1", "unknown parameter 'frob' (there are: "),
    ] {
        let error = with(&format!("mysql://ann:hush@h/b?{query}"), &[]).unwrap_err();
        assert!(error.contains(why), "{query}: {error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn encryption_is_asked_for_as_clients_do() {
    use {Check::*, Need::*};
    let of = |query: &str| alone(&format!("mysql://a@h/b?{query}"));
    let file = Authorities::File("/ca.pem".into());
    for (query, need, check, authorities) in [
        ("", IfThere, Nothing, &Authorities::System),
        ("ssl-mode=preferred", IfThere, Nothing, &Authorities::System),
        ("ssl_mode=required", Always, Nothing, &Authorities::System),
        ("ssl=1", Always, Nothing, &Authorities::System),
        ("ssl-ca=/ca.pem", Always, Authority, &file),
        ("ssl-mode=REQUIRED&ssl-ca=/ca.pem", Always, Authority, &file),
        ("ssl-mode=VERIFY_CA&ssl-ca=/ca.pem", Always, Authority, &file),
        ("ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca.pem", Always, Host, &file),
        ("ssl-verify-server-cert=1&ssl-ca=system", Always, Host, &Authorities::System),
    ] {
        let login = of(query);
        let tls = tls(&login).unwrap_or_else(|| panic!("{query}"));
        assert_eq!((tls.need, tls.check), (need, check), "{query}");
        assert_eq!(&tls.authorities, authorities, "{query}");
    }
    for query in ["ssl-mode=DISABLED", "ssl=0"] {
        assert_eq!(tls(&of(query)), None, "{query}");
    }
    let login = of("tls-version=TLSv1.3&ssl-cert=/c&ssl-key=/k&ssl-crl=/r");
    let tls = tls(&login).unwrap();
    assert_eq!(tls.versions, (Version::V13, Version::V13));
    assert_eq!(tls.identity.as_ref().unwrap().certificate, Path::new("/c"));
    assert_eq!(tls.revoked, [Path::new("/r")]);
    let key = |query: &str| of(query).terms.server_key;
    assert_eq!(key(""), ServerKey::Unknown);
    assert_eq!(key("allow-public-key-retrieval=true"), ServerKey::AsTold);
    assert_eq!(key("get-server-public-key=1"), ServerKey::AsTold);
    assert_eq!(key("server-public-key-path=/k.pem"), ServerKey::File("/k.pem".into()));
}

#[test]
fn option_files_and_the_environment_fill_what_the_url_leaves_open() {
    let home = home(
        "[mysqld]\nuser=mysql\n[client]\nuser = ann\nuser = bob\npassword='hu sh' # mine\nport=7\n\
         socket=/run/my.sock\nssl_mode=DISABLED\nloose-frob=1\ndefault-character-set=utf8mb4\n",
    );
    let variables = [
        ("HOME", home.path().to_str().unwrap()),
        ("MYSQL_HOST", "db"),
        ("MYSQL_PWD", "other"),
        ("USER", "root"),
    ];
    let login = with("mysql://", &variables).unwrap();
    assert_eq!((login.user.as_str(), login.password.as_deref()), ("bob", Some("hu sh")));
    assert_eq!(login.address, Address::Tcp { host: "db".to_string(), port: 7 });
    let login = with("mysql://eve:pw@h:8/?ssl-mode=REQUIRED", &variables).unwrap();
    assert_eq!((login.user.as_str(), login.password.as_deref()), ("eve", Some("pw")));
    assert_eq!(login.address.to_string(), "h:8");
    assert_eq!(tls(&login).unwrap().need, Need::Always);
    // As with other clients, this host is reached by its socket unless a port is named.
    for (url, expected) in [
        ("mysql://a@localhost/b", "/run/my.sock"),
        ("mysql://a@localhost:3306/b", "localhost:3306"),
        ("mysql://a@127.0.0.1/b", "127.0.0.1:7"),
    ] {
        assert_eq!(with(url, &variables[..1]).unwrap().address.to_string(), expected, "{url}");
    }
    let plain =
        [("MYSQL_HOST", "db"), ("MYSQL_TCP_PORT", "9"), ("MYSQL_PWD", "hush"), ("USER", "u")];
    let login = with("mysql:///b", &plain).unwrap();
    assert_eq!((login.address.to_string().as_str(), login.user.as_str()), ("db:9", "u"));
    assert_eq!(login.password.as_deref(), Some("hush"));
}

#[test]
fn option_files_can_be_named_include_others_and_are_refused_where_anybody_writes() {
    let home = home("[client]\nuser=ann\n");
    let file = |name: &str| home.path().join(name);
    fs::write(file("inner.cnf"), "[client]\npassword=inner\nssl-cipher=x\n").unwrap();
    let outer = format!("!include {}\n[client]\nuser=outer\n", file("inner.cnf").display());
    fs::write(file("outer.cnf"), outer).unwrap();
    let url = format!("mysql://h/b?defaults-file={}", file("outer.cnf").display());
    let error = with(&url, &[]).unwrap_err();
    assert!(error.contains("inner.cnf', line 3: ssl-cipher cannot be honoured"), "{error}");
    fs::write(file("inner.cnf"), "[client]\npassword=inner\n").unwrap();
    let login = with(&url, &[]).unwrap();
    assert_eq!((login.user.as_str(), login.password.as_deref()), ("outer", Some("inner")));
    fs::set_permissions(file("outer.cnf"), fs::Permissions::from_mode(0o666)).unwrap();
    let error = with(&url, &[]).unwrap_err();
    assert!(error.contains("everybody may write to") && error.contains("chmod 600"), "{error}");
}
