//! The workloads as data, a file or folder each: what is to be run, and what can be said of it
//! before anything runs. What they do to a server is in the crate `workload`.
//!
//! A workload is added to [`workloads!`] below, under the name that stored plans have it by.

mod insert_benchmark;
mod microbenchmark;

use std::fmt;
use std::ops::Deref;

use serde::de::{Deserializer, EnumAccess, Error as _, VariantAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::method::Method;
use crate::nearest::suggestion;

pub use insert_benchmark::{
    InsertBenchmark, Maintenance, Pacing, Profile, Query, Step, StepKind, default_pause,
};
pub use microbenchmark::Microbenchmark;

/// What every workload says of itself.
pub trait Specification {
    /// As headlines have it: `Insert Benchmark`.
    fn title(&self) -> &'static str;

    /// The verb of the command line that runs it.
    fn verb(&self) -> &'static str;

    /// What is run, to end a sentence with: `the Insert Benchmark, version p2025, with …`.
    fn phrase(&self) -> String;

    /// The same in as few words as a list has room for.
    fn size(&self) -> String;

    /// What a reader must know to repeat it, each with its name.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// What explains the figures of its steps, as a sentence; empty if nothing needs to.
    fn remark(&self) -> String {
        String::new()
    }

    /// The names of its tests or steps, in the order in which they run.
    fn tests(&self) -> Vec<String>;

    /// Its steps build on each other, from an empty directory on: then they are done from the first
    /// one on, by one server at a time. The tests of others stand alone, on tables that are there.
    fn is_chain(&self) -> bool;

    /// The same with these tests alone; a chain has all of its steps.
    fn only(&self, tests: &[String]) -> Workload;

    /// Every test runs with each of these numbers of clients.
    fn clients(&self) -> &[u32];

    /// How many of them a test has where it is done by this method.
    fn clients_of(&self, _class: Class, _method: Method) -> u32 {
        self.most_clients()
    }

    /// What the throughput of a test counts where it is done by this method.
    fn counts(&self, _test: &str, _class: Class, _method: Method) -> Counts {
        Counts::Statements
    }

    /// The rows in all tables together when they are largest, in rows of the Insert Benchmark.
    fn most_rows(&self) -> u64;

    /// The most connections that clients have at a time.
    fn connections(&self) -> u64 {
        self.most_clients().into()
    }

    /// Whether the data are compared with what was done to them.
    fn is_checked(&self) -> bool;

    /// Whether it can be run, by these contenders.
    fn validate(&self, contenders: &[Contender]) -> Result<(), SpecificationError>;

    /// The debt of the writes is paid after each test that writes, so that what it takes is told
    /// with that test.
    fn pays_after_each_write(&self) -> bool {
        false
    }

    /// The flags of `rqps compare`, with their values, that ask for a test of it; a chain is asked
    /// for as a whole.
    fn flags(&self, test: &str) -> Vec<(&'static str, String)>;

    /// The most clients that a test has.
    fn most_clients(&self) -> u32 {
        self.clients().iter().copied().max().unwrap_or(1)
    }
}

/// Why a workload cannot be run as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecificationError(String);

/// Makes [`Workload`] of the workloads that there are.
macro_rules! workloads {
    ($($name:literal => $specification:ident,)*) => {
        /// A workload that is to be run.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum Workload {
            $(#[serde(rename = $name)] $specification($specification),)*
        }

        impl Workload {
            /// As stored plans name them.
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
    "microbenchmark" => Microbenchmark,
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
