//! Bounds that no run crosses, whatever is in it.

use std::collections::BTreeMap;

use etherweave_primitives::HostId;
use etherweave_scenario::{Fabric, Outcome};
use etherweave_topology::{Node, Topology};
use toml::Table;

use crate::{failure::Failure, outcome::Columns, quantity, tree};

/// Largest frame on the wire [B]: with segments of 65,483 B, or of RoCE with a path MTU of 4 KiB.
const FRAME_MAX: f64 = 65_700.0;
/// Share by which a rate may be exceeded where messages flow at rates, whose bytes are rounded.
const ROUNDING: f64 = 1e-6;
/// Light in a vacuum [ns/m].
const LIGHT: f64 = 3.335_640_95;
/// Keys that make pauses too late for what is in flight, or lose them, or make room that no pause protects.
const MAY_LOSE: [&str; 11] = [
    "switch.headroom",
    "switch.cells",
    "switch.low_power_idle",
    "switch.rate_adaptation",
    "flow_control.pfc.quanta",
    "flow_control.pfc.reaction",
    "flow_control.global_pause.quanta",
    "flow_control.global_pause.reaction",
    // No pause is sent for a full ring.
    "host.receive",
    "nic",
    "faults",
];

pub(crate) struct Facts<'r> {
    scenario: Table,
    outcome: &'r Outcome,
    resolved: &'r Table,
    warnings: &'r [String],
    fabric: Topology,
}

impl<'r> Facts<'r> {
    pub(crate) fn new(text: &str, outcome: &'r Outcome, resolved: &'r Table, warnings: &'r [String]) -> Facts<'r> {
        let fabric = Fabric::parse(&outcome.resolved, "x.toml", &[]).expect("a resolved scenario has its fabric");
        let scenario = text.parse().expect("what ran is TOML");
        Facts { scenario, outcome, resolved, warnings, fabric: fabric.topology().clone() }
    }

    /// Everything that holds for one run.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.conserved()?;
        self.hops()?;
        self.lossless()?;
        self.ports()?;
        self.samples()?;
        self.links()?;
        self.receivers()?;
        self.streams()?;
        self.transfers()?;
        self.path()?;
        self.waits()?;
        self.stuck()
    }

    fn conserved(&self) -> Result<(), Failure> {
        let summary = &self.outcome.summary;
        let lost = summary.packets_dropped + summary.packets_damaged + summary.packets_lost;
        let known = summary.packets_delivered + lost + summary.packets_in_flight;
        let detail = || format!("{} packets created, {known} delivered, lost or in flight", summary.packets_created);
        holds(summary.packets_created == known, "packets are conserved", detail)
    }

    /// A packet crosses each switch four times at most, except where tables change under way.
    pub(crate) fn hops(&self) -> Result<(), Failure> {
        let summary = &self.outcome.summary;
        let hops_max = 4 * self.fabric.switches() as u64 + 2;
        let detail = || format!("{} hops of {} packets", summary.packet_hops, summary.packets_created);
        holds(summary.packet_hops <= summary.packets_created * hops_max, "hops of a packet are bounded", detail)
    }

    fn lossless(&self) -> Result<(), Failure> {
        let loss = self.outcome.summary.warnings.iter().find(|warning| warning.contains("in lossless priority"));
        let may_lose = MAY_LOSE.iter().any(|key| tree::get(&self.scenario, key).is_some());
        holds(loss.is_none() || may_lose, "lossless priorities lose nothing", || loss.cloned().unwrap_or_default())
    }

    fn ports(&self) -> Result<(), Failure> {
        let ports = self.columns("ports")?;
        let end = self.outcome.summary.end_ns;
        for direction in ["tx_bytes", "rx_bytes"] {
            let (rates, bytes) = (ports.numbers("rate_gbps"), ports.integers(direction));
            let mut sums: BTreeMap<(&str, u64), (f64, u64)> = BTreeMap::new();
            for (row, node) in ports.texts("node").iter().enumerate() {
                let sum = sums.entry((node, ports.integers("port")[row])).or_insert((rates[row], 0));
                sum.1 += bytes[row];
            }
            for ((node, port), (rate, bytes)) in sums {
                let place = || format!("{direction} of {node} port {port} at {rate} Gb/s");
                self.within(bytes, rate, end, FRAME_MAX, "a port sends its rate at most", place)?;
            }
        }
        Ok(())
    }

