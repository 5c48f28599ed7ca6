//! Levels and stalls of a step, which its average hides, in words.

use rqps_analysis::steadiness::Steadiness;
use rqps_stats::autocorrelation::FEW_STRETCHES;
use rqps_stats::stalls::Stalls;
use rqps_stats::steady::Class;

/// The class in JSON and CSV.
pub(crate) fn class(of: &Steadiness) -> Option<&'static str> {
    Some(match of.steady.as_ref()?.class {
        Class::Flat => "flat",
        Class::WarmUp => "warm_up",
        Class::SlowDown => "slow_down",
        Class::MultiLevel => "multi_level",
    })
}

/// What a reader of the average must know; empty for a run at one level without stalls.
pub(crate) fn remarks(of: &Steadiness) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(steady) = &of.steady {
        let trend = 100.0 * steady.trend.change;
        match steady.class {
            Class::WarmUp => {
                remarks.push(format!("warm-up of {} s: faster at the end than before", steady.cut))
            }
            Class::SlowDown => {
                remarks.push("slow-down: slower at the end than before".to_string());
            }
            Class::MultiLevel => {
                let levels = steady.changes.len() + 1;
                remarks.push(format!("{levels} levels, both faster and slower than the end"));
            }
            Class::Flat if steady.trend.is_flagged => {
                remarks.push(format!("a trend of {trend:+.0} % from start to end"));
            }
            Class::Flat => {}
        }
        if !steady.is_steady {
            remarks.push("no steady state".to_string());
        }
    }
    if of.stalls.longest > 0 {
        let Stalls { share, longest, period } = of.stalls;
        let period = period.map_or(String::new(), |seconds| format!(", every {seconds} s"));
        remarks.push(format!(
            "stalls in {:.1} % of the seconds, the longest {longest} s{period}",
            100.0 * share
        ));
    }
    // At one level, the correlation of seconds does not matter.
    if !remarks.is_empty() && of.stretches < FEW_STRETCHES {
        remarks.push(format!("fewer than {FEW_STRETCHES} independent stretches in this run"));
    }
    remarks
}
