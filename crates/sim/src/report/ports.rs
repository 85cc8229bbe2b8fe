//! Counters of ports.

use etherweave_engine::{paused::PauseCounters, port::Port};
use etherweave_kernel::{indices::PortIndex, rows};
use etherweave_primitives::{BitRate, ChannelId, Duration, Priority};
use etherweave_topology::LinkClass;

use super::far::{FarEnds, FarPort};
use crate::{run::Simulation, shard::Shard};

rows! {
    /// Counters of one port and priority.
    #[derive(Clone, PartialEq, Debug)]
    pub struct PortRow in (), "ports" {
        /// The switch or host of the port.
        node: String ["node"];
        /// Number of the port on its node.
        port: u16 ["port"];
        /// The node at the other end.
        peer: String ["peer"];
        /// Rate of the channel that the port sends into.
        rate: BitRate ["rate_gbps"];
        /// Class of the link.
        class: LinkClass ["class" = |row, _| row.class.name()] wire class_number => class_of;
        /// 802.1Q priority.
        priority: Priority ["priority"];
        /// Packets sent.
        tx_packets: u64 ["tx_packets"];
        /// Bytes sent, with preamble and gap.
        tx_bytes: u64 ["tx_bytes"];
        /// Packets that the peer has sent here.
        rx_packets: u64 ["rx_packets"];
        /// Bytes that the peer has sent here, with preamble and gap.
        rx_bytes: u64 ["rx_bytes"];
        /// Pause frames sent that name the priority. A switch sends them because an ingress buffer fills, a NIC because
        /// its receive buffer does.
        tx_pauses: PauseCounters [
            "tx_pause_packets" = |row, _| row.tx_pauses.total(),
            "tx_pause_xoff_packets" = |row, _| row.tx_pauses.xoff,
            "tx_pause_refresh_packets" = |row, _| row.tx_pauses.refresh,
            "tx_pause_xon_packets" = |row, _| row.tx_pauses.xon
        ];
        /// Pause frames received that name the priority.
        rx_pauses: PauseCounters [
            "rx_pause_packets" = |row, _| row.rx_pauses.total(),
            "rx_pause_xoff_packets" = |row, _| row.rx_pauses.xoff,
            "rx_pause_refresh_packets" = |row, _| row.rx_pauses.refresh,
            "rx_pause_xon_packets" = |row, _| row.rx_pauses.xon
        ];
        /// How long this port held its peer paused.
        tx_pause_duration: Duration ["tx_pause_duration_ns"];
        /// How long this port was paused.
        rx_pause_duration: Duration ["rx_pause_duration_ns"];
        /// Longest of these pauses.
        rx_pause_duration_max: Duration ["rx_pause_duration_ns_max"];
        /// How long the first packet of the priority lacked credits.
        credit_wait_duration: Duration ["credit_wait_duration_ns"];
        /// Packets lost: by a switch on their path to this port, by a NIC when they arrive.
        drops_packets: u64 ["drops_packets"];
        /// Bytes lost.
        drops_bytes: u64 ["drops_bytes"];
        /// Packets, of those lost, that found no buffer in the ring of their receive queue.
        rx_out_of_buffer: u64 ["rx_out_of_buffer"];
        /// Packets received with a wrong frame check sequence, from a degraded link; at a host also those that were
        /// damaged before a cut-through switch.
        fcs_errors: u64 ["fcs_errors"];
        /// Pause frames received with a wrong frame check sequence that named the priority.
        fcs_errors_pause: u64 ["fcs_errors_pause"];
        /// Packets marked by ECN on their way out by this port.
        ecn_marked_packets: u64 ["ecn_marked_packets"];
        /// Packets trimmed on their way out by this port, by the priority that they had.
        trimmed_packets: u64 ["trimmed_packets"];
        /// Most that ever waited in the queue of the priority's traffic class; of a NIC: in its receive buffer
        /// [B].
        occupancy_bytes_max: u64 ["occupancy_bytes_max"];
    }
}

impl Simulation {
    pub(super) fn ports(&self, far: &FarEnds) -> Vec<(ChannelId, PortRow)> {
        let mut rows = Vec::new();
        for (shard, port) in self.all_ports() {
            let (channel, peer) = (shard.wires.channels[port], far.port(self, shard.wires.id, port));
            let active =
                Priority::all().filter(|priority| is_active(&shard.wires.ports[port], &peer, priority.index()));
            rows.extend(active.map(|priority| (channel, self.port_row(shard, port, &peer, priority))));
        }
        rows
    }

    fn port_row(&self, shard: &Shard, index: PortIndex, far: &FarPort, priority: Priority) -> PortRow {
        let (node, number, peer) = self.port_names(shard.wires.channels[index]);
        let channel = self.names.topology.channel(shard.wires.channels[index]);
        let port = &shard.wires.ports[index];
        let bit = priority.index();
        let own = port.counters(bit);
        let (rx_packets, rx_bytes) = far.sent[bit];
        PortRow {
            node,
            port: number,
            peer,
            rate: channel.rate,
            class: channel.class,
            priority,
            tx_packets: own.tx_packets,
            tx_bytes: own.tx_bytes,
            rx_packets,
            rx_bytes,
            tx_pauses: port.paused().tx_packets[bit],
            rx_pauses: port.paused().rx_packets[bit],
            tx_pause_duration: port.paused().tx_duration[bit],
            rx_pause_duration: port.paused().duration[bit],
            rx_pause_duration_max: port.paused().duration_max[bit],
            credit_wait_duration: shard.wires.credits.wait(index, bit),
            drops_packets: own.drops,
            drops_bytes: own.drop_bytes,
            rx_out_of_buffer: out_of_buffer(shard, index, priority),
            fcs_errors: port.fcs_errors()[bit].into(),
            fcs_errors_pause: port.paused().fcs_errors[bit],
            ecn_marked_packets: own.marks,
            trimmed_packets: port.trims()[bit].into(),
            occupancy_bytes_max: occupancy(shard, index, priority),
        }
    }
}

/// Whether packets or pauses of a priority passed a port.
fn is_active(port: &Port, far: &FarPort, bit: usize) -> bool {
    let (own, pauses) = (port.counters(bit), port.paused());
    let packets = own.tx_packets + far.sent[bit].0 + own.drops + u64::from(port.trims()[bit]);
    packets + pauses.tx_packets[bit].total() + pauses.rx_packets[bit].total() > 0
}

pub(super) fn out_of_buffer(shard: &Shard, index: PortIndex, priority: Priority) -> u64 {
    let host = shard.wires.host_of_port(index);
    host.map_or(0, |host| shard.hosts.nics.hosts[host].nic.out_of_buffer[priority.index()].into())
}

fn occupancy(shard: &Shard, index: PortIndex, priority: Priority) -> u64 {
    match shard.wires.host_of_port(index) {
        Some(host) => {
            let nic = &shard.hosts.nics.hosts[host].nic;
            shard.hosts.nics.times.rate.bytes_in(nic.backlog_max).get()
        }
        None if shard.switches.crossbars.are_used() => {
            shard.switches.crossbars.queued(index, priority.index()).1.into()
        }
        None => {
            let queues = shard.wires.constants.queues_of(priority.get());
            queues.map(|class| shard.wires.ports[index].queue(class).bytes_max.into()).max().unwrap_or_default()
        }
    }
}

fn class_number(class: &LinkClass) -> u8 {
    *class as u8
}

fn class_of(number: u8) -> LinkClass {
    LinkClass::ALL[usize::from(number)]
}
