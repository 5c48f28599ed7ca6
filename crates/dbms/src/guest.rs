//! What rqps asks a remote server, whatever the DBMS: who else is there, where rqps's place is and
//! what is in it, what rqps may do. Nothing here decides; see [`crate::remote`].

use std::sync::Arc;

use rqps_wire::{Connection, Row, Target, scalar};

use crate::error::DbmsError;
use crate::guest_error::GuestError;
use crate::others::Asks;

/// What a run needs of a remote server.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Connections at the same time, those for control included.
    pub connections: u64,
    /// Bytes of the longest statement.
    pub statement: u64,
    /// Whether a workload of rqps creates a table of this name. Of other tables, only those are
    /// dropped that the mark of their place names.
    pub is_table: fn(&str) -> bool,
    /// The tables that statements of the user create, for the mark.
    pub made: Vec<String>,
    /// Nothing is made: clients read the tables that the server has.
    pub is_read_only: bool,
    /// Then, the functions that queries call, each with a query that does.
    pub calls: Vec<(String, String)>,
}

impl Default for Needs {
    /// Needs nothing, so that nothing is dropped either.
    fn default() -> Self {
        Needs {
            connections: 0,
            statement: 0,
            is_table: |_| false,
            made: Vec::new(),
            is_read_only: false,
            calls: Vec::new(),
        }
    }
}

/// The session that locks rqps's place.
pub(crate) struct Holder {
    /// Unique among the sessions of all servers; equals [`Guest::identity`] of the holder.
    pub(crate) identity: String,
    /// For messages: who, from where, since when.
    pub(crate) text: String,
}

/// What rqps's place contains.
pub(crate) struct Contents {
    /// Which run created it, and when; none if rqps did not.
    pub(crate) mark: Option<Mark>,
    /// The role that owns the place if it is neither the session's nor a superuser. A mark proves
    /// nothing then: whoever owns a place can write one.
    pub(crate) owner: Option<String>,
    /// Tables with their bytes.
    pub(crate) tables: Vec<(String, u64)>,
    /// Everything else, in words.
    pub(crate) others: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Which run of rqps the data are of.
    pub(crate) token: String,
    /// In words, or empty.
    pub(crate) since: String,
    /// The tables that statements of that run's user create.
    pub(crate) made: Vec<String>,
}

impl Mark {
    /// As a place has it: names in JSON, or nothing.
    pub(crate) fn names(made: &[String]) -> String {
        match made.is_empty() {
            true => String::new(),
            false => serde_json::to_string(made).unwrap_or_default(),
        }
    }

    /// What [`Mark::names`] wrote. Anything else names no table.
    pub(crate) fn made(names: &str) -> Vec<String> {
        serde_json::from_str(names).unwrap_or_default()
    }
}

/// A missing right, and the statement that grants it or another remedy.
pub(crate) struct Missing {
    pub(crate) what: String,
    pub(crate) remedy: String,
}

/// How many connections a limit leaves free.
pub(crate) struct Limit {
    pub(crate) left: i64,
    /// For messages: which limit, and how much of it is in use.
    pub(crate) text: String,
    pub(crate) remedy: String,
}

/// A variable that every session of rqps sets on a remote server.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) value: &'static str,
}

pub(crate) const fn variable(name: &'static str, value: &'static str) -> Variable {
    Variable { name, value }
}

/// rqps's first place on a server, and the beginning of the names of others.
pub(crate) const PLACE: &str = "rqps";

/// The name of a set of tables, counted from 0.
pub(crate) fn place_name(set: u32) -> String {
    match set {
        0 => PLACE.to_string(),
        set => format!("{PLACE}_{}", set + 1),
    }
}

/// Whether a place may have that name.
pub(crate) fn is_place(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PLACE) else { return false };
    rest.is_empty() || rest.strip_prefix('_').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A DBMS as a host of rqps.
pub(crate) trait Guest: Send + Sync {
    /// rqps's own place, for messages.
    fn place(&self) -> String;

    /// The name of that place.
    fn name(&self) -> &str;

    /// The same server, with another place.
    fn at(&self, name: &str) -> Arc<dyn Guest>;

    /// The same server without a place: names mean the user's own tables, as in any session of the
    /// URL.
    fn visitor(&self) -> Arc<dyn Guest>;

