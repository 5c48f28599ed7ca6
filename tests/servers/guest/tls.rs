//! Encryption: what is checked, and that nothing is sent with less protection than was asked for;
//! with certificates of every kind on real servers.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rqps_dbms::{Home, Place, Server};
use rqps_system::Cancel;
use rqps_wire::{Connection, Error, Target, Type, Value, mysql, postgres, scalar};

use crate::common;

/// A server that ends with the test.
struct Fixture {
    server: Box<dyn Server>,
    directory: tempfile::TempDir,
    _turn: common::Rqps,
}

impl Fixture {
    fn start(contender: &str) -> Fixture {
        let rqps = common::Rqps::new();
        let directory = common::directory();
        let home = Home::at(rqps.home()).unwrap();
        let contender = contender.parse().unwrap();
        let mut patient = |_| Ok(());
        let dbms = rqps_dbms::prepare(&home, &contender, &mut patient, &Cancel::default()).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let password = Some("pa ss".to_string());
        let place = Place { data, log, password, ..Place::default() };
        let server = dbms.start(&home, &place, &Cancel::default()).unwrap();
        Fixture { server, directory, _turn: rqps }
    }

    fn control(&self) -> Box<dyn Connection> {
        self.server.target().connect().unwrap()
    }

    fn data(&self) -> &Path {
        self.server.data().unwrap()
    }

