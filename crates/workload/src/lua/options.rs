//! Options of sysbench and of a script, by their names, kinds and defaults.

use rqps_plan::suggestion;

use super::random::{Distribution, Distributions};

/// What an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    Flag,
    Int,
    /// A number of bytes, with K, M, G or T.
    Size,
    Double,
    Text,
    List,
}

impl OptionKind {
    /// What follows its name in a help.
    fn shown(self) -> &'static str {
        match self {
            OptionKind::Flag => "[=on|off]",
            OptionKind::Int | OptionKind::Double => "=N",
            OptionKind::Size => "=SIZE",
            OptionKind::Text => "=STRING",
            OptionKind::List => "=[LIST,...]",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum OptionValue {
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<String>),
}

/// An option that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredOption {
    pub name: String,
    pub kind: OptionKind,
    pub default: Option<String>,
    pub about: String,
}

/// An option of sysbench itself.
struct KnownOption {
    name: &'static str,
    kind: OptionKind,
    default: &'static str,
    about: &'static str,
}

const fn option(
    name: &'static str,
    kind: OptionKind,
    default: &'static str,
    about: &'static str,
) -> KnownOption {
    KnownOption { name, kind, default, about }
}

const MOST_THREADS: f64 = 10_000.0;

use OptionKind::{Double, Flag, Int, List, Size, Text};

/// Groups of options with their headings, as of sysbench 1.0.20; `--warmup-time` is newer.
#[rustfmt::skip]
static KNOWN: [(&str, &[KnownOption]); 5] = [
    ("General options", &[
        option("threads", Int, "1", "clients, each with a thread"),
        option("events", Int, "0", "events of all clients at most; 0: no limit"),
        option("time", Int, "10", "seconds to run for; 0: no limit"),
        option("warmup-time", Int, "0", "seconds before --time that are not counted"),
        option("forced-shutdown", Text, "off", "seconds, or percent of --time, until clients are ended after --time"),
        option("thread-stack-size", Size, "64K", "accepted, and ignored"),
        option("rate", Int, "0", "events per second of all clients; 0: as fast as possible"),
        option("report-interval", Int, "0", "seconds between intermediate reports; 0: none"),
        option("report-checkpoints", List, "", "seconds after which a full report is printed and counting begins anew"),
        option("debug", Flag, "off", "accepted, and ignored"),
        option("validate", Flag, "off", "passed to the script"),
        option("help", Flag, "off", "print this and end"),
        option("version", Flag, "off", "print the version and end"),
        option("tx-rate", Int, "0", "old name of --rate"),
        option("max-requests", Int, "0", "old name of --events"),
        option("max-time", Int, "0", "old name of --time"),
        option("num-threads", Int, "1", "old name of --threads"),
    ]),
    ("Random numbers", &[
        option("rand-type", Text, "special", "distribution of sysbench.rand.default: uniform, gaussian, special, pareto or zipfian"),
        option("rand-spec-iter", Int, "12", "draws that gaussian and special add up"),
        option("rand-spec-pct", Int, "1", "percent of the range that special draws often"),
        option("rand-spec-res", Int, "75", "percent of the draws that fall there"),
        option("rand-seed", Int, "0", "seed of all draws; 0: another one each time"),
        option("rand-pareto-h", Double, "0.2", "parameter of pareto"),
        option("rand-zipfian-exp", Double, "0.8", "exponent of zipfian"),
    ]),
    ("Report", &[
        option("verbosity", Int, "3", "0 to 5; below 3 nothing but errors is printed"),
        option("percentile", Int, "95", "percentile of latencies, 1 to 100; 0: none"),
        option("histogram", Flag, "off", "print the distribution of latencies"),
    ]),
    ("Database", &[
        option("db-driver", Text, "mysql", "mysql or pgsql"),
        option("db-ps-mode", Text, "auto", "auto: statements are prepared; disable: values are written into their texts"),
        option("db-debug", Flag, "off", "accepted, and ignored"),
    ]),
    ("Server", &[
        option("mysql-host", List, "localhost", "host"),
        option("mysql-port", List, "3306", "port"),
        option("mysql-socket", List, "", "path of the server's socket"),
        option("mysql-user", Text, "sbtest", "user"),
        option("mysql-password", Text, "", "password; MYSQL_PWD and option files are safer"),
        option("mysql-db", Text, "sbtest", "database"),
        option("mysql-ssl", Flag, "off", "require TLS"),
        option("mysql-ignore-errors", List, "1213,1020,1205", "errors after which an event is begun again, or all"),
        option("pgsql-host", Text, "localhost", "host, or the folder of a socket"),
        option("pgsql-port", Int, "5432", "port"),
        option("pgsql-user", Text, "sbtest", "user"),
        option("pgsql-password", Text, "", "password; PGPASSWORD and ~/.pgpass are safer"),
        option("pgsql-db", Text, "sbtest", "database"),
    ]),
];

