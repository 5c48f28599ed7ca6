//! Rows that were published by the author of the Insert Benchmark must come out of the formulas
//! as they were printed (the posts and the report of reproductions/README.md).

use rqps_stats::bands::{self, Band, Throughput};
use rqps_stats::{METRICS, Normaliser, Window, histogram, sla};

/// One published row: what was printed, as strings, so that the digits count too.
struct Published {
    name: &'static str,
    cpus: u32,
    normaliser: Normaliser,
    ips: u64,
    qps: u64,
    rps: f64,
    rmbps: f64,
    wps: f64,
    wmbps: f64,
    csps: u64,
    cpups: f64,
    /// rpq rkbpq wpi wkbpi cspq cpupq
    derived: [&'static str; 6],
}

const INSERT: Normaliser = Normaliser::Insert;
const QUERY: Normaliser = Normaliser::Query;

#[rustfmt::skip]
const ROWS: &[Published] = &[
    // January 2021; reads were not copied into the table.
    Published { name: "pg131 l.i0", cpus: 4, normaliser: INSERT, ips: 105_820, qps: 0, rps: 0.0, rmbps: 0.0, wps: 70.7, wmbps: 44.4, csps: 12_878, cpups: 42.8, derived: ["0.000", "0.000", "0.001", "0.429", "0.122", "16"] },
    Published { name: "pg131 l.i1", cpus: 4, normaliser: INSERT, ips: 39_062, qps: 0, rps: 0.0, rmbps: 0.0, wps: 203.7, wmbps: 68.2, csps: 9_986, cpups: 35.7, derived: ["0.000", "0.000", "0.005", "1.789", "0.256", "37"] },
    Published { name: "pg131 q1000.2", cpus: 4, normaliser: QUERY, ips: 999, qps: 7_744, rps: 0.0, rmbps: 0.0, wps: 501.9, wmbps: 18.8, csps: 30_015, cpups: 28.6, derived: ["0.000", "0.000", "0.503", "19.295", "3.876", "148"] },
    // Seed 003, April 2023: two DBMSs, six steps.
    Published { name: "fbmy5635 l.i0", cpus: 30, normaliser: INSERT, ips: 727_273, qps: 0, rps: 0.0, rmbps: 0.0, wps: 550.8, wmbps: 152.5, csps: 136_590, cpups: 39.0, derived: ["0.000", "0.000", "0.001", "0.215", "0.188", "16"] },
    Published { name: "fbmy8028 l.i0", cpus: 30, normaliser: INSERT, ips: 728_597, qps: 0, rps: 0.0, rmbps: 0.0, wps: 460.1, wmbps: 110.8, csps: 135_114, cpups: 44.6, derived: ["0.000", "0.000", "0.001", "0.156", "0.185", "18"] },
    Published { name: "fbmy5635 l.x", cpus: 30, normaliser: INSERT, ips: 101_010, qps: 0, rps: 0.0, rmbps: 0.0, wps: 47.8, wmbps: 13.5, csps: 592, cpups: 2.9, derived: ["0.000", "0.000", "0.000", "0.137", "0.006", "9"] },
    Published { name: "fbmy8028 l.x", cpus: 30, normaliser: INSERT, ips: 107_786, qps: 0, rps: 0.0, rmbps: 0.0, wps: 38.4, wmbps: 11.5, csps: 792, cpups: 2.9, derived: ["0.000", "0.000", "0.000", "0.109", "0.007", "8"] },
    Published { name: "fbmy5635 l.i1", cpus: 30, normaliser: INSERT, ips: 151_286, qps: 0, rps: 15.0, rmbps: 2.4, wps: 622.6, wmbps: 186.5, csps: 139_305, cpups: 29.4, derived: ["0.000", "0.017", "0.004", "1.262", "0.921", "58"] },
    Published { name: "fbmy8028 l.i1", cpus: 30, normaliser: INSERT, ips: 159_808, qps: 0, rps: 12.0, rmbps: 2.5, wps: 512.3, wmbps: 119.3, csps: 150_452, cpups: 33.2, derived: ["0.000", "0.016", "0.003", "0.765", "0.941", "62"] },
    Published { name: "fbmy5635 q100.1", cpus: 30, normaliser: QUERY, ips: 1_976, qps: 70_778, rps: 0.0, rmbps: 0.0, wps: 18.5, wmbps: 5.0, csps: 292_942, cpups: 64.9, derived: ["0.000", "0.000", "0.009", "2.580", "4.139", "275"] },
    Published { name: "fbmy8028 q100.1", cpus: 30, normaliser: QUERY, ips: 1_976, qps: 82_778, rps: 0.0, rmbps: 0.0, wps: 23.7, wmbps: 3.7, csps: 323_952, cpups: 66.0, derived: ["0.000", "0.000", "0.012", "1.940", "3.913", "239"] },
    Published { name: "fbmy5635 q500.1", cpus: 30, normaliser: QUERY, ips: 9_890, qps: 69_230, rps: 0.0, rmbps: 0.0, wps: 51.4, wmbps: 14.8, csps: 279_025, cpups: 66.2, derived: ["0.000", "0.000", "0.005", "1.534", "4.030", "287"] },
    Published { name: "fbmy8028 q500.1", cpus: 30, normaliser: QUERY, ips: 9_885, qps: 80_883, rps: 0.0, rmbps: 0.0, wps: 47.8, wmbps: 8.5, csps: 315_965, cpups: 67.1, derived: ["0.000", "0.000", "0.005", "0.885", "3.906", "249"] },
    Published { name: "fbmy5635 q1000.1", cpus: 30, normaliser: QUERY, ips: 19_769, qps: 66_332, rps: 0.0, rmbps: 0.0, wps: 105.1, wmbps: 31.4, csps: 261_855, cpups: 68.2, derived: ["0.000", "0.000", "0.005", "1.625", "3.948", "308"] },
    Published { name: "fbmy8028 q1000.1", cpus: 30, normaliser: QUERY, ips: 19_769, qps: 77_800, rps: 0.0, rmbps: 0.0, wps: 88.2, wmbps: 17.9, csps: 299_809, cpups: 68.8, derived: ["0.000", "0.000", "0.004", "0.927", "3.854", "265"] },
];

/// The window whose averages are the published ones; with a `nudge` of -1 or 1, those at the ends
/// of what is printed the same, for the smallest or largest ratios. Ten thousand seconds make the
/// published decimals of the averages whole totals.
fn window(row: &Published, nudge: f64) -> Window<'static> {
    const SECONDS: f64 = 10_000.0;
    let total = |rate: f64| Some((rate.max(0.0) * SECONDS).round() as u64);
    let mib = |rate: f64| total((rate + 0.05 * nudge).max(0.0) * 1024.0 * 1024.0);
    let busy = (row.cpups + 0.05 * nudge) / 100.0 * f64::from(row.cpus) * 1e6;
    Window {
        normaliser: row.normaliser,
        seconds: SECONDS,
        cpus: row.cpus,
        inserts: ((row.ips as f64 - 0.5 * nudge) * SECONDS) as u64,
        queries: ((row.qps as f64 - 0.5 * nudge) * SECONDS) as u64,
        device_reads: total(row.rps + 0.5 * nudge),
        device_read_bytes: mib(row.rmbps),
        device_writes: total(row.wps + 0.05 * nudge),
        device_write_bytes: mib(row.wmbps),
        host_switches: total(row.csps as f64 + 0.5 * nudge),
        host_cpu: total(busy),
        ..Window::default()
    }
}

