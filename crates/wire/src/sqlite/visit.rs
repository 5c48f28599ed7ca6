//! Rows with the types that SQLite gives their values.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::slice;

use rusqlite::ffi;

use super::{Compiled, Sqlite, Step};
use crate::error::Error;
use crate::{ColumnKind, Field, ResultColumn, RowVisitor, Value};

impl Sqlite {
    pub(super) fn visited(
        &self,
        prepared: &Compiled,
        values: &[Value<'_>],
        visitor: &mut dyn RowVisitor,
    ) -> Result<u64, Error> {
        if prepared.statement.is_null() {
            return Ok(0);
        }
        for (index, value) in values.iter().enumerate() {
            self.bind(prepared, index + 1, *value)?;
        }
        if prepared.columns > 0 {
            let column =
                |at| ResultColumn { name: self.column_name(prepared, at), kind: ColumnKind::Other };
            visitor.columns((0..prepared.columns).map(column).collect());
        }
        let mut count = 0;
        while self.step(prepared)? == Step::Row {
            count += 1;
            let fields: Vec<Field<'_>> =
                (0..prepared.columns).map(|at| self.value(prepared, at)).collect();
            visitor.row(&fields);
        }
        self.reset(prepared);
        Ok(match prepared.columns {
            // SAFETY: the connection is open.
            0 => (unsafe { (self.functions.sqlite3_changes)(self.database.as_ptr()) }) as u64,
            _ => count,
        })
    }

    fn column_name(&self, prepared: &Compiled, column: c_int) -> String {
        // SAFETY: the statement has this column; the name is copied before anything else is done
        // with the statement, and is null only without memory.
        unsafe {
            let name = (self.functions.sqlite3_column_name)(prepared.statement, column);
            match name.is_null() {
                true => String::new(),
                false => CStr::from_ptr(name).to_string_lossy().into_owned(),
            }
        }
    }

    /// A field of the current row of a statement.
    pub(super) fn value(&self, prepared: &Compiled, column: c_int) -> Field<'static> {
        let (functions, statement) = (self.functions, prepared.statement);
        // SAFETY: the statement is at a row, which has this column; the bytes are copied before
        // anything else is done with the statement. Those of an empty text may be nowhere.
        unsafe {
            match (functions.sqlite3_column_type)(statement, column) {
                ffi::SQLITE_NULL => Field::Null,
                ffi::SQLITE_INTEGER => {
                    Field::Int((functions.sqlite3_column_int64)(statement, column))
                }
                ffi::SQLITE_FLOAT => {
                    Field::Float((functions.sqlite3_column_double)(statement, column))
                }
                _ => {
                    let bytes = (functions.sqlite3_column_blob)(statement, column).cast::<u8>();
                    let length = (functions.sqlite3_column_bytes)(statement, column) as usize;
                    let bytes = match bytes.is_null() {
                        true => &[],
                        false => slice::from_raw_parts(bytes, length),
                    };
                    Field::Text(Cow::Owned(bytes.to_vec()))
                }
            }
        }
    }
}
