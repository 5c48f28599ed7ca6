//! Whether two answers are the same: as a sequence where the query has an order, as a multiset
//! elsewhere; numbers with a point by a relative tolerance.

use std::cmp::Ordering;

use rqps_wire::ColumnKind;

use super::answer::{Answer, AnswerRow, AnswerValue};

/// How the answers of a statement are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LikenessRule {
    pub(super) order: RowSequence,
    /// The relative tolerance of numbers with a point.
    pub(super) float: f64,
    /// The arms are of different DBMSs.
    pub(super) is_across: bool,
}

/// What the order of rows means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowSequence {
    /// Nothing.
    Free,
    /// The query has one, which ties and collations may leave open.
    Ordered,
    Exact,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Likeness {
    Same,
    /// The same rows in another order.
    Order,
    Different(RowDifference),
}

/// How two answers differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowDifference {
    /// Without values.
    pub(super) what: String,
    /// The query may leave open which rows it returns: both returned as many.
    pub(super) has_same_count: bool,
    /// The first rows that only the baseline returned, and only the other arm, as text.
    pub(super) rows: [Vec<String>; 2],
}

/// Rows of each arm that are shown.
const SHOWN: usize = 3;

/// Rows with the same other columns among which each is looked for.
const MOST_ALIKE: usize = 1_000;

pub(super) fn likeness(base: &Answer, other: &Answer, rule: LikenessRule) -> Likeness {
    if let Some(what) = heads(base, other, rule.is_across) {
        return Likeness::Different(RowDifference { what, ..RowDifference::default() });
    }
    if !base.returns_rows() {
        // MySQL counts rows that have changed, and others those that were found.
        let is_same = base.changed == other.changed || rule.is_across && base.count == other.count;
        return match is_same {
            true => Likeness::Same,
            false => {
                let what = format!("{} rows affected, not {}", other.changed, base.changed);
                Likeness::Different(RowDifference { what, ..RowDifference::default() })
            }
        };
    }
    let is_free = rule.order == RowSequence::Free;
    let is_one = base.count == other.count && base.digest() == other.digest();
    if is_one && (is_free || base.sequence() == other.sequence()) {
        return Likeness::Same;
    }
    if !base.is_whole || !other.is_whole {
        return by_digest(base, other, rule);
    }
    let floats = floats(base, other, rule.is_across);
    let is_same =
        |(one, other): (&AnswerRow, &AnswerRow)| is_alike(one, other, &floats, rule.float);
    let has_same_count = base.count == other.count;
    if !is_free && has_same_count && base.rows.iter().zip(&other.rows).all(is_same) {
        return Likeness::Same;
    }
    let [missing, new] = unmatched([&base.rows, &other.rows], &floats, rule.float);
    match (missing.as_slice(), rule.order) {
        ([], _) if !new.is_empty() => {}
        ([], RowSequence::Free) => return Likeness::Same,
        ([], RowSequence::Ordered) => return Likeness::Order,
        ([], RowSequence::Exact) => {
            let what = "the same rows in another order".to_string();
            return Likeness::Different(RowDifference { what, ..RowDifference::default() });
        }
        _ if rule.is_across && has_same_count => {
            let lower = [lower_case(&base.rows), lower_case(&other.rows)];
            let [missing, new] = unmatched([&lower[0], &lower[1]], &floats, rule.float);
            if missing.is_empty() && new.is_empty() {
                return Likeness::Order;
            }
        }
        _ => {}
    }
    let what = match has_same_count {
        true => format!("{} of {} rows differ", missing.len(), base.count),
        false => format!("{} rows, not {}", other.count, base.count),
    };
    let shown = |rows: Vec<&AnswerRow>| {
        let shown = rows.into_iter().take(SHOWN);
        shown.map(|row| in_words(row, base)).collect::<Vec<_>>()
    };
    let rows = [shown(missing), shown(new)];
    Likeness::Different(RowDifference { what, has_same_count, rows })
}

