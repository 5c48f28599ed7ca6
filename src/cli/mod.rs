//! The command line: one file per verb. A verb turns its flags into a plan and hands it to the lab;
//! only this folder parses flags, prints and exits.

mod bisect;
mod build;
mod cancel;
mod capture;
mod clean;
mod compare;
mod completions;
mod configs;
mod contenders;
mod dbms;
mod doctor;
#[cfg(test)]
mod documents;
mod errors;
mod exit;
mod files;
mod fleet;
mod forecast;
mod git_exit;
mod headings;
mod index;
mod load_errors;
mod log;
mod man;
mod matrix;
mod method;
mod output;
mod pgbench;
mod plan;
mod production;
mod progress;
mod reached;
mod report;
mod rocksdb_worker;
mod run;
mod run_reports;
mod selftest;
mod session;
mod single;
mod slips;
mod sql;
#[cfg(test)]
mod suggestions;
mod sysbench;
mod table;
mod track;
mod units;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use errors::{refusal, tell};
use exit::Exit;

/// Measure which database build or config is faster, slower or the same.
#[derive(Parser)]
#[command(name = "rqps", version, arg_required_else_help = true, infer_subcommands = true)]
#[command(after_help = "\
Contenders: [LABEL=]<dbms>[@<build>][/<engine>][:<config>][?<setting>=<value>&…]
  sqlite                            the SQLite that is part of rqps
  sqlite?mmap_size=256M             … with a pragma
  postgres@17.6  mysql@8.0.33       builds that rqps fetches
  mariadb@10.11/rocksdb             … with another engine: MyRocks
  postgres@17.6:x10a                … with a config of rqps dbms configs
  postgres@17.6:./my.conf           … with a config of your own
  big=postgres@17.6?work_mem=64MB   … with a setting, under a label
  postgres@/opt/pg/head             your own build, with bin/postgres
  postgres@image:./x.tar            the server in a container's image, by file or name
  rocksdb@10.4.2?cache=hyper        RocksDB, with a setting: for db_bench's workloads
  postgres://user@host/db           a remote server, which rqps does not start
  big=postgres://h/db?set.jit=off   … with a setting of its sessions
  'postgres@{17.6,18.0}:x10{a,b}'   several contenders at once

Exit codes:
  0    done
  1    compare or track found a regression, or compare a wrong answer
  2    the command or plan is wrong
  3    a step, check or server failed
  4    a write rate was missed (with --strict)
  5    the selftest failed; with --strict: unfit machine or undecided verdict
  75   fleet cell: the machine is busy; try again later
  130  interrupted")]
struct Cli {
    /// Log server starts, discarded measurements and retries; -vv: also each program
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Compare builds or configs with a baseline.
    #[command(mut_args = compare::in_short_help)]
    Compare(compare::Arguments),
    /// Find the release or the commit that changed the speed
    ///
    /// GOOD and BAD are two releases, which are compared with all between them, or two commits of a
    /// checkout (--repo), as postgres@git:REL_17_6: commits are built and compared with GOOD until
    /// one of them is the change, with a probability. Exit codes: 0 also if nothing is found.
    Bisect(bisect::Arguments),
    #[command(flatten)]
    Single(single::Single),
    /// Run pgbench's scripts, with pgbench's options
    ///
    /// One contender gets a report in pgbench's form; several are compared, as by rqps compare
    /// --workload pgbench:SCRIPT. Exit codes with one contender: 1 before the run, 2 in it.
    Pgbench(pgbench::Arguments),
    /// Run a Lua script of sysbench, with sysbench's options
    ///
    /// Words are [OPTIONS] SCRIPT COMMAND [CONTENDER]…, and --help lists the options. One
    /// contender, or the server that the options name, gets a report in sysbench's form; several
    /// are compared, as by rqps compare --workload lua:SCRIPT. Exit codes with one contender: 1 if
    /// something fails, 2 after a forced shutdown.
    Sysbench(sysbench::Arguments),
    /// Run the workloads of a plan file, one after another.
    Run(run::Arguments),
    /// Show what a plan file expands to, with its time and disk.
    Plan(plan::Arguments),
    /// Measure a build every night against an anchor, and find what has changed.
    #[command(subcommand)]
    Track(track::Verb),
    /// Make reports from the stored data of one or several runs.
    Report(report::Arguments),
    /// Compare on many machines, by a scheduler that is there already.
    #[command(subcommand)]
    Fleet(fleet::Verb),
    /// Check folders of your own SQL, or capture them from a server or a log.
    #[command(subcommand)]
    Sql(sql::Verb),
    /// The same as rqps sql capture.
    #[command(hide = true)]
    Capture(capture::Arguments),
    /// Fetch, build, start and inspect DBMSs.
    #[command(subcommand)]
    Dbms(dbms::Verb),
    /// Check whether this machine is fit to measure on.
    Doctor(doctor::Arguments),
    /// Check rqps's verdicts on this machine, where the truth is known.
    Selftest(selftest::Arguments),
    /// Print shell completions.
    Completions(completions::Arguments),
    /// Print the manual page, or write all of them: rqps man | man -l -
    Man(man::Arguments),
    /// Load RocksDB and answer requests: rqps starts itself with this verb.
    #[command(hide = true)]
    RocksdbWorker(rocksdb_worker::Arguments),
}

