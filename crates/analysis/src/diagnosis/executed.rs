//! The instructions of an operation: whether the costlier arm executes more of them, or the same
//! ones slower. Where code and data lie in memory can move the speed of the same instructions by
//! several percent (Mytkowicz et al. 2009, "Producing wrong data without doing anything obviously
//! wrong").

use super::evidence::{Evidence, Part};
use super::instructions::Executed;
use super::number::Number;
use super::view::View;
use super::words::{change, signed};

/// Instructions explain a change of CPU from this part of it on. They are those of user space
/// alone, and take more or less time each.
const ABOUT: f64 = 0.5;
/// How many functions are named.
const NAMED: usize = 3;

/// The instructions beside a change of CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// The costlier arm has as many more as explain its CPU.
    Longer,
    Same,
    /// They differ, but by less than the CPU, or the other way.
    Apart,
}

/// None if they were not counted, or if CPU is not known.
pub(super) fn length(view: &View) -> Option<Length> {
    let executed = view.evidence.executed.as_ref()?;
    let log = executed.log() * view.sign;
    Some(match log >= ABOUT * cpu(view.evidence)? * view.sign {
        _ if executed.is_same() => Length::Same,
        true if log > 0.0 => Length::Longer,
        _ => Length::Apart,
    })
}

/// The change of the server's CPU per operation, as a logarithm.
fn cpu(evidence: &Evidence) -> Option<f64> {
    let user = evidence.parts.get(&Part::ServerUser);
    let cost = evidence.cpu.as_ref().or(user)?;
    let log = (cost.contender / cost.base).ln();
    log.is_finite().then_some(log)
}

/// The end of a sentence about CPU; empty if nothing was counted.
pub(super) fn told(view: &View) -> (String, Vec<Number>) {
    let executed = view.evidence.executed.as_ref();
    let (Some(executed), Some(length)) = (executed, length(view)) else {
        return (String::new(), Vec::new());
    };
    let added = executed.contender - executed.base;
    let size = format!("{} ({})", signed(added), percent(executed));
    let text = match length {
        Length::Longer => {
            let grown = executed.functions.iter().filter(|one| one.change * added > 0.0);
            let named: Vec<String> = grown
                .take(NAMED)
                .map(|one| format!("`{}` {}", one.function, signed(one.change)))
                .collect();
            format!(". Instructions per operation: {size}: {}", named.join(", "))
        }
        Length::Same => format!(
            ". The same instructions per operation ({}), {}: code layout, caches or memory; a rebuild \
             may change it",
            percent(executed),
            if view.is_slower() { "slower" } else { "faster" }
        ),
        Length::Apart => format!(". Instructions per operation do not explain it: {size}"),
    };
    (text, vec![Number::plain("instructions per operation", "instructions", added)])
}

fn percent(executed: &Executed) -> String {
    match executed.is_same() {
        // One decimal would show most of these as zero.
        true => format!("{:+.2} %", 100.0 * executed.log().exp_m1()),
        false => change(executed.log()),
    }
}
