//! What a script's statements become: its connections, its prepared statements, its random numbers,
//! and what is counted of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rqps_dbms::Dialect;
use rqps_load::Effect;
use rqps_wire::{Connection, Error, ErrorClass, Interrupter, Row, Statement, Target, Type};

use super::busy::InLua;
use super::random::{ScriptRandom, UniqueNumbers};
use super::statement::{SqlEffect, filled, may_write, pieces};
use super::values::{Kind, ParameterValue, send, written};
use crate::sql::refusal_of_text;

/// Where statements go.
#[derive(Clone, Debug)]
pub enum Reach {
    Server(Box<Target>),
    /// Nowhere: every statement succeeds, and every query returns a row. This shows what a script
    /// would do.
    Trial,
}

/// What all clients of a script share.
#[derive(Clone, Debug)]
pub struct HostSettings {
    pub reach: Reach,
    pub dialect: Dialect,
    /// Values are written into the texts of statements.
    pub is_emulating: bool,
    /// Numbers of MySQL's errors after which an event begins again.
    pub ignored: Vec<String>,
    /// A sleep would be measured.
    pub refuses_sleep: bool,
    /// Gets the first statement that may write, of a script that is taken for one that only reads.
    pub wrote: Option<Arc<Mutex<Option<String>>>>,
    pub unique: UniqueNumbers,
    /// Where `print` goes.
    pub output: Output,
}

/// Takes what a script prints.
#[derive(Clone)]
pub struct Output(pub Arc<dyn Fn(&str) + Send + Sync>);

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

impl Output {
    /// Nothing is shown.
    pub fn none() -> Output {
        Output(Arc::new(|_| {}))
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    Nothing,
    Rows(u64),
    Failed,
}

/// An error as scripts see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) errno: u32,
    pub(super) state: String,
    pub(super) message: String,
    pub(super) is_ignorable: bool,
}

/// MySQL's number for a connection that was lost, and for a statement that cannot be prepared.
const LOST: u32 = 2013;
const NOT_PREPARABLE: u32 = 1295;

/// States after which an event begins again on Postgres: a deadlock, a key that exists, and a
/// failed serialization.
const IGNORED_STATES: [&str; 3] = ["40P01", "23505", "40001"];

/// Columns of the row that a query of a trial returns.
const TRIAL_COLUMNS: usize = 16;

/// Of a statement that is used nevertheless.
const CLOSED: &str = "the script uses a statement that it has closed";

/// How often a server is tried that was lost.
const PAUSE: Duration = Duration::from_millis(1);

enum HostLink {
    Server(Box<dyn Connection>),
    Trial,
    Closed,
}

struct Session {
    link: HostLink,
    /// Counts its connections: what was prepared on an earlier one is gone.
    generation: u32,
    /// The rows of the last query, and its number.
    rows: Vec<Row>,
    serial: u64,
}

struct Prepared {
    session: usize,
    generation: u32,
    pieces: Vec<String>,
    kinds: Vec<Kind>,
    does: SqlEffect,
    how: How,
}

enum How {
    /// It is prepared when the types of its parameters are known.
    NotYet,
    Statement(Statement),
    Text,
    Closed,
}

pub(super) struct Host {
    settings: HostSettings,
    in_lua: InLua,
    sessions: Vec<Session>,
    statements: Vec<Prepared>,
    pub(super) random: ScriptRandom,
    pub(super) effect: Effect,
    pub(super) errors: u64,
    pub(super) reconnects: u64,
    /// What failed last, as scripts see it, and as it was.
    pub(super) told: Told,
    pub(super) failure: Option<Error>,
    /// Statements of a trial with values filled in; none if they are not wanted.
    pub(super) seen: Option<Vec<(String, String)>>,
    text: Vec<u8>,
}

impl Host {
    pub(super) fn new(settings: HostSettings, random: ScriptRandom, in_lua: InLua) -> Host {
        let seen = matches!(settings.reach, Reach::Trial).then(Vec::new);
        Host {
            settings,
            in_lua,
            sessions: Vec::new(),
            statements: Vec::new(),
            random,
            effect: Effect::default(),
            errors: 0,
            reconnects: 0,
            told: Told::default(),
            failure: None,
            seen,
            text: Vec::new(),
        }
    }

    pub(super) fn unique(&self) -> u32 {
        self.settings.unique.next()
    }

