//! The functions of a profiled test that cost more or less than in the baseline.

use rqps_analysis::comparison::Profiled;
use rqps_document::{Block, Cell, Heading, Row, Style, Table};
use rqps_stats::profile::Function;

use crate::comparison::{profile_notes, profile_numbers, profile_told, readable};

const NOTHING: &str = "No function has changed significantly.";

pub(super) fn blocks(profiled: &Profiled<'_>) -> Vec<Block> {
    let title = format!(
        "Profile of {}: self time of functions, us of the server's CPU per statement",
        profiled.test
    );
    let mut blocks = vec![Block::Heading(title), changes(profiled, &profiled.own, "itself")];
    blocks.extend(Block::list(Style::Bullets, profile_notes(profiled)));
    blocks
}

/// The table of the functions that have changed, or a sentence.
pub(crate) fn changes(profiled: &Profiled<'_>, functions: &[Function], what: &str) -> Block {
    let [base, contender] = profiled.sides.each_ref().map(|side| side.contender);
    let names = [base, contender, "change, us", "95 % interval"];
    let groups = ["higher cost", "lower cost"].into_iter().zip(profile_told(functions));
    let rows = groups.flat_map(|(title, functions)| {
        functions.into_iter().map(move |function| {
            let [base, contender, change, low, high] = profile_numbers(function);
            let cells = [base, contender, change, format!("{low} to {high}")].map(Cell::plain);
            Row::new(readable(&function.name), cells.into()).within(title)
        })
    });
    let headings = names.map(|name| Heading::new(name, ""));
    let table = Table::new(headings.into(), rows.collect()).named(format!("function {what}"));
    if table.is_empty() { Block::text(NOTHING) } else { Block::Table(table) }
}
