//! From a plan file that a person writes to the plans that are run: the keys of a workload are the
//! flags of its verb, and are read by what reads those, so that each flag and default is in one
//! place.

use std::fs;
use std::path::Path;

use anyhow::{anyhow, bail};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use rqps_plan::{Contender, Entry, Key, Line, Matrix, MatrixError, Plan, Value, WHO, suggestion};
use rqps_workload::{VERBS, Verb};

use super::compare;
use super::errors::refusal;
use super::output::told;
use super::session::of_the_plan;
use super::single::{self, Single};

/// A verb that a workload of a plan file can be of.
#[derive(Clone, Copy)]
enum Kind {
    Single(&'static Verb),
    Compare,
}

impl Kind {
    fn all() -> impl Iterator<Item = Kind> {
        VERBS.iter().map(Kind::Single).chain([Kind::Compare])
    }

    fn verb(self) -> &'static str {
        match self {
            Kind::Single(verb) => verb.name,
            Kind::Compare => compare::VERB,
        }
    }

    fn command(self) -> Command {
        let command = Command::new(self.verb());
        match self {
            Kind::Single(verb) => single::command(verb, command),
            Kind::Compare => compare::Arguments::augment_args(command),
        }
    }

    fn plan(self, given: &ArgMatches) -> anyhow::Result<Plan> {
        match self {
            Kind::Single(verb) => Single::read(verb, given),
            Kind::Compare => compare::Arguments::from_arg_matches(given)?.plan(),
        }
    }
}

/// A workload that is ready to be run.
pub(crate) struct Item {
    /// `<verb>-<name>`, which is also its directory's name.
    pub(crate) title: String,
    pub(crate) name: String,
    pub(crate) plan: Plan,
}

/// A plan file, expanded.
pub(crate) struct Expanded {
    pub(crate) items: Vec<Item>,
    /// The file as it may be kept.
    pub(crate) text: String,
}

/// Reads a matrix, or the stored plan of a run, which is a matrix of one. Everything that is wrong
/// with it and can be found without the builds is an error with its line.
pub(crate) fn read(path: &Path) -> anyhow::Result<Expanded> {
    let shown = path.display();
    // The user can correct a missing plan; it is no failure of a disk.
    let text =
        fs::read_to_string(path).map_err(|error| anyhow!("cannot read plan '{shown}': {error}"))?;
    if Plan::is_stored(&text) {
        let plan = Plan::from_toml(&text)?;
        rqps_lab::validate(&plan)?;
        let verb = plan.single().map_or(compare::VERB, |workload| workload.verb());
        let (title, name) = (verb.to_string(), verb.to_string());
        return Ok(Expanded { text: plan.to_toml(), items: vec![Item { title, name, plan }] });
    }
    parse(&text).map_err(|error| anyhow!("{shown}: {error}"))
}

/// Expands the text of a plan file that a person wrote.
pub(crate) fn parse(text: &str) -> Result<Expanded, MatrixError> {
    let matrix = Matrix::parse(text)?;
    Ok(Expanded { items: expand(&matrix)?, text: matrix.text })
}

/// Those of a matrix that are asked for by name or title; all if none is.
pub(crate) fn choose(items: Vec<Item>, only: &[String]) -> anyhow::Result<Vec<Item>> {
    let is_called = |item: &Item, name: &String| item.name == *name || item.title == *name;
    for name in only {
        if !items.iter().any(|item| is_called(item, name)) {
            let titles = items.iter().map(|item| item.title.as_str());
            bail!("no workload is called '{name}': {}", suggestion(name, titles));
        }
    }
    let is_chosen = |item: &Item| only.is_empty() || only.iter().any(|name| is_called(item, name));
    Ok(items.into_iter().filter(is_chosen).collect())
}

pub(crate) fn expand(matrix: &Matrix) -> Result<Vec<Item>, MatrixError> {
    let entries = matrix.workloads.iter().map(|entry| Ok((kind(entry)?, entry)));
    let entries: Vec<(Kind, &Line<Entry>)> = entries.collect::<Result<_, MatrixError>>()?;
    for key in &matrix.shared {
        let commands: Vec<Command> = entries.iter().map(|(kind, _)| kind.command()).collect();
        let known: Vec<&str> = commands.iter().flat_map(flags).collect();
        refuse_unknown(key, known)?;
    }
    let item = |(kind, entry): (Kind, &Line<Entry>)| {
        let plan = plan(kind, matrix, entry)?;
        let name = entry.of.name.clone();
        Ok(Item { title: format!("{}-{name}", kind.verb()), name, plan })
    };
    entries.into_iter().map(item).collect()
}

fn kind(entry: &Line<Entry>) -> Result<Kind, MatrixError> {
    let verb = &entry.of.verb;
    Kind::all().find(|kind| kind.verb() == verb).ok_or_else(|| {
        let hint = suggestion(verb, Kind::all().map(Kind::verb));
        MatrixError::new(entry.line, format!("unknown workload '{verb}': {hint}"))
    })
}

