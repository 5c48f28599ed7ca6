//! TLS against real servers: what is encrypted, what is checked, and what is said when it cannot be.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rqps_dbms::{Home, Place, Server};
use rqps_wire::{Connection, Error, Target, Type, Value, mysql, postgres, scalar};

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
        let mut patient = |_| std::ops::ControlFlow::Continue(());
        let dbms = rqps_dbms::prepare(&home, &contender, &mut patient).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let server =
            dbms.start(&home, &Place { data, log, ..Place::default() }, &|| false).unwrap();
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

/// An authority, and a certificate that it has signed for a host; all in PEM.
struct Certificates {
    authority: String,
    certificate: String,
    key: String,
}

impl Certificates {
    fn of(host: &str) -> Certificates {
        let authority_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&authority_key).unwrap().pem();
        let issuer = Issuer::new(params, authority_key);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_string()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap().pem();
        Certificates { authority, certificate, key: key.serialize_pem() }
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
fn postgres_is_encrypted_and_checked_as_asked() {
    let fixture = Fixture::start("postgres@17.6");
    let mut control = fixture.control();
    control.run("create table t as select generate_series(1, 1000)::bigint n").unwrap();
    let port = scalar(&mut *control, "show port").unwrap().unwrap();
    let to = |host: &str, query: &str| {
        Target::Postgres(
            postgres::login(&format!("postgres://rqps@{host}:{port}/ib?{query}")).unwrap(),
        )
    };
    assert_eq!(works(&to("localhost", "sslmode=disable"), "$1"), "tcp");
    assert_eq!(works(fixture.server.target(), "$1"), "unix socket");
    let off = fails(&to("localhost", "sslmode=require"));
    assert_eq!(
        off,
        "no TLS with localhost: the server has it switched off (ssl = on is its setting)"
    );

    let made = Certificates::of("localhost");
    fixture.give("server.crt", &made.certificate);
    fixture.give("server.key", &made.key);
    control.run("alter system set ssl = on").unwrap();
    control.run("select pg_reload_conf()").unwrap();
    common::await_that("TLS is on", || {
        scalar(&mut *fixture.control(), "show ssl").unwrap().unwrap() == "on"
    });
    let right = fixture.own("authority.pem", &made.authority);
    let wrong = fixture.own("stranger.pem", &Certificates::of("localhost").authority);
    let with = |host: &str, mode: &str, file: &Path| {
        to(host, &format!("sslmode={mode}&sslrootcert={}", file.display()))
    };
    for target in [
        to("localhost", "sslmode=require"),
        to("127.0.0.1", "sslmode=require"),
        with("127.0.0.1", "verify-ca", &right),
        with("localhost", "verify-full", &right),
    ] {
        assert_eq!(works(&target, "$1"), "tcp with TLS 1.3");
        let sql = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
        assert_eq!(scalar(&mut *target.connect().unwrap(), sql).unwrap().unwrap(), "t");
    }
    let untrusted = "the server's certificate is not to be trusted: ";
    for (target, why) in [
        (with("127.0.0.1", "verify-full", &right), "it is for another host"),
        (with("localhost", "verify-ca", &wrong), "no trusted authority has signed it"),
        (with("localhost", "require", &wrong), "no trusted authority has signed it"),
        (to("localhost", "sslmode=verify-full"), "no trusted authority has signed it"),
    ] {
        let error = fails(&target);
        assert!(error.ends_with(&format!("{untrusted}{why}")), "{error}");
    }
    let absent = fails(&with("localhost", "verify-ca", Path::new("/nowhere.pem")));
    assert!(absent.contains("'/nowhere.pem' cannot be read"), "{absent}");

    control.run("alter system set ssl_max_protocol_version = 'TLSv1.2'").unwrap();
    control.run("select pg_reload_conf()").unwrap();
    let target = to("localhost", "sslmode=require");
    common::await_that("only TLS 1.2 is spoken", || works(&target, "$1") == "tcp with TLS 1.2");
}

#[test]
fn mysql_is_encrypted_and_checked_as_asked() {
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
        for query in ["ssl-mode=REQUIRED", &format!("ssl-mode=VERIFY_CA&ssl-ca={authority}")] {
            // The first login may take another way than those after it.
            for _ in 0..2 {
                assert_eq!(works(&to(user, query), "?"), "tcp with TLS 1.3", "{user} {query}");
            }
        }
    }
    let stranger = fixture.own("stranger.pem", &Certificates::of("localhost").authority);
    let error = fails(&to("ann", &format!("ssl-mode=VERIFY_CA&ssl-ca={}", stranger.display())));
    assert!(error.ends_with("no trusted authority has signed it"), "{error}");
    // The certificate that the server makes for itself names no host.
    let error = fails(&to("ann", &format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}")));
    assert!(error.ends_with("it is for another host"), "{error}");
}

#[test]
fn mariadb_is_encrypted_or_says_that_it_cannot() {
    let fixture = Fixture::start("mariadb@11.4.5?skip_ssl=1");
    let port = scalar(&mut *fixture.control(), "select @@port").unwrap().unwrap();
    let url = format!("mariadb://root@127.0.0.1:{port}/ib?ssl-mode=REQUIRED");
    let error = fails(&Target::Mysql(mysql::login(&url).unwrap()));
    assert_eq!(error, "no TLS with 127.0.0.1: the server has it switched off");
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
