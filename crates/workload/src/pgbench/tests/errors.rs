//! Scripts that are refused when they are read. Those of PostgreSQL's own test of pgbench
//! (`src/bin/pgbench/t/002_pgbench_no_server.pl`, and those of `001_pgbench_with_server.pl` that
//! exit with 1) are here by their names there.

use crate::pgbench::Script;

/// Name, script, and what is said of it, with its place.
#[rustfmt::skip]
const REFUSED: &[(&str, &str, &str)] = &[
    // 002_pgbench_no_server.pl
    ("missing endif", "\\if 1", "s.sql:1:1: \\if without matching \\endif"),
    ("missing if on elif", "\\elif 1", "s.sql:1:1: \\elif without matching \\if"),
    ("missing if on else", "\\else", "s.sql:1:1: \\else without matching \\if"),
    ("missing if on endif", "\\endif", "s.sql:1:1: \\endif without matching \\if"),
    ("elif after else", "\\if 1\n\\else\n\\elif 0\n\\endif", "s.sql:3:1: \\elif after \\else"),
    ("else after else", "\\if 1\n\\else\n\\else\n\\endif", "s.sql:3:1: \\else after \\else"),
    ("if syntax error", "\\if\n\\endif\n", "s.sql:1:4: syntax error: the end where a number, a variable, a function, '(', NOT or CASE was expected, in \\if"),
    ("elif syntax error", "\\if 0\n\\elif +\n\\endif\n", "s.sql:2:8: syntax error: the end where"),
    ("else syntax error", "\\if 0\n\\else BAD\n\\endif\n", "s.sql:2:7: unexpected argument 'BAD': it takes none, in \\else"),
    ("endif syntax error", "\\if 0\n\\endif BAD\n", "s.sql:2:8: unexpected argument 'BAD': it takes none, in \\endif"),
    ("not enough arguments for least", "\\set i least()\n", "s.sql:1:8: syntax error: at least one argument expected (least)"),
    ("not enough arguments for greatest", "\\set i greatest()\n", "s.sql:1:8: syntax error: at least one argument expected (greatest)"),
    ("not enough arguments for hash", "\\set i hash()\n", "s.sql:1:8: syntax error: unexpected number of arguments (hash): 0, not 1 or 2"),
    ("too many arguments for hash", "\\set i hash(1,2,3)\n", "s.sql:1:8: syntax error: unexpected number of arguments (hash): 3, not 1 or 2"),
    ("bigint overflow 1", "\\set i 100000000000000000000\n", "s.sql:1:8: syntax error: '100000000000000000000' exceeds 64 bits"),
    ("double overflow 2", "\\set d 1.0E309\n", "s.sql:1:8: syntax error: '1.0E309' exceeds the range of double"),
    ("double overflow 3", "\\set d .1E310\n", "s.sql:1:8: syntax error: '.1E310' exceeds the range of double"),
    ("set i", "\\set i 1 +\n", "s.sql:1:11: syntax error: the end where"),
    ("not enough arguments to permute", "\\set i permute(1)\n", "s.sql:1:8: syntax error: unexpected number of arguments (permute): 1, not 2 or 3"),
    ("too many arguments to permute", "\\set i permute(1, 2, 3, 4)\n", "s.sql:1:8: syntax error: unexpected number of arguments (permute): 4, not 2 or 3"),
    // 001_pgbench_with_server.pl
    ("shell missing command", "\\shell", "s.sql:1:7: missing argument: a command was expected, in \\shell"),
    ("set syntax error", "\\set i 1 +", "s.sql:1:11: syntax error: the end where"),
    ("set no such function", "\\set i noSuchFunction()", "s.sql:1:8: syntax error: unexpected function name 'noSuchFunction'"),
    ("set invalid variable name", "\\set . 1", "s.sql:1:6: invalid variable name '.'"),
    ("set unexpected char", "\\set i ;", "s.sql:1:8: syntax error: unexpected character ';'"),
    ("set no expression", "\\set i", "s.sql:1:7: syntax error: the end where"),
    ("set missing argument", "\\set", "s.sql:1:5: missing argument: a variable was expected, in \\set"),
    ("set case error", "\\set i CASE TRUE THEN 1 ELSE 0 END", "s.sql:1:13: syntax error: 'TRUE' where WHEN was expected"),
    ("set number of args mismatch", "\\set d ln(1.0, 2.0))", "s.sql:1:8: syntax error: unexpected number of arguments (ln): 2, not 1"),
    ("set at least one arg", "\\set i greatest())", "s.sql:1:8: syntax error: at least one argument expected (greatest)"),
    ("setshell missing arg", "\\setshell var", "s.sql:1:14: missing argument: a variable and a command was expected, in \\setshell"),
    ("sleep too many args", "\\sleep too many args", "s.sql:1:17: too many arguments: 'args' follows the last one, in \\sleep"),
    ("sleep missing arg", "\\sleep", "s.sql:1:7: missing argument: a time, as in \\sleep 10 ms, was expected"),
    ("sleep unknown unit", "\\sleep 1 week", "s.sql:1:10: unrecognized time unit 'week': us, ms or s was expected"),
    ("misc invalid backslash command", "\\nosuchcommand", "s.sql:1:2: invalid command \\nosuchcommand"),
    ("misc empty script", "", "s.sql: empty command list"),
    ("gset alone", "\\gset", "s.sql:1:1: \\gset must follow an SQL command"),
    ("gset no SQL", "\\set i +1\n\\gset", "s.sql:2:1: \\gset must follow an SQL command"),
    ("gset too many arguments", "SELECT 1 \\gset a b", "s.sql:1:18: too many arguments: 'b' follows the last one, in \\gset"),
    ("gset after gset", "SELECT 1 AS i \\gset\n\\gset", "s.sql:2:1: \\gset must follow an SQL command"),
    // Ours.
    ("only comments", "-- nothing\n\n", "s.sql: empty command list"),
    ("a literal without an end", "select 1;\nselect 'a\n;", "s.sql:2:1: the literal that begins here does not end"),
    ("a zero", "select 1;\nselect '\0';", "s.sql:2:9: a script cannot have the character of code 0"),
    ("a name that is nearly known", "\\sett i 1", "s.sql:1:2: invalid command \\sett: did you mean 'set'?"),
    ("a place in a continued command", "\\set i 1 + \\\n  2 + \\\n  ;", "s.sql:3:3: syntax error: unexpected character ';'"),
    ("a time that is none", "\\sleep 1x2", "s.sql:1:8: unrecognized time unit 'x2'"),
    ("a time without digits", "\\sleep x", "s.sql:1:8: invalid sleep time 'x': an integer was expected"),
    ("a time with two units", "\\sleep 1ms s", "s.sql:1:8: invalid sleep time '1ms': it has two units"),
];

#[test]
fn what_is_wrong_with_a_script_is_said_with_its_place() {
    for (name, text, expected) in REFUSED {
        let error = Script::parse("s.sql", text).expect_err(name).to_string();
        assert!(error.starts_with(expected), "{name}: {error}");
    }
    println!("002_pgbench_no_server.pl, scripts: 20 of 20 pass");
}

#[test]
fn a_command_has_as_many_words_as_in_pgbench() {
    let words = |count: usize| format!("\\shell echo {}", vec!["arg"; count].join(" "));
    assert!(Script::parse("s.sql", &words(254)).is_ok());
    let error = Script::parse("s.sql", &words(255)).unwrap_err().to_string();
    assert!(error.contains("too many arguments, maximum is 255, in \\shell"), "{error}");
}
