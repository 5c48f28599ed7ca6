//! The result of a selftest for the terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};
use rqps_stats::acceptance::LEVEL;
use rqps_stats::binomial::Share;

use super::{Check, Conclusion, Counted, Line, SYNTHETIC, SelfTest, Treatment};

/// `3 of 36 (2–22 %)`.
pub(super) fn share(share: Share) -> String {
    let interval = share.interval(LEVEL);
    counted(&Counted { hits: share.hits, of: share.of, low: interval.low, high: interval.high })
}

fn counted(share: &Counted) -> String {
    match share.of {
        0 => "-".to_string(),
        of => {
            let [low, high] = [share.low, share.high].map(|value| (100.0 * value).round());
            format!("{} of {of} ({low}–{high} %)", share.hits)
        }
    }
}

/// `-0.12 %` of a log ratio.
pub(super) fn signed(log: f64) -> String {
    format!("{:+.2} %", 100.0 * log.exp_m1())
}

fn unsigned(value: Option<f64>) -> String {
    value.map_or("-".to_string(), |value| format!("{:.2} %", 100.0 * value.exp_m1()))
}

/// The result for people.
pub fn selftest_text(selftest: &SelfTest) -> String {
    let (equals, treated): (Vec<&Line>, Vec<&Line>) =
        selftest.lines.iter().partition(|line| line.treatment == Treatment::Same);
    let slowed: Vec<&Line> = treated.iter().copied().filter(|line| is_slowed(line)).collect();
    let explained: Vec<&Line> =
        treated.into_iter().filter(|line| line.engine != SYNTHETIC).collect();
    let mut parts = Vec::new();
    if !equals.is_empty() {
        parts.push("A/A comparisons: each difference is a false alarm\n".to_string());
        parts.push(equals_table(&equals));
    }
    if !slowed.is_empty() {
        parts.push("A build against itself, with an injected slowdown of known size\n".to_string());
        parts.push(slowed_table(&slowed));
    }
    if !explained.is_empty() {
        parts.push("Causes of cells with a verdict\n".to_string());
        parts.push(causes_table(&explained));
        parts.push(causes(selftest));
    }
    parts.push(checks(selftest));
    parts.push(legend(selftest));
    parts.push(format!("{}\n", conclusion(selftest)));
    parts.join("\n")
}

/// Whether the size of the slowdown is known; that of a setting is not.
fn is_slowed(line: &Line) -> bool {
    !matches!(line.treatment, Treatment::Same | Treatment::Setting(_))
}

fn equals_table(lines: &[&Line]) -> String {
    let headings = ["cells", "differ at 5 %", "verdicts", "SD over rounds", "MDE"];
    let rows = lines.iter().map(|line| {
        let columns = vec![
            line.cells.to_string(),
            counted(&line.flagged),
            line.verdicts.hits.to_string(),
            unsigned(line.spread),
            unsigned(line.detectable),
        ];
        (line.class.clone().unwrap_or("all".to_string()), columns)
    });
    drawn(lines, &headings, rows)
}

fn slowed_table(lines: &[&Line]) -> String {
    let headings =
        ["cells", "expected", "measured", "bias", "found", "wrong sign", "interval contains it"];
    let rows = lines.iter().map(|line| {
        let columns = vec![
            line.cells.to_string(),
            ratio(line.expected),
            ratio(line.measured),
            line.bias.map_or("-".to_string(), |[value, ..]| signed(value)),
            counted(&line.found),
            line.wrong_signs.to_string(),
            counted(&line.covered),
        ];
        (treatment(line.treatment), columns)
    });
    drawn(lines, &headings, rows)
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_string(), |ratio| format!("{ratio:.4}"))
}

fn causes_table(lines: &[&Line]) -> String {
    let headings = ["cells", "without a verdict", "cause right"];
    let rows = lines.iter().map(|line| {
        let silent = line.verdicts.of - line.verdicts.hits;
        let columns = vec![line.cells.to_string(), silent.to_string(), counted(&line.causes)];
        (treatment(line.treatment), columns)
    });
    drawn(lines, &headings, rows)
}

/// Each missed cause with the causes given instead, and the share of right ones.
fn causes(selftest: &SelfTest) -> String {
    let missed = selftest.cells.iter().filter(|cell| cell.is_cause_right == Some(false));
    let missed = missed.map(|cell| {
        let done = match &cell.settings {
            Some(settings) => format!("{}, {settings}", treatment(cell.treatment)),
            None => treatment(cell.treatment),
        };
        let told = cell.cause.as_deref().unwrap_or("none");
        format!("missed  {} by {}, {}, {done}: {told}\n", cell.engine, cell.method, cell.test)
    });
    let all = Share::count(selftest.cells.iter().filter_map(|cell| cell.is_cause_right));
    let sum = || format!("The first cause was right in {} cells with a verdict.\n", share(all));
    missed.chain((all.of > 0).then(sum)).collect()
}

