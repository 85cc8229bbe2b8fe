//! The event queue: a calendar of short buckets, one of long buckets beyond it, and a heap for what lies beyond both.
//!
//! Most insertions are one write at the end of a list: a calendar queue (Brown, CACM 1988) whose buckets are lists of
//! chunks of two cache lines. A bucket is sorted when its turn comes. The larger the fabric, the shorter the buckets,
//! and the less time all of them span; what lies beyond goes into a *page*, as long as the whole calendar, and is dealt
//! to the buckets when the clock reaches the page (a hierarchical wheel: Varghese and Lauck, SOSP 1987). Pages are
//! lists of longer chunks: each is fetched while the one before is dealt. Memory grows with pending events, not with
//! buckets; nothing is allocated once there are chunks for the largest number of them.

use etherweave_kernel::memory::{prefer_huge_pages, prefetch};
use std::{cmp::Reverse, collections::BinaryHeap};

use etherweave_primitives::Time;

use super::event::{Event, EventKey, PrefetchHint};

/// Buckets in the calendar, and pages: as many as a word has bits, squared.
const BUCKETS: usize = 1 << 12;
/// A page has as many buckets as the calendar.
const PAGE_SHIFT: u32 = BUCKETS.ilog2();
/// Events in a chunk of a bucket: as many as fit in two cache lines beside its length and successor.
const CHUNK: usize = 5;
/// Events in a chunk of a page: eight cache lines.
const PAGE_CHUNK: usize = 21;
const NONE: u32 = u32::MAX;
/// Events of a bucket, about.
const EVENTS_PER_BUCKET: u64 = 16;
/// Longest span of a bucket [ps].
const SPAN_MAX: u64 = 1 << 14;
/// Bits that number the events of a bucket which is sorted by words, and how many events that needs: of fewer, words
/// take more instructions than moves of events.
const PLACE_BITS: u32 = u64::BITS - SPAN_MAX.ilog2() - EventKey::ORDER_BITS;
const SORTED_BY_WORDS_MIN: usize = 21;
const SORTED_BY_WORDS_MAX: usize = 1 << PLACE_BITS;

/// Pending events, served in order of (time, key).
pub struct EventQueue {
    /// A bucket spans 2^shift ps.
    shift: u32,
    /// Bucket number (time >> shift) that `current` came from.
    cursor: u64,
    /// Events of the cursor's bucket and before, latest first.
    current: Vec<Event>,
    /// Room to sort a long bucket: what it held, and a word of each event.
    unsorted: Vec<Event>,
    words: Vec<u64>,
    /// Events within a calendar's length of the cursor, or on its page.
    buckets: Calendar<CHUNK>,
    pages: Calendar<PAGE_CHUNK>,
    beyond: BinaryHeap<Reverse<Far>>,
}

/// Lists of chunks, one for each bucket or page.
struct Calendar<const N: usize> {
    heads: Box<[u32; BUCKETS]>,
    occupied: Bitmap,
    chunks: Chunks<N>,
}

/// The events of a bucket, in no order, chunk by chunk.
pub struct Upcoming<'a, const N: usize = CHUNK> {
    chunks: &'a [Chunk<N>],
    next: u32,
}

impl<'a, const N: usize> Iterator for Upcoming<'a, N> {
    type Item = &'a [Event];

    #[inline]
    fn next(&mut self) -> Option<&'a [Event]> {
        let chunk = self.chunks.get(self.next as usize)?;
        self.next = chunk.next;
        prefetch(self.chunks, chunk.next as usize, size_of::<Chunk<N>>());
        Some(chunk.filled())
    }
}

struct Chunks<const N: usize> {
    all: Vec<Chunk<N>>,
    free: u32,
}

/// Some events of a bucket. Only the first chunk of a bucket may have room.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Chunk<const N: usize> {
    events: [Event; N],
    /// The place of the first event: the last that was added; `N` where there is none.
    start: u32,
    next: u32,
}

