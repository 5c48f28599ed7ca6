//! The server that sysbench's options name, as a contender.

use anyhow::{Context, bail};
use rqps_plan::{Contender, suggestion};
use rqps_workload::lua::ScriptOptions;

pub(super) fn contender(options: &ScriptOptions) -> anyhow::Result<Contender> {
    let url = match options.text("db-driver") {
        "pgsql" => postgres(options),
        "mysql" => mysql(options)?,
        other => bail!(
            "unknown driver '{other}' in --db-driver: {}",
            suggestion(other, ["mysql", "pgsql"])
        ),
    };
    url.parse::<Contender>().context("cannot use the options of the server")
}

/// `user:password@`, with nothing where there is none.
fn login(user: &str, password: &str) -> String {
    match password {
        "" => format!("{}@", encoded(user)),
        password => format!("{}:{}@", encoded(user), encoded(password)),
    }
}

fn postgres(options: &ScriptOptions) -> String {
    format!(
        "postgres://{}/{}?host={}&port={}",
        login(options.text("pgsql-user"), options.text("pgsql-password")),
        encoded(options.text("pgsql-db")),
        encoded(options.text("pgsql-host")),
        options.number("pgsql-port")
    )
}

fn mysql(options: &ScriptOptions) -> anyhow::Result<String> {
    let one = |name: &str| match options.list(name) {
        [] => Ok(""),
        [only] => Ok(only.as_str()),
        _ => bail!("--{name} names several servers, but rqps sysbench uses one. Name one"),
    };
    let (host, port, socket) = (one("mysql-host")?, one("mysql-port")?, one("mysql-socket")?);
    let mut parameters = Vec::new();
    if !socket.is_empty() {
        parameters.push(format!("socket={}", encoded(socket)));
    }
    if options.flag("mysql-ssl") {
        parameters.push("ssl-mode=REQUIRED".to_string());
    }
    let parameters = match parameters.is_empty() {
        true => String::new(),
        false => format!("?{}", parameters.join("&")),
    };
    // A host with colons is an address of IPv6.
    let host = if host.contains(':') { format!("[{host}]") } else { encoded(host) };
    let login = login(options.text("mysql-user"), options.text("mysql-password"));
    let database = encoded(options.text("mysql-db"));
    Ok(format!("mysql://{login}{host}:{port}/{database}{parameters}"))
}

/// As a part of a URL.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte as char);
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[&str]) -> ScriptOptions {
        let mut options = ScriptOptions::new(Some(&[])).unwrap();
        given.iter().for_each(|option| options.set(option).unwrap());
        options
    }

    #[test]
    fn options_of_the_server_become_its_url() {
        let given = ["pgsql-host=/run/pg", "pgsql-user=a b", "pgsql-password=p@s", "pgsql-port=7"];
        let expected = "postgres://a%20b:p%40s@/sbtest?host=%2Frun%2Fpg&port=7";
        assert_eq!(postgres(&options(&given)), expected);
        let given = ["mysql-socket=/run/m.sock", "mysql-db=d", "mysql-ssl=on"];
        let expected = "mysql://sbtest@localhost:3306/d?socket=%2Frun%2Fm.sock&ssl-mode=REQUIRED";
        assert_eq!(mysql(&options(&given)).unwrap(), expected);
        let error = mysql(&options(&["mysql-host=a,b"])).unwrap_err().to_string();
        assert!(error.contains("--mysql-host names several servers"), "{error}");
    }
}
