//! The tables (clause 1.3), their keys, and the indexes of those transactions that search by name
//! or by customer.

use rqps_plan::{StockKey, Tpcc};

use super::money::DecimalForm;
use crate::Dialect;

/// A table; `{time}` is the type of a date with a time, and decimals are whole numbers in a DBMS
/// that has none.
pub(super) struct TpccTable {
    pub(super) name: &'static str,
    /// Names and types.
    columns: &'static [(&'static str, &'static str)],
    /// Empty where it has none.
    primary_key: &'static str,
    /// Columns, and the table that their values are keys of.
    foreign_keys: &'static [(&'static str, &'static str)],
}

const ID: &str = "integer not null";
const NUMBER: &str = "integer";
const TIME: &str = "{time}";
const MONEY: &str = "decimal(12,2)";
const AMOUNT: &str = "decimal(6,2)";
const PRICE: &str = "decimal(5,2)";
const PART: &str = "decimal(4,4)";
const DECIMALS: [&str; 4] = [MONEY, AMOUNT, PRICE, PART];
const NAME: &str = "varchar(10)";
const LINE: &str = "varchar(20)";
const DISTRICT_INFO: &str = "char(24)";

pub(super) static WAREHOUSE: TpccTable = TpccTable {
    name: "warehouse",
    columns: &[
        ("w_id", ID),
        ("w_name", NAME),
        ("w_street_1", LINE),
        ("w_street_2", LINE),
        ("w_city", LINE),
        ("w_state", "char(2)"),
        ("w_zip", "char(9)"),
        ("w_tax", PART),
        ("w_ytd", MONEY),
    ],
    primary_key: "w_id",
    foreign_keys: &[],
};

pub(super) static DISTRICT: TpccTable = TpccTable {
    name: "district",
    columns: &[
        ("d_id", ID),
        ("d_w_id", ID),
        ("d_name", NAME),
        ("d_street_1", LINE),
        ("d_street_2", LINE),
        ("d_city", LINE),
        ("d_state", "char(2)"),
        ("d_zip", "char(9)"),
        ("d_tax", PART),
        ("d_ytd", MONEY),
        ("d_next_o_id", NUMBER),
    ],
    primary_key: "d_w_id, d_id",
    foreign_keys: &[("d_w_id", "warehouse")],
};

pub(super) static CUSTOMER: TpccTable = TpccTable {
    name: "customer",
    columns: &[
        ("c_id", ID),
        ("c_d_id", ID),
        ("c_w_id", ID),
        ("c_first", "varchar(16)"),
        ("c_middle", "char(2)"),
        ("c_last", "varchar(16)"),
        ("c_street_1", LINE),
        ("c_street_2", LINE),
        ("c_city", LINE),
        ("c_state", "char(2)"),
        ("c_zip", "char(9)"),
        ("c_phone", "char(16)"),
        ("c_since", TIME),
        ("c_credit", "char(2)"),
        ("c_credit_lim", MONEY),
        ("c_discount", PART),
        ("c_balance", MONEY),
        ("c_ytd_payment", MONEY),
        ("c_payment_cnt", NUMBER),
        ("c_delivery_cnt", NUMBER),
        ("c_data", "varchar(500)"),
    ],
    primary_key: "c_w_id, c_d_id, c_id",
    foreign_keys: &[("c_w_id, c_d_id", "district")],
};

pub(super) static HISTORY: TpccTable = TpccTable {
    name: "history",
    columns: &[
        ("h_c_id", NUMBER),
        ("h_c_d_id", NUMBER),
        ("h_c_w_id", NUMBER),
        ("h_d_id", NUMBER),
        ("h_w_id", NUMBER),
        ("h_date", TIME),
        ("h_amount", AMOUNT),
        ("h_data", "varchar(24)"),
    ],
    primary_key: "",
    foreign_keys: &[("h_c_w_id, h_c_d_id, h_c_id", "customer"), ("h_w_id, h_d_id", "district")],
};

