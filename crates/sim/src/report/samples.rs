//! Time series: from what shards have sampled to rows of differences, in the order of time and of the run's ports,
//! flows and hosts.

use std::{cmp::Reverse, collections::BTreeMap};

use etherweave_kernel::{Processes, rows};
use etherweave_primitives::{BitRate, ChannelId, Duration, HostId, Priority, Time};

use crate::run::Simulation;
use crate::sampling::{FlowSample, HostSample, PortSample, SampledFlow, SampledPort, SampledRows};

/// A sampled port and priority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledPortName {
    /// The switch or host of the port.
    pub node: String,
    /// Number of the port on its node.
    pub port: u16,
    /// The node at the other end.
    pub peer: String,
    /// 802.1Q priority.
    pub priority: Priority,
}

/// A sampled direction of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledFlowName {
    /// Sender.
    pub source_host: String,
    /// Receiver.
    pub destination_host: String,
    /// Number of the sending end of its connection in the run.
    pub flow: u32,
}

rows! {
    /// A port and priority in one period.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct PortSampleRow in Samples, "port_samples" {
        /// End of the period, when queues were sampled.
        time: Time ["time_ns"];
        /// Length of the period: that of the last one may be shorter.
        duration: Duration ["duration_ns"];
        /// Index of the port in [`Samples::port_names`].
        port: u32 [
            "node" = |row, samples| samples.port_names[row.port as usize].node.clone(),
            "port" = |row, samples| samples.port_names[row.port as usize].port,
            "peer" = |row, samples| samples.port_names[row.port as usize].peer.clone(),
            "priority" = |row, samples| samples.port_names[row.port as usize].priority
        ];
        /// Waiting in the queue of the priority's traffic class; of a NIC: in its receive buffer [B].
        occupancy_bytes: u64 ["occupancy_bytes"];
        /// Bytes whose packets began to be sent in the period, with preamble and gap.
        tx_bytes: u64 ["tx_bytes", "throughput_gbps" = |row, _| gbps(row.tx_bytes, row.duration)];
        /// Time for which the port was paused.
        rx_pause_duration: Duration ["rx_pause_duration_ns"];
        /// Time for which the port held its peer paused.
        tx_pause_duration: Duration ["tx_pause_duration_ns"];
        /// Time for which the first packet of the priority lacked credits.
        credit_wait_duration: Duration ["credit_wait_duration_ns"];
        /// Packets marked by ECN when they were queued for this port.
        ecn_marked_packets: u64 ["ecn_marked_packets"];
        /// Packets lost: by a switch on their path to this port, by a NIC when they arrive.
        drops_packets: u64 ["drops_packets"];
    }
}

rows! {
    /// A flow in one period, as its source knows it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct FlowSampleRow in Samples, "flow_samples" {
        /// End of the period, when window and rate were sampled.
        time: Time ["time_ns"];
        /// Length of the period: that of the last one may be shorter.
        duration: Duration ["duration_ns"];
        /// Index of the flow in [`Samples::flow_names`].
        flow: u32 [
            "source_host" = |row, samples| samples.flow_names[row.flow as usize].source_host.clone(),
            "destination_host" = |row, samples| samples.flow_names[row.flow as usize].destination_host.clone(),
            "flow" = |row, samples| samples.flow_names[row.flow as usize].flow
        ];
        /// Bytes acknowledged in the period.
        bytes: u64 ["bytes", "goodput_gbps" = |row, _| gbps(row.bytes, row.duration)];
        /// Congestion window (TCP), or the window of the transport [B].
        window_bytes: u64 ["window_bytes"];
        /// Bytes in the network, as far as the source knows [B].
        in_flight_bytes: u64 ["in_flight_bytes"];
        /// Rate of the rate limiter (DCQCN), if there is one.
        rate: Option<BitRate> ["rate_gbps"];
        /// Data packets sent in the period, again included.
        packets: u64 ["packets"];
        /// Data packets (RoCE) or segments (TCP) sent again in the period.
        retransmissions: u64 ["retransmissions"];
        /// Expiries of the retransmission timer in the period.
        timeouts: u64 ["timeouts"];
    }
}

