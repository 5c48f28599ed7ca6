//! The statements of the transactions (clauses 2.4 to 2.8) as data. In their texts, `?` is a whole
//! number, `{text}` a text and `{money}` an amount; `{lock}` locks the rows that a SELECT finds;
//! `{district}` is the number of a district in the name of a column.

use rqps_wire::Type;

use super::DISTRICTS;
use super::money::DecimalForm;
use crate::Dialect;

/// A kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionKind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl TransactionKind {
    pub(super) const ALL: [TransactionKind; 5] = [
        TransactionKind::NewOrder,
        TransactionKind::Payment,
        TransactionKind::OrderStatus,
        TransactionKind::Delivery,
        TransactionKind::StockLevel,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            TransactionKind::NewOrder => "new-order",
            TransactionKind::Payment => "payment",
            TransactionKind::OrderStatus => "order-status",
            TransactionKind::Delivery => "delivery",
            TransactionKind::StockLevel => "stock-level",
        }
    }

    /// Seconds to type what it needs, and to think on average (clause 5.2.5.7).
    pub(super) fn rests(self) -> (f64, f64) {
        match self {
            TransactionKind::NewOrder => (18.0, 12.0),
            TransactionKind::Payment => (3.0, 12.0),
            TransactionKind::OrderStatus => (2.0, 10.0),
            TransactionKind::Delivery | TransactionKind::StockLevel => (2.0, 5.0),
        }
    }

    /// How many there are in a deck.
    pub(super) fn cards(self) -> usize {
        match self {
            TransactionKind::NewOrder | TransactionKind::Payment => 10,
            TransactionKind::OrderStatus
            | TransactionKind::Delivery
            | TransactionKind::StockLevel => 1,
        }
    }

    pub(super) fn writes(self) -> bool {
        !matches!(self, TransactionKind::OrderStatus | TransactionKind::StockLevel)
    }
}

/// A statement as data.
pub(super) struct StatementTemplate {
    pub(super) kind: TransactionKind,
    text: &'static str,
    /// How often a deck has it on average, rounded.
    pub(super) times: u32,
}

/// Defines [`StatementId`] and the table of its texts.
macro_rules! statements {
    ($($kind:ident { $($name:ident $times:literal $text:literal,)* })*) => {
        /// A statement, as a transaction names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum StatementId {
            $($($name,)*)*
        }

        /// In the order of [`StatementId`].
        pub(super) static STATEMENTS: &[(StatementId, StatementTemplate)] = &[
            $($((
                StatementId::$name,
                StatementTemplate {
                    kind: TransactionKind::$kind,
                    text: $text,
                    times: $times,
                },
            ),)*)*
        ];
    };
}