    pub(super) fn print(&self, text: &str) {
        (self.settings.output.0)(text);
    }

    pub(super) fn refuses_sleep(&self) -> bool {
        self.settings.refuses_sleep
    }

    pub(super) fn is_trial(&self) -> bool {
        matches!(self.settings.reach, Reach::Trial)
    }

    /// A handle for each of the connections that were opened so far. From now on the first waits
    /// without checking for cancellation.
    pub(super) fn interrupter(&self) -> Result<Interrupter, Error> {
        let first = self.sessions.iter().find_map(|session| match &session.link {
            HostLink::Server(connection) => Some(connection),
            _ => None,
        });
        match first {
            Some(connection) => connection.hand_over(),
            None => Err(Error::Client("the script has opened no connection in thread_init".into())),
        }
    }

    /// The first connection, for what is asked of its server.
    pub(super) fn connection(&mut self) -> Option<&mut dyn Connection> {
        self.sessions.iter_mut().find_map(|session| match &mut session.link {
            HostLink::Server(connection) => Some(&mut **connection as &mut dyn Connection),
            _ => None,
        })
    }

    fn link(&self) -> Result<HostLink, Error> {
        match &self.settings.reach {
            Reach::Server(target) => {
                Ok(HostLink::Server(self.in_lua.outside(|| target.connect())?))
            }
            Reach::Trial => Ok(HostLink::Trial),
        }
    }

    pub(super) fn connect(&mut self) -> Option<usize> {
        match self.link() {
            Ok(link) => {
                self.sessions.push(Session { link, generation: 0, rows: Vec::new(), serial: 0 });
                Some(self.sessions.len() - 1)
            }
            Err(error) => {
                self.fail(None, error);
                None
            }
        }
    }

