//! GOOD and BAD: releases as contenders, or commits of a checkout as `postgres@git:REVISION`.

use std::str::FromStr;

use anyhow::bail;
use rqps_plan::{Build, Contender};

/// What a commit is written after.
const MARK: &str = "@git:";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum SideName {
    Release(Contender),
    /// A contender without its build, and a revision of the checkout.
    Commit {
        contender: Contender,
        revision: String,
    },
}

impl SideName {
    /// Without its build and label.
    pub(super) fn kind(&self) -> Contender {
        let (SideName::Release(contender) | SideName::Commit { contender, .. }) = self;
        Contender { label: None, build: Build::Any, ..contender.clone() }
    }

    /// As it was written.
    pub(super) fn name(&self) -> String {
        match self {
            SideName::Release(contender) => contender.to_string(),
            SideName::Commit { revision, .. } => revision.clone(),
        }
    }
}

impl FromStr for SideName {
    type Err = String;

    fn from_str(text: &str) -> Result<SideName, String> {
        let contender = |text: &str| text.parse::<Contender>().map_err(|error| error.to_string());
        let Some((head, rest)) = text.split_once(MARK) else {
            return contender(text).map(SideName::Release);
        };
        // No revision of a commit contains these.
        let end = rest.find([':', '?']).unwrap_or(rest.len());
        let (mut revision, tail) = rest.split_at(end);
        let mut engine = String::new();
        let dbms = contender(head)?.dbms;
        if let Some((before, name)) = revision.rsplit_once('/')
            && dbms.engines().contains(&name)
        {
            (revision, engine) = (before, format!("/{name}"));
        }
        if revision.is_empty() || revision.starts_with('-') {
            return Err(format!("'{text}' names no commit. Write one after {MARK}, as in v1.2"));
        }
        let contender = contender(&format!("{head}{engine}{tail}"))?;
        Ok(SideName::Commit { contender, revision: revision.to_string() })
    }
}

/// Refuses ends that differ by more than their build, or not at all.
pub(super) fn check(good: &SideName, bad: &SideName) -> anyhow::Result<()> {
    if good.kind() != bad.kind() {
        bail!(
            "GOOD is {} and BAD is {}, apart from their builds. Give both the same DBMS, engine, config \
             and settings",
            good.kind(),
            bad.kind()
        );
    }
    if let Some(server) = [good, bad].into_iter().find_map(|side| match side {
        SideName::Release(contender) => {
            matches!(contender.build, Build::Server { .. }).then(|| side.name())
        }
        SideName::Commit { .. } => None,
    }) {
        bail!("cannot search in '{server}', a remote server. Name builds that rqps can start");
    }
    if good.name() == bad.name() {
        bail!("GOOD and BAD are both {}. Name two builds", good.name());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_told_from_engine_config_and_settings() {
        for (text, contender, revision) in [
            ("postgres@git:REL_17_6", "postgres", "REL_17_6"),
            ("sqlite@git:HEAD~60?mmap_size=0", "sqlite?mmap_size=0", "HEAD~60"),
            ("mariadb@git:origin/11.4/rocksdb:za1", "mariadb/rocksdb:za1", "origin/11.4"),
            ("postgres@git:a/b^2:x10a?work_mem=4MB", "postgres:x10a?work_mem=4MB", "a/b^2"),
        ] {
            let SideName::Commit { contender: found, revision: of } = text.parse().unwrap() else {
                panic!("{text}");
            };
            assert_eq!((found.to_string().as_str(), of.as_str()), (contender, revision));
        }
        assert!(matches!("postgres@17.6".parse(), Ok(SideName::Release(_))));
        for text in ["postgres@git:", "postgres@git:-x", "oracle@git:v1", "postgres@git:?a=b"] {
            assert!(text.parse::<SideName>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_ends_differ_by_their_build_alone() {
        let error = |good: &str, bad: &str| {
            check(&good.parse().unwrap(), &bad.parse().unwrap()).unwrap_err().to_string()
        };
        assert!(error("postgres@17.6", "mysql@8.0.33").contains("the same DBMS, engine, config"));
        assert!(error("postgres@17.6:x10a", "postgres@18.0").contains("GOOD is postgres:x10a"));
        assert!(error("sqlite@git:v1", "sqlite@git:v1").starts_with("GOOD and BAD are both v1"));
        assert!(error("postgres@17.6", "postgres://host/db").contains("remote server"));
        assert!(
            check(&"a=postgres@17.6".parse().unwrap(), &"postgres@18.0".parse().unwrap()).is_ok()
        );
    }
}
