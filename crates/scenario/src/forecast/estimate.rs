//! Memory, disk, packet-hops and time of a simulation before it is built, and the refusal of what does not fit.
//!
//! Counts come from the topology and from the programs of a few ranks; sizes from the structures that a run keeps;
//! times from [`crate::forecast::run_time`].

use std::collections::BTreeSet;

use etherweave_design::{DesignMemory, DesignSpec};
use etherweave_kernel::{RowNames, TableRow};
use etherweave_openloop::{Pattern, PointLoad, PointMemory, RunLength};
use etherweave_primitives::{HostId, InputError, InputErrors, Priority, SwitchId};
use etherweave_routing::RoutingKind;
use etherweave_sim::{
    ActivityRow, ConnectionUse, FlowRow, FlowSampleRow, FlowSelection, HostSampleRow, IterationRow, PortRow,
    PortSampleRow, RunMemory, Samples, Sampling, Simulation, StreamRow, TransferRow,
};
use etherweave_topology::{Node, Topology, TopologyKind};
use etherweave_workload::TrafficSize;

use crate::{
    JobSpec, OpenLoopSpec, Scenario, ScenarioError, Table, check, forecast::memory::MemoryLimit,
    forecast::run_time::RunTime, forecast::run_time::Switches, forecast::simulated::simulated, open_loop,
    parts::host_ports::generate, parts::network::OpenLoopNetwork, parts::nodes, parts::routing, parts::sampling,
    parts::transports, result::flow_rows::GROUP, scenario::experiment, scenario::read, text::conversions,
};

/// A text in a column, and lent to Python [B].
const TEXT: u64 = 24 + 32 + 16;
/// A number in a column, and lent to Python [B].
const NUMBER: u64 = 2 * 8;
/// Texts and numbers of a row of observed channels.
const CHANNELS: (u64, u64) = (3, 4);
/// Those of a step between two areas: its columns, and the batch with the areas.
const STEPS: (u64, u64) = (0, 6);
/// Advice where flows take most memory.
const FEWER_FLOWS: &str = "fewer flows, by a shorter `duration`, `flows_max` or a shorter list";
/// Bytes on disk for each in memory of a table, about: numbers repeat, and half of the memory is the copy for Python.
const COMPRESSION: u64 = 6;
/// Block and options of pcapng of a captured frame [B].
const CAPTURE_BLOCK: u64 = 56;
/// Time of a look at a channel for a destination [s]: tables of up/down of a dragonfly+ with `h = 255` took 275 million
/// looks, and 16.4 s of a processor.
const LOOK_S: f64 = 6e-8;
/// Headers of a captured frame [B].
const CAPTURE_HEADERS: u64 = 58;

/// Resources that a simulation is expected to need.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Estimate {
    /// Most memory at once [B].
    pub memory_bytes: u64,
    /// Its largest parts, the largest first [B].
    pub memory_parts: Vec<(&'static str, u64)>,
    /// Tables and captures, if they are written [B].
    pub disk_bytes: u64,
    /// Packets over links, each link counted; none where neither streams nor the run have an end.
    pub packet_hops: Option<u64>,
    /// Packets that are delivered, likewise.
    #[serde(skip)]
    pub(crate) packets: Option<u64>,
    /// Time of a run on one thread of the machine of the benchmarks, without set-up [s]; none where packet-hops are not
    /// known.
    pub run_s: Option<f64>,
    /// Time to build the tables of its routing on the machine of the benchmarks [s].
    pub setup_s: f64,
    /// Warnings to read before the first event, such as that the routing may deadlock.
    pub warnings: Vec<String>,
    /// Values of keys that the scenario leaves open and others decide, with their rules.
    pub derived: Vec<String>,
    /// The key of what takes most memory.
    #[serde(skip)]
    key: String,
    /// Advice on what would need less.
    #[serde(skip)]
    advice: &'static str,
}

