//! Collection of rows from the shards' state, in an order that does not depend on shards.

use etherweave_engine::{EventTotals, fingerprint::Fingerprint, queue::EventQueue};
use etherweave_host::{IterationRow, RankState, RepetitionRow, Role, Thread, TransportStates};
use etherweave_kernel::{Processes, SlidingVec, indices::PortIndex};
use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, HostId, Time};

use super::path::{PathMessage, PathRow, Surroundings, paths};
use super::{
    LosslessDrop, Report, Totals, calls::Occupations, far::FarEnds, latency::Latencies, observed::Observed,
    part::ReportPart, rank_log::HostsLog, rank_log::RankLogs,
};
use crate::{run::Simulation, shard::Shard};

/// State that the rows to come do not need.
#[derive(Clone, Copy)]
enum SpentState {
    /// Events, and rates of messages.
    Events,
    /// Ends of connections.
    Connections,
}

impl Simulation {
    /// Measurements so far. Logs of ranks go into the report, and begin anew.
    pub fn report(&mut self) -> Report {
        self.report_on(&Processes::ALONE)
    }

    /// The same of several processes, each of which calls this: the report of all on the first, one without rows on the
    /// others. Captured frames stay where they are.
    pub fn report_on(&mut self, processes: &Processes) -> Report {
        self.report_after(processes, |_, _| {})
    }

    /// The same of a simulation that is over. Its state goes before rows come that take as much memory.
    pub fn last_report_on(mut self, processes: &Processes) -> Report {
        self.report_after(processes, |shard, spent| match spent {
            SpentState::Events => {
                shard.wires.queue = EventQueue::new(1);
                shard.wires.fluid = None;
            }
            SpentState::Connections => {
                shard.hosts.nics.endpoints = SlidingVec::default();
                shard.hosts.nics.states = TransportStates::default();
            }
        })
    }

    fn report_after(&mut self, processes: &Processes, release: impl Fn(&mut Shard, SpentState)) -> Report {
        let logs = self.take_logs();
        let far = FarEnds::of(self, processes);
        let (counts, left_out) = (self.counts(&far), self.left_out());
        self.shards.iter_mut().for_each(|shard| release(shard, SpentState::Events));
        let flows = self.flows(&far);
        self.shards.iter_mut().for_each(|shard| release(shard, SpentState::Connections));
        let (iterations, repetitions, ports) = (self.iterations(), self.repetitions(), self.ports(&far));
        let part = ReportPart { logs, iterations, repetitions, ports, flows, ..counts };
        let mut part = part.gather(processes, &self.names.topology);
        let skips = self.forward.iter().flat_map(|forward| &forward.skips);
        let shadows = self.forward.iter().flat_map(|forward| forward.shadows.iter().copied());
        // The last first: times are those of the simulated run.
        skips.clone().rev().for_each(|(_, repeated)| part.repeat(repeated));
        part.sort_flows();
        let rows = |rows: Vec<(ChannelId, LosslessDrop)>| rows.into_iter().map(|(_, row)| row);
        Report {
            jobs: self.names.jobs.clone(),
            samples: self.samples_on(processes),
            totals: self.sums(&part.totals, part.packets_max),
            observed: self.names.observes_ranks.then(|| self.observed(part.logs, &part.iterations)),
            iterations: part.iterations,
            repetitions: part.repetitions,
            ports: part.ports.into_iter().map(|(_, row)| row).collect(),
            streams: part.streams.into_iter().map(|(_, row)| row).collect(),
            flows: part.flows.into_iter().map(|(_, row)| row).collect(),
            failures: part.failures.into_iter().map(|(_, row)| row).collect(),
            sleeps: part.sleeps.into_iter().map(|(_, row)| row).collect(),
            learning: part.learning.into_iter().map(|(_, row)| row).collect(),
            storms: part.storms.into_iter().map(|(_, row)| row).collect(),
            replays: part.replays.into_iter().map(|(_, row)| row).collect(),
            rates: part.rates.into_iter().map(|(_, row)| row).collect(),
            lossless_drops: rows(part.switch_drops).chain(rows(part.nic_drops)).collect(),
            fingerprint: part.fingerprint.filter(|_| self.forward.is_none()),
            left_out,
            skips: skips.map(|(row, _)| *row).chain(shadows).collect(),
            skip_obstacle: self.forward.as_ref().and_then(|forward| forward.obstacle.clone()),
            deadlock: self.deadlock.clone(),
            captured: self
                .shards
                .iter()
                .flat_map(|shard| &shard.wires.captures)
                .map(|port| port.capture.clone())
                .collect(),
        }
    }

