//! What the person who waits is shown: a live line on a terminal, plain lines otherwise.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rqps_dbms::source::Progress as Fetch;
use rqps_lab::{Enough, Event};
use rqps_plan::Source;

use super::cancel::Cancel;
use super::output::note;

pub(crate) struct Progress {
    bar: ProgressBar,
    live: bool,
    last: String,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let live = std::io::stderr().is_terminal();
        let target = if live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1_000), target);
        bar.set_style(style("{spinner} {msg}"));
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress { bar, live, last: String::new() }
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        if self.live {
            self.bar.suspend(|| note(text));
        } else {
            note(text);
        }
    }

    /// What is being done now: on a terminal the live line, otherwise a line, once.
    fn now(&mut self, text: String) {
        if text == self.last {
            return;
        }
        if self.live {
            self.bar.set_style(style("{spinner} {msg}"));
            self.bar.set_message(text.clone());
        } else {
            note(&text);
        }
        self.last = text;
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows the fetching of a build; answers whether to go on with it.
    pub(crate) fn fetch(&mut self, progress: Fetch, cancel: &Cancel) -> ControlFlow<()> {
        match progress {
            // The system answers at once.
            Fetch::Looking { source: Source::System } | Fetch::Asking { .. } => {}
            Fetch::Looking { source } => self.now(format!("asking {source} for versions")),
            Fetch::Fetching { what } => self.now(format!("fetching {what}")),
            Fetch::Unpacking { done, total } => {
                self.now("unpacking".to_string());
                if self.live {
                    let (done, total) = (HumanBytes(done), HumanBytes(total));
                    self.bar.set_message(format!("unpacking {done} of {total}"));
                }
            }
            Fetch::Waiting => self.now("waiting for another rqps that is fetching".to_string()),
        }
        if cancel.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Starting { contender } => self.now(format!("{contender}: starting")),
            Event::Started { contender, version, seconds } => {
                self.line(&format!("{contender}: version {version}, started in {seconds:.1} s"));
            }
            Event::Pausing { contender, step, at_least } => self.now(format!(
                "{contender}: maintenance and a pause of {:.0} s before {step}",
                at_least.as_secs_f64()
            )),
            Event::Rested { contender, step, seconds } => {
                self.line(&format!("{contender}: at rest after {seconds:.1} s, before {step}"));
            }
            Event::Noted { contender, step, note } => {
                self.line(&format!("{contender}: {step}: {note}"));
            }
            Event::StepBegun { contender, step, number, steps } => {
                self.now(format!("{contender}: {step} ({number} of {steps})"));
                if self.live {
                    self.bar.reset();
                    self.bar.set_style(style("{spinner} {prefix} [{bar:24}] {msg} {eta}"));
                    self.bar.set_prefix(format!("{contender}: {step} ({number} of {steps})"));
                    self.bar.set_message("");
                }
            }
            Event::Progress { rate, done, .. } if self.live => {
                self.bar.set_position((done.clamp(0.0, 1.0) * 1_000.0) as u64);
                self.bar.set_message(format!("{} ops/s, left:", grouped(rate)));
            }
            // A line a second is too much for a log.
            Event::Progress { .. } => {}
            Event::Checking { contender, step } => {
                self.now(format!("{contender}: checking {step}"))
            }
            Event::StepDone { contender, step, seconds, rate, unit } => {
                let rate = grouped(rate);
                self.line(&format!("{contender}: {step:<8} {seconds:>7.1} s {rate:>12} {unit}"));
            }
            Event::ContenderDone { contender } => self.line(&format!("{contender}: done")),
            Event::DataKept { contender, path } => {
                self.line(&format!("{contender}: its data stay in {}", path.display()));
            }
            Event::Loading { contender } => self.now(format!("{contender}: loading")),
            Event::Loaded { contender, version, seconds } => {
                self.line(&format!("{contender}: version {version}, loaded in {seconds:.1} s"));
            }
            Event::RoundBegun { round, rounds, tests } => {
                self.now(format!("round {round} of at most {rounds}, {tests} tests"));
                if self.live {
                    self.bar.reset();
                    self.bar.set_style(style("{spinner} {prefix} [{bar:24}] {msg} {eta}"));
                    self.bar.set_prefix(format!("round {round} of at most {rounds}"));
                }
            }
            Event::Measuring { test, done, .. } if self.live => {
                self.bar.set_position((done.clamp(0.0, 1.0) * 1_000.0) as u64);
                self.bar.set_message(test);
            }
            Event::Measuring { .. } => {}
            Event::Refused { test, why, attempt } => {
                self.line(&format!("{test}: attempt {attempt} does not count: {why}"));
            }
            Event::RoundDone { round, seconds, standing } => {
                self.line(&format!("round {round}: {seconds:.1} s"));
                standing.iter().for_each(|line| self.line(&format!("  {line}")));
            }
            Event::InPairs { servers, fit, needed, available } => self.line(&format!(
                "{servers} servers need about {needed} MB and {available} MB are available: {fit} of \
                 them fit, so the base takes turns with one contender at a time"
            )),
            Event::BudgetSpent { rounds, enough } => {
                let plural = if rounds == 1 { "" } else { "s" };
                let enough = enough.map_or(String::new(), |Enough { seconds, tests }| {
                    let fit = match tests {
                        0 => "not even one test fits".to_string(),
                        1 => "one test fits".to_string(),
                        tests => format!("{tests} tests fit"),
                    };
                    format!(
                        "; the fewest rounds of a verdict would take {seconds:.0} s, and into this \
                         budget {fit}"
                    )
                });
                self.line(&format!(
                    "the budget ended the comparison after {rounds} round{plural}{enough}"
                ));
            }
            Event::Failed { contender, error } => {
                self.line(&format!("error: {contender}: {error}"));
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the templates are in this file");
    style.progress_chars("=> ")
}

/// `1234567.8` as `1,234,568`.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn large_numbers_are_grouped() {
        for (number, text) in [(0.4, "0"), (999.6, "1,000"), (1_234_567.8, "1,234,568")] {
            assert_eq!(grouped(number), text);
        }
    }
}
