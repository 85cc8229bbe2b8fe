//! Remote events and measures as words of 32 bits, for workers that share no memory.
//!
//! The form is fixed: fields in the order in which they are written here, longer numbers with their low word first.
//! The library that carries the words turns their bytes where machines differ.

use etherweave_routing::RoutedPacket;

use crate::deadlock::{Wait, WaitingChannel};
use crate::fairness::Fairness;
use crate::histogram::Histogram;
use crate::measures::Measures;
use crate::packet::{NONE, Packet};
use crate::reordering::Reordering;
use crate::shard::{RemoteAction, RemoteEvent};
use crate::tally::{Batch, Tally};

/// A value that is sent as words and read back unchanged.
pub(crate) trait Wire: Sized {
    fn write(&self, words: &mut Vec<u32>);

    /// # Panics
    /// When the words end too early.
    fn read(words: &mut &[u32]) -> Self;
}

impl Wire for u32 {
    fn write(&self, words: &mut Vec<u32>) {
        words.push(*self);
    }

    fn read(words: &mut &[u32]) -> u32 {
        *words.split_off_first().expect("what is read was written")
    }
}

/// A word for a smaller number.
macro_rules! small {
    ($($small:ty)*) => {
        $(impl Wire for $small {
            fn write(&self, words: &mut Vec<u32>) {
                words.push(u32::from(*self));
            }

            fn read(words: &mut &[u32]) -> $small {
                u32::read(words) as $small
            }
        })*
    };
}

small! { u8 u16 }

impl Wire for bool {
    fn write(&self, words: &mut Vec<u32>) {
        words.push(u32::from(*self));
    }

    fn read(words: &mut &[u32]) -> bool {
        u32::read(words) == 1
    }
}

impl Wire for u64 {
    fn write(&self, words: &mut Vec<u32>) {
        words.extend([*self as u32, (*self >> 32) as u32]);
    }

    fn read(words: &mut &[u32]) -> u64 {
        let [low, high] = [(); 2].map(|()| u64::from(u32::read(words)));
        high << 32 | low
    }
}

impl Wire for u128 {
    fn write(&self, words: &mut Vec<u32>) {
        [*self as u64, (*self >> 64) as u64].iter().for_each(|half| half.write(words));
    }

    fn read(words: &mut &[u32]) -> u128 {
        let [low, high] = [(); 2].map(|()| u128::from(u64::read(words)));
        high << 64 | low
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn write(&self, words: &mut Vec<u32>) {
        self.0.write(words);
        self.1.write(words);
    }

    fn read(words: &mut &[u32]) -> (A, B) {
        (A::read(words), B::read(words))
    }
}

/// How many, then each.
impl<T: Wire> Wire for Vec<T> {
    fn write(&self, words: &mut Vec<u32>) {
        (self.len() as u64).write(words);
        self.iter().for_each(|member| member.write(words));
    }

    fn read(words: &mut &[u32]) -> Vec<T> {
        (0..u64::read(words)).map(|_| T::read(words)).collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, words: &mut Vec<u32>) {
        self.is_some().write(words);
        self.iter().for_each(|value| value.write(words));
    }

    fn read(words: &mut &[u32]) -> Option<T> {
        bool::read(words).then(|| T::read(words))
    }
}

/// Structures field by field.
macro_rules! wire {
    ($($name:ident { $($field:ident),* })*) => {
        $(impl Wire for $name {
            fn write(&self, words: &mut Vec<u32>) {
                let $name { $($field),* } = self;
                $($field.write(words);)*
            }

            fn read(words: &mut &[u32]) -> $name {
                // Fields of a literal are evaluated in the order in which they stand here.
                $name { $($field: Wire::read(words)),* }
            }
        })*
    };
}

wire! {
    Batch { offered, delivered, latency, hops, misrouted, lost }
    Histogram { counts }
    Fairness { senders, sum, squares, extremes }
    Reordering { packets, late, extent }
    Tally {
        made, source_blocked, delivered, leaving, lost, hops, last_hop, measured, histogram, batch, batches, fingerprint
    }
    WaitingChannel { switch, port, channel }
    Wait { at, next, is_full, step }
    Measures { tally, fingerprints, held, most, fairness, reordering, sent, paused, waits, steps }
}

/// What a remote event holds, in the high half of its second word; the low half is the shard.
const PACKET: u32 = 0;
const CREDIT: u32 = 1;
const PAUSE: u32 = 2;

/// 8 words with a packet, 3 without.
impl Wire for RemoteEvent {
    fn write(&self, words: &mut Vec<u32>) {
        let shard = u32::from(self.shard);
        match &self.content {
            RemoteAction::Packet(packet) => {
                words.extend([self.at, PACKET << 16 | shard]);
                packet.write(words);
            }
            RemoteAction::Credit(output) => words.extend([self.at, CREDIT << 16 | shard, *output]),
            RemoteAction::Pause(word) => words.extend([self.at, PAUSE << 16 | shard, *word]),
        }
    }

