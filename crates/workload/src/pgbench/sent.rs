//! What is sent for a query of a script.

use std::ops::Range;

use rqps_dbms::Dialect;
use rqps_plan::QueryMode;

use super::script::{ScriptQuery, StatementEffect};
use super::variables::Variables;

/// A query of a script as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Its place among all queries, and its name where it is prepared.
    pub(super) number: usize,
    pub(super) name: String,
    /// As it stands in the script, or with placeholders.
    pub(super) text: String,
    /// It begins or ends a transaction, or is about the session: MySQL does not prepare that.
    pub(super) is_neutral: bool,
    /// The variable of each placeholder; in a text without placeholders, where it stands.
    pub(super) variables: Vec<(Range<usize>, usize)>,
}

impl Sent {
    /// `number` counts the queries of all scripts. `dialect` has the placeholders; only Postgres
    /// knows `END`.
    pub(super) fn new(
        query: &ScriptQuery,
        number: usize,
        mode: QueryMode,
        variables: &Variables,
        dialect: Dialect,
    ) -> Sent {
        let name = format!("P_{number}");
        let is_neutral = query.does == StatementEffect::Neither && query.variables.is_empty();
        let place = |name: &str| variables.place_of_known(name);
        let found = || query.variables.iter().map(|(range, name)| (range.clone(), place(name)));
        if mode == QueryMode::Simple || query.variables.is_empty() {
            let text = match query.text.as_str() {
                "END;" if dialect != Dialect::POSTGRES => "COMMIT;".to_string(),
                text => text.to_string(),
            };
            let variables = found().collect();
            return Sent { number, name, text, is_neutral, variables };
        }
        let (mut text, mut from) = (String::new(), 0);
        for (index, (range, _)) in (1..).zip(&query.variables) {
            text.push_str(&query.text[from..range.start]);
            text.push_str(&dialect.placeholder(index));
            from = range.end;
        }
        text.push_str(&query.text[from..]);
        Sent { number, name, text, is_neutral, variables: found().collect() }
    }
}
