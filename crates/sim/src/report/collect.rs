//! From the shards' state to rows, in an order that does not depend on shards.

use etherweave_primitives::{ChannelId, HostId, Priority};
use etherweave_topology::Node;

use super::{FlowRow, LosslessDrop, PortRow, Report, StreamRow, Totals};
use crate::engine::{Shard, Simulation};
use crate::fingerprint::Fingerprint;
use crate::host::{Endpoint, IterationRow, Role, SinkState};
use crate::switch::port::Port;

impl Simulation {
    /// What has been measured so far.
    pub fn report(&self) -> Report {
        let mut fingerprint: Option<Fingerprint> = None;
        for part in self.shards.iter().filter_map(|shard| shard.fingerprint.as_ref()) {
            fingerprint.get_or_insert_default().merge(part);
        }
        Report {
            jobs: self.names.jobs.clone(),
            iterations: self.iterations(),
            ports: self.ports(),
            streams: self.streams(),
            flows: self.flows(),
            samples: self.samples(),
            lossless_drops: self.lossless_drops(),
            totals: self.sums(),
            fingerprint,
            captured: self.shards.iter().flat_map(|shard| &shard.captures).map(|port| port.capture.clone()).collect(),
        }
    }

    fn sums(&self) -> Totals {
        let totals = self.totals();
        let in_flight = totals.created - totals.delivered - totals.dropped - totals.damaged - totals.lost;
        Totals {
            events: totals.events,
            packet_hops: totals.hops,
            created: totals.created,
            delivered: totals.delivered,
            dropped: totals.dropped,
            damaged: totals.damaged,
            lost: totals.lost,
            in_flight,
            end: self.end,
            packets_max: self.shards.iter().map(|shard| shard.packets.capacity_used() as u64).sum(),
        }
    }

    fn iterations(&self) -> Vec<IterationRow> {
        let threads = self.shards.iter().flat_map(|shard| &shard.threads);
        let ranks = threads.filter_map(|thread| if let Role::Rank(rank) = &thread.role { Some(rank) } else { None });
        let mut rows: Vec<IterationRow> = ranks.flat_map(|rank| rank.rows.iter().copied()).collect();
        rows.sort_unstable_by_key(|row| (row.job, row.rank, row.iteration));
        rows
    }

    /// All ports in the order of nodes.
    pub(super) fn all_ports(&self) -> Vec<(&Shard, usize)> {
        let mut ports: Vec<(&Shard, usize)> =
            self.shards.iter().flat_map(|shard| (0..shard.ports.len()).map(move |port| (shard, port))).collect();
        ports.sort_by_key(|&(shard, port)| self.names.topology.channel(shard.channels[port]).from);
        ports
    }

    fn ports(&self) -> Vec<PortRow> {
        let rows = |(shard, port): (&Shard, usize)| {
            let row = move |priority| self.port_row(shard, port, priority);
            Priority::all().map(row).collect::<Vec<PortRow>>()
        };
        self.all_ports().into_iter().flat_map(rows).filter(PortRow::is_active).collect()
    }

    fn port_row(&self, shard: &Shard, index: usize, priority: Priority) -> PortRow {
        let (node, number, peer) = self.port_names(shard.channels[index]);
        let channel = self.names.topology.channel(shard.channels[index]);
        let port = &shard.ports[index];
        let bit = priority.index();
        let own = &port.class_states[bit].counters;
        let far = &self.peer(shard, port).class_states[bit].counters;
        PortRow {
            node,
            port: number,
            peer,
            rate: channel.rate,
            class: channel.class,
            priority,
            tx_packets: own.tx_packets,
            tx_bytes: own.tx_bytes,
            rx_packets: far.tx_packets,
            rx_bytes: far.tx_bytes,
            tx_pauses: port.paused().tx_packets[bit],
            rx_pauses: port.paused().rx_packets[bit],
            tx_pause_duration: port.paused().tx_duration[bit],
            rx_pause_duration: port.paused().duration[bit],
            credit_wait_duration: shard.credits.wait(index, bit),
            drops_packets: own.drops,
            drops_bytes: own.drop_bytes,
            fcs_errors: port.fcs_errors()[bit].into(),
            fcs_errors_pause: port.paused().fcs_errors[bit],
            ecn_marked_packets: own.marks,
            occupancy_bytes_max: occupancy(shard, index, priority),
        }
    }

    fn peer(&self, shard: &Shard, port: &Port) -> &Port {
        &self.shards[shard.shard_at(port.peer.link) as usize].ports[port.peer.port as usize]
    }

    /// How many of the pause frames that a port sent were damaged.
    fn pauses_damaged(&self, shard: &Shard, port: usize) -> u64 {
        self.peer(shard, &shard.ports[port]).paused().fcs_errors.iter().sum()
    }

    pub(super) fn port_names(&self, channel: ChannelId) -> (String, u16, String) {
        let topology = &self.names.topology;
        let ends = topology.channel(channel);
        (topology.name(ends.from.node).to_owned(), ends.from.port.get(), topology.name(ends.to.node).to_owned())
    }

    pub(super) fn host_name(&self, host: u32) -> String {
        self.names.topology.host_name(HostId::new(host)).to_owned()
    }

