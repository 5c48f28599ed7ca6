//! A workload derived from TPC-C as data: warehouses, clients, time, and the options that change
//! the numbers. Its transactions are in the crate `workload`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Specification, SpecificationError, Workload};
use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::method::Method;
use crate::nearest::suggestion;
use crate::quantity::Span;

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tpcc {
    pub warehouses: u32,
    /// Terminals, each with a connection. Client number c, from 0, has the home warehouse
    /// 1 + c mod `warehouses`.
    pub clients: u32,
    /// The measured time.
    pub time: Span,
    #[serde(default)]
    pub stock_key: StockKey,
    /// The tables have the foreign keys of the standard.
    #[serde(default)]
    pub foreign_keys: bool,
    /// Clients rest before each transaction, as the standard has it.
    #[serde(default)]
    pub think: bool,
    /// The tables are checked by the consistency conditions, and against what was done to them.
    pub check: bool,
}

/// The order of the columns in the primary key of the stock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StockKey {
    /// Warehouse, then item, as the standard lists them.
    #[default]
    Wi,
    /// Item, then warehouse, as in HammerDB for Postgres.
    Iw,
}

impl StockKey {
    const ALL: [StockKey; 2] = [StockKey::Wi, StockKey::Iw];

    pub fn name(self) -> &'static str {
        match self {
            StockKey::Wi => "wi",
            StockKey::Iw => "iw",
        }
    }
}

impl fmt::Display for StockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StockKey {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = StockKey::ALL.into_iter().find(|key| key.name() == name);
        found.ok_or_else(|| {
            let hint = suggestion(name, StockKey::ALL.map(StockKey::name));
            format!("unknown stock key '{name}': {hint}")
        })
    }
}

/// The name of its one test.
const TEST: &str = "tpcc";
/// Transactions per minute, and of them new orders, which are 10 of the 23 in a deck. The standard
/// counts those that roll back, too.
const RATES: [(&str, f64); 2] = [("tpm", 60.0), ("NOPM", 60.0 * 10.0 / 23.0)];
/// The shortest measured time.
const SHORTEST: Duration = Duration::from_millis(100);
/// Ids of warehouses and of their districts are 32-bit numbers, and so are all of rqps's sums.
const MOST_WAREHOUSES: u32 = 10_000;
const MOST_CLIENTS: u32 = 10_000;
/// A warehouse takes about as much as this number of rows of the Insert Benchmark.
const ROWS_OF_WAREHOUSE: u64 = 1_000_000;

impl Tpcc {
    /// `, stock key iw, foreign keys`, …: what differs from the default.
    fn options(&self) -> String {
        let mut text = String::new();
        if self.stock_key != StockKey::default() {
            text += &format!(", stock key {}", self.stock_key);
        }
        if self.foreign_keys {
            text += ", foreign keys";
        }
        if self.think {
            text += ", keying and think times";
        }
        text
    }
}

fn number(count: u32, one: &str) -> String {
    match count {
        1 => format!("one {one}"),
        count => format!("{count} {one}s"),
    }
}