    fn samples(&self) -> Result<(), Failure> {
        let Some(samples) = Columns::of(self.outcome, "port_samples") else { return Ok(()) };
        let ports = self.columns("ports")?;
        let known = ports.texts("node").iter().zip(ports.integers("port")).zip(ports.numbers("rate_gbps"));
        let rates: BTreeMap<(&str, u64), f64> = known.map(|((node, &port), &rate)| ((node, port), rate)).collect();
        let mut sums: BTreeMap<(u64, &str, u64), (f64, u64)> = BTreeMap::new();
        for (row, node) in samples.texts("node").iter().enumerate() {
            let key = (samples.numbers("time_ns")[row].to_bits(), node, samples.integers("port")[row]);
            sums.entry(key).or_insert((samples.numbers("duration_ns")[row], 0)).1 += samples.integers("tx_bytes")[row];
        }
        for ((time, node, port), (span, bytes)) in sums {
            let rate = rates[&(node, port)];
            let place = || format!("{node} port {port} at {rate} Gb/s from {} ns", f64::from_bits(time));
            self.within(bytes, rate, span, FRAME_MAX, "a port sends its rate at most in a sample", place)?;
        }
        Ok(())
    }

    /// Bytes that arrive from a node were sent by it, over all parallel links.
    fn links(&self) -> Result<(), Failure> {
        let ports = self.columns("ports")?;
        for kind in ["packets", "bytes", "pause_packets"] {
            let counts = ["tx", "rx"].map(|direction| ports.integers(&format!("{direction}_{kind}")));
            let mut sums: BTreeMap<(&str, &str), [u64; 2]> = BTreeMap::new();
            for (row, (node, peer)) in ports.texts("node").iter().zip(ports.texts("peer").iter()).enumerate() {
                sums.entry((node, peer)).or_default()[0] += counts[0][row];
                sums.entry((peer, node)).or_default()[1] += counts[1][row];
            }
            for ((from, to), [sent, received]) in sums {
                let detail = || format!("{kind}: {from} sent {sent} to {to}, which received {received}");
                holds(received <= sent, "what arrives was sent", detail)?;
            }
        }
        Ok(())
    }

    /// Bytes that arrive at a host come over its link. Flows of datagrams have what left instead, some of it lost or
    /// still under way.
    fn receivers(&self) -> Result<(), Failure> {
        if self.has_datagrams() {
            return Ok(());
        }
        let flows = self.columns("flows")?;
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let hosts = flows.texts("source_host").iter().zip(flows.texts("destination_host").iter());
        for ((source, destination), bytes) in hosts.zip(flows.integers("bytes")) {
            *sums.entry(destination).or_default() += if source == destination { 0 } else { *bytes };
        }
        for (host, bytes) in sums {
            let (rate, end) = (self.rate(host), self.outcome.summary.end_ns);
            self.within(bytes, rate, end, 0.0, "a host receives its rate at most", || {
                format!("{host} at {rate} Gb/s")
            })?;
        }
        Ok(())
    }

    fn streams(&self) -> Result<(), Failure> {
        let streams = self.columns("streams")?;
        let hosts = streams.texts("source_host").iter().zip(streams.texts("destination_host").iter());
        for (row, (source, destination)) in hosts.enumerate() {
            let (bytes, messages) = (streams.integers("bytes")[row], streams.integers("messages")[row]);
            let span = streams.numbers("end_ns")[row] - streams.numbers("start_ns")[row];
            let rate = self.rate(source).min(self.rate(destination));
            // A message that was under way at the start of the measurement counts as a whole.
            let message = bytes as f64 / messages.max(1) as f64;
            let place = || format!("{source} to {destination} at {rate} Gb/s");
            self.within(bytes, rate, span, message, "goodput is at most the rate of the line", place)?;
        }
        Ok(())
    }

