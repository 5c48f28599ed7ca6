use rqps_dbms::Dialect;

use super::*;
use crate::capture::items::items;
use crate::capture::shape::shape;

fn catalog() -> Vec<CatalogColumn> {
    let column = |table: &str, name: &str| CatalogColumn {
        table: table.to_string(),
        name: name.to_string(),
        kind: "integer".to_string(),
        is_unique: name == "id",
    };
    ["id", "customer", "day"]
        .map(|name| column("orders", name))
        .into_iter()
        .chain(["id", "name"].map(|name| column("customers", name)))
        .collect()
}

/// What each place of a statement stands for, in short.
fn uses(text: &str, dialect: Dialect) -> String {
    let (shape, _) = shape(text, dialect.lexis);
    let (items, catalog) = (items(&shape, dialect.lexis), catalog());
    let comparisons = Comparisons::new(&items, &catalog);
    let places = items.iter().enumerate().filter(|(_, it)| matches!(it, SqlItem::Place(_)));
    let shown = places.map(|(at, _)| {
        let PlaceUse { role, is_typed } = comparisons.place_use(at);
        let typed = if is_typed { " typed" } else { "" };
        match role {
            PlaceRole::Column(it, side) => {
                let side = match side {
                    Side::Low => " low",
                    Side::High => " high",
                    Side::Value => "",
                };
                format!("{}.{}{side}{typed}", it.table, it.column)
            }
            PlaceRole::NewRow(it) => format!("new {}.{}", it.table, it.column),
            PlaceRole::Limit => "limit".to_string(),
            PlaceRole::Offset => "offset".to_string(),
            PlaceRole::Unknown(_) => "?".to_string(),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn a_placeholder_is_that_of_the_column_it_is_compared_with() {
    for (text, expected) in [
        ("select * from orders where customer = $1", "orders.customer"),
        (
            "select * from orders o where o.customer = $1 and $2 < day",
            "orders.customer, orders.day low",
        ),
        (
            "select * from orders where day between $1 and $2 limit $3 offset $4",
            "orders.day low, orders.day high, limit, offset",
        ),
        (
            "select * from orders where day >= date $1 and day <> $2",
            "orders.day low typed, orders.day",
        ),
        ("select * from orders where customer in ($1, $2)", "orders.customer, orders.customer"),
        ("select * from orders where customer not in ($1 /*, ... */)", "orders.customer"),
        (
            "select * from orders, customers c where c.id = customer and name like $1",
            "customers.name",
        ),
        (
            "select * from orders join customers on orders.customer = customers.id where id = $1",
            "?",
        ),
        ("select $1 + a, lower($2) from orders", "?, ?"),
        ("select * from orders where customer = cast($1 as int)", "orders.customer"),
        ("select * from orders where customer = any ($1)", "?"),
        ("select extract(year from day) from orders where customer = $1", "orders.customer"),
        (
            "with big as (select * from orders where customer = $1) select * from big where day = $2",
            "orders.customer, orders.day",
        ),
        (
            "update orders set day = $1, customer = customer + $2 where orders.id = $3",
            "orders.day, orders.customer, orders.id",
        ),
        ("delete from public.orders where id = $1", "public.orders.id"),
        (
            "insert into orders (id, day) values ($1, $2), ($3, coalesce($4, now()))",
            "new orders.id, new orders.day, new orders.id, ?",
        ),
        (
            "insert into orders values ($1, $2) on conflict (id) do update set day = $3",
            "new orders.id, new orders.customer, orders.day",
        ),
        ("select now() - interval $1", "?"),
        ("select * from orders where \"day\" is distinct from $1", "?"),
    ] {
        assert_eq!(uses(text, Dialect::POSTGRES), expected, "{text}");
    }
}

#[test]
fn the_texts_of_digests_are_understood() {
    for (text, expected) in [
        (
            "SELECT * FROM `orders` WHERE `customer` = ? AND `orders` . `day` > ? LIMIT ?, ?",
            "`orders`.`customer`, `orders`.`day` low, offset, limit",
        ),
        (
            "UPDATE `orders` `o` SET `o` . `day` = ? WHERE `o` . `id` = ?",
            "`orders`.`day`, `orders`.`id`",
        ),
    ] {
        assert_eq!(uses(text, Dialect::INNODB), expected, "{text}");
    }
}
