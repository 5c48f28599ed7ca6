//! The functions of SQLite: those in this binary, or those of a loaded library. The same code
//! drives connections of both, so that two builds differ in SQLite only.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use rusqlite::ffi;

use crate::error::{Error, ErrorClass};

/// What SQLite does with text that it no longer needs.
type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;
/// Called with the number of earlier calls; returns whether to retry a lock.
type BusyHandler = Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;
/// Called with what a statement is about to do, while it is compiled; returns whether it may.
type Authorizer = Option<
    unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *const c_char,
        *const c_char,
        *const c_char,
        *const c_char,
    ) -> c_int,
>;

/// Declares the functions once, by their names in the binary and in a library.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions of sqlite3.h.
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl Functions {
            const BUNDLED: Functions = Functions { $($name: ffi::$name,)* };

            /// # Safety
            ///
            /// The library must be SQLite: its functions are taken for what sqlite3.h declares.
            unsafe fn of(library: &Loaded) -> Result<Functions, libloading::Error> {
                Ok(Functions {
                    $(
                        // SAFETY: the caller guarantees that the function of that name is this one.
                        $name: *unsafe { library.get(stringify!($name).as_bytes()) }?,
                    )*
                })
            }
        }
    };
}

functions! {
    sqlite3_bind_int64(*mut ffi::sqlite3_stmt, c_int, i64) -> c_int;
    sqlite3_bind_null(*mut ffi::sqlite3_stmt, c_int) -> c_int;
    sqlite3_bind_text(*mut ffi::sqlite3_stmt, c_int, *const c_char, c_int, Destructor) -> c_int;
    sqlite3_busy_handler(*mut ffi::sqlite3, BusyHandler, *mut c_void) -> c_int;
    sqlite3_changes(*mut ffi::sqlite3) -> c_int;
    sqlite3_close(*mut ffi::sqlite3) -> c_int;
    sqlite3_column_blob(*mut ffi::sqlite3_stmt, c_int) -> *const c_void;
    sqlite3_column_bytes(*mut ffi::sqlite3_stmt, c_int) -> c_int;
    sqlite3_column_count(*mut ffi::sqlite3_stmt) -> c_int;
    sqlite3_column_double(*mut ffi::sqlite3_stmt, c_int) -> f64;
    sqlite3_column_int64(*mut ffi::sqlite3_stmt, c_int) -> i64;
    sqlite3_column_name(*mut ffi::sqlite3_stmt, c_int) -> *const c_char;
    sqlite3_column_type(*mut ffi::sqlite3_stmt, c_int) -> c_int;
    sqlite3_errmsg(*mut ffi::sqlite3) -> *const c_char;
    sqlite3_extended_errcode(*mut ffi::sqlite3) -> c_int;
    sqlite3_extended_result_codes(*mut ffi::sqlite3, c_int) -> c_int;
    sqlite3_finalize(*mut ffi::sqlite3_stmt) -> c_int;
    sqlite3_interrupt(*mut ffi::sqlite3);
    sqlite3_libversion() -> *const c_char;
    sqlite3_open_v2(*const c_char, *mut *mut ffi::sqlite3, c_int, *const c_char) -> c_int;
    sqlite3_prepare_v2(
        *mut ffi::sqlite3,
        *const c_char,
        c_int,
        *mut *mut ffi::sqlite3_stmt,
        *mut *const c_char
    ) -> c_int;
    sqlite3_reset(*mut ffi::sqlite3_stmt) -> c_int;
    sqlite3_set_authorizer(*mut ffi::sqlite3, Authorizer, *mut c_void) -> c_int;
    sqlite3_step(*mut ffi::sqlite3_stmt) -> c_int;
    sqlite3_threadsafe() -> c_int;
}

/// A SQLite. Once loaded it stays until rqps ends, since parts of it may still be in use.
#[derive(Clone, Copy)]
pub struct SqliteLibrary(pub(super) &'static Functions);

impl SqliteLibrary {
    /// The one in this binary.
    pub fn bundled() -> SqliteLibrary {
        static BUNDLED: Functions = Functions::BUNDLED;
        SqliteLibrary(&BUNDLED)
    }

    /// Loads a library from a file, once: all its connections share one SQLite. The file's code
    /// becomes part of rqps, so it must be trusted like a server's.
    pub fn load(path: &Path) -> Result<SqliteLibrary, Error> {
        static LOADED: Mutex<Vec<(PathBuf, SqliteLibrary)>> = Mutex::new(Vec::new());
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, library)) = loaded.iter().find(|(other, _)| other == path) {
            return Ok(*library);
        }
        // SAFETY: the code that runs on loading is that of a library that the user trusts.
        let library = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(refused)?;
        // SAFETY: functions of these names are SQLite's.
        let functions = unsafe { Functions::of(&library) }.map_err(refused)?;
        // SAFETY: it has no parameters and returns a constant.
        if unsafe { (functions.sqlite3_threadsafe)() } == 0 {
            return Err(refused("it was compiled for single-threaded programs"));
        }
        std::mem::forget(library);
        let library = SqliteLibrary(Box::leak(Box::new(functions)));
        loaded.push((path.to_path_buf(), library));
        Ok(library)
    }

    /// `3.46.1`
    pub fn version(self) -> String {
        // SAFETY: the answer is a constant of the library, which stays.
        let version = unsafe { CStr::from_ptr((self.0.sqlite3_libversion)()) };
        version.to_string_lossy().into_owned()
    }
}

impl fmt::Debug for SqliteLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SQLite {}", self.version())
    }
}

fn refused(why: impl fmt::Display) -> Error {
    Error::Server { code: "dlopen".to_string(), message: why.to_string(), class: ErrorClass::Stop }
}