    fn streams(&self) -> Vec<StreamRow> {
        let mut rows: Vec<(u32, StreamRow)> = Vec::new();
        for shard in &self.shards {
            for thread in &shard.threads {
                if let Role::Sink(sink) = &thread.role {
                    rows.push((thread.job, self.stream_row(shard, thread.job, sink)));
                }
            }
        }
        rows.sort_by_key(|(job, row)| (*job, row.stream));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn stream_row(&self, shard: &Shard, job: u32, sink: &SinkState) -> StreamRow {
        let Endpoint { hosts: (destination, source), intake, .. } = shard.endpoints[sink.endpoint as usize];
        let is_whole = sink.total == Some(intake.bytes);
        StreamRow {
            job: self.names.jobs[job as usize].clone(),
            source_host: self.host_name(source),
            destination_host: self.host_name(destination),
            stream: sink.stream,
            messages: intake.bytes / sink.bytes,
            bytes: intake.bytes - intake.before,
            start: sink.start.max(shard.constants.warm_up),
            end: if is_whole { intake.last } else { self.end },
        }
    }

    fn flows(&self) -> Vec<FlowRow> {
        let ends = self.shards.iter().flat_map(|shard| shard.endpoints.iter().map(move |end| (shard, end)));
        let row = |(shard, end)| self.flow_row(end, self.other_end(shard, end));
        let mut flows: Vec<((u32, u32), FlowRow)> = ends.map(|pair| (pair.1.hosts, row(pair))).collect();
        flows.retain(|(_, row)| row.packets > 0);
        flows.sort_by_key(|(hosts, row)| (*hosts, row.bytes, row.packets));
        flows.into_iter().map(|(_, row)| row).collect()
    }

    fn other_end(&self, shard: &Shard, end: &Endpoint) -> &Endpoint {
        &self.shards[shard.shard_at(end.remote_port.link) as usize].endpoints[end.remote as usize]
    }

    fn flow_row(&self, end: &Endpoint, other: &Endpoint) -> FlowRow {
        let (source_host, destination_host) = (self.host_name(end.hosts.0), self.host_name(end.hosts.1));
        let (sent, received) = (end.protocol.sent(), other.protocol.received());
        FlowRow {
            source_host,
            destination_host,
            transport: end.protocol.name(),
            bytes: sent.bytes,
            packets: sent.packets,
            retransmissions: sent.retransmissions,
            timeouts: sent.timeouts,
            out_of_order: received.out_of_order,
            naks: received.naks,
        }
    }

    fn lossless_drops(&self) -> Vec<LosslessDrop> {
        let drops = |(shard, port): (&Shard, usize)| {
            let (node, number, peer) = self.port_names(shard.channels[port]);
            let count = shard.constants.group_count;
            let pauses_damaged = self.pauses_damaged(shard, port);
            let groups = shard.groups[port * count..(port + 1) * count].iter();
            let lost =
                groups.zip(shard.constants.pause_mask_of_group).filter(|(group, mask)| *mask != 0 && group.lost > 0);
            lost.map(move |(group, priorities)| LosslessDrop {
                node: node.clone(),
                port: number,
                peer: peer.clone(),
                priorities,
                packets: u64::from(group.lost),
                bytes: group.lost_bytes,
                pauses_damaged,
            })
            .collect::<Vec<_>>()
        };
        self.all_ports().into_iter().flat_map(drops).chain(self.nic_drops()).collect()
    }

    /// Losses of NICs in lossless priorities.
    fn nic_drops(&self) -> Vec<LosslessDrop> {
        let mut drops = Vec::new();
        for (shard, port) in self.all_ports() {
            let is_host = matches!(self.names.topology.channel(shard.channels[port]).from.node, Node::Host(_));
            for priority in Priority::all().filter(|priority| shard.constants.nic_pause_mask & 1 << priority.get() != 0)
            {
                let counters = &shard.ports[port].class_states[priority.index()].counters;
                if is_host && counters.drops > 0 {
                    let (node, number, peer) = self.port_names(shard.channels[port]);
                    let (packets, bytes) = (counters.drops, counters.drop_bytes);
                    drops.push(LosslessDrop {
                        node,
                        port: number,
                        peer,
                        priorities: 1 << priority.get(),
                        packets,
                        bytes,
                        pauses_damaged: self.pauses_damaged(shard, port),
                    });
                }
            }
        }
        drops
    }
}

impl PortRow {
    fn is_active(&self) -> bool {
        let pauses = self.tx_pauses.total() + self.rx_pauses.total();
        [self.tx_packets, self.rx_packets, pauses, self.drops_packets].iter().any(|&count| count > 0)
    }
}

fn occupancy(shard: &Shard, index: usize, priority: Priority) -> u64 {
    match shard.host_of_port(index as u32) {
        Some(host) => {
            let nic = &shard.hosts[host].nic;
            shard.constants.params.nic.drain_rate.bytes_in(nic.backlog_max).get().max(nic.occupancy_max)
        }
        None => {
            u64::from(shard.ports[index].class_states[shard.constants.scheduler.class(priority.get())].queue.bytes_max)
        }
    }
}
