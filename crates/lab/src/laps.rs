//! Where the time of a load or a round goes, for the log (`-vv`).

use std::time::{Duration, Instant};

/// Times one part of some work after the other.
pub(crate) struct Laps {
    began: Instant,
    last: Instant,
    parts: Vec<(&'static str, Duration)>,
}

impl Laps {
    pub(crate) fn begin() -> Laps {
        let now = Instant::now();
        Laps { began: now, last: now, parts: Vec::new() }
    }

    /// A part ends here, and the next one begins.
    pub(crate) fn lap(&mut self, part: &'static str) {
        let now = Instant::now();
        self.parts.push((part, now - self.last));
        self.last = now;
    }

    /// The seconds of all parts, logged.
    pub(crate) fn tell(&self, work: &str) {
        tracing::debug!("{work}: {}", self.text());
    }

    fn text(&self) -> String {
        let part = |(part, time): &(&str, Duration)| format!("{part} {:.3} s", time.as_secs_f64());
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        format!("{:.3} s: {}", (self.last - self.began).as_secs_f64(), parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_in_their_order_and_add_up() {
        let began = Instant::now();
        let parts = vec![("start", Duration::from_millis(120)), ("fill", Duration::from_secs(1))];
        let laps = Laps { began, last: began + Duration::from_millis(1120), parts };
        assert_eq!(laps.text(), "1.120 s: start 0.120 s, fill 1.000 s");
    }
}