statements! {
    NewOrder {
        WarehouseTax 10 "select w_tax from warehouse where w_id = ?",
        NextOrder 10 "select d_tax, d_next_o_id from district where d_w_id = ? and d_id = ?{lock}",
        TakeOrder 10 "update district set d_next_o_id = ? where d_w_id = ? and d_id = ?",
        Discount 10 "select c_discount, c_last, c_credit from customer \
            where c_w_id = ? and c_d_id = ? and c_id = ?",
        InsertOrder 10 "insert into orders \
            (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
            values (?, ?, ?, ?, current_timestamp, ?, ?)",
        InsertNewOrder 10 "insert into new_order (no_o_id, no_d_id, no_w_id) values (?, ?, ?)",
        Item 100 "select i_price, i_name, i_data from item where i_id = ?",
        Stock 100 "select s_quantity, s_dist_{district}, s_data from stock \
            where s_i_id = ? and s_w_id = ?{lock}",
        TakeStock 100 "update stock set s_quantity = ?, s_ytd = s_ytd + ?, \
            s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
            where s_i_id = ? and s_w_id = ?",
        InsertLine 100 "insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
            ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
            values (?, ?, ?, ?, ?, ?, ?, {money}, {text})",
    }
    Payment {
        PayWarehouse 10 "update warehouse set w_ytd = w_ytd + {money} where w_id = ?",
        Warehouse 10 "select w_name, w_street_1, w_street_2, w_city, w_state, w_zip \
            from warehouse where w_id = ?",
        PayDistrict 10 "update district set d_ytd = d_ytd + {money} \
            where d_w_id = ? and d_id = ?",
        District 10 "select d_name, d_street_1, d_street_2, d_city, d_state, d_zip \
            from district where d_w_id = ? and d_id = ?",
        PayersByName 6 "select c_id from customer \
            where c_w_id = ? and c_d_id = ? and c_last = {text} order by c_first",
        Payer 10 "select c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
            c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since \
            from customer where c_w_id = ? and c_d_id = ? and c_id = ?{lock}",
        Pay 9 "update customer set c_balance = c_balance - {money}, \
            c_ytd_payment = c_ytd_payment + {money}, c_payment_cnt = c_payment_cnt + 1 \
            where c_w_id = ? and c_d_id = ? and c_id = ?",
        PayerData 1 "select c_data from customer where c_w_id = ? and c_d_id = ? and c_id = ?",
        PayWithData 1 "update customer set c_balance = c_balance - {money}, \
            c_ytd_payment = c_ytd_payment + {money}, c_payment_cnt = c_payment_cnt + 1, \
            c_data = {text} where c_w_id = ? and c_d_id = ? and c_id = ?",
        InsertHistory 10 "insert into history \
            (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
            values (?, ?, ?, ?, ?, current_timestamp, {money}, {text})",
    }
    OrderStatus {
        CustomersByName 1 "select c_id, c_balance, c_first, c_middle from customer \
            where c_w_id = ? and c_d_id = ? and c_last = {text} order by c_first",
        Customer 1 "select c_balance, c_first, c_middle, c_last from customer \
            where c_w_id = ? and c_d_id = ? and c_id = ?",
        LastOrder 1 "select o_id, o_entry_d, o_carrier_id from orders \
            where o_w_id = ? and o_d_id = ? and o_c_id = ? order by o_id desc limit 1",
        Lines 1 "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
            from order_line where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?",
    }
    Delivery {
        OldestOrder 10 "select no_o_id from new_order \
            where no_w_id = ? and no_d_id = ? order by no_o_id limit 1{lock}",
        DeleteNewOrder 10 "delete from new_order \
            where no_w_id = ? and no_d_id = ? and no_o_id = ?",
        Orderer 10 "select o_c_id from orders where o_w_id = ? and o_d_id = ? and o_id = ?",
        SetCarrier 10 "update orders set o_carrier_id = ? \
            where o_w_id = ? and o_d_id = ? and o_id = ?",
        DeliverLines 10 "update order_line set ol_delivery_d = current_timestamp \
            where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?",
        Amount 10 "select sum(ol_amount) from order_line \
            where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?",
        Charge 10 "update customer set c_balance = c_balance + {money}, \
            c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = ? and c_d_id = ? and c_id = ?",
    }
    StockLevel {
        Newest 1 "select d_next_o_id from district where d_w_id = ? and d_id = ?",
        LowStock 1 "select count(distinct s_i_id) from order_line, stock \
            where ol_w_id = ? and ol_d_id = ? and ol_o_id < ? and ol_o_id >= ? \
            and s_w_id = ? and s_i_id = ol_i_id and s_quantity < ?",
    }
}

/// What stands for a value in a text.
const VALUES: [&str; 3] = ["?", "{text}", "{money}"];

impl StatementTemplate {
    /// The text of a district, and the types of its parameters, with its values as `value` writes
    /// them: it is given the number of one, counted from 1, and what stands for it.
    fn written(
        &self,
        dialect: Dialect,
        district: u32,
        mut value: impl FnMut(usize, &str) -> String,
    ) -> (String, Vec<Type>) {
        // A DBMS with one writer at a time has no rows to lock.
        let lock = if dialect.has_one_writer { "" } else { " for update" };
        let text = self.text.replace("{lock}", lock);
        let text = text.replace("{district}", &format!("{district:02}"));
        let (mut written, mut types, mut rest) = (String::new(), Vec::new(), &text[..]);
        let next = |text: &str| {
            let places = VALUES.iter().filter_map(|one| Some((text.find(one)?, *one)));
            places.min_by_key(|(place, _)| *place)
        };
        while let Some((place, what)) = next(rest) {
            written.push_str(&rest[..place]);
            rest = &rest[place + what.len()..];
            let value = value(types.len() + 1, what);
            let (declared, value) = match what {
                "{text}" => (Type::Varchar, value),
                "{money}" => DecimalForm::of(dialect).parameter(&value),
                _ => (Type::Int4, value),
            };
            types.push(declared);
            written.push_str(&value);
        }
        written.push_str(rest);
        (written, types)
    }

