//! The functions of RocksDB's C API, by their names in a library. Two versions cannot be in one
//! process, since they share unique symbols (STB_GNU_UNIQUE): hence a process for each.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::Path;

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use rustix::process::Uid;

use crate::WorkerError;

/// A pointer to something of RocksDB's.
pub(crate) type Handle = *mut c_void;
/// Where a function writes the text of an error, or leaves null.
type ErrorSlot = *mut *mut c_char;

/// Declares the functions once: those that every version has, and those that newer ones have.
macro_rules! functions {
    (
        required { $($name:ident($($argument:ty),*) $(-> $answer:ty)?;)* }
        newer { $($newer:ident($($newer_argument:ty),*) $(-> $newer_answer:ty)?;)* }
    ) => {
        /// The functions of c.h, by their names there.
        #[allow(non_snake_case)]
        pub(crate) struct RocksdbFunctions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
            $(pub(crate) $newer:
                Option<unsafe extern "C" fn($($newer_argument),*) $(-> $newer_answer)?>,)*
        }

        impl RocksdbFunctions {
            /// # Safety
            ///
            /// The library must be RocksDB: its functions are taken for what c.h declares.
            unsafe fn from_library(library: &Loaded) -> Result<RocksdbFunctions, WorkerError> {
                Ok(RocksdbFunctions {
                    $(
                        // SAFETY: see above.
                        $name: *unsafe { library.get(stringify!($name).as_bytes()) }
                            .map_err(|_| WorkerError::NoFunction(stringify!($name)))?,
                    )*
                    $(
                        // SAFETY: see above.
                        $newer: unsafe { library.get(stringify!($newer).as_bytes()) }
                            .ok()
                            .map(|function| *function),
                    )*
                })
            }
        }
    };
}

functions! {
    required {
        rocksdb_block_based_options_create() -> Handle;
        rocksdb_block_based_options_destroy(Handle);
        rocksdb_block_based_options_set_block_cache(Handle, Handle);
        rocksdb_cache_destroy(Handle);
        rocksdb_close(Handle);
        rocksdb_compact_range(Handle, *const c_char, usize, *const c_char, usize);
        rocksdb_create_iterator(Handle, Handle) -> Handle;
        rocksdb_destroy_db(Handle, *const c_char, ErrorSlot);
        rocksdb_flush(Handle, Handle, ErrorSlot);
        rocksdb_flushoptions_create() -> Handle;
        rocksdb_flushoptions_destroy(Handle);
        rocksdb_free(*mut c_void);
        rocksdb_get_options_from_string(Handle, *const c_char, Handle, ErrorSlot);
        rocksdb_get_pinned(Handle, Handle, *const c_char, usize, ErrorSlot) -> Handle;
        rocksdb_iter_destroy(Handle);
        rocksdb_iter_get_error(Handle, ErrorSlot);
        rocksdb_iter_key(Handle, *mut usize) -> *const c_char;
        rocksdb_iter_next(Handle);
        rocksdb_iter_prev(Handle);
        rocksdb_iter_seek(Handle, *const c_char, usize);
        rocksdb_iter_seek_to_first(Handle);
        rocksdb_iter_valid(Handle) -> c_uchar;
        rocksdb_iter_value(Handle, *mut usize) -> *const c_char;
        rocksdb_multi_get(
            Handle,
            Handle,
            usize,
            *const *const c_char,
            *const usize,
            *mut *mut c_char,
            *mut usize,
            ErrorSlot
        );
        rocksdb_open(Handle, *const c_char, ErrorSlot) -> Handle;
        rocksdb_options_create() -> Handle;
        rocksdb_options_destroy(Handle);
        rocksdb_options_enable_statistics(Handle);
        rocksdb_options_set_block_based_table_factory(Handle, Handle);
        rocksdb_options_set_create_if_missing(Handle, c_uchar);
        rocksdb_options_statistics_get_string(Handle) -> *mut c_char;
        rocksdb_perfcontext_create() -> Handle;
        rocksdb_perfcontext_destroy(Handle);
        rocksdb_perfcontext_metric(Handle, c_int) -> u64;
        rocksdb_pinnableslice_destroy(Handle);
        rocksdb_pinnableslice_value(Handle, *mut usize) -> *const c_char;
        rocksdb_property_value(Handle, *const c_char) -> *mut c_char;
        rocksdb_put(Handle, Handle, *const c_char, usize, *const c_char, usize, ErrorSlot);
        rocksdb_readoptions_create() -> Handle;
        rocksdb_readoptions_destroy(Handle);
        rocksdb_writeoptions_create() -> Handle;
        rocksdb_writeoptions_destroy(Handle);
        rocksdb_writeoptions_disable_WAL(Handle, c_int);
    }
    newer {
        rocksdb_cache_create_hyper_clock(usize, usize) -> Handle;
    }
}

/// Loads a library. Its code becomes part of this process, which runs as the user of servers and
/// has nothing of rqps's but its program.
pub(crate) fn load(path: &Path) -> Result<&'static RocksdbFunctions, WorkerError> {
    refuse_root(rustix::process::getuid())?;
    refuse_root(rustix::process::geteuid())?;
    open(path)
}

fn refuse_root(uid: Uid) -> Result<(), WorkerError> {
    if uid.is_root() { Err(WorkerError::Root) } else { Ok(()) }
}

fn open(path: &Path) -> Result<&'static RocksdbFunctions, WorkerError> {
    let refused = |error: libloading::Error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        WorkerError::NotLoaded(cause.to_string())
    };
    // SAFETY: the code that runs on loading is that of a library that the user wants to measure.
    let library = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(refused)?;
    // SAFETY: functions of these names are RocksDB's.
    let functions = unsafe { RocksdbFunctions::from_library(&library) }?;
    // It stays until the process ends: threads of it may still run.
    std::mem::forget(library);
    Ok(Box::leak(Box::new(functions)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &Path) -> String {
        open(path).err().expect("it is no RocksDB").to_string()
    }

    #[test]
    fn no_library_is_loaded_as_root() {
        let error = refuse_root(Uid::ROOT).unwrap_err().to_string();
        assert!(error.contains("not loaded as root"), "{error}");
        refuse_root(Uid::from_raw(65_534)).unwrap();
        // Root sees the refusal before the loader's words, and anybody else sees these.
        let error = load(Path::new("/dev/null")).err().unwrap().to_string();
        assert_eq!(error.contains("as root"), rustix::process::geteuid().is_root(), "{error}");
    }

    #[test]
    fn a_library_without_rocksdb_is_refused_by_a_function_that_it_lacks() {
        let libc = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6"];
        let Some(libc) = libc.into_iter().map(Path::new).find(|path| path.exists()) else { return };
        assert!(error(libc).starts_with("it has no function rocksdb_"), "{}", error(libc));
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_in_the_loaders_words() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "no library").unwrap();
        let error = error(file.path());
        assert!(error.contains("file too short") || error.contains("ELF"), "{error}");
    }
}
