//! The event queue: a calendar of short buckets, and a heap for what lies beyond it.
//!
//! Nearly every event of a packet simulation lies within a microsecond or two, so most insertions are one
//! push onto a list: a calendar queue (Brown, CACM 1988) whose buckets are lists in one slab. A bucket is
//! sorted when its turn comes. Memory grows with pending events, not with buckets; nothing is allocated
//! once the slab has grown to the largest number of pending events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etherweave_primitives::{Duration, Time};

use super::event::{Event, Key};

/// Buckets in the calendar, a power of two.
const BUCKETS: usize = 1 << 14;
const NONE: u32 = u32::MAX;

/// Pending events, served in order of (time, key).
pub struct EventQueue {
    /// A bucket spans 2^shift ps.
    shift: u32,
    /// Bucket number (time >> shift) that `current` came from.
    cursor: u64,
    /// Events of the cursor's bucket and before, latest first.
    current: Vec<Event>,
    heads: Vec<u32>,
    occupied: Bitmap,
    nodes: Vec<Node>,
    free: u32,
    beyond: BinaryHeap<Reverse<Far>>,
    len: usize,
}

struct Node {
    event: Event,
    next: u32,
}

/// An event in the heap.
struct Far(Event);

impl PartialEq for Far {
    fn eq(&self, other: &Self) -> bool {
        self.0.order() == other.0.order()
    }
}
impl Eq for Far {}
impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Far {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.order().cmp(&other.0.order())
    }
}

impl EventQueue {
    /// An empty queue for about `events_per_us` events per simulated microsecond.
    pub fn new(events_per_us: u64) -> EventQueue {
        // About eight events a bucket, so that their cache lines can be fetched together; at most 16 ns.
        let span = (8_000_000 / events_per_us.max(1)).clamp(16, 16_384);
        EventQueue {
            shift: span.ilog2(),
            cursor: 0,
            current: Vec::new(),
            heads: vec![NONE; BUCKETS],
            occupied: Bitmap::new(),
            nodes: Vec::new(),
            free: NONE,
            beyond: BinaryHeap::new(),
            len: 0,
        }
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time: Time, key: Key, handle: u32) {
        let event = Event { time, key, handle };
        self.len += 1;
        let bucket = time.as_ps() >> self.shift;
        if bucket <= self.cursor {
            self.insert_current(event);
        } else if bucket - self.cursor < BUCKETS as u64 {
            self.insert_bucket(bucket as usize % BUCKETS, event);
        } else {
            self.beyond.push(Reverse(Far(event)));
        }
    }

    /// Removes the next event if it comes before `end` and shares the bucket of the one before.
    #[inline]
    pub fn pop_current(&mut self, end: Time) -> Option<Event> {
        let event = *self.current.last()?;
        if event.time >= end {
            return None;
        }
        self.current.pop();
        self.len -= 1;
        Some(event)
    }

    /// What the cursor's bucket holds, the latest first; empty when nothing is pending.
    pub fn bucket(&mut self) -> &[Event] {
        if self.current.is_empty() {
            self.advance();
        }
        &self.current
    }

    /// The time of the next event.
    #[inline]
    pub fn next_time(&mut self) -> Option<Time> {
        if self.current.is_empty() && !self.advance() {
            return None;
        }
        self.current.last().map(|event| event.time)
    }

    /// The span of one bucket.
    pub fn bucket_span(&self) -> Duration {
        Duration::from_ps(1 << self.shift)
    }

    fn insert_current(&mut self, event: Event) {
        let place = self.current.partition_point(|other| other.order() > event.order());
        self.current.insert(place, event);
    }

    #[inline]
    fn insert_bucket(&mut self, bucket: usize, event: Event) {
        let next = self.heads[bucket];
        if next == NONE {
            self.occupied.set(bucket);
        }
        let node = Node { event, next };
        if self.free == NONE {
            self.heads[bucket] = self.nodes.len() as u32;
            self.nodes.push(node);
        } else {
            let slot = self.free;
            self.free = self.nodes[slot as usize].next;
            self.nodes[slot as usize] = node;
            self.heads[bucket] = slot;
        }
    }

    /// Moves the cursor to the next occupied bucket and sorts it. False when nothing is pending.
    fn advance(&mut self) -> bool {
        if self.len == 0 {
            return false;
        }
        let near =
            self.occupied.next_after(self.cursor as usize % BUCKETS).map(|distance| self.cursor + distance as u64);
        let far = self.beyond.peek().map(|Reverse(Far(event))| event.time.as_ps() >> self.shift);
        self.cursor = [near, far].into_iter().flatten().min().expect("len counts every pending event");
        if near == Some(self.cursor) {
            self.unload(self.cursor as usize % BUCKETS);
        }
        while self.beyond.peek().is_some_and(|Reverse(Far(event))| event.time.as_ps() >> self.shift <= self.cursor) {
            let Reverse(Far(event)) = self.beyond.pop().expect("just peeked");
            self.current.push(event);
        }
        self.current.sort_unstable_by_key(|event| std::cmp::Reverse(event.order()));
        true
    }

