//! The packet memory of switches, for the configuration of real ones.

use etherweave_primitives::{Bytes, Duration, InputErrors, Port, SwitchId};
use etherweave_topology::{Node, Topology};

use super::fabric::{buffer_sizes, headroom_of};
use super::params;
use crate::constants::RunConstants;
use crate::frame::size;
use crate::params::SimParams;

/// The buffer of a switch port for each lossless priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortBuffer {
    /// The switch.
    pub switch: SwitchId,
    /// Its port.
    pub port: Port,
    /// Headroom of each lossless priority; 0 where nothing pauses.
    pub headroom: Bytes,
    /// What all ports and priorities of the switch share, reserves and headroom taken off.
    pub pool: Bytes,
}

/// The memory of every port of every switch, by ids: the very sizes that a simulation builds, if `largest_packet`,
/// above Ethernet, is that of the transport. A real fabric may carry larger ones, up to its MTU.
///
/// # Errors
/// When parameters do not fit together, or a switch has too little memory.
pub fn port_buffers(
    topology: &Topology,
    params: &SimParams,
    largest_packet: Bytes,
) -> Result<Vec<PortBuffer>, InputErrors> {
    params::check(params)?;
    let mut constants = RunConstants::new(params, Duration::ZERO);
    constants.largest_frame = largest_packet.get() as u32 + size::wire_overhead(true);
    let is_lossless = constants.lossless_groups() > 0;
    let mut ports = Vec::with_capacity(topology.channels().len());
    for switch in (0..topology.switches()).map(SwitchId::from_index) {
        let pool = Bytes::new(buffer_sizes(topology, &constants, switch)?.pool.into());
        ports.extend(topology.out_channels(Node::Switch(switch)).iter().map(|&id| PortBuffer {
            switch,
            port: topology.channel(id).from.port,
            headroom: Bytes::new(if is_lossless { headroom_of(topology, id, &constants) } else { 0 }),
            pool,
        }));
    }
    Ok(ports)
}