/// A table with a heading for each engine and method.
fn drawn(
    lines: &[&Line],
    headings: &[&str],
    rows: impl Iterator<Item = (String, Vec<String>)>,
) -> String {
    let mut drawn = Table::new();
    drawn.load_style(NOTHING);
    drawn.force_no_tty();
    let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
    let mut header = vec![Cell::new("")];
    header.extend(headings.iter().map(|heading| right(heading)));
    drawn.set_header(header);
    let mut group = String::new();
    for (line, (name, columns)) in lines.iter().zip(rows) {
        let of = format!("{} by {}", line.engine, line.method);
        if of != group {
            drawn.add_row([Cell::new(&of)]);
            group = of;
        }
        let mut row = vec![Cell::new(format!("  {name}"))];
        row.extend(columns.iter().map(|text| right(text)));
        drawn.add_row(row);
    }
    for (index, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((if index > 0 { 2 } else { 0 }, 0));
    }
    drawn.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

fn treatment(treatment: Treatment) -> String {
    match treatment {
        Treatment::Same => "same build".to_string(),
        Treatment::Server(share) => format!("server {:.0} % longer", 100.0 * share),
        Treatment::Client(share) => format!("client {:.0} % longer", 100.0 * share),
        Treatment::Quota(cpus) => format!("quota of {cpus} CPUs"),
        Treatment::Writes(writes) => format!("{writes} writes per second"),
        Treatment::Setting(cause) => format!("{} {}", cause.rule(), cause.name(true)),
    }
}

fn checks(selftest: &SelfTest) -> String {
    let check = |check: &Check| {
        let mark = if check.is_kept { "ok    " } else { "BROKEN" };
        format!("{mark}  {}: {}\n", check.what, check.found)
    };
    let skipped = selftest.skipped.iter().map(|what| format!("skipped  {what}\n"));
    selftest.checks.iter().map(check).chain(skipped).collect()
}

fn legend(selftest: &SelfTest) -> String {
    let discarded: usize = selftest.lines.iter().map(|line| line.refused).sum();
    let discarded = match discarded {
        0 => String::new(),
        _ => format!(" Cells without a result, since guards discarded rounds: {discarded}."),
    };
    let is_made_up = selftest.lines.iter().any(|line| line.engine == SYNTHETIC);
    let made_up = match is_made_up {
        true => " Synthetic rounds are simulated: they test the statistics without a machine.",
        false => "",
    };
    let clients = match selftest.clients {
        1 => String::new(),
        clients => format!(
            " Each server had {clients} clients: the result holds for comparisons with as many."
        ),
    };
    format!(
        "A cell is one test of one contender. Shares have 95 % intervals (Clopper and Pearson): a \
         bound is broken only if the whole interval is outside.{made_up}{clients}{discarded}\n"
    )
}

fn conclusion(selftest: &SelfTest) -> String {
    let broken: Vec<&Check> = selftest.checks.iter().filter(|check| !check.is_kept).collect();
    let of_rqps = match broken.iter().filter(|check| check.engine == SYNTHETIC).count() {
        0 => String::new(),
        count => format!(
            " Of these, {count} concern synthetic rounds: the error is in rqps, not in this machine."
        ),
    };
    let broken = broken.len();
    match selftest.conclusion {
        Conclusion::Sound if selftest.quick => {
            "Sound: no evidence against verdicts on this machine. A quick selftest has few cells and \
             finds gross errors only."
                .to_string()
        }
        Conclusion::Sound if selftest.partial => {
            "Sound: no evidence against verdicts on this machine in these parts of the selftest."
                .to_string()
        }
        Conclusion::Sound => {
            "Sound: no evidence against verdicts on this machine.".to_string()
        }
        Conclusion::TooNoisy => format!(
            "This machine is too noisy now for a conclusion: {}, and {broken} of {} bounds are \
             broken. Most verdicts here will be \"inconclusive\". Stop other processes, or use \
             another machine.",
            noise(selftest),
            selftest.checks.len()
        ),
        Conclusion::OutOfBounds => format!(
            "Do not rely on verdicts on this machine: {broken} of {} bounds are broken.{of_rqps} \
             Comparisons use another method than the one that failed, if there is one.",
            selftest.checks.len()
        ),
    }
}

/// Why the machine is too noisy.
fn noise(selftest: &SelfTest) -> String {
    let is_of_all = |line: &&Line| line.class.is_none() && line.engine != SYNTHETIC;
    let all = selftest.lines.iter().filter(is_of_all);
    let least = all.filter_map(|line| line.detectable).min_by(f64::total_cmp);
    match least {
        Some(least) => format!(
            "the MDE is {:.0} %, or guards discarded most measurements",
            100.0 * least.exp_m1()
        ),
        None => "no measurement counts".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rqps_analysis::diagnosis::Cause;

    use super::super::bounds::tests::{cell, equals, varied};
    use super::super::lines;
    use super::*;

    fn sample(conclusion: Conclusion, is_kept: bool) -> SelfTest {
        let mut cells = equals(6, 1, 0.005);
        cells[0].class = "range".to_string();
        let slowed = |value| cell(Treatment::Server(0.02), -0.02, value, 0.005);
        cells.extend([-0.0211, -0.0209].map(slowed));
        let what = "postgres by slices: A/A comparisons seldom differ".to_string();
        SelfTest {
            version: 1,
            date: "2026-11-22T03:00:00Z".to_string(),
            rqps_version: "0.1.0".to_string(),
            host: "here".to_string(),
            clients: 1,
            quick: false,
            partial: false,
            conclusion,
            checks: vec![Check {
                engine: "postgres".to_string(),
                what,
                is_kept,
                found: "1 of 6 differ".to_string(),
            }],
            lines: lines(&cells),
            skipped: vec!["postgres: a CPU quota: not allowed".to_string()],
            cells,
            fitness: Vec::new(),
        }
    }

    #[test]
    fn each_class_has_a_line_and_all_of_them_one_below() {
        let text = selftest_text(&sample(Conclusion::Sound, true));
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let line = |begin: &str| {
            let found = lines.iter().position(|line| line.starts_with(begin));
            found.unwrap_or_else(|| panic!("no {begin}:\n{text}"))
        };
        assert!(line("range") < line("all") && line("point") < line("all"), "{text}");
        assert!(lines[line("all")].contains("1 of 6 (0–64 %)"), "{text}");
        let slowed = lines[line("server 2 % longer")];
        for column in ["0.9802", "0.9792", "-0.10 %", "2 of 2"] {
            assert!(slowed.contains(column), "{text}");
        }
        assert!(text.contains("skipped  postgres: a CPU quota"), "{text}");
        assert!(text.ends_with("no evidence against verdicts on this machine.\n"), "{text}");
    }

    #[test]
    fn missed_causes_are_told_with_what_was_told_instead() {
        let mut selftest = sample(Conclusion::Sound, true);
        assert!(!selftest_text(&selftest).contains("was right"), "there is no cause");
        selftest.cells.extend([
            varied(Cause::Commit, Some(true)),
            varied(Cause::Commit, Some(false)),
            varied(Cause::Commit, None),
            varied(Cause::Plan, Some(true)),
            varied(Cause::Plan, Some(true)),
        ]);
        selftest.lines = lines(&selftest.cells);
        let text = selftest_text(&selftest);
        let row = |begin: &str| {
            let found = text.lines().filter(|line| line.trim_start().starts_with(begin));
            let rows: Vec<String> =
                found.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            rows.join("\n")
        };
        assert_eq!(row("R11"), "R11 slower commits 3 1 1 of 2 (1–99 %)", "{text}");
        assert_eq!(row("R10"), "R10 another query plan 2 0 2 of 2 (16–100 %)", "{text}");
        assert_eq!(
            row("missed"),
            "missed postgres by slices, update-nonindex, R11 slower commits, log=slow: more writes \
             (likely); most of the added time is user CPU",
            "{text}"
        );
        assert!(text.contains("The first cause was right in 3 of 4 (19–99 %)"), "{text}");
    }

    #[test]
    fn several_clients_are_told() {
        let mut selftest = sample(Conclusion::Sound, true);
        assert!(!selftest_text(&selftest).contains("clients"));
        selftest.clients = 4;
        let text = selftest_text(&selftest);
        assert!(text.contains("Each server had 4 clients: the result holds"), "{text}");
    }

    #[test]
    fn a_broken_bound_and_a_noisy_machine_are_told_as_such() {
        let text = selftest_text(&sample(Conclusion::OutOfBounds, false));
        assert!(text.contains("BROKEN  postgres by slices: A/A comparisons"), "{text}");
        assert!(text.contains("Do not rely on verdicts on this machine: 1 of 1 bounds"), "{text}");
        assert!(!text.contains("synthetic"), "{text}");
        let text = selftest_text(&sample(Conclusion::TooNoisy, true));
        assert!(text.contains("too noisy now for a conclusion"), "{text}");
    }

    #[test]
    fn what_is_made_up_is_a_group_of_its_own_and_says_nothing_of_the_machine() {
        let mut selftest = sample(Conclusion::TooNoisy, true);
        let mut cells = equals(6, 0, 0.001);
        cells.iter_mut().for_each(|cell| cell.engine = SYNTHETIC.to_string());
        cells.extend(equals(6, 0, 0.08));
        selftest.lines = lines(&cells);
        let text = selftest_text(&selftest);
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}:\n{text}"));
        assert!(place("synthetic by slices") < place("postgres by slices"), "{text}");
        assert!(text.contains("the MDE is 11 %"), "{text}");
        selftest.conclusion = Conclusion::OutOfBounds;
        selftest.checks[0].engine = SYNTHETIC.to_string();
        selftest.checks[0].is_kept = false;
        let text = selftest_text(&selftest);
        assert!(text.contains("Of these, 1 concern synthetic rounds"), "{text}");
    }
}
