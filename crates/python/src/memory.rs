//! Exhausted memory: a sentence and the exit code of a mistake. Rust by itself would abort the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The allocator of the system, checked. Nothing is allocated for a packet (`crates/sim/tests/no_allocation.rs`), so a
/// comparison for each allocation costs no run anything that could be measured.
struct Checked;

#[global_allocator]
static ALLOCATOR: Checked = Checked;

#[allow(unsafe_code)]
// SAFETY: all four pass their arguments to the system's allocator and return what it returns, or do not return.
unsafe impl GlobalAlloc for Checked {
    // SAFETY: called and answered as `System::alloc` is.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    // SAFETY: as for `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    // SAFETY: as for `alloc`.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `alloc`.
        checked(unsafe { System.realloc(block, layout, size) }, size)
    }

    // SAFETY: as for `alloc`.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn checked(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        end(size);
    }
    block
}

/// Ends the process without allocating anything.
#[cold]
fn end(size: usize) -> ! {
    let mebibytes = size.div_ceil(1 << 20);
    let _ = writeln!(
        std::io::stderr(),
        "memory: the system gives no {mebibytes} MiB more; expected more memory, or less to simulate: `etherweave \
         show` says what takes how much"
    );
    std::process::exit(2);
}