impl<const N: usize> Chunk<N> {
    /// Its events, the last that was added first.
    #[inline(always)]
    fn filled(&self) -> &[Event] {
        &self.events[self.start as usize..]
    }
}

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
        // So many events a bucket that their cache lines can be fetched together.
        let span = (EVENTS_PER_BUCKET * 1_000_000 / events_per_us.max(1)).clamp(16, SPAN_MAX);
        EventQueue {
            shift: span.ilog2(),
            cursor: 0,
            current: Vec::new(),
            unsorted: Vec::new(),
            words: Vec::new(),
            buckets: Calendar::new(),
            pages: Calendar::new(),
            beyond: BinaryHeap::new(),
        }
    }

    /// Makes room for so many events, most of them on later pages if the buckets are short.
    pub fn reserve(&mut self, events: usize) {
        self.pages.chunks.reserve(events / PAGE_CHUNK);
        self.buckets.chunks.reserve((events / CHUNK).min(4 * BUCKETS));
    }

    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let bucket = event.time.as_ps() >> self.shift;
        let distance = bucket.wrapping_sub(self.cursor);
        if distance.wrapping_sub(1) < BUCKETS as u64 - 1 {
            self.buckets.insert(bucket as usize % BUCKETS, event);
        } else {
            let Event { time, key, bits, hint } = event;
            self.insert_elsewhere(time, key, bits, hint);
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
        debug_assert!(
            self.current.last().is_none_or(|next| next.order() != event.order() || event.is_exchangeable(next)),
            "two different events of one time and key have no order: {event:?}, {:?}",
            self.current.last()
        );
        Some(event)
    }

    /// Returns the events that are left of the cursor's bucket, the latest first.
    pub fn bucket(&self) -> &[Event] {
        &self.current
    }

    /// The next buckets with events, and what they hold now: the first of them, and the one after it.
    pub fn next_buckets(&self) -> [Upcoming<'_>; 2] {
        let first = self.buckets.next(self.cursor).unwrap_or(self.cursor);
        let second = self.buckets.next(first).unwrap_or(first);
        let third = self.buckets.next(second).unwrap_or(second);
        self.buckets.chunks.prefetch(self.buckets.head(third));
        [first, second].map(|bucket| self.buckets.list(self.buckets.head(bucket)))
    }

    /// The time of the next event.
    #[inline]
    pub fn next_time(&mut self) -> Option<Time> {
        if self.current.is_empty() && !self.advance() {
            return None;
        }
        self.current.last().map(|event| event.time)
    }

    /// All pending events, in no order.
    pub fn pending(&self) -> impl Iterator<Item = &Event> {
        let listed = self.buckets.events().chain(self.pages.events());
        self.current.iter().chain(listed).chain(self.beyond.iter().map(|Reverse(Far(event))| event))
    }

    /// Takes the fields of an event, not the event, so that [`EventQueue::push`] has them in registers.
    #[inline(never)]
    fn insert_elsewhere(&mut self, time: Time, key: EventKey, bits: u32, hint: PrefetchHint) {
        let (bucket, event) = (time.as_ps() >> self.shift, Event { time, key, bits, hint });
        let page = bucket >> PAGE_SHIFT;
        if bucket <= self.cursor {
            let place = self.current.partition_point(|other| other.order() > event.order());
            self.current.insert(place, event);
        } else if page - self.page() < BUCKETS as u64 {
            self.pages.insert(page as usize % BUCKETS, event);
        } else {
            self.beyond.push(Reverse(Far(event)));
        }
    }

    /// The page of the cursor. The events of no earlier page, nor of this one, are still in `pages`.
    fn page(&self) -> u64 {
        self.cursor >> PAGE_SHIFT
    }

    /// Moves the cursor to the next occupied bucket and sorts it. False when nothing is pending.
    fn advance(&mut self) -> bool {
        let far = self.beyond.peek().map_or(u64::MAX, |Reverse(Far(event))| event.time.as_ps() >> self.shift);
        let mut near = self.next_bucket();
        if near.min(far) >> PAGE_SHIFT != self.page()
            && let Some(page) = self.pages.next(self.page())
            && page << PAGE_SHIFT <= near.min(far)
        {
            self.open(page);
            near = self.next_bucket();
        }
        if near.min(far) == u64::MAX {
            return false;
        }
        self.cursor = near.min(far);
        if near == self.cursor {
            self.unload(self.cursor as usize % BUCKETS);
        }
        if far == self.cursor {
            self.unload_beyond();
        }
        match self.current.len() {
            SORTED_BY_WORDS_MIN..=SORTED_BY_WORDS_MAX => self.sort_by_words(),
            _ => self.current.sort_unstable_by_key(|event| Reverse(event.order())),
        }
        true
    }

    /// Sorts the cursor's bucket by a word of each event: its time in the bucket, place and kind, all inverted, and
    /// where it stands.
    #[inline(never)]
    fn sort_by_words(&mut self) {
        std::mem::swap(&mut self.current, &mut self.unsorted);
        self.words.clear();
        let times = (1 << self.shift) - 1;
        self.words.extend(self.unsorted.iter().enumerate().map(|(place, event)| {
            let time = event.time.as_ps() & times;
            let order = time << EventKey::ORDER_BITS | event.key.place_and_kind();
            !order << PLACE_BITS | place as u64
        }));
        self.words.sort_unstable();
        self.current.clear();
        let places = (1 << PLACE_BITS) - 1;
        self.current.extend(self.words.iter().map(|word| self.unsorted[(word & places) as usize]));
        if self.words.windows(2).any(|pair| pair[0] >> PLACE_BITS == pair[1] >> PLACE_BITS) {
            // What differs by its index alone.
            self.current.sort_unstable_by_key(|event| Reverse(event.order()));
        }
    }

    /// The first bucket with events in the calendar.
    fn next_bucket(&self) -> u64 {
        self.buckets.next(self.cursor).unwrap_or(u64::MAX)
    }

    /// Puts the cursor before a page and deals the events of the page to their buckets.
    fn open(&mut self, page: u64) {
        self.cursor = (page << PAGE_SHIFT) - 1;
        let mut index = self.pages.take(page as usize % BUCKETS);
        while index != NONE {
            let chunk = &self.pages.chunks.all[index as usize];
            self.pages.chunks.prefetch(chunk.next);
            for event in chunk.filled() {
                let bucket = (event.time.as_ps() >> self.shift) as usize % BUCKETS;
                self.buckets.insert(bucket, *event);
            }
            index = self.pages.chunks.release(index);
        }
    }

    fn unload(&mut self, bucket: usize) {
        let mut index = self.buckets.take(bucket);
        while let Some(chunk) = self.buckets.chunks.all.get(index as usize) {
            // A copy of constant size is a few moves, of any other a call or a loop.
            match chunk.start {
                0 => self.current.extend_from_slice(&chunk.events),
                1 => self.current.extend_from_slice(&chunk.events[1..]),
                2 => self.current.extend_from_slice(&chunk.events[2..]),
                3 => self.current.extend_from_slice(&chunk.events[3..]),
                start => chunk.events[start as usize..].iter().for_each(|event| self.current.push(*event)),
            }
            index = self.buckets.chunks.release(index);
        }
    }

    fn unload_beyond(&mut self) {
        while self.beyond.peek().is_some_and(|Reverse(Far(event))| event.time.as_ps() >> self.shift <= self.cursor) {
            let Reverse(Far(event)) = self.beyond.pop().expect("just peeked");
            self.current.push(event);
        }
    }
}

