//! The verbs that have each contender run a workload once, such as `rqps ibench`: their flags are
//! those of the workload.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use rqps_analysis::comparison::FailOn;
use rqps_lab::Restarts;
use rqps_plan::{Contender, Design, Plan};
use rqps_workload::{Dialect, VERBS, Verb};

use super::contenders::Contenders;
use super::exit::Exit;
use super::output;
use super::session::{self, Session};

/// What was asked for.
pub(crate) struct Single {
    verb: &'static Verb,
    given: ArgMatches,
    contenders: Contenders,
    session: Session,
    /// Whose statements are shown, in place of a run.
    pub(crate) shown: Option<Contender>,
}

/// The verb below a verb that shows statements, and its argument.
const SHOW: &str = "show";
const DBMS: &str = "dbms";

/// The command of a verb, with its flags.
pub(crate) fn command(verb: &Verb, command: Command) -> Command {
    Session::augment_args(verb.flags(Contenders::augment_args(command)))
}

impl Single {
    fn of(verb: &'static Verb, given: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Single {
            verb,
            given: given.clone(),
            contenders: Contenders::from_arg_matches(given)?,
            session: Session::from_arg_matches(given)?,
            shown: match given.subcommand() {
                Some((SHOW, given)) => given.get_one::<Contender>(DBMS).cloned(),
                _ => None,
            },
        })
    }

    /// The plan that the flags of a verb come to.
    pub(crate) fn read(verb: &'static Verb, given: &ArgMatches) -> anyhow::Result<Plan> {
        Single::of(verb, given)?.plan()
    }

    pub(crate) fn plan(&self) -> anyhow::Result<Plan> {
        let plan = Plan {
            contenders: self.contenders.all(),
            seed: self.session.seed,
            cache: self.session.cache(),
            memory: self.session.memory,
            design: Design::Single(self.verb.read(&self.given)?),
        };
        plan.validate()?;
        Ok(plan)
    }

    pub(crate) fn run(&self) -> anyhow::Result<Exit> {
        let Single { verb, contenders, session, shown, .. } = self;
        if let Some((contender, statements)) = shown.as_ref().zip(verb.statements) {
            output::print(&script(&statements(Dialect::from(contender))))?;
            return Ok(Exit::Done);
        }
        let session = (session, FailOn::Regression, Restarts::default());
        session::run(verb.name, session, &contenders.all(), || self.plan(), |_| Ok(()))
    }
}

/// Statements as a script, with the names of what they belong to as comments.
fn script(statements: &[(&'static str, Vec<String>)]) -> String {
    let part = |(name, texts): &(&str, Vec<String>)| format!("-- {name}\n{};\n", texts.join(";\n"));
    statements.iter().map(part).collect::<Vec<_>>().join("\n")
}

/// The verb that shows statements.
fn show() -> Command {
    let dbms = Arg::new(DBMS).value_name("DBMS").required(true);
    let dbms = dbms.help("Contender, such as postgres or mariadb@11.4/rocksdb");
    Command::new(SHOW)
        .about("Print the SQL of its transactions")
        .arg(dbms.value_parser(value_parser!(Contender)))
}

impl Subcommand for Single {
    fn augment_subcommands(parent: Command) -> Command {
        let add = |parent: Command, verb: &Verb| {
            // The flags of a struct bring its description.
            let command = command(verb, Command::new(verb.name)).about(verb.about);
            parent.subcommand(match verb.statements {
                Some(_) => command
                    .override_usage(format!("rqps {} [OPTIONS] [CONTENDER]...", verb.name))
                    .subcommand(show())
                    .disable_help_subcommand(true)
                    .args_conflicts_with_subcommands(true)
                    .subcommand_negates_reqs(true),
                None => command,
            })
        };
        VERBS.iter().fold(parent, add)
    }

    fn augment_subcommands_for_update(parent: Command) -> Command {
        Single::augment_subcommands(parent)
    }

    fn has_subcommand(name: &str) -> bool {
        VERBS.iter().any(|verb| verb.name == name)
    }
}

impl FromArgMatches for Single {
    fn from_arg_matches(given: &ArgMatches) -> Result<Self, clap::Error> {
        let verb = given.subcommand().and_then(|(name, flags)| {
            let verb = VERBS.iter().find(|verb| verb.name == name)?;
            Some((verb, flags))
        });
        match verb {
            Some((verb, flags)) => Single::of(verb, flags),
            None => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
        }
    }

    fn update_from_arg_matches(&mut self, given: &ArgMatches) -> Result<(), clap::Error> {
        *self = Single::from_arg_matches(given)?;
        Ok(())
    }
}
