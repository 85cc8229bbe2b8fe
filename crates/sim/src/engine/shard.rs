//! A shard: some entities, their events and packets, and the loop that serves them.

use std::sync::Arc;

use super::outbox::ShardOutbox;
use super::wires::Wires;
use crate::constants::RunConstants;
use crate::host::Hosts;
use crate::indices::PortIndex;
use crate::packet::NO_SIDE;
use crate::sampling::Sampler;
use crate::switch::Switches;
use crate::switch::port::Owner;

/// See the module.
pub(crate) struct Shard {
    /// Time, events, packets and links.
    pub wires: Wires,
    /// Switches behind their ports.
    pub switches: Switches,
    /// Hosts behind their ports.
    pub hosts: Hosts,
    /// Time series, where they are asked for.
    pub sampler: Option<Box<Sampler>>,
}

impl Shard {
    /// A shard without entities, one of `shards`.
    pub fn new(id: u32, shards: usize, constants: &Arc<RunConstants>) -> Shard {
        Shard {
            wires: Wires::new(id, shards, constants),
            switches: Switches::default(),
            hosts: Hosts::default(),
            sampler: None,
        }
    }

    /// Starts the transmitter of a port now if it is idle, or when it becomes free.
    pub fn kick(&mut self, port: PortIndex) {
        if self.wires.may_transmit(port) {
            self.transmit(port);
        }
    }

    #[inline(always)]
    pub(super) fn transmit(&mut self, port_index: PortIndex) {
        match self.wires.ports[port_index].owner {
            Owner::Switch(_) => self.switches.transmit_from_switch(&mut self.wires, port_index),
            Owner::Host(host) => self.hosts.nics.transmit_from_host(&mut self.wires, host),
        }
    }

    /// Takes in what another shard has sent.
    pub fn receive(&mut self, outbox: &ShardOutbox) {
        if let Some(neighbours) = &mut self.switches.neighbour_loads {
            neighbours.receive(&outbox.loads);
        }
        if let Some(traffic) = &mut self.switches.group_traffic {
            traffic.receive(&outbox.loads);
        }
        for &event in &outbox.events {
            if event.key.kind().has_packet() {
                let mut packet = outbox.packets[event.bits as usize];
                if packet.side != NO_SIDE {
                    let sent = packet.side as usize;
                    packet.side = self.wires.packets.insert_side(outbox.sides[sent]);
                    if let Some(&path) = outbox.paths.get(sent) {
                        self.wires.packets.set_path(packet.side, path);
                    }
                }
                let handle = self.wires.packets.insert(packet);
                if let Some(&route) = outbox.routes.get(event.bits as usize) {
                    self.wires.packets.set_route(handle, route);
                }
                self.wires.expect_packet(event.time, event.key, handle);
            } else {
                self.wires.queue.push(event);
            }
        }
    }
}