pub(super) static NEW_ORDER: TpccTable = TpccTable {
    name: "new_order",
    columns: &[("no_o_id", ID), ("no_d_id", ID), ("no_w_id", ID)],
    primary_key: "no_w_id, no_d_id, no_o_id",
    foreign_keys: &[("no_w_id, no_d_id, no_o_id", "orders")],
};

/// Its last columns are empty until an order is delivered, and not loaded then.
pub(super) static ORDERS: TpccTable = TpccTable {
    name: "orders",
    columns: &[
        ("o_id", ID),
        ("o_d_id", ID),
        ("o_w_id", ID),
        ("o_c_id", NUMBER),
        ("o_entry_d", TIME),
        ("o_ol_cnt", NUMBER),
        ("o_all_local", NUMBER),
        ("o_carrier_id", NUMBER),
    ],
    primary_key: "o_w_id, o_d_id, o_id",
    foreign_keys: &[("o_w_id, o_d_id, o_c_id", "customer")],
};

/// The same holds here.
pub(super) static ORDER_LINE: TpccTable = TpccTable {
    name: "order_line",
    columns: &[
        ("ol_o_id", ID),
        ("ol_d_id", ID),
        ("ol_w_id", ID),
        ("ol_number", ID),
        ("ol_i_id", NUMBER),
        ("ol_supply_w_id", NUMBER),
        ("ol_quantity", NUMBER),
        ("ol_amount", AMOUNT),
        ("ol_dist_info", DISTRICT_INFO),
        ("ol_delivery_d", TIME),
    ],
    primary_key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
    foreign_keys: &[("ol_w_id, ol_d_id, ol_o_id", "orders"), ("ol_supply_w_id, ol_i_id", "stock")],
};

pub(super) static ITEM: TpccTable = TpccTable {
    name: "item",
    columns: &[
        ("i_id", ID),
        ("i_im_id", NUMBER),
        ("i_name", "varchar(24)"),
        ("i_price", PRICE),
        ("i_data", "varchar(50)"),
    ],
    primary_key: "i_id",
    foreign_keys: &[],
};

pub(super) static STOCK: TpccTable = TpccTable {
    name: "stock",
    columns: &[
        ("s_i_id", ID),
        ("s_w_id", ID),
        ("s_quantity", NUMBER),
        ("s_dist_01", DISTRICT_INFO),
        ("s_dist_02", DISTRICT_INFO),
        ("s_dist_03", DISTRICT_INFO),
        ("s_dist_04", DISTRICT_INFO),
        ("s_dist_05", DISTRICT_INFO),
        ("s_dist_06", DISTRICT_INFO),
        ("s_dist_07", DISTRICT_INFO),
        ("s_dist_08", DISTRICT_INFO),
        ("s_dist_09", DISTRICT_INFO),
        ("s_dist_10", DISTRICT_INFO),
        ("s_ytd", NUMBER),
        ("s_order_cnt", NUMBER),
        ("s_remote_cnt", NUMBER),
        ("s_data", "varchar(50)"),
    ],
    primary_key: "s_w_id, s_i_id",
    foreign_keys: &[("s_w_id", "warehouse"), ("s_i_id", "item")],
};

/// In an order in which foreign keys can be added.
pub(super) static TABLES: [&TpccTable; 9] =
    [&WAREHOUSE, &DISTRICT, &CUSTOMER, &HISTORY, &ITEM, &STOCK, &ORDERS, &NEW_ORDER, &ORDER_LINE];

