//! The table that the benchmark ends with.

use std::collections::BTreeMap;
use std::fmt;

use comfy_table::presets::NOTHING;

use crate::clients::Kind;
use crate::spread::Spread;

/// What rqps's figure must not exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    Own(f64),
    /// A part of sysbench's.
    Ratio(f64),
}

pub(crate) struct Table(comfy_table::Table);

impl Table {
    pub(crate) fn new() -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(NOTHING)
            .set_header(["MEASURE", "RQPS", "SYSBENCH", "PGBENCH", "RATIO", "GOAL", ""]);
        Table(table)
    }

    /// A measure of all clients, a figure per round.
    pub(crate) fn compare(
        &mut self,
        measure: &str,
        figures: &BTreeMap<Kind, Vec<f64>>,
        decimals: usize,
        goal: Option<Goal>,
    ) {
        let cell = |kind| match figures.get(&kind) {
            Some(figures) => Spread::of(figures).show(decimals),
            None => "-".to_string(),
        };
        let own = figures.get(&Kind::Rqps);
        let ratio = own.zip(figures.get(&Kind::Sysbench));
        let ratio = ratio.and_then(|(own, other)| Spread::of_ratios(own, other));
        let (wanted, reached) = match goal {
            Some(Goal::Own(most)) => {
                (format!("≤ {most}"), own.map(|own| Spread::of(own).median <= most))
            }
            Some(Goal::Ratio(most)) => {
                (format!("≤ {most} × sysbench"), ratio.map(|ratio| ratio.median <= most))
            }
            None => (String::new(), None),
        };
        self.0.add_row([
            measure.to_string(),
            cell(Kind::Rqps),
            cell(Kind::Sysbench),
            cell(Kind::Pgbench),
            ratio.map_or("-".to_string(), |ratio| ratio.show(3)),
            wanted,
            verdict(reached),
        ]);
    }

    /// A measure of rqps alone.
    pub(crate) fn own(&mut self, measure: &str, figures: Vec<f64>, decimals: usize, goal: Goal) {
        self.compare(measure, &BTreeMap::from([(Kind::Rqps, figures)]), decimals, Some(goal));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn verdict(reached: Option<bool>) -> String {
    match reached {
        Some(true) => "met",
        Some(false) => "not met",
        None => "",
    }
    .to_string()
}
