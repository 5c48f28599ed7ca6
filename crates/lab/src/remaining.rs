//! Forecasts the remaining time while plans are carried out: first from the estimate, then more and
//! more from the time that the same work took. It reads no clock; its callers pass the time.

use std::collections::BTreeSet;

use rqps_plan::{Comparison, Plan, Profiled};

use crate::Event;
use crate::compare::{MOST_PROFILED, PROFILE_ROUNDS};
use crate::estimate::{Kind, Piece, PlanEstimate};
use crate::measure::SECOND;
use rqps_analysis::comparison::Interim;

/// The weight of the estimate beside measured time, in seconds, so that a short piece with a large
/// overhead does not change the estimate of a long one.
const DOUBT: f64 = 0.5;
/// From this finished share of a piece on, its own pace alone decides the forecast.
const TELLING: f64 = 0.2;

/// Follows plans that are carried out one after another.
#[derive(Clone, Debug)]
pub struct Remaining {
    workloads: Vec<Work>,
    /// The current workload, and its current piece.
    workload: usize,
    current: Option<usize>,
    /// When time was last added to the current piece, in seconds since the beginning.
    counted: f64,
    /// When the window of the current piece began, and its finished share.
    window: Option<(f64, f64)>,
}

/// A workload's pieces and its rules.
#[derive(Clone, Debug)]
struct Work {
    pieces: Vec<Progress>,
    steps: Vec<String>,
    comparison: Option<Rounds>,
    began: f64,
}

/// The limits of the rounds of a comparison, and what follows them.
#[derive(Clone, Debug)]
struct Rounds {
    most: u32,
    fresh: u32,
    /// In seconds.
    budget: Option<f64>,
    /// Its steps build on each other, so that all run in every round.
    is_whole: bool,
    /// The likely tests of fresh rounds.
    unconfirmed: BTreeSet<String>,
    /// The tests that will probably be profiled, and whether verdicts choose them.
    profiled: BTreeSet<String>,
    by_verdict: bool,
}

/// A piece of the estimate with its progress. Pieces of the same name are one if no event
/// distinguishes them.
#[derive(Clone, Debug)]
struct Progress {
    contender: String,
    step: String,
    kind: Kind,
    /// Seconds of doing it once.
    planned: f64,
    /// How often it still has to be started.
    left: u32,
    /// Whether it was started and has not ended.
    is_open: bool,
    /// Seconds since it was started.
    spent: f64,
    /// Seconds of each time that has ended.
    seen: Vec<f64>,
}

impl Progress {
    fn new(piece: &Piece) -> Progress {
        Progress {
            contender: piece.contender.clone(),
            step: piece.step.clone(),
            kind: piece.kind,
            planned: piece.time.as_secs_f64(),
            left: piece.times,
            is_open: false,
            spent: 0.0,
            seen: Vec::new(),
        }
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.seen.push(std::mem::take(&mut self.spent));
        }
    }

    /// The median, so that a single disturbance does not matter.
    fn usual(&self) -> Option<f64> {
        let mut sorted = self.seen.clone();
        sorted.sort_by(f64::total_cmp);
        let upper = *sorted.get(sorted.len() / 2)?;
        Some((upper + sorted[(sorted.len() - 1) / 2]) / 2.0)
    }
}

impl Work {
    fn new(plan: &Plan, estimate: &PlanEstimate) -> Work {
        let (steps, began) = (estimate.steps.clone(), 0.0);
        let Some(comparison) = plan.comparison() else {
            let pieces = estimate.pieces.iter().map(Progress::new).collect();
            return Work { pieces, steps, comparison: None, began };
        };
        let mut pieces: Vec<Progress> = Vec::new();
        for piece in &estimate.pieces {
            let kind = match (piece.contender.as_str(), piece.step.as_str()) {
                (_, "") if !piece.contender.is_empty() => Kind::Load,
                (_, "") => Kind::Start,
                _ => Kind::Timed,
            };
            let named = |one: &&mut Progress| {
                (&one.contender, &one.step) == (&piece.contender, &piece.step)
            };
            match pieces.iter_mut().find(named) {
                Some(one) => one.planned += piece.time.as_secs_f64(),
                None => pieces.push(Progress { kind, ..Progress::new(piece) }),
            }
        }
        Work { pieces, steps, comparison: Some(Rounds::new(comparison)), began }
    }

