//! Outcome of a run: tables, the resolved scenario, and its figures in short.

use etherweave_sim::params::{FlowControl, PfcWatchdog, ResentCounts, WatchdogAction};
use etherweave_sim::{Fingerprint, Finish, FlowRow, LeftOut, LosslessDrop, Report, ShardTimes, Simulation};

use crate::{Fault, LateTable, Scenario, Skipped, Table, parts::fast_forward, parts::host_ports};

/// See the module.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result tables, without those that are made when they are read.
    pub tables: Vec<Table>,
    /// The others.
    pub late: Vec<LateTable>,
    /// The scenario with every default, as TOML.
    pub resolved: String,
    /// The run in short.
    pub summary: Summary,
}

impl Outcome {
    /// Makes all tables.
    pub fn with_all_tables(mut self) -> Outcome {
        self.tables.extend(self.late.drain(..).map(|late| late.table()));
        self
    }
}

/// The figures of a whole run, as JSON objects have them.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Summary {
    /// Name of the scenario.
    pub name: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Version of Etherweave.
    pub version: &'static str,
    /// "complete", "time_limit", "interrupted", "stuck" or "fault".
    pub finished: &'static str,
    /// Who waits for whom, when stuck.
    pub stuck_report: Option<String>,
    /// The panic that has ended it, if one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Simulated time of the last event, at most a lookahead after the last job of a complete run [ns].
    pub end_ns: f64,
    /// Real time of the simulation [s].
    pub wall_s: f64,
    /// Real time before it [s].
    pub setup_s: f64,
    /// Events served.
    pub events: u64,
    /// Packets that crossed a link, each link counted.
    pub packet_hops: u64,
    /// Packets that hosts made.
    pub packets_created: u64,
    /// Packets that reached their host.
    pub packets_delivered: u64,
    /// Packets dropped for want of buffer space.
    pub packets_dropped: u64,
    /// Packets discarded because their frame check sequence was wrong.
    pub packets_damaged: u64,
    /// Packets lost on links that were down.
    pub packets_lost: u64,
    /// Packets under way at the end.
    pub packets_in_flight: u64,
    /// Largest number of packets that ever existed at once.
    pub packets_max: u64,
    /// Memory that it was expected to take at most [B].
    pub memory_bytes_estimated: u64,
    /// Equal for equal runs.
    pub fingerprint: Option<HexFingerprint>,
    /// Threads that took part.
    pub threads: usize,
    /// Times of threads, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
    /// Shares that were not simulated, with `run.fast_forward`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
    /// All warnings: those that were known before the run, and what it showed.
    pub warnings: Vec<String>,
}

/// Windows of a run on several threads: a shard is served alone within a window, and all shards meet at its end.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Windows {
    /// Number of windows.
    pub count: u64,
    /// Simulated time of a window [ns].
    pub lookahead_ns: f64,
    /// Events of each shard.
    pub events: Vec<u64>,
    /// Real time to serve each shard [s].
    pub served_s: Vec<f64>,
    /// Real time of each shard to take in what others have sent [s].
    pub taken_s: Vec<f64>,
    /// Real time to serve the slowest shard of every window, summed [s]: without waiting, the run takes so long.
    pub slowest_s: f64,
}

impl Windows {
    /// Windows of a run that is over, if it had several threads and a clock.
    pub(crate) fn of(simulation: &Simulation) -> Option<Windows> {
        let times = || simulation.window_times();
        let seconds = |of: fn(&ShardTimes) -> u64| times().map(|(shard, _)| of(shard) as f64 * 1e-9).collect();
        let (first, _) = times().next().filter(|(first, _)| times().len() > 1 && first.windows > 0)?;
        Some(Windows {
            count: first.windows,
            lookahead_ns: simulation.lookahead().as_ns_f64(),
            events: times().map(|(_, events)| events).collect(),
            served_s: seconds(|shard| shard.served),
            taken_s: seconds(|shard| shard.taken),
            slowest_s: first.slowest as f64 * 1e-9,
        })
    }
}

/// A fingerprint in hexadecimal: when, where, what, how long.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct HexFingerprint {
    /// When.
    pub t: String,
    /// Where.
    pub p: String,
    /// What.
    pub k: String,
    /// How long.
    pub l: String,
}

impl From<Fingerprint> for HexFingerprint {
    fn from(print: Fingerprint) -> HexFingerprint {
        let hex = |word: u64| format!("{word:016x}");
        HexFingerprint { t: hex(print.time), p: hex(print.place), k: hex(print.kind), l: hex(print.length) }
    }
}

impl Summary {
    /// The summary as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a summary is JSON")
    }
}