/// What differs in the columns of two answers.
fn heads(base: &Answer, other: &Answer, is_across: bool) -> Option<String> {
    let (ours, theirs) = (&base.columns, &other.columns);
    if ours.len() != theirs.len() {
        return Some(format!("{} columns, not {}", theirs.len(), ours.len()));
    }
    // Without an alias, DBMSs name a column by rules of their own.
    let mut pairs = ours.iter().zip(theirs).filter(|_| !is_across);
    let (one, other) = pairs.find(|(one, other)| one.name != other.name)?;
    Some(format!("a column has the name '{}', not '{}'", other.name, one.name))
}

/// The same of answers that are too long to be kept.
fn by_digest(base: &Answer, other: &Answer, rule: LikenessRule) -> Likeness {
    let has_same_count = base.count == other.count;
    let is_same = has_same_count && base.digest().rounded == other.digest().rounded;
    match (is_same, rule.order) {
        (true, RowSequence::Free) => Likeness::Same,
        (true, _) if base.sequence() == other.sequence() => Likeness::Same,
        (true, RowSequence::Ordered) => Likeness::Order,
        _ => {
            let what = match has_same_count {
                true => "rows differ, which are too long to be kept".to_string(),
                false => format!("{} rows, not {}", other.count, base.count),
            };
            Likeness::Different(RowDifference { what, has_same_count, ..RowDifference::default() })
        }
    }
}

/// The columns of numbers that are compared by their tolerance: those with binary fractions, and of
/// different DBMSs those with other numbers of digits behind the point, as of a quotient.
fn floats(base: &Answer, other: &Answer, is_across: bool) -> Vec<bool> {
    let is_float = |column: usize| {
        let sides = [base, other];
        let has_float = |side: &Answer| {
            side.rows.iter().any(|row| matches!(row[column], AnswerValue::Float(_)))
        };
        let digits = |side: &Answer| {
            let digits = side.rows.iter().map(|row| digits_behind_point(&row[column]));
            digits.max().unwrap_or_default()
        };
        let is_decimal = |side: &Answer| side.columns[column].kind == ColumnKind::Decimal;
        let is_rounded = || sides.iter().all(|it| is_decimal(it)) && digits(base) != digits(other);
        sides.iter().any(|side| has_float(side)) || is_across && is_rounded()
    };
    (0..base.columns.len()).map(is_float).collect()
}

fn digits_behind_point(cell: &AnswerValue) -> usize {
    match cell {
        AnswerValue::Text(text) => {
            let point = text.iter().position(|byte| *byte == b'.');
            point.map_or(0, |point| text.len() - point - 1)
        }
        AnswerValue::Null | AnswerValue::Float(_) => 0,
    }
}

fn is_alike(one: &[AnswerValue], other: &[AnswerValue], floats: &[bool], tolerance: f64) -> bool {
    let mut pairs = one.iter().zip(other).zip(floats);
    pairs.all(|((one, other), is_float)| match (number(one), number(other)) {
        (Some(one), Some(other)) if *is_float => is_close(one, other, tolerance),
        _ => one == other,
    })
}

fn is_close(one: f64, other: f64, tolerance: f64) -> bool {
    let both_nan = one.is_nan() && other.is_nan();
    // Infinity is far from any number.
    let largest = one.abs().max(other.abs()).min(f64::MAX);
    one == other || both_nan || (one - other).abs() <= tolerance * largest
}