    fn find(&self, contender: &str, step: &str, kind: Kind) -> Option<usize> {
        self.pieces.iter().position(|one| {
            (one.contender.as_str(), one.step.as_str(), one.kind) == (contender, step, kind)
        })
    }

    /// The piece that measures a step.
    fn window(&self, contender: &str, step: &str) -> Option<usize> {
        self.pieces.iter().position(|one| {
            (one.contender.as_str(), one.step.as_str()) == (contender, step)
                && !matches!(one.kind, Kind::Pause | Kind::Check)
        })
    }

    fn drop(&mut self, is_dropped: impl Fn(&Progress) -> bool) {
        self.pieces.iter_mut().filter(|one| is_dropped(one)).for_each(|one| one.left = 0);
    }

    /// How much slower a contender was than the others at the same work of a kind. A contender that
    /// loads slowly may write fast, so each kind has its own factor.
    fn slowness(&self, piece: &Progress) -> f64 {
        let own = |one: &&Progress| one.contender == piece.contender && one.kind == piece.kind;
        let pairs = self.pieces.iter().filter(own);
        let pairs = pairs.filter_map(|one| Some((one.usual()?, self.others(one)?)));
        let sums = pairs.fold((DOUBT, DOUBT), |sum, (own, others)| (sum.0 + own, sum.1 + others));
        sums.0 / sums.1
    }

    /// The mean time of others for the same work, if the same was expected of them.
    fn others(&self, piece: &Progress) -> Option<f64> {
        let same = |one: &&Progress| {
            (&one.step, one.kind, one.planned) == (&piece.step, piece.kind, piece.planned)
                && one.contender != piece.contender
        };
        let means: Vec<f64> = self.pieces.iter().filter(same).filter_map(Progress::usual).collect();
        (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
    }
}

impl Rounds {
    fn new(comparison: &Comparison) -> Rounds {
        let tests = match &comparison.profile {
            Some(Profiled::All) => comparison.tests(),
            Some(Profiled::Tests(tests)) => tests.clone(),
            Some(Profiled::Changed) | None => Vec::new(),
        };
        Rounds {
            most: comparison.rounds,
            fresh: comparison.confirm.unwrap_or(0),
            budget: comparison.budget.map(|budget| budget.0.as_secs_f64()),
            is_whole: comparison.of.is_chain(),
            unconfirmed: BTreeSet::new(),
            profiled: tests.into_iter().collect(),
            by_verdict: comparison.profile == Some(Profiled::Changed),
        }
    }
}

/// The remaining rounds of a comparison.
impl Work {
    /// A round begins.
    fn reach(&mut self, round: u32) {
        // Everything is loaded.
        self.drop(|one| one.kind == Kind::Load);
        let Some(rounds) = &self.comparison else { return };
        let last = if round > rounds.most { rounds.most + rounds.fresh } else { rounds.most };
        let left = (last + 1).saturating_sub(round);
        let most = left + if round > rounds.most { 0 } else { rounds.fresh };
        self.pieces.iter_mut().for_each(|one| one.left = one.left.min(most));
    }

