//! The expressions of PostgreSQL's own test of pgbench (`src/bin/pgbench/t/`,
//! `001_pgbench_with_server.pl`), as data, and what they leave open.

use std::collections::BTreeMap;

use super::*;

/// Variables, each with its text as `-D` sets it, and what `debug` showed.
struct Table {
    variables: BTreeMap<String, String>,
    draws: Draws,
    shown: Vec<String>,
}

impl Table {
    fn new(seed: u64, texts: &[(&str, &str)]) -> Table {
        let mut streams = Streams::new(seed);
        let draws = streams.client();
        let mut variables: BTreeMap<String, String> =
            texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        variables.insert("default_seed".to_string(), streams.default_seed().to_string());
        Table { variables, draws, shown: Vec::new() }
    }

    fn evaluate(&mut self, text: &str) -> Result<Scalar, String> {
        let expression = Expression::parse(text, START).map_err(|error| error.to_string())?;
        expression.evaluate(self).map_err(|error| error.to_string())
    }
}

impl EvaluationScope<String> for Table {
    fn variable(&self, name: &String) -> Result<Scalar, EvaluationError> {
        let text = self.variables.get(name);
        let text = text.ok_or_else(|| EvaluationError(format!("undefined variable \"{name}\"")))?;
        let malformed = || format!("malformed variable \"{name}\" value: \"{text}\"");
        Scalar::from_text(text).ok_or_else(|| EvaluationError(malformed()))
    }
}

impl FunctionScope for Table {
    fn draws(&mut self) -> &mut Draws {
        &mut self.draws
    }

    fn debug(&mut self, value: Scalar) {
        self.shown.push(match value {
            Scalar::Null => "null".to_string(),
            value => format!("{} {value}", value.type_name()),
        });
    }
}

const START: Position = Position { line: 1, column: 1 };

