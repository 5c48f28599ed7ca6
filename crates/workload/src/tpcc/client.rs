//! A client at its terminal: it plays the cards of one deck after another.

use std::sync::Arc;
use std::time::Duration;

use rqps_load::{Effect, Halt, Statements, Work, now};
use rqps_wire::{Error, ErrorClass, Interrupter};

use super::deck::{Card, Dealer};
use super::ledger::CommitLedger;
use super::session::TerminalSession;
use super::statements::TransactionKind;
use super::times::TransactionTimes;
use super::transactions::play;

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Played {
    Deck,
    Transaction,
}

pub(super) struct CardPlayer {
    session: TerminalSession,
    dealer: Dealer,
    ledger: Arc<CommitLedger>,
    /// Of transactions, where these are the operations.
    times: Option<Arc<TransactionTimes>>,
    /// When the first attempt at a transaction began.
    began: Option<u64>,
    unit: Played,
    /// It rests before each card.
    rests: bool,
    /// The number of the next deck.
    next: u64,
    /// The cards of this one, the rest before each if there are rests, and how many were played.
    cards: Vec<Card>,
    rest: Vec<Duration>,
    played: usize,
    /// The part of the operation that was done before an error.
    before_error: Effect,
}

impl CardPlayer {
    pub(super) fn new(
        session: TerminalSession,
        dealer: Dealer,
        ledger: Arc<CommitLedger>,
        unit: Played,
    ) -> CardPlayer {
        CardPlayer {
            session,
            dealer,
            ledger,
            times: None,
            began: None,
            unit,
            rests: false,
            next: 0,
            cards: Vec::new(),
            rest: Vec::new(),
            played: 0,
            before_error: Effect::default(),
        }
    }

    /// Records the time of each transaction, with its retries.
    pub(super) fn timed(self, times: Arc<TransactionTimes>) -> CardPlayer {
        CardPlayer { times: Some(times), ..self }
    }

    /// Whether it rests before each card.
    pub(super) fn resting(self, rests: bool) -> CardPlayer {
        CardPlayer { rests, ..self }
    }

    /// Plays the next card; its transaction is what the rate counts.
    fn play(&mut self) -> Result<Effect, Error> {
        let CardPlayer { session, dealer, cards, played, times, .. } = self;
        let card = &cards[*played];
        if times.is_some() && self.began.is_none() {
            self.began = Some(now());
        }
        match play(session, dealer, card) {
            Ok(done) => {
                self.ledger.add(done);
                if let Some((times, began)) = times.as_ref().zip(self.began.take()) {
                    times.record(card.kind(), now() - began);
                }
                *played += 1;
                Ok(effect(card.kind(), session.touched))
            }
            Err(error) => {
                // The DBMS chose it as a victim: it is played again from its beginning.
                if error.class() == ErrorClass::Retry {
                    session.roll_back()?;
                }
                Err(error)
            }
        }
    }
}

/// A transaction counts as one statement of its kind.
fn effect(kind: TransactionKind, rows: u64) -> Effect {
    let writes = u64::from(kind.writes());
    Effect { rows, statements: Statements { reads: 1 - writes, writes, others: 0 } }
}

impl Work for CardPlayer {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.before_error = Effect::default();
        if self.played == self.cards.len() {
            self.cards = self.dealer.deal(self.next);
            if self.rests {
                self.rest = self.dealer.rests(self.next, &self.cards);
            }
            self.next += 1;
            self.played = 0;
        }
        Ok(())
    }

    fn rest(&self) -> u64 {
        self.rest.get(self.played).map_or(0, |rest| rest.as_nanos() as u64)
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let mut effect = self.before_error;
        loop {
            match self.play() {
                Ok(one) => effect += one,
                Err(error) => {
                    self.before_error = effect;
                    return Err(error);
                }
            }
            if self.unit == Played::Transaction || self.played == self.cards.len() {
                return Ok(effect);
            }
        }
    }

    /// A deck is known by its number.
    fn seek(&mut self, operation: u64) {
        self.next = operation;
        self.cards.clear();
        self.played = 0;
    }

    fn forget(&mut self) {
        if let Some(times) = &self.times {
            times.forget();
        }
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.session.interrupter()
    }
}