    /// The names of all schemas or databases that may be places of rqps.
    fn places(&self, connection: &mut dyn Connection) -> Result<Vec<String>, DbmsError>;

    /// A query for what no other server answers, and the same server answers always.
    fn server(&self) -> &'static str;

    /// A query for the seconds since the server was started, in the last column.
    fn uptime(&self) -> &'static str;

    /// The queries about what others do here.
    fn others(&self) -> Asks;

    /// The statement that sets a variable of the session, and a query for its value. The name has
    /// letters, digits, dots and underscores only.
    fn session_setting(&self, name: &str, value: &str) -> [String; 2];

    /// Connects for control: nothing limits how long its statements take.
    fn connect(&self) -> Result<Box<dyn Connection>, DbmsError>;

    /// What shows that connections are no sessions; none if they are.
    fn detour(&self) -> Result<Option<String>, DbmsError>;

    /// A query whose answer no other session of any server has.
    fn identity(&self) -> &'static str;

    /// Tries to take the lock that keeps other runs out.
    fn lock(&self, connection: &mut dyn Connection) -> Result<bool, DbmsError>;

    /// Whether this very session holds that lock.
    fn holds(&self, connection: &mut dyn Connection) -> Result<bool, DbmsError>;

    fn holder(&self, connection: &mut dyn Connection) -> Result<Option<Holder>, DbmsError>;

    /// Why nothing can be written here.
    fn read_only(&self, connection: &mut dyn Connection) -> Result<Option<String>, DbmsError>;

    /// Those of these functions that may have effects, also in sessions that only read.
    fn with_effects(
        &self,
        connection: &mut dyn Connection,
        functions: &[&str],
    ) -> Result<Vec<String>, DbmsError>;

    /// The account of the session, as statements have it.
    fn account(&self, connection: &mut dyn Connection) -> Result<String, DbmsError>;

    /// Rights that a run needs and the account lacks.
    fn missing(
        &self,
        connection: &mut dyn Connection,
        contents: Option<&Contents>,
    ) -> Result<Vec<Missing>, DbmsError>;

    fn limits(&self, connection: &mut dyn Connection) -> Result<Vec<Limit>, DbmsError>;

    /// What limits statements to fewer bytes than these.
    fn too_long(
        &self,
        connection: &mut dyn Connection,
        bytes: u64,
    ) -> Result<Option<String>, DbmsError>;

    /// Values that sessions have now: name and value.
    fn values(&self, connection: &mut dyn Connection) -> Result<Vec<Row>, DbmsError>;

    /// What every session of rqps sets.
    fn variables(&self) -> &'static [Variable];

    /// What sessions set in place of the same variables so that they can only read.
    fn read_only_sessions(&self) -> &'static [Variable];

    /// The statement that sets variables, all of them or none.
    fn set(&self, variables: &[&Variable]) -> String;

    /// The login of clients: like control, but with `setup` first.
    fn target(&self, setup: Vec<String>) -> Target;

    /// What is in rqps's place; none if there is no such place.
    fn contents(&self, connection: &mut dyn Connection) -> Result<Option<Contents>, DbmsError>;

    /// Ends sessions of an rqps that has ended, where they still use its tables.
    fn end_sessions(&self, connection: &mut dyn Connection) -> Result<(), DbmsError>;

    fn drop_tables(
        &self,
        connection: &mut dyn Connection,
        tables: &[String],
    ) -> Result<(), DbmsError>;

    /// Creates the place, or marks an existing one as that of a run whose user's statements create
    /// these tables.
    fn mark(
        &self,
        connection: &mut dyn Connection,
        token: &str,
        made: &[String],
    ) -> Result<(), DbmsError>;

    /// Removes the mark and the place, which must be empty.
    fn remove(&self, connection: &mut dyn Connection) -> Result<(), DbmsError>;

    /// A query for the place in which a client's unqualified names are, and its answer.
    fn whereabouts(&self) -> (&'static str, &str);

    /// Makes all commits durable on the server's disk, as far as the account may ask for that.
    fn settle(&self, connection: &mut dyn Connection) -> Result<(), DbmsError>;
}

/// The variables that the server knows.
pub(crate) fn to_set<'a>(variables: &'a [Variable], values: &[Row]) -> Vec<&'a Variable> {
    let is_known = |variable: &&Variable| values.iter().any(|row| is(row, variable.name));
    variables.iter().filter(is_known).collect()
}

