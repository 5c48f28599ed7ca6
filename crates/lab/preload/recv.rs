//! A library to be preloaded into a server: after each message that it receives, it spends so many
//! nanoseconds as the file that `RQPS_DELAY` names says, and counts what it spent there. Without
//! the file it does nothing.
//!
//! It is built on its own (`build.rs` of the lab), needs no library and only functions that the
//! oldest C libraries have, so that it can be loaded into any server on any loader.

#![no_std]

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The start of the file, shared by all processes and threads of the server with rqps. The lab's
/// `selftest/spin.rs` has the same order.
#[repr(C)]
struct Page {
    /// To be spent after each message.
    nanos: AtomicU64,
    /// Messages received.
    messages: AtomicU64,
    /// Of these, those after which nothing else took the CPU away.
    timed: AtomicU64,
    /// Nanoseconds spent after the timed ones.
    spent: AtomicU64,
}

#[repr(C)]
struct Time {
    seconds: c_long,
    nanos: c_long,
}

const CLOCK_MONOTONIC: c_int = 1;
const MSG_PEEK: c_int = 2;
const O_RDWR: c_int = 2;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const PAGE_BYTES: usize = 4096;
/// After what takes so much longer than it was to take, something else had the CPU. A tick of the
/// clock takes less, and every slice has as many of them as it is long.
const INTERRUPTION: u64 = 50_000;

unsafe extern "C" {
    fn recvfrom(
        socket: c_int,
        buffer: *mut c_void,
        length: usize,
        flags: c_int,
        address: *mut c_void,
        address_length: *mut c_void,
    ) -> isize;
    fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn close(file: c_int) -> c_int;
}

/// Null until the first message; children inherit it.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());
/// Where there is no file, nothing is spent and this is written to.
static NOWHERE: Page = Page {
    nanos: AtomicU64::new(0),
    messages: AtomicU64::new(0),
    timed: AtomicU64::new(0),
    spent: AtomicU64::new(0),
};

/// `recv` as the C library has it: what it answers and leaves in `errno` is that of the system
/// call.
///
/// # Safety
/// As for `recv`: `buffer` has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(
    socket: c_int,
    buffer: *mut c_void,
    length: usize,
    flags: c_int,
) -> isize {
    // Before the call, so that nothing comes between it and the caller's look at `errno`.
    let page = page();
    // SAFETY: recvfrom without an address is recv.
    let received =
        unsafe { recvfrom(socket, buffer, length, flags, ptr::null_mut(), ptr::null_mut()) };
    if received > 0 && flags & MSG_PEEK == 0 {
        spend(page);
    }
    received
}

/// With nothing to be spent the same is done, so that what it costs can be taken off.
fn spend(page: &Page) {
    let nanos = page.nanos.load(Ordering::Relaxed);
    let began = now();
    let mut spent = now() - began;
    while spent < nanos {
        spent = now() - began;
    }
    page.messages.fetch_add(1, Ordering::Relaxed);
    if spent < nanos + INTERRUPTION {
        page.timed.fetch_add(1, Ordering::Relaxed);
        page.spent.fetch_add(spent, Ordering::Relaxed);
    }
}

fn now() -> u64 {
    let mut time = Time { seconds: 0, nanos: 0 };
    // SAFETY: a clock that there is, and a live value for its time.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanos as u64
}

fn page() -> &'static Page {
    let mut page = PAGE.load(Ordering::Acquire);
    if page.is_null() {
        page = map();
        // Threads that come at once map the same file.
        PAGE.store(page, Ordering::Release);
    }
    // SAFETY: `NOWHERE`, or a mapping of that size that is never taken back.
    unsafe { &*page }
}

fn map() -> *mut Page {
    let nowhere = (&raw const NOWHERE).cast_mut();
    // SAFETY: names end with a zero; the file is as long as the mapping.
    unsafe {
        let path = getenv(c"RQPS_DELAY".as_ptr());
        if path.is_null() {
            return nowhere;
        }
        let file = open(path, O_RDWR);
        if file < 0 {
            return nowhere;
        }
        let mapped = mmap(ptr::null_mut(), PAGE_BYTES, PROT_READ_WRITE, MAP_SHARED, file, 0);
        close(file);
        if mapped as isize == -1 { nowhere } else { mapped.cast() }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Nothing above panics.
    loop {}
}
