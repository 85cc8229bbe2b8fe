//! Vectors of entities, each kind by an index of its own type: the number of a port finds no thread.

use std::marker::PhantomData;
use std::ops::{Deref, Index, IndexMut};

/// The place of an entity in an [`IndexVec`]; [`local_index!`](crate::local_index) defines one.
pub trait LocalIndex: Copy {
    /// The index of a place.
    fn from_place(place: usize) -> Self;

    /// The place.
    fn place(self) -> usize;
}

/// Types of indices, 32 bits each: `local_index! { PortIndex: "A port, numbered in its shard." }`.
#[macro_export]
macro_rules! local_index {
    ($($name:ident: $doc:literal)*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
            pub struct $name(u32);

            impl $name {
                /// No entity.
                pub const NONE: Self = Self(u32::MAX);

                /// The index with this number.
                #[inline(always)]
                pub const fn new(number: u32) -> Self {
                    Self(number)
                }

                /// The number.
                #[inline(always)]
                pub const fn get(self) -> u32 {
                    self.0
                }
            }

            impl $crate::LocalIndex for $name {
                #[inline(always)]
                fn from_place(place: usize) -> Self {
                    debug_assert!(u32::try_from(place).is_ok(), "an index has 32 bits");
                    Self(place as u32)
                }

                #[inline(always)]
                fn place(self) -> usize {
                    self.0 as usize
                }
            }

            impl $crate::Wire for $name {
                fn write(&self, words: &mut Vec<u32>) {
                    words.push(self.0);
                }

                fn read(words: &mut &[u32]) -> Self {
                    Self($crate::Wire::read(words))
                }
            }
        )*
    };
}

/// Index of the first entity that a vector holds.
pub trait FirstIndex: Copy + Default {
    /// Its number.
    fn first(self) -> usize;
}

/// Nothing is ever removed: the first index is 0, which takes no memory and no time.
#[derive(Clone, Copy, Default)]
pub struct FromZero;

impl FirstIndex for FromZero {
    #[inline(always)]
    fn first(self) -> usize {
        0
    }
}

/// Number of entities that were removed at the front: the others keep their indices.
#[derive(Clone, Copy, Default)]
pub struct Removed(usize);

impl FirstIndex for Removed {
    #[inline(always)]
    fn first(self) -> usize {
        self.0
    }
}

/// See the module. To read, it is the vector that it holds.
pub struct IndexVec<I, T, F = FromZero> {
    all: Vec<T>,
    first: F,
    index: PhantomData<fn(I)>,
}

/// An [`IndexVec`] whose first entities can be removed.
pub type SlidingVec<I, T> = IndexVec<I, T, Removed>;

impl<I: LocalIndex, T> SlidingVec<I, T> {
    /// Removes entities at the front, whose indices are not used again.
    pub fn remove_first(&mut self, count: usize) {
        self.all.drain(..count);
        self.first.0 += count;
    }
}

impl<I: LocalIndex, T, F: FirstIndex> IndexVec<I, T, F> {
    /// The index of the next entity that is added.
    pub fn next_index(&self) -> I {
        I::from_place(self.first.first() + self.all.len())
    }

    /// Place of an entity in the vector, whether or not there is one of that index.
    #[inline(always)]
    pub fn place(&self, index: I) -> usize {
        index.place().wrapping_sub(self.first.first())
    }

    /// Adds an entity.
    pub fn push(&mut self, entity: T) -> I {
        let index = self.next_index();
        self.all.push(entity);
        index
    }

    /// Makes room for exactly so many more.
    pub fn reserve_exact(&mut self, additional: usize) {
        self.all.reserve_exact(additional);
    }

    /// Makes it so long, by copies of an entity.
    pub fn resize(&mut self, length: usize, entity: T)
    where
        T: Clone,
    {
        self.all.resize(length, entity);
    }

    /// An entity, if there is one of that index.
    pub fn get(&self, index: I) -> Option<&T> {
        self.all.get(self.place(index))
    }

    /// All, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.all.iter_mut()
    }

    /// All indices.
    pub fn indices(&self) -> impl Iterator<Item = I> + use<I, T, F> {
        let first = self.first.first();
        (first..first + self.all.len()).map(I::from_place)
    }

    /// All with their indices.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.indices().zip(&self.all)
    }
}

impl<I, T, F: FirstIndex> Default for IndexVec<I, T, F> {
    fn default() -> IndexVec<I, T, F> {
        IndexVec { all: Vec::new(), first: F::default(), index: PhantomData }
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(all: Vec<T>) -> IndexVec<I, T> {
        IndexVec { all, first: FromZero, index: PhantomData }
    }
}

impl<I, T, F> Deref for IndexVec<I, T, F> {
    type Target = Vec<T>;
    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.all
    }
}

impl<I: LocalIndex, T, F: FirstIndex> Index<I> for IndexVec<I, T, F> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: I) -> &T {
        &self.all[self.place(index)]
    }
}

impl<I: LocalIndex, T, F: FirstIndex> IndexMut<I> for IndexVec<I, T, F> {
    #[inline(always)]
    fn index_mut(&mut self, index: I) -> &mut T {
        let place = self.place(index);
        &mut self.all[place]
    }
}

impl<'a, I, T, F> IntoIterator for &'a IndexVec<I, T, F> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.all.iter()
    }
}

impl<'a, I, T, F> IntoIterator for &'a mut IndexVec<I, T, F> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> std::slice::IterMut<'a, T> {
        self.all.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wire;

    local_index! { DoorIndex: "A door of a house." }

    #[test]
    fn an_entity_is_found_by_the_index_that_its_addition_gave() {
        let mut doors: IndexVec<DoorIndex, &str> = IndexVec::default();
        let added = ["front", "back"].map(|name| doors.push(name));
        doors[added[1]] = "garden";
        assert_eq!(added.map(|index| doors[index]), ["front", "garden"]);
        assert_eq!(doors.entries().map(|(index, _)| index).collect::<Vec<_>>(), added);
        assert_eq!((doors.len(), doors.next_index().get()), (2, 2));
        assert_eq!((doors.get(added[0]), doors.get(DoorIndex::NONE)), (Some(&"front"), None));
    }

    #[test]
    fn entities_keep_their_indices_when_those_before_them_are_removed() {
        let mut doors: SlidingVec<DoorIndex, &str> = SlidingVec::default();
        let [front, back] = ["front", "back"].map(|name| doors.push(name));
        doors.remove_first(1);
        let cellar = doors.push("cellar");
        assert_eq!((doors.get(front), doors[back], doors[cellar]), (None, "back", "cellar"));
        assert_eq!(doors.entries().map(|(index, _)| index).collect::<Vec<_>>(), [back, cellar]);
        assert_eq!((doors.len(), doors.next_index().get()), (2, 3));
    }

    #[test]
    fn an_index_is_read_as_it_was_written() {
        for index in [DoorIndex::new(7), DoorIndex::NONE] {
            let mut words = Vec::new();
            index.write(&mut words);
            assert_eq!(DoorIndex::read(&mut &words[..]), index);
        }
    }
}
