//! The part of a report that one process contributes, and the whole.

use etherweave_engine::losses::{Arrivals, LostData, Recovery, ResentData};
use etherweave_engine::{EventTotals, fingerprint::Fingerprint};
use etherweave_host::{IterationRow, RepetitionRow};
use etherweave_kernel::{Processes, wire};
use etherweave_primitives::{ChannelId, Time};
use etherweave_topology::Topology;

use super::rank_log::HostsLog;
use super::{
    FailureRow, FlowRow, LearningRow, LosslessDrop, PortRow, RateRow, ReplayRow, SleepRow, StormRow, StreamRow,
};

/// Rows of one process, each with what orders it among those of all.
#[derive(Default)]
pub(crate) struct ReportPart {
    pub totals: EventTotals,
    pub packets_max: u64,
    pub fingerprint: Option<Fingerprint>,
    pub iterations: Vec<IterationRow>,
    /// Rounds that repetitions stand for.
    pub repetitions: Vec<RepetitionRow>,
    pub(super) logs: Vec<HostsLog>,
    /// Rows by the channel that the port sends into.
    pub ports: Vec<(ChannelId, PortRow)>,
    /// Rows by job.
    pub streams: Vec<(u32, StreamRow)>,
    /// Job, flow and start of flows that wait for others.
    pub late_starts: Vec<(u32, u32, Time)>,
    /// Number of the sending end, by sender and receiver.
    pub flows: Vec<((u32, u32, u32), FlowRow)>,
    /// Ports that sleep between frames.
    pub sleeps: Vec<(ChannelId, SleepRow)>,
    /// Switches that learn addresses, by number.
    pub learning: Vec<(u32, LearningRow)>,
    /// Storms of pauses.
    pub storms: Vec<(ChannelId, StormRow)>,
    /// Frames that links have sent again.
    pub replays: Vec<(ChannelId, ReplayRow)>,
    /// Rates of ports that follow their load.
    pub rates: Vec<(ChannelId, RateRow)>,
    /// Links that were down.
    pub failures: Vec<(ChannelId, FailureRow)>,
    /// Data that they lost, by channel and time of the failure.
    pub losses: Vec<((ChannelId, Time), LostData)>,
    /// Data that arrived after it was sent again.
    pub resent: Vec<ResentData>,
    /// Data that has arrived, by number of the sending connection end [B].
    pub received: Vec<(u32, u64)>,
    /// Losses of switches.
    pub switch_drops: Vec<(ChannelId, LosslessDrop)>,
    /// Losses of NICs.
    pub nic_drops: Vec<(ChannelId, LosslessDrop)>,
}

impl ReportPart {
    /// Puts the parts of all processes together on the first; the others are left with nothing.
    pub fn gather(self, processes: &Processes, topology: &Topology) -> ReportPart {
        let mut all = processes.gather(self).into_iter().fold(ReportPart::default(), ReportPart::and);
        let end = |channel: ChannelId| topology.channel(channel).from;
        all.iterations.sort_unstable_by_key(|row| (row.job, row.rank, row.iteration));
        all.repetitions.sort_unstable_by_key(|row| (row.job, row.rank));
        all.ports.sort_by_key(|&(channel, _)| end(channel));
        all.streams.sort_by_key(|(job, row)| (*job, row.stream));
        all.start_streams();
        all.sort_flows();
        all.failures.sort_by_key(|(channel, row)| (end(*channel), row.from));
        all.recover();
        all.sleeps.sort_by_key(|&(channel, _)| end(channel));
        all.learning.sort_by_key(|&(switch, _)| switch);
        all.storms.sort_by_key(|(channel, row)| (end(*channel), row.detected, row.priority));
        all.replays.sort_by_key(|&(channel, _)| end(channel));
        all.rates.sort_by_key(|&(channel, _)| end(channel));
        all.switch_drops.sort_by_key(|&(channel, _)| end(channel));
        all.nic_drops.sort_by_key(|&(channel, _)| end(channel));
        all
    }

    /// Flows of equal hosts by what they carried.
    pub fn sort_flows(&mut self) {
        self.flows.sort_by_key(|(_, row)| row.order());
    }

    /// Adds the starts of flows that wait for others, which their senders know.
    fn start_streams(&mut self) {
        for (job, stream, start) in std::mem::take(&mut self.late_starts) {
            let place = self.streams.binary_search_by_key(&(job, stream), |(job, row)| (*job, row.stream));
            let row = &mut self.streams[place.expect("both ends of a flow are of the run")].1;
            (row.start, row.measured, row.end) = (start, row.measured.max(start), row.end.max(start));
        }
    }

    /// Adds to each failure how its loss was made good.
    fn recover(&mut self) {
        let arrivals = Arrivals::new(std::mem::take(&mut self.resent), std::mem::take(&mut self.received));
        self.losses.sort_by_key(|&(failure, _)| failure);
        for (channel, row) in &mut self.failures {
            let failure = (*channel, row.from);
            let first = self.losses.partition_point(|&(other, _)| other < failure);
            let losses = self.losses[first..].iter().take_while(|&&(other, _)| other == failure);
            let Recovery { connections, recovered } = arrivals.recovery(losses.map(|(_, lost)| lost));
            (row.connections, row.recovered) = (connections, recovered);
        }
    }

    fn and(mut self, next: ReportPart) -> ReportPart {
        self.totals = EventTotals::sum([self.totals, next.totals].iter());
        self.packets_max += next.packets_max;
        if let Some(fingerprint) = &next.fingerprint {
            self.fingerprint.get_or_insert_default().merge(fingerprint);
        }
        append(&mut self.iterations, next.iterations);
        append(&mut self.repetitions, next.repetitions);
        append(&mut self.logs, next.logs);
        append(&mut self.ports, next.ports);
        append(&mut self.streams, next.streams);
        append(&mut self.late_starts, next.late_starts);
        append(&mut self.flows, next.flows);
        append(&mut self.failures, next.failures);
        append(&mut self.sleeps, next.sleeps);
        append(&mut self.learning, next.learning);
        append(&mut self.storms, next.storms);
        append(&mut self.replays, next.replays);
        append(&mut self.rates, next.rates);
        append(&mut self.losses, next.losses);
        append(&mut self.resent, next.resent);
        append(&mut self.received, next.received);
        append(&mut self.switch_drops, next.switch_drops);
        append(&mut self.nic_drops, next.nic_drops);
        self
    }
}

/// The first rows are not copied: there may be millions.
fn append<T>(all: &mut Vec<T>, mut next: Vec<T>) {
    if all.is_empty() { *all = next } else { all.append(&mut next) }
}

wire! {
    ReportPart {
        totals, packets_max, fingerprint, iterations, repetitions, logs, ports, streams, late_starts, flows,
        failures, sleeps, storms, learning, replays, rates, losses, resent, received, switch_drops, nic_drops
    }
}
