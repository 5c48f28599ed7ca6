//! How a DBMS executes a statement, as a tree by which two releases of one DBMS can be compared.

use serde::{Deserialize, Serialize};

/// A node of a query plan, with the nodes that feed it. The DBMS's own words name what it does.
///
/// Estimates, numbers of workers and names that a server makes up are left out: they differ while
/// the plan is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueryPlan {
    /// `Index Scan`, `Hash Join`, `Sort`.
    pub operator: String,
    /// How it joins, sorts or scans, where the operator has several ways: `left`, `order by`.
    pub kind: Option<String>,
    pub table: Option<String>,
    pub index: Option<IndexUsed>,
    /// Columns that it searches, joins, sorts or groups by.
    pub keys: Vec<String>,
    /// Further columns that it tests rows by.
    pub filters: Vec<String>,
    /// The index has all columns that are needed, so that no rows are read.
    pub is_covering: bool,
    pub inputs: Vec<QueryPlan>,
}

/// The index that a node reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexUsed {
    pub name: String,
    /// What is indexed, as the DBMS writes it: `btree (k)`; none if it is not known.
    pub definition: Option<String>,
}

impl QueryPlan {
    /// An operator alone.
    pub fn new(operator: impl Into<String>) -> QueryPlan {
        QueryPlan { operator: operator.into(), ..QueryPlan::default() }
    }

    /// This node and all below it, the outermost first.
    pub fn nodes(&self) -> Vec<&QueryPlan> {
        let mut nodes = vec![self];
        nodes.extend(self.inputs.iter().flat_map(QueryPlan::nodes));
        nodes
    }

    /// Calls `change` with each index of the tree and the table of its node.
    pub fn each_index(&mut self, change: &mut impl FnMut(Option<&str>, &mut IndexUsed)) {
        if let Some(index) = &mut self.index {
            change(self.table.as_deref(), index);
        }
        self.inputs.iter_mut().for_each(|input| input.each_index(change));
    }

    /// Calls `change` with each text of the tree.
    pub fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        change(&mut self.operator);
        self.kind.iter_mut().for_each(&mut *change);
        self.table.iter_mut().for_each(&mut *change);
        if let Some(index) = &mut self.index {
            change(&mut index.name);
            index.definition.iter_mut().for_each(&mut *change);
        }
        self.keys.iter_mut().chain(&mut self.filters).for_each(&mut *change);
        self.inputs.iter_mut().for_each(|input| input.each_text(change));
    }
}

impl IndexUsed {
    pub fn named(name: impl Into<String>) -> IndexUsed {
        IndexUsed { name: name.into(), definition: None }
    }

    /// It indexes the same, whatever it is called; by name where that is not known of both.
    pub fn is_same(&self, other: &IndexUsed) -> bool {
        match (&self.definition, &other.definition) {
            (Some(one), Some(other)) => one == other,
            _ => self.name == other.name,
        }
    }
}