    /// A message takes its bytes over the slower link of its hosts, and light takes its time.
    fn transfers(&self) -> Result<(), Failure> {
        let tables = ["transfers", "activities"].map(|name| Columns::of(self.outcome, name));
        let [Some(transfers), Some(activities)] = tables else { return Ok(()) };
        let ranks =
            activities.texts("job").iter().zip(activities.integers("rank")).zip(activities.texts("host").iter());
        let hosts: BTreeMap<(&str, u64), &str> = ranks.map(|((job, &rank), host)| ((job, rank), host)).collect();
        for (row, job) in transfers.texts("job").iter().enumerate() {
            let host = |column| hosts.get(&(job, transfers.integers(column)[row])).copied();
            let (Some(source), Some(destination)) = (host("source"), host("destination")) else { continue };
            if source == destination {
                continue;
            }
            let span = transfers.numbers("end_ns")[row] - transfers.numbers("start_ns")[row];
            let bytes = transfers.integers("bytes")[row];
            let least =
                bytes as f64 * 8.0 / self.rate(source).min(self.rate(destination)) + self.latency(source, destination);
            let detail = || format!("{bytes} B from {source} to {destination} after {span} ns, {least} at least");
            holds(span >= least * (1.0 - ROUNDING), "a message takes its time", detail)?;
        }
        Ok(())
    }

    /// The path that limits a job has no gap, no part of it is negative, and it leads from the job's first activity to
    /// its last: so its parts add up to the time of the job.
    fn path(&self) -> Result<(), Failure> {
        let Some(path) = Columns::of(self.outcome, "path") else { return Ok(()) };
        let (jobs, starts, ends) = (path.texts("job"), path.times("start_ns"), path.times("end_ns"));
        let mut spans: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (row, job) in jobs.iter().enumerate() {
            let place = || format!("row {row} of {job}: {} to {} ps", starts[row], ends[row]);
            holds(starts[row] < ends[row], "each part of a path takes some time", place)?;
            let (_, end) = spans.entry(job).or_insert((starts[row], starts[row]));
            holds(starts[row] == *end, "the path that limits a job has no gap", place)?;
            *end = ends[row];
        }
        let Some(activities) = Columns::of(self.outcome, "activities") else { return Ok(()) };
        let (jobs, starts, ends) = (activities.texts("job"), activities.times("start_ns"), activities.times("end_ns"));
        for (row, job) in jobs.iter().enumerate() {
            let span = spans.get(job).copied().unwrap_or_default();
            let detail =
                || format!("{job}: {} to {} ps, and the path from {} to {}", starts[row], ends[row], span.0, span.1);
            holds(span.0 <= starts[row] && ends[row] <= span.1, "a path spans its job", detail)?;
        }
        Ok(())
    }

    /// Waits of messages add up to the parts of the path that they divide: those between hosts that a rank waits for.
    fn waits(&self) -> Result<(), Failure> {
        let Some(waits) = Columns::of(self.outcome, "waits") else { return Ok(()) };
        let (path, activities) = (self.columns("path")?, self.columns("activities")?);
        let ranks =
            activities.texts("job").iter().zip(activities.integers("rank")).zip(activities.texts("host").iter());
        let hosts: BTreeMap<(&str, u64), &str> = ranks.map(|((job, &rank), host)| ((job, rank), host)).collect();
        let mut sums: BTreeMap<(&str, u64, u64), BTreeMap<u64, u64>> = BTreeMap::new();
        let (starts, times) = (waits.times("start_ns"), waits.times("time_ns"));
        for (row, job) in waits.texts("job").iter().enumerate() {
            holds(times[row] > 0, "each wait takes some time", || format!("row {row} of {job}"))?;
            let key = (job, waits.integers("rank")[row], waits.integers("source")[row]);
            *sums.entry(key).or_default().entry(starts[row]).or_default() += times[row];
        }
        let (parts, starts, ends) = (path.texts("part"), path.times("start_ns"), path.times("end_ns"));
        for (row, job) in path.texts("job").iter().enumerate() {
            let (rank, source) = (path.integers("rank")[row], path.integers("source")[row]);
            let is_divided = matches!(&parts[row], "network" | "rendezvous")
                && rank != source
                && hosts.get(&(job, source)).is_some_and(|host| *host != &path.texts("host")[row]);
            if is_divided {
                let own = sums.get(&(job, rank, source)).map(|sums| sums.range(starts[row]..ends[row]));
                let sum: u64 = own.into_iter().flatten().map(|(_, time)| time).sum();
                let detail = || format!("row {row} of {job}: {sum} ps of {} ps", ends[row] - starts[row]);
                holds(sum == ends[row] - starts[row], "waits add up to what they divide", detail)?;
            }
        }
        Ok(())
    }

