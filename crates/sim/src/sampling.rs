//! Sampling: the state of chosen ports, flows and hosts at multiples of a period.
//!
//! ```text
//!   from          from + period     from + 2 period        end of the run
//!    │  events before │  events before  │        …         │
//!    ▼                ▼                 ▼                  ▼
//!  sample           sample            sample             sample
//! ```
//!
//! A sample is taken between events: all that are due before it have been served, none that is due with it. So it
//! changes no event and no order, and windows are those of a run without samples. The last one, at the end of the run,
//! has seen every event.
//!
//! Counters are kept as they stand; differences are made when shards are merged. What a shard has sampled names ports,
//! flows and hosts by their numbers in the run, and so can be merged without the owners.

use etherweave_engine::Wires;
use etherweave_host::Hosts;
use etherweave_kernel::indices::{EndpointIndex, PortIndex, ReceiveQueueIndex, ThreadIndex};
use etherweave_kernel::wire;
use etherweave_primitives::{ChannelId, Duration, HostId, Time};
use etherweave_switch::Switches;

use crate::report::{FlowSampleRow, HostSampleRow, PortSampleRow};

/// Ports, flows and hosts that are sampled during a run, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Time from one sample to the next; not 0.
    pub period: Duration,
    /// Start of the first period, a multiple of `period`.
    pub from: Duration,
    /// End of the last period, a multiple of `period`. Absent: the end of the run.
    pub until: Option<Duration>,
    /// Channels whose sending ports are sampled, each once.
    pub ports: Vec<ChannelId>,
    /// Number of sampled ports that are reported: those that sent most. Absent: all.
    pub busiest: Option<u32>,
    /// Flows that are sampled.
    pub flows: Vec<FlowSelection>,
    /// Hosts whose processors are sampled, in order, each once.
    pub hosts: Vec<HostId>,
}

/// The flows from some hosts to others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowSelection {
    /// Hosts that send, in order.
    pub sources: Vec<HostId>,
    /// Hosts that receive, in order.
    pub destinations: Vec<HostId>,
}

impl FlowSelection {
    /// Whether a flow belongs to it.
    pub fn includes(&self, source: HostId, destination: HostId) -> bool {
        self.sources.binary_search(&source).is_ok() && self.destinations.binary_search(&destination).is_ok()
    }
}

impl Sampling {
    /// Memory of `samples` samples of so many ports, each with its priorities, flows and hosts, until they are tables
    /// [B].
    pub fn memory(samples: u64, ports: u64, flows: u64, hosts: u64) -> u64 {
        let port = size_of::<PortSample>() + size_of::<PortSampleRow>();
        let flow = size_of::<FlowSample>() + size_of::<FlowSampleRow>();
        let host = size_of::<HostSample>() + size_of::<HostSampleRow>();
        let each = [(ports, port), (flows, flow), (hosts, host)].map(|(count, size)| count.saturating_mul(size as u64));
        samples.saturating_mul(each.into_iter().fold(0, u64::saturating_add))
    }
}

/// A port and a priority, by numbers of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SampledPort {
    /// The channel that the port sends into.
    pub channel: ChannelId,
    /// 802.1Q priority.
    pub priority: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SampledFlow {
    /// Sender and receiver.
    pub hosts: (u32, u32),
    /// Number of the sending end of its connection.
    pub number: u32,
}

/// A port and priority at an instant. Counters are those since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PortSample {
    /// Waiting in the queue of the priority's traffic class; of an input-queued switch: in the queue of the input port
    /// and priority; of a NIC: in its receive buffer [B].
    pub occupancy: u64,
    /// Sent [B on the wire].
    pub tx_bytes: u64,
    /// Packets lost.
    pub drops: u64,
    /// Packets marked by ECN.
    pub marks: u64,
    /// Time for which the port was paused.
    pub rx_pause: Duration,
    /// Time for which it held its peer paused.
    pub tx_pause: Duration,
    /// Time for which the first packet of the priority lacked credits.
    pub credit_wait: Duration,
}

