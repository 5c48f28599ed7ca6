//! The design of a run: each contender runs the workload once, or contenders are compared.

use std::fmt;

use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::workload::Workload;

/// How a workload is run.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a plan has one of it")]
pub enum Design {
    /// Once by each contender, one after another.
    Single(Workload),
    /// In rounds, for verdicts.
    Comparison(Comparison),
}

/// The stored name of a comparison; any other name is that of a workload.
const COMPARISON: &str = "comparison";

impl From<Comparison> for Design {
    fn from(comparison: Comparison) -> Self {
        Design::Comparison(comparison)
    }
}

impl Serialize for Design {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Design::Single(workload) => workload.serialize(serializer),
            Design::Comparison(comparison) => {
                serializer.serialize_newtype_variant("Design", 0, COMPARISON, comparison)
            }
        }
    }
}

/// Reads a design by its name.
struct DesignByName;

impl<'de> Visitor<'de> for DesignByName {
    type Value = Design;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a comparison, or a workload under its name")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, stored: A) -> Result<Design, A::Error> {
        let (name, stored): (String, A::Variant) = stored.variant()?;
        match name.as_str() {
            COMPARISON => stored.newtype_variant().map(Design::Comparison),
            name => Workload::read(name, stored).map(Design::Single),
        }
    }
}

impl<'de> Deserialize<'de> for Design {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Design", Workload::NAMES, DesignByName)
    }
}
