//! The scripts with errors of `001_pgbench_with_server.pl`: those that end before the run, and
//! those that a client meets in it.

use super::Logged;

/// Variables of all cases.
const DEFINES: &str = "-n -t 1 -Dfoo=bla -Dnull=null -Dtrue=true -Done=1 -Dzero=0.0 \
                       -Dbadtrue=trueXXX -Dmaxint=9223372036854775807 \
                       -Dminint=-9223372036854775808 -M prepared";

/// Name there, exit code, what is said, and the script.
type Case = (&'static str, i32, &'static str, &'static str);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("sql syntax error", 2, "syntax error at or near \";\"", "SELECT 1 + ;\n"),
    ("shell missing command", 1, "missing argument: a command was expected", "\\shell"),
    ("set syntax error", 1, "syntax error: the end where", "\\set i 1 +"),
    ("set no such function", 1, "unexpected function name 'noSuchFunction'", "\\set i noSuchFunction()"),
    ("set division by zero", 2, "division by zero", "\\set i 1/0"),
    ("set undefined variable", 2, "undefined variable 'nosuchvariable'", "\\set i :nosuchvariable"),
    ("set unexpected char", 1, "unexpected character ';'", "\\set i ;"),
    ("set too many args", 2, "too many function arguments", "\\set i least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)"),
    ("set empty random range", 2, "empty range given to random", "\\set i random(5,3)"),
    ("set random range too large", 2, "random range is too large", "\\set i random(:minint, :maxint)"),
    ("set gaussian param too small", 2, "gaussian parameter must be at least 2", "\\set i random_gaussian(0, 10, 1.0)"),
    ("set exponential param greater 0", 2, "exponential parameter must be greater", "\\set i random_exponential(0, 10, 0.0)"),
    ("set zipfian param to 1", 2, "zipfian parameter must be in range [1.001, 1000]", "\\set i random_zipfian(0, 10, 1)"),
    ("set zipfian param too large", 2, "zipfian parameter must be in range [1.001, 1000]", "\\set i random_zipfian(0, 10, 1000000)"),
    ("set non numeric value", 2, "malformed variable 'foo' value: 'bla'", "\\set i :foo + 1"),
    ("set no expression", 1, "syntax error: the end where", "\\set i"),
    ("set missing argument", 1, "missing argument", "\\set"),
    ("set not a bool", 2, "cannot coerce double to boolean", "\\set b NOT 0.0"),
    ("set not an int", 2, "cannot coerce boolean to int", "\\set i TRUE + 2"),
    ("set not a double", 2, "cannot coerce boolean to double", "\\set d ln(TRUE)"),
    ("set case error", 1, "syntax error: 'TRUE' where WHEN was expected", "\\set i CASE TRUE THEN 1 ELSE 0 END"),
    ("set random error", 2, "cannot coerce boolean to int", "\\set b random(FALSE, TRUE)"),
    ("set number of args mismatch", 1, "unexpected number of arguments", "\\set d ln(1.0, 2.0))"),
    ("set at least one arg", 1, "at least one argument expected", "\\set i greatest())"),
    ("set double to int overflow", 2, "double to int overflow for 100", "\\set i int(1E32)"),
    ("set bigint add overflow", 2, "int add out", "\\set i (1<<62) + (1<<62)"),
    ("set bigint sub overflow", 2, "int sub out", "\\set i 0 - (1<<62) - (1<<62) - (1<<62)"),
    ("set bigint mul overflow", 2, "int mul out", "\\set i 2 * (1<<62)"),
    ("set bigint div out of range", 2, "bigint div out of range", "\\set i :minint / -1"),
    ("setshell missing arg", 1, "missing argument", "\\setshell var"),
    ("sleep undefined variable", 2, "sleep: undefined variable", "\\sleep :nosuchvariable"),
    ("sleep too many args", 1, "too many arguments", "\\sleep too many args"),
    ("sleep missing arg", 1, "missing argument", "\\sleep"),
    ("sleep unknown unit", 1, "unrecognized time unit", "\\sleep 1 week"),
    ("misc invalid backslash command", 1, "invalid command \\nosuchcommand", "\\nosuchcommand"),
    ("misc empty script", 1, "empty command list", ""),
    ("bad boolean", 2, "malformed variable 'badtrue' value: 'trueXXX'", "\\set b :badtrue or true"),
    ("invalid permute size", 2, "permute size parameter must be greater than zero", "\\set i permute(0, 0)"),
    ("gset no row", 2, "expected one row, got 0", "SELECT WHERE FALSE \\gset"),
    ("gset alone", 1, "gset must follow an SQL command", "\\gset"),
    ("gset no SQL", 1, "gset must follow an SQL command", "\\set i +1\n\\gset"),
    ("gset too many arguments", 1, "too many arguments", "SELECT 1 \\gset a b"),
    ("gset after gset", 1, "gset must follow an SQL command", "SELECT 1 AS i \\gset\n\\gset"),
    ("gset non SELECT", 2, "expected one row, got 0", "DROP TABLE IF EXISTS no_such_table \\gset"),
    ("gset bad default name", 2, "error storing into variable '?column?'", "SELECT 1 \\gset"),
    ("gset bad name", 2, "error storing into variable 'bad name!'", "SELECT 1 AS \"bad name!\" \\gset"),
];

/// With `--allow-shell`.
#[rustfmt::skip]
const SHELL: &[Case] = &[
    ("shell bad command", 2, "(shell) command failed", "\\shell no-such-command"),
    ("shell undefined variable", 2, "undefined variable 'nosuchvariable'", "\\shell echo ::foo :nosuchvariable\n"),
    ("setshell not an int", 2, "command must return an integer", "\\setshell i echo -n one"),
    ("setshell no such command", 2, "could not read result", "\\setshell var no-such-command"),
];

/// pgbench meets this in the run, and rqps when it reads the script.
const EARLIER: Case = ("set invalid variable name", 1, "invalid variable name", "\\set . 1");

/// All cases; returns how many.
pub(super) fn check(server: &Logged) -> usize {
    let arguments = |count: usize| vec![":i"; count].join(", ");
    let many = format!("\\set i 0\nSELECT LEAST({})", arguments(256));
    let words = format!("\\shell echo {}", vec!["arg"; 255].join(" "));
    let made = [
        ("sql too many args", 1, "statement has too many arguments: 256, maximum is 255", &*many),
        ("shell too many args", 1, "too many arguments, maximum is 255, in \\shell", &*words),
    ];
    let plain = CASES.iter().chain([&EARLIER]).map(|case| (case, ""));
    let allowed = SHELL.iter().map(|case| (case, " --allow-shell"));
    let mut count = 0;
    for ((name, code, expected, script), more) in
        plain.chain(allowed).map(|(case, more)| (*case, more)).chain(made.map(|it| (it, "")))
    {
        let ended = server.pgbench(&format!("{DEFINES}{more}"), &[("error.sql", script)]);
        assert_eq!(ended.status.code(), Some(code), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{name}: {}", ended.stderr);
        match code {
            1 => assert_eq!(ended.stdout, "", "{name}"),
            _ => assert!(ended.stdout.contains("processed: 0/1"), "{name}: {}", ended.stdout),
        }
        count += 1;
    }
    count
}
