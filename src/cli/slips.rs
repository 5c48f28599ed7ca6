//! Suggests a contender when a build is named in another form than rqps's.

use std::path::Path;

use rqps_dbms::{DbmsError, descriptor};
use rqps_lab::LabError;
use rqps_plan::{Dbms, is_path};

/// The contender that was meant, for a word that is no contender, or an error about a config that
/// is no file: if a build is at that path.
pub(crate) fn suggestion(error: &anyhow::Error) -> Option<String> {
    let path = match error.downcast_ref::<DbmsError>() {
        Some(DbmsError::ConfigFile { path, .. }) => Some(path.as_path()),
        Some(_) => None,
        None => error.downcast_ref::<LabError>().and_then(config_path),
    };
    build_meant(path?.to_str()?)
}

fn config_path(error: &LabError) -> Option<&Path> {
    match error {
        LabError::Contender { error, .. } => config_path(error),
        LabError::Dbms(DbmsError::ConfigFile { path, .. }) => Some(path),
        _ => None,
    }
}

/// `a=/opt/pg` as `a=postgres@/opt/pg`, if that folder contains a build.
pub(crate) fn build_meant(word: &str) -> Option<String> {
    let (label, rest) = match word.split_once('=') {
        Some((label, rest)) if !label.contains(['/', '?', ':', '@']) => (format!("{label}="), rest),
        _ => (String::new(), word),
    };
    let path = Dbms::ALL.iter().find_map(|dbms| rest.strip_prefix(dbms.name())?.strip_prefix(':'));
    let path = path.unwrap_or(rest);
    let folder = path.split(['?', ':']).next().filter(|folder| is_path(folder))?;
    // The last that has it: newer builds of MariaDB have MySQL's name, too.
    let is_there = |dbms: &Dbms| {
        let server = descriptor(*dbms, None).programs.first();
        server.is_some_and(|server| Path::new(folder).join(server).is_file())
    };
    let dbms = Dbms::ALL.into_iter().rev().find(is_there)?;
    // A label that is a DBMS's name was meant as one.
    let label = if Dbms::ALL.iter().any(|dbms| label == format!("{dbms}=")) { "" } else { &label };
    Some(format!("did you mean {label}{dbms}@{path}?"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_with_a_build_is_told_as_a_contender() {
        let folder = tempfile::tempdir().unwrap();
        let [pg, maria, none] = ["pg", "maria", "none"].map(|name| folder.path().join(name));
        for (build, servers) in [(&pg, &["postgres"][..]), (&maria, &["mariadbd", "mysqld"])] {
            fs::create_dir_all(build.join("bin")).unwrap();
            servers.iter().for_each(|name| fs::write(build.join("bin").join(name), "").unwrap());
        }
        let [pg, maria, none] = [&pg, &maria, &none].map(|path| path.display().to_string());
        for (word, meant) in [
            (format!("a={pg}"), Some(format!("a=postgres@{pg}"))),
            (pg.clone(), Some(format!("postgres@{pg}"))),
            (format!("postgres:{pg}"), Some(format!("postgres@{pg}"))),
            (format!("postgres={pg}?jit=off"), Some(format!("postgres@{pg}?jit=off"))),
            (format!("b=mysql:{maria}:z12a"), Some(format!("b=mariadb@{maria}:z12a"))),
            (format!("a={none}"), None),
            ("postgres@17.6".to_string(), None),
            (String::new(), None),
        ] {
            let meant = meant.map(|meant| format!("did you mean {meant}?"));
            assert_eq!(build_meant(&word), meant, "{word}");
        }
    }
}