    pub(super) fn disconnect(&mut self, id: usize) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.link = HostLink::Closed;
        }
    }

    pub(super) fn reconnect(&mut self, id: usize) -> bool {
        self.disconnect(id);
        match self.link() {
            Ok(link) => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.link = link;
                    session.generation += 1;
                }
                self.reconnects += 1;
                true
            }
            Err(error) => {
                self.fail(None, error);
                false
            }
        }
    }

    /// Sends a statement as text.
    pub(super) fn query(&mut self, id: usize, sql: &str) -> CallEnd {
        if self.is_refused(sql) {
            return CallEnd::Failed;
        }
        let does = SqlEffect::of_text(sql);
        self.note_write(sql);
        if let Some(seen) = &mut self.seen {
            seen.push((sql.to_string(), sql.to_string()));
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.closed() };
        session.serial += 1;
        session.rows.clear();
        let count = match (&mut session.link, does) {
            (HostLink::Closed, _) => return self.closed(),
            (HostLink::Trial, SqlEffect::ReturnRows) => {
                session.rows.push(vec![Some("1".to_string()); TRIAL_COLUMNS]);
                Ok(1)
            }
            (HostLink::Trial, _) => Ok(1),
            (HostLink::Server(connection), SqlEffect::ReturnRows) => {
                self.in_lua.outside(|| connection.query(sql)).map(|rows| {
                    session.rows = rows;
                    session.rows.len() as u64
                })
            }
            (HostLink::Server(connection), _) => self.in_lua.outside(|| connection.run(sql)),
        };
        self.ended(id, does, count)
    }

    fn ended(&mut self, id: usize, does: SqlEffect, count: Result<u64, Error>) -> CallEnd {
        match count {
            Ok(rows) => {
                self.effect += does.effect(rows);
                if does == SqlEffect::ReturnRows { CallEnd::Rows(rows) } else { CallEnd::Nothing }
            }
            Err(error) => {
                self.fail(Some(id), error);
                CallEnd::Failed
            }
        }
    }

    fn closed(&mut self) -> CallEnd {
        let what = "the script uses a connection that it has closed".to_string();
        self.fail(None, Error::Client(what));
        CallEnd::Failed
    }

    /// The number of the last query of a connection, and the columns of its rows.
    pub(super) fn result(&self, id: usize) -> (u64, usize) {
        let session = self.sessions.get(id);
        session.map_or((0, 0), |it| (it.serial, it.rows.first().map_or(0, Vec::len)))
    }

    /// A row of the query with this number, counted from 1. Each is taken once.
    pub(super) fn take_row(&mut self, id: usize, serial: u64, number: usize) -> Option<Row> {
        let session = self.sessions.get_mut(id).filter(|session| session.serial == serial)?;
        session.rows.get_mut(number.checked_sub(1)?).map(std::mem::take)
    }

    pub(super) fn prepare(&mut self, id: usize, sql: &str) -> Option<usize> {
        if self.is_refused(sql) {
            return None;
        }
        let generation = self.sessions.get(id).map_or(0, |session| session.generation);
        let (does, how) = (SqlEffect::of_text(sql), How::NotYet);
        self.note_write(sql);
        if self.settings.dialect == Dialect::POSTGRES && !self.settings.is_emulating {
            // sysbench draws the name of a statement.
            self.random.bits();
            self.random.bits();
        }
        let pieces = pieces(sql);
        let has_parameters = pieces.len() > 1;
        let kinds = Vec::new();
        self.statements.push(Prepared { session: id, generation, pieces, kinds, does, how });
        let number = self.statements.len() - 1;
        (has_parameters || self.make(number)).then_some(number)
    }

    pub(super) fn bind(&mut self, number: usize, kinds: Vec<Kind>) -> bool {
        let Some(statement) = self.statements.get_mut(number) else { return false };
        if matches!(statement.how, How::Closed) {
            self.fail(None, Error::Client(CLOSED.to_string()));
            return false;
        }
        let wanted = statement.pieces.len() - 1;
        if kinds.len() != wanted {
            let given = kinds.len();
            let what = format!("the statement has {wanted} parameters, but {given} are bound");
            self.fail(None, Error::Client(what));
            return false;
        }
        statement.kinds = kinds;
        matches!(statement.how, How::Statement(_) | How::Text) || self.make(number)
    }

    /// Prepares a statement on its connection.
    fn make(&mut self, number: usize) -> bool {
        let statement = &mut self.statements[number];
        let Some(session) = self.sessions.get_mut(statement.session) else { return false };
        let made = match &mut session.link {
            HostLink::Server(connection) if !self.settings.is_emulating => {
                let dialect = self.settings.dialect;
                let text = filled(&statement.pieces, |number| dialect.placeholder(number));
                let types: Vec<Type> = statement.kinds.iter().map(|kind| kind.declared()).collect();
                self.in_lua.outside(|| connection.prepare(&text, &types)).map(How::Statement)
            }
            HostLink::Closed => {
                Err(Error::Client("the connection of the statement is closed".into()))
            }
            _ => Ok(How::Text),
        };
        match made {
            Ok(how) => {
                statement.how = how;
                true
            }
            Err(error) if number_of(&error) == Some(NOT_PREPARABLE) => {
                statement.how = How::Text;
                true
            }
            Err(error) => {
                let session = statement.session;
                self.fail(Some(session), error);
                false
            }
        }
    }

    pub(super) fn execute(&mut self, number: usize, values: &[ParameterValue<'_>]) -> CallEnd {
        let Some(statement) = self.statements.get(number) else { return self.closed() };
        let (id, does) = (statement.session, statement.does);
        let Some(session) = self.sessions.get_mut(id) else { return self.closed() };
        if statement.generation != session.generation {
            let what = "the statement was prepared before its connection was made anew";
            self.fail(None, Error::Client(what.to_string()));
            return CallEnd::Failed;
        }
        match (&statement.how, &mut session.link) {
            (How::Statement(prepared), HostLink::Server(connection)) => {
                let (kinds, text) = (&statement.kinds, &mut self.text);
                let count =
                    self.in_lua.outside(|| send(connection, *prepared, kinds, values, text));
                self.ended(id, does, count)
            }
            (How::Text, HostLink::Server(_) | HostLink::Trial) => {
                let dialect = self.settings.dialect;
                let kinds = &statement.kinds;
                let shown = |number: usize| {
                    written(values.get(number - 1).copied(), kinds.get(number - 1), dialect)
                };
                let sql = filled(&statement.pieces, shown);
                if let (Some(seen), HostLink::Trial) = (&mut self.seen, &session.link) {
                    let text = filled(&statement.pieces, |_| "?".to_string());
                    seen.push((text, sql));
                    return self.ended(id, does, Ok(1));
                }
                match &mut session.link {
                    HostLink::Server(connection) => {
                        let count = self.in_lua.outside(|| connection.run(&sql));
                        self.ended(id, does, count)
                    }
                    _ => self.closed(),
                }
            }
            (How::Closed, _) => {
                self.fail(None, Error::Client(CLOSED.to_string()));
                CallEnd::Failed
            }
            (How::NotYet, _) => {
                let what = "bind_param was not called for the statement".to_string();
                self.fail(None, Error::Client(what));
                CallEnd::Failed
            }
            _ => self.closed(),
        }
    }

    pub(super) fn close(&mut self, number: usize) {
        let Some(statement) = self.statements.get_mut(number) else { return };
        let how = std::mem::replace(&mut statement.how, How::Closed);
        statement.pieces = Vec::new();
        let session = self.sessions.get_mut(statement.session);
        if let (How::Statement(prepared), Some(session)) = (how, session)
            && session.generation == statement.generation
            && let HostLink::Server(connection) = &mut session.link
        {
            // If this fails, so does the next statement on the connection.
            let _ = connection.close(prepared);
        }
    }

    fn note_write(&self, sql: &str) {
        if let Some(wrote) = &self.settings.wrote
            && may_write(sql)
            && let Ok(mut wrote) = wrote.lock()
        {
            wrote.get_or_insert_with(|| sql.to_string());
        }
    }

    /// Whether a statement reaches beyond the contender's own data; this fails then.
    fn is_refused(&mut self, sql: &str) -> bool {
        let what = refusal_of_text(sql, self.settings.dialect.lexis);
        what.map(|what| self.fail(None, Error::Client(what))).is_some()
    }

    /// Remembers an error, and does what lets the event begin again if it may.
    fn fail(&mut self, id: Option<usize>, error: Error) {
        let is_postgres = self.settings.dialect == Dialect::POSTGRES;
        let mut told = told(&error);
        let is_listed = |number: u32| {
            let number = number.to_string();
            self.settings.ignored.iter().any(|one| *one == number || one == "all")
        };
        told.is_ignorable = match &error {
            Error::Server { class: ErrorClass::Gone, .. } => false,
            Error::Server { .. } if is_postgres => IGNORED_STATES.contains(&told.state.as_str()),
            // Another connection writes; SQLite asks to try again.
            Error::Server { class: ErrorClass::Retry, .. }
                if self.settings.dialect.has_one_writer =>
            {
                true
            }
            Error::Server { .. } => is_listed(told.errno),
            _ => false,
        };
        if let (true, true, Some(id)) = (is_postgres, told.is_ignorable, id)
            && let Some(Session { link: HostLink::Server(connection), .. }) =
                self.sessions.get_mut(id)
            && let Err(lost) = connection.run("ROLLBACK")
        {
            told.is_ignorable = false;
            self.failure = Some(lost);
            self.told = told;
            return;
        }
        let is_lost = matches!(error, Error::Closed | Error::Io(_));
        if let (true, Some(id)) = (is_lost && !is_postgres && is_listed(LOST), id) {
            told.is_ignorable = self.connect_again(id);
        }
        self.failure = Some(error);
        self.told = told;
    }

    /// Connects as soon as the server is there again; cancelling ends that.
    fn connect_again(&mut self, id: usize) -> bool {
        loop {
            match self.link() {
                Ok(link) => {
                    let Some(session) = self.sessions.get_mut(id) else { return false };
                    session.link = link;
                    session.generation += 1;
                    self.reconnects += 1;
                    return true;
                }
                Err(Error::Connect { .. } | Error::Closed | Error::Io(_)) => {
                    std::thread::sleep(PAUSE);
                }
                Err(_) => return false,
            }
        }
    }
}

/// MySQL's number of an error.
fn number_of(error: &Error) -> Option<u32> {
    match error {
        Error::Server { code, .. } => code.split_once(", ")?.0.parse().ok(),
        _ => None,
    }
}

fn told(error: &Error) -> Told {
    match error {
        Error::Server { code, message, .. } => {
            let (errno, state) = match code.split_once(", ") {
                Some((number, state)) => (number.parse().unwrap_or(0), state.to_string()),
                None => (0, code.clone()),
            };
            let message = message.clone();
            Told { errno, state, message, is_ignorable: false }
        }
        Error::Closed | Error::Io(_) => Told {
            errno: LOST,
            state: "HY000".to_string(),
            message: error.to_string(),
            is_ignorable: false,
        },
        other => Told { message: other.to_string(), ..Told::default() },
    }
}

/// Shared by a Lua state and its owner.
pub(super) type SharedHost = Arc<Mutex<Host>>;