    /// Counts of all processes before `at`, on the first.
    pub(crate) fn counters(&mut self, at: Time, processes: &Processes) -> ReportPart {
        self.end = at;
        let far = FarEnds::of(self, processes);
        let counts = self.counts(&far);
        let part = ReportPart { ports: self.ports(&far), flows: self.flows(&far), ..counts };
        part.gather(processes, &self.names.topology)
    }

    pub(crate) fn skipped(&self) -> Duration {
        self.forward.as_ref().map_or(Duration::ZERO, |forward| forward.skipped())
    }

    /// Counts but those of ports and of connections.
    fn counts(&mut self, far: &FarEnds) -> ReportPart {
        let mut fingerprint: Option<Fingerprint> = None;
        for part in self.shards.iter().filter_map(|shard| shard.wires.fingerprint.as_ref()) {
            fingerprint.get_or_insert_default().merge(part);
        }
        ReportPart {
            totals: EventTotals::sum(self.shards.iter().map(|shard| &shard.wires.totals)),
            packets_max: self.shards.iter().map(|shard| shard.wires.packets.capacity_used() as u64).sum(),
            fingerprint,
            iterations: Vec::new(),
            repetitions: Vec::new(),
            logs: Vec::new(),
            ports: Vec::new(),
            streams: self.streams(),
            late_starts: self.late_starts(),
            flows: Vec::new(),
            failures: self.failures(),
            sleeps: self.sleeps(),
            learning: self.learning(),
            storms: self.storms(),
            replays: self.replays(),
            rates: self.rates(),
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
            end: self.end + self.skipped(),
            packets_max,
        }
    }

    fn iterations(&self) -> Vec<IterationRow> {
        self.ranks().flat_map(|(_, rank)| rank.rows.iter().copied()).collect()
    }

    /// Rounds of ranks that repetitions stand for.
    fn repetitions(&self) -> Vec<RepetitionRow> {
        self.ranks().filter_map(|(thread, rank)| rank.repetition(thread)).collect()
    }

    /// Threads of ranks.
    fn ranks(&self) -> impl Iterator<Item = (&Thread, &RankState)> {
        let threads = self.shards.iter().flat_map(|shard| &shard.hosts.processors.threads);
        threads.filter_map(|thread| if let Role::Rank(rank) = &thread.role { Some((thread, &**rank)) } else { None })
    }

    /// Logs of ranks, of each shard.
    fn take_logs(&mut self) -> Vec<HostsLog> {
        let is_noted = self.names.observes_ranks;
        self.shards.iter_mut().filter(|_| is_noted).map(|shard| HostsLog::take(&mut shard.hosts)).collect()
    }

    /// Notes of ranks until the end, and the paths that limit jobs.
    fn observed(&self, logs: Vec<HostsLog>, iterations: &[IterationRow]) -> Observed {
        let logs = RankLogs::new(logs, self.end);
        Observed::new(self.paths(&logs, iterations), logs)
    }

    /// The paths that limit jobs.
    fn paths(&self, logs: &RankLogs, iterations: &[IterationRow]) -> (Vec<PathRow>, Vec<PathMessage>) {
        let shard = self.shards.first().expect("a process has a shard");
        let (constants, drained) = (&shard.wires.constants, shard.hosts.nics.times.rate);
        let latencies = Latencies::new(&self.names.topology, constants);
        let around = Surroundings {
            in_host: constants.params.host.shared_memory.latency,
            latency: &|source, destination| latencies.between(source, destination),
            line: &|hosts, bytes| self.line_time(hosts, bytes),
            drain: &|bytes| drained.serialization_time(Bytes::new(bytes)),
        };
        paths(logs, &Occupations::new(logs, iterations), &around)
    }

    /// How long some bytes take on the links of the slower of two hosts: on all of a host together where packets take
    /// ports in turn, otherwise on one, as those of a tree always do.
    fn line_time(&self, hosts: [u32; 2], bytes: u64) -> Duration {
        let topology = &self.names.topology;
        let shard = self.shards.first().expect("a process has a shard");
        let is_in_turn = shard.wires.constants.params.ports.choice.is_per_packet() && hosts[0] != hosts[1];
        let time = |host| {
            let channels = topology.host_channels(HostId::new(host)).iter();
            let rates = channels.map(|&channel| topology.channel(channel).rate.as_bps());
            let rate = if is_in_turn { rates.sum() } else { rates.max().unwrap_or(0) };
            BitRate::from_bps(rate).serialization_time(Bytes::new(bytes))
        };
        time(hosts[0]).max(time(hosts[1]))
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
