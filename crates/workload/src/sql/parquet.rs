//! The rows of a Parquet file as texts, which every DBMS reads for the type of its column.
//!
//! Source: the format's "Logical Types" (github.com/apache/parquet-format).

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use jiff::civil::{Time, date};
use jiff::{SignedDuration, Span, Timestamp};
use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

use super::loaded::LoadedRows;
use super::tokens::{SqlTextError, error};

/// What the numbers or bytes of a column mean, where they do not say so themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnMeaning {
    Itself,
    Uuid,
    /// Since midnight, in units of so many nanoseconds.
    Time(i64),
    /// Since 1970, and whether it is an instant: else it is a date and time of no zone.
    Timestamp(i64, bool),
}

/// The rows with their numbers, counted from 1.
pub(super) fn rows(path: &Path) -> Result<LoadedRows, SqlTextError> {
    let unread =
        |row: u32, why: &dyn std::fmt::Display| error(row, &format!("cannot read it: {why}"));
    let file = File::open(path).map_err(|it| error(1, &format!("cannot read it: {it}")))?;
    let reader = guarded(1, || SerializedFileReader::new(file))?.map_err(|it| unread(1, &it))?;
    let parts = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    let mut codecs = parts.map(|part| part.compression());
    if let Some(other) = codecs.find(|codec| !is_unpacked(*codec)) {
        // Without its level, as in `BROTLI(BrotliLevel(1))`.
        let other = other.to_string();
        let codec = other.split('(').next().unwrap_or_default();
        let what = format!("it is compressed with {codec}. Write it with Snappy, gzip or zstd");
        return Err(error(1, &what));
    }
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let columns: Vec<(String, ColumnMeaning)> = fields
        .iter()
        .map(|field| Ok((field.name().to_string(), meaning(field)?)))
        .collect::<Result<_, SqlTextError>>()?;
    let names = columns.iter().map(|(name, _)| name.clone()).collect();
    let (mut reader, mut number) = (reader.into_iter(), 0);
    let mut next = move || {
        number += 1;
        let Some(row) = guarded(number, || reader.next())? else { return Ok(None) };
        let row = row.map_err(|it| unread(number, &it))?;
        let values = row.get_column_iter().zip(&columns).map(|((_, field), (name, meaning))| {
            let wrong = |what: String| error(number, &format!("column '{name}': {what}"));
            text(field, *meaning).map_err(wrong)
        });
        Ok(Some((number, values.collect::<Result<_, _>>()?)))
    };
    Ok(LoadedRows { names, rows: Box::new(std::iter::from_fn(move || next().transpose())) })
}

/// Whether rqps's library is built with this codec.
fn is_unpacked(codec: Compression) -> bool {
    use Compression::{GZIP, SNAPPY, UNCOMPRESSED, ZSTD};
    matches!(codec, UNCOMPRESSED | SNAPPY | GZIP(_) | ZSTD(_))
}

/// The library panics at some damaged files.
fn guarded<T>(row: u32, read: impl FnOnce() -> T) -> Result<T, SqlTextError> {
    let read = catch_unwind(AssertUnwindSafe(read));
    read.map_err(|_| error(row, "it is damaged: the rows from here on cannot be read"))
}

/// An error for what has no text that all DBMSs read, or that loses something.
fn meaning(field: &Type) -> Result<ColumnMeaning, SqlTextError> {
    let unfit = |what: &str| Err(error(1, &format!("column '{}' {what}", field.name())));
    let info = field.get_basic_info();
    if !field.is_primitive() || info.repetition() == Repetition::REPEATED {
        return unfit("is nested. Write its parts as columns, or as text");
    }
    if field.get_physical_type() == Physical::INT96 {
        return unfit("has timestamps of the old type INT96. Write them in microseconds");
    }
    let nanos = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1_000_000,
        TimeUnit::MICROS => 1_000,
        TimeUnit::NANOS => 1,
    };
    Ok(match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Timestamp(of)), _) => {
            ColumnMeaning::Timestamp(nanos(&of.unit), of.is_adjusted_to_u_t_c)
        }
        (Some(LogicalType::Time(of)), _) => ColumnMeaning::Time(nanos(&of.unit)),
        (Some(LogicalType::Uuid), _) => ColumnMeaning::Uuid,
        (None, ConvertedType::TIMESTAMP_MILLIS) => ColumnMeaning::Timestamp(1_000_000, true),
        (None, ConvertedType::TIMESTAMP_MICROS) => ColumnMeaning::Timestamp(1_000, true),
        (None, ConvertedType::TIME_MILLIS) => ColumnMeaning::Time(1_000_000),
        (None, ConvertedType::TIME_MICROS) => ColumnMeaning::Time(1_000),
        (
            Some(
                LogicalType::String
                | LogicalType::Enum
                | LogicalType::Json
                | LogicalType::Integer(_)
                | LogicalType::Decimal(_)
                | LogicalType::Date
                | LogicalType::Float16,
            ),
            _,
        ) => ColumnMeaning::Itself,
        (None, ConvertedType::BSON | ConvertedType::INTERVAL) | (Some(_), _) => {
            return unfit("has a type that is not loaded. Write it as text");
        }
        (None, _) => ColumnMeaning::Itself,
    })
}