fn number(cell: &AnswerValue) -> Option<f64> {
    match cell {
        AnswerValue::Null => None,
        AnswerValue::Float(value) => Some(*value),
        AnswerValue::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// The rows of each side that the other one lacks, in the order of their other columns.
fn unmatched<'a>(
    sides: [&'a [AnswerRow]; 2],
    floats: &[bool],
    tolerance: f64,
) -> [Vec<&'a AnswerRow>; 2] {
    let [mut left, mut right] = sides.map(|rows| {
        let mut sorted: Vec<&AnswerRow> = rows.iter().collect();
        sorted.sort_by(|one, other| {
            by_key(one, other, floats).then_with(|| by_floats(one, other, floats))
        });
        sorted
    });
    let (mut missing, mut new) = (Vec::new(), Vec::new());
    // The ends are taken first, and the results turned round.
    while let (Some(one), Some(other)) = (left.last(), right.last()) {
        match by_key(one, other, floats) {
            Ordering::Greater => missing.extend(left.pop()),
            Ordering::Less => new.extend(right.pop()),
            Ordering::Equal => {
                let (ours, theirs) = (group(&mut left, floats), group(&mut right, floats));
                let [mut ours, mut theirs] = unpaired(ours, theirs, floats, tolerance);
                ours.reverse();
                theirs.reverse();
                missing.append(&mut ours);
                new.append(&mut theirs);
            }
        }
    }
    missing.extend(left.into_iter().rev());
    new.extend(right.into_iter().rev());
    missing.reverse();
    new.reverse();
    [missing, new]
}

/// The rows at the end that have the same other columns.
fn group<'a>(rows: &mut Vec<&'a AnswerRow>, floats: &[bool]) -> Vec<&'a AnswerRow> {
    let last = rows.last().copied();
    let is_other = |row: &&AnswerRow| last.is_none_or(|last| by_key(row, last, floats).is_ne());
    let begin = rows.iter().rposition(is_other).map_or(0, |place| place + 1);
    rows.split_off(begin)
}

/// The rows of two groups that have no partner in the other one.
fn unpaired<'a>(
    ours: Vec<&'a AnswerRow>,
    theirs: Vec<&'a AnswerRow>,
    floats: &[bool],
    tolerance: f64,
) -> [Vec<&'a AnswerRow>; 2] {
    let is_pair =
        |(one, other): (&&AnswerRow, &&AnswerRow)| is_alike(one, other, floats, tolerance);
    if ours.len() == theirs.len() && ours.iter().zip(&theirs).all(is_pair) {
        return [Vec::new(), Vec::new()];
    }
    if ours.len().max(theirs.len()) > MOST_ALIKE {
        return [ours, theirs];
    }
    // Rounding may have changed the order of several numbers in a row.
    let mut left = theirs;
    let mut missing = Vec::new();
    for one in ours {
        match left.iter().position(|other| is_alike(one, other, floats, tolerance)) {
            Some(place) => drop(left.remove(place)),
            None => missing.push(one),
        }
    }
    [missing, left]
}

/// The order of rows by what is no number with a point.
fn by_key(one: &[AnswerValue], other: &[AnswerValue], floats: &[bool]) -> Ordering {
    let mut pairs = one.iter().zip(other).zip(floats).filter(|(_, is_float)| !**is_float);
    let differing = pairs.find_map(|((one, other), _)| {
        let order = match (one, other) {
            (AnswerValue::Text(one), AnswerValue::Text(other)) => {
                // Numbers as people sort them.
                (one.len(), one).cmp(&(other.len(), other))
            }
            (one, other) => rank(one).cmp(&rank(other)),
        };
        order.is_ne().then_some(order)
    });
    differing.unwrap_or(Ordering::Equal)
}

fn rank(cell: &AnswerValue) -> u8 {
    match cell {
        AnswerValue::Null => 0,
        AnswerValue::Float(_) => 1,
        AnswerValue::Text(_) => 2,
    }
}

fn by_floats(one: &[AnswerValue], other: &[AnswerValue], floats: &[bool]) -> Ordering {
    let mut pairs = one.iter().zip(other).zip(floats).filter(|(_, is_float)| **is_float);
    let value = |cell: &AnswerValue| number(cell).unwrap_or(f64::NEG_INFINITY);
    let differing = pairs.find_map(|((one, other), _)| {
        let order = value(one).total_cmp(&value(other));
        order.is_ne().then_some(order)
    });
    differing.unwrap_or(Ordering::Equal)
}

fn lower_case(rows: &[AnswerRow]) -> Vec<AnswerRow> {
    let lower = |cell: &AnswerValue| match cell {
        AnswerValue::Text(text) => {
            let text = String::from_utf8_lossy(text).to_lowercase();
            AnswerValue::Text(text.into_bytes().into())
        }
        other => other.clone(),
    };
    rows.iter().map(|row| row.iter().map(lower).collect()).collect()
}

