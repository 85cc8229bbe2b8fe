//! Initiators of dynamically connected transport: few contexts of a rank, which connect to whom it sends next.
//!
//! A connection takes an initiator with its first message, the one that was released last, and releases it when all its
//! messages are acknowledged. Connections without one wait in the order in which they began.

use std::collections::VecDeque;

use etherweave_engine::params::DynamicConnections;
use etherweave_kernel::{IndexVec, indices::EndpointIndex, indices::ThreadIndex};
use etherweave_primitives::Duration;

/// Initiators of the ranks of a shard.
pub struct Initiators {
    /// Time that a change of the destination takes.
    pub connect: Duration,
    count: usize,
    pools: IndexVec<ThreadIndex, Pool>,
}

/// Initiators of a rank, by the connections that they have or had last.
#[derive(Clone, Default)]
struct Pool {
    busy: Vec<EndpointIndex>,
    idle: Vec<EndpointIndex>,
    waiting: VecDeque<EndpointIndex>,
}

impl Initiators {
    /// Initiators without a destination yet.
    pub fn new(params: &DynamicConnections) -> Initiators {
        Initiators { connect: params.connect, count: params.initiators as usize, pools: IndexVec::default() }
    }

    /// Gives an initiator to a connection that begins to send, and returns the time until it is connected; none where
    /// it must wait for one.
    pub fn take(&mut self, thread: ThreadIndex, end: EndpointIndex) -> Option<Duration> {
        let count = self.count;
        let pool = self.pool(thread);
        if pool.busy.len() == count {
            pool.waiting.push_back(end);
            return None;
        }
        pool.busy.push(end);
        Some(if pool.idle.pop() == Some(end) { Duration::ZERO } else { self.connect })
    }

    /// Releases the initiator of a connection, if it has any, and returns the connection that waited for it and now
    /// connects.
    pub fn release(&mut self, thread: ThreadIndex, end: EndpointIndex) -> Option<EndpointIndex> {
        let pool = self.pool(thread);
        let place = pool.busy.iter().position(|&own| own == end)?;
        let next = pool.waiting.pop_front();
        match next {
            Some(next) => pool.busy[place] = next,
            None => pool.idle.push(pool.busy.swap_remove(place)),
        }
        next
    }

    fn pool(&mut self, thread: ThreadIndex) -> &mut Pool {
        if self.pools.get(thread).is_none() {
            self.pools.resize(thread.get() as usize + 1, Pool::default());
        }
        &mut self.pools[thread]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The initiator released last is taken, and does not connect again to the same destination. A third connection
    /// waits for one of two. A connection without an initiator releases none.
    #[test]
    fn the_initiator_released_last_is_taken_first() {
        let connect = Duration::from_ns(60);
        let mut own = Initiators::new(&DynamicConnections { initiators: 2, connect });
        let (thread, [a, b, c]) = (ThreadIndex::new(0), [0, 1, 2].map(EndpointIndex::new));
        assert_eq!([a, b, c].map(|end| own.take(thread, end)), [Some(connect), Some(connect), None]);
        assert_eq!([b, b, a, c].map(|end| own.release(thread, end)), [Some(c), None, None, None]);
        assert_eq!([c, b].map(|end| own.take(thread, end)), [Some(Duration::ZERO), Some(connect)]);
    }
}