/// Variables that were set but still have another value.
pub(crate) fn not_set(set: &[&Variable], values: &[Row]) -> Vec<String> {
    let differs = |variable: &&&Variable| {
        let mut rows = values.iter().filter(|row| is(row, variable.name));
        rows.any(|row| !row.get(1).cloned().flatten().is_some_and(|it| same(&it, variable.value)))
    };
    let named = |variable: &&Variable| format!("{} = {}", variable.name, variable.value);
    set.iter().filter(differs).map(named).collect()
}

/// Whether a server's value is the one that was set: some servers show `0` as `0.000000`.
fn same(shown: &str, given: &str) -> bool {
    let numbers = (shown.parse::<f64>(), given.parse::<f64>());
    shown.eq_ignore_ascii_case(given) || matches!(numbers, (Ok(shown), Ok(given)) if shown == given)
}

fn is(row: &Row, name: &str) -> bool {
    row.first()
        .is_some_and(|found| found.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(name)))
}

/// The first value of a query, or nothing.
pub(crate) fn text(connection: &mut dyn Connection, sql: &str) -> Result<String, DbmsError> {
    Ok(scalar(connection, sql)?.unwrap_or_default())
}

pub(crate) fn number(text: Option<&String>) -> i64 {
    text.and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) as i64
}

/// Rejects a place that is not rqps's, and one that contains objects of others.
pub(crate) fn refuse_others(
    guest: &dyn Guest,
    contents: &Contents,
    needs: &Needs,
) -> Result<(), GuestError> {
    /// The most names in the error.
    const MOST: usize = 12;
    let place = guest.place();
    if let Some(owner) = contents.owner.clone() {
        return Err(GuestError::Owned { place, owner });
    }
    let made = contents.mark.iter().flat_map(|mark| &mark.made);
    let made: Vec<&String> = made.collect();
    let is_ours = |name: &str| {
        // Some servers keep names of tables in small letters.
        (needs.is_table)(name) || made.iter().any(|made| made.eq_ignore_ascii_case(name))
    };
    let foreign = contents.tables.iter().filter(|(name, _)| !is_ours(name));
    let foreign = foreign.map(|(name, _)| format!("table {name}"));
    let mut names: Vec<String> = foreign.chain(contents.others.iter().cloned()).collect();
    // MySQL cannot create and mark a database at once, so an empty one without a mark is accepted.
    if contents.mark.is_none() && !(names.is_empty() && contents.tables.is_empty()) {
        return Err(GuestError::Foreign { place });
    }
    if names.is_empty() {
        return Ok(());
    }
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(GuestError::Others { place, names: names.join(", ") + &more })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, value: &str) -> Row {
        vec![Some(name.to_string()), Some(value.to_string())]
    }

    #[test]
    fn sets_of_tables_have_names_that_are_found_again() {
        assert_eq!([0, 1, 2].map(place_name), ["rqps", "rqps_2", "rqps_3"]);
        assert!(["rqps", "rqps_2", "rqps_17"].into_iter().all(is_place));
        assert!(!["rqps2", "rqps_", "rqps_x", "rqps_2_old", "public"].into_iter().any(is_place));
    }

    #[test]
    fn a_mark_names_tables_and_what_is_no_mark_names_none() {
        let made = ["orders", "it's \"odd\""].map(str::to_string);
        assert_eq!(Mark::made(&Mark::names(&made)), made);
        assert_eq!(Mark::names(&[]), "");
        for text in ["", "orders", "[1]", "[\"a\""] {
            assert_eq!(Mark::made(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_the_server_knows_is_set_and_looked_at_again() {
        let all = [variable("a", "1"), variable("b", "1"), variable("c", "0"), variable("d", "1")];
        let values = [row("A", "1"), row("c", "0.000000"), row("d", "2")];
        let set = to_set(&all, &values);
        assert_eq!(set.iter().map(|it| it.name).collect::<Vec<_>>(), ["a", "c", "d"]);
        assert_eq!(not_set(&set, &values), ["d = 1"]);
    }
}
