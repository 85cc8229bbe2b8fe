//! Minimal adaptive routing on tori and meshes: the dimensions in any order, whichever has the shortest queue.

use etherweave_primitives::InputError;
use etherweave_topology::Topology;

use crate::per_packet::choice::{WeightedPort, drawn, least};
use crate::per_packet::grid::GridPlan;
use crate::per_packet::{
    FabricPlan, InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket, unsuited,
};

/// The place in [`RoutedPacket::route_state`] of the directions of a packet: a bit for each dimension, set for up.
const DIRECTIONS: usize = 0;
/// The place of the datelines crossed so far.
const CROSSED: usize = 1;
/// Priorities that a port has.
const CHANNELS_MAX: u32 = 8;

/// A torus or mesh with few enough dimensions for adaptive routing.
#[derive(Clone, Debug)]
pub struct LowGridPlan {
    grid: GridPlan,
    /// Datelines that a packet may cross, and one.
    levels: u8,
}

impl FabricPlan for LowGridPlan {
    const FABRIC: &'static str = "a torus of one or two dimensions or a mesh of up to four";

    /// # Errors
    /// When the fabric is no torus or mesh, or one that needs more than eight channels.
    fn of(topology: &Topology) -> Result<LowGridPlan, InputError> {
        let grid = GridPlan::of(topology)?;
        let levels = 1 + grid.rings();
        let networks = 1_u32.checked_shl(grid.dimensions() as u32 - 1).unwrap_or(u32::MAX);
        let channels = networks.saturating_mul(levels);
        if channels > CHANNELS_MAX {
            return Err(unsuited(format!("one that needs {channels} channels"), LowGridPlan::FABRIC));
        }
        Ok(LowGridPlan { grid, levels: levels as u8 })
    }
}

/// Minimal adaptive routing by virtual networks: Linder and Harden, "An adaptive and fault tolerant wormhole routing
/// strategy for k-ary n-cubes", IEEE ToC 40(1), 1991, sections 3 and 4. The directions of a packet in all dimensions
/// but the first are its network, which has a level of channels for each dateline that it may cross. Within a level,
/// no direction is ever reversed, so that no channel waits for itself.
pub struct GridAdaptiveMinimal {
    /// Places of switches and hosts.
    pub plan: LowGridPlan,
}

impl GridAdaptiveMinimal {
    fn network(&self, directions: u16) -> u8 {
        (directions >> 1) as u8
    }
}

impl PacketRouting for GridAdaptiveMinimal {
    fn channels(&self) -> u8 {
        self.plan.levels << (self.plan.grid.dimensions() - 1)
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        let LowGridPlan { grid, levels } = &self.plan;
        let (network, level) = (out.channel / levels, u32::from(out.channel % levels));
        let (dimension, is_up) = grid.direction(out.switch, out.port);
        if dimension > 0 && is_up != (network >> (dimension - 1) & 1 == 1) {
            return None;
        }
        let progress = |of: usize, is_up: bool| u32::from(grid.progress(out.switch, of, is_up));
        let later: u32 = (1..grid.dimensions()).map(|of| progress(of, network >> (of - 1) & 1 == 1)).sum();
        let size = u32::from(grid.size(0));
        let within = if dimension == 0 { 2 * later * size + progress(0, is_up) } else { (2 * later + 1) * size };
        Some(level * 2 * size * grid.sizes() + within)
    }

    fn links_max(&self) -> Option<u32> {
        Some(self.plan.grid.diameter())
    }

    fn start(&self, packet: &mut RoutedPacket) {
        let grid = &self.plan.grid;
        let [from, to] = [packet.src, packet.dst].map(|host| grid.home(host).0);
        let is_up = |dimension: usize| match grid.directions(from, to, dimension) {
            [true, true] => drawn(packet, 1 << grid.dimensions()) >> dimension & 1 == 1,
            [_, up] => up,
        };
        let directions = (0..grid.dimensions()).fold(0, |bits, of| bits | u16::from(is_up(of)) << of);
        packet.route_state[DIRECTIONS] = directions;
        packet.route_state[CROSSED] = 0;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let LowGridPlan { grid, levels } = &self.plan;
        let (home, to_host) = grid.home(packet.dst);
        let directions = packet.route_state[DIRECTIONS];
        let is_up = |dimension: usize| directions >> dimension & 1 == 1;
        let apart = (0..grid.dimensions()).filter(|&of| grid.place(at.switch, of) != grid.place(home, of));
        let ports = apart.flat_map(|of| grid.ports(at.switch, of, is_up(of)));
        let weighed = ports.map(|port| WeightedPort { port, weight: load.queued(port) });
        let Some(WeightedPort { port, .. }) = least(weighed, packet) else { return to_host };
        let channel = self.network(directions) * levels + packet.route_state[CROSSED] as u8;
        let (dimension, is_up) = grid.direction(at.switch, port);
        let is_last = grid.progress(at.switch, dimension, is_up) + 1 == grid.size(dimension);
        packet.route_state[CROSSED] += u16::from(is_last);
        NextHop { port, channel }
    }
}
