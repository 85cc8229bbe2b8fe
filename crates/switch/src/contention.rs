//! Contention for the last room of a lossy queue: inputs take turns.
//!
//! Packets that arrive by several inputs while a queue is full compete for the room that the next departure frees. In a
//! switch their reception overlaps, byte by byte, and none is first by nature. In a simulation, senders of equal rates
//! and cables stay in step to the picosecond, and the input that is served first would take every place (phase effects:
//! Floyd and Jacobson, *Computer Communication Review* 21(2), 1991). So a packet that finds no room may take the place
//! of the last one in the queue, which is dropped in its stead, if that came by another input whose turn it is not.
//!
//! A turn lasts for some places that are competed for and passes on from input to input. How many is drawn, so that
//! nothing stays in step with round trips. Nothing happens here unless a packet is dropped, and what is dropped in all
//! stays the same.

use etherweave_engine::Wires;
use etherweave_engine::packet::{Handle, NO_PACKET, Packet};
use etherweave_engine::params::MarkAt;
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::mix;

use crate::Switches;
use crate::buffer::Admission;

/// Fewest places of a turn.
const TURN_MIN: u64 = 4;
/// Most places of a turn.
const TURN_MAX: u64 = 28;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rival {
    /// Its input, by the number at the switch.
    input: u16,
    /// Identity of the packet, wherever in memory.
    identity: u64,
}

impl Rival {
    fn of(input: u16, packet: &Packet) -> Rival {
        let sender = u64::from(packet.sender) << 32 | u64::from(packet.word);
        let place = mix(packet.offset) ^ mix(packet.acknowledged ^ (packet.kind as u64) << 56);
        Rival { input, identity: mix(sender ^ place ^ mix(packet.sent.as_ps())) }
    }
}

/// Turn of the inputs at an output.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    /// The packet that won the place that was last competed for.
    last: u64,
    /// The input that precedes all others, by its number at the switch.
    leader: u16,
    /// The input that has the place.
    winner: u16,
    /// Places that are left of this turn.
    left: u16,
    /// Turns so far.
    turns: u32,
}

impl Contention {
    /// Nobody has competed yet.
    pub const NONE: Contention = Contention { last: 0, leader: 0, winner: 0, left: 0, turns: 0 };

    /// Whether a packet goes before the one that holds a place, which came by another input, among `ports`.
    fn precedes(&mut self, [newcomer, holder]: [Rival; 2], ports: u16, identity: u64) -> bool {
        if self.turns == 0 {
            self.begin_turn((mix(identity) % u64::from(ports)) as u16, identity);
        } else if self.last != holder.identity {
            self.left -= 1;
            if self.left == 0 {
                self.begin_turn((self.winner + 1) % ports, identity);
            }
        }
        let rank = |input: u16| (input + ports - self.leader) % ports;
        let precedes = rank(newcomer.input) < rank(holder.input);
        let winner = if precedes { newcomer } else { holder };
        (self.winner, self.last) = (winner.input, winner.identity);
        precedes
    }

    fn begin_turn(&mut self, leader: u16, identity: u64) {
        self.turns += 1;
        let draw = mix(identity ^ mix(u64::from(self.turns)));
        (self.leader, self.left) = (leader, (TURN_MIN + draw % (TURN_MAX - TURN_MIN + 1)) as u16);
    }
}

impl Switches {
    /// A lossy packet found no room in the queue of an output: it is trimmed or dropped, or the last packet is. What
    /// comes by `ingress` need not be queued any more in either case: the answer is false.
    #[cold]
    #[inline(never)]
    pub(super) fn compete(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        class: usize,
        handle: Handle,
    ) -> bool {
        let last = wires.ports[egress].queue(class).last();
        if last.is_some_and(|last| self.goes_before(wires, ingress, egress, [handle, last])) {
            self.replace_last(wires, egress, class, handle);
        }
        if self.trim(wires, egress, handle) {
            return false;
        }
        wires.drop_packet(egress, handle)
    }

    /// Whether it is the turn of an input against that of the last packet in the queue of an output.
    fn goes_before(
        &mut self,
        wires: &Wires,
        ingress: PortIndex,
        egress: PortIndex,
        [handle, last]: [Handle; 2],
    ) -> bool {
        let (newcomer, holder) = (&wires.packets[handle], &wires.packets[last]);
        if holder.ingress == ingress || !wires.is_lossy(holder) {
            return false;
        }
        if self.contentions.is_empty() {
            self.contentions.resize(wires.ports.len(), Contention::NONE);
        }
        let switch = &self.switches[wires.switch_of_port(egress)];
        let rivals = [(ingress, newcomer), (holder.ingress, holder)];
        let rivals = rivals.map(|(port, packet)| Rival::of(switch.number_of(port), packet));
        let output = u64::from(switch.number) << 16 | u64::from(switch.number_of(egress));
        let identity = mix(wires.constants.params.seed) ^ output;
        self.contentions[egress].precedes(rivals, switch.ports, identity)
    }

    /// Puts a packet in the place of the last in a queue, if it has room there; then `handle` is the one that was last.
    fn replace_last(&mut self, wires: &mut Wires, egress: PortIndex, class: usize, handle: Handle) {
        let Some(last) = wires.ports[egress].queue(class).last() else { return };
        let (packet, former) = (wires.packets[handle], wires.packets[last]);
        let [place, former_place] = [&packet, &former].map(|held| wires.constants.group(held.ingress, held.priority));
        let bytes = packet.stored();
        let rest = wires.ports[egress].queue(class).bytes - former.stored();
        let switch = wires.switch_of_port(egress);
        let mut buffer = self.switches[switch].buffer.clone();
        let (mut group, mut former_group) = (self.groups[place], self.groups[former_place]);
        buffer.release(&mut former_group, former.stored());
        let queued = wires.proportionate(egress, rest + bytes);
        if !buffer.queue_has_room(queued) || buffer.admit(&mut group, bytes) != Admission::Stored {
            return;
        }
        self.switches[switch].buffer = buffer;
        (self.groups[place], self.groups[former_place]) = (group, former_group);
        wires.packets.swap(handle, last);
        wires.packets[last].next = NO_PACKET;
        wires.ports[egress].queue_mut(class).bytes = rest;
        wires.mark(MarkAt::Enqueue, egress, class, last);
        wires.ports[egress].queue_mut(class).grow(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 10,000 places each of these inputs of eight gets, when all of them compete for each, lowest first.
    fn places(inputs: &[u16], identity: u64) -> Vec<u32> {
        let mut contention = Contention::NONE;
        let mut places = vec![0; inputs.len()];
        for place in 0..10_000u64 {
            let rival = |number: usize| Rival { input: inputs[number], identity: place << 8 | number as u64 };
            let mut winner = 0;
            for newcomer in 1..inputs.len() {
                if contention.precedes([rival(newcomer), rival(winner)], 8, identity) {
                    winner = newcomer;
                }
            }
            places[winner] += 1;
        }
        places
    }

    #[test]
    fn inputs_get_equal_shares_of_the_places_that_they_compete_for() {
        for inputs in [&[1, 2][..], &[0, 7], &[2, 3, 6], &[0, 1, 2, 3, 4, 5, 6, 7]] {
            for seed in 0..4 {
                let even = 10_000 / inputs.len() as u32;
                // A turn is 16 places on average, with a deviation of 7: some 80 turns of each of eight have 5 %.
                let places = places(inputs, seed);
                assert!(places.iter().all(|count| count.abs_diff(even) * 7 < even), "{inputs:?}: {places:?}");
            }
        }
    }
}