    fn read(words: &mut &[u32]) -> RemoteEvent {
        let [at, head] = [(); 2].map(|()| u32::read(words));
        let content = match head >> 16 {
            PACKET => RemoteAction::Packet(Packet::read(words)),
            CREDIT => RemoteAction::Credit(u32::read(words)),
            PAUSE => RemoteAction::Pause(u32::read(words)),
            kind => unreachable!("there are three kinds of remote events, not {kind}"),
        };
        RemoteEvent { at, shard: head as u16, content }
    }
}

/// Without what a packet is given where it comes in.
impl Wire for Packet {
    fn write(&self, words: &mut Vec<u32>) {
        let Packet { born, entered: _, next: _, place, route } = *self;
        let RoutedPacket { dst, src, route_state, hash, hops, is_misrouted } = route;
        let [first, second] = route_state.map(u32::from);
        let rest = u32::from(is_misrouted) << 24 | u32::from(hops) << 16 | u32::from(hash);
        words.extend([born, place, dst, src, second << 16 | first, rest]);
    }

    fn read(words: &mut &[u32]) -> Packet {
        let [born, place, dst, src, route_state, rest] = [(); 6].map(|()| u32::read(words));
        let route = RoutedPacket {
            dst,
            src,
            route_state: [route_state as u16, (route_state >> 16) as u16],
            hash: rest as u16,
            hops: (rest >> 16) as u8,
            is_misrouted: rest >> 24 == 1,
        };
        Packet { born, entered: 0, next: NONE, place, route }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a value, once it has been seen to come out as it went in.
    fn words<T: Wire + PartialEq + std::fmt::Debug>(value: &T) -> Vec<u32> {
        let mut words = Vec::new();
        value.write(&mut words);
        let mut left = &words[..];
        assert_eq!((&T::read(&mut left), left), (value, &[][..]));
        words
    }

    #[test]
    fn numbers_are_written_low_word_first_and_lists_after_their_length() {
        assert_eq!(words(&0x0123_4567_89ab_cdef_u64), [0x89ab_cdef, 0x0123_4567]);
        assert_eq!(words(&(1_u128 << 96 | 7)), [7, 0, 0, 1]);
        assert_eq!(words(&vec![5_u16, 65_535]), [2, 0, 5, 65_535]);
        assert_eq!(words(&Some((1_u32, 2_u32))), [1, 1, 2]);
        assert_eq!(words(&None::<u32>), [0]);
    }

    #[test]
    fn a_remote_event_with_a_packet_takes_32_bytes_and_others_12() {
        let route =
            RoutedPacket { dst: 5, src: 6, route_state: [7, 0xffff], hash: 0xfffe, hops: 9, is_misrouted: true };
        let packet = Packet { born: 1, entered: 2, next: 3, place: 4, route };
        let sent = [RemoteAction::Packet(packet), RemoteAction::Credit(u32::MAX), RemoteAction::Pause(11)];
        let mut words = Vec::new();
        sent.into_iter().for_each(|content| RemoteEvent { at: 10, shard: 0xffff, content }.write(&mut words));
        assert_eq!(words.len() * size_of::<u32>(), 32 + 12 + 12);
        let mut left = &words[..];
        let outbox = [(); 3].map(|()| RemoteEvent::read(&mut left));
        assert!(left.is_empty() && outbox.iter().all(|remote| (remote.at, remote.shard) == (10, 0xffff)));
        let [RemoteAction::Packet(found), RemoteAction::Credit(u32::MAX), RemoteAction::Pause(11)] =
            outbox.map(|it| it.content)
        else {
            panic!("a packet, a credit and a pause were sent")
        };
        // Entering and queueing is done anew where it comes in.
        assert_eq!(format!("{found:?}"), format!("{:?}", Packet { entered: 0, next: NONE, ..packet }));
    }

    #[test]
    fn measures_are_read_as_they_were_written() {
        let mut fairness = Fairness::default();
        fairness.add(u32::MAX);
        let batch = Batch { offered: 1, delivered: 2, latency: u64::MAX, hops: 4, misrouted: 5, lost: 6 };
        let tally = Tally { made: 6, measured: batch, batch: 7, batches: vec![batch; 2], ..Tally::default() };
        let steps = vec![vec![1, 2], vec![3, 4]];
        let step = WaitingChannel { switch: 12, port: 13, channel: 14 };
        let waits = vec![Wait { at: (15, 16), next: (17, 18), is_full: true, step }];
        let reordering = Reordering { packets: 27, late: 28, extent: 29 };
        let counts = Measures { fingerprints: vec![19, 20], held: 21, most: 22, fairness, ..Measures::default() };
        let counts = Measures { reordering, ..counts };
        words(&Measures { tally, sent: vec![23, 24], paused: vec![25, 26], waits, steps, ..counts });
    }
}
