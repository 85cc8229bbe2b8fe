//! Addresses that switches learn (IEEE 802.1D-2004, clauses 7.7 to 7.9).
//!
//! A switch learns the source of every frame. A frame for an address that it knows leaves by the port of its path, any
//! other by all ports but the one that it came by. Fabrics have no loop, so that the port of an address never changes,
//! and a copy that meets a switch that knows its address came from there.

use etherweave_engine::packet::{Handle, NO_PACKET, NO_SIDE, Packet, flags};
use etherweave_engine::{Wires, params::AddressLearning};
use etherweave_kernel::{IndexVec, indices::PortIndex, indices::SwitchIndex};
use etherweave_primitives::Time;

use crate::Switches;

/// Tables of all switches of a shard.
pub struct Learning {
    params: AddressLearning,
    /// Table of each switch.
    pub tables: IndexVec<SwitchIndex, AddressTable>,
}

/// Addresses that a switch has learnt, and what it did without them.
#[derive(Clone, Default)]
pub struct AddressTable {
    /// Entries in the order of their hosts.
    entries: Vec<Entry>,
    /// No entry is too old before.
    ages_at: Time,
    /// Most entries at any time.
    pub entries_max: u64,
    /// Frames whose source found no room.
    pub unlearnt: u64,
    /// Frames that left by all ports.
    pub flooded: u64,
    /// Frames that were sent beside them.
    pub copies: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    host: u32,
    /// When it last sent.
    seen: Time,
}

impl AddressTable {
    /// The entry of a host, or where it would stand.
    fn place(&self, host: u32) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&host, |entry| entry.host)
    }

    /// Whether a host has sent within the ageing time.
    fn knows(&self, host: u32, now: Time, params: &AddressLearning) -> bool {
        self.place(host).is_ok_and(|place| self.entries[place].seen + params.ageing > now)
    }

    /// Notes that a host sends, if it has an entry or there is room.
    fn learn(&mut self, host: u32, now: Time, params: &AddressLearning) {
        if let Ok(place) = self.place(host) {
            self.entries[place].seen = now;
            return;
        }
        if self.entries.len() >= params.entries as usize {
            self.age(now, params);
        }
        if self.entries.len() >= params.entries as usize {
            self.unlearnt += 1;
            return;
        }
        let (Ok(place) | Err(place)) = self.place(host);
        self.entries.insert(place, Entry { host, seen: now });
        self.entries_max = self.entries_max.max(self.entries.len() as u64);
    }

    /// Removes entries that are too old.
    fn age(&mut self, now: Time, params: &AddressLearning) {
        if now < self.ages_at {
            return;
        }
        self.entries.retain(|entry| entry.seen + params.ageing > now);
        let oldest = self.entries.iter().map(|entry| entry.seen).min();
        self.ages_at = oldest.unwrap_or(now) + params.ageing;
    }
}

impl Learning {
    /// Empty tables of so many switches.
    pub fn new(params: AddressLearning, switches: usize) -> Learning {
        Learning { params, tables: vec![AddressTable::default(); switches].into() }
    }

    /// Learns the source of a frame. Whether its destination is known.
    fn look_up(&mut self, switch: SwitchIndex, [source, destination]: [u32; 2], now: Time) -> bool {
        let table = &mut self.tables[switch];
        table.learn(source, now, &self.params);
        table.knows(destination, now, &self.params)
    }

    /// Counts a frame that is flooded, with so many copies.
    fn count(&mut self, switch: SwitchIndex, copies: u64) {
        let table = &mut self.tables[switch];
        table.flooded += 1;
        table.copies += copies;
    }
}

impl Switches {
    /// Forwards a packet that has come in by `ingress`, whose path leads to `egress`: there alone if the switch knows
    /// its address, otherwise by all other ports too.
    #[cold]
    #[inline(never)]
    pub(super) fn forward_by_address(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        priority: u8,
        handle: Handle,
    ) {
        let packet = wires.packets[handle];
        let switch = wires.switch_of_port(ingress);
        let hosts = wires.constants.hosts_of(packet.sender);
        let is_known = self.learning.as_mut().is_some_and(|learning| learning.look_up(switch, hosts, wires.now));
        let is_copy = packet.has(flags::FLOODED);
        match (is_known, is_copy) {
            (true, false) => self.forward(wires, ingress, egress, priority, handle),
            (true, true) => wires.discard_copy(handle),
            (false, _) => self.flood(wires, ingress, (!is_copy).then_some(egress), priority, handle),
        }
    }

    /// Sends a packet by `egress`, if it is not a copy, and copies by all other ports but `ingress`.
    fn flood(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: Option<PortIndex>,
        priority: u8,
        handle: Handle,
    ) {
        let packet = wires.packets[handle];
        let switch = wires.switch_of_port(ingress);
        let copy = Packet {
            next: NO_PACKET,
            route: wires.constants.flood_route,
            side: NO_SIDE,
            flags: packet.flags | flags::FLOODED,
            ..packet
        };
        let mut copies = 0;
        for port in
            self.switches[switch].places().map(|place| PortIndex::new(place as u32)).filter(|&port| port != ingress)
        {
            if Some(port) == egress {
                self.forward(wires, ingress, port, priority, handle);
                continue;
            }
            let copy = wires.packets.insert(copy);
            wires.totals.created += 1;
            copies += 1;
            self.forward(wires, ingress, port, priority, copy);
        }
        if egress.is_none() {
            wires.discard_copy(handle);
        }
        if let Some(learning) = &mut self.learning {
            learning.count(switch, copies);
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use super::*;

    #[test]
    fn an_address_is_known_until_it_is_too_old_and_a_full_table_learns_when_another_is() {
        let params = AddressLearning { entries: 2, ageing: Duration::from_us(10) };
        let mut table = AddressTable::default();
        let at = |us: u64| Time::ZERO + Duration::from_us(us);
        [(7, 0), (3, 4), (5, 5)].iter().for_each(|&(host, us)| table.learn(host, at(us), &params));
        let known = |table: &AddressTable, us| [3, 5, 7].map(|host| table.knows(host, at(us), &params));
        assert_eq!((known(&table, 9), table.unlearnt), ([true, false, true], 1));
        // Host 7 was last seen at 0 us, host 3 at 4 us.
        assert_eq!(known(&table, 10), [true, false, false]);
        table.learn(5, at(10), &params);
        assert_eq!((known(&table, 10), table.unlearnt), ([true, true, false], 1));
        table.learn(7, at(12), &params);
        assert_eq!((known(&table, 13), table.unlearnt, table.entries_max), ([true, true, false], 2, 2));
        // Host 3 sends again, so that host 5 is the oldest: until 20 us.
        table.learn(3, at(13), &params);
        table.learn(7, at(20), &params);
        assert_eq!(known(&table, 20), [true, false, true]);
    }
}
