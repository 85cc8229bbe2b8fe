//! Reads that fetch a structure into the cache.

/// Entries no further apart than a cache line of 64 bytes.
pub(crate) fn every_line<T>(entries: &[T]) -> impl Iterator<Item = &T> {
    entries.iter().step_by((64 / size_of::<T>()).max(1))
}