/// The word for an end, and the report of a stuck run.
pub(crate) fn finished(finish: &Finish) -> (&'static str, Option<String>) {
    match finish {
        Finish::Complete => ("complete", None),
        Finish::TimeLimit => ("time_limit", None),
        Finish::Interrupted => ("interrupted", None),
        Finish::Stuck(report) => ("stuck", Some(report.clone())),
    }
}

/// The share of a run from which on it is said that flow-level mode leaves something out of it.
const LEFT_OUT_MAX: f64 = 0.01;
/// The share of connections behind queues from which on that is said: each is delayed once, and the others are not.
const DELAYED_MAX: f64 = 0.05;

/// The share of data packets from which on it is said that they were sent again without need.
const RESENT_MAX: f64 = 0.01;
/// The share of data packets from which on it is said that full queues dropped them.
const OVERFLOWED_MAX: f64 = 0.01;
/// The share of messages from which on it is said that they wait for others of their pair of ranks.
const BEHIND_MAX: f64 = 0.1;
const BEHIND_MIN: u64 = 5;

/// A warning for each port that lost what it must not lose, for ports that wait for each other, for what the transport
/// did in vain, and for what flow-level mode leaves out.
pub(crate) fn warnings(scenario: &Scenario, report: &Report, sent: &SentCounts) -> Vec<String> {
    let deadlock = report.deadlock.iter().map(|cycle| deadlock(scenario, cycle));
    let drops = report.lossless_drops.iter().map(|drop| lost(scenario, report, drop));
    let transport = [
        resent(scenario, report, sent),
        timed_out(scenario, report, sent),
        overflowed(scenario, report, sent),
        behind(report),
    ];
    let transport = transport.into_iter().flatten();
    let skips = fast_forward::warning(scenario, report);
    deadlock.chain(drops).chain(transport).chain(left_out(&report.left_out)).chain(skips).collect()
}

/// Ports that wait for each other at the end of the run.
fn deadlock(scenario: &Scenario, cycle: &str) -> String {
    let waits = format!("deadlock: {cycle} wait for each other");
    match watchdog(scenario).filter(|watchdog| watchdog.acts()) {
        Some(watchdog) => {
            let time = watchdog.detection;
            format!("{waits} as the run ends: flow_control.pfc.watchdog ends that after a detection time of {time}")
        }
        None => waits,
    }
}

fn watchdog(scenario: &Scenario) -> Option<&PfcWatchdog> {
    let FlowControl::Pfc(pfc) = &scenario.flow_control else { return None };
    pfc.watchdog.as_ref()
}

/// Packets that the network has lost, for whatever reason.
fn lost_packets(report: &Report) -> u64 {
    report.totals.dropped + report.totals.damaged + report.totals.lost
}

/// Sums over connections of a transport.
#[derive(Clone, Copy)]
pub(crate) struct SentCounts {
    transport: &'static str,
    packets: u64,
    resent: u64,
    timeouts: u64,
    overtaken: u64,
}

impl SentCounts {
    /// Those of a transport, which has no connections yet.
    pub fn of(transport: &'static str) -> SentCounts {
        SentCounts { transport, packets: 0, resent: 0, timeouts: 0, overtaken: 0 }
    }

    /// Adds connections.
    pub fn add(&mut self, flows: &[FlowRow]) {
        for flow in flows.iter().filter(|flow| flow.transport == self.transport) {
            self.packets += flow.packets;
            self.resent += flow.retransmissions;
            self.timeouts += flow.timeouts;
            self.overtaken += flow.out_of_order;
        }
    }
}

/// Packets that were sent again though they were not lost.
fn resent(scenario: &Scenario, report: &Report, sent: &SentCounts) -> Option<String> {
    let transport = scenario.lossless_transport();
    let &SentCounts { packets, resent, timeouts, overtaken, .. } = sent;
    let lost = lost_packets(report);
    let is_by_packet = !scenario.routing.keeps_order() || host_ports::is_per_packet(scenario);
    // Shortest paths that follow failures are decided for every packet.
    let is_overtaken = lost == 0 && overtaken > 0;
    let keeps_order = !is_by_packet && !transport.chooses_paths() && !is_overtaken;
    let (needless, reason) = transport.needless(&ResentCounts { resent, lost, timeouts, keeps_order });
    let share = needless as f64 / packets.max(1) as f64;
    let percent = 100.0 * share;
    (share > RESENT_MAX).then(|| format!("{percent:.1} % of data packets were sent again that were not lost: {reason}"))
}

/// Losses that waited for the retransmission timer, because nothing else finds them.
fn timed_out(scenario: &Scenario, report: &Report, sent: &SentCounts) -> Option<String> {
    let transport = scenario.lossless_transport();
    if sent.timeouts == 0 || lost_packets(report) == 0 { None } else { transport.timeouts(sent.timeouts) }
}

