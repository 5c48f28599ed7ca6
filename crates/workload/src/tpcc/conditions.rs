//! The twelve consistency conditions (clause 3.3.2) as data. A query returns what breaks one: the
//! warehouse, the district or 0, what should be, and what is.

/// A condition, or a part of one.
pub(super) struct Condition {
    pub(super) number: u32,
    pub(super) table: &'static str,
    pub(super) what: &'static str,
    pub(super) sql: &'static str,
}

const fn condition(
    number: u32,
    table: &'static str,
    what: &'static str,
    sql: &'static str,
) -> Condition {
    Condition { number, table, what, sql }
}

/// Sums over no rows are 0, not NULL: a comparison with NULL would hide what breaks a condition. Of
/// condition 11, which has the number of delivered orders after the load, `{delivered}` stands for
/// that number, and the deliveries since are added. Sums by customer are over rows of all tables,
/// not over a join of sums: a DBMS without statistics, as after a load, joins these one by one.
pub(super) static CONDITIONS: [Condition; 13] = [
    condition(
        1,
        "warehouse",
        "w_ytd as the sum of d_ytd",
        "select w_id, 0, coalesce(paid, 0), w_ytd from warehouse \
         left join (select d_w_id, sum(d_ytd) as paid from district group by d_w_id) d \
         on d_w_id = w_id where w_ytd <> coalesce(paid, 0)",
    ),
    condition(
        2,
        "district",
        "d_next_o_id - 1 as the largest o_id",
        "select d_w_id, d_id, coalesce(largest, 0), d_next_o_id - 1 from district \
         left join (select o_w_id, o_d_id, max(o_id) as largest from orders \
         group by o_w_id, o_d_id) o on o_w_id = d_w_id and o_d_id = d_id \
         where d_next_o_id - 1 <> coalesce(largest, 0)",
    ),
    condition(
        2,
        "district",
        "d_next_o_id - 1 as the largest no_o_id",
        "select d_w_id, d_id, largest, d_next_o_id - 1 from district \
         join (select no_w_id, no_d_id, max(no_o_id) as largest from new_order \
         group by no_w_id, no_d_id) n on no_w_id = d_w_id and no_d_id = d_id \
         where d_next_o_id - 1 <> largest",
    ),
    condition(
        3,
        "new_order",
        "number of rows from the smallest to the largest no_o_id",
        "select no_w_id, no_d_id, max(no_o_id) - min(no_o_id) + 1, count(*) from new_order \
         group by no_w_id, no_d_id having max(no_o_id) - min(no_o_id) + 1 <> count(*)",
    ),
    condition(
        4,
        "order_line",
        "number of rows as the sum of o_ol_cnt",
        "select o_w_id, o_d_id, ordered, coalesce(found, 0) from \
         (select o_w_id, o_d_id, sum(o_ol_cnt) as ordered from orders group by o_w_id, o_d_id) o \
         left join (select ol_w_id, ol_d_id, count(*) as found from order_line \
         group by ol_w_id, ol_d_id) l on ol_w_id = o_w_id and ol_d_id = o_d_id \
         where ordered <> coalesce(found, 0)",
    ),
    condition(
        5,
        "orders",
        "o_carrier_id as NULL in those orders that are in new_order (0 or 1)",
        "select o_w_id, o_d_id, case when no_o_id is null then 0 else 1 end, \
         case when o_carrier_id is null then 1 else 0 end from orders \
         left join new_order on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id \
         where (case when no_o_id is null then 0 else 1 end) \
         <> (case when o_carrier_id is null then 1 else 0 end)",
    ),
    condition(
        6,
        "orders",
        "o_ol_cnt as the number of its lines",
        "select o_w_id, o_d_id, coalesce(found, 0), o_ol_cnt from orders \
         left join (select ol_w_id, ol_d_id, ol_o_id, count(*) as found from order_line \
         group by ol_w_id, ol_d_id, ol_o_id) l \
         on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id \
         where o_ol_cnt <> coalesce(found, 0)",
    ),
    condition(
        7,
        "order_line",
        "ol_delivery_d as NULL where o_carrier_id is (0 or 1)",
        "select ol_w_id, ol_d_id, case when o_carrier_id is null then 1 else 0 end, \
         case when ol_delivery_d is null then 1 else 0 end from order_line \
         join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id \
         where (case when o_carrier_id is null then 1 else 0 end) \
         <> (case when ol_delivery_d is null then 1 else 0 end)",
    ),
    condition(
        8,
        "warehouse",
        "w_ytd as the sum of h_amount",
        "select w_id, 0, coalesce(paid, 0), w_ytd from warehouse \
         left join (select h_w_id, sum(h_amount) as paid from history group by h_w_id) h \
         on h_w_id = w_id where w_ytd <> coalesce(paid, 0)",
    ),
    condition(
        9,
        "district",
        "d_ytd as the sum of h_amount",
        "select d_w_id, d_id, coalesce(paid, 0), d_ytd from district \
         left join (select h_w_id, h_d_id, sum(h_amount) as paid from history \
         group by h_w_id, h_d_id) h on h_w_id = d_w_id and h_d_id = d_id \
         where d_ytd <> coalesce(paid, 0)",
    ),
    condition(
        10,
        "customer",
        "c_balance as delivered lines without payments",
        "select w, d, sum(expected), sum(found) from (\
         select c_w_id as w, c_d_id as d, c_id as c, 0 as expected, c_balance as found \
         from customer \
         union all select o_w_id, o_d_id, o_c_id, ol_amount, 0 from orders \
         join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id \
         where ol_delivery_d is not null \
         union all select h_c_w_id, h_c_d_id, h_c_id, -h_amount, 0 from history) t \
         group by w, d, c having sum(expected) <> sum(found)",
    ),
    condition(
        11,
        "orders",
        "number of rows that are not in new_order",
        "select d_w_id, d_id, {delivered} + since, ordered - coalesce(undelivered, 0) \
         from district \
         join (select c_w_id, c_d_id, sum(c_delivery_cnt) as since from customer \
         group by c_w_id, c_d_id) c on c_w_id = d_w_id and c_d_id = d_id \
         join (select o_w_id, o_d_id, count(*) as ordered from orders group by o_w_id, o_d_id) o \
         on o_w_id = d_w_id and o_d_id = d_id \
         left join (select no_w_id, no_d_id, count(*) as undelivered from new_order \
         group by no_w_id, no_d_id) n on no_w_id = d_w_id and no_d_id = d_id \
         where ordered - coalesce(undelivered, 0) <> {delivered} + since",
    ),
    condition(
        12,
        "customer",
        "c_balance + c_ytd_payment as delivered lines",
        "select w, d, sum(expected), sum(found) from (\
         select c_w_id as w, c_d_id as d, c_id as c, 0 as expected, \
         c_balance + c_ytd_payment as found from customer \
         union all select o_w_id, o_d_id, o_c_id, ol_amount, 0 from orders \
         join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id \
         where ol_delivery_d is not null) t \
         group by w, d, c having sum(expected) <> sum(found)",
    ),
];
