//! The rounds of a comparison for spreadsheets and scripts.

use super::Rows;
use crate::model::Matrix;

/// A row for each round of each test and contender, with the counted operation and every measure of
/// the page; empty cells where a contender has no measurement.
pub(crate) fn rounds(matrix: &Matrix) -> String {
    let mut rows = Rows::new();
    let measures =
        matrix.measures.iter().map(|measure| format!("{} ({})", measure.name, measure.unit));
    let measures: Vec<String> = measures.collect();
    let place = ["test", "group", "operation", "contender", "round"];
    rows.add(place.into_iter().chain(measures.iter().map(String::as_str)));
    for row in &matrix.rows {
        for (index, contender) in matrix.contenders.iter().enumerate() {
            for (at, round) in row.rounds.iter().enumerate() {
                let values = row.values.iter().map(|measure| match measure[index][at] {
                    Some(value) => value.to_string(),
                    None => String::new(),
                });
                let values: Vec<String> = values.collect();
                let round = round.to_string();
                let place = [row.name.as_str(), &row.group, row.operation, contender, &round];
                rows.add(place.into_iter().chain(values.iter().map(String::as_str)));
            }
        }
    }
    rows.finish()
}
