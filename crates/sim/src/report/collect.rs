//! From the shards' state to rows, in an order that does not depend on shards.

use etherweave_engine::EventTotals;
use etherweave_engine::fingerprint::Fingerprint;
use etherweave_host::{ActivityLog, IterationRow, MessageEnd, Role};
use etherweave_kernel::Processes;
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, HostId, Time};

use super::activities::{ActivityRow, EndRow, transfers};
use super::far::FarEnds;
use super::latency::Latencies;
use super::part::ReportPart;
use super::path::{PostedRow, StepRow, Surroundings, paths};
use super::{LosslessDrop, Report, Totals};
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
            observed: self.names.observes_ranks.then(|| {
                let constants = &self.shards.first().expect("a process has a shard").wires.constants;
                let latencies = Latencies::new(&self.names.topology, constants);
                let around = Surroundings {
                    in_host: constants.params.host.shared_memory.latency,
                    latency: &|source, destination| latencies.between(source, destination),
                    line: &|host, bytes| self.line_time(host, bytes),
                };
                let path = paths(part.steps, part.posted, part.at_nics, &around);
                (part.activities, transfers(part.sent, part.arrived), path)
            }),
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
            totals: EventTotals::sum(self.shards.iter().map(|shard| &shard.wires.totals)),
            packets_max: self.shards.iter().map(|shard| shard.wires.packets.capacity_used() as u64).sum(),
            fingerprint,
            iterations: self.iterations(),
            activities: self.activities(),
            sent: self.message_ends(|log| &log.sent, EndRow::sent),
            arrived: self.message_ends(|log| &log.received, EndRow::received),
            steps: self.steps(),
            posted: self.posted(),
            at_nics: self.logs().flat_map(|(_, _, _, log)| log.steps.arrived.iter().copied()).collect(),
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

    fn sums(&self, totals: &EventTotals, packets_max: u64) -> Totals {
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

    /// How long some bytes take on all links of a host together.
    fn line_time(&self, host: u32, bytes: u64) -> Duration {
        let topology = &self.names.topology;
        let rates = topology.host_channels(HostId::new(host)).iter().map(|&channel| topology.channel(channel).rate);
        BitRate::from_bps(rates.map(BitRate::as_bps).sum()).serialization_time(Bytes::new(bytes))
    }

    /// Tasks of ranks that have ended.
    fn steps(&self) -> Vec<StepRow> {
        let rows = |(job, rank, host, log)| {
            let log: &ActivityLog = log;
            let ended = log.steps.steps.iter().filter(|step| step.end < Time::MAX);
            ended.map(move |&step| StepRow { job, rank, host, step })
        };
        self.logs().flat_map(rows).collect()
    }

    fn posted(&self) -> Vec<PostedRow> {
        let rows = |(_, rank, _, log)| {
            let log: &ActivityLog = log;
            log.steps.posted.iter().map(move |&posted| PostedRow { rank, posted })
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

    pub(super) fn port_names(&self, channel: ChannelId) -> (String, u16, String) {
        let topology = &self.names.topology;
        let ends = topology.channel(channel);
        (topology.name(ends.from.node).to_owned(), ends.from.port.get(), topology.name(ends.to.node).to_owned())
    }

    pub(super) fn host_name(&self, host: u32) -> String {
        self.names.topology.host_name(HostId::new(host)).to_owned()
    }
}
