//! The formats of a run that is analysed for one of them alone.

use rqps_analysis::comparison::{FailOn, Gate};
use rqps_report::{Colour, File, Report, Terminal};
use rqps_store::Run;

/// Functions of a run from those of its report.
macro_rules! made {
    ($($name:ident: $made:ty),* $(,)?) => {$(
        pub(crate) fn $name(run: &Run) -> $made {
            rqps_report::$name(&Report::new(run))
        }
    )*};
}

made! {
    csv: String,
    has_metrics: bool,
    hdr: Vec<File>,
    html: String,
    junit: Option<String>,
    latency_csv: String,
    metrics_csv: String,
    otava: String,
    parquet: Vec<File>,
    result_json: String,
    seconds_csv: String,
    suite_files: Vec<(&'static str, String)>,
    summary_markdown: String,
    sysbench: String,
    verdicts_csv: String,
}

pub(crate) fn text(run: &Run, colour: Colour) -> String {
    rqps_report::text(&Report::new(run), Terminal { colour, ..Terminal::PLAIN })
}

pub(crate) fn post(run: &Run, colour: Colour) -> String {
    rqps_report::post(&Report::new(run), Terminal { colour, ..Terminal::PLAIN })
}

pub(crate) fn gate(run: &Run, fail_on: FailOn) -> Option<Gate> {
    Report::new(run).gate(fail_on)
}