/// A flow at an instant, as its source knows it. Counters are those since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct FlowSample {
    /// Acknowledged [B].
    pub bytes: u64,
    /// Data packets sent, again included.
    pub packets: u64,
    /// Data packets (RoCE) or segments (TCP) sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Window of the transport [B].
    pub window: u64,
    /// Bytes in the network, as far as the source knows [B].
    pub in_flight: u64,
    /// Rate of the rate limiter [bit/s]; 0 without one.
    pub rate: u64,
}

/// Processors of a host at an instant: times since the start of the run, of all its threads or receive queues.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct HostSample {
    /// Programs, and libraries that work for them.
    pub user: Duration,
    /// The kernel, in calls of programs.
    pub system: Duration,
    /// The kernel, at what NICs interrupt for.
    pub softirq: Duration,
    /// Waits of ranks.
    pub waiting: Duration,
}

/// Samples of a shard: plain data, a row of ports, a row of flows and a row of hosts for each instant.
#[derive(Clone, Default, Debug)]
pub(crate) struct SampledRows {
    /// The same in all shards.
    pub times: Vec<Time>,
    /// Each row of `port_samples`.
    pub ports: Vec<SampledPort>,
    /// Row after row.
    pub port_samples: Vec<PortSample>,
    /// Each row of `flow_samples`.
    pub flows: Vec<SampledFlow>,
    /// Row after row.
    pub flow_samples: Vec<FlowSample>,
    /// Each row of `host_samples`.
    pub hosts: Vec<HostId>,
    /// Row after row.
    pub host_samples: Vec<HostSample>,
}

wire! {
    SampledRows { times, ports, port_samples, flows, flow_samples, hosts, host_samples }
    SampledPort { channel, priority }
    SampledFlow { hosts, number }
    PortSample { occupancy, tx_bytes, drops, marks, rx_pause, tx_pause, credit_wait }
    FlowSample { bytes, packets, retransmissions, timeouts, window, in_flight, rate }
    HostSample { user, system, softirq, waiting }
}

impl SampledRows {
    /// Removes what was sampled at `end` or later.
    fn truncate(&mut self, end: Time) {
        let rows = self.times.partition_point(|&time| time < end);
        self.times.truncate(rows);
        self.port_samples.truncate(rows * self.ports.len());
        self.flow_samples.truncate(rows * self.flows.len());
        self.host_samples.truncate(rows * self.hosts.len());
    }
}

/// Samples of a shard, and when the next one is due.
#[derive(Debug)]
pub(crate) struct Sampler {
    period: Duration,
    next: Time,
    until: Time,
    /// Where the ports of `samples` are in the shard.
    pub ports: Vec<PortIndex>,
    /// Where the flows of `samples` are in the shard: endpoints.
    pub flows: Vec<EndpointIndex>,
    /// Threads of the hosts of `samples`, each with the place of its host there.
    pub threads: Vec<(usize, ThreadIndex)>,
    /// Receive queues likewise.
    pub queues: Vec<(usize, ReceiveQueueIndex)>,
    /// Until now.
    pub samples: SampledRows,
}

#[derive(Clone, Copy)]
pub(crate) struct Owners<'a> {
    /// Time, packets and links.
    pub wires: &'a Wires,
    /// Switches.
    pub switches: &'a Switches,
    /// Hosts.
    pub hosts: &'a Hosts,
}

impl Owners<'_> {
    /// Priorities that a port holds paused at its peer.
    pub fn held_pauses(&self, port: PortIndex) -> u8 {
        match self.wires.host_of_port(port) {
            Some(host) => self.hosts.nics.hosts[host].held_pauses(self.wires.constants.nic_pause_mask),
            None => self.switches.held_pauses(&self.wires.constants, port),
        }
    }
}

impl Sampler {
    /// Sampler of a shard without ports, flows and hosts.
    pub fn new(sampling: &Sampling) -> Sampler {
        assert!(!sampling.period.is_zero(), "samples lie apart");
        Sampler {
            period: sampling.period,
            next: Time::ZERO + sampling.from,
            until: sampling.until.map_or(Time::MAX, |until| Time::ZERO + until),
            ports: Vec::new(),
            flows: Vec::new(),
            threads: Vec::new(),
            queues: Vec::new(),
            samples: SampledRows::default(),
        }
    }