/// Losses of full queues that nothing keeps senders from: neither flow control nor a congestion control.
fn overflowed(scenario: &Scenario, report: &Report, sent: &SentCounts) -> Option<String> {
    let transport = scenario.lossless_transport();
    let is_slowed = !transport.expects_no_loss() || transport.slows_before_loss(scenario.switch.ecn.is_some());
    let is_lossy = matches!(scenario.flow_control, FlowControl::None {});
    let share = report.totals.dropped as f64 / sent.packets.max(1) as f64;
    (is_lossy && !is_slowed && share > OVERFLOWED_MAX).then(|| {
        format!(
            "flow_control.none: full queues dropped {} packets, and the run is longer for them: the transport has no \
             congestion control that slows senders, as transport.roce.dcqcn would",
            report.totals.dropped
        )
    })
}

/// Messages that waited for others of their pair of ranks.
fn behind(report: &Report) -> Option<String> {
    let (messages, behind) = (report.totals.messages, report.totals.messages_behind);
    let share = behind as f64 / messages.max(1) as f64;
    (share > BEHIND_MAX && behind >= BEHIND_MIN).then(|| {
        format!(
            "{behind} of {messages} messages began behind one of at least eight times their length of their own pair \
             of ranks: a pair has one connection, which keeps their order; job.connections = \"per message\" gives \
             flows connections of their own"
        )
    })
}

fn left_out(shares: &LeftOut) -> impl Iterator<Item = String> + use<> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let full = |share: f64| format!("{} of rates are limited by a full link behind a switch, where", percent(share));
    let elsewhere =
        "share links with others that wait for a full link elsewhere, and lossless Ethernet holds them back";
    let again = "transport.roce.loss_detection = \"time\" sends some again (\"timeout\" none)";
    let warnings = [
        (shares.held_back, format!("in {} of rates connections {elsewhere}", percent(shares.held_back)), LEFT_OUT_MAX),
        (
            shares.delayed,
            format!(
                "{} of connections begin behind packets of others that take longer than their messages: waits are \
                 estimates without changes of queues",
                percent(shares.delayed)
            ),
            DELAYED_MAX,
        ),
        (shares.lost, format!("{} packets may be lost", full(shares.lost)), LEFT_OUT_MAX),
        (shares.controlled, format!("{} congestion control sets them", full(shares.controlled)), LEFT_OUT_MAX),
        (
            shares.overtaken,
            format!("packets of {} of connections overtake each other, and {again}", percent(shares.overtaken)),
            LEFT_OUT_MAX,
        ),
    ];
    let concerns = warnings.into_iter().filter(|&(share, _, max)| share > max);
    concerns.map(|(_, what, _)| format!("run.fidelity: {what}, which \"flow\" does not simulate"))
}

fn lost(scenario: &Scenario, report: &Report, drop: &LosslessDrop) -> String {
    let priorities: Vec<String> =
        (0..8).filter(|bit| drop.priorities & 1 << bit != 0).map(|priority| priority.to_string()).collect();
    format!(
        "{} port {} (from {}) lost {} packets, {} B, in lossless priority {}: {}",
        drop.node,
        drop.port,
        drop.peer,
        drop.packets,
        drop.bytes,
        priorities.join(", "),
        if is_forwarded(scenario, report, drop) { forwarded(drop) } else { loss_reason(drop) }
    )
}

/// Whether a watchdog has sent to the port in spite of its pauses.
fn is_forwarded(scenario: &Scenario, report: &Report, drop: &LosslessDrop) -> bool {
    let has_stormed = report.storms.iter().any(|storm| {
        (&storm.node, &storm.peer) == (&drop.peer, &drop.node) && drop.priorities & 1 << storm.priority.get() != 0
    });
    has_stormed && watchdog(scenario).is_some_and(|watchdog| watchdog.action == WatchdogAction::Forward)
}

fn forwarded(drop: &LosslessDrop) -> String {
    format!("the watchdog of {} sends through its pauses, flow_control.pfc.watchdog.action = \"forward\"", drop.peer)
}

/// Why packets were lost that flow control protects: the ring of a host's receive queue has no pause of its own.
fn loss_reason(drop: &LosslessDrop) -> String {
    let ring = "the ring of its receive queue was full (host.receive.ring), for which no pause frame is sent";
    match (drop.out_of_ring, drop.pauses_damaged) {
        (0, 0) => "its headroom is too small".to_owned(),
        (0, damaged) => format!("of its pause frames {damaged} were damaged on a degraded link"),
        (lost, _) if lost == drop.packets => ring.to_owned(),
        (lost, _) => format!("for {lost} of them {ring}; for the others its headroom is too small"),
    }
}
