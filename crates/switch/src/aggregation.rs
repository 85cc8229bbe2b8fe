//! Reduction in switches: packets of an aggregation tree meet, and one goes on for all of them.
//!
//! What waits for a sum is in memory of its own, no part of the shared buffer. Under credits that memory is a part of
//! the buffer of its input, which has as much room more.

use std::collections::VecDeque;

use etherweave_engine::aggregation::{TreeHop, direct};
use etherweave_engine::{Wires, packet::Handle, packet::sums, packet_list::PacketList};
use etherweave_kernel::indices::PortIndex;

use crate::Switches;

/// Open sums of all places of switches in trees.
pub struct Aggregation {
    places: Vec<VecDeque<OpenSum>>,
}

/// Packets of one place in the streams of all children.
struct OpenSum {
    /// Place of their first bytes in their streams [B].
    offset: u64,
    /// Children whose packets have come.
    arrived: u32,
    /// Whether any child adds to it, and whether any gets it.
    has_payload: bool,
    is_wanted: bool,
    /// Whether the child whose packet went on for all does not get it.
    last_gives: bool,
    waiting: PacketList,
}

impl OpenSum {
    fn new(offset: u64) -> OpenSum {
        let (has_payload, is_wanted, last_gives) = (false, false, false);
        OpenSum { offset, arrived: 0, has_payload, is_wanted, last_gives, waiting: PacketList::EMPTY }
    }
}

impl Aggregation {
    /// So many places without open sums.
    pub fn new(places: usize) -> Aggregation {
        Aggregation { places: (0..places).map(|_| VecDeque::new()).collect() }
    }

    /// The open sum of an offset, which begins now if it is not open.
    fn open(&mut self, place: u32, offset: u64) -> &mut OpenSum {
        let sums = &mut self.places[place as usize];
        let number = sums.iter().position(|sum| sum.offset == offset).unwrap_or_else(|| {
            sums.push_back(OpenSum::new(offset));
            sums.len() - 1
        });
        &mut sums[number]
    }

    /// Ends the sum of an offset.
    fn close(&mut self, place: u32, offset: u64) -> OpenSum {
        let sums = &mut self.places[place as usize];
        let number = sums.iter().position(|sum| sum.offset == offset).expect("a sum comes down where it went up");
        sums.remove(number).expect("it is there")
    }
}

impl Switches {
    /// A packet's head is in a switch. Whether it waits until it is added up.
    #[cold]
    #[inline(never)]
    pub(super) fn must_be_summed(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) -> bool {
        let Some(trees) = &wires.constants.trees else { return false };
        let latency = trees.latency;
        match trees.hop(wires.packets[handle].route) {
            TreeHop::None => false,
            TreeHop::Up { .. } | TreeHop::Root(_) => {
                wires.wait_for_sum(ingress, handle, latency);
                true
            }
            // Copies may leave by faster links than the packet comes by, and packets without payload before its end.
            TreeHop::Down(place) if wires.constants.may_underrun || self.loses_payload(wires, place, handle) => {
                wires.wait_for_tail(ingress, handle);
                true
            }
            TreeHop::Down(place) => {
                self.come_down(wires, place, handle);
                false
            }
        }
    }

    /// All of a packet is in a switch. Whether it waits for others, or for the sum.
    #[cold]
    #[inline(never)]
    pub(super) fn joins_sum(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) -> bool {
        let (Some(trees), Some(aggregation)) = (&wires.constants.trees, &mut self.aggregation) else { return false };
        let (offset, hop) = (wires.packets[handle].offset, trees.hop(wires.packets[handle].route));
        let (place, to_down, turns) = match hop {
            TreeHop::None => return false,
            TreeHop::Down(place) => {
                self.come_down(wires, place, handle);
                return false;
            }
            TreeHop::Up { place, to_down } => (place, to_down, false),
            TreeHop::Root(place) => (place, 0, true),
        };
        let children = trees.children[place as usize];
        let sum = aggregation.open(place, offset);
        let packet = &mut wires.packets[handle];
        let gives = packet.acknowledged & sums::GIVES != 0;
        sum.arrived += 1;
        sum.has_payload |= packet.acknowledged & sums::BARE == 0;
        sum.is_wanted |= !gives;
        assert!(sum.arrived <= children, "every child sends each packet once");
        if sum.arrived < children {
            wires.packets[handle].ingress = ingress;
            wires.packets[handle].route += to_down;
            sum.waiting.enqueue(&mut wires.packets, handle);
            let packet = wires.packets[handle];
            wires.credits.hold(ingress, &packet);
            return true;
        }
        if turns {
            self.send_down(wires, place, offset);
            direct(&mut wires.packets[handle], gives, gives);
        } else {
            sum.last_gives = gives;
            direct(packet, !sum.is_wanted, !sum.has_payload);
        }
        false
    }

    /// Whether a sum comes down with a payload that the child of its packet does not get.
    fn loses_payload(&self, wires: &Wires, place: u32, handle: Handle) -> bool {
        let (packet, places) = (&wires.packets[handle], self.aggregation.as_ref().map(|own| &own.places));
        let mut sums = places.into_iter().flat_map(|places| &places[place as usize]);
        let is_given = sums.any(|sum| sum.offset == packet.offset && sum.last_gives);
        is_given && packet.acknowledged & sums::BARE == 0
    }

    /// Sends down what waits for a sum that comes by a packet, which goes on to its own child.
    fn come_down(&mut self, wires: &mut Wires, place: u32, handle: Handle) {
        let gives = self.send_down(wires, place, wires.packets[handle].offset);
        direct(&mut wires.packets[handle], gives, gives);
    }

    /// Sends down what waits for a sum, each packet to the child that sent it. Whether the child of the packet that
    /// went on for all does not get it.
    fn send_down(&mut self, wires: &mut Wires, place: u32, offset: u64) -> bool {
        let aggregation = self.aggregation.as_mut().expect("switches with trees have sums");
        let OpenSum { mut waiting, last_gives, .. } = aggregation.close(place, offset);
        while !waiting.is_empty() {
            let (handle, _) = waiting.dequeue(&wires.packets);
            let gives = wires.packets[handle].acknowledged & sums::GIVES != 0;
            direct(&mut wires.packets[handle], gives, gives);
            let packet = wires.packets[handle];
            wires.credits.unhold(packet.ingress, &packet);
            let egress = wires.constants.routes[packet.route as usize];
            self.forward(wires, packet.ingress, egress, packet.priority, handle);
        }
        last_gives
    }
}