impl Estimate {
    /// Returns the estimate as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an estimate is JSON")
    }

    /// Rejects what needs more than there is.
    ///
    /// # Errors
    /// With the estimate, the limit, and what would need less.
    pub(crate) fn check(&self, limit: &MemoryLimit) -> Result<(), InputError> {
        if self.memory_bytes <= limit.bytes {
            return Ok(());
        }
        let parts: Vec<String> =
            self.memory_parts.iter().map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect();
        let mistake = format!("about {} of memory are needed ({})", size(self.memory_bytes), parts.join(", "));
        let expected =
            format!("at most {}, {}: {}, or another --memory-limit", size(limit.bytes), limit.name, self.advice);
        Err(InputError::new(self.key.clone(), mistake, expected))
    }

    fn of_parts(parts: Vec<Part>, memory_bytes: u64) -> Estimate {
        let mut parts = parts;
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        let largest = parts.first().cloned().unwrap_or_default();
        parts.truncate(3);
        parts.retain(|part| part.bytes > memory_bytes / 20);
        Estimate {
            memory_bytes,
            memory_parts: parts.iter().map(|part| (part.name, part.bytes)).collect(),
            key: largest.key,
            advice: largest.advice,
            ..Estimate::default()
        }
    }
}

#[derive(Clone, Default)]
struct Part {
    name: &'static str,
    bytes: u64,
    key: String,
    advice: &'static str,
}

impl Part {
    fn fabric(bytes: u64) -> Part {
        Part::new("fabric", bytes, "topology", "fewer switches or hosts")
    }

    fn new(name: &'static str, bytes: u64, key: impl Into<String>, advice: &'static str) -> Part {
        Part { name, bytes, key: key.into(), advice }
    }
}

/// "3.2 GiB": what people compare with.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (63 - (bytes | 1).leading_zeros() as usize) / 10;
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{:.1} {}", bytes as f64 / (1_u64 << (10 * unit)) as f64, units[unit])
    }
}

/// Memory of so many rows of texts and numbers [B].
fn cells(rows: u64, (texts, numbers): (u64, u64)) -> u64 {
    rows.saturating_mul(texts * TEXT + numbers * NUMBER)
}

/// Memory of a table of so many rows, by its columns [B].
fn table(rows: u64, empty: &Table) -> u64 {
    cells(rows, empty.cells())
}

fn table_of<R: TableRow>(rows: u64, names: &R::Names<'_>) -> u64 {
    table(rows, &Table::of::<R>(&[], names))
}

/// Largest run whose jobs and paths are planned to check them, so that a forecast takes about a second [B].
const PLANNED_BYTES_MAX: u64 = 256 << 20;
/// Longest planning for it [s].
const PLANNED_S_MAX: f64 = 2.0;

/// Forecast of a run of a scenario, and warnings before it starts; it is not run. What would
/// refuse the run refuses this, but in a large one: there, neither jobs nor paths are planned and checked.
///
/// # Errors
/// Every independent mistake that a run reports.
pub fn foresee(text: &str, origin: &str, overrides: &[(String, String)]) -> Result<Estimate, ScenarioError> {
    let (document, scenario) = read(text, origin, overrides)?;
    let topology = generate(&scenario).map_err(|error| document.locate(error))?;
    let mut warnings = check::warnings(&scenario, &topology);
    let derived = transports::derived(&scenario, &topology);
    let estimate = run(&scenario, &topology, 0, None).map_err(|error| document.locate(error))?;
    if estimate.memory_bytes <= PLANNED_BYTES_MAX && estimate.setup_s <= PLANNED_S_MAX {
        let experiment = experiment(&document, &scenario, topology, &[])?;
        Simulation::check(&experiment).map_err(|error| document.locate(error))?;
        warnings.extend(nodes::placement_warnings(&scenario, &experiment.jobs));
    }
    Ok(Estimate { warnings, derived, ..estimate })
}

/// Estimates a run of a scenario that captures the frames of some hosts, at most `snap_length` bytes of each.
///
/// # Errors
/// When a job has a mistake that a few of its ranks show; with the key from the scenario's root.
pub(crate) fn run(
    scenario: &Scenario,
    topology: &Topology,
    captures: usize,
    snap_length: Option<u32>,
) -> Result<Estimate, InputErrors> {
    let (estimate, mistakes) = of_sound_jobs(scenario, topology, captures, snap_length)?;
    mistakes.into_result().map(|()| estimate)
}

