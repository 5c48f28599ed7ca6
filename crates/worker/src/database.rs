//! An open database, with safe functions for what the workloads do to it.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::{ptr, slice};

use crate::WorkerError;
use crate::library::{Handle, RocksdbFunctions};
use crate::settings::OpenSettings;

pub(crate) struct Database {
    functions: &'static RocksdbFunctions,
    handle: Handle,
    /// As it was opened with; statistics are asked of them.
    options: Handle,
    has_statistics: bool,
    read: Handle,
    write: Handle,
    write_without_log: Handle,
    flush: Handle,
}

// SAFETY: a database may be used by several threads at once (rocksdb/db.h, "Thread safety"), and
// the options are not changed after it was opened.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

/// Something of RocksDB's that is destroyed when it is dropped.
struct Owned(Handle, unsafe extern "C" fn(Handle));

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it was made by the library, and nobody has it any more.
        unsafe { (self.1)(self.0) };
    }
}

/// A copy of what RocksDB has written, which is freed with its own function.
fn taken(functions: &RocksdbFunctions, text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: a text of the library that ends with a zero, and is ours to free, once.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        (functions.rocksdb_free)(text.cast());
        Some(copy)
    }
}

fn text(words: &str) -> Result<CString, WorkerError> {
    CString::new(words).map_err(|_| WorkerError::Zero)
}

impl Database {
    /// Opens the database in a folder, or makes one in an empty folder.
    pub(crate) fn open(
        functions: &'static RocksdbFunctions,
        folder: &Path,
        settings: &OpenSettings,
    ) -> Result<Database, WorkerError> {
        let path = text(&folder.to_string_lossy())?;
        let chosen = text(&settings.text())?;
        let mut error = ptr::null_mut();
        // SAFETY: all handles are this library's and live until they are destroyed once: `Owned`
        // when this function ends, the others when the database is dropped. Texts end with a zero.
        // RocksDB shares a cache and tables' options among the options that have them.
        unsafe {
            let given =
                Owned((functions.rocksdb_options_create)(), functions.rocksdb_options_destroy);
            if let Some((size, charge)) = settings.hyper_clock() {
                let create = functions.rocksdb_cache_create_hyper_clock;
                let create = create.ok_or(WorkerError::NoHyperClock)?;
                let cache = Owned(create(size, charge), functions.rocksdb_cache_destroy);
                let tables = Owned(
                    (functions.rocksdb_block_based_options_create)(),
                    functions.rocksdb_block_based_options_destroy,
                );
                (functions.rocksdb_block_based_options_set_block_cache)(tables.0, cache.0);
                (functions.rocksdb_options_set_block_based_table_factory)(given.0, tables.0);
            }
            let options =
                Owned((functions.rocksdb_options_create)(), functions.rocksdb_options_destroy);
            (functions.rocksdb_get_options_from_string)(
                given.0,
                chosen.as_ptr(),
                options.0,
                &mut error,
            );
            if let Some(why) = taken(functions, error) {
                return Err(WorkerError::Options(why));
            }
            (functions.rocksdb_options_set_create_if_missing)(options.0, 1);
            if settings.has_statistics {
                (functions.rocksdb_options_enable_statistics)(options.0);
            }
            let handle = (functions.rocksdb_open)(options.0, path.as_ptr(), &mut error);
            if let Some(why) = taken(functions, error) {
                return Err(WorkerError::Open(why));
            }
            let write_without_log = (functions.rocksdb_writeoptions_create)();
            (functions.rocksdb_writeoptions_disable_WAL)(write_without_log, 1);
            let database = Database {
                functions,
                handle,
                options: options.0,
                has_statistics: settings.has_statistics,
                read: (functions.rocksdb_readoptions_create)(),
                write: (functions.rocksdb_writeoptions_create)(),
                write_without_log,
                flush: (functions.rocksdb_flushoptions_create)(),
            };
            // The database has them now.
            std::mem::forget(options);
            Ok(database)
        }
    }

    /// Removes the database in a folder, which is not open.
    pub(crate) fn destroy(functions: &RocksdbFunctions, folder: &Path) -> Result<(), WorkerError> {
        let path = text(&folder.to_string_lossy())?;
        let mut error = ptr::null_mut();
        // SAFETY: the options live until they are destroyed here.
        unsafe {
            let options =
                Owned((functions.rocksdb_options_create)(), functions.rocksdb_options_destroy);
            (functions.rocksdb_destroy_db)(options.0, path.as_ptr(), &mut error);
        }
        done(functions, error)
    }

