//! Named configs, the user's own config files, and the settings of a contender on top of them.

use std::fs;
use std::path::PathBuf;

use rqps_plan::{Contender, Dbms, is_path, suggestion};

use crate::error::DbmsError;

/// The config of a contender that names none.
const DEFAULT: &str = "base";

/// Configs by DBMS and name. Each file says in a comment what it is for.
const CONFIGS: [(Dbms, &str, &str); 8] = [
    (Dbms::Postgres, "base", include_str!("../configs/postgres/base.conf")),
    (Dbms::Postgres, "stock", include_str!("../configs/postgres/stock.conf")),
    (Dbms::Mysql, "base", include_str!("../configs/mysql/base.conf")),
    (Dbms::Mysql, "stock", include_str!("../configs/mysql/stock.conf")),
    (Dbms::Mariadb, "base", include_str!("../configs/mysql/base.conf")),
    (Dbms::Mariadb, "stock", include_str!("../configs/mysql/stock.conf")),
    (Dbms::Sqlite, "base", include_str!("../configs/sqlite/base.conf")),
    (Dbms::Sqlite, "stock", include_str!("../configs/sqlite/stock.conf")),
];

pub(crate) type Settings = Vec<(String, String)>;

/// In a config file, marks a setting that builds may not know; they go without it.
pub(crate) const OPTIONAL: char = '?';

/// The named configs of a DBMS.
pub fn configs(dbms: Dbms) -> impl Iterator<Item = &'static str> {
    CONFIGS.iter().filter(move |config| config.0 == dbms).map(|config| config.1)
}

/// The settings of a contender in the order in which they count: those of its config, then its own.
pub(crate) fn settings(contender: &Contender) -> Result<Settings, DbmsError> {
    let name = contender.config.as_deref().unwrap_or(DEFAULT);
    let text = if is_path(name) { own_file(name)? } else { named(contender.dbms, name)? };
    let mut settings = parse(&text);
    for (_, value) in &mut settings {
        relative_to_memory(contender.dbms, value);
    }
    for (name, value) in &contender.settings {
        settings.retain(|(earlier, _)| earlier != name);
        settings.push((name.clone(), value.clone()));
    }
    Ok(settings)
}

fn named(dbms: Dbms, name: &str) -> Result<String, DbmsError> {
    // The published tags put a c before the names.
    let matches = |known: &str| known == name || name.strip_prefix('c') == Some(known);
    let found = CONFIGS.iter().find(|config| config.0 == dbms && matches(config.1));
    found.map(|config| config.2.to_string()).ok_or_else(|| DbmsError::Config {
        dbms,
        name: name.to_string(),
        hint: suggestion(name, configs(dbms)),
    })
}

fn own_file(name: &str) -> Result<String, DbmsError> {
    let path = match (name.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(name),
    };
    fs::read_to_string(&path)
        .map_err(|error| DbmsError::ConfigFile { path, reason: error.to_string() })
}

/// Lines of `name = value`, with comments from # on and values in quotes if they like. Of two lines
/// for one setting the later one counts.
fn parse(text: &str) -> Settings {
    let mut settings = Settings::new();
    for line in text.lines() {
        let line = without_comment(line).trim();
        let end = line.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(line.len());
        let (name, value) = line.split_at(end);
        if name.is_empty() {
            continue;
        }
        let value = value.trim_start().trim_start_matches('=').trim();
        let value = match value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) {
            Some(quoted) => quoted.replace("''", "'"),
            None => value.to_string(),
        };
        settings.retain(|(earlier, _)| earlier != name);
        settings.push((name.to_string(), value));
    }
    settings
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (index, character) in line.char_indices() {
        match character {
            '\'' => quoted = !quoted,
            '#' if !quoted => return &line[..index],
            _ => {}
        }
    }
    line
}

/// `25%` becomes that share of the machine's memory in megabytes; anything else stays.
fn relative_to_memory(dbms: Dbms, value: &mut String) {
    let Some(percent) = value.strip_suffix('%').and_then(|percent| percent.parse::<u64>().ok())
    else {
        return;
    };
    let unit = match dbms {
        Dbms::Postgres => "MB",
        Dbms::Sqlite | Dbms::Mysql | Dbms::Mariadb => "M",
    };
    *value = format!("{}{unit}", memory_megabytes() * percent / 100);
}

fn memory_megabytes() -> u64 {
    let info = rustix::system::sysinfo();
    let bytes = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit.max(1)));
    bytes >> 20
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contender: &str) -> Settings {
        settings(&contender.parse().unwrap()).unwrap()
    }

    fn value<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
        settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn settings_of_the_contender_win_over_its_config() {
        let settings = of("postgres?synchronous_commit=on&work_mem=8MB");
        assert_eq!(value(&settings, "synchronous_commit"), Some("on"));
        assert_eq!(value(&settings, "work_mem"), Some("8MB"));
        assert_eq!(value(&settings, "wal_level"), Some("replica"));
    }

    #[test]
    fn the_stock_config_sets_nothing() {
        assert_eq!(of("postgres:stock"), []);
        assert_eq!(of("sqlite:stock?cache_size=100"), [("cache_size".into(), "100".into())]);
    }

    #[test]
    fn an_unknown_config_is_answered_with_the_nearest() {
        let error = settings(&"postgres:bass".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("did you mean 'base'"), "{error}");
    }

    #[test]
    fn files_are_read_as_postgres_reads_them() {
        let text = "a = 1 # one\nb='x # y'\n\n# c = 3\nd 4\na = 2\ne = 'it''s'\n";
        let expected = [("b", "x # y"), ("d", "4"), ("a", "2"), ("e", "it's")];
        assert_eq!(
            parse(text),
            expected.map(|(name, value)| (name.to_string(), value.to_string()))
        );
    }

    #[test]
    fn percentages_are_of_the_machines_memory() {
        let of = |dbms, text: &str| {
            let mut value = text.to_string();
            relative_to_memory(dbms, &mut value);
            value
        };
        let half = memory_megabytes() / 2;
        assert_eq!(of(Dbms::Postgres, "50%"), format!("{half}MB"));
        assert_eq!(of(Dbms::Mariadb, "50%"), format!("{half}M"));
        assert_eq!(of(Dbms::Postgres, "%m [%p] "), "%m [%p] ");
    }
}