/// The same of the jobs that have no mistake, and the mistakes of the others: no job is built that is not known to fit.
///
/// # Errors
/// When the jobs have more iterations than a table holds.
pub(crate) fn of_sound_jobs(
    scenario: &Scenario,
    topology: &Topology,
    captures: usize,
    snap_length: Option<u32>,
) -> Result<(Estimate, InputErrors), InputErrors> {
    let (traffic, mistakes) = traffic(scenario, topology);
    let mut rows = 0u64;
    for (number, size) in traffic.iter().enumerate() {
        rows = rows.saturating_add(size.rows);
        check::check_rows(scenario, number, rows)?;
    }
    let hops = links_mean(topology.by_port());
    let traffic = simulated(scenario, &traffic, topology, hops);
    let looks_at_connections = captures > 0
        || scenario.observe.is_some()
        || scenario.run.fast_forward.is_some()
        || !scenario.faults.down.is_empty();
    let has_packets = scenario.job.iter().any(|job| scenario.fidelity(job).is_packet());
    let uses = ConnectionUse { may_be_brief: !looks_at_connections, has_packets };
    let memory = RunMemory::of(topology, &scenario.params(), &traffic, hops, uses);
    let sum = |value: fn(&TrafficSize) -> u64| traffic.iter().map(value).fold(0, u64::saturating_add);
    let connections = sum(|size| size.connections);
    let streams: u64 = traffic.iter().filter(|size| size.rows == 0).map(|size| size.connections).sum();
    let rows = sum(|size| size.rows);
    let names = RowNames { jobs: &[], host: &|_| "", purpose: &|_, _| "" };
    let tables = |streams: u64, connections: u64| {
        let tables = [
            table_of::<IterationRow>(rows, &names),
            table_of::<PortRow>(topology.channels().len() as u64, &()),
            table_of::<StreamRow>(streams, &names),
            table_of::<FlowRow>(connections.saturating_mul(2).saturating_sub(streams), &names),
        ];
        tables.into_iter().fold(0, u64::saturating_add)
    };
    // Rows of a file come back group by group.
    let group = if memory.are_rows_in_file { GROUP as u64 } else { u64::MAX };
    let tables_at_once = tables(streams.min(group), connections.min(group));
    let tables = tables(streams, connections);
    let (samples, sample_tables) = samples(scenario, topology, connections);
    let (observed, observed_tables) = observed(scenario, &names, sum(|size| size.messages.unwrap_or(0)));
    let routes = 4 * topology.switches() as u64 * switches_with_hosts(topology.by_port());
    let job = largest_job(scenario, &traffic);
    let are_flows = job.ends_with(".workload.flows");
    let fewer = |advice| if are_flows { FEWER_FLOWS } else { advice };
    let window = scenario.transports()[0].window().key;
    let building = memory.building.saturating_add(routes);
    let report = memory.report.saturating_add(tables_at_once);
    let transient = building.max(memory.packets.saturating_add(report));
    let (sampled, noted) = (samples.saturating_add(sample_tables), observed.saturating_add(observed_tables));
    let kept = [memory.fabric, memory.programs, memory.connections, transient, sampled, noted];
    let peak = kept.into_iter().fold(0, u64::saturating_add);
    let parts = vec![
        Part::fabric(memory.fabric),
        Part::new(
            "programs of ranks",
            memory.programs.saturating_add(building.min(transient)),
            &job,
            fewer("fewer ranks, or fewer operations of each"),
        ),
        Part::new("connections", memory.connections, &job, fewer("fewer pairs of ranks that exchange messages")),
        Part::new("packets", memory.packets, window, "a smaller window, or less buffer in switches"),
        Part::new("tables", report, &job, fewer("fewer iterations, ranks or connections")),
        Part::new(
            "samples",
            sampled,
            "observe.period",
            "a longer period, a shorter time, or fewer ports, flows and hosts",
        ),
        Part::new(
            "activities and messages of ranks",
            noted,
            "observe.ranks",
            "fewer operations of ranks, or neither `observe.ranks` nor --trace",
        ),
    ];
    let tables = tables.saturating_add(sample_tables).saturating_add(observed_tables);
    let captured = captured_bytes(scenario, &traffic, captures as u64, snap_length);
    let packet_hops = packet_hops(scenario, &traffic, links_taken(scenario, topology.by_port(), hops));
    let counted = traffic.iter().zip(&scenario.job).filter(|(_, job)| !job.background);
    let messages = counted.map(|(size, _)| size.messages.unwrap_or(0)).fold(0, u64::saturating_add);
    // Benchmarks know what packets take.
    let packet_hops = packet_hops.filter(|_| has_packets);
    // Others arrive in the background.
    let is_known = has_packets && !scenario.job.iter().any(|job| job.background);
    let packets = is_known.then(|| self::packet_hops(scenario, &traffic, 1.0)).flatten();
    let run_s = packet_hops.map(|packet_hops| {
        let switches = Switches { model: scenario.switch.model, decide_per_packet: routing::is_by_packet(scenario) };
        RunTime::of_benchmarks().seconds(switches, topology.hosts(), packet_hops, messages)
    });
    let estimate = Estimate {
        disk_bytes: (tables / COMPRESSION).saturating_add(captured),
        packet_hops,
        packets,
        run_s,
        setup_s: scenario.routing.looks(topology.by_port()) as f64 * LOOK_S,
        ..Estimate::of_parts(parts, peak)
    };
    Ok((estimate, mistakes))
}