    /// A run without faults whose routing is proved to be free of deadlock is not stuck, but for messages that lost a
    /// datagram.
    fn stuck(&self) -> Result<(), Failure> {
        let summary = &self.outcome.summary;
        let lost = summary.packets_dropped + summary.packets_damaged;
        let may_lose = lost > 0 || tree::get(self.resolved, "switch.trimming").is_some();
        let may_wait = self.scenario.contains_key("faults")
            || self.warnings.iter().any(|line| line.contains("deadlock"))
            || may_lose && self.has_datagrams();
        let report = summary.stuck_report.clone().unwrap_or_default();
        holds(summary.finished != "stuck" || !report.is_empty(), "a stuck run says who waits", String::new)?;
        holds(summary.finished != "stuck" || may_wait, "a run makes progress", || report)
    }

    /// Whether some messages are datagrams that nobody acknowledges.
    fn has_datagrams(&self) -> bool {
        self.outcome.resolved.contains("delivery = \"uud\"")
    }

    fn within(
        &self,
        bytes: u64,
        rate: f64,
        span: f64,
        slack: f64,
        class: &str,
        place: impl Fn() -> String,
    ) -> Result<(), Failure> {
        let bytes_max = rate * span / 8.0 * (1.0 + ROUNDING) + slack + 1.0;
        holds(bytes as f64 <= bytes_max, class, || format!("{}: {bytes} B in {span} ns, {bytes_max} at most", place()))
    }

    fn columns(&self, name: &str) -> Result<Columns<'_>, Failure> {
        Columns::of(self.outcome, name).ok_or_else(|| Failure::new("a result has its tables", name))
    }

    fn host(&self, name: &str) -> HostId {
        let mut hosts = (0..self.fabric.hosts()).map(HostId::from_index);
        hosts.find(|&host| self.fabric.host_name(host) == name).expect("tables name hosts of the fabric")
    }

    /// Rate of all links of a host [Gb/s].
    fn rate(&self, host: &str) -> f64 {
        let links = self.fabric.host_channels(self.host(host)).iter();
        links.map(|&channel| self.fabric.channel(channel).rate.as_bps() as f64 / 1e9).sum()
    }

    /// Least latency between two hosts: light on the shortest path, and switches on it [ns].
    fn latency(&self, source: &str, destination: &str) -> f64 {
        let switch = tree::get(self.resolved, "switch.latency").and_then(toml::Value::as_str);
        let switch = switch.and_then(quantity::picoseconds).unwrap_or(0) as f64 / 1e3;
        let (from, to) = (Node::Host(self.host(source)), Node::Host(self.host(destination)));
        let index = |node: Node| match node {
            Node::Host(host) => host.index(),
            Node::Switch(switch) => self.fabric.hosts() + switch.index(),
        };
        let mut times = vec![f64::INFINITY; self.fabric.hosts() + self.fabric.switches()];
        times[index(from)] = 0.0;
        // Bellman and Ford: fabrics are small.
        for _ in 0..times.len() {
            for channel in self.fabric.channels() {
                let through = if matches!(channel.from.node, Node::Switch(_)) { switch } else { 0.0 };
                let time = times[index(channel.from.node)] + through + channel.length.as_mm() as f64 / 1e3 * LIGHT;
                let at = index(channel.to.node);
                times[at] = times[at].min(time);
            }
        }
        times[index(to)]
    }
}

fn holds(is_true: bool, class: &str, detail: impl FnOnce() -> String) -> Result<(), Failure> {
    if is_true { Ok(()) } else { Err(Failure::new(class, detail())) }
}

#[cfg(test)]
mod tests {
    use etherweave_scenario::Column;

    use super::*;
    use crate::launch::start;

    /// Two hosts, a stream, ranks that are observed and ports that are sampled.
    const TEXT: &str = "topology.single_switch.hosts = 4\nrun.end = \"100us\"\n\
        observe = { ranks = true, ports = [\"switches\"] }\n\
        [[job]]\nname = \"a\"\nworkload.osu_bw = { iterations = 1, warm_up = 0, window = 2, bytes = \"100kB\" }\n\
        [[job]]\nname = \"b\"\nworkload.permutation_streams = { ranks = 2, message = \"100kB\" }\n";

