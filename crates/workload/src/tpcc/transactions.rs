//! The five transactions (clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4, 2.8.2), but for the screens of their
//! terminals.

use rqps_wire::{Error, Value};

use super::DISTRICTS;
use super::deck::{Card, Customer, Dealer, NewOrder, Payment};
use super::dice::last_name;
use super::ledger::Commits;
use super::money::CENTS;
use super::session::TerminalSession;
use super::statements::StatementId;

/// The most bytes of `c_data`.
const LONGEST_DATA: usize = 500;
/// The orders that the level of the stock is asked for.
const RECENT: i64 = 20;

/// Plays a card; what it did is committed, or rolled back as it should be.
pub(super) fn play(
    session: &mut TerminalSession,
    home: &Dealer,
    card: &Card,
) -> Result<Commits, Error> {
    session.begin(card.kind().writes())?;
    let done = match card {
        Card::NewOrder(order) => match new_order(session, home, order)? {
            Some(done) => done,
            None => {
                session.roll_back()?;
                return Ok(Commits::default());
            }
        },
        Card::Payment(payment) => pay(session, home, payment)?,
        Card::OrderStatus { district, customer } => {
            order_status(session, home, *district, *customer)?;
            Commits::default()
        }
        Card::Delivery { carrier } => deliver(session, home, *carrier)?,
        Card::StockLevel { threshold } => {
            stock_level(session, home, *threshold)?;
            Commits::default()
        }
    };
    session.commit()?;
    Ok(done)
}

fn int(value: u32) -> Value<'static> {
    Value::Int(value.into())
}

/// Orders the lines; none if an item does not exist.
fn new_order(
    session: &mut TerminalSession,
    home: &Dealer,
    order: &NewOrder,
) -> Result<Option<Commits>, Error> {
    let (w, d, c) = (int(home.warehouse), int(order.district), int(order.customer));
    session.get(StatementId::WarehouseTax, &[w])?;
    session.get(StatementId::NextOrder, &[w, d])?;
    let id = session.rows.int(0, 1)?;
    let o = Value::Int(id);
    session.change(StatementId::TakeOrder, &[Value::Int(id + 1), w, d])?;
    session.get(StatementId::Discount, &[w, d, c])?;
    let is_local = order.lines.iter().all(|line| line.supplier == home.warehouse);
    let (lines, local) = (int(order.lines.len() as u32), Value::Int(is_local.into()));
    session.change(StatementId::InsertOrder, &[o, d, w, c, lines, local])?;
    session.change(StatementId::InsertNewOrder, &[o, d, w])?;
    let mut done = Commits { new_orders: 1, lines: order.lines.len() as i64, ..Commits::default() };
    for (number, line) in (1..).zip(&order.lines) {
        let (i, supplier, quantity) = (int(line.item), int(line.supplier), int(line.quantity));
        if session.find(StatementId::Item, &[i])? == 0 {
            return Ok(None);
        }
        let price = session.numbers.cents(&session.rows, 0, 0)?;
        if session.find_in(StatementId::Stock, order.district, &[i, supplier])? != 1 {
            return Err(Error::Protocol(format!("item {} is not in stock", line.item)));
        }
        let left = session.rows.int(0, 0)? - i64::from(line.quantity);
        let info: [u8; 24] = session.rows.bytes(0, 1)?.try_into().map_err(|_| {
            Error::Protocol("the text of a district has not 24 letters".to_string())
        })?;
        let left = if left < 10 { left + 91 } else { left };
        let is_remote = line.supplier != home.warehouse;
        let remote = Value::Int(is_remote.into());
        session
            .change(StatementId::TakeStock, &[Value::Int(left), quantity, remote, i, supplier])?;
        let cents = i64::from(line.quantity) * price;
        let amount = session.numbers.bind(cents, CENTS);
        let info = Value::Text(&info);
        let values = [o, d, w, int(number), i, supplier, quantity, amount.value(), info];
        session.change(StatementId::InsertLine, &values)?;
        done.ordered += cents;
        done.quantity += i64::from(line.quantity);
        done.remote_lines += i64::from(is_remote);
    }
    Ok(Some(done))
}

