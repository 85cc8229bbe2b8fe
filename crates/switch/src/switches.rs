//! Switches, behind their ports.

use std::ops::Range;

use etherweave_engine::{Wires, constants::RunConstants, event::PrefetchHint};
use etherweave_kernel::{IndexVec, LocalIndex, indices::PortIndex, indices::SwitchIndex};

use super::{
    aggregation::Aggregation, buffer::Group, buffer::SharedBuffer, contention::Contention, group_traffic::GroupTraffic,
    input_queued::Crossbars, learning::Learning, neighbour_loads::NeighbourLoads, per_packet::PreparedRouting,
    watchdog::Watchdog,
};

/// A switch: its buffer. Ports and counters lie in the shard's flat vectors.
#[repr(align(64))]
pub struct Switch {
    /// Its number in the fabric.
    pub number: u32,
    /// Its number in its plane, where the fabric has several; else the same.
    pub in_plane: u32,
    /// The first of its ports.
    pub first_port: PortIndex,
    /// How many ports it has.
    pub ports: u16,
    /// Shared by all its ports.
    pub buffer: SharedBuffer,
}

impl Switch {
    /// The port that has a number at the switch.
    pub fn port(&self, number: u16) -> PortIndex {
        PortIndex::new(self.first_port.get() + u32::from(number))
    }

    /// The number of one of its ports at the switch.
    pub fn number_of(&self, port: PortIndex) -> u16 {
        (port.get() - self.first_port.get()) as u16
    }

    /// Range of its ports.
    pub fn places(&self) -> Range<usize> {
        self.first_port.place()..self.port(self.ports).place()
    }
}

/// All switches of a shard.
#[derive(Default)]
pub struct Switches {
    /// Routing that decides for every packet, where paths are not chosen per flow.
    pub routing: Option<PreparedRouting>,
    /// Switches, whose ports lie with the wires.
    pub switches: IndexVec<SwitchIndex, Switch>,
    /// Shares of buffers, by input port and class.
    pub groups: Vec<Group>,
    /// Queues of input-queued switches.
    pub crossbars: Crossbars,
    /// The input that goes before others at each output, once a packet was dropped.
    pub contentions: IndexVec<PortIndex, Contention>,
    /// Queues of other switches, where a routing compares them.
    pub neighbour_loads: Option<Box<NeighbourLoads>>,
    /// Addresses that switches have learnt, where they know them from frames alone.
    pub learning: Option<Box<Learning>>,
    /// Traffic between groups, where a controller measures it.
    pub group_traffic: Option<Box<GroupTraffic>>,
    /// Sums of aggregation trees, where jobs reduce in the network.
    pub aggregation: Option<Box<Aggregation>>,
    /// Ends pauses without end, where switches have it.
    pub watchdog: Option<Box<Watchdog>>,
}

impl Switches {
    /// Starts the transmitter of a port now if it is idle, or when it becomes free.
    #[inline(never)]
    pub fn kick(&mut self, wires: &mut Wires, port: PortIndex) {
        if wires.may_transmit(port, PrefetchHint::default) {
            self.transmit_from_switch(wires, port);
        }
    }

    /// Priorities that a port of a switch holds paused at its peer.
    pub fn held_pauses(&self, constants: &RunConstants, port: PortIndex) -> u8 {
        let first = constants.groups(port).start;
        (0..constants.group_count)
            .filter(|&group| self.groups[first + group].is_paused)
            .fold(0, |mask, group| mask | constants.pause_mask_of_group[group])
    }
}