/// Options of sysbench that rqps refuses, and what to do instead.
static REFUSED: [(&str, &str); 6] = [
    ("config-file", "write its options on the command line"),
    ("mysql-ssl-cipher", "drop it: the best that both ends know is used"),
    ("mysql-compression", "drop it: rqps does not compress"),
    ("mysql-debug", "drop it: use the general log of the server"),
    ("mysql-dry-run", "drop it: it would measure no server"),
    ("test", "name the script without it"),
];

/// All options with their values.
#[derive(Clone, Debug, Default)]
pub struct ScriptOptions {
    /// In the order of their declaration.
    values: Vec<(String, OptionKind, OptionValue)>,
    /// The script declares options of its own; otherwise it takes any, as text.
    is_declared: bool,
}

/// The same whether written with dashes or underscores.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

impl ScriptOptions {
    /// The defaults of sysbench, and of what a script declares.
    pub fn new(declared: Option<&[DeclaredOption]>) -> Result<ScriptOptions, String> {
        let mut options = ScriptOptions { is_declared: declared.is_some(), ..Default::default() };
        for one in KNOWN.iter().flat_map(|(_, options)| options.iter()) {
            options.add(one.name, one.kind, Some(one.default))?;
        }
        for one in declared.unwrap_or_default() {
            options.add(&one.name, one.kind, one.default.as_deref())?;
        }
        Ok(options)
    }

    fn add(&mut self, name: &str, kind: OptionKind, default: Option<&str>) -> Result<(), String> {
        let name = plain(name);
        let value = read(&name, kind, default.unwrap_or_default())?;
        // A script may declare an option of sysbench anew.
        self.values.retain(|(known, ..)| *known != name);
        self.values.push((name, kind, value));
        Ok(())
    }

