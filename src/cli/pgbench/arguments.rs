//! pgbench's options: those that rqps has, and why it does not have the others.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use rqps_plan::{Contender, QueryMode, Sweep};

use super::clients::RunLimits;
use crate::cli::headings::{MEASURE, OUTPUT};

const INITIALIZATION: &str = "Initialization";

/// A script that is given again and again.
const SCRIPTS: [&str; 4] = ["file", "builtin", "skip_some_updates", "select_only"];

/// Options that have no effect in an initialization, by their names here.
const OF_RUNS: [&str; 19] = [
    "file",
    "builtin",
    "skip_some_updates",
    "select_only",
    "client",
    "jobs",
    "transactions",
    "time",
    "protocol",
    "define",
    "report_per_command",
    "progress",
    "rate",
    "latency_limit",
    "connect",
    "max_tries",
    "random_seed",
    "failures_detailed",
    "pgbench_undefined",
];

/// Options that have an effect in an initialization only.
const OF_INITIALIZATIONS: [&str; 5] =
    ["init_steps", "fillfactor", "foreign_keys", "unlogged_tables", "quiet"];

/// An option of pgbench that rqps refuses.
struct RefusedOption {
    short: Option<char>,
    long: &'static str,
    takes_value: bool,
    why: &'static str,
}

const fn refused(
    short: Option<char>,
    long: &'static str,
    takes_value: bool,
    why: &'static str,
) -> RefusedOption {
    RefusedOption { short, long, takes_value, why }
}

const NO_URL: &str = "name the server by its URL, as in postgres://USER@HOST:PORT/DATABASE";
const NO_LOG: &str = "rqps keeps no log of single transactions. Use -P or -r";
const NO_PARTITIONS: &str = "rqps makes pgbench's tables without partitions";
const NO_TABLESPACES: &str = "rqps makes pgbench's tables in the default tablespace";

const REFUSED: [RefusedOption; 14] = [
    refused(Some('h'), "host", true, NO_URL),
    refused(Some('p'), "port", true, NO_URL),
    refused(Some('U'), "username", true, NO_URL),
    refused(Some('d'), "debug", false, "rqps has no such trace. Use log_statement=all"),
    refused(Some('l'), "log", false, NO_LOG),
    refused(None, "log-prefix", true, NO_LOG),
    refused(None, "sampling-rate", true, NO_LOG),
    refused(None, "aggregate-interval", true, NO_LOG),
    refused(None, "progress-timestamp", false, "rqps shows the time since the start only"),
    refused(None, "partitions", true, NO_PARTITIONS),
    refused(None, "partition-method", true, NO_PARTITIONS),
    refused(None, "tablespace", true, NO_TABLESPACES),
    refused(None, "index-tablespace", true, NO_TABLESPACES),
    refused(None, "verbose-errors", false, "rqps tells the first error, and counts the others"),
];