/// The number of a command in PostgreSQL's script, the variable that it sets, and what `debug`
/// shows, up to the end of a word. The commands between these are no `\set`, or check nothing that
/// these do not.
type Command = (u32, &'static str, &'static str, &'static str);

/// With these variables and the seed 5432.
const VARIABLES: [(&str, &str); 10] = [
    ("foo", "-10.1"),
    ("bla", "false"),
    ("i", "+3"),
    ("n", "null"),
    ("t", "t"),
    ("f", "of"),
    ("d", "1.0"),
    ("scale", "1"),
    ("client_id", "0"),
    ("random_seed", "5432"),
];

#[rustfmt::skip]
const COMMANDS: &[Command] = &[
    (1, "i1", "debug(random(10, 19))", "int 17"),
    (2, "i2", "debug(random_exponential(100, 199, 10.0))", "int 104"),
    (3, "i3", "debug(random_gaussian(1000, 1999, 10.0))", "int 1498"),
    (4, "i4", "debug(abs(-4))", "int 4"),
    (5, "i5", "debug(greatest(5, 4, 3, 2))", "int 5"),
    (6, "i6", "debug(11 + least(-5, -4, -3, -2))", "int 6"),
    (7, "i7", "debug(int(7.3))", "int 7"),
    (8, "i8", "debug(17 / (4|1) + ( 4 + (7 >> 2)))", "int 8"),
    (9, "i9", "debug(- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1)", "int 9"),
    (10, "ia", "debug(10 + (0 + 0 * 0 - 0 / 1))", "int 10"),
    (11, "ib", "debug(:ia + :scale)", "int 11"),
    (12, "ic", "debug(64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2))", "int 12"),
    (13, "d1", "debug(sqrt(+1.5 * 2.0) * abs(-0.8E1))", "double 13"),
    (14, "d2", "debug(double(1 + 1) * (-75.0 / :foo))", "double 14"),
    (15, "pi", "debug(pi() * 4.9)", "double 15"),
    (16, "d4", "debug(greatest(4, 2, -1.17) * 4.0 * Ln(Exp(1.0)))", "double 16"),
    (17, "d5", "debug(least(-5.18, .0E0, 1.0/0) * -3.3)", "double 17"),
    (18, "i1", "0", ""),
    (19, "d1", "false", ""),
    (20, "id", "debug(random_zipfian(1, 9, 1.3))", "int 3"),
    (21, "poweri", "debug(pow(-3,3))", "double -27"),
    (22, "powerd", "debug(pow(2.0,10))", "double 1024"),
    (23, "poweriz", "debug(pow(0,0))", "double 1"),
    (24, "powerdz", "debug(pow(0.0,0.0))", "double 1"),
    (25, "powernegi", "debug(pow(-2,-3))", "double -0.125"),
    (26, "powernegd", "debug(pow(-2.0,-3.0))", "double -0.125"),
    (27, "powernegd2", "debug(power(-5.0,-5.0))", "double -0.00032"),
    (28, "powerov", "debug(pow(9223372036854775807, 2))", "double 8.50705917302346e+37"),
    (29, "powerov2", "debug(pow(10,30))", "double 1e+30"),
    (30, "c0", "debug(1.0 = 0.0 and 1.0 != 0.0)", "boolean false"),
    (31, "c1", "debug(0 = 1 Or 1.0 = 1)", "boolean true"),
    (32, "c4", "debug(case when 0 < 1 then 32 else 0 end)", "int 32"),
    (33, "c5", "debug(case when true then 33 else 0 end)", "int 33"),
    (34, "c6", "debug(case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end )", "double 34"),
    (35, "c7", "debug(case when (1 > 0) and (1 >= 0) and (0 < 1) and (0 <= 1) and (0 != 1) and (0 = 0) and (0 <> 1) then 35 else 0 end)", "int 35"),
    (36, "c8", "debug(CASE \\\n WHEN (1.0 > 0.0) AND (1.0 >= 0.0) AND (0.0 < 1.0) AND (0.0 <= 1.0) AND \\\n (0.0 != 1.0) AND (0.0 = 0.0) AND (0.0 <> 1.0) AND (0.0 = 0.0) \\\n THEN 36 \\\n ELSE 0 \\\n END)", "int 36"),
    (37, "c9", "debug(CASE WHEN NOT FALSE THEN 3 * 12.3333334 END)", "double 37"),
    (38, "ca", "debug(case when false then 0 when 1-1 <> 0 then 1 else 38 end)", "int 38"),
    (39, "cb", "debug(10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19))", "int 39"),
    (40, "cc", "debug(NOT (0 > 1) AND (1 <= 1) AND NOT (0 >= 1) AND (0 < 1) AND \\\n NOT (false and true) AND (false OR TRUE) AND (NOT :f) AND (NOT FALSE) AND \\\n NOT (NOT TRUE))", "boolean true"),
    (41, "n0", "debug(NULL + NULL * exp(NULL))", "null"),
    (42, "n1", "debug(:n0)", "null"),
    (43, "n2", "debug(NOT (:n0 IS NOT NULL OR :d1 IS NULL))", "boolean true"),
    (44, "n3", "debug(:n0 IS NULL AND :d1 IS NOT NULL AND :d1 NOTNULL)", "boolean true"),
    (45, "n4", "debug(:n0 ISNULL AND NOT :n0 IS TRUE AND :n0 IS NOT FALSE)", "boolean true"),
    (46, "n5", "debug(CASE WHEN :n IS NULL THEN 46 ELSE NULL END)", "int 46"),
    (47, "n6", "debug(:n IS NULL AND NOT :f AND :t)", "boolean true"),
    (48, "cs", "debug(CASE WHEN 1 THEN TRUE END AND CASE WHEN 1.0 THEN TRUE END AND CASE WHEN :n THEN NULL ELSE TRUE END)", "boolean true"),
    (49, "h0", "debug(hash(10, 5432))", "int -5817877081768721676"),
    (50, "h1", "debug(:h0 = hash_murmur2(10, 5432))", "boolean true"),
    (51, "h3", "debug(hash_fnv1a(10, 5432))", "int -7793829335365542153"),
    (52, "h4", "debug(hash(10))", "int"),
    (53, "h5", "debug(hash(10) = hash(10, :default_seed))", "boolean true"),
    (54, "zy", "0", ""),
    (55, "yz", "debug(case when :zy = 0 then -1 else (1 / :zy) end)", "int -1"),
    (56, "yz", "debug(case when :zy = 0 or (1 / :zy) < 0 then -1 else (1 / :zy) end)", "int -1"),
    (57, "yz", "debug(case when :zy > 0 and (1 / :zy) < 0 then (1 / :zy) else 1 end)", "int 1"),
    (58, "v0", "NULL", ""),
    (59, "v1", "TRUE", ""),
    (60, "v2", "5432", ""),
    (61, "v3", "-54.21E-2", ""),
    (96, "sc", "debug(:scale)", "int 1"),
    (97, "ci", "debug(:client_id)", "int 0"),
    (98, "rs", "debug(:random_seed)", "int 5432"),
    (99, "min", "debug(-9223372036854775808)", "int -9223372036854775808"),
    (100, "max", "debug(-(:min + 1))", "int 9223372036854775807"),
    (101, "t", "debug(permute(0, 2) + permute(1, 2) = 1)", "boolean true"),
    (102, "t", "debug(permute(0, 3) + permute(1, 3) + permute(2, 3) = 3)", "boolean true"),
    (103, "t", "debug(permute(0, 4) + permute(1, 4) + permute(2, 4) + permute(3, 4) = 6)", "boolean true"),
    (104, "t", "debug(permute(0, 5) + permute(1, 5) + permute(2, 5) + permute(3, 5) + permute(4, 5) = 10)", "boolean true"),
    (105, "t", "debug(permute(0, 16) + permute(1, 16) + permute(2, 16) + permute(3, 16) + \\\n permute(4, 16) + permute(5, 16) + permute(6, 16) + permute(7, 16) + \\\n permute(8, 16) + permute(9, 16) + permute(10, 16) + permute(11, 16) + \\\n permute(12, 16) + permute(13, 16) + permute(14, 16) + permute(15, 16) = 120)", "boolean true"),
    (106, "size", "random(2, 1000)", ""),
    (107, "v", "random(0, :size - 1)", ""),
    (108, "p", "permute(:v, :size)", ""),
    (109, "t", "debug(0 <= :p and :p < :size and :p = permute(:v + :size, :size) and :p <> permute(:v + 1, :size))", "boolean true"),
    (110, "t", "debug(permute(:v, 1) = 0)", "boolean true"),
    (111, "t", "debug(permute(0, 2, 5431) = 0 and permute(1, 2, 5431) = 1 and \\\n permute(0, 2, 5433) = 1 and permute(1, 2, 5433) = 0)", "boolean true"),
    (112, "size", "debug(:max - 10)", "int 9223372036854775797"),
    (113, "t", "debug(permute(:size-1, :size, 5432) = 520382784483822430 and \\\n permute(:size-2, :size, 5432) = 1143715004660802862 and \\\n permute(:size-3, :size, 5432) = 447293596416496998 and \\\n permute(:size-4, :size, 5432) = 916527772266572956 and \\\n permute(:size-5, :size, 5432) = 2763809008686028849 and \\\n permute(:size-6, :size, 5432) = 8648551549198294572 and \\\n permute(:size-7, :size, 5432) = 4542876852200565125)", "boolean true"),
];

#[test]
fn expressions_have_the_values_of_pgbench() {
    let mut table = Table::new(5432, &VARIABLES);
    let mut checked = 0;
    for (number, variable, text, expected) in COMMANDS {
        let value = table.evaluate(text).unwrap_or_else(|error| panic!("{number}: {error}"));
        table.variables.insert(variable.to_string(), value.to_string());
        let shown = table.shown.pop().unwrap_or_default();
        let rest = shown.strip_prefix(expected);
        let is_whole = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
        assert!(is_whole, "command {number}, '{text}': '{shown}', not '{expected}'");
        checked += usize::from(!expected.is_empty());
    }
    // 63 of the 69 that PostgreSQL checks, whose other six depend on \if, and six more of which it
    // only shows the values.
    assert_eq!(checked, 69);
}

/// The names of the cases there, their expressions, a part of what pgbench says, and whether it
/// says so before it runs the script.
#[rustfmt::skip]
const ERRORS: &[(&str, &str, &str, bool)] = &[
    ("set syntax error", "1 +", "the end where", true),
    ("set no such function", "noSuchFunction()", "unexpected function name", true),
    ("set division by zero", "1/0", "division by zero", false),
    ("set undefined variable", ":nosuchvariable", "undefined variable \"nosuchvariable\"", false),
    ("set unexpected char", ";", "unexpected character ';'", true),
    ("set too many args", "least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)", "too many function arguments", false),
    ("set empty random range", "random(5,3)", "empty range given to random", false),
    ("set random range too large", "random(:minint, :maxint)", "random range is too large", false),
    ("set gaussian param too small", "random_gaussian(0, 10, 1.0)", "gaussian parameter must be at least 2", false),
    ("set exponential param greater 0", "random_exponential(0, 10, 0.0)", "exponential parameter must be greater ", false),
    ("set zipfian param to 1", "random_zipfian(0, 10, 1)", "zipfian parameter must be in range [1.001, 1000]", false),
    ("set zipfian param too large", "random_zipfian(0, 10, 1000000)", "zipfian parameter must be in range [1.001, 1000]", false),
    ("set non numeric value", ":foo + 1", "malformed variable \"foo\" value: \"bla\"", false),
    ("set no expression", "", "the end where", true),
    ("set not a bool", "NOT 0.0", "cannot coerce double to boolean", false),
    ("set not an int", "TRUE + 2", "cannot coerce boolean to int", false),
    ("set not a double", "ln(TRUE)", "cannot coerce boolean to double", false),
    ("set case error", "CASE TRUE THEN 1 ELSE 0 END", "'TRUE' where WHEN was expected", true),
    ("set random error", "random(FALSE, TRUE)", "cannot coerce boolean to int", false),
    ("set number of args mismatch", "ln(1.0, 2.0))", "unexpected number of arguments", true),
    ("set at least one arg", "greatest())", "at least one argument expected", true),
    ("set double to int overflow", "int(1E32)", "double to int overflow for 100", false),
    ("set bigint add overflow", "(1<<62) + (1<<62)", "int add out", false),
    ("set bigint sub overflow", "0 - (1<<62) - (1<<62) - (1<<62)", "int sub out", false),
    ("set bigint mul overflow", "2 * (1<<62)", "int mul out", false),
    ("set bigint div out of range", ":minint / -1", "bigint div out of range", false),
    ("bad boolean", ":badtrue or true", "malformed variable \"badtrue\" value: \"trueish\"", false),
    ("invalid permute size", "permute(0, 0)", "permute size parameter must be greater than zero", false),
];

#[test]
fn errors_are_those_of_pgbench_and_come_as_early() {
    let variables = [
        ("foo", "bla"),
        ("badtrue", "trueish"),
        ("maxint", "9223372036854775807"),
        ("minint", "-9223372036854775808"),
    ];
    for (name, text, expected, is_early) in ERRORS {
        let mut table = Table::new(1, &variables);
        let error = table.evaluate(text).unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!(Expression::parse(text, START).is_err(), *is_early, "{name}");
    }
    assert_eq!(ERRORS.len(), 28);
}

#[test]
fn a_syntax_error_names_its_place_and_what_was_expected() {
    let at = Position { line: 7, column: 20 };
    #[rustfmt::skip]
    let texts = [
        ("1 +", "line 7, column 23: the end where a number, a variable, a function, '(', NOT or CASE was expected"),
        ("(1", "line 7, column 22: the end where an operator or ')' was expected"),
        ("1 2", "line 7, column 22: 2 where an operator or the end was expected"),
("a IS 5", "line 7, column 20: 'a' where a number, a variable, a function, '(', NOT or CASE was expected. Write :a for a variable"),
        ("1 IS 5", "line 7, column 25: 5 where NOT, NULL, TRUE or FALSE was expected"),
        ("1 IS NOT 5", "line 7, column 29: 5 where NULL, TRUE or FALSE was expected"),
        ("radom(1, 2)", "line 7, column 20: unexpected function name 'radom': did you mean 'random'?"),
        ("abs 1", "line 7, column 24: 1 where '(' after abs was expected"),
        ("random(1 2)", "line 7, column 29: 2 where an operator, ',' or ')' was expected"),
        ("random(1)", "line 7, column 20: unexpected number of arguments (random): 1, not 2"),
        ("permute(1)", "line 7, column 20: unexpected number of arguments (permute): 1, not 2 or 3"),
        ("CASE WHEN 1 ELSE 2 END", "line 7, column 32: 'ELSE' where an operator or THEN was expected"),
        ("CASE WHEN 1 THEN 2", "line 7, column 38: the end where an operator, WHEN, ELSE or END was expected"),
        ("9223372036854775808", "line 7, column 20: 9223372036854775808, which exceeds 64 bits, where"),
        ("1 + 99999999999999999999", "line 7, column 24: '99999999999999999999' exceeds 64 bits"),
        ("1e999", "line 7, column 20: '1e999' exceeds the range of double"),
        ("1 < 2 < 3", "line 7, column 26: '<' where the end of the comparison, since comparisons do not chain"),
        ("1 +\\\n  (2 ?", "line 8, column 6: unexpected character '?'"),
        ("1 +\n2", "line 7, column 23: the expression ends with the line"),
        ("'ö' + 1", "line 7, column 20: unexpected character '\\''"),
        ("1 + :ö :x", "line 7, column 27: ':x' where an operator or the end was expected"),
    ];
    for (text, expected) in texts {
        let error = Expression::parse(text, at).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn operators_bind_as_in_pgbench() {
    let mut table = Table::new(1, &[]);
    for (text, value) in [
        ("7/2", Scalar::Int(3)),
        ("-7/2", Scalar::Int(-3)),
        ("-7 % 2", Scalar::Int(-1)),
        ("7.5 % 2", Scalar::Int(0)),
        ("2 + 3 * 4", Scalar::Int(14)),
        ("10 - 4 - 3", Scalar::Int(3)),
        ("1 | 2 + 4", Scalar::Int(7)),
        ("1 << 2 | 1", Scalar::Int(5)),
        ("1 | 1 << 2", Scalar::Int(4)),
        ("~ 1 + 2", Scalar::Int(!3)),
        ("~ 1 | 4", Scalar::Int(!1 | 4)),
        ("- 2 + 3", Scalar::Int(1)),
        ("1 = 1 is true", Scalar::Boolean(true)),
        ("not 1 = 2 and false", Scalar::Boolean(false)),
        ("not 1 is null", Scalar::Boolean(true)),
        ("true or false and false", Scalar::Boolean(true)),
        ("1 is null is not null", Scalar::Boolean(true)),
        ("null and 1/0 = 1", Scalar::Null),
        ("false and 1/0 = 1", Scalar::Boolean(false)),
        ("true or 1/0 = 1", Scalar::Boolean(true)),
        ("null or true", Scalar::Null),
        ("case when null then 1 end", Scalar::Null),
        ("least(1, null)", Scalar::Null),
        ("int(2.5) + int(3.5)", Scalar::Int(6)),
        ("1 << 63", Scalar::Int(i64::MIN)),
        ("9223372036854775807 - 1 + 1", Scalar::Int(i64::MAX)),
    ] {
        assert_eq!(table.evaluate(text), Ok(value), "{text}");
    }
    for text in ["1 << 64", "1 >> -1", "abs(-9223372036854775808)", "- -9223372036854775808"] {
        assert!(table.evaluate(text).is_err(), "{text}");
    }
}

/// What pgbench 15.18 shows with `--random-seed=42 -D x=yes` and two clients, for each of them.
#[rustfmt::skip]
const SHOWN: &[(&str, [&str; 2])] = &[
    (":default_seed", ["int 4482733528210176216"; 2]),
    ("random(1, 1000000)", ["int 668251", "int 844242"]),
    ("random_gaussian(1, 1000000, 3)", ["int 730017", "int 583023"]),
    ("random_exponential(1, 1000000, 3)", ["int 19100", "int 104831"]),
    ("random_zipfian(1, 1000000, 1.1)", ["int 201494", "int 1"]),
    ("hash(10)", ["int -747166275825042045"; 2]),
    ("permute(5, 1000)", ["int 479"; 2]),
    (":x", ["boolean true"; 2]),
    ("random(1, 9) > random(1, 9) or random(1,3) >= random(1,3)", ["boolean true"; 2]),
    ("random(-5000000000, 5000000000)", ["int -3302100110", "int 1019988186"]),
    ("7.5 % 2", ["int 0"; 2]),
    ("- 2.5 / 0", ["double -Infinity"; 2]),
    ("1 | 2 + 4 * ~ 1", ["int -5"; 2]),
    ("int(2.5) + int(-3.5)", ["int -2"; 2]),
    ("1e15 + 0.3", ["double 1e+15"; 2]),
    ("not 1 is null", ["boolean true"; 2]),
];

#[test]
fn each_client_has_the_stream_of_pgbench() {
    let mut streams = Streams::new(42);
    let clients = [streams.client(), streams.client()];
    let default_seed = streams.default_seed().to_string();
    for (client, draws) in clients.into_iter().enumerate() {
        let variables = [("x", "yes"), ("default_seed", &default_seed)];
        let variables = variables.map(|(name, text)| (name.to_string(), text.to_string())).into();
        let mut table = Table { variables, draws, shown: Vec::new() };
        for (text, expected) in SHOWN {
            table.evaluate(&format!("debug({text})")).unwrap();
            assert_eq!(table.shown.pop().unwrap(), expected[client], "client {client}: {text}");
        }
    }
}

#[test]
fn the_sides_of_a_comparison_draw_in_the_order_of_pgbench() {
    let sides = |text: &str| {
        let mut table = Table::new(3, &[]);
        table.evaluate(text).unwrap();
        table.shown
    };
    let less = sides("debug(random(1, 1000)) < debug(random(1, 1000) + 1000)");
    let greater = sides("debug(random(1, 1000) + 1000) > debug(random(1, 1000))");
    assert_eq!(less, greater, "the right side of > is the first");
}

#[test]
fn distributions_keep_within_their_range_and_reach_its_ends() {
    for (text, low, high) in [
        ("random(-2, 2)", -2, 2),
        ("random_gaussian(1, 5, 2.0)", 1, 5),
        ("random_exponential(1, 3, 0.5)", 1, 3),
        ("random_zipfian(1, 3, 1.001)", 1, 3),
        ("random_zipfian(7, 7, 2)", 7, 7),
    ] {
        let mut table = Table::new(11, &[]);
        let expression = Expression::parse(text, START).unwrap();
        let mut drawn: Vec<i64> = (0..2000)
            .map(|_| match expression.evaluate(&mut table).unwrap() {
                Scalar::Int(value) => value,
                other => panic!("{text}: {other:?}"),
            })
            .collect();
        drawn.sort_unstable();
        assert_eq!((drawn[0], drawn[1999]), (low, high), "{text}");
    }
}

#[test]
fn a_permutation_has_each_number_once() {
    for size in [1, 2, 3, 7, 100, 1000] {
        for seed in [0, 5432] {
            let mut places: Vec<i64> =
                (0..size).map(|value| random::permuted(value, size, seed)).collect();
            places.sort_unstable();
            assert_eq!(places, Vec::from_iter(0..size));
        }
    }
}

#[test]
fn an_expression_that_is_too_deep_is_refused() {
    for text in ["(".repeat(100_000), "-".repeat(100_000), format!("1{}", "+1".repeat(100_000))] {
        let error = Expression::parse(&text, START).unwrap_err().to_string();
        assert!(error.contains("at most 500 operands"), "{error}");
    }
}

#[test]
fn the_variables_of_an_expression_are_known_before_it_is_evaluated() {
    let text = "case when :a and :b then hash(:c) else - :d end";
    let expression = Expression::parse(text, START).unwrap();
    assert_eq!(expression.variables(), ["a", "b", "c", "default_seed", "d"]);
}
