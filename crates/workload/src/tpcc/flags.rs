//! The flags of the workload derived from TPC-C, on the command line and in plan files.

use clap::Args;
use rqps_plan::{Span, StockKey, Tpcc, Workload};

use crate::asked::{Asked, FlagError, Reads};

#[derive(Args)]
#[command(next_help_heading = "What to measure")]
pub(crate) struct TpccFlags {
    /// Number of warehouses, about 130 MB each.
    #[arg(long, value_name = "N", default_value_t = 1)]
    warehouses: u32,
    /// Number of clients, each with a connection and a home warehouse.
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: u32,
    /// Measured time
    ///
    /// The warm-up before it takes a fifth of that, at most 5 s.
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    secs: Span,
    /// Order of the columns in the primary key of the stock
    ///
    /// Warehouse before item (wi), or item before warehouse (iw).
    #[arg(long, value_name = "wi|iw", default_value_t = StockKey::Wi)]
    stock_key: StockKey,
    /// Create the foreign keys of the standard.
    #[arg(long)]
    foreign_keys: bool,
    /// Keying and think times before each transaction, as in TPC-C
    ///
    /// A client types for 2 to 18 s and thinks for 5 to 12 s on average, by the kind of the
    /// transaction. The standard has ten of them for each warehouse.
    #[arg(long)]
    think: bool,
    /// Do not check the data.
    #[arg(long)]
    no_check: bool,
}

impl Reads for TpccFlags {
    fn workload(self) -> Result<Workload, FlagError> {
        let TpccFlags { warehouses, clients, secs: time, stock_key, .. } = self;
        let (foreign_keys, think, check) = (self.foreign_keys, self.think, !self.no_check);
        Ok(Tpcc { warehouses, clients, time, stock_key, foreign_keys, think, check }.into())
    }
}

/// The workload of a comparison.
pub(crate) fn asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    if asked.rows.is_some() || asked.tables.is_some() || asked.writes.is_some() {
        let reason = "tpcc has the tables and rows of its warehouses. Drop --rows, --tables and \
                      --writes";
        return Err(FlagError(reason.to_string()));
    }
    let given = asked.workload.names.join(",");
    let warehouses = given.parse().map_err(|_| {
        FlagError(format!("'{given}' is not a number of warehouses. Write tpcc:1 or tpcc:10"))
    })?;
    let (time, clients) = (asked.secs.unwrap_or_else(|| (asked.fitting)(1)), asked.clients);
    let (stock_key, check) = (asked.stock_key.unwrap_or_default(), asked.check);
    let (foreign_keys, think) = (asked.foreign_keys, asked.think);
    Ok(Tpcc { warehouses, clients, time, stock_key, foreign_keys, think, check }.into())
}