/// A row for people, with the names of its columns.
fn in_words(row: &[AnswerValue], answer: &Answer) -> String {
    let field = |(cell, column): (&AnswerValue, &rqps_wire::ResultColumn)| {
        let value = match cell {
            AnswerValue::Null => "NULL".to_string(),
            AnswerValue::Float(value) => value.to_string(),
            AnswerValue::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
        };
        format!("{} = {value}", column.name)
    };
    row.iter().zip(&answer.columns).map(field).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use rqps_wire::{Field, ResultColumn, RowVisitor};

    use super::*;

    fn text(text: &'static str) -> Field<'static> {
        Field::Text(Cow::Borrowed(text.as_bytes()))
    }

    fn answer(names: &[&str], rows: &[&[Field<'static>]]) -> Answer {
        let mut answer = Answer::new(false);
        let column = |name: &&str| ResultColumn { name: name.to_string(), kind: ColumnKind::Other };
        answer.columns(names.iter().map(column).collect());
        rows.iter().for_each(|row| answer.row(row));
        answer
    }

    fn rule(order: RowSequence) -> LikenessRule {
        LikenessRule { order, float: 1e-9, is_across: false }
    }

    const NAMES: [&str; 3] = ["id", "name", "price"];

    /// The rows of a small table with one value in place of another.
    fn table(name: Field<'static>, price: f64) -> Answer {
        let row = |id, name: &Field<'static>, price| vec![Field::Int(id), name.clone(), price];
        let rows = [
            row(1, &text("a"), Field::Float(0.0)),
            row(2, &name, Field::Float(price)),
            row(3, &text("c"), Field::Null),
        ];
        let rows: Vec<&[Field<'static>]> = rows.iter().map(Vec::as_slice).collect();
        answer(&NAMES, &rows)
    }

    #[test]
    fn seeded_faults_are_found_and_what_is_none_is_not() {
        let base = table(Field::Null, 2.5);
        let likeness = |other: &Answer| likeness(&base, other, rule(RowSequence::Free));
        assert_eq!(likeness(&table(Field::Null, 2.5)), Likeness::Same);
        assert_eq!(likeness(&table(Field::Null, 2.5 * (1.0 + 1e-10))), Likeness::Same);
        for (fault, other) in [
            ("1e-7 in a number", table(Field::Null, 2.5 * (1.0 + 1e-7))),
            ("'' for NULL", table(text(""), 2.5)),
            ("0 for NULL", table(Field::Int(0), 2.5)),
            ("the sign", table(Field::Null, -2.5)),
        ] {
            let Likeness::Different(found) = likeness(&other) else { panic!("{fault}") };
            assert_eq!((found.what.as_str(), found.has_same_count), ("1 of 3 rows differ", true));
            assert_eq!((found.rows[0].len(), found.rows[1].len()), (1, 1), "{fault}");
        }
        let mut short = answer(&NAMES, &[]);
        base.rows[..2]
            .iter()
            .for_each(|_| short.row(&[Field::Int(1), text("a"), Field::Float(0.0)]));
        let Likeness::Different(found) = likeness(&short) else { panic!("a row is missing") };
        assert_eq!((found.what.as_str(), found.has_same_count), ("2 rows, not 3", false));
        let expected = ["id = '2', name = NULL, price = 2.5", "id = '3', name = 'c', price = NULL"];
        assert_eq!(found.rows[0], expected);
    }

    #[test]
    fn the_sign_of_zero_and_the_name_of_nan_are_no_differences() {
        let zero = |value| answer(&["x"], &[&[Field::Float(value)]]);
        let alike = |one, other| likeness(&zero(one), &zero(other), rule(RowSequence::Exact));
        assert_eq!(alike(0.0, -0.0), Likeness::Same);
        assert_eq!(alike(f64::NAN, -f64::NAN), Likeness::Same);
        assert!(matches!(alike(f64::NAN, 0.0), Likeness::Different(_)));
        assert!(matches!(alike(f64::INFINITY, 1e300), Likeness::Different(_)));
    }

    #[test]
    fn an_order_counts_where_the_query_has_one() {
        let rows = |ids: [i64; 3]| {
            let fields = ids.map(|id| [Field::Int(id)]);
            let rows: Vec<&[Field<'static>]> = fields.iter().map(|row| row.as_slice()).collect();
            answer(&["id"], &rows)
        };
        let (one, other) = (rows([1, 2, 3]), rows([2, 3, 1]));
        assert_eq!(likeness(&one, &other, rule(RowSequence::Free)), Likeness::Same);
        assert_eq!(likeness(&one, &other, rule(RowSequence::Ordered)), Likeness::Order);
        assert!(matches!(likeness(&one, &other, rule(RowSequence::Exact)), Likeness::Different(_)));
        let twice = rows([1, 1, 3]);
        let Likeness::Different(found) =
            likeness(&twice, &rows([1, 3, 3]), rule(RowSequence::Free))
        else {
            panic!("a multiset counts")
        };
        assert_eq!(found.rows, [vec!["id = '1'".to_string()], vec!["id = '3'".to_string()]]);
    }

    #[test]
    fn rounding_that_changes_the_order_of_numbers_is_no_difference() {
        let rows = |rows: [[f64; 2]; 2]| {
            let fields = rows.map(|row| row.map(Field::Float));
            let rows: Vec<&[Field<'static>]> = fields.iter().map(|row| row.as_slice()).collect();
            answer(&["a", "b"], &rows)
        };
        let (one, other) = (rows([[1.0, 7.0], [1.0, 5.0]]), rows([[1.0, 7.0], [1.0 + 1e-12, 5.0]]));
        assert_eq!(likeness(&one, &other, rule(RowSequence::Free)), Likeness::Same);
    }

    #[test]
    fn names_of_columns_and_affected_rows_count_within_a_dbms() {
        let (one, other) = (answer(&["a"], &[]), answer(&["b"], &[]));
        let Likeness::Different(found) = likeness(&one, &other, rule(RowSequence::Free)) else {
            panic!("another name")
        };
        assert_eq!(found.what, "a column has the name 'b', not 'a'");
        let across = LikenessRule { is_across: true, ..rule(RowSequence::Free) };
        assert_eq!(likeness(&one, &other, across), Likeness::Same);
        let changed = |changed| {
            let mut answer = Answer::new(false);
            answer.changed = changed;
            answer
        };
        let found = likeness(&changed(3), &changed(2), rule(RowSequence::Free));
        assert!(matches!(found, Likeness::Different(it) if it.what == "2 rows affected, not 3"));
    }

    #[test]
    fn another_dbms_may_round_a_quotient_but_no_sum() {
        let across = LikenessRule { is_across: true, ..rule(RowSequence::Free) };
        let decimal = |value: &'static str| {
            let mut answer = Answer::new(true);
            let kind = ColumnKind::Decimal;
            answer.columns(vec![ResultColumn { name: "x".to_string(), kind }]);
            answer.row(&[text(value)]);
            answer
        };
        let likeness = |one, other| likeness(&decimal(one), &decimal(other), across);
        assert_eq!(likeness("6048.9142857142857143", "6048.914286"), Likeness::Same);
        assert!(matches!(likeness("6048.9142857142857143", "6048.9143"), Likeness::Different(_)));
        assert!(matches!(likeness("12345678901.23", "12345678901.24"), Likeness::Different(_)));
    }

    #[test]
    fn another_dbms_may_spell_and_type_a_value_differently() {
        let across = LikenessRule { is_across: true, ..rule(RowSequence::Free) };
        let (one, other) =
            (answer(&["x"], &[&[Field::Float(1.5)]]), answer(&["x"], &[&[text("1.5")]]));
        assert_eq!(likeness(&one, &other, across), Likeness::Same);
        let (one, other) = (answer(&["x"], &[&[text("Ann")]]), answer(&["x"], &[&[text("ann")]]));
        assert_eq!(likeness(&one, &other, across), Likeness::Order);
    }
}