impl<const N: usize> Calendar<N> {
    fn new() -> Calendar<N> {
        let chunks = Chunks { all: Vec::new(), free: NONE };
        Calendar { heads: Box::new([NONE; BUCKETS]), occupied: Bitmap::default(), chunks }
    }

    #[inline(always)]
    fn insert(&mut self, place: usize, event: Event) {
        if let Some(chunk) = self.chunks.all.get_mut(self.heads[place] as usize)
            && let place = chunk.start.wrapping_sub(1)
            && let Some(slot) = chunk.events.get_mut(place as usize)
        {
            *slot = event;
            chunk.start = place;
        } else {
            self.heads[place] = self.chunks.add(event, self.heads[place]);
            self.occupied.set(place);
        }
    }

    fn head(&self, number: u64) -> u32 {
        self.heads[number as usize % BUCKETS]
    }

    /// Returns the events that a list holds from one of its chunks on.
    fn list(&self, next: u32) -> Upcoming<'_, N> {
        Upcoming { chunks: &self.chunks.all, next }
    }

    /// All events, in no order.
    fn events(&self) -> impl Iterator<Item = &Event> {
        self.heads.iter().flat_map(|&head| self.list(head)).flatten()
    }

    /// Empties a list; gives its first chunk.
    fn take(&mut self, place: usize) -> u32 {
        self.occupied.clear(place);
        std::mem::replace(&mut self.heads[place], NONE)
    }

    /// The first bucket or page with events after `number`.
    fn next(&self, number: u64) -> Option<u64> {
        self.occupied.distance_to_next(number as usize % BUCKETS).map(|distance| number + distance)
    }
}

