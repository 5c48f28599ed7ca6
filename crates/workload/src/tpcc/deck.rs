//! Decks of cards: what each transaction does. The seed, the client and the number of a deck decide
//! all of it, so that contenders do the same.

use std::time::Duration;

use rand::RngExt;

use super::dice::{Constants, shuffle};
use super::statements::TransactionKind;
use super::{Cardinality, DISTRICTS};
use crate::random::{Random, derive, stream};

/// The use of the streams of decks.
const DECKS: u64 = 3;
/// … and within a deck, of the rests before its cards.
const RESTS: u64 = 1;

/// The longest time to think, in means.
const LONGEST_THOUGHT: f64 = 10.0;

/// Cards of a deck.
pub(super) const CARDS: usize = 23;

/// A transaction that is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Card {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus { district: u32, customer: Customer },
    Delivery { carrier: u32 },
    StockLevel { threshold: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewOrder {
    pub(super) district: u32,
    pub(super) customer: u32,
    pub(super) lines: Vec<OrderLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderLine {
    /// One that does not exist in an order that is to be rolled back.
    pub(super) item: u32,
    /// The warehouse that supplies it.
    pub(super) supplier: u32,
    pub(super) quantity: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Payment {
    pub(super) district: u32,
    /// Where the customer lives.
    pub(super) of_warehouse: u32,
    pub(super) of_district: u32,
    pub(super) customer: Customer,
    pub(super) cents: i64,
}

/// A customer by its id, or by the number of its last name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Customer {
    Id(u32),
    Name(u32),
}

impl Card {
    pub(super) fn kind(&self) -> TransactionKind {
        match self {
            Card::NewOrder(_) => TransactionKind::NewOrder,
            Card::Payment(_) => TransactionKind::Payment,
            Card::OrderStatus { .. } => TransactionKind::OrderStatus,
            Card::Delivery { .. } => TransactionKind::Delivery,
            Card::StockLevel { .. } => TransactionKind::StockLevel,
        }
    }
}

/// A terminal's place, and where its cards come from.
#[derive(Clone, Debug)]
pub(super) struct Dealer {
    /// Of the seed, the place of the test and the client.
    seed: u64,
    pub(super) warehouse: u32,
    /// Where it asks for the level of the stock.
    pub(super) district: u32,
    warehouses: u32,
    scale: Cardinality,
    constants: Constants,
}

impl Dealer {
    /// Of a client, counted from 1.
    pub(super) fn new(
        seed: u64,
        place: u64,
        client: u32,
        warehouses: u32,
        scale: Cardinality,
    ) -> Dealer {
        let number = client - 1;
        Dealer {
            seed: derive(seed, &[DECKS, place, u64::from(client)]),
            warehouse: 1 + number % warehouses,
            district: 1 + number / warehouses % DISTRICTS,
            warehouses,
            scale,
            constants: Constants::new(seed),
        }
    }

    /// The cards of a deck, in the order in which they are played.
    pub(super) fn deal(&self, number: u64) -> Vec<Card> {
        let random = &mut stream(self.seed, &[number]);
        let cards = |kind: TransactionKind| std::iter::repeat_n(kind, kind.cards());
        let mut kinds: Vec<TransactionKind> =
            TransactionKind::ALL.into_iter().flat_map(cards).collect();
        shuffle(random, &mut kinds);
        kinds.into_iter().map(|kind| self.card(random, kind)).collect()
    }

    /// How long the terminal rests before each card of a deck: to type what it needs, and to think
    /// (clauses 5.2.5.2 and 5.2.5.4).
    pub(super) fn rests(&self, number: u64, cards: &[Card]) -> Vec<Duration> {
        let random = &mut stream(self.seed, &[number, RESTS]);
        let rest = |card: &Card| {
            let (keying, mean) = card.kind().rests();
            // Of those below 1, none is 0.
            let share = 1.0 - random.random::<f64>();
            let thinking = (-share.ln()).min(LONGEST_THOUGHT) * mean;
            Duration::from_secs_f64(keying + thinking)
        };
        cards.iter().map(rest).collect()
    }

    fn card(&self, random: &mut Random, kind: TransactionKind) -> Card {
        match kind {
            TransactionKind::NewOrder => Card::NewOrder(self.new_order(random)),
            TransactionKind::Payment => Card::Payment(self.payment(random)),
            TransactionKind::OrderStatus => {
                let district = random.random_range(1..=DISTRICTS);
                Card::OrderStatus { district, customer: self.customer(random) }
            }
            TransactionKind::Delivery => Card::Delivery { carrier: random.random_range(1..=10) },
            TransactionKind::StockLevel => {
                Card::StockLevel { threshold: random.random_range(10..=20) }
            }
        }
    }

    /// Clause 2.4.1. Lines are in the order of their stock, so that two orders never wait for each
    /// other; that of an item that does not exist is the last one.
    fn new_order(&self, random: &mut Random) -> NewOrder {
        let district = random.random_range(1..=DISTRICTS);
        let customer = self.constants.customer(random, self.scale);
        let count = random.random_range(5..=15);
        let is_rolled_back = random.random_range(1..=100) == 1;
        let mut lines: Vec<OrderLine> = (0..count).map(|_| self.line(random)).collect();
        if is_rolled_back && let Some(last) = lines.last_mut() {
            last.item = self.scale.items + 1;
            last.supplier = self.warehouse;
        }
        lines.sort_by_key(|line| (line.item > self.scale.items, line.supplier, line.item));
        NewOrder { district, customer, lines }
    }

    fn line(&self, random: &mut Random) -> OrderLine {
        let item = self.constants.item(random, self.scale);
        let is_remote = random.random_range(1..=100) == 1;
        let supplier = if is_remote { self.other(random) } else { self.warehouse };
        OrderLine { item, supplier, quantity: random.random_range(1..=10) }
    }

    /// Clause 2.5.1.
    fn payment(&self, random: &mut Random) -> Payment {
        let district = random.random_range(1..=DISTRICTS);
        let is_remote = random.random_range(1..=100) > 85;
        let (of_warehouse, of_district) = match is_remote && self.warehouses > 1 {
            true => (self.other(random), random.random_range(1..=DISTRICTS)),
            false => (self.warehouse, district),
        };
        let customer = self.customer(random);
        let cents = random.random_range(100..=500_000);
        Payment { district, of_warehouse, of_district, customer, cents }
    }

    /// 60 % of them by last name.
    fn customer(&self, random: &mut Random) -> Customer {
        match random.random_range(1..=100) <= 60 {
            true => Customer::Name(self.constants.name(random, self.scale)),
            false => Customer::Id(self.constants.customer(random, self.scale)),
        }
    }

    /// A warehouse other than the terminal's, if there is one.
    fn other(&self, random: &mut Random) -> u32 {
        if self.warehouses == 1 {
            return self.warehouse;
        }
        let other = random.random_range(1..self.warehouses);
        other + u32::from(other >= self.warehouse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealer(client: u32, warehouses: u32) -> Dealer {
        Dealer::new(7, 0, client, warehouses, Cardinality::STANDARD)
    }

    #[test]
    fn rests_are_those_of_the_standard_by_kind() {
        let (dealer, mut sums) = (dealer(1, 2), [(0.0, 0.0_f64, 0); 5]);
        for number in 0..2_000 {
            let cards = dealer.deal(number);
            let rests = dealer.rests(number, &cards);
            assert_eq!(rests, dealer.rests(number, &cards));
            for (card, rest) in cards.iter().zip(rests) {
                let (keying, mean) = card.kind().rests();
                let thinking = rest.as_secs_f64() - keying;
                let (sum, most, count) = sums[card.kind() as usize];
                assert!((0.0..=10.0 * mean + 1e-6).contains(&thinking), "{thinking}");
                sums[card.kind() as usize] = (sum + thinking / mean, most.max(thinking), count + 1);
            }
        }
        for (sum, _, count) in sums {
            // The mean of an exponential draw, within four of its standard errors.
            let (mean, error) = (sum / f64::from(count), 1.0 / f64::from(count).sqrt());
            assert!((mean - 1.0).abs() < 4.0 * error, "{mean} of {count}");
        }
        let of = |kind: TransactionKind| kind.rests();
        assert_eq!(
            TransactionKind::ALL.map(of),
            [(18.0, 12.0), (3.0, 12.0), (2.0, 10.0), (2.0, 5.0), (2.0, 5.0)]
        );
    }

    #[test]
    fn a_deck_is_that_of_its_number_and_client() {
        let cards = dealer(1, 2).deal(5);
        assert_eq!(cards.len(), CARDS);
        assert_eq!(cards, dealer(1, 2).deal(5));
        assert_ne!(cards, dealer(1, 2).deal(6));
        assert_ne!(cards, dealer(2, 2).deal(5));
        assert_ne!(cards, Dealer::new(7, 1, 1, 2, Cardinality::STANDARD).deal(5));
        let orders = cards.iter().filter(|card| card.kind() == TransactionKind::NewOrder).count();
        assert_eq!(orders, 10);
        let kinds = |number| -> Vec<&str> {
            dealer(1, 1).deal(number).iter().map(|card| card.kind().name()).collect()
        };
        assert_ne!(kinds(1), kinds(2), "they are shuffled");
    }

    #[test]
    fn clients_have_homes() {
        let homes: Vec<(u32, u32)> = (1..=5)
            .map(|client| dealer(client, 2))
            .map(|dealer| (dealer.warehouse, dealer.district))
            .collect();
        assert_eq!(homes, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]);
    }

    /// All new orders and all payments of 2,000 decks.
    fn drawn(warehouses: u32) -> (Vec<NewOrder>, Vec<Payment>) {
        let dealer = dealer(2, warehouses);
        let (mut orders, mut payments) = (Vec::new(), Vec::new());
        for card in (0..2_000).flat_map(|number| dealer.deal(number)) {
            match card {
                Card::NewOrder(order) => orders.push(order),
                Card::Payment(payment) => payments.push(payment),
                _ => {}
            }
        }
        (orders, payments)
    }

    #[test]
    fn shares_are_those_of_the_standard() {
        let (orders, payments) = drawn(3);
        let share = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
        let lines: Vec<&OrderLine> = orders.iter().flat_map(|order| &order.lines).collect();
        let remote = share(lines.iter().filter(|line| line.supplier != 2).count(), lines.len());
        // Of 200,000 lines, with a standard deviation of 0.02.
        assert!((0.9..1.1).contains(&remote), "{remote}");
        let is_undone = |order: &&NewOrder| order.lines.iter().any(|line| line.item > 100_000);
        let undone = share(orders.iter().filter(is_undone).count(), orders.len());
        // Of 20,000, with a standard deviation of 0.07.
        assert!((0.7..1.3).contains(&undone), "{undone}");
        let far = share(payments.iter().filter(|it| it.of_warehouse != 2).count(), payments.len());
        let by_name = payments.iter().filter(|it| matches!(it.customer, Customer::Name(_)));
        let by_name = share(by_name.count(), payments.len());
        assert!((14.0..16.0).contains(&far), "{far}");
        assert!((58.5..61.5).contains(&by_name), "{by_name}");
        let mean = share(lines.len(), 100 * orders.len());
        assert!((9.9..10.1).contains(&mean), "{mean}");
    }

    #[test]
    fn lines_are_in_the_order_of_their_stock_and_a_missing_item_is_the_last() {
        for order in drawn(3).0 {
            let keys = |line: &OrderLine| (line.item > 100_000, line.supplier, line.item);
            assert!(order.lines.is_sorted_by_key(keys));
            assert!((5..=15).contains(&order.lines.len()));
            let missing = order.lines.iter().filter(|line| line.item > 100_000).count();
            assert!(missing <= 1);
        }
    }

    #[test]
    fn with_one_warehouse_nothing_is_remote() {
        let dealer = dealer(1, 1);
        for card in (0..500).flat_map(|number| dealer.deal(number)) {
            match card {
                Card::NewOrder(order) => assert!(order.lines.iter().all(|it| it.supplier == 1)),
                Card::Payment(payment) => {
                    assert_eq!((payment.of_warehouse, payment.of_district), (1, payment.district));
                }
                _ => {}
            }
        }
    }
}