    /// As it is prepared: the text, and the types of its parameters.
    pub(super) fn prepared(&self, dialect: Dialect, district: u32) -> (String, Vec<Type>) {
        self.written(dialect, district, |number, _| dialect.placeholder(number))
    }

    /// As it is shown: as it is prepared for the first district.
    pub(super) fn shown(&self, dialect: Dialect) -> String {
        self.prepared(dialect, 1).0
    }

    /// With values in it, to be explained.
    pub(super) fn with_values(&self, dialect: Dialect) -> String {
        let value = |_, what: &str| if what == "{text}" { "'BARBARBAR'" } else { "1" }.to_string();
        self.written(dialect, 1, value).0
    }

    /// It has a text for each district.
    fn is_by_district(&self) -> bool {
        self.text.contains("{district}")
    }

    /// How many texts it has.
    pub(super) fn variants(&self) -> u32 {
        if self.is_by_district() { DISTRICTS } else { 1 }
    }

    pub(super) fn is_insert(&self) -> bool {
        self.text.starts_with("insert")
    }
}

/// The texts of all statements for people, by the name of their transaction.
pub(crate) fn texts(dialect: Dialect) -> Vec<(&'static str, Vec<String>)> {
    let of = |kind: TransactionKind| {
        let own = STATEMENTS.iter().filter(|(_, template)| template.kind == kind);
        let mut texts = vec![dialect.begin(kind.writes()).to_string()];
        texts.extend(own.map(|(_, template)| template.shown(dialect)));
        texts.push("COMMIT".to_string());
        (kind.name(), texts)
    };
    TransactionKind::ALL.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_names() {
        for (place, (sql, _)) in STATEMENTS.iter().enumerate() {
            assert_eq!(*sql as usize, place);
        }
    }

    #[test]
    fn statements_are_written_in_the_notation_of_the_dbms() {
        let of = |sql: StatementId, dialect| STATEMENTS[sql as usize].1.prepared(dialect, 3);
        let (text, types) = of(StatementId::Stock, Dialect::POSTGRES);
        assert_eq!(
            text,
            "select s_quantity, s_dist_03, s_data from stock where s_i_id = $1 and s_w_id = $2 \
             for update"
        );
        assert_eq!(types, [Type::Int4, Type::Int4]);
        let (text, types) = of(StatementId::PayDistrict, Dialect::INNODB);
        assert_eq!(
            text,
            "update district set d_ytd = d_ytd + cast(? as decimal(12,2)) where d_w_id = ? and \
             d_id = ?"
        );
        assert_eq!(types, [Type::Inferred, Type::Int4, Type::Int4]);
        let (text, types) = of(StatementId::InsertHistory, Dialect::SQLITE);
        assert!(text.ends_with("values (?1, ?2, ?3, ?4, ?5, current_timestamp, ?6, ?7)"), "{text}");
        assert_eq!(types[5..], [Type::Int8, Type::Varchar]);
        assert!(!of(StatementId::OldestOrder, Dialect::SQLITE).0.contains("for update"));
    }

    #[test]
    fn a_deck_has_ten_new_orders_ten_payments_and_one_of_each_other() {
        let cards: Vec<usize> =
            TransactionKind::ALL.into_iter().map(TransactionKind::cards).collect();
        assert_eq!(cards, [10, 10, 1, 1, 1]);
    }

    #[test]
    fn people_see_all_texts_by_transaction() {
        let texts = texts(Dialect::POSTGRES);
        assert_eq!(texts.len(), 5);
        assert_eq!(texts[4].1[0], "BEGIN");
        assert_eq!(texts[4].1.len(), 4);
        assert!(texts[4].1[1].ends_with("where d_w_id = $1 and d_id = $2"), "{texts:?}");
        assert!(texts.iter().flat_map(|(_, texts)| texts).all(|text| !text.contains('{')));
    }
}
