//! How long a run goes on, and what of it is reported.

use std::time::Duration;

use anyhow::bail;
use rqps_workload::lua::ScriptOptions;

/// About 30 years: more does not fit into all clocks.
const MOST_SECONDS: f64 = 1e9;

#[derive(Clone, Debug)]
pub(super) struct EventLimits {
    pub(super) threads: u32,
    /// Of all clients.
    pub(super) events: Option<u64>,
    pub(super) time: Option<Duration>,
    pub(super) warm_up: Option<Duration>,
    /// How long after the time events may go on.
    pub(super) forced: Option<Duration>,
    /// Per second, of all clients.
    pub(super) rate: Option<f64>,
    pub(super) interval: Option<Duration>,
    pub(super) checkpoints: Vec<Duration>,
    pub(super) percentile: u32,
    pub(super) histogram: bool,
    pub(super) seed: u32,
    /// The user has given the seed.
    pub(super) is_seeded: bool,
}

impl EventLimits {
    pub(super) fn new(options: &ScriptOptions) -> anyhow::Result<EventLimits> {
        // Old names count where the new ones have their defaults.
        let either = |new: &str, old: &str, usual: f64| match options.number(old) {
            given if given > usual => given,
            _ => options.number(new),
        };
        let threads = options.threads().map_err(anyhow::Error::msg)?;
        let positive = |number: f64| (number > 0.0).then_some(number);
        let seconds =
            |number: f64| positive(number).map(|it| Duration::from_secs_f64(it.min(MOST_SECONDS)));
        let time = seconds(either("time", "max-time", 0.0));
        let percentile = options.number("percentile");
        if !(0.0..=100.0).contains(&percentile) {
            bail!("--percentile={percentile} must be from 0 to 100");
        }
        let mut checkpoints = Vec::new();
        for given in options.list("report-checkpoints") {
            let Ok(second) = given.trim().parse::<u32>() else {
                bail!("invalid value '{given}' for --report-checkpoints: seconds were expected");
            };
            checkpoints.push(Duration::from_secs(second.into()));
        }
        checkpoints.sort_unstable();
        let given_seed = options.number("rand-seed") as i64 as u32;
        let now = jiff::Timestamp::now().as_second() as u32;
        Ok(EventLimits {
            threads,
            events: positive(either("events", "max-requests", 0.0)).map(|events| events as u64),
            time,
            warm_up: seconds(options.number("warmup-time")),
            forced: forced(options.text("forced-shutdown"), time)?,
            rate: positive(either("rate", "tx-rate", 0.0)),
            interval: seconds(options.number("report-interval")),
            checkpoints,
            percentile: percentile as u32,
            histogram: options.flag("histogram"),
            seed: if given_seed == 0 { now } else { given_seed },
            is_seeded: given_seed != 0,
        })
    }
}

/// `off`, seconds, or percent of the time; a twentieth of it if there is no value.
fn forced(text: &str, time: Option<Duration>) -> anyhow::Result<Option<Duration>> {
    let Some(time) = time.filter(|_| !text.eq_ignore_ascii_case("off")) else { return Ok(None) };
    if text.is_empty() {
        return Ok(Some(time / 20));
    }
    let (digits, is_percent) = match text.strip_suffix('%') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let number = digits.parse::<u32>().ok().filter(|number| *number < 1_000_000);
    let Some(number) = number else {
        bail!("invalid value '{text}' for --forced-shutdown: seconds, N% or off was expected");
    };
    Ok(Some(if is_percent { time * number / 100 } else { Duration::from_secs(number.into()) }))
}