rows! {
    /// Processors of a host in one period: the time of all its cores by kind.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct HostSampleRow in Samples, "host_samples" {
        /// End of the period.
        time: Time ["time_ns"];
        /// Length of the period: that of the last one may be shorter.
        duration: Duration ["duration_ns"];
        /// Number in [`Samples::host_names`].
        host: u32 ["host" = |row, samples| samples.host_names[row.host as usize].clone()];
        /// Programs, and libraries that work for them.
        user: Duration ["user_ns"];
        /// The kernel, in calls of programs.
        system: Duration ["system_ns"];
        /// The kernel, at what NICs interrupt for.
        softirq: Duration ["softirq_ns"];
        /// Waits of ranks for messages or a core.
        waiting: Duration ["waiting_ns"];
    }
}

/// Time series of ports, flows and hosts.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Samples {
    /// Ports and priorities that carried, lost or held anything in any period, in the order of nodes.
    pub port_names: Vec<SampledPortName>,
    /// Rows by time, then in the order of names.
    pub ports: Vec<PortSampleRow>,
    /// Flows that sent data in any period, by hosts and number.
    pub flow_names: Vec<SampledFlowName>,
    /// Rows by time, then in the order of names.
    pub flows: Vec<FlowSampleRow>,
    /// Hosts that are sampled, in the order of the topology.
    pub host_names: Vec<String>,
    /// Rows by time, then in the order of names.
    pub hosts: Vec<HostSampleRow>,
}

fn gbps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_ns_f64()
}

/// A series: which shard's, and which column of its rows.
type Series = (usize, usize);

impl Simulation {
    /// Merges the samples of all processes, on the first.
    pub(super) fn samples_on(&self, processes: &Processes) -> Option<Samples> {
        let samplers = self.shards.iter().filter_map(|shard| shard.sampler.as_deref());
        let own: Vec<&SampledRows> = samplers.map(|sampler| &sampler.samples).collect();
        if !processes.are_several() {
            return self.samples(&own);
        }
        let own: Vec<SampledRows> = own.into_iter().cloned().collect();
        let all: Vec<SampledRows> = processes.gather(own).into_iter().flatten().collect();
        self.samples(&all.iter().collect::<Vec<_>>())
    }

    fn samples(&self, shards: &[&SampledRows]) -> Option<Samples> {
        let first = shards.first()?;
        debug_assert!(shards.iter().all(|shard| shard.times == first.times), "shards sample together");
        if first.times.is_empty() {
            // The run has ended before the first sample.
            return Some(Samples::default());
        }
        let spans: Vec<(Time, Duration)> =
            first.times.windows(2).map(|pair| (pair[1], pair[1].since(pair[0]))).collect();
        let (port_names, ports) = self.port_series(shards, &spans);
        let (flow_names, flows) = self.flow_series(shards, &spans);
        let (host_names, hosts) = self.host_series(shards, &spans);
        Some(Samples { port_names, ports, flow_names, flows, host_names, hosts })
    }

    fn host_series(&self, shards: &[&SampledRows], spans: &[(Time, Duration)]) -> (Vec<String>, Vec<HostSampleRow>) {
        let at =
            |row: usize, (shard, column): Series| shards[shard].host_samples[row * shards[shard].hosts.len() + column];
        let mut series: Vec<(HostId, Series)> = series(shards, |shard| &shard.hosts);
        series.sort_by_key(|&(host, _)| host);
        let rows = spans.iter().enumerate().flat_map(|(number, &(time, duration))| {
            let row = move |host: usize, own: Series| {
                host_row(time, duration, host as u32, &at(number, own), &at(number + 1, own))
            };
            series.iter().enumerate().map(move |(host, &(_, own))| row(host, own))
        });
        let rows = rows.collect();
        (series.iter().map(|(host, _)| self.host_name(host.get())).collect(), rows)
    }

    fn port_series(
        &self,
        shards: &[&SampledRows],
        spans: &[(Time, Duration)],
    ) -> (Vec<SampledPortName>, Vec<PortSampleRow>) {
        let at =
            |row: usize, (shard, column): Series| shards[shard].port_samples[row * shards[shard].ports.len() + column];
        let mut series = series(shards, |shard| &shard.ports);
        series.retain(|&(_, own)| (0..=spans.len()).any(|row| at(row, own) != at(0, own)));
        self.keep_busiest(&mut series, |own| at(spans.len(), own).tx_bytes - at(0, own).tx_bytes);
        series.sort_by_key(|(port, _)| (self.names.topology.channel(port.channel).from, port.priority));
        let row = |number: usize, &(time, duration): &(Time, Duration), port: usize| {
            let own = series[port].1;
            port_row(time, duration, port as u32, &at(number, own), &at(number + 1, own))
        };
        let rows =
            spans.iter().enumerate().flat_map(|(number, span)| (0..series.len()).map(move |port| (number, span, port)));
        let rows = rows.map(|(number, span, port)| row(number, span, port)).collect();
        (series.iter().map(|(port, _)| self.sampled_port_name(port)).collect(), rows)
    }

