//! Why a remote server is not used.

/// Why rqps does not use a remote server, or no longer uses it.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    #[error("another rqps is using {place}: {holder}. Wait until it ends, or end it")]
    Taken { place: String, holder: String },
    #[error("{place} was not created by rqps. Drop or rename it, or use another database")]
    Foreign { place: String },
    #[error(
        "{place} belongs to '{owner}', who could let anything be executed there. Log in as '{owner}', \
         or drop it"
    )]
    Owned { place: String, owner: String },
    #[error(
        "{place} contains objects that rqps did not create: {names}. Nothing was changed; move or \
         drop them first"
    )]
    Others { place: String, names: String },
    #[error(
        "a pooler is in between, and its connections are not sessions: {how}. Connect to the server \
         itself, or to a pool with pool_mode = session"
    )]
    Pooler { how: String },
    #[error(
        "the server is read-only: {why}. Measure queries on the tables that it has (--read-only), or use \
         a server that accepts writes"
    )]
    ReadOnly { why: String },
    #[error(
        "with --read-only, queries call no function that may have effects: {calls}. Leave the query out, or \
         declare a function that only reads as STABLE"
    )]
    Calls { calls: String },
    #[error("'{user}' lacks rights that the benchmark needs: {missing}. {remedy}")]
    Rights { user: String, missing: String, remedy: String },
    #[error("{needed} connections are needed, but {limits}. Use fewer --clients, or {remedies}")]
    Connections { needed: u64, limits: String, remedies: String },
    #[error("a statement of the benchmark needs {needed} bytes, but {limit}")]
    Statement { needed: u64, limit: String },
    #[error(
        "sessions on this server lack settings that the benchmark relies on: {names}. {remedy}"
    )]
    Session { names: String, remedy: &'static str },
    #[error("cannot set '{name}' to '{value}' in a session: {why}")]
    Setting { name: String, value: String, why: String },
    #[error(
        "set.{name} cannot be chosen: rqps sets '{name}' itself in every session, so that all contenders \
         do the same work. Drop it"
    )]
    OwnSetting { name: String },
    #[error(
        "this URL now reaches another server ({now}) than before ({before}), as after a failover or \
         through a proxy with several servers. Use the URL of one server"
    )]
    OtherServer { before: String, now: String },
    #[error(
        "settings of the server have changed since the run began: {changes}. Set them back, or start a \
         new run"
    )]
    OtherSettings { changes: String },
    #[error("connections use {found} instead of {place}, so nothing was created or dropped")]
    Elsewhere { place: String, found: String },
    #[error(
        "the connection that keeps other runs out of {place} was lost: {why}. Nothing more is measured \
         or dropped there"
    )]
    Lost { place: String, why: String },
    #[error(
        "the data of this run are no longer in {place}: {why}. Start a new run with another --out"
    )]
    Gone { place: String, why: String },
}

impl GuestError {
    /// Whether the user or the server's owner has to change something; otherwise an operation
    /// failed.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, GuestError::Lost { .. })
    }
}