const INDEXES: [&str; 2] = [
    "create index customer_by_name on customer (c_w_id, c_d_id, c_last, c_first)",
    "create index orders_by_customer on orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// Whether this workload creates a table of this name.
pub(crate) fn is_table(name: &str) -> bool {
    TABLES.iter().any(|table| table.name == name)
}

impl TpccTable {
    pub(super) fn create(&self, dialect: Dialect, stock_key: StockKey) -> String {
        let column = |(name, kind): &(&str, &str)| {
            let is_whole =
                DecimalForm::of(dialect) == DecimalForm::Whole && DECIMALS.contains(kind);
            let kind = if is_whole { NUMBER } else { kind };
            format!("{name} {}", kind.replace(TIME, dialect.timestamp))
        };
        let mut parts: Vec<String> = self.columns.iter().map(column).collect();
        let key = self.key(stock_key);
        if !key.is_empty() {
            parts.push(format!("primary key ({key})"));
        }
        let engine = dialect.engine.map(|engine| format!(" engine = {engine}")).unwrap_or_default();
        format!("create table {} ({}){engine}", self.name, parts.join(", "))
    }

    fn key(&self, stock_key: StockKey) -> &'static str {
        match stock_key {
            StockKey::Iw if self.name == STOCK.name => "s_i_id, s_w_id",
            _ => self.primary_key,
        }
    }

    /// The names of its first columns, without so many of the last ones.
    pub(super) fn column_names(&self, without: usize) -> Vec<&'static str> {
        let columns = &self.columns[..self.columns.len() - without];
        columns.iter().map(|(name, _)| *name).collect()
    }
}

/// The statements after the load: indexes, and foreign keys if there are any.
pub(super) fn finish(plan: &Tpcc) -> Vec<String> {
    let mut statements = INDEXES.map(str::to_string).to_vec();
    if plan.foreign_keys {
        statements.extend(TABLES.iter().flat_map(|table| foreign_keys(table, plan.stock_key)));
    }
    statements
}

fn foreign_keys(table: &TpccTable, stock_key: StockKey) -> impl Iterator<Item = String> {
    table.foreign_keys.iter().map(move |(columns, of)| {
        let parent = TABLES.iter().find(|table| table.name == *of);
        // The columns of a key may be named in any order, as long as they are the same ones.
        let (columns, key) = match (*of, stock_key) {
            ("stock", StockKey::Iw) => ("ol_i_id, ol_supply_w_id", "s_i_id, s_w_id"),
            _ => (*columns, parent.map_or("", |parent| parent.primary_key)),
        };
        format!("alter table {} add foreign key ({columns}) references {of} ({key})", table.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_those_of_the_dbms() {
        let created = |dialect| DISTRICT.create(dialect, StockKey::Wi);
        assert!(created(Dialect::POSTGRES).contains("d_ytd decimal(12,2)"));
        assert!(created(Dialect::SQLITE).contains("d_ytd integer, d_next_o_id integer"));
        assert!(created(Dialect::INNODB).ends_with("primary key (d_w_id, d_id)) engine = innodb"));
        let history = HISTORY.create(Dialect::POSTGRES, StockKey::Wi);
        assert!(history.contains("h_date timestamp without time zone"), "{history}");
        assert!(!history.contains("primary key"), "{history}");
    }

    #[test]
    fn the_key_of_the_stock_is_as_asked_for() {
        let stock = |key| STOCK.create(Dialect::POSTGRES, key);
        assert!(stock(StockKey::Wi).ends_with("primary key (s_w_id, s_i_id))"));
        assert!(stock(StockKey::Iw).ends_with("primary key (s_i_id, s_w_id))"));
        let lines = |key| foreign_keys(&ORDER_LINE, key).last().unwrap();
        assert_eq!(
            lines(StockKey::Iw),
            "alter table order_line add foreign key (ol_i_id, ol_supply_w_id) references stock \
             (s_i_id, s_w_id)"
        );
        assert!(lines(StockKey::Wi).ends_with("references stock (s_w_id, s_i_id)"));
    }

    #[test]
    fn the_tables_are_known_by_their_names() {
        assert!(["orders", "order_line", "stock"].into_iter().all(is_table));
        assert!(!is_table("order"));
    }
}
