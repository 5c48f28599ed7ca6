//! Errors in the text of a contender.

use crate::dbms::{Dbms, UnknownDbms};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContenderError {
    #[error(transparent)]
    Dbms(#[from] UnknownDbms),
    #[error("'{0}' names no DBMS. Write the DBMS of that build before it, as in postgres@{0}")]
    NoDbms(String),
    #[error("'{dbms}' has no engine '{engine}': {hint}")]
    Engine { dbms: Dbms, engine: String, hint: String },
    #[error(
        "'{0}' has an empty part. Write <dbms>[@<build>][/<engine>][:<config>][?<setting>=<value>]"
    )]
    Empty(String),
    #[error("setting '{0}' has no value. Write ?{0}=<value>")]
    SettingWithoutValue(String),
    #[error(
        "cannot set '{0}' in a session: a name of a setting has only letters, digits, _ and ., as in \
         set.work_mem=64MB"
    )]
    SettingName(String),
    #[error("'place={0}' names no file. Write place=@FILE once, as in place=@without-index.sql")]
    Place(String),
    #[error("setting '{0}' is given twice. Drop one")]
    SettingTwice(String),
    #[error("cannot use label '{0}': only letters, digits and . _ + - are allowed")]
    Label(String),
    #[error("a contender contains the character {}, which no table can show. Drop it", .0.escape_default())]
    Unprintable(char),
    #[error("a source cannot be called '{name}': {why}")]
    SourceName { name: String, why: &'static str },
    #[error(
        "cannot fetch sqlite@{0}: sqlite is part of rqps. Use sqlite@system, a library as in \
         sqlite@/opt/lib/libsqlite3.so, or a build from source as in sqlite@src-3.46.1"
    )]
    SqliteBuild(String),
    #[error("{0} has no server, so rqps starts none of an image. Images are for {1}")]
    NoServer(Dbms, String),
    #[error("'image-{0}' names no image. Write image:NAME, or image:./FILE.tar for one in a file")]
    ImageVersion(String),
    #[error(
        "'{0}' names no image. Write image:NAME[:TAG], or image:./FILE.tar for one in a file; before \
         a config, a name needs a tag, as in image:postgres:latest:x10a"
    )]
    Image(String),
    #[error("'{0}' is given twice. Give one a label, as in again={0}")]
    Twice(String),
}
