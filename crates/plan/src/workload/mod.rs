//! The workloads as data, a file or folder each: what is to be run, and what is known before it
//! runs. What they do to a server is in the crate `workload`.
//!
//! A new workload is added to [`workloads!`] below, under its name in stored plans.

mod insert_benchmark;
mod lua;
mod microbenchmark;
mod pgbench;
mod rocksdb;
mod scale_factor;
mod sql;
mod tpcc;

use std::fmt;
use std::ops::Deref;

use serde::de::{Deserializer, EnumAccess, Error as _, VariantAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::dbms::Interface;
use crate::method::Method;
use crate::nearest::suggestion;

pub use insert_benchmark::{
    InsertBenchmark, Maintenance, Pacing, Profile, Query, Step, StepKind, default_pause,
};
pub use lua::{LuaTest, LuaWorkload};
pub use microbenchmark::Microbenchmark;
pub use pgbench::{MIX, Pgbench, PgbenchScript, QueryMode};
pub use rocksdb::{DBBENCH_TESTS, Dbbench, DbbenchTest};
pub use scale_factor::ScaleFactor;
pub use sql::{SqlSource, SqlTest, SqlWorkload};
pub use tpcc::{StockKey, Tpcc};

/// The properties of a workload.
pub trait Specification {
    /// Its name in headings: `Insert Benchmark`.
    fn title(&self) -> &'static str;

    /// The verb of the command line that runs it.
    fn verb(&self) -> &'static str;

    /// What it says to a DBMS.
    fn interface(&self) -> Interface {
        Interface::Sql
    }

    /// A phrase for a sentence: `the Insert Benchmark, version p2025, with …`.
    fn phrase(&self) -> String;

    /// The same in few words, for lists.
    fn size(&self) -> String;

    /// The parameters that a reader needs to repeat it, by name.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// A sentence that explains the results of its steps, or nothing.
    fn remark(&self) -> String {
        String::new()
    }

    /// The rates of its tests as the field names them, and what a unit of the rate per second is in
    /// each.
    fn named_rates(&self) -> &'static [(&'static str, f64)] {
        &[]
    }

    /// The names of its tests or steps, in the order in which they run.
    fn tests(&self) -> Vec<String>;

    /// Whether its steps build on each other: then they run from the first one on, from an empty
    /// directory, by one server at a time. Otherwise its tests are independent, on loaded tables.
    fn is_chain(&self) -> bool;

    /// The same with these tests alone; a chain has all of its steps.
    fn only(&self, tests: &[String]) -> Workload;

    /// Every test runs with each of these numbers of clients.
    fn clients(&self) -> &[u32];

    /// The number of clients of a test, by method.
    fn clients_of(&self, _class: Class, _method: Method) -> u32 {
        self.most_clients()
    }

    /// What the throughput of a test counts, by method.
    fn counts(&self, _test: &str, _class: Class, _method: Method) -> Counts {
        Counts::Statements
    }

    /// How often a test is executed relative to others, where they have a total.
    fn weight(&self, _test: &str) -> Option<f64> {
        None
    }

    /// How often a test is executed in a day, where that is known.
    fn executions_per_day(&self, _test: &str) -> Option<f64> {
        None
    }

    /// The peak number of rows in all tables together, in rows of the Insert Benchmark.
    fn most_rows(&self) -> u64;

    /// The most connections of clients at a time.
    fn connections(&self) -> u64 {
        self.most_clients().into()
    }

    /// The same without checks of the data.
    fn unchecked(&self) -> Workload;

    /// Whether the data are checked against what was done to them.
    fn is_checked(&self) -> bool;

    /// Why slices cannot measure these tests, if so.
    fn refused_by_slices(&self, _tests: &[String]) -> Option<String> {
        None
    }

    /// Whether these contenders can run it.
    fn validate(&self, contenders: &[Contender]) -> Result<(), SpecificationError>;

    /// Whether the server is quiesced after each test that writes, so that the time is part of that
    /// test.
    fn quiesces_after_each_write(&self) -> bool {
        false
    }

    /// The flags and values of `rqps compare` for a test of it; a switch has the empty value. A
    /// chain runs as a whole.
    fn flags(&self, test: &str) -> Vec<(&'static str, String)>;

    /// The most clients of a test.
    fn most_clients(&self) -> u32 {
        self.clients().iter().copied().max().unwrap_or(1)
    }
}

/// Why a workload cannot be run as asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecificationError(String);

/// Defines [`Workload`] as one of these workloads.
macro_rules! workloads {
    ($($name:literal => $specification:ident,)*) => {
        /// A workload that is to be run.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum Workload {
            $(#[serde(rename = $name)] $specification($specification),)*
        }

        impl Workload {
            /// Their names in stored plans.
            pub(crate) const NAMES: &[&str] = &[$($name),*];

            /// Reads the one of that name.
            pub(crate) fn read<'de, V: VariantAccess<'de>>(
                name: &str,
                stored: V,
            ) -> Result<Self, V::Error> {
                match name {
                    $($name => Ok(Workload::$specification(stored.newtype_variant()?)),)*
                    _ => Err(V::Error::custom(format!(
                        "unknown workload '{name}': {}",
                        suggestion(name, Workload::NAMES.iter().copied())
                    ))),
                }
            }
        }

        impl Deref for Workload {
            type Target = dyn Specification;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Workload::$specification(specification) => specification,)*
                }
            }
        }

        $(impl From<$specification> for Workload {
            fn from(specification: $specification) -> Self {
                Workload::$specification(specification)
            }
        })*
    };
}

workloads! {
    "insert_benchmark" => InsertBenchmark,
    "lua" => LuaWorkload,
    "microbenchmark" => Microbenchmark,
    "pgbench" => Pgbench,
    "sql" => SqlWorkload,
    "tpcc" => Tpcc,
    "rocksdb" => Dbbench,
}

/// Reads a workload by its name.
struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Workload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a workload under its name")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, stored: A) -> Result<Workload, A::Error> {
        let (name, stored): (String, A::Variant) = stored.variant()?;
        Workload::read(&name, stored)
    }
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Workload", Workload::NAMES, ByName)
    }
}
