//! What of a text is a statement and what is a placeholder, by DBMS.

use rqps_dbms::Dialect;

use crate::sql::placeholders::bind;
use crate::sql::statements::split;

/// The statements of a text by their lines with their placeholders, or the line of the error.
fn lines(text: &str, dialect: Dialect) -> String {
    let statements = match split(text, dialect.lexis) {
        Ok(statements) => statements,
        Err(error) => return format!("error {}", error.line),
    };
    let shown = statements.iter().map(|statement| {
        let mut shown = statement.line.to_string();
        for (placeholder, range) in &statement.placeholders {
            let written = &statement.text[range.clone()];
            shown += &format!(" {placeholder}");
            assert!(written.starts_with([':', '$', '?']), "{text}: {written}");
        }
        shown
    });
    shown.collect::<Vec<String>>().join("; ")
}

/// A text, and its statements on Postgres, MySQL and SQLite.
#[rustfmt::skip]
const TEXTS: &[(&str, [&str; 3])] = &[
    ("select 1", ["1"; 3]),
    ("select :id", ["1 :id"; 3]),
    ("select $1", ["1 $1"; 3]),
    ("select ?", ["1", "1 ?", "1 ?"]),
    ("select ':id'", ["1"; 3]),
    ("select 'it''s :id'", ["1"; 3]),
    (r"select 'a\' :id '", ["error 1", "1", "error 1"]),
    (r"select e'a\' :id '", ["1", "1", "error 1"]),
    ("select \"a :id\"", ["1"; 3]),
    (r#"select "a\" :id ""#, ["error 1", "1", "error 1"]),
    ("select `a :id`", ["1 :id", "1", "1"]),
    ("select [a :id] from t", ["error 1", "1 :id", "1"]),
    ("select -- :a\n :b", ["1 :b"; 3]),
    ("select 1 --:a", ["1", "1 :a", "1"]),
    ("select 1 # :a\n", ["1 :a", "1", "1 :a"]),
    ("select /* :a */ :b", ["1 :b"; 3]),
    ("select /* /* :a */ :b */ :c", ["1 :c", "1 :b :c", "1 :b :c"]),
    ("select /*! :a */", ["1", "1 :a", "1"]),
    ("select /*!50100 :a */ + :b", ["1 :b", "1 :a :b", "1 :b"]),
    ("select /*M!100100 :a */ + :b", ["1 :b", "1 :a :b", "1 :b"]),
    ("select $$ :a $$, :b", ["1 :b", "1 :a :b", "1 :a :b"]),
    ("select $x$ :a $$ $x$", ["1", "1 :a", "error 1"]),
    ("select a$1$, :b", ["1 :b"; 3]),
    ("select :a::int", ["1 :a"; 3]),
    ("select x::text", ["1"; 3]),
    ("select @a := 1, :b", ["1 :b", "1 :b", "error 1"]),
    ("select a ? b", ["1", "1 ?", "1 ?"]),
    ("select a ?| array[:b, :c]", ["1 :b :c", "1 ? :b :c", "1 ?"]),
    ("select a ?& :b", ["1 :b", "1 ? :b", "1 ? :b"]),
    ("select a[1:n]", ["error 1", "1 :n", "1"]),
    ("select a[1 : n]", ["1"; 3]),
    ("select a[1:2]", ["1"; 3]),
    ("select a[(:i)]", ["1 :i", "1 :i", "1"]),
    ("select a[:i]", ["error 1", "1 :i", "1"]),
    ("select array[array[:a], [:b]]", ["1 :a :b", "1 :a :b", "1"]),
    ("select 1; select :a", ["1; 1 :a"; 3]),
    ("select 1;\n\nselect\n:a", ["1; 3 :a"; 3]),
    (";;select 1;;", ["1"; 3]),
    ("", [""; 3]),
    ("-- only a comment", [""; 3]),
    ("select 'a", ["error 1"; 3]),
    ("select 1;\nselect 'a\n\n", ["error 2"; 3]),
    ("select 1 /* a", ["error 1"; 3]),
    ("/* a\n/* b */\n", ["error 1", "", ""]),
    ("select \"a", ["error 1"; 3]),
    ("select `a", ["1", "error 1", "error 1"]),
    ("select $a$ x", ["error 1", "1", "error 1"]),
    ("\nselect /*!1 a", ["error 2"; 3]),
    ("create function f() returns int begin atomic select case when true then 1 end; select 2; end; select :a",
        ["1; 1 :a", "1; 1; 1; 1 :a", "1; 1; 1; 1 :a"]),
    ("create or replace procedure f() begin atomic select 1; end; select :a", ["1; 1 :a", "1; 1; 1 :a", "1; 1; 1 :a"]),
    ("create trigger t after insert on a begin update a set b = case c when 1 then 2 end; delete from c; end; select :a",
        ["1; 1; 1; 1 :a", "1; 1; 1; 1 :a", "1; 1 :a"]),
    ("create temp trigger t begin select 1; end; select :a", ["1; 1; 1 :a", "1; 1; 1 :a", "1; 1 :a"]),
    ("create rule r as on insert to t do also (insert into a values (1); insert into b values (2)); select 1",
        ["1; 1", "1; 1; 1", "1; 1; 1"]),
    ("delimiter //\nselect 1; select 2 //\ndelimiter ;\nselect :a", ["1; 2; 4 :a", "2; 4 :a", "1; 2; 4 :a"]),
    ("delimiter //\nselect 1", ["1", "error 2", "1"]),
    ("delimiter \nselect 1", ["1", "error 1", "1"]),
    ("\\restrict abc\nselect 1;\n\\unrestrict abc\n", ["2", "error 1", "1; 3"]),
    ("\\i other.sql", ["error 1", "error 1", "1"]),
    (".read other.sql", ["1", "1", "error 1"]),
    ("select 1 \\gset", ["error 1", "error 1", "1"]),
    ("copy t from stdin;\n1\t:a\n'\n\\.\nselect :b", ["1; 5 :b", "error 3", "error 3"]),
    ("copy t from stdin;\n1\n", ["error 1", "1; 2", "1; 2"]),
    ("select ?1, ?2", ["1", "1 ? ?", "1 $1 $2"]),
    ("select $0", ["error 1"; 3]),
    ("select :ö, :_a1", ["1 :ö :_a1"; 3]),
    ("select '12:30', 12:30", ["1"; 3]),
    ("select N'a', x'00', b'1', _utf8'x', :a", ["1 :a"; 3]),
    ("select 1 -- it's\n, :a", ["1 :a"; 3]),
    ("insert into t values (:a, ':b', \":c\")", ["1 :a"; 3]),
    ("select a->>'$.x', a #> '{b}', :c", ["1 :c", "1", "1 :c"]),
    ("select (1; select 2", ["error 1", "1; 1", "1; 1"]),
    ("create function f() begin atomic select 1;", ["error 1", "1", "1"]),
    ("create trigger t begin select 1;", ["1", "1", "error 1"]),
    ("select :a;\r\nselect\r\n:b;\r\n", ["1 :a; 2 :b"; 3]),
];

#[test]
fn placeholders_and_statements_are_found_by_the_rules_of_each_dbms() {
    for (text, expected) in TEXTS {
        let dialects = [Dialect::POSTGRES, Dialect::INNODB, Dialect::SQLITE];
        let found = dialects.map(|dialect| lines(text, dialect));
        assert_eq!(found, *expected, "Postgres, MySQL, SQLite: {text}");
    }
    assert_eq!(TEXTS.len(), 74);
}

#[test]
fn a_statement_is_its_text_without_what_stands_around_it() {
    let text = "-- first\n select a /* b */ from c -- d\n ;\n\n/*!40101 SET x = 1 */;select 2";
    let texts: Vec<&str> = split(text, Dialect::INNODB.lexis)
        .unwrap()
        .into_iter()
        .map(|statement| statement.text)
        .collect();
    assert_eq!(texts, ["select a /* b */ from c", "/*!40101 SET x = 1 */", "select 2"]);
    let copy =
        split("COPY t (a)\nFROM stdin;\n1\tx\n2\\.\n\\.\n", Dialect::POSTGRES.lexis).unwrap();
    assert_eq!((copy[0].text, copy[0].takes_rows), ("COPY t (a)\nFROM stdin", true));
    assert_eq!(copy.len(), 1);
}

#[test]
fn an_error_says_what_does_not_end_and_what_to_write() {
    for (text, dialect, expected) in [
        (
            "\nselect 'a",
            Dialect::SQLITE,
            "2: the literal that begins here does not end: ' is missing",
        ),
        (
            "select /* a",
            Dialect::SQLITE,
            "1: the comment that begins here does not end: */ is missing",
        ),
        (
            "select $q$ a",
            Dialect::POSTGRES,
            "1: the literal that begins here does not end: $q$ is missing",
        ),
        ("select `a", Dialect::INNODB, "1: the name that begins here does not end: ` is missing"),
        (
            "select a[1:n]",
            Dialect::POSTGRES,
            "1: ':n' in a subscript may be a parameter or the end of a slice. Write (:n) for a \
             parameter, ': n' for a slice",
        ),
        ("select @x", Dialect::SQLITE, "1: '@x' would be a parameter without a value. Write :x"),
        ("\\i x.sql", Dialect::POSTGRES, "1: '\\i' is a command of psql, not SQL. Remove it"),
        ("\\! rm", Dialect::INNODB, "1: '\\!' is a command of mysql, not SQL. Remove it"),
        (".shell rm", Dialect::SQLITE, "1: '.shell' is a command of sqlite3, not SQL. Remove it"),
        (
            "delimiter //\n\nselect 1;\n",
            Dialect::INNODB,
            "3: the statement that begins here does not end with the DELIMITER //",
        ),
    ] {
        assert_eq!(split(text, dialect.lexis).unwrap_err().to_string(), expected);
    }
}

#[test]
fn placeholders_become_those_of_the_dbms() {
    let statements = split("select :b, :a where :b", Dialect::SQLITE.lexis).unwrap();
    let bound = bind(&statements, &["a", "b"]).unwrap();
    for (dialect, expected, parameters) in [
        (Dialect::POSTGRES, "select $1, $2 where $1", vec![1, 0]),
        (Dialect::SQLITE, "select ?1, ?2 where ?1", vec![1, 0]),
        (Dialect::INNODB, "select ?, ? where ?", vec![1, 0, 1]),
    ] {
        assert_eq!(bound[0].prepared(dialect, |_| None), (expected.to_string(), parameters));
    }
    let letters = ["'a'", "7"];
    let filled = bound[0].filled(|parameter| letters[parameter].to_string());
    assert_eq!(filled, "select 7, 'a' where 7");

    let both = split("select ?; select ?, ?", Dialect::INNODB.lexis).unwrap();
    let bound = bind(&both, &["a", "b", "c"]).unwrap();
    assert_eq!([&bound[0].parameters[..], &bound[1].parameters], [&[0][..], &[1, 2]]);
    let error = bind(&both, &["a", "b"]).unwrap_err().to_string();
    assert_eq!(error, "1: '?' has no source: the parameters are a, b");
}

#[test]
fn a_placeholder_without_a_source_is_an_error_with_its_line() {
    for (text, names, expected) in [
        (
            "select\n:ids",
            &["id"][..],
            "2: ':ids' has no source: did you mean 'id'? (there are: id)",
        ),
        ("select :a", &[], "1: ':a' has no source: add a line '-- rqps: param NAME TYPE SOURCE'"),
        ("select $2", &["a"], "1: '$2' has no source: the parameters are a"),
        ("select $1,\n:a", &["a"], "2: '$1' and ':a' are mixed. Use one kind"),
    ] {
        let statements = split(text, Dialect::POSTGRES.lexis).unwrap();
        let error = bind(&statements, names).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_dump_of_mariadb_is_its_statements() {
    let dump = "/*M!999999\\- enable the sandbox mode */ \n\
                -- MariaDB dump 10.19\n\
                /*!40101 SET NAMES utf8mb4 */;\n\
                DROP TABLE IF EXISTS `t`;\n\
                CREATE TABLE `t` (`id` int) ENGINE=InnoDB /*!50100 PARTITION BY HASH (id) */;\n\
                LOCK TABLES `t` WRITE;\n\
                /*!40000 ALTER TABLE `t` DISABLE KEYS */;\n\
                INSERT INTO `t` VALUES (1),(2);\n\
                UNLOCK TABLES;\n\
                DELIMITER ;;\n\
                /*!50003 CREATE*/ /*!50003 TRIGGER r BEFORE INSERT ON t FOR EACH ROW BEGIN \
                SET @a = 1; SET @b = 2; END */;;\n\
                DELIMITER ;\n";
    let statements = split(dump, Dialect::INNODB.lexis).unwrap();
    let beginnings = [
        (3, "/*!40101 SET NAMES utf8mb4 */"),
        (4, "DROP"),
        (5, "CREATE TABLE `t` (`id` int) ENGINE=InnoDB /*!50100 PARTITION BY HASH (id) */"),
        (6, "LOCK"),
        (7, "/*!40000 ALTER"),
        (8, "INSERT"),
        (9, "UNLOCK"),
        (11, "/*!50003 CREATE*/ /*!50003 TRIGGER"),
    ];
    assert_eq!(statements.len(), beginnings.len(), "{statements:?}");
    for (statement, (line, begins)) in statements.iter().zip(beginnings) {
        assert!(statement.text.starts_with(begins) && statement.line == line, "{statement:?}");
    }
}
