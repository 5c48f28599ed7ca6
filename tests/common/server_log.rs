//! The statements that a Postgres server received, from its own log.

use std::fs;
use std::path::Path;

/// Settings with which a server logs every statement with its session.
pub(crate) const LOGGED: &str = "log_statement=all&log_line_prefix=%c|";

/// The beginning of a step: rqps reads the table before it changes it.
const LOOK_BEFORE: &str = "select count(*), coalesce(max(transactionid), 0) from pi1";

/// One statement as the server received it.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// Its place in the log.
    pub(crate) at: usize,
    pub(crate) text: String,
    /// Whether it was prepared before it was executed.
    pub(crate) prepared: bool,
    /// The integer parameters of a prepared statement.
    pub(crate) parameters: Vec<i64>,
}

/// The statements of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    id: String,
    pub(crate) statements: Vec<Statement>,
}

impl Session {
    fn first(&self) -> &str {
        &self.statements[0].text
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        self.statements.iter().map(|statement| statement.text.as_str()).collect()
    }
}

/// The sessions of one step, by their work.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) inserters: Vec<Session>,
    pub(crate) deleters: Vec<Session>,
    pub(crate) queries: Vec<Session>,
    pub(crate) indexers: Vec<Session>,
    /// Vacuum and checkpoint, before the next step begins.
    pub(crate) maintenance: Vec<Session>,
}

impl Step {
    /// Statements of its connections in the order in which they reached the server.
    pub(crate) fn writes(&self) -> Vec<&Statement> {
        let sessions = self.inserters.iter().chain(&self.deleters);
        let mut writes: Vec<_> = sessions.flat_map(|session| &session.statements).collect();
        writes.sort_by_key(|statement| statement.at);
        writes
    }
}

/// The server's log, read.
pub(crate) struct ServerLog {
    pub(crate) sessions: Vec<Session>,
}

impl ServerLog {
    /// Reads the only log of a run directory.
    pub(crate) fn of(run: &Path) -> ServerLog {
        let logs = super::entries(&run.join("logs"));
        assert_eq!(logs.len(), 1, "one log: {logs:?}");
        ServerLog::read(&run.join("logs").join(&logs[0]))
    }

    pub(crate) fn read(log: &Path) -> ServerLog {
        let text = fs::read_to_string(log).unwrap();
        let mut sessions: Vec<Session> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let Some((id, message)) = line.split_once('|') else { continue };
            if let Some(parameters) = parameters(message) {
                let session = session(&mut sessions, id);
                session.statements.last_mut().expect("what they belong to").parameters = parameters;
                continue;
            }
            let (text, prepared) = match message.strip_prefix("LOG:  statement: ") {
                Some(text) => (text, false),
                None => match message.strip_prefix("LOG:  execute s") {
                    Some(rest) => (rest.split_once(": ").unwrap().1, true),
                    None => continue,
                },
            };
            let (text, parameters) = (text.to_string(), Vec::new());
            session(&mut sessions, id).statements.push(Statement {
                at,
                text,
                prepared,
                parameters,
            });
        }
        ServerLog { sessions }
    }

    pub(crate) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.sessions.iter().flat_map(|session| &session.statements)
    }

    /// The sessions by step. A connection belongs to the step that it was opened in.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for session in &self.sessions {
            if session.first() == LOOK_BEFORE {
                steps.push(Step::default());
            }
            let Some(step) = steps.last_mut() else { continue };
            let does = |start: &str| session.texts().iter().any(|text| text.starts_with(start));
            let kind = if does("insert") {
                &mut step.inserters
            } else if does("delete") {
                &mut step.deleters
            } else if does("create index") {
                &mut step.indexers
            } else if does("vacuum") || does("checkpoint") {
                &mut step.maintenance
            } else if does("explain") {
                // The query plans that are stored with the step's statements.
                continue;
            } else if session.statements.iter().any(|s| s.text.contains(" limit 10") || s.prepared)
            {
                &mut step.queries
            } else {
                continue;
            };
            kind.push(session.clone());
        }
        steps
    }
}

fn session<'a>(sessions: &'a mut Vec<Session>, id: &str) -> &'a mut Session {
    // The one looked for is among the last.
    let found = sessions.iter().rposition(|session| session.id == id);
    let index = found.unwrap_or_else(|| {
        sessions.push(Session { id: id.to_string(), statements: Vec::new() });
        sessions.len() - 1
    });
    &mut sessions[index]
}

/// `DETAIL:  Parameters: $1 = '5', $2 = '7'`, in the spelling since version 16 and before.
fn parameters(message: &str) -> Option<Vec<i64>> {
    let list = message.strip_prefix("DETAIL:  ")?;
    let list = list.strip_prefix("Parameters: ").or(list.strip_prefix("parameters: "))?;
    list.split(", ").map(|one| one.split('\'').nth(1)?.parse().ok()).collect()
}
