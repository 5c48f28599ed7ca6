//! Several contenders in one word: `postgres@{17.6,18.0}:x9a2{,a,b}`, as a shell would write them.

use std::str::FromStr;

use crate::contender::{Contender, check_names};
use crate::contender_error::ContenderError;

/// The contenders of one word, in the order of a shell: the last braces vary first.
/// A word without braces is one contender. Braces in a URL are its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep(pub Vec<Contender>);

/// More are surely a mistake, and might not fit in memory.
const MOST: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    #[error("'{0}' has a '{{' without a '}}'. Close it")]
    Open(String),
    #[error("'{0}' has a '}}' without a '{{'. Open it")]
    Closed(String),
    #[error("'{0}' has braces in braces. Write every alternative in full")]
    Nested(String),
    #[error("'{0}' expands to more than {MOST} contenders. Use fewer alternatives")]
    TooMany(String),
    #[error("'{0}' expands to '{1}' twice. Drop the label, or one of the two")]
    Twice(String, String),
    #[error(transparent)]
    Contender(#[from] ContenderError),
}

impl FromStr for Sweep {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, SweepError> {
        let words = match text.contains("://") {
            true => vec![text.to_string()],
            false => expand(text)?,
        };
        let contenders = words.iter().map(|word| word.parse()).collect::<Result<Vec<_>, _>>()?;
        match check_names(&contenders) {
            Err(ContenderError::Twice(name)) => Err(SweepError::Twice(text.to_string(), name)),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(Sweep(contenders)),
        }
    }
}

/// The words that a text with `{alternative,…}` expands to; several braces multiply.
fn expand(text: &str) -> Result<Vec<String>, SweepError> {
    let mut words = vec![String::new()];
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (literal, braces) = rest.split_at(at);
        let inside = braces.strip_prefix('{').ok_or_else(|| SweepError::Closed(text.into()))?;
        let end = inside.find(['{', '}']).ok_or_else(|| SweepError::Open(text.into()))?;
        let (alternatives, tail) = inside.split_at(end);
        rest = tail.strip_prefix('}').ok_or_else(|| SweepError::Nested(text.into()))?;
        let alternatives: Vec<&str> = alternatives.split(',').collect();
        if words.len() * alternatives.len() > MOST {
            return Err(SweepError::TooMany(text.into()));
        }
        let with_each = |word: String| {
            let join = move |alternative: &&str| format!("{word}{literal}{alternative}");
            alternatives.iter().map(join).collect::<Vec<_>>()
        };
        words = words.into_iter().flat_map(with_each).collect();
    }
    words.iter_mut().for_each(|word| word.push_str(rest));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> String {
        let sweep: Sweep = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        sweep.0.iter().map(Contender::to_string).collect::<Vec<_>>().join(" ")
    }

    fn error(text: &str) -> String {
        text.parse::<Sweep>().expect_err(text).to_string()
    }

    #[test]
    fn braces_expand_wherever_they_are() {
        for (text, expanded) in [
            ("sqlite", "sqlite"),
            (
                "postgres@16.2:x9a2{,a,b}",
                "postgres@16.2:x9a2 postgres@16.2:x9a2a postgres@16.2:x9a2b",
            ),
            ("postgres@{17.6,18.0}", "postgres@17.6 postgres@18.0"),
            ("mariadb@10.11{,/rocksdb}", "mariadb@10.11 mariadb@10.11/rocksdb"),
            ("sqlite?cache_size={100,200}", "sqlite?cache_size=100 sqlite?cache_size=200"),
            ("{old,new}=sqlite", "old=sqlite new=sqlite"),
            ("postgres@{18.0}", "postgres@18.0"),
        ] {
            assert_eq!(names(text), expanded);
        }
    }

    #[test]
    fn several_braces_multiply_in_the_order_of_a_shell() {
        assert_eq!(
            names("postgres@{17.6,18.0}:x10{a,b}"),
            "postgres@17.6:x10a postgres@17.6:x10b postgres@18.0:x10a postgres@18.0:x10b"
        );
    }

    #[test]
    fn braces_that_do_not_match_are_refused() {
        assert_eq!(error("postgres@{17.6"), "'postgres@{17.6' has a '{' without a '}'. Close it");
        assert_eq!(error("postgres@17.6}"), "'postgres@17.6}' has a '}' without a '{'. Open it");
        assert!(error("postgres@{17.{5,6},18.0}").contains("braces in braces"));
        assert!(
            error(&format!("sqlite?cache_size={}", "{1,2}".repeat(10)))
                .contains("expands to more than")
        );
    }

    #[test]
    fn what_is_in_the_braces_must_be_contenders_and_differ() {
        assert!(error("{postgres,oracle}").starts_with("unknown DBMS 'oracle'"));
        assert!(error("a=postgres@{17.6,18.0}").contains("expands to 'a' twice"));
        assert!(error("postgres:x10{a,a}").contains("expands to 'postgres:x10a' twice"));
    }

    #[test]
    fn braces_of_a_url_are_its_own() {
        let Sweep(contenders) = "postgres://ann:{a,b}@host/db".parse().unwrap();
        assert_eq!(contenders.len(), 1);
    }
}
