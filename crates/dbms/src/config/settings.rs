//! The settings of a contender: those of its config, then its own.

use std::fs;
use std::path::PathBuf;

use rqps_plan::{Contender, is_path};

use super::file::{Line, Setting, parse};
use super::machine;
use super::named::{NamedConfig, named};
use crate::descriptor::Descriptor;
use crate::error::DbmsError;
use crate::process_settings::names::{is_of_process, wants_huge_pages};

/// The config of a contender without one.
const DEFAULT: &str = "base";

/// Settings in order of increasing precedence. Of two with one name the later one is kept.
pub(super) fn settings(contender: &Contender) -> Result<Vec<Setting>, DbmsError> {
    // A DBMS without named configs runs with its defaults.
    let is_named = !<&Descriptor>::from(contender).configs.is_empty();
    let configured = match contender.config.as_deref().or(is_named.then_some(DEFAULT)) {
        None => Vec::new(),
        Some(path) if is_path(path) => expand(contender, &own_file(path)?)?,
        Some(name) => expand(contender, config(contender, name)?.text)?,
    };
    let own = contender.settings.iter().filter(|(name, _)| !is_of_process(name));
    let own = own.map(|(name, value)| Setting::new(name, value.clone()));
    let in_huge_pages = <&Descriptor>::from(contender).huge_pages;
    let huge_pages = in_huge_pages.filter(|_| wants_huge_pages(contender));
    let huge_pages = huge_pages.map(|(name, value)| Setting::new(name, value.to_string()));
    let mut settings = Vec::new();
    let given: Vec<Setting> = configured.into_iter().chain(own).chain(huge_pages).collect();
    for (name, value, unless) in <&Descriptor>::from(contender).implied {
        let is_against = |setting: &Setting| unless.iter().any(|it| setting.name.starts_with(it));
        if !given.iter().any(is_against) {
            settings.push(Setting::new(name, value.to_string()));
        }
    }
    given.into_iter().for_each(|setting| set(&mut settings, setting));
    for setting in &mut settings {
        setting.value = machine::resolve(contender.dbms, &setting.value);
    }
    Ok(settings)
}

fn config(contender: &Contender, name: &str) -> Result<&'static NamedConfig, DbmsError> {
    named(contender.dbms, contender.engine.as_deref(), name)
}

/// The settings of a config file, including those of the configs that it includes.
fn expand(contender: &Contender, text: &str) -> Result<Vec<Setting>, DbmsError> {
    let mut settings = Vec::new();
    for line in parse(text) {
        match line {
            Line::Setting(setting) => set(&mut settings, setting),
            Line::Include(name) if is_path(&name) => return Err(DbmsError::IncludedFile(name)),
            Line::Include(name) => {
                let included = expand(contender, config(contender, &name)?.text)?;
                included.into_iter().for_each(|setting| set(&mut settings, setting));
            }
        }
    }
    Ok(settings)
}

fn set(settings: &mut Vec<Setting>, setting: Setting) {
    settings.retain(|earlier| earlier.name != setting.name);
    settings.push(setting);
}

/// The settings of a contender on this machine, one per line, whether or not its build knows them.
pub fn resolved(contender: &Contender) -> Result<Vec<String>, DbmsError> {
    let line = |setting: Setting| {
        let mark = if setting.optional { "?" } else { "" };
        format!("{mark}{} = {}", setting.name, setting.value)
    };
    Ok(settings(contender)?.into_iter().map(line).collect())
}

