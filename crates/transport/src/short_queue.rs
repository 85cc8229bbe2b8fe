//! A queue whose first element stands in its owner: most connections have one message under way at a time, which then
//! costs neither an allocation nor a further cache line.

use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
#[repr(C)]
#[expect(
    clippy::box_collection,
    reason = "few queues ever have a second element, and all are in endpoints: 8 bytes, not 32"
)]
pub struct ShortQueue<T> {
    first: Option<T>,
    /// Those behind it.
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> ShortQueue<T> {
        ShortQueue { first: None, rest: None }
    }
}

impl<T> ShortQueue<T> {
    /// The first element.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The first element, to be changed.
    pub fn first_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The last element.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.rest.as_ref().and_then(|rest| rest.back()).or(self.first.as_ref())
    }

    /// The last element, to be changed.
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.rest.as_mut().and_then(|rest| rest.back_mut()).or(self.first.as_mut())
    }

    /// Adds an element behind all others.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.first.is_none() {
            self.first = Some(element);
        } else {
            self.rest.get_or_insert_default().push_back(element);
        }
    }

    /// Adds an element behind those that do not come after it.
    pub fn insert_by_key<K: Ord>(&mut self, element: T, key: impl Fn(&T) -> K) {
        if self.last().is_none_or(|last| key(last) <= key(&element)) {
            return self.push_back(element);
        }
        self.insert(self.iter().take_while(|other| key(other) <= key(&element)).count(), element);
    }

    /// Adds an element behind the first `place`.
    pub fn insert(&mut self, place: usize, element: T) {
        match (place, self.first.take()) {
            (0, None) => self.first = Some(element),
            (0, Some(first)) => {
                self.first = Some(element);
                self.rest.get_or_insert_default().push_front(first);
            }
            (behind, first) => {
                self.first = first;
                self.rest.get_or_insert_default().insert(behind - 1, element);
            }
        }
    }

    /// Takes the first element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let next = self.rest.as_mut().and_then(|rest| rest.pop_front());
        std::mem::replace(&mut self.first, next)
    }

    /// The element behind so many others.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        match place.checked_sub(1) {
            None => self.first.as_ref(),
            Some(place) => self.rest.as_ref()?.get(place),
        }
    }

    /// All, in order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(self.rest.iter_mut().flat_map(|rest| rest.iter_mut()))
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(queue: &ShortQueue<u32>) -> Vec<u32> {
        (0..).map_while(|place| queue.get(place).copied()).collect()
    }

    #[test]
    fn elements_leave_as_they_came() {
        let mut queue = ShortQueue::default();
        for round in 0..3 {
            (0..=round).for_each(|element| queue.push_back(element));
            assert_eq!((all(&queue), queue.first()), ((0..=round).collect(), Some(&0)));
            assert!(queue.iter().copied().eq(0..=round));
            assert!((0..=round).all(|element| queue.pop_front() == Some(element)));
            assert_eq!(queue.pop_front(), None);
        }
    }

    #[test]
    fn elements_are_inserted_in_order() {
        let mut queue = ShortQueue::default();
        [5, 3, 9, 7, 3, 1].into_iter().for_each(|element| queue.insert_by_key(element, |&element| element));
        assert_eq!(all(&queue), [1, 3, 3, 5, 7, 9]);
    }
}
