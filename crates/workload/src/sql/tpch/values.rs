//! The values of the queries' parameters (clauses 2.4.1 to 2.4.22), as files of comma-separated
//! values. What the tables hold themselves, queries draw from there.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};
use jiff::{Span, ToSpan};
use rand::seq::{IndexedRandom, index};
use rqps_plan::ScaleFactor;

use crate::random::{Random, stream};

/// Rows of files whose values cannot be listed as a whole.
const DRAWN: usize = 200;
/// The seed of these rows. `--seed` decides which rows of a file are used.
const SEED: u64 = 1;

/// Parts of a type of part (clause 4.2.2.13).
const SIZES_OF_TYPE: [&str; 6] = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"];
const FINISHES: [&str; 5] = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"];
const METALS: [&str; 5] = ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"];

const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

/// Words of comments on orders (clause 2.4.13.3).
const FIRST_WORDS: [&str; 4] = ["special", "pending", "unusual", "express"];
const SECOND_WORDS: [&str; 4] = ["packages", "requests", "accounts", "deposits"];

/// Words of the names of parts (clause 4.2.3).
const COLORS: &str = "almond antique aquamarine azure beige bisque black blanched blue blush brown \
                      burlywood burnished chartreuse chiffon chocolate coral cornflower cornsilk \
                      cream cyan dark deep dim dodger drab firebrick floral forest frosted \
                      gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace \
                      lavender lawn lemon light lime linen magenta maroon medium metallic midnight \
                      mint misty moccasin navajo navy olive orange orchid pale papaya peach peru \
                      pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell \
                      sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet \
                      wheat white yellow";

/// The files by their names.
pub(super) fn files(scale: ScaleFactor) -> BTreeMap<&'static str, String> {
    let january = date(1993, 1, 1);
    BTreeMap::from([
        ("q01.csv", file("last_day", days(date(1998, 8, 3), date(1998, 10, 2)))),
        ("q03.csv", file("day", days(date(1995, 3, 1), date(1995, 3, 31)))),
        ("q10.csv", periods(date(1993, 2, 1), 24, 1.month(), 3.months())),
        ("quarters.csv", periods(january, 58, 1.month(), 3.months())),
        ("months.csv", periods(january, 60, 1.month(), 1.month())),
        ("years.csv", periods(january, 5, 1.year(), 1.year())),
        ("discounts.csv", {
            let around = (2..=9).map(|cents| format!("0.{:02},0.{:02}", cents - 1, cents + 1));
            file("least,most", around)
        }),
        ("q11.csv", file("fraction", [format!("{:.10}", 0.0001 / scale.value())])),
        ("metals.csv", file("pattern", METALS.map(|metal| format!("%{metal}")))),
        ("kinds.csv", {
            let kinds = pairs(&SIZES_OF_TYPE, &FINISHES);
            file("pattern", kinds.map(|(size, finish)| format!("{size} {finish}%")))
        }),
        ("modes.csv", {
            let pairs = pairs(&MODES, &MODES).filter(|(one, other)| one != other);
            file("mode1,mode2", pairs.map(|(one, other)| format!("{one},{other}")))
        }),
        ("words.csv", {
            let pairs = pairs(&FIRST_WORDS, &SECOND_WORDS);
            file("pattern", pairs.map(|(first, second)| format!("%{first}%{second}%")))
        }),
        ("colors.csv", {
            let colors = COLORS.split_whitespace();
            file("first,within", colors.map(|color| format!("{color}%,%{color}%")))
        }),
        (
            "brands.csv",
            drawn(1, "brand", 3, |random| {
                let digits = [1, 2, 3, 4, 5];
                let digit = |random: &mut Random| digits.choose(random).copied().unwrap_or(1);
                (0..3).map(|_| format!("Brand#{}{}", digit(random), digit(random))).collect()
            }),
        ),
        ("sizes.csv", drawn(2, "size", 8, |random| distinct(random, 1, 50, 8))),
        ("codes.csv", drawn(3, "code", 7, |random| distinct(random, 10, 25, 7))),
    ])
}

fn file(names: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rows = rows.into_iter().map(|row| row + "\n");
    std::iter::once(format!("{names}\n")).chain(rows).collect()
}

fn pairs<'a>(
    ones: &'a [&'a str],
    others: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    ones.iter().flat_map(move |one| others.iter().map(move |other| (*one, *other)))
}

fn days(first: Date, last: Date) -> impl Iterator<Item = String> {
    first.series(1.day()).take_while(move |day| *day <= last).map(|day| day.to_string())
}

/// As many periods of this length: the first day of each, and the day behind it.
fn periods(first: Date, count: usize, step: Span, length: Span) -> String {
    let period = |day: Date| format!("{day},{}", day.saturating_add(length));
    file("first_day,next_day", first.series(step).take(count).map(period))
}

/// Rows of a file that is drawn; the columns are numbered.
fn drawn(
    number: u64,
    name: &str,
    columns: usize,
    row: impl Fn(&mut Random) -> Vec<String>,
) -> String {
    let names: Vec<String> = (1..=columns).map(|column| format!("{name}{column}")).collect();
    let random = &mut stream(SEED, &[number]);
    file(&names.join(","), (0..DRAWN).map(|_| row(random).join(",")))
}

/// Distinct numbers of as many from the least one on.
fn distinct(random: &mut Random, least: usize, of: usize, count: usize) -> Vec<String> {
    let chosen = index::sample(random, of, count).into_iter();
    chosen.map(|number| (least + number).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn rows(name: &str) -> Vec<String> {
        let files = files("0.1".parse().unwrap());
        files[name].lines().skip(1).map(str::to_string).collect()
    }

    #[test]
    fn files_list_the_values_of_the_standard() {
        for (name, count, first, last) in [
            ("q01.csv", 61, "1998-08-03", "1998-10-02"),
            ("q03.csv", 31, "1995-03-01", "1995-03-31"),
            ("q10.csv", 24, "1993-02-01,1993-05-01", "1995-01-01,1995-04-01"),
            ("quarters.csv", 58, "1993-01-01,1993-04-01", "1997-10-01,1998-01-01"),
            ("months.csv", 60, "1993-01-01,1993-02-01", "1997-12-01,1998-01-01"),
            ("years.csv", 5, "1993-01-01,1994-01-01", "1997-01-01,1998-01-01"),
            ("discounts.csv", 8, "0.01,0.03", "0.08,0.10"),
            ("q11.csv", 1, "0.0010000000", "0.0010000000"),
            ("kinds.csv", 30, "STANDARD ANODIZED%", "PROMO BRUSHED%"),
            ("modes.csv", 42, "REG AIR,AIR", "FOB,MAIL"),
            ("words.csv", 16, "%special%packages%", "%express%deposits%"),
            ("colors.csv", 92, "almond%,%almond%", "yellow%,%yellow%"),
        ] {
            let rows = rows(name);
            assert_eq!(rows.len(), count, "{name}");
            assert_eq!((rows[0].as_str(), rows[count - 1].as_str()), (first, last), "{name}");
        }
    }

    #[test]
    fn drawn_rows_have_distinct_values_in_their_range() {
        for (name, range, columns) in [("sizes.csv", 1..=50, 8), ("codes.csv", 10..=34, 7)] {
            for row in rows(name) {
                let numbers: HashSet<u32> = row.split(',').map(|it| it.parse().unwrap()).collect();
                assert_eq!(numbers.len(), columns, "{row}");
                assert!(numbers.iter().all(|number| range.contains(number)), "{row}");
            }
        }
        assert_eq!(rows("sizes.csv"), rows("sizes.csv"), "each process has the same");
    }
}