/// What was asked for. Names and letters are pgbench's.
#[derive(Args)]
pub(crate) struct Given {
    /// Contender; several are compared
    ///
    /// A build is started with tables of its own. A server, by its URL, is used as it is: -i makes
    /// the tables there.
    #[arg(value_name = "CONTENDER")]
    contenders: Vec<Sweep>,
    /// Make pgbench's tables, and run nothing.
    #[arg(short, long, help_heading = INITIALIZATION)]
    pub(super) initialize: bool,
    /// Steps of the initialization, by their letters [default: dtgvp].
    #[arg(short = 'I', long, value_name = "STEPS", help_heading = INITIALIZATION)]
    pub(super) init_steps: Option<String>,
    /// Size of the tables: 100,000 accounts for each 1 [default: 1].
    #[arg(short, long, value_name = "N", help_heading = INITIALIZATION,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) scale: Option<u32>,
    /// Fill the pages of the tables to this percentage.
    #[arg(short = 'F', long, value_name = "N", help_heading = INITIALIZATION,
        value_parser = clap::value_parser!(u8).range(10..=100))]
    pub(super) fillfactor: Option<u8>,
    /// Make foreign keys.
    #[arg(long, help_heading = INITIALIZATION)]
    pub(super) foreign_keys: bool,
    /// Make unlogged tables.
    #[arg(long, help_heading = INITIALIZATION)]
    pub(super) unlogged_tables: bool,
    /// Accepted for pgbench's sake: the progress is short anyway.
    #[arg(short, long, help_heading = INITIALIZATION)]
    quiet: bool,
    /// Leave out the vacuum, of an initialization or before a run.
    #[arg(short, long, help_heading = MEASURE, action = ArgAction::Count)]
    pub(super) no_vacuum: u8,
    /// Run the script of a file, with a weight [may be repeated].
    #[arg(short, long, value_name = "FILE[@WEIGHT]", help_heading = MEASURE)]
    file: Vec<String>,
    /// Run a builtin script by its name or a beginning; list shows them
    ///
    /// [default: tpcb-like]
    #[arg(short, long, value_name = "NAME[@WEIGHT]", help_heading = MEASURE)]
    builtin: Vec<String>,
    /// Run the builtin script simple-update.
    #[arg(short = 'N', long, help_heading = MEASURE, num_args = 0, default_missing_value = "",
        action = ArgAction::Append)]
    skip_some_updates: Vec<String>,
    /// Run the builtin script select-only.
    #[arg(short = 'S', long, help_heading = MEASURE, num_args = 0, default_missing_value = "",
        action = ArgAction::Append)]
    select_only: Vec<String>,
    /// Show a builtin script, and run nothing.
    #[arg(long, value_name = "NAME", help_heading = MEASURE)]
    pub(super) show_script: Option<String>,
    /// Number of clients.
    #[arg(short, long, value_name = "N", help_heading = MEASURE, default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) client: u32,
    /// Ignored: rqps has a thread for each client.
    #[arg(short, long, value_name = "N", help_heading = MEASURE,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: Option<u32>,
    /// Transactions of each client [default: 10].
    #[arg(short, long, value_name = "N", help_heading = MEASURE, conflicts_with = "time",
        value_parser = clap::value_parser!(u64).range(1..=i32::MAX as u64))]
    pub(super) transactions: Option<u64>,
    /// Seconds to run for.
    #[arg(short = 'T', long, value_name = "SECONDS", help_heading = MEASURE,
        value_parser = clap::value_parser!(u64).range(1..=i32::MAX as u64))]
    pub(super) time: Option<u64>,
    /// How statements are sent: simple, extended or prepared [default: simple].
    #[arg(short = 'M', long, value_name = "MODE", help_heading = MEASURE)]
    pub(super) protocol: Option<QueryMode>,
    /// Set a variable of the scripts [may be repeated].
    #[arg(short = 'D', long, value_name = "NAME=VALUE", help_heading = MEASURE)]
    pub(super) define: Vec<String>,
    /// Transactions per second of all clients together.
    #[arg(short = 'R', long, value_name = "N", help_heading = MEASURE, value_parser = positive)]
    pub(super) rate: Option<f64>,
    /// Count slower transactions; with -R, skip those that are too late
    #[arg(short = 'L', long, value_name = "MS", help_heading = MEASURE, value_parser = positive)]
    pub(super) latency_limit: Option<f64>,
    /// Connect for each transaction.
    #[arg(short = 'C', long, help_heading = MEASURE)]
    pub(super) connect: bool,
    /// Tries of a transaction after serialization failures and deadlocks; 0 for any number.
    #[arg(long, value_name = "N", help_heading = MEASURE, default_value_t = 1)]
    pub(super) max_tries: u32,
    /// Seed of all random draws: a number, or time or rand for another one each time.
    #[arg(long, value_name = "SEED", help_heading = MEASURE)]
    pub(super) random_seed: Option<String>,
    /// Send NULL for a variable without a value, as pgbench does.
    #[arg(long, help_heading = MEASURE)]
    pub(super) pgbench_undefined: bool,
    /// Let scripts run programs by \shell and \setshell, as the user of servers.
    #[arg(long, help_heading = MEASURE)]
    pub(super) allow_shell: bool,
    /// Report the latency of each command.
    #[arg(short, long, help_heading = OUTPUT)]
    pub(super) report_per_command: bool,
    /// Show the progress after each of these seconds.
    #[arg(short = 'P', long, value_name = "SECONDS", help_heading = OUTPUT,
        value_parser = clap::value_parser!(u64).range(1..=i32::MAX as u64))]
    pub(super) progress: Option<u64>,
    /// Report failures by their kinds.
    #[arg(long, help_heading = OUTPUT)]
    pub(super) failures_detailed: bool,
}