    /// Removes the priorities of all but the ports that sent most, if only these are asked for.
    fn keep_busiest(&self, series: &mut Vec<(SampledPort, Series)>, sent: impl Fn(Series) -> u64) {
        let Some(count) = self.names.busiest_ports else { return };
        let mut bytes: BTreeMap<ChannelId, u64> = BTreeMap::new();
        for &(port, own) in &*series {
            *bytes.entry(port.channel).or_default() += sent(own);
        }
        let mut ports: Vec<ChannelId> = bytes.keys().copied().collect();
        ports.sort_by_key(|&channel| (Reverse(bytes[&channel]), self.names.topology.channel(channel).from));
        ports.truncate(count as usize);
        series.retain(|(port, _)| ports.contains(&port.channel));
    }

    fn flow_series(
        &self,
        shards: &[&SampledRows],
        spans: &[(Time, Duration)],
    ) -> (Vec<SampledFlowName>, Vec<FlowSampleRow>) {
        let at =
            |row: usize, (shard, column): Series| shards[shard].flow_samples[row * shards[shard].flows.len() + column];
        let mut series = series(shards, |shard| &shard.flows);
        series.retain(|&(_, own)| at(spans.len(), own).packets > at(0, own).packets);
        series.sort_by_key(|&(flow, _)| flow);
        let row = |number: usize, &(time, duration): &(Time, Duration), flow: usize| {
            let own = series[flow].1;
            flow_row(time, duration, flow as u32, &at(number, own), &at(number + 1, own))
        };
        let rows =
            spans.iter().enumerate().flat_map(|(number, span)| (0..series.len()).map(move |flow| (number, span, flow)));
        let rows = rows.map(|(number, span, flow)| row(number, span, flow)).collect();
        (series.iter().map(|(flow, _)| self.sampled_flow_name(flow)).collect(), rows)
    }

    fn sampled_port_name(&self, sampled: &SampledPort) -> SampledPortName {
        let (node, port, peer) = self.port_names(sampled.channel);
        SampledPortName { node, port, peer, priority: Priority::new(sampled.priority) }
    }

    fn sampled_flow_name(&self, sampled: &SampledFlow) -> SampledFlowName {
        let (source, destination) = sampled.hosts;
        SampledFlowName {
            source_host: self.host_name(source),
            destination_host: self.host_name(destination),
            flow: sampled.number,
        }
    }
}

/// Every column of every shard, with what it is of.
fn series<T: Copy>(shards: &[&SampledRows], of: fn(&SampledRows) -> &Vec<T>) -> Vec<(T, Series)> {
    let columns = |(number, shard): (usize, &&SampledRows)| {
        of(shard).iter().copied().enumerate().map(move |(column, one)| (one, (number, column))).collect::<Vec<_>>()
    };
    shards.iter().enumerate().flat_map(columns).collect()
}

fn port_row(time: Time, duration: Duration, port: u32, before: &PortSample, now: &PortSample) -> PortSampleRow {
    PortSampleRow {
        time,
        duration,
        port,
        occupancy_bytes: now.occupancy,
        tx_bytes: now.tx_bytes - before.tx_bytes,
        rx_pause_duration: now.rx_pause - before.rx_pause,
        tx_pause_duration: now.tx_pause - before.tx_pause,
        credit_wait_duration: now.credit_wait - before.credit_wait,
        ecn_marked_packets: now.marks - before.marks,
        drops_packets: now.drops - before.drops,
    }
}

fn host_row(time: Time, duration: Duration, host: u32, before: &HostSample, now: &HostSample) -> HostSampleRow {
    HostSampleRow {
        time,
        duration,
        host,
        user: now.user - before.user,
        system: now.system - before.system,
        softirq: now.softirq - before.softirq,
        waiting: now.waiting - before.waiting,
    }
}

fn flow_row(time: Time, duration: Duration, flow: u32, before: &FlowSample, now: &FlowSample) -> FlowSampleRow {
    FlowSampleRow {
        time,
        duration,
        flow,
        bytes: now.bytes - before.bytes,
        window_bytes: now.window,
        in_flight_bytes: now.in_flight,
        rate: (now.rate > 0).then(|| BitRate::from_bps(now.rate)),
        packets: now.packets - before.packets,
        retransmissions: now.retransmissions - before.retransmissions,
        timeouts: now.timeouts - before.timeouts,
    }
}
