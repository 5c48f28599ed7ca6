//! The cost of an operation, beside its rate.

use super::{Cell, Cost};
use crate::analysis::{Analysis, analyses};

/// A cost of a cell, and its noise between baseline and control.
pub(super) struct CostAnalysis {
    pub(super) name: String,
    pub(super) analysis: Analysis,
    noise: f64,
}

/// The costs of each cell, each moderated by the same cost of the other tests of the class.
pub(super) fn costs(cells: &[Cell], is_paired: bool, drift: f64) -> Vec<Vec<CostAnalysis>> {
    let keys: Vec<Vec<String>> = cells
        .iter()
        .map(|cell| {
            cell.costs.iter().map(|cost| format!("{}\0{}", cell.class, cost.name)).collect()
        })
        .collect();
    let samples = cells.iter().flat_map(|cell| cell.costs.iter().map(|cost| &cost.sample));
    let mut all =
        analyses(keys.iter().flatten().map(String::as_str).zip(samples), is_paired, drift)
            .into_iter();
    let mut own = |cell: &Cell| {
        let analysis = |(cost, analysis): (&Cost, Analysis)| {
            let control = Analysis::of_control(&cost.sample, is_paired);
            let noise =
                control.and_then(|control| control.primary(0.05)).map_or(0.0, |it| it.value.abs());
            CostAnalysis { name: cost.name.clone(), analysis, noise }
        };
        cell.costs.iter().zip(all.by_ref()).map(analysis).collect()
    };
    cells.iter().map(&mut own).collect()
}

/// The cost that rose most: significantly, by at least the margin, and by more than the A/A control
/// differs.
pub(super) fn risen(costs: &[CostAnalysis], margin: f64, alpha: f64) -> Option<(String, f64)> {
    costs
        .iter()
        .map(|cost| (cost, cost.analysis.primary_or_nothing(alpha)))
        .filter(|(cost, rise)| {
            rise.interval.low > 0.0 && rise.value >= margin && rise.value > cost.noise
        })
        .max_by(|(_, left), (_, right)| left.value.total_cmp(&right.value))
        .map(|(cost, rise)| (cost.name.clone(), rise.interval.low))
}