/// A number above zero.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "a number above 0 was expected".to_string())
}

pub(crate) struct Arguments {
    pub(super) given: Given,
    /// Scripts in their order, and whether they are builtin.
    pub(super) scripts: Vec<(String, bool)>,
}

impl Arguments {
    pub(super) fn contenders(&self) -> Vec<Contender> {
        self.given.contenders.iter().flat_map(|sweep| sweep.0.clone()).collect()
    }

    pub(super) fn lists_builtins(&self) -> bool {
        self.scripts.iter().any(|(name, is_builtin)| *is_builtin && name == "list")
    }

    pub(super) fn limits(&self) -> RunLimits {
        let given = &self.given;
        let transactions = given.transactions.or(given.time.is_none().then_some(10));
        RunLimits {
            transactions,
            seconds: given.time,
            rate: given.rate,
            latency_limit: given.latency_limit,
            max_tries: given.max_tries,
            reconnects: given.connect,
            per_command: given.report_per_command,
            progress: given.progress,
            is_detailed: given.failures_detailed,
        }
    }

    /// The seed of a run: one of its own each time if none is given.
    pub(super) fn seed(&self) -> anyhow::Result<u64> {
        match self.given.random_seed.as_deref() {
            None | Some("time" | "rand") => Ok(jiff::Timestamp::now().as_nanosecond() as u64),
            Some(text) => text.parse().map_err(|_| {
                anyhow::anyhow!(
                    "unrecognized random seed '{text}'. Write an unsigned integer, time or rand"
                )
            }),
        }
    }
}

impl Args for Arguments {
    fn augment_args(command: Command) -> Command {
        let refused = REFUSED.iter().map(|option| {
            let action = if option.takes_value { ArgAction::Append } else { ArgAction::Count };
            let arg = Arg::new(option.long).long(option.long).hide(true).action(action);
            match option.short {
                Some(short) => arg.short(short),
                None => arg,
            }
        });
        // The letter is pgbench's for a host.
        let help = Arg::new("help").long("help").action(ArgAction::Help).help("Print help");
        Given::augment_args(command).disable_help_flag(true).arg(help).args(refused)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Arguments::augment_args(command)
    }
}

impl FromArgMatches for Arguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let wrong = |what: String| Err(clap::Error::raw(ErrorKind::ArgumentConflict, what + "\n"));
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        if let Some(option) = REFUSED.iter().find(|option| is_given(option.long)) {
            return wrong(format!("cannot use --{}: {}", option.long, option.why));
        }
        let given = Given::from_arg_matches(matches)?;
        let flag = |id: &&&str| format!("--{}", id.replace('_', "-"));
        let (these, mode) = match given.initialize {
            true => (&OF_RUNS[..], "initialization (-i)"),
            false => (&OF_INITIALIZATIONS[..], "benchmarking"),
        };
        if let Some(id) = these.iter().find(|id| is_given(id)) {
            return wrong(format!("{} cannot be used in {mode}. Drop it", flag(&id)));
        }
        if given.max_tries == 0 && given.latency_limit.is_none() && given.time.is_none() {
            let what = "--max-tries 0 needs an end: add -T or --latency-limit";
            return wrong(what.to_string());
        }
        let mut scripts: Vec<(usize, String, bool)> = Vec::new();
        for id in SCRIPTS {
            let Some(indices) = matches.indices_of(id).filter(|_| is_given(id)) else { continue };
            let texts = matches.get_many::<String>(id).unwrap_or_default();
            for (index, text) in indices.zip(texts) {
                let (name, is_builtin) = match id {
                    "file" => (text.as_str(), false),
                    "builtin" => (text.as_str(), true),
                    "select_only" => ("select-only", true),
                    _ => ("simple-update", true),
                };
                scripts.push((index, name.to_string(), is_builtin));
            }
        }
        scripts.sort_by_key(|(index, ..)| *index);
        let scripts = scripts.into_iter().map(|(_, name, is_builtin)| (name, is_builtin));
        Ok(Arguments { given, scripts: scripts.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Arguments::from_arg_matches(matches)?;
        Ok(())
    }
}