    /// A file of the test, not of the server.
    fn own(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// A file that only the server may read.
    fn give(&self, name: &str, contents: &str) {
        let path = self.data().join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let owner = self.data().metadata().unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
}

/// An authority, and a certificate that it has signed; all in PEM.
struct Certificates {
    authority: String,
    certificate: String,
    key: String,
}

impl Certificates {
    /// Signed by an authority of its own, for a host.
    fn of(host: &str) -> Certificates {
        Certificates::with(CertificateParams::new(vec![host.to_string()]).unwrap())
    }

    fn with(params: CertificateParams) -> Certificates {
        let authority_key = KeyPair::generate().unwrap();
        let mut own = CertificateParams::new(Vec::new()).unwrap();
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = own.self_signed(&authority_key).unwrap().pem();
        let issuer = Issuer::new(own, authority_key);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap().pem();
        Certificates { authority, certificate, key: key.serialize_pem() }
    }

    /// Without alternative names, as certificates were once.
    fn with_common_name(host: &str) -> Certificates {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, host);
        Certificates::with(params)
    }

    fn expired(host: &str) -> Certificates {
        let mut params = CertificateParams::new(vec![host.to_string()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 2, 3);
        Certificates::with(params)
    }

    /// Its own authority, and marked as one.
    fn self_signed(host: &str) -> Certificates {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_string()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().pem();
        Certificates { authority: certificate.clone(), certificate, key: key.serialize_pem() }
    }

    /// Its own authority, of version 1 of X.509: without any extension.
    fn version_1(host: &str) -> Certificates {
        let folder = tempfile::tempdir().unwrap();
        let openssl = |arguments: &str| {
            let arguments = arguments.split(' ');
            let done = Command::new("openssl").args(arguments).current_dir(&folder).output();
            assert!(done.unwrap().status.success());
        };
        openssl(&format!("req -newkey rsa:2048 -nodes -keyout k -subj /CN={host} -out r"));
        openssl("x509 -req -in r -signkey k -days 30 -out c");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        Certificates { authority: read("c"), certificate: read("c"), key: read("k") }
    }
}

/// A server of Postgres whose certificates and rules change.
struct Postgres {
    fixture: Fixture,
    port: String,
    /// How many rules of logging in there are beside those that the server has.
    rules: usize,
}

impl Postgres {
    fn start() -> Postgres {
        let fixture = Fixture::start("postgres@17.6");
        let mut control = fixture.control();
        control.run("create table t as select generate_series(1, 1000)::bigint n").unwrap();
        let port = scalar(&mut *control, "show port").unwrap().unwrap();
        Postgres { fixture, port, rules: 0 }
    }

    /// Has the server show a certificate.
    fn show(&self, name: &str, made: &Certificates) {
        self.fixture.give(&format!("{name}.crt"), &made.certificate);
        self.fixture.give(&format!("{name}.key"), &made.key);
        self.set(&[
            ("ssl_key_file", &format!("{name}.key")),
            ("ssl_cert_file", &format!("{name}.crt")),
            ("ssl", "on"),
        ]);
    }

    /// Sets what counts once it has been read again.
    fn set(&self, settings: &[(&str, &str)]) {
        let mut control = self.fixture.control();
        for (name, value) in settings {
            control.run(&format!("alter system set {name} = '{value}'")).unwrap();
        }
        control.run("select pg_reload_conf()").unwrap();
        // Whoever is connected anew has it; then certificates and rules have been read, too.
        common::await_that("settings are read again", || {
            let mut anew = self.fixture.control();
            settings.iter().all(|(name, value)| {
                let sql = format!("select current_setting('{name}', true)");
                scalar(&mut *anew, &sql).unwrap().as_deref() == Some(value)
            })
        });
    }

    /// Makes a user, and adds a rule for it.
    fn rule(&mut self, user: &str, rule: &str) {
        let mut control = self.fixture.control();
        control.run(&format!("create role {user} login password 'pa ss'")).unwrap();
        control.run(&format!("grant select on t to {user}")).unwrap();
        self.put_ahead(&format!("{rule}\n"));
        self.rules += 1;
        self.set(&[("work_mem", &format!("{}MB", 4 + self.rules))]);
    }

    /// Puts rules of logging in ahead of those that there are.
    fn put_ahead(&self, rules: &str) {
        let file = scalar(&mut *self.fixture.control(), "show hba_file").unwrap().unwrap();
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{rules}{before}")).unwrap();
    }

    fn to(&self, user: &str, host: &str, query: &str) -> Target {
        let url = format!("postgres://{user}:pa%20ss@{host}:{}/ib?{query}", self.port);
        Target::Postgres(postgres::login(&url).unwrap())
    }
}

/// Connects, does what the hot path does, and answers how.
fn works(target: &Target, placeholder: &str) -> &'static str {
    let mut connection = target.connect().unwrap();
    let sql = format!("select n from t where n >= {placeholder}");
    let select = connection.prepare(&sql, &[Type::Int8]).unwrap();
    for least in [1, 400, 1000] {
        let rows = connection.execute(select, &[Value::Int(least)]).unwrap();
        assert_eq!(rows, (1001 - least) as u64);
    }
    connection.transport()
}

fn fails(target: &Target) -> String {
    let error = target.connect().err().expect("a refusal");
    assert!(matches!(error, Error::Tls { .. }), "{error}");
    error.to_string()
}

#[test]
fn postgres_is_encrypted_and_checked_as_libpq_does() {
    let server = Postgres::start();
    let fixture = &server.fixture;
    let to = |host: &str, query: &str| server.to("rqps", host, query);
    assert_eq!(works(&to("localhost", "sslmode=disable"), "$1"), "tcp");
    assert_eq!(works(&to("localhost", ""), "$1"), "tcp without TLS");
    assert_eq!(works(fixture.server.target(), "$1"), "unix socket");
    let off = fails(&to("localhost", "sslmode=require"));
    assert_eq!(off, "no TLS with localhost: the server has it switched off. Set ssl = on there");

    let stranger = fixture.own("stranger.pem", &Certificates::of("localhost").authority);
    let (v13, v12) = ("tcp with TLS 1.3", "tcp with TLS 1.2");
    let untrusted = "no trusted authority has signed it";
    // For each certificate: host, parameters, and what comes of them; OWN is its authority's file.
    let full = "sslmode=verify-full&sslrootcert=OWN";
    let old = "sslmode=require&ssl_max_protocol_version=TLSv1.2";
    let not_address = "it is for another host: localhost, not for 127.0.0.1";
    type Case = (&'static str, &'static str, &'static str);
    let table: [(&str, Certificates, Vec<Case>); 6] = [
        (
            "v3",
            Certificates::of("localhost"),
            vec![
                ("localhost", "", v13),
                ("127.0.0.1", "sslmode=require", v13),
                ("127.0.0.1", "sslmode=require&sslrootcert=OWN", v13),
                ("127.0.0.1", "sslmode=verify-ca&sslrootcert=OWN", v13),
                ("localhost", full, v13),
                ("127.0.0.1", full, not_address),
                ("localhost", "sslrootcert=system", untrusted),
                ("localhost", "sslmode=require&sslnegotiation=direct", v13),
                ("localhost", old, v12),
            ],
        ),
        (
            "address",
            Certificates::of("127.0.0.1"),
            vec![
                ("127.0.0.1", full, v13),
                ("localhost", full, "it is for another host: 127.0.0.1, not for localhost"),
            ],
        ),
        (
            "common",
            Certificates::with_common_name("localhost"),
            vec![("localhost", full, v13), ("127.0.0.1", full, not_address)],
        ),
        (
            "expired",
            Certificates::expired("localhost"),
            vec![
                ("localhost", "sslmode=require", v13),
                (
                    "localhost",
                    full,
                    "it expired on 2021-02-03 00:00 UTC (it is for localhost, issued",
                ),
            ],
        ),
        (
            "own",
            Certificates::self_signed("localhost"),
            vec![
                ("localhost", "sslmode=require", v13),
                ("localhost", full, v13),
                ("127.0.0.1", full, not_address),
            ],
        ),
        (
            "v1",
            Certificates::version_1("localhost"),
            vec![
                ("localhost", "sslmode=require", v13),
                ("localhost", old, v12),
                ("localhost", full, v13),
                ("127.0.0.1", full, not_address),
            ],
        ),
    ];
    for (name, made, cases) in &table {
        server.show(name, made);
        let own = fixture.own(&format!("{name}.pem"), &made.authority);
        for (host, query, expected) in cases {
            let target = to(host, &query.replace("OWN", &own.display().to_string()));
            if expected.starts_with("tcp") {
                assert_eq!(&works(&target, "$1"), expected, "{name} {host} {query}");
                continue;
            }
            let error = fails(&target);
            let begin = format!("no TLS with {host}: the server's certificate is not trusted: ");
            assert!(error.starts_with(&begin), "{error}");
            assert!(error.contains(expected), "{name} {host} {query}: {error}");
        }
        for mode in ["require", "verify-ca", "verify-full"] {
            let query = format!("sslmode={mode}&sslrootcert={}", stranger.display());
            let error = fails(&to("localhost", &query));
            let said = [untrusted, "it expired on", "X.509 version 1", "of an authority"];
            assert!(said.iter().any(|words| error.contains(words)), "{name} {mode}: {error}");
        }
    }
    let absent = fails(&to("localhost", "sslmode=verify-ca&sslrootcert=/nowhere.pem"));
    assert!(absent.contains("'/nowhere.pem' cannot be read"), "{absent}");
    let sql = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    let mut session = to("localhost", "").connect().unwrap();
    assert_eq!(scalar(&mut *session, sql).unwrap().as_deref(), Some("t"));
}

#[test]
fn postgres_is_logged_into_by_the_way_and_the_proof_that_were_asked_for() {
    let mut server = Postgres::start();
    // Its own authority, so that the server trusts whoever shows it, too.
    let made = Certificates::self_signed("carl");
    server.show("server", &made);
    server.fixture.give("clients.pem", &made.authority);
    server.set(&[("ssl_ca_file", "clients.pem")]);
    for (user, rule) in [
        ("sam", "host all sam all scram-sha-256"),
        ("clara", "host all clara all password"),
        ("solo", "hostssl all solo all trust"),
        ("never", "hostnossl all never all trust"),
        ("bert", "hostssl all bert all trust clientcert=verify-ca"),
        ("tom", "host all tom all trust"),
    ] {
        server.rule(user, rule);
    }
    server.put_ahead("hostnossl all solo all reject\nhostssl all never all reject\n");
    server.set(&[("work_mem", "64MB")]);
    let certificate = server.fixture.own("client.crt", &made.certificate);
    let key = server.fixture.own("client.key", &made.key);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let shown =
        format!("sslmode=require&sslcert={}&sslkey={}", certificate.display(), key.display());
    let encrypted = "tcp with TLS 1.3";
    let read_only =
        "target_session_attrs=read-write&options=-c%20default_transaction_read_only%3Don";
    for (user, query, expected) in [
        ("sam", "", encrypted),
        ("sam", "sslmode=disable", "tcp"),
        ("sam", "sslmode=require&channel_binding=require", encrypted),
        ("sam", "sslmode=require&channel_binding=disable", encrypted),
        ("sam", "sslmode=require&require_auth=scram-sha-256", encrypted),
        ("sam", "require_auth=md5", "asks for scram-sha-256, but require_auth allows only md5"),
        ("clara", "sslmode=require", encrypted),
        ("clara", "sslmode=disable", "not encrypted. Add sslmode=verify-full"),
        ("clara", "sslmode=require&channel_binding=require", "the server does not ask for SCRAM"),
        ("tom", "sslmode=require&channel_binding=require", "the server does not ask for SCRAM"),
        ("tom", "require_auth=scram-sha-256", "the server asks for nothing"),
        ("solo", "", encrypted),
        ("solo", "sslmode=allow", encrypted),
        ("solo", "sslmode=disable", "pg_hba.conf rejects connection"),
        ("never", "", "tcp without TLS"),
        ("never", "sslmode=allow", "tcp"),
        ("never", "sslmode=require", "pg_hba.conf rejects connection"),
        ("bert", &shown, encrypted),
        ("bert", "sslmode=require", "valid client certificate"),
        ("tom", "target_session_attrs=read-write", encrypted),
        ("tom", read_only, "is read-only"),
    ] {
        let found = match server.to(user, "localhost", query).connect() {
            Ok(connection) => connection.transport().to_string(),
            Err(error) => error.to_string(),
        };
        let is_expected = match expected.starts_with("tcp") {
            true => found == expected,
            false => found.contains(expected),
        };
        assert!(is_expected, "{user} {query}: {found}");
    }
    let mut session = server.to("tom", "localhost", "options=-c%20geqo%3Doff").connect().unwrap();
    assert_eq!(scalar(&mut *session, "show geqo").unwrap().as_deref(), Some("off"));
}

#[test]
fn mysql_is_encrypted_and_checked_as_its_clients_do() {
    let fixture = Fixture::start("mysql@8.0.33");
    let mut control = fixture.control();
    control.run("create table t (n bigint primary key)").unwrap();
    control
        .run(
            "insert into t with recursive r (n) as (select 1 union all select n + 1 from r \
             where n < 1000) select n from r",
        )
        .unwrap();
    for (user, plugin) in [("ann", "mysql_native_password"), ("bob", "caching_sha2_password")] {
        let sql = format!("create user {user} identified with {plugin} by 'pa ss' require ssl");
        control.run(&sql).unwrap();
        control.run(&format!("grant all on ib.* to {user}")).unwrap();
    }
    let port = scalar(&mut *control, "select @@port").unwrap().unwrap();
    let to = |user: &str, query: &str| {
        let url = format!("mysql://{user}:pa%20ss@127.0.0.1:{port}/ib?{query}");
        Target::Mysql(mysql::login(&url).unwrap())
    };
    let authority = fixture.data().join("ca.pem").display().to_string();
    for user in ["ann", "bob"] {
        let plain = to(user, "ssl-mode=DISABLED").connect().err().expect("TLS is required");
        assert!(matches!(plain, Error::Login { .. }), "{plain}");
        assert_eq!(works(&to(user, ""), "?"), "tcp with TLS 1.3");
        for query in ["ssl-mode=REQUIRED", &format!("ssl-mode=VERIFY_CA&ssl-ca={authority}")] {
            // The first login may take another way than those after it.
            for _ in 0..2 {
                assert_eq!(works(&to(user, query), "?"), "tcp with TLS 1.3", "{user} {query}");
            }
        }
    }
    let stranger = fixture.own("stranger.pem", &Certificates::of("localhost").authority);
    let error = fails(&to("ann", &format!("ssl-mode=VERIFY_CA&ssl-ca={}", stranger.display())));
    assert!(error.contains("no trusted authority has signed it"), "{error}");
    // The certificate that the server makes for itself names no host.
    let error = fails(&to("ann", &format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}")));
    assert!(error.contains("it is for another host: MySQL_Server_8.0.33"), "{error}");

    // What the server makes for clients, who are let in by that alone.
    control.run("create user carl identified by '' require x509").unwrap();
    control.run("create user eve identified with caching_sha2_password by 'pa ss'").unwrap();
    for user in ["carl", "eve"] {
        control.run(&format!("grant all on ib.* to {user}")).unwrap();
    }
    let file = |name: &str| fixture.data().join(name).display().to_string();
    let shown = ("client-cert.pem", "client-key.pem");
    let shown = format!("password=&ssl-cert={}&ssl-key={}", file(shown.0), file(shown.1));
    assert_eq!(works(&to("carl", &shown), "?"), "tcp with TLS 1.3");
    assert!(to("carl", "password=").connect().is_err());
    // A key from a file encrypts the password where nothing else does; none is taken unasked.
    let refused = to("eve", "ssl-mode=DISABLED").connect().err().expect("no key").to_string();
    assert!(refused.contains("server-public-key-path=FILE"), "{refused}");
    let key = format!("server-public-key-path={}", file("public_key.pem"));
    for query in [key.as_str(), "allow-public-key-retrieval=true"] {
        // Otherwise the server remembers the user.
        control.run("flush privileges").unwrap();
        assert_eq!(works(&to("eve", &format!("ssl-mode=DISABLED&{query}")), "?"), "tcp");
    }
    // Who names no database may have none.
    let url = format!("mysql://eve:pa%20ss@127.0.0.1:{port}");
    let mut none = Target::Mysql(mysql::login(&url).unwrap()).connect().unwrap();
    assert_eq!(scalar(&mut *none, "select database()").unwrap(), None);
}

#[test]
fn mariadb_is_encrypted_or_says_that_it_cannot() {
    let fixture = Fixture::start("mariadb@11.4.5?skip_ssl=1");
    let port = scalar(&mut *fixture.control(), "select @@port").unwrap().unwrap();
    fixture.control().run("create user ann").unwrap();
    let url = format!("mariadb://ann@127.0.0.1:{port}/?ssl-mode=REQUIRED");
    let error = fails(&Target::Mysql(mysql::login(&url).unwrap()));
    assert_eq!(error, "no TLS with 127.0.0.1: the server has it switched off");
    let url = format!("mariadb://ann@127.0.0.1:{port}/");
    let plain = Target::Mysql(mysql::login(&url).unwrap()).connect().unwrap();
    assert_eq!(plain.transport(), "tcp without TLS");
}

#[test]
fn a_result_tells_that_its_run_was_encrypted() {
    let fixture = Fixture::start("mysql@8.0.33");
    let mut control = fixture.control();
    control.run("create user ann identified by 'pa ss' require ssl").unwrap();
    control.run("grant all on *.* to ann").unwrap();
    let port = scalar(&mut *control, "select @@port").unwrap().unwrap();
    let rqps = &fixture._turn;
    let url = format!("tls=mysql://ann:pa%20ss@127.0.0.1:{port}/ib?ssl-mode=REQUIRED");
    rqps.ibench(&format!("{url} --rows 1K --writes 500,50 --only l.i0")).ok();
    let result = common::result::RunResult::of(&rqps.out());
    let contender = &result.0["contenders"][0];
    assert_eq!(contender["transport"], "tcp with TLS 1.3");
}
