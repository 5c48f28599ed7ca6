//! The plan file that a person writes: a matrix of contenders and workloads. Everything else has
//! the defaults of the verbs.
//!
//! ```toml
//! contenders = ["postgres@{17.6,18.0}", "mysql@8.0.33:z12a"]
//! configs = ["x10a", "x10b"]     # for every contender that names none
//! seed = 1                       # for every workload, as any other key up here
//!
//! [micro.cached]                 # a verb and a name
//! rows = "1M"                    # keys are the verb's flags
//! tests = ["point", "range"]
//!
//! [ibench.small]
//! contenders = ["postgres@18.0"] # instead of those above; likewise configs
//! no-check = true
//! ```
//!
//! This module does not know the verbs and flags: [`Matrix`] has their names, each with its line.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::build::Build;
use crate::contender::Contender;
use crate::sweep::Sweep;

/// Something with the line of the file that it is in, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<T> {
    pub line: usize,
    pub of: T,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Keys that apply to every workload that has them.
    pub shared: Vec<Line<Key>>,
    /// In the order of the file.
    pub workloads: Vec<Line<Entry>>,
    /// The file without the passwords of URLs, which may be stored.
    pub text: String,
}

/// A workload with its contenders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The verb that runs it.
    pub verb: String,
    pub name: String,
    /// Expanded from braces and configs; the first is the baseline.
    pub contenders: Vec<Line<Contender>>,
    pub keys: Vec<Line<Key>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub name: String,
    pub value: Value,
}

/// Numbers are kept as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Switch(bool),
    One(String),
    Many(Vec<String>),
}

impl Value {
    /// The texts in it; a switch has none.
    pub fn texts(&self) -> &[String] {
        match self {
            Value::Switch(_) => &[],
            Value::One(text) => std::slice::from_ref(text),
            Value::Many(texts) => texts,
        }
    }
}

/// An error in a plan file, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct MatrixError {
    pub line: usize,
    pub reason: String,
}

impl MatrixError {
    pub fn new(line: usize, reason: impl ToString) -> Self {
        MatrixError { line, reason: reason.to_string() }
    }
}

const CONTENDERS: &str = "contenders";
const CONFIGS: &str = "configs";

/// The keys that name contenders.
pub const WHO: [&str; 2] = [CONTENDERS, CONFIGS];

impl Matrix {
    pub fn parse(text: &str) -> Result<Self, MatrixError> {
        let file = File { text };
        let table = DeTable::parse(text).map_err(|error| {
            MatrixError::new(file.line(error.span().unwrap_or(0..0)), error.message())
        })?;
        let table = table.into_inner();
        let mut shared = Vec::new();
        let mut groups = Vec::new();
        for (key, value) in in_order(&table) {
            match value.get_ref() {
                DeValue::Table(workloads) => groups.push((key, workloads)),
                _ if WHO.contains(&&**key.get_ref()) => {}
                _ => shared.push(file.key(key, value)?),
            }
        }
        let default =
            Who { contenders: file.who(&table, CONTENDERS)?, configs: file.who(&table, CONFIGS)? };
        let mut workloads = Vec::new();
        for (verb, group) in groups {
            for (name, value) in in_order(group) {
                workloads.push(file.entry(verb, name, value, &default)?);
            }
            if group.is_empty() {
                return Err(file.nameless(verb));
            }
        }
        // Dotted tables may come in any order.
        workloads.sort_by_key(|entry| entry.line);
        if workloads.is_empty() {
            return Err(MatrixError::new(
                1,
                "there is no workload. Add one, such as [micro.small]",
            ));
        }
        Ok(Matrix { shared, workloads, text: file.without_passwords(&table) })
    }
}

/// A list of texts, each with its place.
type Texts = Vec<Spanned<String>>;

/// The contenders and configs as written.
struct Who {
    contenders: Option<Texts>,
    configs: Option<Texts>,
}

fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

struct File<'a> {
    text: &'a str,
}