    /// A round has ended: updates how many more rounds each test needs.
    fn foresee(&mut self, round: u32, interim: &Interim) {
        let Some(rounds) = &mut self.comparison else { return };
        let is_in = |names: &[String], test: &String| names.contains(test);
        let is_open = |test: &&String| !is_in(&interim.confirmed, test);
        rounds.unconfirmed = match rounds.fresh {
            // Nothing is known about them.
            _ if interim.standing.is_empty() => BTreeSet::new(),
            0 => BTreeSet::new(),
            _ => self.steps.iter().filter(is_open).cloned().collect(),
        };
        if rounds.by_verdict {
            let mut changed: Vec<_> = interim.changed.iter().collect();
            changed.sort_by(|left, right| right.size.total_cmp(&left.size));
            let mut names: Vec<&String> = Vec::new();
            for one in changed {
                if !names.contains(&&one.test) && names.len() < MOST_PROFILED {
                    names.push(&one.test);
                }
            }
            rounds.profiled = names.into_iter().cloned().collect();
        }
        let most = rounds.most;
        let fresh_left = (most + rounds.fresh).saturating_sub(round.max(most));
        let of = |test: &String| {
            let needed = interim.standing.iter().filter(|one| one.test == *test);
            let needed = needed.map(|one| one.rounds_needed.unwrap_or(most)).max();
            match is_in(&interim.settled, test) {
                true => 0,
                false => needed.unwrap_or(most).min(most).saturating_sub(round),
            }
        };
        let each: Vec<(u32, u32)> = (self.steps.iter())
            .map(|test| (of(test), if rounds.unconfirmed.contains(test) { fresh_left } else { 0 }))
            .collect();
        let longest = |of: fn(&(u32, u32)) -> u32| each.iter().map(of).max().unwrap_or(0);
        let all = longest(|one| one.0) + longest(|one| one.1);
        let is_whole = rounds.is_whole;
        for piece in self.pieces.iter_mut().filter(|one| one.kind != Kind::Load) {
            let place = self.steps.iter().position(|step| *step == piece.step);
            piece.left = match place.filter(|_| !is_whole) {
                Some(place) => each[place].0 + each[place].1,
                None => all,
            };
        }
    }

    /// No more rounds of this kind: fresh rounds may follow those of the plan.
    fn stop(&mut self, round: u32) {
        let Some(rounds) = &self.comparison else { return };
        let left = if round < rounds.most { rounds.fresh } else { 0 };
        let unconfirmed = rounds.unconfirmed.clone();
        self.repeat(&unconfirmed, left);
    }

    /// `times` rounds of these tests remain, and no others.
    fn repeat(&mut self, tests: &BTreeSet<String>, times: u32) {
        for piece in &mut self.pieces {
            let is_start = piece.kind == Kind::Start && !tests.is_empty();
            piece.left = if is_start || tests.contains(&piece.step) { times } else { 0 };
        }
    }

    fn profile(&mut self, tests: &[String]) {
        let tests = tests.iter().cloned().collect();
        self.repeat(&tests, PROFILE_ROUNDS);
        if let Some(rounds) = &mut self.comparison {
            // They are pieces now, outside the budget.
            rounds.profiled = BTreeSet::new();
            (rounds.by_verdict, rounds.budget) = (false, None);
        }
    }
}

impl Remaining {
    /// Before anything starts; each plan with its estimate.
    pub fn new<'a>(plans: impl IntoIterator<Item = (&'a Plan, &'a PlanEstimate)>) -> Remaining {
        Remaining {
            workloads: plans.into_iter().map(|(plan, of)| Work::new(plan, of)).collect(),
            workload: 0,
            current: None,
            counted: 0.0,
            window: None,
        }
    }

    /// A plan starts; those before it are over. `now` is in seconds since the beginning, here and
    /// below.
    pub fn begin(&mut self, workload: usize, now: f64) {
        self.close(now);
        self.workload = workload;
        for work in &mut self.workloads[..workload] {
            work.drop(|_| true);
        }
        self.workloads[workload].began = now;
    }

    /// The remaining seconds of all plans.
    pub fn seconds(&self, now: f64) -> f64 {
        let each = self.workloads.iter().enumerate();
        each.map(|(at, work)| self.of(at, work, now)).sum()
    }

