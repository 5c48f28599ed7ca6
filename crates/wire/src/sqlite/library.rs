//! SQLite as functions: those in this binary, or those of a library that is loaded. Connections are
//! driven by the same code with both, so that what differs between two builds is SQLite's.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use rusqlite::ffi;

use crate::error::{Class, Error};

/// What SQLite is to do with text when it needs it no more.
type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;
/// Is asked, with how often it was already, whether to look at a lock again.
type BusyHandler = Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;

/// Declares the functions once, by the names that they have in the binary and in a library.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// As sqlite3.h has them.
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
                        // SAFETY: by the caller's word, the function of that name is this one.
                        $name: *unsafe { library.get(stringify!($name).as_bytes()) }?,
                    )*
                })
            }
        }
    };
}

functions! {
    sqlite3_bind_int64(*mut ffi::sqlite3_stmt, c_int, i64) -> c_int;
    sqlite3_bind_text(*mut ffi::sqlite3_stmt, c_int, *const c_char, c_int, Destructor) -> c_int;
    sqlite3_busy_handler(*mut ffi::sqlite3, BusyHandler, *mut c_void) -> c_int;
    sqlite3_changes(*mut ffi::sqlite3) -> c_int;
    sqlite3_close(*mut ffi::sqlite3) -> c_int;
    sqlite3_column_blob(*mut ffi::sqlite3_stmt, c_int) -> *const c_void;
    sqlite3_column_bytes(*mut ffi::sqlite3_stmt, c_int) -> c_int;
    sqlite3_column_count(*mut ffi::sqlite3_stmt) -> c_int;
    sqlite3_column_double(*mut ffi::sqlite3_stmt, c_int) -> f64;
    sqlite3_column_int64(*mut ffi::sqlite3_stmt, c_int) -> i64;
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
    sqlite3_step(*mut ffi::sqlite3_stmt) -> c_int;
    sqlite3_threadsafe() -> c_int;
}

/// A SQLite. Once loaded it stays until rqps ends: nobody knows who still holds what is its own.
#[derive(Clone, Copy)]
pub struct SqliteLibrary(pub(super) &'static Functions);

impl SqliteLibrary {
    /// The one in this binary.
    pub fn bundled() -> SqliteLibrary {
        static BUNDLED: Functions = Functions::BUNDLED;
        SqliteLibrary(&BUNDLED)
    }

    /// Loads a library from a file, once: two of its connections have one SQLite. The file's code
    /// becomes part of rqps, so it must be one that is trusted like a server's.
    pub fn load(path: &Path) -> Result<SqliteLibrary, Error> {
        static LOADED: Mutex<Vec<(PathBuf, SqliteLibrary)>> = Mutex::new(Vec::new());
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, library)) = loaded.iter().find(|(other, _)| other == path) {
            return Ok(*library);
        }
        // SAFETY: the code that runs when it is loaded is that of a library the user trusts.
        let library = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| refused(path, error))?;
        // SAFETY: whoever has functions of these names means SQLite's.
        let functions = unsafe { Functions::of(&library) }.map_err(|error| refused(path, error))?;
        // SAFETY: it takes nothing and answers a constant.
        if unsafe { (functions.sqlite3_threadsafe)() } == 0 {
            return Err(refused(path, "it was compiled for programs with one thread"));
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

fn refused(path: &Path, why: impl fmt::Display) -> Error {
    Error::Server {
        code: "dlopen".to_string(),
        message: format!("'{}' cannot be loaded as SQLite: {why}", path.display()),
        class: Class::Stop,
    }
}