    /// The class of what fails after a change of the outcome; `finished` and warnings of the build are given.
    fn class(text: &str, change: impl FnOnce(&mut Outcome)) -> String {
        let mut outcome = start(text, 1).unwrap().finish(&mut |_| true).0.with_all_tables();
        change(&mut outcome);
        let resolved = outcome.resolved.parse().unwrap();
        let failure = Facts::new(text, &outcome, &resolved, &[]).check().err();
        failure.map_or_else(String::new, |failure| failure.class)
    }

    fn put(outcome: &mut Outcome, table: &str, column: &str, value: f64) {
        let table = outcome.tables.iter_mut().find(|candidate| candidate.name == table).unwrap();
        let (_, values) = table.columns.iter_mut().find(|(name, _)| *name == column).unwrap();
        match values {
            Column::Integers(values) => values.fill(value as u64),
            Column::Numbers(values) => values.fill(value),
            Column::Texts(_) => panic!("{column} is a column of texts"),
        }
    }

    fn check(expected: &str, change: impl FnOnce(&mut Outcome)) {
        assert_eq!(class(TEXT, change), expected);
    }

    #[test]
    fn a_run_that_is_right_keeps_all_bounds() {
        check("", |_| {});
    }

    #[test]
    fn packets_that_vanish_or_circle_are_found() {
        check("packets are conserved", |outcome| outcome.summary.packets_created += 1);
        check("hops of a packet are bounded", |outcome| outcome.summary.packet_hops *= 100);
    }

    #[test]
    fn a_loss_in_a_lossless_priority_is_found_unless_a_key_allows_it() {
        let warning = "switch0 port 1 (from host1) lost 1 packets, 9 B, in lossless priority 0: its headroom is small";
        let lose = |outcome: &mut Outcome| outcome.summary.warnings.push(warning.to_owned());
        check("lossless priorities lose nothing", lose);
        assert_eq!(class(&format!("switch.headroom = \"1MiB\"\n{TEXT}"), lose), "");
    }

    #[test]
    fn more_bytes_than_a_link_carries_are_found() {
        // 100 Gb/s carry 1.25 MB in 100 us.
        check("a port sends its rate at most", |outcome| put(outcome, "ports", "rx_bytes", 1e7));
        check("a port sends its rate at most in a sample", |outcome| put(outcome, "port_samples", "tx_bytes", 1e6));
        check("what arrives was sent", |outcome| put(outcome, "ports", "rx_packets", 1e3));
        check("a host receives its rate at most", |outcome| put(outcome, "flows", "bytes", 1e7));
    }

    #[test]
    fn a_message_that_is_faster_than_light_and_its_line_is_found() {
        check("a message takes its time", |outcome| {
            put(outcome, "transfers", "start_ns", 0.0);
            // 100 kB take 8 us.
            put(outcome, "transfers", "end_ns", 7_999.0);
        });
        check("goodput is at most the rate of the line", |outcome| {
            put(outcome, "streams", "start_ns", 0.0);
            put(outcome, "streams", "end_ns", 1_000.0);
            put(outcome, "streams", "messages", 1e3);
        });
    }

    #[test]
    fn a_path_with_a_gap_and_waits_that_do_not_add_up_are_found() {
        let text = TEXT.replace("ranks = true", "ranks = true, waits = true");
        assert_eq!(class(&text, |_| {}), "");
        assert_eq!(class(&text, |outcome| put(outcome, "path", "end_ns", 1.0)), "each part of a path takes some time");
        assert_eq!(
            class(&text, |outcome| put(outcome, "path", "end_ns", 1e9)),
            "the path that limits a job has no gap"
        );
        assert_eq!(class(&text, |outcome| put(outcome, "activities", "end_ns", 1e9)), "a path spans its job");
        assert_eq!(class(&text, |outcome| put(outcome, "waits", "time_ns", 1.0)), "waits add up to what they divide");
        assert_eq!(class(&text, |outcome| put(outcome, "waits", "time_ns", 0.0)), "each wait takes some time");
    }

    #[test]
    fn a_run_that_is_stuck_without_a_reason_is_found() {
        check("a stuck run says who waits", |outcome| outcome.summary.finished = "stuck");
        check("a run makes progress", |outcome| {
            outcome.summary.finished = "stuck";
            outcome.summary.stuck_report = Some("host0 waits".to_owned());
        });
    }
}
