//! The configs that come with rqps, one file each in `crates/dbms/configs`.

use rqps_plan::{Dbms, suggestion};

use crate::error::DbmsError;
use crate::registry::descriptor;

/// A config by its name, for one DBMS or several.
#[derive(Debug)]
pub struct NamedConfig {
    /// Its family: `postgres`, `mysql`, `mariadb`, `myrocks`, `rocksdb` or `sqlite`. MariaDB also
    /// uses the configs of MySQL.
    pub family: &'static str,
    pub name: &'static str,
    /// The text of the file: a comment with its purpose, then its settings.
    pub text: &'static str,
}

macro_rules! configs {
    ($($family:literal: $($name:literal)*;)*) => {
        &[$($(NamedConfig {
            family: $family,
            name: $name,
            text: include_str!(concat!("../../configs/", $family, "/", $name, ".conf")),
        }),*),*]
    };
}

const CONFIGS: &[NamedConfig] = configs! {
    "sqlite": "base" "stock";
    "postgres": "base" "stock"
        "x0" "x1" "x2" "x3a" "x3b" "x3c" "x3d" "x4a" "x4b" "x5" "x6"
        "x9a2" "x9a2a" "x9a2b" "x9a2c" "x9a2d" "x9a2e" "x9a2f" "x9a2g"
        "x9a2acef" "x9a2bcef" "x9a2acefg" "x9a2bcefg"
        "x10a" "x10b" "x10c" "x10d";
    "mysql": "base" "stock" "z10a" "z11a" "z12a";
    "mariadb": "z10a" "z12a";
    "myrocks": "base" "stock" "za1" "y9c" "y9c4g";
    "rocksdb": "base" "stock" "universal" "blob";
};

impl NamedConfig {
    /// The first sentence of the file's comment.
    pub fn purpose(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix('#'));
        let comment = comment.map(str::trim).collect::<Vec<_>>().join(" ");
        comment
            .split_once(". ")
            .map_or(comment.as_str(), |(first, _)| first)
            .trim_end_matches('.')
            .to_string()
    }
}

/// The families in which a contender's config is looked for.
fn families(dbms: Dbms, engine: Option<&str>) -> &'static [&'static str] {
    descriptor(dbms, engine).configs
}

/// All named configs, family by family.
pub fn all_configs() -> impl Iterator<Item = &'static NamedConfig> {
    CONFIGS.iter()
}

/// The named configs of a DBMS with an engine, or with its usual one.
pub fn configs(dbms: Dbms, engine: Option<&str>) -> Vec<&'static NamedConfig> {
    let families = families(dbms, engine);
    let in_family =
        |name: &str, family: &str| all_configs().any(|c| c.family == family && c.name == name);
    let is_own = |config: &&NamedConfig| match families {
        [own, general] => {
            config.family == *own || (config.family == *general && !in_family(config.name, own))
        }
        families => families.contains(&config.family),
    };
    let mut found: Vec<&NamedConfig> = all_configs().filter(is_own).collect();
    found.sort_by_key(|config| CONFIGS.iter().position(|first| first.name == config.name));
    found
}

/// The config with a contender's name for it; the published tags put a c before the names.
pub(super) fn named(
    dbms: Dbms,
    engine: Option<&str>,
    name: &str,
) -> Result<&'static NamedConfig, DbmsError> {
    let known = configs(dbms, engine);
    let is_meant =
        |config: &&&NamedConfig| config.name == name || name.strip_prefix('c') == Some(config.name);
    known.iter().find(is_meant).copied().ok_or_else(|| DbmsError::Config {
        whose: match engine {
            Some(engine) => format!("{dbms}/{engine}"),
            None => dbms.to_string(),
        },
        name: name.to_string(),
        hint: suggestion(name, known.iter().map(|config| config.name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dbms: Dbms, engine: Option<&str>) -> Vec<&'static str> {
        configs(dbms, engine).iter().map(|config| config.name).collect()
    }

    #[test]
    fn every_config_says_in_a_sentence_what_it_is_for() {
        for config in all_configs() {
            let purpose = config.purpose();
            let words = purpose.split_whitespace().count();
            assert!((3..30).contains(&words), "{}/{}: {purpose}", config.family, config.name);
        }
    }

    #[test]
    fn the_engine_decides_which_configs_there_are() {
        assert_eq!(names(Dbms::Mysql, None), ["base", "stock", "z10a", "z11a", "z12a"]);
        assert_eq!(names(Dbms::Mariadb, Some("innodb")), names(Dbms::Mysql, None));
        assert_eq!(names(Dbms::Mariadb, Some("rocksdb")), ["base", "stock", "za1", "y9c", "y9c4g"]);
    }

    #[test]
    fn mariadb_has_its_own_where_it_differs_and_mysqls_otherwise() {
        let family = |name| named(Dbms::Mariadb, None, name).unwrap().family;
        assert_eq!(family("z12a"), "mariadb");
        assert_eq!(family("z11a"), "mysql");
    }

    #[test]
    fn names_are_taken_with_the_c_of_the_published_tags() {
        for (dbms, engine, name) in [
            (Dbms::Postgres, None, "cx9a2acefg"),
            (Dbms::Mysql, None, "cz12a"),
            (Dbms::Mysql, Some("rocksdb"), "cy9c4g"),
        ] {
            assert_eq!(named(dbms, engine, name).unwrap().name, &name[1..]);
        }
    }

    #[test]
    fn an_unknown_config_is_answered_with_the_nearest() {
        let error = named(Dbms::Postgres, None, "x9a2h").unwrap_err().to_string();
        assert!(error.starts_with("postgres has no config 'x9a2h': did you mean 'x9a2"), "{error}");
        let error = named(Dbms::Mariadb, Some("rocksdb"), "z12a").unwrap_err().to_string();
        assert!(error.starts_with("mariadb/rocksdb has no config 'z12a'"), "{error}");
    }
}