/// Memory of the programs of all jobs, without a run of them.
pub(crate) fn programs(scenario: &Scenario, topology: &Topology) -> Estimate {
    let (traffic, _) = traffic(scenario, topology);
    let bytes = traffic.iter().map(|size| size.program_bytes).fold(0, u64::saturating_add);
    let advice = "fewer ranks, or fewer operations of each";
    Estimate::of_parts(vec![Part::new("programs of ranks", bytes, largest_job(scenario, &traffic), advice)], bytes)
}

/// The key of the job that has most operations, or connections.
fn largest_job(scenario: &Scenario, traffic: &[TrafficSize]) -> String {
    let size = |&job: &usize| (traffic[job].program_bytes, traffic[job].connections);
    let largest = (0..traffic.len()).max_by_key(size).unwrap_or(0);
    let key = |job: &JobSpec| format!("job.{largest}.workload.{}", job.workload.name());
    scenario.job.get(largest).map_or_else(String::new, key)
}

/// Returns the memory of time series until the end of a run, and the size of their tables [B]; nothing where a
/// selection has a mistake, which is reported when the run is built.
fn samples(scenario: &Scenario, topology: &Topology, connections: u64) -> (u64, u64) {
    let (Some(spec), Ok(Some(sampling))) = (&scenario.observe, sampling::sampling(scenario, topology)) else {
        return (0, 0);
    };
    let count = spec.samples(scenario.run.end);
    let pairs = |selection: &FlowSelection| {
        (selection.sources.len() as u64).saturating_mul(selection.destinations.len() as u64)
    };
    let pairs = sampling.flows.iter().map(pairs).fold(0, u64::saturating_add);
    let flows = pairs.min(connections.saturating_mul(2));
    let (ports, priorities) = (sampling.ports.len() as u64, priorities(scenario));
    let kept = sampling.busiest.map_or(ports, |busiest| ports.min(busiest.into())).saturating_mul(priorities);
    let ports = ports.saturating_mul(priorities);
    let (series, hosts) = (Samples::default(), sampling.hosts.len() as u64);
    let tables = table_of::<PortSampleRow>(count.saturating_mul(kept), &series)
        .saturating_add(table_of::<FlowSampleRow>(count.saturating_mul(flows), &series))
        .saturating_add(table_of::<HostSampleRow>(count.saturating_mul(hosts), &series));
    (Sampling::memory(count, ports, flows, hosts), tables)
}

/// Returns the memory of records of ranks that send so many messages, and the size of their tables [B].
fn observed(scenario: &Scenario, names: &RowNames<'_>, messages: u64) -> (u64, u64) {
    if !scenario.observe.as_ref().is_some_and(|observe| observe.ranks) {
        return (0, 0);
    }
    let tables = table_of::<ActivityRow>(ActivityRow::most(messages), names)
        .saturating_add(table_of::<TransferRow>(messages, names));
    (ActivityRow::memory(messages), tables)
}

/// Priorities that packets may have, at most: those of jobs, or all where switches may change them.
fn priorities(scenario: &Scenario) -> u64 {
    if !scenario.routing.is_by_flow() {
        return Priority::COUNT as u64;
    }
    scenario.job.iter().map(|job| job.priority).collect::<BTreeSet<_>>().len() as u64
}

/// The size of every job, nothing of one that has a mistake; and the mistakes.
fn traffic(scenario: &Scenario, topology: &Topology) -> (Vec<TrafficSize>, InputErrors) {
    let mut errors = InputErrors::default();
    let size = |(number, job): (usize, &JobSpec)| {
        let several = u64::from(job.connections.count());
        // Flow-level mode has no packets.
        let has_packets = scenario.fidelity(job).is_packet();
        let of_pairs = |size: TrafficSize| TrafficSize {
            connections: size.connections.saturating_mul(several),
            burst_bytes: if has_packets { size.burst_bytes } else { 0 },
            ..size
        };
        let size = || match scenario.run.has(&job.name) {
            true => job.workload.size().map(of_pairs),
            false => Ok(TrafficSize::default()),
        };
        let within = |errors: InputErrors| errors.within(&format!("job.{number}.workload.{}", job.workload.name()));
        let fits = check::ranks(number, job, topology).map_err(InputErrors::from);
        errors.check(fits.and_then(|()| size().map_err(within))).unwrap_or_default()
    };
    let sizes = scenario.job.iter().enumerate().map(size).collect();
    (sizes, errors)
}

