//! Profiles for a terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};
use rqps_analysis::comparison::Profiled;
use rqps_stats::profile::Function;

use super::profile::{notes, numbers, readable, told};

/// Longer names are cut, so that lines stay readable: templates have names of hundreds of letters.
const WIDEST: usize = 60;

/// A part for each profiled test.
pub(super) fn text(profiles: &[Profiled]) -> String {
    profiles.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn part(profiled: &Profiled) -> String {
    let [base, contender] = profiled.sides.each_ref().map(|side| side.contender);
    let mut text = format!(
        "Profile of {}: self time of functions, in us of the server's CPU per statement, {base} -> \
         {contender}\n",
        profiled.test
    );
    let told = told(&profiled.own);
    match told.iter().all(Vec::is_empty) {
        true => text.push_str("  no function has changed significantly\n"),
        false => text.push_str(&table(told)),
    }
    for note in notes(profiled) {
        text.push_str(&format!("  {note}\n"));
    }
    text
}

fn table(told: [Vec<&Function>; 2]) -> String {
    let mut drawn = Table::new();
    drawn.load_style(NOTHING);
    drawn.force_no_tty();
    for (title, functions) in ["higher cost", "lower cost"].into_iter().zip(told) {
        for (index, function) in functions.into_iter().enumerate() {
            let [base, contender, change, low, high] = numbers(function);
            let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
            drawn.add_row([
                Cell::new(if index == 0 { title } else { "" }),
                Cell::new(short(&readable(&function.name))),
                right(base),
                Cell::new("->"),
                right(contender),
                right(change),
                Cell::new(format!("({low} to {high})")),
            ]);
        }
    }
    for column in drawn.column_iter_mut() {
        column.set_padding((2, 0));
    }
    drawn.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

fn short(name: &str) -> String {
    match name.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}