fn pay(session: &mut TerminalSession, home: &Dealer, payment: &Payment) -> Result<Commits, Error> {
    let (w, d) = (int(home.warehouse), int(payment.district));
    let bound = session.numbers.bind(payment.cents, CENTS);
    let amount = bound.value();
    session.change(StatementId::PayWarehouse, &[amount, w])?;
    session.get(StatementId::Warehouse, &[w])?;
    // The texts of the history: both names with four blanks between them.
    let mut about = session.rows.bytes(0, 0)?.to_vec();
    session.change(StatementId::PayDistrict, &[amount, w, d])?;
    session.get(StatementId::District, &[w, d])?;
    about.extend_from_slice(b"    ");
    about.extend_from_slice(session.rows.bytes(0, 0)?);
    let of = (int(payment.of_warehouse), int(payment.of_district));
    let id = match payment.customer {
        Customer::Id(id) => i64::from(id),
        Customer::Name(name) => by_name(session, StatementId::PayersByName, of, name)?,
    };
    let ((of_w, of_d), c) = (of, Value::Int(id));
    session.get(StatementId::Payer, &[of_w, of_d, c])?;
    if session.rows.bytes(0, 9)? == b"BC" {
        session.get(StatementId::PayerData, &[of_w, of_d, c])?;
        let Payment { of_warehouse, of_district, district, cents, .. } = payment;
        let (whole, rest, at) = (cents / 100, cents % 100, home.warehouse);
        let begin = format!("{id} {of_district} {of_warehouse} {district} {at} {whole}.{rest:02} ");
        let mut data = begin.into_bytes();
        data.extend_from_slice(session.rows.bytes(0, 0)?);
        data.truncate(LONGEST_DATA);
        let values = [amount, amount, Value::Text(&data), of_w, of_d, c];
        session.change(StatementId::PayWithData, &values)?;
    } else {
        session.change(StatementId::Pay, &[amount, amount, of_w, of_d, c])?;
    }
    let values = [of_d, of_w, c, d, w, amount, Value::Text(&about)];
    session.change(StatementId::InsertHistory, &values)?;
    Ok(Commits { payments: 1, paid: payment.cents, ..Commits::default() })
}

/// The customer in the middle of all with a last name, by their first names.
fn by_name(
    session: &mut TerminalSession,
    sql: StatementId,
    (warehouse, district): (Value<'_>, Value<'_>),
    name: u32,
) -> Result<i64, Error> {
    let mut text = [0; 15];
    let mut length = 0;
    for syllable in last_name(name) {
        text[length..length + syllable.len()].copy_from_slice(syllable.as_bytes());
        length += syllable.len();
    }
    let found = session.find(sql, &[warehouse, district, Value::Text(&text[..length])])?;
    session.rows.int((found as usize).div_ceil(2).saturating_sub(1), 0)
}

fn order_status(
    session: &mut TerminalSession,
    home: &Dealer,
    district: u32,
    customer: Customer,
) -> Result<(), Error> {
    let (w, d) = (int(home.warehouse), int(district));
    let id = match customer {
        Customer::Id(id) => {
            session.get(StatementId::Customer, &[w, d, int(id)])?;
            i64::from(id)
        }
        Customer::Name(name) => by_name(session, StatementId::CustomersByName, (w, d), name)?,
    };
    session.get(StatementId::LastOrder, &[w, d, Value::Int(id)])?;
    let order = session.rows.int(0, 0)?;
    session.find(StatementId::Lines, &[w, d, Value::Int(order)])?;
    Ok(())
}

/// Delivers the oldest order of each district, if it has one that is not delivered yet.
fn deliver(session: &mut TerminalSession, home: &Dealer, carrier: u32) -> Result<Commits, Error> {
    let w = int(home.warehouse);
    let mut done = Commits::default();
    for d in (1..=DISTRICTS).map(int) {
        if session.find(StatementId::OldestOrder, &[w, d])? == 0 {
            continue;
        }
        let o = Value::Int(session.rows.int(0, 0)?);
        session.change(StatementId::DeleteNewOrder, &[w, d, o])?;
        session.get(StatementId::Orderer, &[w, d, o])?;
        let c = Value::Int(session.rows.int(0, 0)?);
        session.change(StatementId::SetCarrier, &[int(carrier), w, d, o])?;
        session.change_some(StatementId::DeliverLines, &[w, d, o])?;
        session.get(StatementId::Amount, &[w, d, o])?;
        let cents = session.numbers.cents(&session.rows, 0, 0)?;
        let amount = session.numbers.bind(cents, CENTS);
        session.change(StatementId::Charge, &[amount.value(), w, d, c])?;
        done.deliveries += 1;
        done.delivered += cents;
    }
    Ok(done)
}

fn stock_level(session: &mut TerminalSession, home: &Dealer, threshold: u32) -> Result<(), Error> {
    let (w, d) = (int(home.warehouse), int(home.district));
    session.get(StatementId::Newest, &[w, d])?;
    let next = session.rows.int(0, 0)?;
    let (end, start) = (Value::Int(next), Value::Int(next - RECENT));
    session.get(StatementId::LowStock, &[w, d, end, start, w, int(threshold)])
}
