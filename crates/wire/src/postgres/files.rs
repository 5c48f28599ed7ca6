//! Files that libpq reads: passwords and services; and the options of a session.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::parameters::{Environment, Settings, group, read_text};

/// Fills in the parameters of the named service, if there is one.
pub(super) fn service(settings: &mut Settings, environment: &Environment) -> Result<(), String> {
    let named = settings.get("service").or_else(|| environment.get("PGSERVICE"));
    let Some(name) = named.map(str::to_string) else { return Ok(()) };
    let own = settings.get("servicefile").or_else(|| environment.get("PGSERVICEFILE"));
    let own = own.map(PathBuf::from).or_else(|| environment.home_file(".pg_service.conf"));
    let everybodys =
        environment.get("PGSYSCONFDIR").map(|folder| PathBuf::from(folder).join("pg_service.conf"));
    for file in own.into_iter().chain(everybodys.filter(|file| file.exists())) {
        let text = read_text(&file)?;
        let Some(lines) = group(&text, &name) else { continue };
        for (number, line) in lines {
            let at = format!("'{}', line {number}", file.display());
            let (key, value) = line
                .split_once('=')
                .ok_or_else(|| format!("{at} has no =: rqps does not ask LDAP services"))?;
            if matches!(key.trim(), "service" | "servicefile") {
                return Err(format!("{at}: a service cannot name another service"));
            }
            settings.fill(key.trim(), value.trim(), &format!("{at}: {}", key.trim()))?;
        }
        return Ok(());
    }
    Err(format!(
        "there is no service '{name}' in ~/.pg_service.conf, PGSERVICEFILE or PGSYSCONFDIR"
    ))
}

/// The password for host, port, database and user: from the first matching line of the password
/// file.
pub(super) fn password_of_file(
    settings: &Settings,
    environment: &Environment,
    [host, port, database, user]: [&str; 4],
) -> Result<Option<String>, String> {
    let named = settings.get("passfile").map(PathBuf::from);
    let Some(file) = named.or_else(|| environment.home_file(".pgpass")) else { return Ok(None) };
    // As in libpq, a missing file has no password.
    let Ok(found) = file.metadata() else { return Ok(None) };
    if found.mode() & 0o077 != 0 {
        let file = file.display();
        return Err(format!("others may read the passwords in '{file}'. Run chmod 600 '{file}'"));
    }
    // Sockets in the usual places belong to this host.
    let host = match host {
        "/var/run/postgresql" | "/tmp" => "localhost",
        host => host,
    };
    let text = read_text(&file)?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.map(fields).find_map(|fields| {
        let (password, given) = fields.split_last()?;
        let fits = given.len() == 4
            && given.iter().zip([host, port, database, user]).all(|(field, wanted)| match field {
                Field { text, is_quoted: false } if text == "*" => true,
                Field { text, .. } => text == wanted,
            });
        fits.then(|| password.text.clone())
    }))
}

struct Field {
    text: String,
    /// A star after a backslash stands for itself.
    is_quoted: bool,
}

/// Five fields between colons; a backslash escapes the next character.
fn fields(line: &str) -> Vec<Field> {
    let empty = || Field { text: String::new(), is_quoted: false };
    let mut fields = vec![empty()];
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let is_last = fields.len() == 5;
        match (c, fields.last_mut()) {
            (':', _) if !is_last => fields.push(empty()),
            ('\\', Some(field)) => {
                field.is_quoted = true;
                field.text.extend(characters.next());
            }
            (c, Some(field)) => field.text.push(c),
            (_, None) => {}
        }
    }
    fields
}

/// Settings that rqps gives a session itself.
const OWN: [&str; 2] = ["search_path", "client_encoding"];

/// The settings in `-c name=value` and `--name=value`; spaces in a value are escaped by
/// backslashes.
pub(super) fn session_settings(options: &str) -> Result<Vec<(String, String)>, String> {
    let mut settings = Vec::new();
    let mut words = words(options).into_iter();
    while let Some(word) = words.next() {
        let setting = match (word.strip_prefix("-c"), word.strip_prefix("--")) {
            (Some(""), _) => words.next().unwrap_or_default(),
            (Some(setting), _) | (_, Some(setting)) => setting.to_string(),
            (None, None) => {
                return Err(
                    "options has more than settings (-c name=value). Remove the rest".to_string()
                );
            }
        };
        let (name, value) = setting
            .split_once('=')
            .ok_or("options has a -c without a setting. Write -c name=value")?;
        let name = name.replace('-', "_").to_lowercase();
        if OWN.contains(&name.as_str()) {
            return Err(format!("options sets {name}, which rqps sets itself. Remove it"));
        }
        settings.push((name, value.to_string()));
    }
    Ok(settings)
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_within = false;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c.is_whitespace() {
            is_within = false;
            continue;
        }
        if !is_within {
            words.push(String::new());
            is_within = true;
        }
        let c = if c == '\\' { characters.next() } else { Some(c) };
        if let Some(word) = words.last_mut() {
            word.extend(c);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_settings_of_the_session() {
        let pairs = |options| {
            let settings: Vec<(String, String)> = session_settings(options).unwrap();
            settings.into_iter().map(|(name, value)| format!("{name}|{value}")).collect::<Vec<_>>()
        };
        assert_eq!(pairs("-c geqo=off -cwork_mem=64MB"), ["geqo|off", "work_mem|64MB"]);
        assert_eq!(
            pairs(r"--Plan-Cache-mode=auto -c x.y=a\ b\\"),
            ["plan_cache_mode|auto", r"x.y|a b\"]
        );
        assert_eq!(pairs(""), [""; 0]);
        for (options, why) in [
            ("-c search_path=x", "sets search_path, which rqps sets itself"),
            ("-e", "more than settings"),
            ("-c", "without a setting"),
        ] {
            assert!(session_settings(options).unwrap_err().contains(why), "{options}");
        }
    }
}