    /// Whether there is a value, and its length.
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<usize>, WorkerError> {
        let functions = self.functions;
        let (mut error, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the database is open, and the key as long as is said. What is found is destroyed
        // once, after its last use.
        unsafe {
            let found = (functions.rocksdb_get_pinned)(
                self.handle,
                self.read,
                key.as_ptr().cast(),
                key.len(),
                &mut error,
            );
            if !error.is_null() {
                return Err(failed(functions, error));
            }
            if found.is_null() {
                return Ok(None);
            }
            (functions.rocksdb_pinnableslice_value)(found, &mut length);
            (functions.rocksdb_pinnableslice_destroy)(found);
        }
        Ok(Some(length))
    }

    /// How many of these keys have a value of this length.
    pub(crate) fn get_all<const N: usize>(
        &self,
        keys: &[crate::data::Key; N],
        wanted: usize,
    ) -> Result<u64, WorkerError> {
        let functions = self.functions;
        let places = keys.each_ref().map(|key| key.as_ptr().cast::<c_char>());
        let sizes = [crate::data::KEY_BYTES; N];
        let (mut values, mut errors) = ([ptr::null_mut(); N], [ptr::null_mut(); N]);
        let mut lengths = [0; N];
        // SAFETY: the database is open, and there are as many of everything as is said.
        unsafe {
            (functions.rocksdb_multi_get)(
                self.handle,
                self.read,
                N,
                places.as_ptr(),
                sizes.as_ptr(),
                values.as_mut_ptr(),
                lengths.as_mut_ptr(),
                errors.as_mut_ptr(),
            );
        }
        let mut found = 0;
        let mut failure = None;
        for ((value, error), length) in values.into_iter().zip(errors).zip(lengths) {
            if !error.is_null() {
                failure = Some(failed(functions, error));
            }
            if !value.is_null() {
                found += u64::from(length == wanted);
                // SAFETY: it is ours to free, once.
                unsafe { (functions.rocksdb_free)(value.cast()) };
            }
        }
        failure.map_or(Ok(found), Err)
    }

    #[inline]
    pub(crate) fn put(&self, key: &[u8], value: &[u8], is_logged: bool) -> Result<(), WorkerError> {
        let mut error = ptr::null_mut();
        let options = if is_logged { self.write } else { self.write_without_log };
        // SAFETY: the database is open, and key and value are as long as is said.
        unsafe {
            (self.functions.rocksdb_put)(
                self.handle,
                options,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                &mut error,
            );
        }
        done(self.functions, error)
    }

    pub(crate) fn iterator(&self) -> KeyCursor<'_> {
        // SAFETY: the database is open, and stays so for as long as the cursor borrows it.
        let handle = unsafe { (self.functions.rocksdb_create_iterator)(self.handle, self.read) };
        KeyCursor { database: self, handle }
    }

    /// Writes what is in memory to files, and waits for that.
    pub(crate) fn flush(&self) -> Result<(), WorkerError> {
        let mut error = ptr::null_mut();
        // SAFETY: the database is open.
        unsafe { (self.functions.rocksdb_flush)(self.handle, self.flush, &mut error) };
        done(self.functions, error)
    }

    /// Compacts everything, and waits for that.
    pub(crate) fn compact(&self) {
        // SAFETY: the database is open; no keys mean all of them.
        unsafe {
            (self.functions.rocksdb_compact_range)(self.handle, ptr::null(), 0, ptr::null(), 0);
        }
    }

    /// One of RocksDB's properties as text; none if this version does not have it.
    pub(crate) fn property(&self, name: &str) -> Option<String> {
        let name = text(name).ok()?;
        // SAFETY: the database is open, and the name ends with a zero.
        let value = unsafe { (self.functions.rocksdb_property_value)(self.handle, name.as_ptr()) };
        taken(self.functions, value)
    }

    /// A property that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.property(name)?.parse().ok()
    }

    /// The statistics as text; none unless they are kept.
    pub(crate) fn statistics(&self) -> Option<String> {
        if !self.has_statistics {
            return None;
        }
        // SAFETY: the options live as long as the database.
        let text = unsafe { (self.functions.rocksdb_options_statistics_get_string)(self.options) };
        taken(self.functions, text)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let functions = self.functions;
        // SAFETY: nobody has it any more; the database is closed before what it was opened with.
        unsafe {
            (functions.rocksdb_close)(self.handle);
            (functions.rocksdb_options_destroy)(self.options);
            (functions.rocksdb_readoptions_destroy)(self.read);
            (functions.rocksdb_writeoptions_destroy)(self.write);
            (functions.rocksdb_writeoptions_destroy)(self.write_without_log);
            (functions.rocksdb_flushoptions_destroy)(self.flush);
        }
    }
}

