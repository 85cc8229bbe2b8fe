//! Remote events and measures as words of 32 bits, for workers that share no memory.

use etherweave_kernel::{Wire, wire};
use etherweave_routing::RoutedPacket;

use crate::{
    deadlock::Wait, deadlock::WaitingChannel, fairness::Fairness, histogram::Histogram, measures::Measures,
    packet::NONE, packet::Packet, reordering::Reordering, tally::Batch, tally::Tally, wires::RemoteAction,
    wires::RemoteEvent,
};

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
    Measures { tally, fingerprints, held, most, fairness, reordering, busy, paused, waits, steps }
}

/// Kind of a remote event, in the high half of its second word; the low half is the shard.
const PACKET: u32 = 0;
const CREDIT: u32 = 1;
const PAUSE: u32 = 2;
const NOTIFICATION: u32 = 3;

/// 8 words with a packet or a notification about one, 3 without.
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
            RemoteAction::Notification(packet) => {
                words.extend([self.at, NOTIFICATION << 16 | shard]);
                packet.write(words);
            }
        }
    }

    fn read(words: &mut &[u32]) -> RemoteEvent {
        let [at, head] = [(); 2].map(|()| u32::read(words));
        let content = match head >> 16 {
            PACKET => RemoteAction::Packet(Packet::read(words)),
            CREDIT => RemoteAction::Credit(u32::read(words)),
            PAUSE => RemoteAction::Pause(u32::read(words)),
            NOTIFICATION => RemoteAction::Notification(Packet::read(words)),
            kind => unreachable!("there are four kinds of remote events, not {kind}"),
        };
        RemoteEvent { at, shard: head as u16, content }
    }
}

/// Without what a packet is given where it comes in.
impl Wire for Packet {
    fn write(&self, words: &mut Vec<u32>) {
        let Packet { born, entered: _, next: _, place, route } = self;
        (*born, *place, route.words()).write(words);
    }

    fn read(words: &mut &[u32]) -> Packet {
        let (born, place, route) = Wire::read(words);
        Packet { born, entered: 0, next: NONE, place, route: RoutedPacket::of_words(route) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_event_with_a_packet_takes_32_bytes_and_others_12() {
        let route =
            RoutedPacket { dst: 5, src: 6, route_state: [7, 0xffff], hash: 0xfffe, hops: 9, is_misrouted: true };
        let packet = Packet { born: 1, entered: 2, next: 3, place: 4, route };
        let sent = [
            RemoteAction::Packet(packet),
            RemoteAction::Credit(u32::MAX),
            RemoteAction::Pause(11),
            RemoteAction::Notification(packet),
        ];
        let mut words = Vec::new();
        sent.into_iter().for_each(|content| RemoteEvent { at: 10, shard: 0xffff, content }.write(&mut words));
        assert_eq!(words.len() * size_of::<u32>(), 32 + 12 + 12 + 32);
        let mut left = &words[..];
        let outbox = [(); 4].map(|()| RemoteEvent::read(&mut left));
        assert!(left.is_empty() && outbox.iter().all(|remote| (remote.at, remote.shard) == (10, 0xffff)));
        let [
            RemoteAction::Packet(arrived),
            RemoteAction::Credit(u32::MAX),
            RemoteAction::Pause(11),
            RemoteAction::Notification(notice),
        ] = outbox.map(|it| it.content)
        else {
            panic!("a packet, a credit, a pause and a notification were sent")
        };
        // Entering and queueing is done anew where it comes in.
        let expected = Packet { entered: 0, next: NONE, ..packet };
        assert_eq!([arrived, notice].map(|packet| format!("{packet:?}")), [(); 2].map(|()| format!("{expected:?}")));
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
        let measures = Measures { tally, busy: vec![23, 24], paused: vec![25, 26], waits, steps, ..counts };
        let mut words = Vec::new();
        measures.write(&mut words);
        let mut left = &words[..];
        assert_eq!((Measures::read(&mut left), left), (measures, &[][..]));
    }
}