    /// Takes `name=value`, or `name` alone.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (given, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let name = plain(given);
        if let Some((refused, instead)) = REFUSED.iter().find(|(one, _)| plain(one) == name) {
            return Err(format!("cannot use --{refused}: {instead}"));
        }
        let Some((_, kind, old)) = self.values.iter_mut().find(|(known, ..)| *known == name) else {
            if self.is_declared {
                let names = self.values.iter().map(|(name, ..)| name.as_str());
                return Err(format!("invalid option: --{given}: {}", suggestion(&name, names)));
            }
            let value = OptionValue::Text(value.unwrap_or_default().to_string());
            self.values.push((name, Text, value));
            return Ok(());
        };
        *old = match (value, *kind) {
            (Some(value), kind) => read(given, kind, value)?,
            (None, Flag) => OptionValue::Flag(true),
            (None, Text) => OptionValue::Text(String::new()),
            (None, _) => return Err(format!("--{given} needs a value. Write --{given}=VALUE")),
        };
        Ok(())
    }

    /// Whether there is an option of this name.
    pub fn takes(&self, name: &str) -> bool {
        !self.is_declared || self.get(name).is_some()
    }

    fn get(&self, name: &str) -> Option<&OptionValue> {
        let name = plain(name);
        self.values.iter().find(|(known, ..)| *known == name).map(|(.., value)| value)
    }

    /// A number; 0 where the option is none.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(OptionValue::Number(number)) => *number,
            _ => 0.0,
        }
    }

    /// As many as there are clients. A script may declare them anew, with any default.
    pub fn threads(&self) -> Result<u32, String> {
        // The old name counts where the new one has its default.
        let threads = match self.number("num-threads") {
            old if old > 1.0 => old,
            _ => self.number("threads"),
        };
        match (1.0..=MOST_THREADS).contains(&threads) {
            true => Ok(threads as u32),
            false => Err(format!("--threads={threads} must be from 1 to {MOST_THREADS}")),
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(&OptionValue::Flag(true))
    }

    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(OptionValue::Text(text)) => text,
            _ => "",
        }
    }

    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(OptionValue::List(list)) => list,
            _ => &[],
        }
    }

    /// Their names with underscores, and their values.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.values.iter().map(|(name, _, value)| (name.as_str(), value))
    }

    /// Whether scripts find options as global variables, too, as before sysbench 1.0.
    pub(super) fn are_global(&self) -> bool {
        !self.is_declared
    }

    pub fn draws(&self) -> Result<Distributions, String> {
        let wanted = self.text("rand-type");
        let found = Distribution::NAMES.iter().find(|(name, _)| *name == wanted);
        let Some((_, default)) = found else {
            let names = Distribution::NAMES.map(|(name, _)| name);
            let hint = suggestion(wanted, names);
            return Err(format!("unknown distribution '{wanted}' in --rand-type: {hint}"));
        };
        let share = self.number("rand-spec-res") as u32;
        if share >= 100 {
            return Err(format!("--rand-spec-res={share} leaves nothing. Write less than 100"));
        }
        let h = self.number("rand-pareto-h");
        if !(h > 0.0 && h < 1.0) {
            return Err(format!("--rand-pareto-h={h} must be between 0 and 1"));
        }
        let exponent = self.number("rand-zipfian-exp");
        if exponent < 0.0 {
            return Err(format!("--rand-zipfian-exp={exponent} must be 0 or more"));
        }
        Ok(Distributions {
            default: *default,
            iterations: (self.number("rand-spec-iter") as u32).max(1),
            special_percent: self.number("rand-spec-pct") as u32,
            special_share: share,
            pareto_h: h,
            zipfian_exponent: exponent,
        })
    }
}

/// Those of sysbench's defaults.
#[cfg(test)]
pub(super) fn usual_draws() -> Distributions {
    ScriptOptions::new(None).unwrap().draws().unwrap()
}

fn read(name: &str, kind: OptionKind, text: &str) -> Result<OptionValue, String> {
    let wrong = |what: &str| format!("invalid value '{text}' for --{name}: {what} was expected");
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    Ok(match kind {
        Flag => match text {
            "on" | "true" | "1" => OptionValue::Flag(true),
            "off" | "false" | "0" | "" => OptionValue::Flag(false),
            _ => return Err(wrong("on or off")),
        },
        Int => {
            let whole = number(text).filter(|number| number.fract() == 0.0);
            OptionValue::Number(whole.ok_or_else(|| wrong("a whole number"))?)
        }
        Double => OptionValue::Number(number(text).ok_or_else(|| wrong("a number"))?),
        Size => {
            let units = ["K", "M", "G", "T"];
            let unit = units.iter().position(|unit| text.to_uppercase().ends_with(unit));
            let digits = if unit.is_some() { &text[..text.len() - 1] } else { text };
            let factor = 1024_f64.powi(unit.map_or(0, |place| place as i32 + 1));
            let bytes = number(digits).ok_or_else(|| wrong("a size such as 64K"))? * factor;
            OptionValue::Number(bytes)
        }
        Text => OptionValue::Text(text.to_string()),
        List => {
            let items = text.split(',').filter(|item| !item.is_empty());
            OptionValue::List(items.map(str::to_string).collect())
        }
    })
}

