//! From the shards' state to rows, in an order that does not depend on shards.

use etherweave_engine::ShardTotals;
use etherweave_engine::fingerprint::Fingerprint;
use etherweave_engine::impaired_link::{ImpairedLink, LinkOutage};
use etherweave_engine::losses::LostData;
use etherweave_host::{ActivityLog, Endpoint, IterationRow, MessageEnd, ReceivedCounts, Role, SinkState};
use etherweave_kernel::Processes;
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{ChannelId, HostId, Priority, Time};
use etherweave_switch::buffer::Group;
use etherweave_topology::Node;

use super::activities::{ActivityRow, EndRow, transfers};
use super::far::{FarEnds, FarPort};
use super::part::ReportPart;
use super::{FailureRow, FlowRow, LosslessDrop, PortRow, Report, SleepRow, StreamRow, Totals};
use crate::run::Simulation;
use crate::shard::Shard;

impl Simulation {
    /// What has been measured so far.
    pub fn report(&self) -> Report {
        self.report_on(&Processes::ALONE)
    }

    /// The same of several processes, each of which calls this: the report of all on the first, one without rows on the
    /// others. Captured frames stay where they are.
    pub fn report_on(&self, processes: &Processes) -> Report {
        let part = self.part(&FarEnds::of(self, processes)).gather(processes, &self.names.topology);
        let rows = |rows: Vec<(ChannelId, LosslessDrop)>| rows.into_iter().map(|(_, row)| row);
        Report {
            jobs: self.names.jobs.clone(),
            samples: self.samples_on(processes),
            totals: self.sums(&part.totals, part.packets_max),
            iterations: part.iterations,
            observed: self.names.observes_ranks.then(|| (part.activities, transfers(part.sent, part.arrived))),
            ports: part.ports.into_iter().map(|(_, row)| row).collect(),
            streams: part.streams.into_iter().map(|(_, row)| row).collect(),
            flows: part.flows.into_iter().map(|(_, row)| row).collect(),
            failures: part.failures.into_iter().map(|(_, row)| row).collect(),
            sleeps: part.sleeps.into_iter().map(|(_, row)| row).collect(),
            lossless_drops: rows(part.switch_drops).chain(rows(part.nic_drops)).collect(),
            fingerprint: part.fingerprint,
            left_out: self.left_out(),
            deadlock: self.deadlock.clone(),
            captured: self
                .shards
                .iter()
                .flat_map(|shard| &shard.wires.captures)
                .map(|port| port.capture.clone())
                .collect(),
        }
    }

    /// What the shards of this process have measured.
    fn part(&self, far: &FarEnds) -> ReportPart {
        let mut fingerprint: Option<Fingerprint> = None;
        for part in self.shards.iter().filter_map(|shard| shard.wires.fingerprint.as_ref()) {
            fingerprint.get_or_insert_default().merge(part);
        }
        ReportPart {
            totals: ShardTotals::sum(self.shards.iter().map(|shard| &shard.wires.totals)),
            packets_max: self.shards.iter().map(|shard| shard.wires.packets.capacity_used() as u64).sum(),
            fingerprint,
            iterations: self.iterations(),
            activities: self.activities(),
            sent: self.message_ends(|log| &log.sent, EndRow::sent),
            arrived: self.message_ends(|log| &log.received, EndRow::received),
            ports: self.ports(far),
            streams: self.streams(),
            flows: self.flows(far),
            failures: self.failures(),
            sleeps: self.sleeps(),
            losses: self.losses(),
            resent: self.shards.iter().flat_map(|shard| shard.wires.resent.iter().copied()).collect(),
            received: self.received(),
            switch_drops: self.switch_drops(far),
            nic_drops: self.nic_drops(far),
        }
    }

