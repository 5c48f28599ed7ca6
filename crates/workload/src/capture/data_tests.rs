//! What is read of a server's tables, without a server.

use rqps_dbms::SourceColumn;

use super::*;

fn table(name: &str, key: &[&str]) -> SourceTable {
    let column = |name: &str| SourceColumn { name: name.to_string(), value: name.to_string() };
    SourceTable {
        from: format!("only public.{name}"),
        name: name.to_string(),
        bytes: 1000,
        columns: ["id", "other"].map(column).to_vec(),
        key: key.iter().map(ToString::to_string).collect(),
        ..SourceTable::default()
    }
}

fn foreign_key(child: usize, parent: usize) -> SourceForeignKey {
    let columns = vec![("other".to_string(), "id".to_string())];
    SourceForeignKey { name: "fk".to_string(), child, parent, columns }
}

fn sample(text: &str) -> TableSample {
    text.parse().unwrap()
}

#[test]
fn a_sample_is_a_table_and_a_percentage() {
    assert_eq!(sample("a=b=0.5%"), TableSample { table: "a=b".to_string(), share: 5000 });
    for text in ["orders", "orders=5", "orders=%", "=5%", "orders=0%", "orders=101%", "orders=NaN%"]
    {
        let wrong = text.parse::<TableSample>().unwrap_err();
        assert!(wrong.starts_with(&format!("'{text}' is no sample. Write TABLE=5%")), "{wrong}");
    }
}

#[test]
fn a_sample_needs_a_table_with_a_key() {
    let tables = [table("orders", &["id"]), table("log", &[])];
    let of = |text: &str| shares(&tables, &[sample(text)]);
    assert_eq!(of("orders=5%"), Ok(vec![50_000, ALL_ROWS]));
    assert_eq!(of("log=100%"), Ok(vec![ALL_ROWS, ALL_ROWS]));
    let wrong = of("log=5%").unwrap_err();
    assert_eq!(wrong, "--sample: log has no primary key, by whose hash rows are chosen");
    let wrong = of("order=5%").unwrap_err();
    assert!(
        wrong.starts_with("--sample: there is no table 'order': did you mean 'orders'?"),
        "{wrong}"
    );
}

#[test]
fn tables_are_loaded_after_those_that_they_refer_to() {
    let tables = ["lines", "orders", "items"].map(|name| table(name, &["id"])).to_vec();
    let keys = vec![foreign_key(0, 1), foreign_key(0, 2), foreign_key(2, 2)];
    let mut remarks = Vec::new();
    let found = SourceTables { tables: tables.clone(), foreign_keys: keys };
    assert_eq!(load_order(&found, &mut remarks), [1, 2, 0]);
    assert_eq!(remarks, [""; 0]);
    let keys = vec![foreign_key(0, 1), foreign_key(1, 0)];
    let found = SourceTables { tables, foreign_keys: keys };
    assert_eq!(load_order(&found, &mut remarks), [2, 0, 1]);
    assert_eq!(
        remarks,
        ["foreign keys form a circle: create those of lines, orders in indexes.sql"]
    );
}

#[test]
fn nothing_but_selects_is_asked() {
    let reading = Dialect::POSTGRES.table_reading.unwrap();
    let (lines, orders) = (table("lines", &["id"]), table("orders", &["id"]));
    assert_eq!(select(reading, &lines, ALL_ROWS), "select id, other from only public.lines");
    let sampled = select(reading, &lines, 50_000);
    assert_eq!(
        sampled,
        "select id, other from only public.lines where \
         ('x' || substr(md5(concat_ws('|', id::text)), 1, 8))::bit(32)::bigint % 1000000 < 50000"
    );
    let tables = [(lines, ALL_ROWS), (orders, 50_000)];
    let query = orphans_query(reading, &tables, &foreign_key(0, 1)).unwrap();
    assert_eq!(
        query,
        "select count(*) from only public.lines c where c.other is not null and not exists \
         (select 1 from only public.orders p where p.id = c.other and ('x' || substr(md5(\
         concat_ws('|', p.id::text)), 1, 8))::bit(32)::bigint % 1000000 < 50000)"
    );
    assert_eq!(orphans_query(reading, &tables, &foreign_key(1, 0)), None, "all of them are read");
}

#[test]
fn what_cannot_be_a_file_is_left_out_with_the_reason() {
    let named = |name: &str| defect(&table(name, &[]));
    assert_eq!(named("orders"), None);
    assert_eq!(named("a/b").as_deref(), Some("its name cannot be that of a file"));
    assert_eq!(named("a\nb").as_deref(), Some("its name cannot be that of a file"));
    assert_eq!(named(&"a".repeat(300)).as_deref(), Some("its name is too long for a file"));
}

#[test]
fn a_file_takes_no_more_than_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv.gz");
    let mut rows = RowFile::new(File::create(&path).unwrap(), 30);
    rows.head(&table("t", &[])).unwrap();
    rows.write_all(b"\"1\",\\N\n").unwrap();
    assert_eq!(rows.left, 30 - 13 - 7);
    assert!(rows.write_all(b"\"2222\",\"x\"\n").is_err() && rows.is_over);
    rows.finish().unwrap();
    let mut text = String::new();
    io::Read::read_to_string(&mut crate::sql::open(&path).unwrap(), &mut text).unwrap();
    assert_eq!(text, "\"id\",\"other\"\n\"1\",\\N\n");
}
