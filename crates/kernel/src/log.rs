//! Rows that are appended while a run goes on, in blocks: no row moves when others follow.

use std::ops::{Index, IndexMut};

use crate::{Wire, memory::prefetch};

const BLOCK: usize = 1 << 12;
/// How far ahead of the last row memory is fetched.
const AHEAD: usize = 4;

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log<T> {
    /// All but the last are full.
    blocks: Vec<Vec<T>>,
}

impl<T> Log<T> {
    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: T) {
        // The row is handed to no other function, so that it is written where it stays, not copied there.
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.begin_block();
        }
        if let Some(block) = self.blocks.last_mut() {
            // Rows come too seldom for the processor to fetch the next line by itself.
            prefetch(block, block.len() + AHEAD, size_of::<T>());
            block.push(row);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_block(&mut self) {
        self.blocks.push(Vec::with_capacity(BLOCK));
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> u32 {
        let full = self.blocks.len().saturating_sub(1) * BLOCK;
        (full + self.blocks.last().map_or(0, Vec::len)) as u32
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Begins to fetch a row. Any place will do.
    #[inline]
    pub fn prefetch(&self, place: u32) {
        if let Some(block) = self.blocks.get(place as usize / BLOCK) {
            prefetch(block, place as usize % BLOCK, size_of::<T>());
        }
    }

    /// Blocks of rows, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &[T]> {
        self.blocks.iter().map(Vec::as_slice)
    }

    /// Rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.blocks.iter().flatten()
    }
}

impl<T> Default for Log<T> {
    fn default() -> Log<T> {
        Log { blocks: Vec::new() }
    }
}

impl<T> Index<u32> for Log<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.blocks[place as usize / BLOCK][place as usize % BLOCK]
    }
}

impl<T> IndexMut<u32> for Log<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.blocks[place as usize / BLOCK][place as usize % BLOCK]
    }
}

impl<T> FromIterator<T> for Log<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Log<T> {
        let mut log = Log::default();
        rows.into_iter().for_each(|row| log.push(row));
        log
    }
}

/// How many, then each.
impl<T: Wire> Wire for Log<T> {
    fn write(&self, words: &mut Vec<u32>) {
        self.len().write(words);
        self.iter().for_each(|row| row.write(words));
    }

    fn read(words: &mut &[u32]) -> Log<T> {
        (0..u32::read(words)).map(|_| T::read(words)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_places_over_several_blocks() {
        let count = 2 * BLOCK as u32 + 7;
        let mut log: Log<u32> = (0..count).collect();
        log[BLOCK as u32] = 0;
        assert_eq!((log.len(), log[count - 1], log[BLOCK as u32]), (count, count - 1, 0));
        assert!(log.iter().enumerate().all(|(place, &row)| row == place as u32 || place == BLOCK));
        let mut words = Vec::new();
        log.write(&mut words);
        assert_eq!((Log::read(&mut &words[..]), words.len()), (log, count as usize + 1));
    }
}