/// Lines of a help: options with their defaults.
pub fn help(options: &[DeclaredOption]) -> String {
    let head = |one: &DeclaredOption| format!("--{}{}", one.name, one.kind.shown());
    let width = options.iter().map(|one| head(one).chars().count()).max().unwrap_or(0);
    let line = |one: &DeclaredOption| {
        let default = match &one.default {
            Some(default) => format!(" [{default}]"),
            None => String::new(),
        };
        format!("  {:<width$} {}{default}\n", head(one), one.about)
    };
    options.iter().map(line).collect()
}

/// The same for sysbench's own, with their headings.
pub fn general_help() -> String {
    let group = |(title, options): &(&str, &[KnownOption])| {
        let declared = |one: &KnownOption| DeclaredOption {
            name: one.name.to_string(),
            kind: one.kind,
            default: Some(one.default.to_string()),
            about: one.about.to_string(),
        };
        let options: Vec<DeclaredOption> = options.iter().map(declared).collect();
        format!("{title}:\n{}\n", help(&options))
    };
    KNOWN.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Vec<DeclaredOption> {
        let option = |name: &str, kind, default: Option<&str>| DeclaredOption {
            name: name.to_string(),
            kind,
            default: default.map(str::to_string),
            about: String::new(),
        };
        vec![
            option("table_size", Double, Some("10000")),
            option("auto_inc", Flag, Some("on")),
            option("pgsql_variant", Text, None),
            option("hosts", List, Some("a,b")),
        ]
    }

    #[test]
    fn names_are_the_same_with_dashes_and_underscores() {
        let mut options = ScriptOptions::new(Some(&declared())).unwrap();
        for text in ["table-size=7", "auto-inc=off", "threads=4", "rand_type=uniform", "hosts=c"] {
            options.set(text).unwrap();
        }
        assert_eq!(options.number("table_size"), 7.0);
        assert_eq!(options.number("threads"), 4.0);
        assert!(!options.flag("auto-inc"));
        assert_eq!(options.list("hosts"), ["c"]);
        options.set("auto_inc").unwrap();
        assert!(options.flag("auto_inc"));
        assert_eq!(options.draws().unwrap().default, Distribution::Uniform);
    }

    #[test]
    fn what_is_wrong_with_an_option_is_told() {
        let mut options = ScriptOptions::new(Some(&declared())).unwrap();
        for (text, told) in [
            ("tabel-size=7", "invalid option: --tabel-size: did you mean 'table_size'?"),
            ("threads=four", "invalid value 'four' for --threads: a whole number was expected"),
            ("threads", "--threads needs a value. Write --threads=VALUE"),
            ("auto_inc=maybe", "invalid value 'maybe' for --auto_inc: on or off was expected"),
            ("mysql-dry-run=on", "cannot use --mysql-dry-run"),
        ] {
            let error = options.set(text).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
        options.set("rand-type=zipf").unwrap();
        assert!(options.draws().unwrap_err().contains("unknown distribution 'zipf'"));
    }

    #[test]
    fn a_script_without_options_takes_any() {
        let mut options = ScriptOptions::new(None).unwrap();
        options.set("oltp-table-size=7").unwrap();
        assert_eq!(options.text("oltp_table_size"), "7");
        assert!(options.are_global());
    }

    #[test]
    fn sizes_have_units() {
        let mut options = ScriptOptions::new(None).unwrap();
        assert_eq!(options.number("thread-stack-size"), 65_536.0);
        options.set("thread-stack-size=2m").unwrap();
        assert_eq!(options.number("thread-stack-size"), 2_097_152.0);
    }
}
