//! What prepares the contenders of a DBMS, and reaches its remote servers.

use rqps_plan::Contender;
use rqps_system::Cancel;
use rqps_wire::Target;

use crate::dbms::Dbms;
use crate::descriptor::Descriptor;
use crate::error::DbmsError;
use crate::home::Home;
use crate::remote::Remote;
use crate::source::progress::Tell;

/// The code behind the facts of a descriptor.
pub(crate) struct DbmsDriver {
    /// The DBMSs that it is for.
    pub(crate) of: &'static [&'static Descriptor],
    /// Gets a build and checks config and settings.
    pub(crate) prepare: Prepare,
    /// A remote server, by its URL.
    pub(crate) remote: Option<Reach>,
    /// The target of a URL for any client.
    pub(crate) target: Option<Lead>,
}

pub(crate) type Reach = fn(&Contender, &str, &Cancel) -> Result<Remote, DbmsError>;

pub(crate) type Lead = fn(&str, &Cancel) -> Result<Target, rqps_wire::Error>;

pub(crate) type Prepare = fn(&Home, &Contender, &mut Tell) -> Result<Box<dyn Dbms>, DbmsError>;