/// A place among the keys.
pub(crate) struct KeyCursor<'a> {
    database: &'a Database,
    handle: Handle,
}

impl KeyCursor<'_> {
    fn functions(&self) -> &'static RocksdbFunctions {
        self.database.functions
    }

    /// Moves to the first key that is not before this one.
    #[inline]
    pub(crate) fn seek(&mut self, key: &[u8]) {
        // SAFETY: the cursor is open, and the key as long as is said.
        unsafe {
            (self.functions().rocksdb_iter_seek)(self.handle, key.as_ptr().cast(), key.len());
        }
    }

    pub(crate) fn first(&mut self) {
        // SAFETY: the cursor is open.
        unsafe { (self.functions().rocksdb_iter_seek_to_first)(self.handle) };
    }

    /// Shows key and value to a visitor and moves on; false without another key.
    #[inline]
    pub(crate) fn visit(&mut self, is_forward: bool, visitor: impl FnOnce(&[u8], &[u8])) -> bool {
        let functions = self.functions();
        let (mut key_length, mut value_length) = (0, 0);
        // SAFETY: the cursor is open, and at a key when it is asked for key and value. Both stay
        // until it moves, which is after the visitor's last use.
        unsafe {
            if (functions.rocksdb_iter_valid)(self.handle) == 0 {
                return false;
            }
            let key = (functions.rocksdb_iter_key)(self.handle, &mut key_length);
            let value = (functions.rocksdb_iter_value)(self.handle, &mut value_length);
            visitor(
                slice::from_raw_parts(key.cast(), key_length),
                slice::from_raw_parts(value.cast(), value_length),
            );
            match is_forward {
                true => (functions.rocksdb_iter_next)(self.handle),
                false => (functions.rocksdb_iter_prev)(self.handle),
            }
        }
        true
    }

    /// An error if the end of the keys was none.
    pub(crate) fn check(&self) -> Result<(), WorkerError> {
        let mut error = ptr::null_mut();
        // SAFETY: the cursor is open.
        unsafe { (self.functions().rocksdb_iter_get_error)(self.handle, &mut error) };
        done(self.functions(), error)
    }
}

impl Drop for KeyCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more.
        unsafe { (self.functions().rocksdb_iter_destroy)(self.handle) };
    }
}

#[inline]
fn done(functions: &RocksdbFunctions, error: *mut c_char) -> Result<(), WorkerError> {
    match error.is_null() {
        true => Ok(()),
        false => Err(failed(functions, error)),
    }
}

#[cold]
fn failed(functions: &RocksdbFunctions, error: *mut c_char) -> WorkerError {
    WorkerError::Failed(taken(functions, error).unwrap_or_default())
}

/// What RocksDB counts in the thread that asks, by its numbers in perf_context.h and its names
/// there. It counts these unless told not to (PerfLevel kEnableCount).
pub(crate) const COUNTED: [(i32, &str); 5] = [
    (0, "user_key_comparison_count"),
    (1, "block_cache_hit_count"),
    (2, "block_read_count"),
    (3, "block_read_byte"),
    (10, "internal_key_skipped_count"),
];

/// The counters of the thread that made it, which stays in that thread.
pub(crate) struct ThreadCounters(&'static RocksdbFunctions, Handle);

impl ThreadCounters {
    pub(crate) fn of_this_thread(functions: &'static RocksdbFunctions) -> ThreadCounters {
        // SAFETY: it has no parameters.
        ThreadCounters(functions, unsafe { (functions.rocksdb_perfcontext_create)() })
    }

    pub(crate) fn read(&self) -> [u64; COUNTED.len()] {
        // SAFETY: the handle is of this thread; a number that a version does not know counts 0.
        COUNTED.map(|(number, _)| unsafe { (self.0.rocksdb_perfcontext_metric)(self.1, number) })
    }
}

impl Drop for ThreadCounters {
    fn drop(&mut self) {
        // SAFETY: nobody has it any more.
        unsafe { (self.0.rocksdb_perfcontext_destroy)(self.1) };
    }
}