#[test]
fn published_averages_give_the_published_ratios() {
    for row in ROWS {
        for (name, printed) in
            ["rpq", "rkbpq", "wpi", "wkbpi", "cspq", "cpupq"].into_iter().zip(row.derived)
        {
            let column = METRICS.iter().find(|column| column.name == name).expect(name);
            let at = |nudge| (column.value)(&window(row, nudge)).expect(name);
            // The averages were rounded before they were printed, the ratios computed from more
            // digits: the published ratio lies between those of the ends of the rounding.
            let half_digit = 0.5 * 10f64.powi(-(column.decimals as i32));
            let published: f64 = printed.parse().unwrap();
            let range = at(-1.0) - half_digit..=at(1.0) + half_digit;
            assert!(range.contains(&published), "{} {name}: {published} in {range:?}", row.name);
        }
    }
}

#[test]
fn published_averages_print_as_published() {
    for row in ROWS {
        let window = window(row, 0.0);
        let printed = |name| {
            METRICS.iter().find(|column| column.name == name).map(|column| column.print(&window))
        };
        assert_eq!(printed("ips"), Some(row.ips.to_string()), "{}", row.name);
        assert_eq!(printed("qps"), Some(row.qps.to_string()), "{}", row.name);
        assert_eq!(printed("rps"), Some(format!("{:.0}", row.rps)), "{}", row.name);
        assert_eq!(printed("rmbps"), Some(format!("{:.1}", row.rmbps)), "{}", row.name);
        assert_eq!(printed("wps"), Some(format!("{:.1}", row.wps)), "{}", row.name);
        assert_eq!(printed("wmbps"), Some(format!("{:.1}", row.wmbps)), "{}", row.name);
        assert_eq!(printed("csps"), Some(row.csps.to_string()), "{}", row.name);
        assert_eq!(printed("cpups"), Some(format!("{:.1}", row.cpups)), "{}", row.name);
        assert_eq!(printed("cpupq"), Some(row.derived[5].to_string()), "{}", row.name);
    }
}

