//! The table at the end of the benchmark.

use std::collections::BTreeMap;
use std::fmt;

use comfy_table::presets::NOTHING;

use crate::clients::Kind;
use crate::spread::Spread;

/// The limit of rqps's figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    Own(f64),
    /// A part of another client's.
    Ratio(f64, Kind),
}

pub(crate) struct Table(comfy_table::Table);

impl Table {
    pub(crate) fn new() -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_header(["MEASURE", "CLIENT", "", "RQPS TO IT", "GOAL", ""]);
        Table(table)
    }

    /// A measure of all clients, each with a row and one figure per round.
    pub(crate) fn compare(
        &mut self,
        measure: &str,
        figures: &BTreeMap<Kind, Vec<f64>>,
        decimals: usize,
        goal: Option<Goal>,
    ) {
        let own = figures.get(&Kind::Rqps);
        let ratio_to = |other: &Kind| {
            let (own, other) = own.zip(figures.get(other))?;
            Spread::of_ratios(own, other)
        };
        let (wanted, reached) = match goal {
            Some(Goal::Own(most)) => {
                (format!("≤ {most}"), own.map(|own| Spread::of(own).median <= most))
            }
            Some(Goal::Ratio(most, other)) => {
                let ratio = ratio_to(&other);
                (format!("≤ {most} × {other}"), ratio.map(|ratio| ratio.median <= most))
            }
            None => (String::new(), None),
        };
        for (kind, figures) in figures {
            let figure = Spread::of(figures).show(decimals);
            let [measure, ratio, wanted, reached] = match kind {
                Kind::Rqps => [measure, "", &wanted, verdict(reached)].map(str::to_string),
                other => {
                    let ratio = ratio_to(other).map_or("-".to_string(), |ratio| ratio.show(3));
                    [String::new(), ratio, String::new(), String::new()]
                }
            };
            self.0.add_row([measure, kind.to_string(), figure, ratio, wanted, reached]);
        }
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

fn verdict(reached: Option<bool>) -> &'static str {
    match reached {
        Some(true) => "met",
        Some(false) => "not met",
        None => "",
    }
}