impl File<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        1 + self.text.bytes().take(span.start).filter(|byte| *byte == b'\n').count()
    }

    fn error(&self, span: Range<usize>, reason: impl ToString) -> MatrixError {
        MatrixError::new(self.line(span), reason)
    }

    fn nameless(&self, verb: &Spanned<Cow<'_, str>>) -> MatrixError {
        let name = verb.get_ref();
        self.error(verb.span(), format!("a workload needs a name, as in [{name}.small]"))
    }

    fn entry(
        &self,
        verb: &Spanned<Cow<'_, str>>,
        name: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        default: &Who,
    ) -> Result<Line<Entry>, MatrixError> {
        let DeValue::Table(table) = value.get_ref() else { return Err(self.nameless(verb)) };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !name.get_ref().chars().all(is_plain) || name.get_ref().starts_with('.') {
            let reason = format!(
                "cannot use the name '{}' for a directory: only letters, digits and . _ - are allowed",
                name.get_ref()
            );
            return Err(self.error(name.span(), reason));
        }
        let mut keys = Vec::new();
        for (key, value) in in_order(table) {
            if !WHO.contains(&&**key.get_ref()) {
                keys.push(self.key(key, value)?);
            }
        }
        let contenders = self.who(table, CONTENDERS)?;
        let configs = self.who(table, CONFIGS)?;
        let Some(contenders) = contenders.as_ref().or(default.contenders.as_ref()) else {
            let reason = "there are no contenders. Add contenders = [\"…\"] above the workloads";
            return Err(self.error(name.span(), reason));
        };
        let configs = configs.as_ref().or(default.configs.as_ref()).map_or(&[][..], |list| list);
        let contenders = self.contenders(contenders, configs)?;
        let (verb, name) = (verb.get_ref().to_string(), name.get_ref());
        let line = self.line(value.span());
        Ok(Line { line, of: Entry { verb, name: name.to_string(), contenders, keys } })
    }

    fn key(
        &self,
        key: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Line<Key>, MatrixError> {
        let value = match (value.get_ref(), self.scalar(value)) {
            (DeValue::Boolean(value), _) => Value::Switch(*value),
            (_, Some(text)) => Value::One(text),
            (DeValue::Array(list), None) => {
                let texts = list.iter().map(|one| {
                    self.scalar(one).ok_or_else(|| {
                        self.error(one.span(), "a list may have only texts and numbers")
                    })
                });
                Value::Many(texts.collect::<Result<_, _>>()?)
            }
            (other, None) => {
                let reason = format!("'{}' cannot be a {}", key.get_ref(), other.type_str());
                return Err(self.error(value.span(), reason));
            }
        };
        let line = self.line(key.span());
        Ok(Line { line, of: Key { name: key.get_ref().to_string(), value } })
    }

    /// A text, or a number as written.
    fn scalar(&self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            // As in flags: without the underscores that TOML allows.
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_string()),
            DeValue::Float(number) => Some(number.as_str().to_string()),
            _ => None,
        }
    }

    /// A text or a list of texts under a key that names contenders or configs.
    fn who(&self, table: &DeTable<'_>, name: &str) -> Result<Option<Texts>, MatrixError> {
        let Some(value) = table.get(name) else { return Ok(None) };
        let texts: &[Spanned<DeValue<'_>>] = match value.get_ref() {
            DeValue::Array(list) => list,
            _ => std::slice::from_ref(value),
        };
        let text = |one: &Spanned<DeValue<'_>>| match one.get_ref() {
            DeValue::String(text) => Ok(Spanned::new(one.span(), text.to_string())),
            _ => Err(self.error(one.span(), format!("{name} must be texts in quotes"))),
        };
        let texts = texts.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        match texts.is_empty() && name == CONTENDERS {
            true => Err(self.error(value.span(), "contenders is empty. Add one")),
            false => Ok(Some(texts)),
        }
    }

    /// Every contender with each config, if it can have one and has none of its own.
    fn contenders(
        &self,
        written: &Texts,
        configs: &[Spanned<String>],
    ) -> Result<Vec<Line<Contender>>, MatrixError> {
        let mut contenders: Vec<Line<Contender>> = Vec::new();
        for text in written {
            let Sweep(sweep) =
                text.get_ref().parse().map_err(|error| self.error(text.span(), error))?;
            for one in sweep {
                let is_fixed = one.config.is_some() || matches!(one.build, Build::Server { .. });
                if is_fixed || configs.is_empty() {
                    contenders.push(Line { line: self.line(text.span()), of: one });
                    continue;
                }
                for config in configs {
                    let label = match (&one.label, configs) {
                        (Some(label), [_, _, ..]) => Some(format!("{label}-{}", config.get_ref())),
                        (label, _) => label.clone(),
                    };
                    let config_name = Some(config.get_ref().clone());
                    let of = Contender { label, config: config_name, ..one.clone() };
                    contenders.push(Line { line: self.line(config.span()), of });
                }
            }
        }
        Ok(contenders)
    }

    /// The file with every URL without its password.
    fn without_passwords(&self, table: &DeTable<'_>) -> String {
        let mut shown: Vec<(Range<usize>, String)> = Vec::new();
        let workloads = table.values().filter_map(|value| value.get_ref().as_table());
        let workloads = workloads.flat_map(|group| group.values());
        let tables = workloads.filter_map(|value| value.get_ref().as_table());
        for table in std::iter::once(table).chain(tables) {
            for text in self.who(table, CONTENDERS).ok().flatten().unwrap_or_default() {
                let Ok(contender) = text.get_ref().parse::<Contender>() else { continue };
                if contender.to_string() != *text.get_ref() {
                    let quoted = toml::Value::String(contender.to_string()).to_string();
                    shown.push((text.span(), quoted));
                }
            }
        }
        shown.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut kept = self.text.to_string();
        shown.into_iter().for_each(|(span, text)| kept.replace_range(span, &text));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Matrix {
        Matrix::parse(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }

    fn error(text: &str) -> String {
        Matrix::parse(text).expect_err(text).to_string()
    }

    fn contenders(entry: &Line<Entry>) -> Vec<String> {
        entry.of.contenders.iter().map(|contender| contender.of.to_string()).collect()
    }

    const FILE: &str = r#"contenders = ["postgres@{17.6,18.0}", "my=mysql@8.0.33:z12a"]
configs = ["x10a", "x10b"]
seed = 7

[scaleup.reads]
clients = [1, 2, 4]

[ibench.small]
contenders = "sqlite"
configs = []
rows = "200K"
query-secs = 2.5
no-check = true
"#;

    #[test]
    fn workloads_are_in_the_order_of_the_file_with_their_keys_and_lines() {
        let matrix = parse(FILE);
        let [reads, small] = &matrix.workloads[..] else { panic!("{matrix:#?}") };
        assert_eq!((reads.line, &*reads.of.verb, &*reads.of.name), (5, "scaleup", "reads"));
        let clients = Value::Many(["1", "2", "4"].map(String::from).to_vec());
        assert_eq!(
            reads.of.keys,
            [Line { line: 6, of: Key { name: "clients".into(), value: clients } }]
        );
        let key = |key: &Line<Key>| (key.line, key.of.name.clone(), key.of.value.clone());
        let one = |text: &str| Value::One(text.to_string());
        assert_eq!(
            small.of.keys.iter().map(key).collect::<Vec<_>>(),
            [
                (11, "rows".to_string(), one("200K")),
                (12, "query-secs".to_string(), one("2.5")),
                (13, "no-check".to_string(), Value::Switch(true)),
            ]
        );
        assert_eq!(
            matrix.shared.iter().map(key).collect::<Vec<_>>(),
            [(3, "seed".into(), one("7"))]
        );
        assert_eq!(matrix.text, FILE);
    }

    #[test]
    fn contenders_without_a_config_have_each_and_a_workload_may_have_its_own() {
        let matrix = parse(FILE);
        assert_eq!(
            contenders(&matrix.workloads[0]),
            [
                "postgres@17.6:x10a",
                "postgres@17.6:x10b",
                "postgres@18.0:x10a",
                "postgres@18.0:x10b",
                "my=mysql@8.0.33:z12a",
            ]
        );
        assert_eq!(contenders(&matrix.workloads[1]), ["sqlite"]);
        let labelled =
            "contenders = ['a=postgres', 'postgres://h/d']\nconfigs = ['x1', 'x2']\n[ibench.i]\n";
        assert_eq!(
            contenders(&parse(labelled).workloads[0]),
            ["a-x1=postgres:x1", "a-x2=postgres:x2", "postgres://h/d",]
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("contenders = ['sqlite']\n", "line 1: there is no workload"),
            ("[micro.a]\n", "line 1: there are no contenders"),
            ("contenders = []\n[micro.a]", "line 1: contenders is empty"),
            ("contenders = ['sqlite']\n\n[micro]\nrows = 1", "line 3: a workload needs a name"),
            ("contenders = ['sqlite']\n[micro]\n", "line 2: a workload needs a name"),
            ("contenders = ['sqlite']\n[micro.'a/b']", "line 2: cannot use the name 'a/b'"),
            ("contenders = [\n'sqlite',\n'sqlit']\n[micro.a]", "line 3: unknown DBMS 'sqlit'"),
            ("contenders = ['sqlite{']\n[micro.a]", "line 1: 'sqlite{' has a '{'"),
            ("contenders = [1]\n[micro.a]", "line 1: contenders must be texts"),
            ("contenders = ['sqlite']\n[micro.a]\nrows = 2020-01-01", "line 3: 'rows' cannot be"),
            (
                "contenders = ['sqlite']\n[micro.a]\nrows = [[1]]",
                "line 3: a list may have only texts",
            ),
            ("contenders = ['sqlite']\n[micro.a\nrows = 1", "line 2: "),
        ] {
            let told = error(text);
            assert!(told.starts_with(expected), "{told}\n{text}");
        }
    }

    #[test]
    fn the_file_is_kept_without_passwords() {
        let text = "contenders = ['p=postgres://ann:s3cret@host/db', 'sqlite']\n[micro.a]\n\
                    [micro.b]\ncontenders = 'mysql://bob:geheim@h/d'\n";
        let matrix = parse(text);
        assert!(!matrix.text.contains("s3cret") && !matrix.text.contains("geheim"));
        assert!(matrix.text.contains("p=postgres://ann@host/db"), "{}", matrix.text);
        assert_eq!(contenders(&parse(&matrix.text).workloads[1]), ["mysql://bob@h/d"]);
        let Build::Server { url } = &matrix.workloads[0].of.contenders[0].of.build else {
            panic!("{matrix:#?}")
        };
        assert!(url.contains("s3cret"), "what is run has it");
    }
}
