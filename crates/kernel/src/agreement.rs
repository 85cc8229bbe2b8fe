//! Interface between a model and the exchange of its workers: outboxes, and values on which all agree.

use crate::Wire;

/// Events for the shards of one worker, in the order in which they were sent.
pub trait Outbox: Default + Send + Wire {
    /// Whether it holds nothing.
    fn is_empty(&self) -> bool;

    /// Empties it; it keeps its memory.
    fn clear(&mut self);
}

impl<T: Wire + Send> Outbox for Vec<T> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn clear(&mut self) {
        self.clear();
    }
}

/// Value that all workers agree on when they meet: a sum, a minimum, or several of them.
///
/// Every value takes equally many words; `with` is associative and commutative, with the default as its neutral value.
pub trait Agreement: Copy + Default + Send + Wire {
    /// The value of two workers together.
    #[must_use]
    fn with(self, other: Self) -> Self;
}

/// A worker's link to all others.
pub trait Exchange<O, A> {
    /// The outbox to every worker, to oneself too. They keep their memory from window to window.
    fn outboxes(&mut self) -> &mut [O];

    /// Ends a window when all workers have: hands over what every worker has put into the outbox to this one, and
    /// returns what all agree on. Whoever receives an outbox leaves it empty.
    fn meet(&mut self, own: A, receive: impl FnMut(&mut O)) -> A;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
    pub struct Sum {
        pub of: u64,
    }

    impl Agreement for Sum {
        fn with(self, other: Sum) -> Sum {
            Sum { of: self.of + other.of }
        }
    }

    crate::wire! { Sum { of } }

    /// One worker's part of windows in which every worker sends its number, more of it from window to window.
    pub fn check_sums(mut end: impl Exchange<Vec<u32>, Sum>, number: usize, workers: usize) {
        for window in 0..20 {
            end.outboxes().iter_mut().for_each(|outbox| outbox.extend(vec![number as u32; window]));
            let mut received = Vec::new();
            let sum = end.meet(Sum { of: number as u64 }, |outbox| received.append(outbox));
            let expected: Vec<u32> = (0..workers as u32).flat_map(|from| vec![from; window]).collect();
            assert_eq!((received, sum), (expected, Sum { of: (0..workers as u64).sum() }));
        }
    }
}