impl<const N: usize> Chunks<N> {
    /// A chunk with `event`, before others.
    #[inline(always)]
    fn add(&mut self, event: Event, next: u32) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let chunk = &mut self.all[index as usize];
        chunk.events[N - 1] = event;
        chunk.start = N as u32 - 1;
        self.free = std::mem::replace(&mut chunk.next, next);
        index
    }

    fn reserve(&mut self, chunks: usize) {
        self.all.reserve(chunks.saturating_sub(self.all.len()));
        prefer_huge_pages(&self.all);
    }

    /// Makes an empty chunk.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let filling = Event::new(Time::ZERO, EventKey::from_bits(0), 0);
        let is_full = self.all.len() == self.all.capacity();
        self.free = self.all.len() as u32;
        self.all.push(Chunk { events: [filling; N], start: N as u32, next: NONE });
        if is_full {
            prefer_huge_pages(&self.all);
        }
    }

    /// Begins to fetch a chunk, if there is one of that number.
    fn prefetch(&self, index: u32) {
        prefetch(&self.all, index as usize, size_of::<Chunk<N>>());
    }

    /// Empties a chunk; gives the one that followed it.
    fn release(&mut self, index: u32) -> u32 {
        let next = std::mem::replace(&mut self.all[index as usize].next, self.free);
        self.free = index;
        next
    }
}

/// Buckets that hold events: one bit each, and one summary bit per word.
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
        let offset = words * 64 + self.words[word].trailing_zeros() as usize;
        Some((offset - start % 64 + 1) as u64)
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{Duration, Purpose, Stream};

    use super::{super::event::Kind, *};
    use etherweave_kernel::indices::PortIndex;

    fn pop(queue: &mut EventQueue, end: Time) -> Option<Event> {
        queue.next_time()?;
        queue.pop_current(end)
    }

    /// Pops everything, pushing one follow-up per event as a simulation would, and checks that each event is served
    /// once, in order.
    fn check(events_per_us: u64, delays: &[u64]) {
        let mut queue = EventQueue::new(events_per_us);
        let mut stream = Stream::new(1, Purpose::Traffic, 0);
        let (mut pushed, mut served) = (Vec::new(), Vec::new());
        for place in 0..200 {
            let key = EventKey::new(PortIndex::new(place), Kind::Arrive, 0);
            pushed.push(Event::new(Time::from_ps(stream.below(1_000)), key, place));
        }
        pushed.iter().for_each(|event| queue.push(*event));
        while let Some(event) = pop(&mut queue, Time::MAX) {
            served.push(event.order());
            if served.len() < 20_000 {
                let delay = Duration::from_ps(1 + stream.below(delays[served.len() % delays.len()]));
                pushed.push(Event::new(event.time + delay, event.key, event.bits));
                queue.push(pushed[pushed.len() - 1]);
            }
        }
        pushed.sort_by_key(Event::order);
        assert!(pushed.iter().map(Event::order).eq(served), "served other events, or out of order");
        assert!(queue.pending().next().is_none());
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
    fn events_on_later_pages_come_in_their_turn() {
        // Buckets of 16 ps: the calendar spans 66 ns, all pages 268 us.
        check(1_000_000, &[10, 60_000, 70_000, 300_000, 270_000_000, 500_000_000]);
        check(40_000, &[100, 700_000, 900_000, 2_000_000]);
    }

    #[test]
    fn events_that_differ_by_their_index_alone_come_in_its_order() {
        let mut queue = EventQueue::new(1);
        for place in 0..100 {
            let key = EventKey::new(PortIndex::new(3), Kind::Softirq, place * 7 % 100);
            queue.push(Event::new(Time::from_ps(20_000), key, 0));
        }
        let served = std::iter::from_fn(|| pop(&mut queue, Time::MAX)).map(|event| event.key.index());
        assert!(served.eq(0..100));
    }

    #[test]
    fn an_event_at_the_horizon_is_left_for_later() {
        let mut queue = EventQueue::new(1);
        queue.push(Event::new(Time::from_ps(10), EventKey::new(PortIndex::new(0), Kind::Arrive, 0), 0));
        assert!(pop(&mut queue, Time::from_ps(10)).is_none());
        assert!(pop(&mut queue, Time::from_ps(11)).is_some());
    }
}