    fn of(&self, at: usize, work: &Work, now: f64) -> f64 {
        let in_hand = if at == self.workload { self.in_hand(now) } else { 0.0 };
        let sum = |times: &dyn Fn(&Progress) -> u32| -> f64 {
            let pieces = work.pieces.iter().filter(|one| times(one) > 0);
            pieces.map(|one| f64::from(times(one)) * self.expected(work, one)).sum()
        };
        let left = in_hand + sum(&|one| one.left);
        let Some(rounds) = &work.comparison else { return left };
        let profiles = match rounds.profiled.is_empty() {
            true => 0.0,
            false => {
                sum(&|one| match one.kind == Kind::Start || rounds.profiled.contains(&one.step) {
                    true => PROFILE_ROUNDS,
                    false => 0,
                })
            }
        };
        let starts = work.pieces.iter().filter(|one| one.kind == Kind::Start);
        let rounds_left = starts.map(|one| one.left).max().unwrap_or(0);
        let Some(budget) = rounds.budget.filter(|_| rounds_left > 0) else {
            return left + profiles;
        };
        // The current round ends, but no round starts that would exceed the budget.
        let in_rounds = sum(&|one| one.left.min(rounds_left) * u32::from(one.kind != Kind::Load));
        let before = left - in_rounds;
        let spent = if at == self.workload { now - work.began } else { 0.0 };
        let each = in_rounds / f64::from(rounds_left);
        let fit = ((budget - spent - before) / each).floor().clamp(0.0, f64::from(rounds_left));
        before + fit * each + profiles
    }

    /// The remaining seconds of the current piece.
    fn in_hand(&self, now: f64) -> f64 {
        let work = &self.workloads[self.workload];
        let Some(piece) = self.current.map(|at| &work.pieces[at]) else { return 0.0 };
        let since = (now - self.counted).max(0.0);
        let by_expectation = (self.expected(work, piece) - piece.spent - since).max(0.0);
        match self.window {
            Some((began, done)) if done > 0.0 => {
                let took = self.counted - began;
                let at_its_pace = (took * (1.0 / done - 1.0) - since).max(0.0);
                let weight = (done / TELLING).min(1.0);
                weight * at_its_pace + (1.0 - weight) * by_expectation
            }
            _ => by_expectation,
        }
    }

    /// The expected seconds of doing a piece once: from its own earlier times, or those of others,
    /// or the ratio of pieces of its kind to their estimates.
    fn expected(&self, work: &Work, piece: &Progress) -> f64 {
        if let Some(usual) = piece.usual() {
            return usual;
        }
        if let Some(others) = work.others(piece) {
            return others * work.slowness(piece);
        }
        let all = || self.workloads.iter().flat_map(|work| &work.pieces);
        let ratio = |is_like: &dyn Fn(&Progress) -> bool| {
            let seen = all().filter(|one| is_like(one) && !one.seen.is_empty());
            let (seen, planned) = seen.fold((0.0, 0.0), |sum, one| {
                (sum.0 + one.seen.iter().sum::<f64>(), sum.1 + one.planned * one.seen.len() as f64)
            });
            (planned > 0.0).then(|| (seen + DOUBT) / (planned + DOUBT))
        };
        let of_kind = ratio(&|one| one.kind == piece.kind);
        let of_work = || match piece.kind.is_work() {
            true => ratio(&|one| one.kind.is_work()),
            false => None,
        };
        piece.planned * of_kind.or_else(of_work).unwrap_or(1.0)
    }

    /// Adds the elapsed time to the current piece.
    fn count(&mut self, now: f64) {
        if let Some(at) = self.current {
            self.workloads[self.workload].pieces[at].spent += now - self.counted;
        }
        self.counted = now;
    }

    /// Leaves the current piece.
    fn leave(&mut self, now: f64) {
        self.count(now);
        (self.current, self.window) = (None, None);
    }

    /// Everything that was started has ended.
    fn close(&mut self, now: f64) {
        self.leave(now);
        self.workloads[self.workload].pieces.iter_mut().for_each(Progress::close);
    }

