//! The command line: one file per verb. A verb turns its flags into a plan and hands it to the lab;
//! only this folder parses flags, prints and exits.

mod build;
mod cancel;
mod clean;
mod compare;
mod completions;
mod configs;
mod contenders;
mod dbms;
mod doctor;
#[cfg(test)]
mod documents;
mod exit;
mod index;
mod log;
mod man;
mod matrix;
mod method;
mod output;
mod plan;
mod progress;
mod report;
mod run;
mod selftest;
mod session;
mod single;
mod slips;
#[cfg(test)]
mod suggestions;
mod units;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use exit::Exit;

/// A benchmark lab for databases: which build or config is faster, slower or the same.
#[derive(Parser)]
#[command(name = "rqps", version, arg_required_else_help = true, infer_subcommands = true)]
#[command(after_help = "\
Contenders: [LABEL=]<dbms>[@<build>][/<engine>][:<config>][?<setting>=<value>&…]
  sqlite                            the SQLite in rqps
  sqlite?mmap_size=256M             … with a pragma
  postgres@17.6  mysql@8.0.33       builds that rqps fetches
  mariadb@10.11/rocksdb             … with another engine: MyRocks
  postgres@17.6:x10a                … with a published config: see rqps dbms configs
  postgres@17.6:./my.conf           … with a config of your own
  big=postgres@17.6?work_mem=64MB   … with a setting, under a label
  postgres@/opt/pg/head             your own build: a directory with bin/postgres
  postgres://user@host/db           a server that is already running
  'postgres@{17.6,18.0}:x10{a,b}'   several at once

Exit codes: 0 done, 1 regression (compare), 2 usage or plan, 3 a step or check failed, 4 write rate missed (--strict),
5 selftest failed; with --strict also machine unfit or verdicts undecided,
130 interrupted")]
struct Cli {
    /// Log server starts, discarded measurements and retries; -vv: every program too
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Who is slower than the first, by how much, and why?
    Compare(compare::Arguments),
    #[command(flatten)]
    Single(single::Single),
    /// Run a whole matrix: the workloads of a plan file, in turn.
    Run(run::Arguments),
    /// Show what a plan file comes to, with the time and disk it will take.
    Plan(plan::Arguments),
    /// Make the reports of a run again from its stored data.
    Report(report::Arguments),
    /// Get, start and look into the databases themselves.
    #[command(subcommand)]
    Dbms(dbms::Verb),
    /// Is this machine fit to measure on?
    Doctor(doctor::Arguments),
    /// Are rqps's verdicts true on this machine? A build against itself, as it is and slowed down.
    Selftest(selftest::Arguments),
    /// Print what a shell needs to complete verbs and flags.
    Completions(completions::Arguments),
    /// Print the manual page, or write all of them: rqps man | man -l -
    Man(man::Arguments),
}

pub(crate) fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    progress::tell_of_waiting();
    let begun = log::begin(cli.verbose);
    let result = begun.and_then(|()| match cli.verb {
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Single(single) => single.run(),
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Dbms(verb) => dbms::run(&verb),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Selftest(arguments) => selftest::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments, Cli::command()),
        Verb::Man(arguments) => man::run(&arguments, Cli::command()),
    });
    let exit = result.unwrap_or_else(|error| {
        let meant = slips::suggestion(&error).map_or(String::new(), |meant| format!("; {meant}"));
        output::note(&format!("error: {}{meant}", output::told(&error)));
        exit::of(&error)
    });
    exit.into()
}

fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let arguments: Vec<_> = std::env::args_os().collect();
    contenders::hide_passwords(&arguments);
    let matches = command.try_get_matches_from_mut(arguments)?;
    if let Some((name, of_verb)) = matches.subcommand()
        && let Some(verb) = command.find_subcommand(name)
        && let ignored @ [_, ..] = &session::ignored(verb, of_verb)[..]
    {
        let flags = ignored.join(", ");
        let reason = format!(
            "a run is gone on with as it was planned: leave {flags} away, or begin another run\n"
        );
        return Err(command.error(ErrorKind::ArgumentConflict, reason));
    }
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// A wrong value is told in one line; for everything else clap's own text is the help.
fn refuse(error: &clap::Error) -> ExitCode {
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
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

/// What clap finds wrong, in one line.
fn refusal(error: &clap::Error) -> String {
    let mut text = error.to_string();
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    if value.contains('\n') {
        text = text.replace(value, &value.escape_debug().to_string());
    }
    let line = text.lines().next().unwrap_or("error: a wrong value");
    match (error.get(ContextKind::ValidValue), slips::build_meant(value)) {
        (Some(ContextValue::Strings(allowed)), _) => {
            format!("{line}: there are: {}", allowed.join(", "))
        }
        (_, Some(meant)) => format!("{line}; {meant}"),
        _ => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