/// The text of a value; none for NULL.
fn text(field: &Field, meaning: ColumnMeaning) -> Result<Option<String>, String> {
    let beyond = |it: jiff::Error| format!("its time is beyond the year 9999: {it}");
    let text = match (field, meaning) {
        (Field::Null, _) => return Ok(None),
        (_, ColumnMeaning::Time(nanos)) => {
            let since = whole(field)?.checked_mul(nanos).ok_or("it is beyond a day")?;
            let time = Time::midnight().checked_add(SignedDuration::from_nanos(since));
            time.map_err(beyond)?.strftime("%T%.f").to_string()
        }
        (_, ColumnMeaning::Timestamp(nanos, is_instant)) => {
            let since = i128::from(whole(field)?) * i128::from(nanos);
            let time = Timestamp::from_nanosecond(since).map_err(beyond)?;
            let zone = if is_instant { "+00:00" } else { "" };
            format!("{}{zone}", time.strftime("%F %T%.f"))
        }
        (Field::Date(days), _) => {
            let since = Span::new().try_days(*days).map_err(beyond)?;
            date(1970, 1, 1).checked_add(since).map_err(beyond)?.to_string()
        }
        (Field::Bytes(bytes), ColumnMeaning::Uuid) => {
            let hex: String = bytes.data().iter().map(|byte| format!("{byte:02x}")).collect();
            let ends = [0, 8, 12, 16, 20, 32];
            let parts = ends.windows(2).map(|at| hex.get(at[0]..at[1]).unwrap_or_default());
            parts.collect::<Vec<_>>().join("-")
        }
        (Field::Bytes(bytes), _) => String::from_utf8(bytes.data().to_vec())
            .map_err(|_| "its bytes are no UTF-8. Write them as text")?,
        (Field::Str(text), _) => text.clone(),
        // All DBMSs read these for a truth value, and not all of them its name.
        (Field::Bool(value), _) => u8::from(*value).to_string(),
        (Field::Float(value), _) => value.to_string(),
        (Field::Double(value), _) => value.to_string(),
        (other, _) => other.to_string(),
    };
    Ok(Some(text))
}

/// The number of a time.
fn whole(field: &Field) -> Result<i64, String> {
    Ok(match *field {
        Field::Int(value) | Field::TimeMillis(value) => value.into(),
        Field::Long(value)
        | Field::TimeMicros(value)
        | Field::TimestampMillis(value)
        | Field::TimestampMicros(value) => value,
        _ => return Err("its time is no number".to_string()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::{ByteArray, FixedLenByteArray};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// Writes a file of two rows, of which the second is NULL where it may be.
    fn written(path: &Path, schema: &str) {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer =
            SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            let levels = Some(&[1, 0][..]);
            let written = match column.untyped() {
                ColumnWriter::Int32ColumnWriter(it) => it.write_batch(&[45_296_789], levels, None),
                ColumnWriter::Int64ColumnWriter(it) => {
                    it.write_batch(&[45_296_789_012_345], levels, None)
                }
                ColumnWriter::BoolColumnWriter(it) => it.write_batch(&[true], levels, None),
                ColumnWriter::DoubleColumnWriter(it) => it.write_batch(&[0.1], levels, None),
                ColumnWriter::ByteArrayColumnWriter(it) => {
                    it.write_batch(&[ByteArray::from("it's é")], levels, None)
                }
                ColumnWriter::FixedLenByteArrayColumnWriter(it) => {
                    let bytes: Vec<u8> = (0..16).collect();
                    it.write_batch(&[FixedLenByteArray::from(bytes)], levels, None)
                }
                _ => unreachable!("no column of the tests"),
            };
            written.unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn values_are_texts_that_mean_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        for (column, expected) in [
            ("int32 a", "45296789"),
            ("int32 a (DECIMAL(9,2))", "452967.89"),
            ("int32 a (TIME(MILLIS,false))", "12:34:56.789"),
            ("int64 a (TIMESTAMP(MICROS,false))", "1971-06-09 06:26:29.012345"),
            ("int64 a (TIMESTAMP(NANOS,true))", "1970-01-01 12:34:56.789012345+00:00"),
            ("int64 a (TIME(NANOS,false))", "12:34:56.789012345"),
            ("int64 a (TIMESTAMP_MICROS)", "1971-06-09 06:26:29.012345+00:00"),
            ("boolean a", "1"),
            ("double a", "0.1"),
            ("binary a (UTF8)", "it's é"),
            ("binary a", "it's é"),
            ("fixed_len_byte_array(16) a (UUID)", "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        ] {
            written(&path, &format!("message m {{ optional {column}; }}"));
            let rows = rows(&path).unwrap();
            assert_eq!(rows.names, ["a"]);
            let rows: Vec<_> = rows.map(Result::unwrap).collect();
            assert_eq!(rows, [(1, vec![Some(expected.to_string())]), (2, vec![None])], "{column}");
        }
    }

    #[test]
    fn what_would_lose_something_is_refused_by_its_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        written(&path, "message m { optional fixed_len_byte_array(16) b (UUID); }");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let told = |path: &Path| rows(path).err().unwrap().to_string();
        assert!(told(&path).starts_with("1: cannot read it: "), "{}", told(&path));
        let failed = guarded(7, || -> u32 { panic!("as the library does") }).unwrap_err();
        assert!(failed.to_string().starts_with("7: it is damaged"), "{failed}");
        written(&path, "message m { optional int32 a (DATE); }");
        let beyond = rows(&path).unwrap().next().unwrap().unwrap_err().to_string();
        assert!(beyond.starts_with("1: column 'a': its time is beyond"), "{beyond}");
        for (column, expected) in [
            ("optional group a { optional binary b (UTF8); }", "1: column 'a' is nested"),
            ("optional binary a (BSON);", "1: column 'a' has a type that is not loaded"),
        ] {
            written(&path, &format!("message m {{ {column} }}"));
            assert!(told(&path).starts_with(expected), "{}", told(&path));
        }
    }
}
