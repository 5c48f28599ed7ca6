//! The parts of a URL, read as in libpq; nothing of an unreadable one is shown.

use percent_encoding::percent_decode_str;

use crate::error::Error;

/// `scheme://[user[:password]@][host][:port][/database][?name=value[&…]]`, decoded.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) parameters: Vec<(String, String)>,
    /// Without the password, and without parameters, which may contain it.
    pub(crate) shown: String,
}

impl Parts {
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        // The start and end of the password in an unreadable URL are unknown, so none of it is
        // shown.
        let unreadable = |reason: &str| Error::Address {
            url: format!("{scheme}://…"),
            reason: format!(
                "{reason} (in a name or password / ? # @ : % are %2F %3F %23 %40 %3A %25)"
            ),
        };
        let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if behind.contains('@') {
            return Err(unreadable("there is an @ after its host. Write it as %40"));
        }
        if behind.contains('#') {
            return Err(unreadable("there is a # in it. Write it as %23"));
        }
        let decoded = |text: &str| {
            decode(text)
                .ok_or_else(|| unreadable("a % is not followed by two hex digits of a character"))
        };
        let some = |text: &str| match text {
            "" => Ok(None),
            text => decoded(text).map(Some),
        };
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        if place.contains(',') {
            return Err(unreadable(
                "it names several hosts, but rqps measures one server. Name one host",
            ));
        }
        let (host, port) = split_port(place).ok_or_else(|| unreadable("its [ has no ]"))?;
        if !port.is_empty() && !is_port(port) {
            return Err(unreadable("its port is not a number from 1 to 65535"));
        }
        let (path, query) = behind.split_once('?').unwrap_or((behind, ""));
        let mut parameters = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| unreadable("a parameter has no = in it"))?;
            // No name has anything to encode, and an encoded one would not be recognised as that of
            // a secret.
            parameters.push((name.to_string(), decoded(value)?));
        }
        let at = if user.is_empty() { "" } else { "@" };
        Ok(Parts {
            user: some(user)?,
            password: password.map(decoded).transpose()?,
            host: some(host)?,
            port: some(port)?,
            database: some(path.trim_start_matches('/'))?,
            parameters,
            shown: format!("{scheme}://{user}{at}{place}{path}"),
        })
    }
}

/// Host and port; none without a closing bracket.
fn split_port(place: &str) -> Option<(&str, &str)> {
    match place.strip_prefix('[') {
        Some(bracketed) => {
            let (host, behind) = bracketed.split_once(']')?;
            Some((host, behind.strip_prefix(':').unwrap_or(behind)))
        }
        None => Some(place.rsplit_once(':').unwrap_or((place, ""))),
    }
}

pub(crate) fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// None if a percent sign is followed by anything but two hex digits, or the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let is_whole = text.split('%').skip(1).all(|behind| {
        behind.len() >= 2 && behind.bytes().take(2).all(|byte| byte.is_ascii_hexdigit())
    });
    let text = is_whole.then(|| percent_decode_str(text).decode_utf8().ok())??;
    (!text.contains('\0')).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_every_part() {
        let parts =
            Parts::read("postgres://ann:s%40c:ret@db.example:6543/bench?a=1&b=x%20y+z").unwrap();
        assert_eq!(parts.user.as_deref(), Some("ann"));
        assert_eq!(parts.password.as_deref(), Some("s@c:ret"));
        assert_eq!(parts.host.as_deref(), Some("db.example"));
        assert_eq!(parts.port.as_deref(), Some("6543"));
        assert_eq!(parts.database.as_deref(), Some("bench"));
        let pairs: Vec<_> =
            parts.parameters.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", "x y+z")]);
        assert_eq!(parts.shown, "postgres://ann@db.example:6543/bench");
        let least = Parts::read("mysql://").unwrap();
        assert_eq!((least.user, least.host, least.database), (None, None, None));
        assert_eq!(Parts::read("postgres://[::1]:1/d").unwrap().host.as_deref(), Some("::1"));
    }

    #[test]
    fn nothing_is_shown_of_what_cannot_be_read() {
        for (url, why) in [
            ("postgres://bob:12/hush@host/db", "@ after its host"),
            ("postgres://bob:hush?x@host/db", "@ after its host"),
            ("postgres://bob:hush#x@host/db", "@ after its host"),
            ("postgres://host/db#hush", "# in it"),
            ("postgres://bob:hush", "its port is not a number"),
            ("postgres://bob:hush@host:99999/db", "its port is not a number"),
            ("postgres://bob:hu%sh@host/db", "a % is not followed"),
            ("postgres://bob:hush@a,b/db", "rqps measures one server. Name one host"),
            ("postgres://bob:hush@a:1,b:2/db", "rqps measures one server. Name one host"),
            ("postgres://host/db?hush", "no = in it"),
            ("postgres://bob:hush@[::1/db", "its [ has no ]"),
        ] {
            let error = Parts::read(url).map(|parts| parts.shown).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(!error.contains("hush") && error.contains("postgres://…"), "{error}");
        }
    }
}
