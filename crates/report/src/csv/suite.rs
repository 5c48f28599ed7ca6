//! The microbenchmarks for spreadsheets and scripts.

use rqps_document::Row;
use rqps_stats::normalised::{IOSTAT, VMSTAT};

use super::Rows;
use crate::Report;
use crate::model::{MEASURES, Suite, share};

/// The additional files of a run of the microbenchmarks, by name. `relative.csv` and `relative.txt`
/// are the published tables (the latter with tabs and numbers first, as in the posts), `tests.csv`
/// has all measures of each test, and `scaleup.csv` exists if tests ran with several numbers of
/// clients. None for other benchmarks.
pub fn suite_files(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let Some(suite) = report.suite() else { return Vec::new() };
    let mut files = vec![("tests.csv", tests(&suite))];
    if suite.others().next().is_some() && report.model.base.is_some() {
        files.push(("relative.csv", relative_tests(&suite)));
        files.push(("relative.txt", published(&suite)));
    }
    if suite.is_scaleup() {
        files.push(("scaleup.csv", scaleup(&suite)));
    }
    files
}

/// A row for each published test and number of clients, with the rate of each contender as a share
/// of the baseline's, which comes first.
fn relative_tests(suite: &Suite) -> String {
    let mut rows = Rows::new();
    let Some(base) = suite.model.base else { return rows.finish() };
    let indices: Vec<usize> = [base].into_iter().chain(suite.others()).collect();
    let names = indices.iter().map(|&index| suite.model.contenders[index]);
    rows.add(["test", "group", "clients"].into_iter().chain(names));
    for (group, test) in suite.tests() {
        for (clients, step) in &test.steps {
            let place = [test.name.to_string(), group.to_string(), clients.to_string()];
            let shares = indices.iter().map(|&index| match share(step, base, index) {
                Some(share) => format!("{share:.2}"),
                None => String::new(),
            });
            let row: Vec<String> = place.into_iter().chain(shares).collect();
            rows.add(row.iter().map(String::as_str));
        }
    }
    rows.finish()
}

/// Every finished step with all measures, unrounded except for the posts' columns. Unreported steps
/// have no group.
fn tests(suite: &Suite) -> String {
    let mut rows = Rows::new();
    let place = ["contender", "test", "group", "clients", "relative"];
    let measures = MEASURES.iter().map(|measure| measure.key);
    let seconds = ["second_min", "second_median", "second_max"];
    let posts = || IOSTAT.iter().chain(&VMSTAT);
    let names = posts().map(|column| column.name);
    rows.add(place.into_iter().chain(measures).chain(seconds).chain(names).chain(["dbms"]));
    for (index, contender) in suite.model.contenders.iter().enumerate() {
        for (group, test) in suite.all_tests() {
            for (clients, step) in &test.steps {
                let measured = step.measured[index].as_ref().filter(|m| m.is_done());
                let Some(measured) = measured else { continue };
                let base = suite.model.base.and_then(|base| share(step, base, index));
                let mut row = vec![
                    contender.to_string(),
                    test.name.to_string(),
                    group.unwrap_or_default().to_string(),
                    clients.to_string(),
                    number(base),
                ];
                row.extend(MEASURES.iter().map(|measure| number((measure.value)(measured))));
                let varies = measured.variation();
                row.extend([
                    number(varies.map(|v| v.min)),
                    number(varies.map(|v| v.median)),
                    number(varies.map(|v| v.max)),
                ]);
                let window = measured.window();
                row.extend(posts().map(|column| column.print(&window)));
                row.push(contender.to_string());
                rows.add(row.iter().map(String::as_str));
            }
        }
    }
    rows.finish()
}

/// A row for each published test of each contender, a column for each number of clients with the
/// rate over that with the fewest.
fn scaleup(suite: &Suite) -> String {
    let mut rows = Rows::new();
    let clients: Vec<String> = suite.clients.iter().map(u32::to_string).collect();
    let law = ["switches_growth", "single", "contention", "coherency", "knee"];
    let place = ["test", "group", "contender"];
    rows.add(place.into_iter().chain(clients.iter().map(String::as_str)).chain(law));
    for growth in suite.growths() {
        let contender = suite.model.contenders[growth.contender];
        let mut row =
            vec![growth.test.to_string(), growth.group.to_string(), contender.to_string()];
        row.extend(suite.clients.iter().map(|&clients| number(growth.relative(clients))));
        row.extend([
            number(growth.switches),
            number(growth.law.map(|law| law.single)),
            number(growth.law.map(|law| law.contention)),
            number(growth.law.map(|law| law.coherency)),
            number(growth.knee()),
        ]);
        rows.add(row.iter().map(String::as_str));
    }
    rows.finish()
}

/// Empty if there is no value.
fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// The relative tables for a post or a spreadsheet: columns separated by tabs, no marks.
fn published(suite: &Suite) -> String {
    let mut lines = Vec::new();
    for &clients in &suite.clients {
        let Some(table) = suite.relative(clients) else { continue };
        let mut columns = suite.columns_told();
        if suite.is_scaleup() {
            columns[0] += &suite.with_clients(clients);
        }
        lines.extend(columns);
        let headings = table.headings.iter().map(|heading| heading.name.as_str());
        let headings = headings.collect::<Vec<_>>().join("\t");
        for (title, rows) in table.groups() {
            lines.extend([String::new(), format!("{headings}\t{title}")]);
            let line = |row: &Row| {
                let cells = row.cells.iter().map(|cell| cell.text.as_str());
                cells.chain([row.name.as_str()]).collect::<Vec<_>>().join("\t")
            };
            lines.extend(rows.iter().map(line));
        }
        lines.push(String::new());
    }
    lines.join("\n")
}
