//! The event queue: a calendar of short buckets, and a heap for what lies beyond it.
//!
//! Nearly every event of a packet simulation lies within a microsecond or two, so most insertions are one
//! write at the end of a list: a calendar queue (Brown, CACM 1988) whose buckets are lists of chunks of two cache
//! lines. A bucket is sorted when its turn comes. Memory grows with pending events, not with buckets; nothing is
//! allocated once there are chunks for the largest number of pending events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etherweave_primitives::{Duration, Time};

use super::event::Event;

/// Buckets in the calendar: as many as a word has bits, squared.
const BUCKETS: usize = 1 << 12;
/// Events in a chunk: as many as fit in two cache lines beside its length and successor.
const CHUNK: usize = 5;
const NONE: u32 = u32::MAX;

/// Pending events, served in order of (time, key).
pub struct EventQueue {
    /// A bucket spans 2^shift ps.
    shift: u32,
    /// Bucket number (time >> shift) that `current` came from.
    cursor: u64,
    /// Events of the cursor's bucket and before, latest first.
    current: Vec<Event>,
    heads: Box<[u32; BUCKETS]>,
    occupied: Bitmap,
    chunks: Vec<Chunk>,
    /// The first of the empty chunks.
    free: u32,
    beyond: BinaryHeap<Reverse<Far>>,
    len: usize,
}

/// Some events of a bucket. Only the first chunk of a bucket may have room.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Chunk {
    events: [Event; CHUNK],
    len: u32,
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
            heads: Box::new([NONE; BUCKETS]),
            occupied: Bitmap::default(),
            chunks: Vec::new(),
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
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        self.len += 1;
        let bucket = event.time.as_ps() >> self.shift;
        let distance = bucket.wrapping_sub(self.cursor);
        if distance.wrapping_sub(1) < BUCKETS as u64 - 1 {
            self.insert_bucket(bucket as usize % BUCKETS, event);
        } else {
            self.insert_elsewhere(bucket, event);
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

    #[cold]
    #[inline(never)]
    fn insert_elsewhere(&mut self, bucket: u64, event: Event) {
        if bucket > self.cursor {
            return self.beyond.push(Reverse(Far(event)));
        }
        let place = self.current.partition_point(|other| other.order() > event.order());
        self.current.insert(place, event);
    }

    #[inline]
    fn insert_bucket(&mut self, bucket: usize, event: Event) {
        if let Some(chunk) = self.chunks.get_mut(self.heads[bucket] as usize)
            && let Some(slot) = chunk.events.get_mut(chunk.len as usize)
        {
            *slot = event;
            chunk.len += 1;
        } else {
            self.add_chunk(bucket, event);
        }
    }

    /// Puts a chunk with `event` before the others of a bucket.
    fn add_chunk(&mut self, bucket: usize, event: Event) {
        if self.free == NONE {
            self.grow(event);
        }
        let chunk = &mut self.chunks[self.free as usize];
        chunk.events[0] = event;
        chunk.len = 1;
        let next = std::mem::replace(&mut self.heads[bucket], self.free);
        self.free = std::mem::replace(&mut chunk.next, next);
        self.occupied.set(bucket);
    }

    /// Makes an empty chunk; what its events are does not matter.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filling: Event) {
        self.free = self.chunks.len() as u32;
        self.chunks.push(Chunk { events: [filling; CHUNK], len: 0, next: NONE });
    }

    /// Moves the cursor to the next occupied bucket and sorts it. False when nothing is pending.
    fn advance(&mut self) -> bool {
        if self.len == 0 {
            return false;
        }
        let near =
            self.occupied.distance_to_next(self.cursor as usize % BUCKETS).map(|distance| self.cursor + distance);
        let far = self.beyond.peek().map(|Reverse(Far(event))| event.time.as_ps() >> self.shift);
        self.cursor = near.unwrap_or(u64::MAX).min(far.unwrap_or(u64::MAX));
        if near == Some(self.cursor) {
            self.unload(self.cursor as usize % BUCKETS);
        }
        if far == Some(self.cursor) {
            self.unload_beyond();
        }
        self.current.sort_unstable_by_key(|event| Reverse(event.order()));
        true
    }

    fn unload(&mut self, bucket: usize) {
        self.occupied.clear(bucket);
        let mut index = std::mem::replace(&mut self.heads[bucket], NONE);
        while let Some(chunk) = self.chunks.get_mut(index as usize) {
            // A copy of constant size is a few moves, of any other a call.
            self.current.extend_from_slice(&chunk.events);
            self.current.truncate(self.current.len() - (CHUNK - chunk.len as usize));
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = index;
            index = next;
        }
    }

    fn unload_beyond(&mut self) {
        while self.beyond.peek().is_some_and(|Reverse(Far(event))| event.time.as_ps() >> self.shift <= self.cursor) {
            let Reverse(Far(event)) = self.beyond.pop().expect("just peeked");
            self.current.push(event);
        }
    }
}

/// Which buckets hold events: one bit each, and one summary bit per word.
struct Bitmap {
    words: [u64; BUCKETS / 64],
    summary: u64,
}

impl Default for Bitmap {
    fn default() -> Bitmap {
        Bitmap { words: [0; BUCKETS / 64], summary: 0 }
    }
}

impl Bitmap {
    #[inline]
    fn set(&mut self, bit: usize) {
        self.words[bit / 64] |= 1 << (bit % 64);
        self.summary |= 1 << (bit / 64);
    }

    #[inline]
    fn clear(&mut self, bit: usize) {
        self.words[bit / 64] &= !(1 << (bit % 64));
        if self.words[bit / 64] == 0 {
            self.summary &= !(1 << (bit / 64));
        }
    }

    /// Distance from `bit` to the next set bit, going round; at least 1.
    #[inline]
    fn distance_to_next(&self, bit: usize) -> Option<u64> {
        let start = (bit + 1) % BUCKETS;
        let rest = self.words[start / 64] >> (start % 64);
        if rest != 0 {
            return Some(1 + u64::from(rest.trailing_zeros()));
        }
        // Going round, the words after this one come first and this one last.
        let turn = self.summary.rotate_right((start / 64) as u32 + 1);
        if turn == 0 {
            return None;
        }
        let words = turn.trailing_zeros() as usize + 1;
        let word = (start / 64 + words) % self.words.len();
        let found = words * 64 + self.words[word].trailing_zeros() as usize;
        Some((found - start % 64 + 1) as u64)
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{Purpose, Stream};

    use super::super::event::{EventKey, Kind};
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
            queue.push(Event::new(Time::from_ps(stream.below(1_000)), EventKey::new(place, Kind::Arrive, 0), place));
        }
        let (mut last, mut served) = (0, 0);
        while let Some(event) = pop(&mut queue, Time::MAX) {
            assert!(event.order() >= last, "served out of order");
            last = event.order();
            served += 1;
            if served < 20_000 {
                let delay = Duration::from_ps(1 + stream.below(delays[served % delays.len()]));
                queue.push(Event::new(event.time + delay, event.key, event.handle));
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
        queue.push(Event::new(Time::from_ps(10), EventKey::new(0, Kind::Arrive, 0), 0));
        assert!(pop(&mut queue, Time::from_ps(10)).is_none());
        assert!(pop(&mut queue, Time::from_ps(11)).is_some());
    }
}