    /// A load has ended; others may go on beside it. The time of all counts once.
    fn loaded(&mut self, piece: usize, now: f64) {
        self.leave(now);
        let pieces = &mut self.workloads[self.workload].pieces;
        pieces[piece].close();
        self.current = pieces.iter().position(|one| one.kind == Kind::Load && one.is_open);
    }

    /// Makes a piece the current one. A piece of a round stays open until the round ends, since it
    /// may be resumed.
    fn enter(&mut self, piece: usize, now: f64) {
        if self.current == Some(piece) {
            return;
        }
        match self.workloads[self.workload].comparison {
            Some(_) => self.leave(now),
            None => self.close(now),
        }
        self.current = Some(piece);
        let piece = &mut self.workloads[self.workload].pieces[piece];
        if !std::mem::replace(&mut piece.is_open, true) {
            piece.left = piece.left.saturating_sub(1);
        }
    }

    pub fn event(&mut self, event: &Event, now: f64) {
        let work = &mut self.workloads[self.workload];
        let entered = match event {
            Event::Starting { contender } => work.find(contender, "", Kind::Start),
            Event::Loading { contender } => work.find(contender, "", Kind::Load),
            Event::Pausing { contender, step, .. } => work.find(contender, step, Kind::Pause),
            Event::StepBegun { contender, step, .. } => work.window(contender, step),
            Event::Indexing { contender, step } => work.find(contender, step, Kind::Index),
            Event::Checking { contender, step } => work.find(contender, step, Kind::Check),
            Event::Counting { test, done, .. } => {
                if let Some(piece) = work.window("", test) {
                    self.enter(piece, now);
                }
                self.count(now);
                let began = self.window.map_or(now, |(began, _)| began);
                self.window = Some((began, done.clamp(0.0, 1.0)));
                None
            }
            Event::Progress { done, .. } => {
                self.count(now);
                let began = self.window.map_or(now - SECOND, |(began, _)| began);
                self.window = Some((began, done.clamp(0.0, 1.0)));
                None
            }
            Event::StepDone { contender, .. } => {
                let is_left = |one: &Progress| one.contender == *contender && one.left > 0;
                let mut left = work.pieces.iter().filter(|one| is_left(one));
                let is_last = left.all(|one| one.kind == Kind::End);
                work.find(contender, "", Kind::End).filter(|_| is_last)
            }
            Event::Resumed { contender, steps } => {
                let is_all = *steps == work.steps.len();
                let done = work.steps[..*steps].to_vec();
                work.drop(|one| {
                    one.contender == *contender && (is_all || done.contains(&one.step))
                });
                None
            }
            Event::ContenderDone { contender } | Event::Failed { contender, .. } => {
                work.drop(|one| one.contender == *contender);
                None
            }
            Event::Loaded { contender, .. } => {
                if let Some(piece) = work.find(contender, "", Kind::Load) {
                    self.loaded(piece, now);
                }
                None
            }
            Event::RoundBegun { round, .. } => {
                work.reach(*round);
                work.find("", "", Kind::Start)
            }
            Event::Measuring { contender, test, .. } => {
                let of = |contender: &str| work.window(contender, test);
                contender.as_deref().and_then(of).or_else(|| of(""))
            }
            Event::Lasts { test, seconds } => {
                if let Some(piece) = work.window("", test) {
                    work.pieces[piece].planned = *seconds;
                }
                None
            }
            Event::RoundDone { round, interim, .. } => {
                self.close(now);
                self.workloads[self.workload].foresee(*round, interim);
                None
            }
            Event::BudgetSpent { rounds, .. } => {
                work.stop(*rounds);
                None
            }
            Event::ProfilesBegun { tests, .. } => {
                work.profile(tests);
                None
            }
            Event::Profiling { .. } => {
                self.close(now);
                self.workloads[self.workload].find("", "", Kind::Start)
            }
            _ => None,
        };
        if let Some(piece) = entered {
            self.enter(piece, now);
        }
    }
}

#[cfg(test)]
mod tests;
