//! Files of `load/` that are compressed.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::folders::{folder, read_for, statements};
use crate::sql::loaded::LoadedFile;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

/// A way of compression by the end of its files' names.
type Compressed = (&'static str, fn(&[u8]) -> Vec<u8>);

const COMPRESSED: [Compressed; 2] = [("gz", gzip), ("zst", zstandard)];

#[test]
fn compressed_data_are_data() {
    for (end, compress) in COMPRESSED {
        let folder = folder(&[("queries/a.sql", "select 1"), ("load/keep", "")]);
        fs::remove_file(folder.path().join("load/keep")).unwrap();
        let file = folder.path().join(format!("load/01_t.csv.{end}"));
        let packed = compress(b"id\n1\n2\n");
        fs::write(&file, &packed).unwrap();
        let read = read_for(folder.path(), "sqlite").unwrap();
        let LoadedFile::Rows(csv) = &read.loads[0] else { panic!("{:?}", read.loads) };
        let rows: Vec<_> = csv.rows().unwrap().collect::<Result<_, _>>().unwrap();
        let row = |line, text: &str| (line, vec![Some(text.to_string())]);
        assert_eq!((csv.table.as_str(), rows), ("t", vec![row(2, "1"), row(3, "2")]));
        // Two parts one behind the other, as programs that compress in parallel write them.
        fs::write(&file, [&packed[..], &compress(b"3\n")].concat()).unwrap();
        assert_eq!(read_for(folder.path(), "sqlite").unwrap().loads[0].bytes(), 6);
        let script = folder.path().join(format!("load/02.sql.{end}"));
        fs::write(&script, compress(b"insert into t\nvalues (3);\nselect 'x;';")).unwrap();
        let read = read_for(folder.path(), "sqlite").unwrap();
        let LoadedFile::Sql(script) = &read.loads[1] else { panic!("{:?}", read.loads) };
        assert_eq!(statements(script), ["insert into t\nvalues (3)", "select 'x;'"]);
        assert_eq!(script.bytes, 38);
    }
}

#[test]
fn compressed_data_that_are_cut_are_refused_with_the_line_where_they_end() {
    for (end, compress) in COMPRESSED {
        let folder = folder(&[("queries/a.sql", "select 1"), ("load/keep", "")]);
        fs::remove_file(folder.path().join("load/keep")).unwrap();
        for (name, text) in [("01_t.csv", "id\n1\n2\n"), ("02.sql", "select 1;\n\nselect 2;\n")] {
            let packed = compress(text.as_bytes());
            let file = folder.path().join(format!("load/{name}.{end}"));
            fs::write(&file, &packed[..packed.len() - 4]).unwrap();
            let cut = read_for(folder.path(), "sqlite").unwrap_err().to_string();
            let begin = format!("load/{name}.{end}:");
            assert!(cut.starts_with(&begin) && cut.contains(": cannot read it: "), "{cut}");
            fs::remove_file(&file).unwrap();
        }
        let file = folder.path().join(format!("load/01_t.csv.{end}"));
        fs::write(&file, "id\n1\n").unwrap();
        let other = read_for(folder.path(), "sqlite").unwrap_err().to_string();
        assert!(other.starts_with(&format!("load/01_t.csv.{end}")), "{other}");
        assert!(other.contains("cannot read it: "), "{other}");
    }
}