    fn sums(&self, totals: &ShardTotals, packets_max: u64) -> Totals {
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
            messages: totals.messages,
            messages_behind: totals.messages_behind,
            end: self.end,
            packets_max,
        }
    }

    fn iterations(&self) -> Vec<IterationRow> {
        let threads = self.shards.iter().flat_map(|shard| &shard.hosts.processors.threads);
        let ranks = threads.filter_map(|thread| if let Role::Rank(rank) = &thread.role { Some(rank) } else { None });
        ranks.flat_map(|rank| rank.rows.iter().copied()).collect()
    }

    /// Logs of the ranks that have one, each with job, rank and host.
    fn logs(&self) -> impl Iterator<Item = (u32, u32, u32, &ActivityLog)> {
        let threads = self
            .shards
            .iter()
            .flat_map(|shard| shard.hosts.processors.threads.iter().map(move |thread| (shard, thread)));
        threads.filter_map(|(shard, thread)| {
            let Role::Rank(rank) = &thread.role else { return None };
            let log = rank.log.as_deref()?;
            Some((thread.job, rank.rank, shard.hosts.nics.hosts[thread.host].id, log))
        })
    }

    fn activities(&self) -> Vec<ActivityRow> {
        let rows = |(job, rank, host, log)| {
            let log: &ActivityLog = log;
            log.activities.iter().map(move |activity| ActivityRow::of(job, rank, host, activity))
        };
        self.logs().flat_map(rows).collect()
    }

    fn message_ends(
        &self,
        ends: fn(&ActivityLog) -> &[MessageEnd],
        row: fn(u32, u32, &MessageEnd) -> EndRow,
    ) -> Vec<EndRow> {
        self.logs().flat_map(|(job, rank, _, log)| ends(log).iter().map(move |end| row(job, rank, end))).collect()
    }

    /// All ports in the order of nodes.
    pub(super) fn all_ports(&self) -> Vec<(&Shard, PortIndex)> {
        let mut ports: Vec<(&Shard, PortIndex)> =
            self.shards.iter().flat_map(|shard| shard.wires.ports.indices().map(move |port| (shard, port))).collect();
        ports.sort_by_key(|&(shard, port)| self.names.topology.channel(shard.wires.channels[port]).from);
        ports
    }

    fn ports(&self, far: &FarEnds) -> Vec<(ChannelId, PortRow)> {
        let rows = |(shard, port): (&Shard, PortIndex)| {
            let peer = far.port(self, shard.wires.id, port);
            let rows = Priority::all().map(|priority| self.port_row(shard, port, &peer, priority));
            rows.filter(PortRow::is_active).map(|row| (shard.wires.channels[port], row)).collect::<Vec<_>>()
        };
        self.all_ports().into_iter().flat_map(rows).collect()
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
            credit_wait_duration: shard.wires.credits.wait(index, bit),
            drops_packets: own.drops,
            drops_bytes: own.drop_bytes,
            rx_out_of_buffer: out_of_buffer(shard, index, priority),
            fcs_errors: port.fcs_errors()[bit].into(),
            fcs_errors_pause: port.paused().fcs_errors[bit],
            ecn_marked_packets: own.marks,
            occupancy_bytes_max: occupancy(shard, index, priority),
        }
    }

    pub(super) fn port_names(&self, channel: ChannelId) -> (String, u16, String) {
        let topology = &self.names.topology;
        let ends = topology.channel(channel);
        (topology.name(ends.from.node).to_owned(), ends.from.port.get(), topology.name(ends.to.node).to_owned())
    }

    pub(super) fn host_name(&self, host: u32) -> String {
        self.names.topology.host_name(HostId::new(host)).to_owned()
    }

    fn streams(&self) -> Vec<(u32, StreamRow)> {
        let mut rows: Vec<(u32, StreamRow)> = Vec::new();
        for shard in &self.shards {
            for thread in &shard.hosts.processors.threads {
                if let Role::Sink(sink) = &thread.role {
                    rows.push((thread.job, self.stream_row(shard, thread.job, sink)));
                }
            }
        }
        rows
    }

    fn stream_row(&self, shard: &Shard, job: u32, sink: &SinkState) -> StreamRow {
        let Endpoint { hosts: (destination, source), intake, warm_up_intake, .. } =
            shard.hosts.nics.endpoints[sink.endpoint];
        let is_whole = sink.total == Some(intake.bytes);
        StreamRow {
            job: self.names.jobs[job as usize].clone(),
            source_host: self.host_name(source),
            destination_host: self.host_name(destination),
            stream: sink.stream,
            messages: intake.bytes / sink.bytes,
            bytes: intake.bytes - warm_up_intake
                + shard.hosts.nics.fluid_partly_come(&shard.wires, sink.endpoint, self.end),
            start: sink.start,
            measured: sink.start.max(shard.wires.constants.warm_up),
            // One that would start later has no time yet.
            end: if is_whole { intake.last } else { self.end.max(sink.start) },
        }
    }

    fn flows(&self, far: &FarEnds) -> Vec<((u32, u32), FlowRow)> {
        let rows = |shard: &Shard| {
            let row = |(index, end)| (end, self.flow_row(end, far.received(self, shard.wires.id, index)));
            let rows = shard.hosts.nics.endpoints.entries().map(row).filter(|(_, row)| row.packets > 0);
            rows.map(|(end, row)| (end.hosts, row)).collect::<Vec<_>>()
        };
        self.shards.iter().flat_map(rows).collect()
    }

    fn flow_row(&self, end: &Endpoint, received: ReceivedCounts) -> FlowRow {
        let (source_host, destination_host) = (self.host_name(end.hosts.0), self.host_name(end.hosts.1));
        let sent = end.protocol.sent();
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
            recovered: received.resent_last,
        }
    }

    fn failures(&self) -> Vec<(ChannelId, FailureRow)> {
        let rows = |shard: &Shard, link: &ImpairedLink| {
            let channel = shard.wires.channels[link.port];
            let (node, port, peer) = self.port_names(channel);
            let row = move |outage: &LinkOutage| FailureRow {
                node: node.clone(),
                port,
                peer: peer.clone(),
                from: outage.from,
                until: (outage.until < Time::MAX).then_some(outage.until),
                packets_lost: outage.packets,
                bytes_lost: outage.bytes,
                last_loss: outage.last_loss,
                connections: 0,
                recovered: None,
            };
            link.outages.iter().map(|outage| (channel, row(outage))).collect::<Vec<_>>()
        };
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        links.flat_map(|(shard, link)| rows(shard, link)).collect()
    }

    fn sleeps(&self) -> Vec<(ChannelId, SleepRow)> {
        let row = |shard: &Shard, link: &ImpairedLink| {
            let channel = shard.wires.channels[link.port];
            let (node, port, peer) = self.port_names(channel);
            let sleep = link.sleep.as_ref()?;
            let (wakes, asleep, waited) = (sleep.wakes, sleep.asleep_until(self.end), sleep.waited);
            Some((channel, SleepRow { node, port, peer, wakes, asleep, waited }))
        };
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        links.filter_map(|(shard, link)| row(shard, link)).collect()
    }

    /// What failing links have lost.
    fn losses(&self) -> Vec<((ChannelId, Time), LostData)> {
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        let outages =
            links.flat_map(|(shard, link)| link.outages.iter().map(|outage| (shard.wires.channels[link.port], outage)));
        outages
            .flat_map(|(channel, outage)| outage.losses.iter().map(move |&lost| ((channel, outage.from), lost)))
            .collect()
    }

    /// What of each sender has reached its receiver, where links fail.
    fn received(&self) -> Vec<(u32, u64)> {
        let ends = self
            .shards
            .iter()
            .filter(|shard| shard.wires.constants.notes_losses)
            .flat_map(|shard| &shard.hosts.nics.endpoints);
        ends.map(|end| (end.number ^ 1, end.intake.bytes)).collect()
    }

    /// Losses of switches in lossless priorities.
    fn switch_drops(&self, far: &FarEnds) -> Vec<(ChannelId, LosslessDrop)> {
        let drops = |(shard, port): (&Shard, PortIndex)| {
            let (node, number, peer) = self.port_names(shard.wires.channels[port]);
            let pauses_damaged = far.port(self, shard.wires.id, port).pauses_damaged;
            let groups = shard.switches.groups[shard.wires.constants.groups(port)].iter();
            let lost = groups
                .zip(shard.wires.constants.pause_mask_of_group)
                .filter(|(group, mask)| *mask != 0 && group.lost > 0);
            let row = move |(group, priorities): (&Group, u8)| LosslessDrop {
                node: node.clone(),
                port: number,
                peer: peer.clone(),
                priorities,
                packets: u64::from(group.lost),
                bytes: group.lost_bytes,
                pauses_damaged,
                out_of_ring: 0,
            };
            lost.map(|lost| (shard.wires.channels[port], row(lost))).collect::<Vec<_>>()
        };
        self.all_ports().into_iter().flat_map(drops).collect()
    }

    /// Losses of NICs in lossless priorities.
    fn nic_drops(&self, far: &FarEnds) -> Vec<(ChannelId, LosslessDrop)> {
        let mut drops = Vec::new();
        for (shard, port) in self.all_ports() {
            let is_host = matches!(self.names.topology.channel(shard.wires.channels[port]).from.node, Node::Host(_));
            for priority in
                Priority::all().filter(|priority| shard.wires.constants.nic_pause_mask & 1 << priority.get() != 0)
            {
                let counters = shard.wires.ports[port].counters(priority.index());
                if is_host && counters.drops > 0 {
                    let (node, number, peer) = self.port_names(shard.wires.channels[port]);
                    let (packets, bytes) = (counters.drops, counters.drop_bytes);
                    let row = LosslessDrop {
                        node,
                        port: number,
                        peer,
                        priorities: 1 << priority.get(),
                        packets,
                        bytes,
                        pauses_damaged: far.port(self, shard.wires.id, port).pauses_damaged,
                        out_of_ring: out_of_buffer(shard, port, priority),
                    };
                    drops.push((shard.wires.channels[port], row));
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

fn out_of_buffer(shard: &Shard, index: PortIndex, priority: Priority) -> u64 {
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
            u64::from(shard.wires.ports[index].queue(shard.wires.constants.scheduler.class(priority.get())).bytes_max)
        }
    }
}