fn flags(command: &Command) -> Vec<&str> {
    of_the_plan(command).filter_map(Arg::get_long).collect()
}

/// Keys by the names that they had, and have now.
const RENAMED: [(&str, &str); 2] = [("no-twin", "no-control"), ("base-from", "baseline-from")];

fn refuse_unknown(key: &Line<Key>, known: Vec<&str>) -> Result<(), MatrixError> {
    let name = key.of.name.as_str();
    if known.contains(&name) {
        return Ok(());
    }
    if let Some((_, now)) = RENAMED.into_iter().find(|(before, _)| *before == name) {
        let text = format!("'{name}' is called '{now}' since 0.1.0. Rename it");
        return Err(MatrixError::new(key.line, text));
    }
    let mut all: Vec<&str> = WHO.into_iter().chain(known).collect();
    all.sort_unstable();
    all.dedup();
    let hint = suggestion(name, all);
    Err(MatrixError::new(key.line, format!("unknown key '{name}': {hint}")))
}

/// The plan that the verb makes of the keys.
fn plan(kind: Kind, matrix: &Matrix, entry: &Line<Entry>) -> Result<Plan, MatrixError> {
    let command = kind.command();
    let known = flags(&command);
    for key in &entry.of.keys {
        refuse_unknown(key, known.clone())?;
    }
    let is_own = |key: &Line<Key>| entry.of.keys.iter().any(|own| own.of.name == key.of.name);
    let counts = |key: &&Line<Key>| known.contains(&&*key.of.name) && !is_own(key);
    let keys: Vec<&Line<Key>> = matrix.shared.iter().filter(counts).chain(&entry.of.keys).collect();
    let mut words = vec![kind.verb().to_string()];
    for key in &keys {
        words.extend(word(&command, key)?);
    }
    words.push("--".to_string());
    let contenders: Vec<Contender> = entry.of.contenders.iter().map(|one| one.of.clone()).collect();
    words.extend(contenders.iter().map(Contender::to_string));

    let matches = command.clone().try_get_matches_from(words).map_err(|error| {
        let flag = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(flag)) => flag.clone(),
            _ => String::new(),
        };
        let is_blamed = |key: &&&Line<Key>| {
            flag.split([' ', '=']).next() == Some(&*format!("--{}", key.of.name))
        };
        let line = keys.iter().find(is_blamed).map_or(entry.line, |key| key.line);
        let refusal = refusal(&error);
        MatrixError::new(line, refusal.strip_prefix("error: ").unwrap_or(&refusal))
    })?;
    let blame = |error: String| {
        // The key whose value the error quotes is the one to look at.
        let is_quoted = |text: &String| error.contains(&format!("'{text}'"));
        let quoted = keys.iter().find(|key| key.of.value.texts().iter().any(is_quoted));
        let line = quoted.map_or(entry.line, |key| key.line);
        MatrixError::new(line, format!("{}.{}: {error}", kind.verb(), entry.of.name))
    };
    let plan = kind.plan(&matches).map_err(|error| blame(told(&error)))?;
    for contender in &entry.of.contenders {
        rqps_dbms::resolved(&contender.of)
            .map_err(|error| MatrixError::new(contender.line, error))?;
    }
    // The contenders that were read as arguments have lost their passwords.
    let plan = Plan { contenders, ..plan };
    rqps_lab::validate(&plan).map_err(|error| blame(error.to_string()))?;
    Ok(plan)
}