fn own_file(name: &str) -> Result<String, DbmsError> {
    let path = match (name.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(name),
    };
    fs::read_to_string(&path)
        .map_err(|error| DbmsError::ConfigFile { path, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::super::named::configs;
    use super::*;

    fn of(contender: &str) -> Vec<Setting> {
        settings(&contender.parse().unwrap()).unwrap()
    }

    fn value(contender: &str, name: &str) -> Option<String> {
        let mut values = of(contender).into_iter().filter(|setting| setting.name == name);
        let value = values.next().map(|setting| setting.value);
        assert_eq!(values.next(), None, "{name} is there once");
        value
    }

    #[test]
    fn mariadb_has_no_key_to_make_unless_encryption_is_asked_for() {
        assert_eq!(value("mariadb", "ssl").unwrap(), "0");
        assert_eq!(value("mariadb:stock", "ssl").unwrap(), "0");
        assert_eq!(value("mariadb?ssl=1", "ssl").unwrap(), "1");
        for other in ["mariadb?ssl_cert=/tls/server.pem", "mariadb?tls_version=TLSv1.3", "mysql"] {
            assert!(value(other, "ssl").is_none(), "{other}");
        }
    }

    #[test]
    fn settings_of_the_contender_win_over_its_config() {
        let contender = "postgres?synchronous_commit=on&work_mem=8MB&JIT=on";
        assert_eq!(value(contender, "synchronous_commit").unwrap(), "on");
        assert_eq!(value(contender, "work_mem").unwrap(), "8MB");
        assert_eq!(value(contender, "wal_level").unwrap(), "replica");
        assert_eq!(value("postgres:x10a?JIT=on", "jit").unwrap(), "on");
        assert_eq!(
            value("mysql?innodb-redo-log-capacity=1G", "innodb_redo_log_capacity").unwrap(),
            "1G"
        );
    }

    #[test]
    fn the_stock_config_sets_nothing() {
        assert_eq!(of("postgres:stock"), []);
        assert_eq!(value("sqlite:stock?cache_size=100", "cache_size").unwrap(), "100");
        assert_eq!(of("sqlite:stock?cache_size=100").len(), 1);
    }

    #[test]
    fn all_named_configs_can_be_read() {
        for dbms in rqps_plan::Dbms::ALL {
            for engine in [None].into_iter().chain(dbms.engines().iter().map(|name| Some(*name))) {
                for config in configs(dbms, engine) {
                    let engine = engine.map_or(String::new(), |engine| format!("/{engine}"));
                    let contender = format!("{dbms}{engine}:{}", config.name);
                    let settings = of(&contender);
                    assert!(!settings.is_empty() || config.name == "stock", "{contender}");
                    assert!(settings.iter().all(|setting| !setting.value.contains('%')));
                }
            }
        }
    }

    #[test]
    fn a_variant_differs_from_its_base_in_what_it_says() {
        let difference = |one: &str, other: &str| {
            let other = of(other);
            of(one)
                .into_iter()
                .filter(|setting| !other.contains(setting))
                .map(|setting| format!("{}={}", setting.name, setting.value))
                .collect::<Vec<_>>()
        };
        let differs = |name: &str, from: &str, expected: &[&str]| {
            let (name, from) = (format!("postgres:{name}"), format!("postgres:{from}"));
            assert_eq!(difference(&name, &from), expected, "{name}");
        };
        differs("x9a2a", "x9a2", &["autovacuum_vacuum_cost_delay=1ms"]);
        differs("x9a2g", "x9a2", &["autovacuum_vacuum_cost_limit=8000"]);
        differs(
            "x9a2bcefg",
            "x9a2",
            &[
                "autovacuum_vacuum_cost_delay=0",
                "autovacuum_naptime=1s",
                "autovacuum_vacuum_scale_factor=0.01",
                "autovacuum_vacuum_insert_scale_factor=0.01",
                "autovacuum_vacuum_cost_limit=8000",
            ],
        );
        differs("x5", "x4a", &["wal_compression=off"]);
        differs("x6", "x4a", &["shared_buffers=2GB"]);
        differs("x10d", "x10a", &["io_method=io_uring"]);
    }

    #[test]
    fn myrocks_is_not_told_about_innodb() {
        for config in configs(rqps_plan::Dbms::Mariadb, Some("rocksdb")) {
            let contender = format!("mariadb/rocksdb:{}", config.name);
            assert_eq!(value(&contender, "transaction_isolation").unwrap(), "READ-COMMITTED");
            assert!(of(&contender).iter().all(|setting| !setting.name.contains("innodb")));
        }
    }

    #[test]
    fn a_file_of_ones_own_may_build_on_a_named_config() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "include cx10a\nwork_mem = 8MB\n").unwrap();
        let contender = format!("postgres:{}", file.path().display());
        assert_eq!(value(&contender, "work_mem").unwrap(), "8MB");
        assert_eq!(value(&contender, "jit").unwrap(), "off");
        fs::write(&file, "include ./x10a.conf").unwrap();
        let error = settings(&contender.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(
            error,
            "a config cannot include the file './x10a.conf'. Include one that comes with rqps, by its name"
        );
        fs::write(&file, "include x10").unwrap();
        let error = settings(&contender.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("postgres has no config 'x10': did you mean"), "{error}");
    }

    #[test]
    fn a_cache_in_huge_pages_needs_the_setting_of_its_dbms() {
        let value = |contender: &str| value(contender, "huge_pages");
        assert_eq!(value("postgres@17.6?process.hugepages=on").unwrap(), "on");
        assert_eq!(value("postgres@17.6").unwrap(), "off");
    }
}