fn bands_of(rates: &[u64]) -> Vec<Band> {
    let column: Vec<Throughput> =
        rates.iter().map(|&rate| Throughput { rate, sustained: true }).collect();
    bands::throughput(&column)
}

/// The rates of `rates` whose cell is in `band`.
fn in_band(rates: &[u64], band: Band) -> Vec<u64> {
    let bands = bands_of(rates);
    rates.iter().zip(bands).filter(|(_, is)| *is == band).map(|(rate, _)| *rate).collect()
}

#[test]
fn the_colours_of_the_2020_page_come_out() {
    let li1 = [10532, 25413, 2123, 5828, 27624, 27662, 27510, 27548, 27586, 38760, 24420];
    assert_eq!(in_band(&li1, Band::Bad), [10532, 2123, 5828]);
    assert_eq!(in_band(&li1, Band::Good), [38760]);

    let lx =
        [283098, 291304, 128846, 134000, 157031, 157031, 157031, 157031, 157031, 283098, 155814];
    assert_eq!(in_band(&lx, Band::Good), [283098, 291304, 283098]);
    assert_eq!(
        in_band(&lx, Band::Bad),
        [128846, 134000, 157031, 157031, 157031, 157031, 157031, 155814]
    );

    let q100 = [7578, 7750, 7750, 7715, 7707, 7755, 7710, 7783, 7755, 7666, 7744];
    assert_eq!(in_band(&q100, Band::Bad), [], "all are within 80% of the largest");
    assert_eq!(in_band(&q100, Band::Good), [7750, 7750, 7755, 7783, 7755, 7744]);
}

#[test]
fn the_relative_table_of_2023_comes_out() {
    let base = [727_273.0, 101_010.0, 151_286.0, 70_778.0, 69_230.0, 66_332.0];
    let other = [728_597.0, 107_786.0, 159_808.0, 82_778.0, 80_883.0, 77_800.0];
    let printed: Vec<String> = base
        .iter()
        .zip(other)
        .map(|(base, value)| format!("{:.2}", bands::relative(value, *base).unwrap()))
        .collect();
    assert_eq!(printed, ["1.00", "1.07", "1.06", "1.17", "1.17", "1.17"]);
}

#[test]
fn the_write_rates_of_2023_kept_their_target() {
    for (rate, achieved) in [(100, 1976.0), (500, 9890.0), (500, 9885.0), (1000, 19769.0)] {
        // The published page shows them as failed: its keys for the two tables differed.
        assert!(sla::is_met(achieved, sla::target(20, rate)), "{achieved} of 20 x {rate}");
    }
    assert!(!sla::is_met(927.0, sla::target(1, 1000)), "Postgres, IO-bound, March 2024");
}

#[test]
fn the_longest_responses_of_2023_are_close_so_none_is_bad() {
    assert_eq!(bands::longest_response(&[264, 243]), [Band::Plain, Band::Good]);
    assert_eq!(bands::longest_response(&[51, 16]), [Band::Bad, Band::Good]);
}

#[test]
fn histogram_rows_of_2023_print_as_published() {
    // q100.1 of fbmy5635: 30.707% 69.289% 0.003% and two that are nonzero.
    let counts = [30_707_400, 69_289_300, 3_000, 200, 100, 0, 0, 0, 0, 0];
    let printed = histogram::percentages(&counts).map(histogram::print);
    assert_eq!(printed.join(" ").trim_end(), "30.707 69.289 0.003 nonzero nonzero");
    let shades = histogram::percentages(&counts).map(histogram::shade);
    assert_eq!(shades, [6, 14, 0, 0, 0, 0, 0, 0, 0, 0]);
}