/// A key as a flag; none for a switch that is off.
fn word(command: &Command, key: &Line<Key>) -> Result<Option<String>, MatrixError> {
    let Key { name, value } = &key.of;
    let flag = command.get_arguments().find(|arg| arg.get_long() == Some(name));
    let takes_value = flag.is_some_and(|flag| flag.get_action().takes_values());
    let delimiter = flag.and_then(Arg::get_value_delimiter);
    let error = |reason: String| Err(MatrixError::new(key.line, reason));
    match (value, delimiter) {
        (Value::Switch(on), _) if !takes_value => Ok(on.then(|| format!("--{name}"))),
        (_, _) if !takes_value => error(format!("'{name}' is a switch. Write true or false")),
        (Value::Switch(_), _) => error(format!("'{name}' is not a switch. Give it a value")),
        (Value::One(text), _) => Ok(Some(format!("--{name}={text}"))),
        (Value::Many(texts), _) if texts.is_empty() => {
            error(format!("'{name}' is empty. Give it a value"))
        }
        (Value::Many(texts), Some(delimiter)) => {
            let list = texts.join(&delimiter.to_string());
            Ok(Some(format!("--{name}={list}")))
        }
        (Value::Many(_), None) => error(format!("'{name}' takes one value, not a list")),
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Cache, Count, Workload};

    use super::*;

    fn items(text: &str) -> Vec<Item> {
        expand(&Matrix::parse(text).unwrap()).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }

    fn error(text: &str) -> String {
        let expanded = Matrix::parse(text).and_then(|matrix| expand(&matrix));
        expanded.err().expect(text).to_string()
    }

    #[test]
    fn what_is_left_out_is_as_the_verb_has_it() {
        let of = items("contenders = ['sqlite']\n[ibench.a]\n[micro.b]\n[scaleup.c]\n");
        let titles: Vec<&str> = of.iter().map(|item| item.title.as_str()).collect();
        assert_eq!(titles, ["ibench-a", "micro-b", "scaleup-c"]);
        let ibench = Kind::all().next().unwrap();
        let matches = ibench.command().try_get_matches_from(["ibench", "sqlite"]).unwrap();
        assert_eq!(of[0].plan, ibench.plan(&matches).unwrap());
        let Workload::Microbenchmark(scaleup) = of[2].plan.workload() else { panic!() };
        assert_eq!(scaleup.clients, [1, 2, 4, 8]);
    }

    #[test]
    fn keys_are_flags_and_those_above_count_where_they_are_known() {
        let text = "contenders = ['sqlite']\nseed = 7\nrows = '20K'\ncached = true\nsecs = 2\n\
                    [ibench.a]\nno-check = true\nrates = [100, 200]\n\
                    [micro.b]\nrows = 5_000\ncached = false\ntests = ['point', 'delete']\n";
        let of = items(text);
        let Workload::InsertBenchmark(a) = of[0].plan.workload() else { panic!() };
        assert_eq!((a.rows, a.check, &a.rates[..]), (Count(20_000), false, &[100, 200][..]));
        assert_eq!((of[0].plan.seed, of[0].plan.cache), (7, Some(Cache::Cached)));
        let Workload::Microbenchmark(b) = of[1].plan.workload() else { panic!() };
        assert_eq!((b.rows, b.tests.len()), (Count(5_000), 10));
        assert_eq!((b.read_time.0.as_secs(), of[1].plan.cache), (2, None));
    }

    #[test]
    fn what_is_unknown_is_answered_with_its_line_and_the_nearest() {
        let head = "contenders = ['sqlite']\n";
        for (text, expected) in [
            ("[mirco.a]", "line 2: unknown workload 'mirco': did you mean 'micro'?"),
            ("[ibench.a]\nrow = 1", "line 3: unknown key 'row': did you mean 'rows'?"),
            (
                "[micro.a]\nwrite_secs = 1",
                "line 3: unknown key 'write_secs': did you mean 'write-secs'?",
            ),
            ("[compare.a]\nno-twin = true", "line 3: 'no-twin' is called 'no-control' since"),
            ("[micro.a]\nout = 'x'", "line 3: unknown key 'out'"),
            ("sede = 1\n[ibench.a]", "line 2: unknown key 'sede': did you mean 'seed'?"),
            ("[micro.a]\nrows = '10Q'", "line 3: invalid value '10Q' for '--rows"),
            ("[micro.a]\nrows = [1, 2]", "line 3: 'rows' takes one value"),
            ("[micro.a]\nno-check = 1", "line 3: 'no-check' is a switch"),
            ("[micro.a]\nrows = true", "line 3: 'rows' is not a switch"),
            ("[micro.a]\ntests = []", "line 3: 'tests' is empty"),
            (
                "[micro.a]\nsecs = 1\ntests = ['point', 'hot-pionts']",
                "line 4: micro.a: unknown test or group 'hot-pionts': did you mean 'hot-points'?",
            ),
            ("[ibench.a]\nrows = 5", "line 2: ibench.a: rows must be at least 1000"),
            ("[ibench.a]\nonly = ['l.y']", "line 3: ibench.a: unknown step 'l.y'"),
            ("[ibench.a]\ncached = true\nio-bound = true", "line 3: the argument '--cached"),
            (
                "[ibench.a]\ncontenders = ['postgres@17.6']\nconfigs = ['x10a',\n'x10z']",
                "line 5: postgres has no config 'x10z': did you mean 'x10",
            ),
        ] {
            let told = error(&format!("{head}{text}\n"));
            assert!(told.starts_with(expected), "{told}\n{text}");
        }
    }

    #[test]
    fn workloads_are_chosen_by_name_or_title() {
        let all = || items("contenders = ['sqlite']\n[ibench.a]\n[micro.a]\n[micro.b]\n");
        let chosen = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| name.to_string()).collect();
            let titles = |items: Vec<Item>| items.into_iter().map(|item| item.title);
            choose(all(), &only).map(|items| titles(items).collect::<Vec<_>>())
        };
        let titles = ["ibench-a", "micro-a", "micro-b"];
        assert_eq!(chosen(&[]).unwrap(), titles);
        assert_eq!(chosen(&["a"]).unwrap(), titles[..2]);
        assert_eq!(chosen(&["micro-a", "b"]).unwrap(), titles[1..]);
        let error = chosen(&["micro-c"]).unwrap_err().to_string();
        assert!(error.starts_with("no workload is called 'micro-c': did you mean 'micro-"));
    }
}
