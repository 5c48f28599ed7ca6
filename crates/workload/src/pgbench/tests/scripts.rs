//! What a script consists of, and what can be said of it before it is run.

use rqps_plan::QueryMode;

use crate::pgbench::{
    BUILTINS, BuiltinScript, CommandKind, Defines, Script, ScriptSettings, define,
};

fn script(text: &str) -> Script {
    Script::parse("s.sql", text).unwrap()
}

/// What is sent of each statement.
fn sent(text: &str) -> Vec<String> {
    let script = script(text);
    let query = |kind: &CommandKind| match kind {
        CommandKind::Sql(query) => Some(query.text.clone()),
        _ => None,
    };
    script.commands.iter().filter_map(|command| query(&command.kind)).collect()
}

#[test]
fn statements_are_sent_as_they_stand_and_end_where_they_do() {
    for (text, expected) in [
        ("select 1;select 2;", &["select 1;", "select 2;"][..]),
        ("  -- before\n  select 1 -- within\n  , 2;\n-- after\n", &["select 1 -- within\n  , 2;"]),
        ("/* kept */ select 1", &["/* kept */ select 1"]),
        ("select ';', \"a;b\", $$;$$, E'\\';';", &["select ';', \"a;b\", $$;$$, E'\\';';"]),
        (
            "create rule r as on insert to t do (select 1; select 2);",
            &["create rule r as on insert to t do (select 1; select 2);"],
        ),
        (
            "create function f() returns int language sql begin atomic select 1; end; select 2;",
            &[
                "create function f() returns int language sql begin atomic select 1; end;",
                "select 2;",
            ],
        ),
        ("\\; \\; select 0 \\; select 5 \\; \\gset\n", &["; ; select 0 ; select 5 ; "]),
        ("select 1\n\\set i 1\nselect 2", &["select 1\n", "select 2"]),
        ("select 1 \\gset x_\nselect 2", &["select 1 ", "select 2"]),
    ] {
        assert_eq!(sent(text), expected, "{text}");
    }
}

#[test]
fn commands_are_numbered_as_in_pgbench() {
    let script =
        script("select 1 as i \\gset\n\\set j :i + \\\n 1\n\\if :j > 1\nselect 2;\n\\endif\n");
    let lines: Vec<(u32, &str)> =
        script.commands.iter().map(|it| (it.line, it.first_line.as_str())).collect();
    let expected = [
        (1, "select 1 as i "),
        (2, "\\set j :i + \\"),
        (4, "\\if :j > 1"),
        (5, "select 2;"),
        (6, "\\endif"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_builtin_script_is_found_by_its_beginning() {
    let found = |prefix| BuiltinScript::find(prefix).map(|script| script.name);
    assert_eq!(found("tpcb-like"), Ok("tpcb-like"));
    assert_eq!(
        (found("t"), found("si"), found("se")),
        (Ok("tpcb-like"), Ok("simple-update"), Ok("select-only"))
    );
    assert!(found("s").unwrap_err().contains("ambiguous"), "{:?}", found("s"));
    assert!(found("no-such-builtin").unwrap_err().contains("no builtin script"));
    for builtin in &BUILTINS {
        let script = Script::parse(builtin.about, builtin.text).unwrap();
        assert_eq!(script.only_reads(), builtin.name == "select-only");
        assert!(script.sleeps().is_none() && script.needs_postgres().is_none());
    }
}

/// What is said of a script before it is run.
fn checked(text: &str, mode: QueryMode, defines: &[&str]) -> Result<(), String> {
    let mut given = Defines::new();
    defines.iter().try_for_each(|text| define(&mut given, text))?;
    let settings = ScriptSettings {
        scripts: vec![(script(text), 1)],
        mode,
        defines: given,
        is_lenient: false,
        scale: 1,
        seed: 1,
    };
    settings.check().map_err(|error| error.to_string())
}

#[test]
fn a_parameter_without_a_value_is_refused_before_the_run() {
    use QueryMode::{Prepared, Simple};
    let undefined = "s.sql:1:1: undefined variable 'x', which pgbench sends as NULL. Give it a value \
                     with -D x=…, or use --pgbench-undefined";
    assert_eq!(checked("select :x;", Prepared, &[]), Err(undefined.to_string()));
    assert_eq!(checked("select :x;", Simple, &[]), Ok(()));
    assert_eq!(checked("select :x;", Prepared, &["x=1"]), Ok(()));
    for known in [
        "\\set x 1\nselect :x;",
        "select 1 as x \\gset\nselect :x;",
        "select 1 as a \\aset\nselect :x;",
        "select :scale + :client_id + :random_seed + :default_seed, 1::int;",
    ] {
        assert_eq!(checked(known, Prepared, &[]), Ok(()), "{known}");
    }
    let elsewhere = checked("select 1 as x \\gset y_\nselect :x;", Prepared, &[]);
    assert!(elsewhere.unwrap_err().contains("undefined variable 'x'"));
}

#[test]
fn a_colon_in_a_literal_is_refused_where_it_would_become_a_parameter() {
    use QueryMode::{Extended, Simple};
    let text = "select to_char(now(), 'HH24:MI');";
    let error = checked(text, Extended, &["MI=1"]).unwrap_err();
    let expected = "s.sql:1:1: ':MI' in the literal 'HH24:MI' would become a parameter. Write the \
                    colon as chr(58)";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(checked(text, Simple, &[]), Ok(()));
    let comment = checked("select 1 -- :MI\n;", Extended, &["MI=1"]).unwrap_err();
    assert!(comment.contains("':MI' in a comment"), "{comment}");
}

#[test]
fn limits_and_forms_of_what_is_given() {
    let many = |count: usize| format!("select least({});", vec![":i"; count].join(", "));
    assert_eq!(checked(&many(255), QueryMode::Prepared, &["i=1"]), Ok(()));
    let error = checked(&many(256), QueryMode::Prepared, &["i=1"]).unwrap_err();
    assert!(error.contains("statement has too many arguments: 256, maximum is 255"), "{error}");
    for wrong in ["foobla", "=1", "a b=1"] {
        let error = checked("select 1;", QueryMode::Simple, &[wrong]).unwrap_err();
        assert!(error.starts_with(&format!("invalid variable definition '{wrong}'")), "{error}");
    }
    let error = checked("\\startpipeline\n\\endpipeline", QueryMode::Simple, &[]).unwrap_err();
    assert!(error.contains("a pipeline cannot be used with -M simple"), "{error}");
}