/// Returns the size of captures of what hosts send and receive [B], if all have the same share.
fn captured_bytes(scenario: &Scenario, traffic: &[TrafficSize], captures: u64, snap_length: Option<u32>) -> u64 {
    let of_job = |(size, job): (&TrafficSize, &JobSpec)| {
        let frames = (size.bytes.unwrap_or(0) / 1_024).saturating_add(size.messages.unwrap_or(0));
        let octets = size.bytes.unwrap_or(0).saturating_add(frames.saturating_mul(CAPTURE_HEADERS));
        let kept = snap_length.map_or(octets, |length| octets.min(frames.saturating_mul(length.into())));
        kept.saturating_add(frames.saturating_mul(CAPTURE_BLOCK)).saturating_mul(2) / job.hosts().max(1)
    };
    captures.saturating_mul(traffic.iter().zip(&scenario.job).map(of_job).fold(0, u64::saturating_add))
}

/// Data and acknowledgements over all links. What jobs in the background send until others are done is left out.
fn packet_hops(scenario: &Scenario, traffic: &[TrafficSize], hops: f64) -> Option<u64> {
    let of_job = |(size, job): (&TrafficSize, &JobSpec)| {
        let transport = scenario.transport_of(job);
        let (payload, per_ack) = (transport.payload().get(), u64::from(transport.packets_per_ack()));
        // Barriers send packets without payload.
        let messages = size.messages.unwrap_or(0);
        let packets = (size.bytes? / payload.max(1)).max(messages);
        Some(packets.saturating_add((packets / per_ack).max(messages)) as f64 * hops)
    };
    let counts = |(size, job): &(&TrafficSize, &JobSpec)| {
        // Messages within a host are no packets.
        let has_links = job.hosts() > 1 || size.bytes.is_none();
        scenario.fidelity(job).is_packet() && has_links && (scenario.run.end.is_some() || !job.background)
    };
    let counted = traffic.iter().zip(&scenario.job).filter(counts);
    counted.map(of_job).sum::<Option<f64>>().map(|hops| hops as u64)
}

/// Links that packets take on average: where they choose between the shortest path and one by another group or switch,
/// as many as lie midway between the shortest and the longest.
fn links_taken(scenario: &Scenario, topology: &Topology, shortest: f64) -> f64 {
    let kind = scenario.routing;
    if kind.keeps_order() {
        return shortest;
    }
    // A decision without a plan of its own chooses among the paths of others.
    let is_known = |other: &RoutingKind| if kind.has_plan() { *other == kind } else { !other.is_by_flow() };
    let plans = RoutingKind::all().into_iter().filter(|other| is_known(other) && other.has_plan());
    let links = plans.filter_map(|plan| plan.legality(topology).ok()).map(|legality| legality.hops_max() + 2);
    shortest.midpoint(shortest.max(links.max().map_or(0.0, f64::from)))
}

/// Links between two hosts on average, seen from the first host.
fn links_mean(topology: &Topology) -> f64 {
    let mut links = vec![u32::MAX; topology.switches()];
    let first = topology.switch_of(HostId::from_index(0));
    links[first.index()] = 2;
    let mut reached = vec![first];
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        for &channel in topology.out_channels(at) {
            if let Node::Switch(to) = topology.channel(channel).to.node
                && links[to.index()] == u32::MAX
            {
                links[to.index()] = links[at.index()] + 1;
                reached.push(to);
            }
        }
    }
    let hosts = (0..topology.hosts()).map(HostId::from_index);
    let sum: u64 = hosts.map(|host| u64::from(links[topology.switch_of(host).index()])).sum();
    sum as f64 / topology.hosts() as f64
}

fn switches_with_hosts(topology: &Topology) -> u64 {
    let mut homes: Vec<SwitchId> =
        (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host))).collect();
    homes.sort_unstable();
    homes.dedup();
    homes.len() as u64
}