    /// When the next sample is due, if it is until `end`.
    #[inline]
    pub(crate) fn due(&self, end: Time) -> Option<Time> {
        (self.next <= end).then_some(self.next)
    }

    /// Takes the sample of a shard that is due now: all events before it have been served.
    #[cold]
    pub(crate) fn take(&mut self, now: Time, owners: Owners<'_>) {
        self.add(now, owners);
        let next = now + self.period;
        self.next = if next <= self.until { next } else { Time::MAX };
    }

    /// Takes what is still due, and a last sample at the end of the run, which lies before the end of its last window.
    pub(crate) fn end(&mut self, end: Time, owners: Owners<'_>) {
        while let Some(time) = self.due(end) {
            self.take(time, owners);
        }
        self.samples.truncate(end);
        if end <= self.until && !self.samples.times.is_empty() {
            self.add(end, owners);
        }
    }

    fn add(&mut self, now: Time, owners: Owners<'_>) {
        let samples = &mut self.samples;
        samples.times.push(now);
        let ports = self.ports.iter().zip(&samples.ports);
        samples.port_samples.extend(ports.map(|(&port, sampled)| port_sample(owners, now, port, sampled.priority)));
        samples.flow_samples.extend(self.flows.iter().map(|&endpoint| flow_sample(owners, now, endpoint)));
        let first = samples.host_samples.len();
        samples.host_samples.resize(first + samples.hosts.len(), HostSample::default());
        let (hosts, processors) = (&mut samples.host_samples[first..], &owners.hosts.processors);
        for &(place, thread) in &self.threads {
            let times = processors.busy.threads[thread].at(now, processors.waits(thread));
            hosts[place].user += times.user;
            hosts[place].system += times.system;
            hosts[place].waiting += times.waiting;
        }
        for &(place, queue) in &self.queues {
            hosts[place].softirq += processors.busy.queues[queue].at(now, false).system;
        }
    }
}

fn port_sample(owners: Owners<'_>, now: Time, index: PortIndex, priority: u8) -> PortSample {
    let port = &owners.wires.ports[index];
    let bit = usize::from(priority);
    let counters = port.counters(bit);
    let (rx_pause, tx_pause) = port.paused().durations(now, owners.held_pauses(index), bit);
    PortSample {
        occupancy: occupancy(owners, now, index, priority),
        tx_bytes: counters.tx_bytes,
        drops: counters.drops,
        marks: counters.marks,
        rx_pause,
        tx_pause,
        credit_wait: owners.wires.credits.wait_until(now, index, bit),
    }
}

fn occupancy(owners: Owners<'_>, now: Time, index: PortIndex, priority: u8) -> u64 {
    match owners.wires.host_of_port(index) {
        Some(host) => {
            let nic = &owners.hosts.nics.hosts[host].nic;
            owners.hosts.nics.times.rate.bytes_in(nic.buffer.backlog(now)).get()
        }
        None if owners.switches.crossbars.are_used() => {
            owners.switches.crossbars.queued(index, usize::from(priority)).0.into()
        }
        None => {
            let queues = owners.wires.constants.queues_of(priority);
            queues.map(|class| owners.wires.ports[index].queue(class).bytes.into()).max().unwrap_or_default()
        }
    }
}

fn flow_sample(owners: Owners<'_>, now: Time, endpoint: EndpointIndex) -> FlowSample {
    let state = owners.hosts.nics.state(endpoint);
    let (sent, state) = (state.sent(), state.send_state(now, &owners.wires.constants));
    FlowSample {
        bytes: sent.bytes,
        packets: sent.packets,
        retransmissions: sent.retransmissions,
        timeouts: sent.timeouts,
        window: state.window,
        in_flight: state.in_flight,
        rate: state.rate.map_or(0, |rate| rate.as_bps()),
    }
}