pub(crate) fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err((error, exit)) => return refuse(&error, exit),
    };
    progress::tell_of_waiting();
    let begun = log::begin(cli.verbose);
    let result = begun.and_then(|()| match cli.verb {
        Verb::Compare(mut arguments) => {
            let is_for_git = arguments.is_for_git();
            let ended = compare::run(&arguments);
            if !is_for_git {
                return ended;
            }
            ended.as_ref().err().into_iter().for_each(tell);
            Ok(git_exit::translated(&ended))
        }
        Verb::Bisect(arguments) => bisect::run(&arguments),
        Verb::Single(single) => single.run(),
        Verb::Pgbench(arguments) => pgbench::run(&arguments),
        Verb::Sysbench(arguments) => sysbench::run(&arguments),
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Track(verb) => track::run(&verb),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Fleet(verb) => fleet::run(&verb),
        Verb::Sql(verb) => sql::run(&verb),
        Verb::Capture(arguments) => capture::run(&arguments),
        Verb::Dbms(verb) => dbms::run(&verb),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Selftest(arguments) => selftest::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments, Cli::command()),
        Verb::Man(arguments) => man::run(&arguments, Cli::command()),
        Verb::RocksdbWorker(arguments) => rocksdb_worker::run(arguments),
    });
    let exit = result.unwrap_or_else(|error| {
        tell(&error);
        exit::of(&error)
    });
    exit.into()
}

/// The command line, or what is wrong with it and how that ends the program.
fn parse() -> Result<Cli, (clap::Error, Exit)> {
    let arguments: Vec<_> = std::env::args_os().collect();
    contenders::hide_passwords(&arguments);
    let lenient = Cli::command().ignore_errors(true).try_get_matches_from(&arguments);
    // Several contenders are a comparison, with the exit codes of one.
    let is_pgbench = lenient.is_ok_and(|it| {
        it.subcommand().is_some_and(|(name, of)| name == pgbench::VERB && !pgbench::compares(of))
    });
    let is_for_git = arguments.iter().any(|word| word == compare::GIT_EXIT);
    let exit = match (is_pgbench, is_for_git) {
        (true, _) => Exit::ScriptRefused,
        (_, true) => Exit::GitStops,
        _ => Exit::Usage,
    };
    read(arguments).map_err(|error| (error, exit))
}

fn read(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    if let Some((name, of_verb)) = matches.subcommand()
        && let Some(verb) = command.find_subcommand(name)
        && let ignored @ [_, ..] = &session::ignored(verb, of_verb)[..]
    {
        let (flags, them) = (ignored.join(", "), if ignored.len() == 1 { "it" } else { "them" });
        let reason =
            format!("cannot change {flags} of a resumed run. Drop {them}, or use another --out\n");
        return Err(command.error(ErrorKind::ArgumentConflict, reason));
    }
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Reports a wrong value in one line; everything else has clap's own text.
fn refuse(error: &clap::Error, exit: Exit) -> ExitCode {
    match error.kind() {
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => output::note(&refusal(error)),
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // It goes to a terminal or nowhere.
            drop(error.print());
        }
        // It has what was typed.
        _ => output::note(error.render().to_string().trim_end()),
    }
    if error.use_stderr() { exit.into() } else { Exit::Done.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_short_help_of_compare_fits_a_screen_and_every_option_in_it_exists() {
        let mut rqps = Cli::command().term_width(80);
        rqps.build();
        let compare = rqps.find_subcommand_mut(compare::VERB).unwrap();
        let help = compare.render_help().to_string();
        let lines = help.lines().count();
        assert!(lines <= 50, "{lines} lines:\n{help}");
        for name in compare::SHORT_HELP {
            assert!(help.contains(&format!("--{name}")), "{name}");
        }
        let all = compare.render_long_help().to_string();
        for hidden in ["--seed", "--max-rate", "--slo"] {
            assert!(!help.contains(hidden) && all.contains(hidden), "{hidden}");
        }
    }

    #[test]
    fn a_flag_without_its_value_says_what_to_do() {
        let told = |words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            refusal(&read(words).err().expect("it is refused"))
        };
        let told_of_host = told("rqps pgbench -h");
        assert!(
            told_of_host.ends_with("none was supplied. Write it, or see --help"),
            "{told_of_host}"
        );
        assert!(told("rqps report --format").contains("there are: text, markdown, json"));
    }
}