    fn unload(&mut self, bucket: usize) {
        self.occupied.clear(bucket);
        let mut slot = std::mem::replace(&mut self.heads[bucket], NONE);
        while slot != NONE {
            let node = &mut self.nodes[slot as usize];
            self.current.push(node.event);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = slot;
            slot = next;
        }
    }
}

/// Which buckets hold events: one bit each, and one summary bit per 64.
struct Bitmap {
    words: [u64; BUCKETS / 64],
    summary: [u64; BUCKETS / 64 / 64],
}

impl Bitmap {
    fn new() -> Bitmap {
        Bitmap { words: [0; BUCKETS / 64], summary: [0; BUCKETS / 64 / 64] }
    }

    #[inline]
    fn set(&mut self, bit: usize) {
        self.words[bit / 64] |= 1 << (bit % 64);
        self.summary[bit / 4096] |= 1 << (bit / 64 % 64);
    }

    #[inline]
    fn clear(&mut self, bit: usize) {
        self.words[bit / 64] &= !(1 << (bit % 64));
        if self.words[bit / 64] == 0 {
            self.summary[bit / 4096] &= !(1 << (bit / 64 % 64));
        }
    }

    /// Distance from `bit` to the next set bit, going round; at least 1.
    #[inline]
    fn next_after(&self, bit: usize) -> Option<usize> {
        let start = (bit + 1) % BUCKETS;
        let found = self.first_from(start).or_else(|| self.first_from(0))?;
        Some((found + BUCKETS - start) % BUCKETS + 1)
    }

    #[inline]
    fn first_from(&self, bit: usize) -> Option<usize> {
        let word = bit / 64;
        let rest = self.words[word] & (u64::MAX << (bit % 64));
        if rest != 0 {
            return Some(word * 64 + rest.trailing_zeros() as usize);
        }
        self.first_word_after(word).map(|word| word * 64 + self.words[word].trailing_zeros() as usize)
    }

    fn first_word_after(&self, word: usize) -> Option<usize> {
        let next = word + 1;
        let mut group = next / 64;
        let mut mask = u64::MAX << (next % 64);
        while group < self.summary.len() {
            let rest = self.summary[group] & mask;
            if rest != 0 {
                return Some(group * 64 + rest.trailing_zeros() as usize);
            }
            mask = u64::MAX;
            group += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{Purpose, Stream};

    use super::super::event::Kind;
    use super::*;

    fn pop(queue: &mut EventQueue, end: Time) -> Option<Event> {
        queue.next_time()?;
        queue.pop_current(end)
    }

    /// Pops everything, pushing one follow-up per event as a simulation would, and checks the order.
    fn check(events_per_us: u64, delays: &[u64]) {
        let mut queue = EventQueue::new(events_per_us);
        let mut stream = Stream::new(1, Purpose::Traffic, 0);
        for place in 0..200 {
            queue.push(Time::from_ps(stream.below(1_000)), Key::new(place, Kind::Arrive, 0), place);
        }
        let (mut last, mut served) = ((Time::ZERO, Key::new(0, Kind::Arrive, 0)), 0);
        while let Some(event) = pop(&mut queue, Time::MAX) {
            assert!(event.order() >= last, "served out of order");
            last = event.order();
            served += 1;
            if served < 20_000 {
                let delay = Duration::from_ps(1 + stream.below(delays[served % delays.len()]));
                queue.push(event.time + delay, event.key, event.handle);
            }
        }
        assert_eq!(served, 20_000 + 199);
        assert!(queue.is_empty());
    }

    #[test]
    fn events_come_out_in_order_of_time_and_key() {
        check(1, &[10, 1_000, 300_000]);
        check(1_000_000, &[10, 1_000, 300_000]);
    }

    #[test]
    fn events_beyond_the_calendar_come_in_their_turn() {
        check(40_000, &[100, 5_000_000_000, 700, 200_000_000_000]);
    }

    #[test]
    fn an_event_at_the_horizon_is_left_for_later() {
        let mut queue = EventQueue::new(1);
        queue.push(Time::from_ps(10), Key::new(0, Kind::Arrive, 0), 0);
        assert!(pop(&mut queue, Time::from_ps(10)).is_none());
        assert!(pop(&mut queue, Time::from_ps(11)).is_some());
    }
}
