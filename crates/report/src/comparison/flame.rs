//! Flame graphs of profiles: of both arms, and of their difference.

use rqps_analysis::comparison::Profiled;
use std::collections::BTreeMap;
use std::str::FromStr;

use inferno::flamegraph::{Options, Palette, from_lines};

/// A drawing with the name that tells it from the others.
pub(crate) struct Flame {
    pub(crate) name: String,
    pub(crate) svg: String,
}

/// Percent of the width below which a function is not drawn.
const LEAST_WIDTH: f64 = 0.1;

/// Baseline, contender, and the difference both ways: as wide as the contender, which hides removed
/// functions, and as wide as the baseline, which hides new ones. Then the function in which all
/// stacks begin, if there is one.
pub(crate) fn flames(profiled: &Profiled) -> (Vec<Flame>, Option<String>) {
    let stacks = profiled.stacks();
    let [base, contender] = profiled.sides.each_ref().map(|side| side.contender);
    let drawn = [
        (base.to_string(), alone(&stacks.base), false),
        (contender.to_string(), alone(&stacks.contender), false),
        (
            format!("difference, as wide as {contender}"),
            beside(&stacks.base, &stacks.contender),
            false,
        ),
        (format!("difference, as wide as {base}"), beside(&stacks.contender, &stacks.base), true),
    ];
    let draw = |(name, lines, is_turned): (String, Vec<String>, bool)| {
        let title = format!("{}: {name}", profiled.test);
        Some(Flame { svg: draw(title, &lines, is_turned)?, name })
    };
    (drawn.into_iter().filter_map(draw).collect(), stacks.anchor)
}

/// Nanoseconds per statement, which are whole numbers.
fn nanos(micros: f64) -> u64 {
    (micros * 1e3).round() as u64
}

fn alone(stacks: &BTreeMap<String, f64>) -> Vec<String> {
    let lines = stacks.iter().filter(|(_, micros)| nanos(**micros) > 0);
    lines.map(|(stack, micros)| format!("{stack} {}", nanos(*micros))).collect()
}

/// Every stack of either arm, with the time of the first and of the second, which is the width.
fn beside(first: &BTreeMap<String, f64>, second: &BTreeMap<String, f64>) -> Vec<String> {
    let mut both: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (place, stacks) in [first, second].into_iter().enumerate() {
        for (stack, micros) in stacks {
            both.entry(stack).or_default()[place] = nanos(*micros);
        }
    }
    both.iter().map(|(stack, [first, second])| format!("{stack} {first} {second}")).collect()
}

/// None where there is nothing to draw. `is_turned`: growth is from the second number to the first.
fn draw(title: String, lines: &[String], is_turned: bool) -> Option<String> {
    let mut options = Options::default();
    options.title = title;
    options.count_name = "ns of CPU per statement".to_string();
    options.min_width = LEAST_WIDTH;
    options.negate_differentials = is_turned;
    options.colors = Palette::from_str("hot").ok()?;
    // The same profile is drawn the same every time.
    options.deterministic = true;
    let mut svg = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).ok()?;
    String::from_utf8(svg).ok()
}
