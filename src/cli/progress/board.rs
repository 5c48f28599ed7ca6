//! The live view as lines of text: the matrix of contenders and tests, the current work, its pace
//! and the remaining time.

use std::collections::BTreeSet;
use std::time::Duration;

use console::{Style, measure_text_width, truncate_str};
use rqps_lab::{Event, Pace, PlanEstimate};
use rqps_plan::Plan;

use super::lines::{Told, told};
use super::number::{clock, seconds, short};

/// The columns between two cells.
const GAP: usize = 2;
/// Names of tests are cut to a share of the width.
const LARGEST_NAME: usize = 28;
/// Lines below the matrix.
const FOOTER: usize = 3;
const BAR: usize = 20;
/// Narrower terminals show nothing.
const NARROWEST: usize = 10;

/// The state of a cell, or in a comparison of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Left,
    Running,
    Done,
    Failed,
}

impl State {
    /// Without colour, too.
    fn mark(self) -> &'static str {
        match self {
            State::Left => "·",
            State::Running => "▸",
            State::Done => "✓",
            State::Failed => "✗",
        }
    }

    fn style(self) -> Style {
        let style = Style::new().for_stderr();
        match self {
            State::Left => style.dim(),
            State::Running => style.cyan().bold(),
            State::Done => style,
            State::Failed => style.red(),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Cell {
    state: State,
    /// The result.
    text: String,
}

/// One workload: rows are its steps, columns its contenders; in a comparison those that are
/// compared with the baseline, and a row is measured for all of them in every round.
#[derive(Clone, Debug)]
pub(super) struct Board {
    /// Which workload it is, if there are several.
    title: String,
    rows: Vec<String>,
    columns: Vec<String>,
    /// By row and column.
    cells: Vec<Vec<Cell>>,
    /// By row, of a comparison.
    rounds: Option<Vec<State>>,
    round: String,
    /// The tests that are precise enough.
    settled: BTreeSet<String>,
    now: String,
    /// The finished share of the current work.
    done: Option<f64>,
    paces: Vec<(String, Pace)>,
    /// The row and column of what is running.
    place: (usize, usize),
}

impl Board {
    pub(super) fn new(title: String, plan: &Plan, estimate: &PlanEstimate) -> Board {
        let names = plan.contenders.iter().map(|one| one.name());
        let is_comparison = plan.comparison().is_some();
        let columns: Vec<String> = names.skip(usize::from(is_comparison)).collect();
        let rows = estimate.steps.clone();
        Board {
            title,
            cells: vec![vec![Cell::default(); columns.len()]; rows.len()],
            rounds: is_comparison.then(|| vec![State::Left; rows.len()]),
            rows,
            columns,
            round: String::new(),
            settled: BTreeSet::new(),
            now: String::new(),
            done: None,
            paces: Vec::new(),
            place: (0, 0),
        }
    }

    /// Whether to redraw now; the progress of the current work can wait for the next redraw.
    pub(super) fn event(&mut self, event: &Event) -> bool {
        if let Told::Now(text) = told(event) {
            (self.now, self.done) = (text, None);
            self.paces.clear();
        }
        match event {
            Event::Starting { contender } => self.place.1 = self.column(contender).unwrap_or(0),
            Event::Resumed { contender, steps } => {
                let Some(column) = self.column(contender) else { return false };
                self.cells[..*steps].iter_mut().for_each(|row| row[column].state = State::Done);
            }
            Event::Pausing { contender, step, .. }
            | Event::StepBegun { contender, step, .. }
            | Event::Indexing { contender, step }
            | Event::Checking { contender, step } => {
                self.set(contender, step, State::Running, String::new());
            }
            Event::Progress { pace, done, contender, .. } => {
                self.done = Some(*done);
                self.paces = vec![(contender.clone(), *pace)];
                return false;
            }
            Event::StepDone { contender, step, rate, .. } => {
                self.set(contender, step, State::Done, short(*rate));
            }
            Event::RoundBegun { round, rounds, .. } => {
                self.round = format!("round {round} of at most {rounds}");
                let settled = &self.settled;
                let state = |row: &String| match settled.contains(row) {
                    true => State::Done,
                    false => State::Left,
                };
                self.rounds = Some(self.rows.iter().map(state).collect());
            }
            Event::Profiling { round, rounds } => {
                self.round = format!("profiles: round {round} of {rounds}");
            }
            Event::Answering { number, tests, .. } => {
                self.round = format!("rows: {number} of {tests}");
            }
            Event::Counting { test, .. } => {
                self.round = format!("instructions of {test}");
            }
            Event::Measuring { test, contender, done, paces, .. } => {
                return self.measuring(test, contender.as_deref(), *done, paces);
            }
            Event::RoundDone { interim, .. } => {
                self.settled = interim.settled.iter().cloned().collect();
                let states = self.rounds.iter_mut().flatten();
                states.for_each(|state| *state = State::Done);
                for one in &interim.standing {
                    // The row shows whether it is precise enough.
                    let estimate = one.text.split(", ").next().unwrap_or_default();
                    self.set(&one.contender, &one.test, State::Done, estimate.to_string());
                }
            }
            Event::Failed { contender, .. } => self.fail(contender),
            _ => {}
        }
        true
    }

    fn column(&self, contender: &str) -> Option<usize> {
        self.columns.iter().position(|name| name == contender)
    }

    fn set(&mut self, contender: &str, step: &str, state: State, text: String) {
        let row = self.rows.iter().position(|name| name == step);
        let Some((row, column)) = row.zip(self.column(contender)) else { return };
        self.cells[row][column] = Cell { state, text };
        self.place = (row, column);
    }

    fn measuring(
        &mut self,
        test: &str,
        contender: Option<&str>,
        done: f64,
        paces: &[(String, Pace)],
    ) -> bool {
        let of = contender.map_or(String::new(), |name| format!(" of {name}"));
        let now = format!("{}: {test}{of}", self.round);
        self.done = Some(done);
        self.paces = paces.to_vec();
        if now == self.now {
            return false;
        }
        self.now = now;
        let Some(row) = self.rows.iter().position(|name| name == test) else { return true };
        for state in self.rounds.iter_mut().flatten().filter(|state| **state == State::Running) {
            *state = State::Done;
        }
        if let Some(rounds) = &mut self.rounds {
            rounds[row] = State::Running;
        }
        self.place.0 = row;
        true
    }

    /// A contender has failed: its remaining steps fail, except in a comparison.
    fn fail(&mut self, contender: &str) {
        let Some(column) = self.column(contender).filter(|_| self.rounds.is_none()) else { return };
        let cells = self.cells.iter_mut().map(|row| &mut row[column]);
        for cell in cells.filter(|cell| cell.state != State::Done) {
            cell.state = State::Failed;
        }
    }

    /// Lines that are narrower than the width and fewer than the height; `elapsed` and `left` are
    /// seconds.
    pub(super) fn lines(
        &self,
        width: usize,
        height: usize,
        elapsed: f64,
        left: f64,
    ) -> Vec<String> {
        if width < NARROWEST {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let room = height.saturating_sub(FOOTER + 2);
        if room > 2 {
            lines.extend(self.matrix(width.saturating_sub(1), room));
        }
        lines.push(self.doing());
        lines.push(self.pace());
        let [elapsed, left] = [elapsed, left].map(|of| clock(Duration::from_secs_f64(of.max(0.0))));
        let title = if self.title.is_empty() { String::new() } else { format!("; {}", self.title) };
        // A narrow terminal shows only the beginning.
        lines.push(format!("ETA {left}, elapsed {elapsed}; {}{title}", self.tally()));
        let cut = |line: String| truncate_str(&line, width.saturating_sub(1), "…").into_owned();
        lines.into_iter().map(cut).collect()
    }

    /// As many rows and columns as fit, around what is running.
    fn matrix(&self, width: usize, room: usize) -> Vec<String> {
        let widest = |names: &[String]| names.iter().map(|name| measure_text_width(name)).max();
        let name_width = widest(&self.rows).unwrap_or(0).min(LARGEST_NAME).min(width / 2);
        // A mark and a space before the name.
        let left = width.saturating_sub(name_width + 2);
        let texts = self.cells.iter().flatten().map(|cell| measure_text_width(&cell.text) + 2);
        let cell = texts.chain(widest(&self.columns)).max().unwrap_or(0).clamp(8, 24);
        let cell = cell.min(left.saturating_sub(GAP));
        let columns = self.around(self.place.1, self.columns.len(), (left / (cell + GAP)).max(1));
        // Two lines are for the names and for the number of hidden rows.
        let rows = self.around(self.place.0, self.rows.len(), room - 2);

        let gap = " ".repeat(GAP);
        let hidden_columns = self.columns.len() - columns.len();
        let head = match hidden_columns {
            0 => self.settled_line(),
            count => format!("{count} more"),
        };
        let mut line = format!("  {}", padded(&head, name_width, false));
        for column in columns.clone() {
            line += &format!("{gap}{}", padded(&self.columns[column], cell, true));
        }
        let mut lines = vec![line];
        for row in rows.clone() {
            let state = self.rounds.as_ref().map(|rounds| rounds[row]);
            let mark = state.map_or(" ", State::mark);
            let name = format!("{mark} {}", padded(&self.rows[row], name_width, false));
            let mut line = state.unwrap_or(State::Done).style().apply_to(name).to_string();
            for column in columns.clone() {
                let of = &self.cells[row][column];
                line += &gap;
                line += &of.state.style().apply_to(padded(&self.cell(of), cell, true)).to_string();
            }
            lines.push(line);
        }
        let hidden = self.rows.len() - rows.len();
        if hidden > 0 {
            let below = self.rows.len() - rows.end;
            lines.push(format!("  … {} above, {below} below", rows.start));
        }
        lines
    }

    fn settled_line(&self) -> String {
        match self.settled.len() {
            0 => String::new(),
            count => format!("{count} precise"),
        }
    }

    fn cell(&self, cell: &Cell) -> String {
        let mark = cell.state.mark();
        match (cell.state, self.done) {
            _ if self.rounds.is_some() && cell.state == State::Done => cell.text.clone(),
            (State::Done, _) if cell.text.is_empty() => mark.to_string(),
            (State::Done, _) => cell.text.clone(),
            (State::Running, Some(done)) => format!("{mark} {}", percent(done)),
            _ => mark.to_string(),
        }
    }

    /// A part of `count` places with `place` in it.
    fn around(&self, place: usize, count: usize, room: usize) -> std::ops::Range<usize> {
        let room = room.min(count);
        let from = place.saturating_sub(room / 2).min(count - room);
        from..from + room
    }

    fn doing(&self) -> String {
        let Some(done) = self.done else { return self.now.clone() };
        let full = (done.clamp(0.0, 1.0) * BAR as f64).round() as usize;
        let bar: String = "━".repeat(full) + &"─".repeat(BAR - full);
        format!("{bar} {}  {}", percent(done), self.now)
    }

    /// Throughput and latency of those that are measured.
    fn pace(&self) -> String {
        let told = self.paces.iter().filter(|(_, pace)| pace.rate > 0.0);
        let told = told.map(|(name, pace)| {
            format!("{name} {}/s, {}", short(pace.rate), seconds(pace.latency))
        });
        told.collect::<Vec<_>>().join("  ")
    }

    fn tally(&self) -> String {
        let cells = || self.cells.iter().flatten().map(|cell| cell.state);
        let count = |wanted: State| match &self.rounds {
            Some(rounds) => rounds.iter().filter(|state| **state == wanted).count(),
            None => cells().filter(|state| *state == wanted).count(),
        };
        let [left, running, done, failed] =
            [State::Left, State::Running, State::Done, State::Failed].map(count);
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let round = match (&self.rounds, self.round.is_empty()) {
            (Some(_), false) => format!("{}: ", self.round),
            _ => String::new(),
        };
        format!("{round}{done} done, {running} running, {left} pending{failed}")
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share.clamp(0.0, 1.0))
}

/// Cut or filled to a width; numbers are right-aligned.
fn padded(text: &str, width: usize, is_right: bool) -> String {
    let text = truncate_str(text, width, "…");
    let fill = " ".repeat(width.saturating_sub(measure_text_width(&text)));
    if is_right { format!("{fill}{text}") } else { format!("{text}{fill}") }
}

#[cfg(test)]
mod tests {
    use rqps_analysis::comparison::{Interim, Standing};
    use rqps_plan::Matrix;

    use super::*;
    use crate::cli::matrix::expand;

    fn board(text: &str) -> Board {
        let item = expand(&Matrix::parse(text).unwrap()).unwrap().remove(0);
        let estimate = rqps_lab::estimate(&item.plan, 2, 16 << 30).unwrap();
        Board::new(String::new(), &item.plan, &estimate)
    }

    fn suite() -> Board {
        board("contenders = ['a=sqlite', 'b=sqlite']\n[micro.a]\ntests = ['point', 'range']\n")
    }

    fn of(contender: &str, step: &str) -> (String, String) {
        (contender.to_string(), step.to_string())
    }

    fn begun(name: &str, step: &str) -> Event {
        let (contender, step) = of(name, step);
        Event::StepBegun { contender, step, number: 1, steps: 15 }
    }

    fn done(name: &str, step: &str, rate: f64) -> Event {
        let (contender, step) = of(name, step);
        Event::StepDone { contender, step, seconds: 1.0, rate, unit: "rows/s".to_string() }
    }

    fn shown(board: &Board, width: usize, height: usize) -> Vec<String> {
        let lines = board.lines(width, height, 5.0, 65.0);
        let plain = lines.iter().map(|line| console::strip_ansi_codes(line).into_owned());
        let lines: Vec<String> = plain.collect();
        assert!(lines.len() < height, "{lines:#?}");
        assert!(lines.iter().all(|line| measure_text_width(line) < width), "{lines:#?}");
        lines
    }

    #[test]
    fn cells_are_done_running_left_or_failed() {
        let mut board = suite();
        board.event(&done("a", "load", 123_456.0));
        board.event(&begun("a", "scan"));
        let (contender, step) = of("a", "scan");
        let pace = Pace { rate: 2_500.0, latency: 0.0004 };
        assert!(!board.event(&Event::Progress { contender, step, pace, done: 0.5 }));
        let failed = Event::Failed { contender: "b".to_string(), error: String::new() };
        board.event(&failed);
        let lines = shown(&board, 100, 40);
        assert!(lines[1].starts_with("  load") && lines[1].contains("123K"), "{lines:#?}");
        assert!(lines[2].contains("▸ 50 %") && lines[2].ends_with('✗'), "{lines:#?}");
        assert!(lines[3].contains('·'), "{lines:#?}");
        let [bar, pace, time] = &lines[lines.len() - 3..] else { panic!() };
        assert!(bar.starts_with("━━━━━━━━━━────────── 50 %"), "{bar}");
        assert_eq!(pace, "a 2.50K/s, 400 µs");
        assert!(time.starts_with("ETA 1:05, elapsed 0:05; 1 done, 1 running, "), "{time}");
    }

    #[test]
    fn a_terminal_of_any_size_shows_what_is_running() {
        let mut board = suite();
        board.event(&begun("b", "range-covered-si"));
        for (width, height) in [(40, 12), (80, 24), (200, 60), (25, 9)] {
            let lines = shown(&board, width, height);
            let is_running = |line: &String| line.starts_with("  range-cov") && line.contains('▸');
            assert!(lines.iter().any(is_running), "{width}x{height}: {lines:#?}");
        }
        assert_eq!(shown(&board, 12, 4).len(), 3, "there is no room for a matrix");
        assert!(shown(&board, 1, 1_000).is_empty());
    }

    #[test]
    fn in_a_comparison_a_test_is_measured_for_everybody_and_cells_have_intervals() {
        let mut board = board(
            "contenders = ['a=sqlite', 'b=sqlite']\n[compare.a]\nworkload = 'micro:point-query,scan'\n",
        );
        board.event(&Event::RoundBegun { round: 3, rounds: 12, tests: 2 });
        let measuring = |test: &str| Event::Measuring {
            round: 3,
            test: test.to_string(),
            contender: None,
            done: 0.25,
            paces: vec![("a".to_string(), Pace { rate: 10.0, latency: 0.1 })],
        };
        board.event(&measuring("scan"));
        assert!(!board.event(&measuring("scan")), "the next redraw is soon enough");
        let (contender, test) = of("b", "scan");
        let text = "+0.31 % ± 0.22 %, precise enough".to_string();
        let standing = vec![Standing { contender, test, text, rounds_needed: Some(6) }];
        let settled = vec!["scan".to_string()];
        let interim = Interim { standing, settled, ..Interim::default() };
        board.event(&measuring("point-query"));
        let lines = shown(&board, 100, 30);
        assert!(lines.iter().any(|line| line.starts_with("✓ scan")), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("▸ point-query")), "{lines:#?}");
        board.event(&Event::RoundDone { round: 3, seconds: 1.0, interim });
        board.event(&Event::RoundBegun { round: 4, rounds: 12, tests: 1 });
        let lines = shown(&board, 100, 30);
        assert!(lines[0].contains("1 precise"), "{lines:#?}");
        let scan = lines.iter().find(|line| line.starts_with("✓ scan")).unwrap();
        assert!(scan.ends_with("  +0.31 % ± 0.22 %"), "{scan}");
    }
}