/// Estimates all points of a curve: each leaves a report.
///
/// # Errors
/// When a time of the switches is out of range.
pub(crate) fn curve(
    spec: &OpenLoopSpec,
    topology: &Topology,
    network: &OpenLoopNetwork,
) -> Result<Estimate, InputErrors> {
    let load = spec.loads.iter().copied().fold(if spec.saturation { 1.0 } else { 0.0 }, f64::max);
    let may_saturate = spec.patterns.iter().any(|pattern| may_saturate(&pattern.0, load));
    let point = PointLoad { load, may_saturate, records_steps: false };
    let memory = PointMemory::of(topology, &network.switch, &network.links, &spec.length(), point);
    let memory = memory.map_err(conversions::open_loop)?;
    let lines = spec.routings.len() as u64 * spec.patterns.len() as u64;
    let points = lines.saturating_mul(spec.points_of_line() as u64);
    let rows = table(points, &open_loop::table(&[], topology));
    let reports = points.saturating_mul(memory.report).saturating_add(rows);
    let parts = vec![
        Part::fabric(memory.fabric.saturating_add(topology.memory_bytes())),
        Part::new("packets", memory.packets, "open_loop.loads", "lower loads"),
        Part::new("reports of points", reports, "open_loop.loads", "fewer loads, routings or patterns at once"),
    ];
    Ok(of_point(parts, rows))
}

pub(crate) fn design(kind: &TopologyKind, topology: &Topology, spec: &DesignSpec) -> Estimate {
    let memory = DesignMemory::of(kind, topology, spec);
    let parts = vec![
        Part::fabric(memory.fabric),
        Part::new("distances and paths", memory.metrics, "topology", "fewer switches"),
        Part::new("tables", memory.tables, "topology", "fewer switches or hosts"),
        Part::new("deadlock proofs", memory.proofs, "design.routings", "no routings to prove, `routings = []`"),
    ];
    Estimate::of_parts(parts, memory.peak())
}

/// Estimates one observed point: every port in every batch, and every two areas.
///
/// # Errors
/// When a time of the switches is out of range.
pub(crate) fn observe(
    length: &RunLength,
    pattern: &Pattern,
    load: f64,
    (topology, network): (&Topology, &OpenLoopNetwork),
) -> Result<Estimate, InputErrors> {
    let point = PointLoad { load, may_saturate: may_saturate(pattern, load), records_steps: true };
    let memory = PointMemory::of(topology, &network.switch, &network.links, length, point);
    let memory = memory.map_err(conversions::open_loop)?;
    let links = topology
        .channels()
        .iter()
        .filter(|channel| matches!((channel.from.node, channel.to.node), (Node::Switch(_), Node::Switch(_))));
    // A row of the animation holds its batch and two areas beside its columns.
    let rows = memory.batches.saturating_mul(area_pairs(topology));
    let steps = cells(rows, STEPS);
    let tables = steps.saturating_add(cells(links.count() as u64, CHANNELS));
    let parts = vec![
        Part::fabric(memory.fabric.saturating_add(topology.memory_bytes())),
        Part::new("packets", memory.packets, "open_loop.loads", "a lower load"),
        Part::new(
            "steps of the animation",
            memory.steps.saturating_add(steps),
            "open_loop.batch",
            "longer batches, or a shorter time",
        ),
        Part::new("report", memory.report.saturating_add(tables - steps), "topology", "fewer switches or hosts"),
    ];
    Ok(of_point(parts, tables))
}

fn of_point(parts: Vec<Part>, tables: u64) -> Estimate {
    let peak = parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
    Estimate { disk_bytes: tables / COMPRESSION, ..Estimate::of_parts(parts, peak) }
}

/// Whether a fabric may accept less than hosts offer: those that are built to, of uniform traffic, accept more.
fn may_saturate(pattern: &Pattern, load: f64) -> bool {
    const CERTAIN: f64 = 0.6;
    load > CERTAIN || !matches!(pattern, Pattern::Uniform(_))
}

/// Pairs of areas with channels between them: groups, or switches where the fabric has no groups.
fn area_pairs(topology: &Topology) -> u64 {
    let group_axis = topology.axes().iter().position(|axis| axis == "group");
    let area = |at: SwitchId| group_axis.map_or(at.get(), |axis| topology.coordinates(at)[axis]);
    let pair = |channel: &etherweave_topology::Channel| match (channel.from.node, channel.to.node) {
        (Node::Switch(from), Node::Switch(to)) => Some((area(from), area(to))),
        _ => None,
    };
    topology.channels().iter().filter_map(pair).filter(|(from, to)| from != to).collect::<BTreeSet<_>>().len() as u64
}
