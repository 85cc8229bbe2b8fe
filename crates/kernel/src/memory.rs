//! Hints about memory, to the processor and to the kernel. They change how long a run takes, never what it yields.

use std::ops::Range;

/// Cache line [B].
const LINE: usize = 64;

/// Begins to fetch the first `bytes` of an element. Any index will do.
#[inline(always)]
pub fn prefetch<T>(elements: &[T], index: usize, bytes: usize) {
    let address = elements.as_ptr().wrapping_add(index).cast::<i8>();
    (0..bytes.div_ceil(LINE)).for_each(|line| prefetch_line(address.wrapping_add(line * LINE)));
    // What is as large as its alignment, or smaller, lies in one line.
    if align_of::<T>() < LINE.min(bytes) {
        prefetch_line(address.wrapping_add(bytes - 1));
    }
}

/// Begins to fetch a value.
#[inline(always)]
pub fn prefetch_value<T>(value: &T) {
    prefetch(std::slice::from_ref(value), 0, size_of::<T>());
}

/// Begins to fetch some bytes of an element, of which the first begins a cache line if the element does. Any index will
/// do.
#[inline(always)]
pub fn prefetch_part_of<T>(elements: &[T], index: usize, part: Range<usize>) {
    let address = elements.as_ptr().wrapping_add(index).cast::<i8>();
    part.step_by(LINE).for_each(|byte| prefetch_line(address.wrapping_add(byte)));
}

/// Begins to fetch some bytes of a value, likewise.
#[inline(always)]
pub fn prefetch_part<T>(value: &T, part: Range<usize>) {
    prefetch_part_of(std::slice::from_ref(value), 0, part);
}

/// Begins to fetch some cache lines of an element that is aligned to them. Any index will do.
#[inline(always)]
pub fn prefetch_lines<T>(elements: &[T], index: usize, lines: Range<usize>) {
    const { assert!(align_of::<T>().is_multiple_of(LINE), "an element begins with a cache line") };
    prefetch_part_of(elements, index, LINE * lines.start..LINE * lines.end);
}

/// Begins to fetch so many bytes from an address that is not null.
#[inline(always)]
pub fn prefetch_bytes(address: *const u8, bytes: usize) {
    if !address.is_null() {
        (0..bytes).step_by(LINE).for_each(|byte| prefetch_line(address.wrapping_add(byte).cast()));
        prefetch_line(address.wrapping_add(bytes - 1).cast());
    }
}

/// Begins to fetch the line of an address that is not null.
#[inline(always)]
pub fn prefetch_address(address: *const u8) {
    if !address.is_null() {
        prefetch_line(address.cast());
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch_line(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch of any address, mapped or not, changes nothing that a program can see, and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
}

#[cfg(not(target_arch = "x86_64"))]
fn prefetch_line(_: *const i8) {}

/// Memory of a vector, which must outlive it, that another thread may ask for, page by page.
#[derive(Clone, Copy)]
pub struct Room {
    start: usize,
    bytes: usize,
}

impl Room {
    /// The huge pages that a vector has room for, if there are several.
    pub fn of<T>(elements: &Vec<T>) -> Option<Room> {
        let first = elements.as_ptr() as usize;
        let start = first.next_multiple_of(HUGE);
        let bytes = (first + elements.capacity() * size_of::<T>()).saturating_sub(start) / HUGE * HUGE;
        (bytes > HUGE).then_some(Room { start, bytes })
    }

    /// Has the kernel clear its pages, one huge page after another, ahead of who fills it: that takes as long as to
    /// fill it.
    pub fn populate(self) {
        (self.start..self.start + self.bytes).step_by(HUGE).for_each(|page| advise(page, HUGE, POPULATE));
    }
}

/// Huge page [B].
const HUGE: usize = 2 << 20;

/// Asks the kernel for huge pages under all that a large vector has room for, and to move what is there into them:
/// what is read at random then rarely misses the processor's table of pages.
pub fn prefer_huge_pages<T>(elements: &Vec<T>) {
    let first = elements.as_ptr() as usize;
    let start = first.next_multiple_of(HUGE);
    let huge_length = |length: usize| (first + length * size_of::<T>()).saturating_sub(start) / HUGE * HUGE;
    let (room, used) = (huge_length(elements.capacity()), huge_length(elements.len()));
    if room > 0 {
        advise(start, room, HUGE_PAGES);
    }
    if used > 0 {
        advise(start, used, COLLAPSE);
    }
}

/// `MADV_HUGEPAGE` of Linux.
const HUGE_PAGES: i32 = 14;
/// `MADV_POPULATE_WRITE` of Linux 5.14; others know nothing of it.
const POPULATE: i32 = 23;
/// `MADV_COLLAPSE` of Linux 6.1; others know nothing of it.
const COLLAPSE: i32 = 25;

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise(start: usize, length: usize, advice: i32) {
    // SAFETY: declared as `madvise(2)` is.
    unsafe extern "C" {
        fn madvise(start: usize, length: usize, advice: i32) -> i32;
    }
    // SAFETY: all kinds of advice keep what the memory holds, and an error means that nothing was done.
    let _ = unsafe { madvise(start, length, advice) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: usize, _: usize, _: i32) {}

/// Gives pages that hold nothing allocated back to the kernel: without that, the C library keeps them for what will be
/// as small as what they held.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub fn return_free_memory() {
    // SAFETY: declared as `malloc_trim(3)` is.
    unsafe extern "C" {
        fn malloc_trim(kept: usize) -> i32;
    }
    // SAFETY: what is allocated stays, and a thread that allocates meanwhile waits.
    let _ = unsafe { malloc_trim(0) };
}

/// Does nothing: other allocators give free pages back by themselves, or cannot.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_free_memory() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_another_thread_asks_for_keep_what_is_written_meanwhile() {
        let mut numbers: Vec<u64> = Vec::with_capacity(3 * HUGE / size_of::<u64>());
        let room = Room::of(&numbers).expect("it has room for two huge pages");
        std::thread::scope(|scope| {
            scope.spawn(move || room.populate());
            numbers.extend(0..numbers.capacity() as u64);
        });
        assert!((0..).zip(&numbers).all(|(number, &written)| number == written));
        assert!(Room::of(&vec![0_u8; HUGE]).is_none());
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn what_is_free_between_small_allocations_goes_back_to_the_kernel() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("Linux says what a process has");
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a resident size");
            line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number of KiB") << 10
        };
        let mut blocks: Vec<Box<[u8; 4096]>> = (0..1 << 13).map(|_| Box::new([1; 4096])).collect();
        let last = blocks.pop();
        drop(blocks);
        let before = resident();
        return_free_memory();
        assert!(resident() + (16 << 20) < before, "{} of {before} B are left of 32 MiB", resident());
        assert!(last.is_some());
    }
}