impl Specification for Tpcc {
    fn title(&self) -> &'static str {
        "Derived from TPC-C"
    }

    fn verb(&self) -> &'static str {
        "tpcc"
    }

    fn phrase(&self) -> String {
        let (warehouses, clients) =
            (number(self.warehouses, "warehouse"), number(self.clients, "client"));
        let options = self.options();
        format!(
            "a workload derived from TPC-C (not a TPC result) with {warehouses}, {clients}{options}"
        )
    }

    fn size(&self) -> String {
        let Tpcc { warehouses, clients, .. } = self;
        format!("tpcc, warehouses: {warehouses}, clients: {clients}{}", self.options())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let remote = match self.warehouses {
            1 => "none, since there is one warehouse",
            _ => "1 % of lines, 15 % of payments",
        };
        let keys = if self.foreign_keys { "as in the standard" } else { "none" };
        let rests = if self.think { "as in the standard" } else { "none" };
        let checks = if self.check { "after the load and after the transactions" } else { "none" };
        vec![
            ("result", "derived from TPC-C, not a TPC result".to_string()),
            ("warehouses", self.warehouses.to_string()),
            ("clients", self.clients.to_string()),
            ("time", self.time.to_string()),
            ("mix", "decks of 23: new-order 10, payment 10, the others 1 each".to_string()),
            ("other warehouses", remote.to_string()),
            ("primary key of the stock", self.stock_key.to_string()),
            ("foreign keys", keys.to_string()),
            ("keying and think times", rests.to_string()),
            ("checks", checks.to_string()),
        ]
    }

    fn remark(&self) -> String {
        "Derived from TPC-C, not a TPC result: it cannot be compared with published results. Of 23 \
         transactions, 10 are new orders, as in NOPM. "
            .to_string()
    }

    fn named_rates(&self) -> &'static [(&'static str, f64)] {
        &RATES
    }

    fn tests(&self) -> Vec<String> {
        vec![TEST.to_string()]
    }

    fn is_chain(&self) -> bool {
        false
    }

    fn only(&self, _tests: &[String]) -> Workload {
        self.clone().into()
    }

    fn clients(&self) -> &[u32] {
        std::slice::from_ref(&self.clients)
    }

    fn counts(&self, _test: &str, _class: Class, _method: Method) -> Counts {
        Counts::Transactions
    }

    fn most_rows(&self) -> u64 {
        u64::from(self.warehouses) * ROWS_OF_WAREHOUSE
    }

    fn unchecked(&self) -> Workload {
        Tpcc { check: false, ..self.clone() }.into()
    }

    fn is_checked(&self) -> bool {
        self.check
    }

    fn validate(&self, contenders: &[Contender]) -> Result<(), SpecificationError> {
        // Other DBMSs have engines that check none, which is known when a server runs.
        if self.foreign_keys
            && let Some(one) = contenders.iter().find(|one| one.dbms.is_embedded())
        {
            let reason = "cannot add foreign keys to its tables. Drop --foreign-keys";
            return Err(SpecificationError(format!("{} {reason}", one.dbms)));
        }
        let most = |name: &str, most: u32| format!("{name} must be at most {most}");
        let wrong = match () {
            () if self.warehouses == 0 => "warehouses must be at least 1".to_string(),
            () if self.warehouses > MOST_WAREHOUSES => most("warehouses", MOST_WAREHOUSES),
            () if self.clients == 0 => "clients must be at least 1".to_string(),
            () if self.clients > MOST_CLIENTS => most("clients", MOST_CLIENTS),
            () if self.time.0 < SHORTEST => "secs must be at least 0.1".to_string(),
            () => return Ok(()),
        };
        Err(SpecificationError(wrong))
    }

    fn refused_by_slices(&self, _tests: &[String]) -> Option<String> {
        self.think.then(|| {
            "clients rest for longer than a slice lasts. Use --method runs, or drop --method or \
             --think"
                .to_string()
        })
    }

    fn flags(&self, _test: &str) -> Vec<(&'static str, String)> {
        let mut flags = vec![
            ("workload", format!("tpcc:{}", self.warehouses)),
            ("secs", self.time.to_string()),
        ];
        if self.stock_key != StockKey::default() {
            flags.push(("stock-key", self.stock_key.to_string()));
        }
        if self.foreign_keys {
            flags.push(("foreign-keys", String::new()));
        }
        if self.think {
            flags.push(("think", String::new()));
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Tpcc {
        Tpcc {
            warehouses: 1,
            clients: 1,
            time: Span(Duration::from_secs(1)),
            stock_key: StockKey::Wi,
            foreign_keys: false,
            think: false,
            check: true,
        }
    }

    #[test]
    fn options_that_change_the_numbers_are_in_its_names() {
        let keyed = Tpcc { stock_key: StockKey::Iw, foreign_keys: true, warehouses: 2, ..plan() };
        let resting = Tpcc { think: true, ..plan() };
        assert!(resting.phrase().ends_with(", one client, keying and think times"));
        assert!(resting.flags("tpcc").contains(&("think", String::new())));
        assert!(resting.refused_by_slices(&[]).is_some() && keyed.refused_by_slices(&[]).is_none());
        assert_eq!(plan().size(), "tpcc, warehouses: 1, clients: 1");
        assert_eq!(keyed.size(), "tpcc, warehouses: 2, clients: 1, stock key iw, foreign keys");
        assert!(
            keyed.phrase().ends_with("with 2 warehouses, one client, stock key iw, foreign keys")
        );
        assert_eq!(keyed.flags("tpcc").len(), 4);
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let wrong = |plan: Tpcc| plan.validate(&[]).unwrap_err().to_string();
        assert_eq!(plan().validate(&[]), Ok(()));
        assert_eq!(wrong(Tpcc { warehouses: 0, ..plan() }), "warehouses must be at least 1");
        assert_eq!(
            wrong(Tpcc { warehouses: 20_000, ..plan() }),
            "warehouses must be at most 10000"
        );
        assert_eq!(wrong(Tpcc { clients: 0, ..plan() }), "clients must be at least 1");
        let keyed = Tpcc { foreign_keys: true, ..plan() };
        let sqlite: Contender = "sqlite".parse().unwrap();
        assert_eq!(
            keyed.validate(&[sqlite]).unwrap_err().to_string(),
            "sqlite cannot add foreign keys to its tables. Drop --foreign-keys"
        );
        let short = Span(Duration::from_millis(10));
        assert_eq!(wrong(Tpcc { time: short, ..plan() }), "secs must be at least 0.1");
    }

    #[test]
    fn a_stock_key_is_read_by_its_name() {
        assert_eq!("iw".parse(), Ok(StockKey::Iw));
        assert_eq!(
            "wii".parse::<StockKey>().unwrap_err(),
            "unknown stock key 'wii': did you mean 'wi'? (there are: wi, iw)"
        );
    }
}
