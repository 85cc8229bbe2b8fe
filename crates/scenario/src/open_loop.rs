//! Latency and throughput of a scenario's fabric under synthetic traffic: `[open_loop]`.

use std::time::Instant;

use etherweave_forwarding::{FabricTables, TableParams};
use etherweave_kernel::Processes;
use etherweave_openloop::{
    Arrival, ChannelScheduler, ControllerParams, DELAY_MAX, OfferedTraffic, Pattern, Report, RunLength, RunParams,
    SwitchParams, WaitingChannel, check_links, load_share,
};
use etherweave_primitives::{Bytes, Duration, Fault, HostId, InputError, InputErrors, SwitchId, Time, caught, params};
use etherweave_routing::{FabricOf, Outage, RoutingKind, bounds::Bound, bounds::host_groups};
use etherweave_topology::{Topology, TopologyKind};
use etherweave_workload::{HostGroups, arrival::Bernoulli, pattern::Switching};

use crate::result::tables::{Column, Table, integers, numbers, texts};
use crate::{parts::network::OpenLoopNetwork, parts::pattern_spec::PatternSpec, parts::routing, text::conversions};

params! {
    /// Synthetic traffic at several loads: every routing with every pattern at every load is a simulated point.
    pub struct OpenLoopSpec {
        /// Routings, by name or with parameters. Default ["minimal"].
        pub routings: Vec<RoutingKind> = vec![RoutingKind::Minimal],
        /// Patterns of destinations, by name or with parameters. Default ["uniform"].
        pub patterns: Vec<PatternSpec> = vec![PatternSpec(Pattern::default())],
        /// Arrival process of packets at hosts. Default: Bernoulli, a packet of 200 ns with equal probability in every
        /// nanosecond.
        pub arrival: Arrival = Arrival::Bernoulli(Bernoulli { slots_per_packet: 200 }),
        /// Offered loads, as shares of the rate of hosts' links, 0.000001..=1. Default 0.1 to 1 in steps of 0.1.
        pub loads: Vec<f64> = (1..=10).map(|tenths| f64::from(tenths) / 10.0).collect(),
        /// Whether to search for the saturation load, above which less than 95 % of the offered load is accepted, by
        /// halving the interval around it to less than 1/128. Default false.
        pub saturation: bool = false,
        /// Warm-up before the measured time [whole ns]. Absent: until latency and accepted load have settled.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub warm_up: Option<Duration> = RunLength::default().warm_up,
        /// Measured time [whole ns]. Absent: until both means are known to `precision`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub measured: Option<Duration> = RunLength::default().measured,
        /// Interval over which each value of the time series is averaged [whole ns]. Default "2us".
        pub batch: Duration = RunLength::default().batch,
        /// Half-width of the 95 % confidence interval of a mean, as a share of the mean, at which a run ends. Default
        /// 0.02.
        pub precision: f64 = RunLength::default().precision,
        /// Latest end of a run [whole ns]; half of it is for the warm-up. Default "1ms".
        pub longest: Duration = RunLength::default().longest,
        /// Delay after a link fails or returns until the routing "shortest_path" computes its tables again [whole ns].
        /// Absent: never.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reroute_after: Option<Duration> = None,
        /// Construction of flow tables, for routings by tables.
        pub tables: TableParams = TableParams::default(),
        /// Parameters of the routing "controller".
        pub controller: ControllerParams = ControllerParams::default(),
        /// Length of every packet, which takes whole nanoseconds on every link. Default "1000B".
        pub packet: Bytes = SwitchParams::default().packet,
        /// Whether an output serves inputs from other switches before those from hosts, by any arbiter. Default false.
        pub transit_first: bool = SwitchParams::default().transit_first,
        /// Rounds of each nanosecond in which inputs ask for an output and outputs choose one of those that ask,
        /// 1..=16. Absent, the default: an output serves an input as soon as both are free.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub allocation_rounds: Option<u32> = SwitchParams::default().allocation_rounds,
        /// Order of the virtual channels of a port, with pauses; with credits packets leave in the order of their
        /// grants. Default "strict".
        pub scheduler: ChannelScheduler = SwitchParams::default().scheduler,
        /// Depth of the queues of a host together [packets], 1..=4096. Default 100.
        pub injection_queue: u32 = SwitchParams::default().injection_queue,
        /// Queues of a host at its switch, each for an equal part of all destinations in their order, 1..=8: with
        /// several, a packet for a busy output keeps back fewer others. Default 1.
        pub injection_channels: u8 = SwitchParams::default().injection_channels,
        /// Delay from switches to hosts [whole ns]. Absent: that of the cable.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ejection_delay: Option<Duration> = None,
    }
}

impl OpenLoopSpec {
    pub(crate) fn length(&self) -> RunLength {
        RunLength {
            warm_up: self.warm_up,
            measured: self.measured,
            batch: self.batch,
            precision: self.precision,
            longest: self.longest,
        }
    }

    pub(crate) fn traffic<'a>(
        &'a self,
        fabric: &SimulatedFabric<'a>,
        tables: &'a FabricTables<'a>,
        pattern: &PatternSpec,
        run: RunParams,
    ) -> OfferedTraffic<'a> {
        let OpenLoopNetwork { switch, links } = fabric.network;
        let (switch, links, arrival) = (switch.clone(), links.clone(), self.arrival.clone());
        let fabric = FabricOf {
            topology: fabric.topology,
            tables: Some(tables),
            outages: fabric.outages,
            reroute_after: self.reroute_after,
        };
        let (pattern, controller) = (pattern.0.clone(), self.controller.clone());
        OfferedTraffic { fabric, switch, links, pattern, arrival, controller, run }
    }

    /// Generator of the flow tables of a fabric.
    pub(crate) fn fabric_tables<'a>(&'a self, kind: &'a TopologyKind, topology: &'a Topology) -> FabricTables<'a> {
        FabricTables { kind, topology, params: &self.tables }
    }

    /// Checks every value before the first point: those of switches, times, loads, patterns and arrivals, and that keys
    /// take effect.
    ///
    /// # Errors
    /// All mistakes that do not depend on each other, with keys from the scenario's root.
    pub(crate) fn check(&self, fabric: &SimulatedFabric<'_>, seed: u64) -> Result<(), InputErrors> {
        let (mut errors, OpenLoopNetwork { switch, links }) = (InputErrors::default(), fabric.network);
        errors.check(self.check_reroute(fabric));
        let ejection = self.ejection_delay.unwrap_or(Duration::ZERO);
        let delay_max = Duration::from_ns(DELAY_MAX);
        let expected = format!("at most {delay_max}");
        let ejection = InputError::unless(ejection <= delay_max, "ejection_delay", ejection, expected);
        let is_short = errors.check(ejection).is_some();
        errors.each("routings", &self.routings, RoutingKind::check);
        if errors.check(switch.check()).is_some() && is_short {
            errors.check(check_links(fabric.topology, switch, links));
        }
        errors.check(self.length().check());
        let loads = errors.each("loads", &self.loads, |&load| load_share(load));
        let packet = links.packet_time(fabric.topology.host_channel(HostId::new(0)), switch.packet);
        let arrival = loads.into_iter().try_for_each(|share| self.arrival.plan(packet, share).map(|_| ()));
        errors.check(arrival.map_err(|error| error.within("arrival")));
        let mut errors = conversions::open_loop(errors);
        errors.check(self.check_patterns(fabric.topology, seed));
        errors.into_result()
    }

    fn check_patterns(&self, topology: &Topology, seed: u64) -> Result<(), InputErrors> {
        let (groups, mut errors) = (host_groups(topology)?, InputErrors::default());
        errors.each("open_loop.patterns", &self.patterns, |PatternSpec(pattern)| {
            pattern.plan(&groups, seed).and_then(|_| check_sends(pattern, &groups, seed))
        });
        errors.into_result()
    }

    /// Rejects a delay that cannot take effect.
    fn check_reroute(&self, fabric: &SimulatedFabric<'_>) -> Result<(), InputError> {
        let has_effect = self.routings.contains(&RoutingKind::ShortestPath) && !fabric.outages.is_empty();
        let Some(delay) = self.reroute_after.filter(|_| !has_effect) else { return Ok(()) };
        let expected = "none, without the routing shortest_path and `faults.down`";
        Err(InputError::new("reroute_after", delay, expected))
    }

    /// Points of each routing and pattern, at most.
    pub(crate) fn points_of_line(&self) -> usize {
        self.loads.len() + if self.saturation { HALVINGS } else { 0 }
    }

    /// Whether every key has its default.
    pub(crate) fn is_default(&self) -> bool {
        *self == OpenLoopSpec::default()
    }
}

/// Rejects a pattern, or a part of one that changes, under which no host sends anything.
fn check_sends(pattern: &Pattern, groups: &HostGroups, seed: u64) -> Result<(), InputError> {
    let check_part = |key: String, part: &Pattern| check_sends(part, groups, seed).map_err(|error| error.within(&key));
    if let Pattern::Switching(Switching { from, to, .. }) = pattern {
        check_part("switching.from".to_owned(), from)?;
        return check_part("switching.to".to_owned(), to);
    }
    if let Pattern::Alternating(turns) = pattern {
        let parts = turns.patterns.iter().enumerate();
        return { parts }.try_for_each(|(number, part)| check_part(format!("alternating.patterns.{number}"), part));
    }
    let destinations = pattern.plan(groups, seed)?;
    let sends = |host: u32| {
        let mut sum = 0.0;
        destinations.shares(HostId::new(host), Time::ZERO, &mut |_, share| sum += share);
        sum > 0.0
    };
    let (key, expected) = if let Pattern::Listed(_) = pattern {
        ("listed.pairs", "pairs of two hosts, as in [[0, 1]]")
    } else {
        (pattern.name(), "parameters by which a host at least sends to another")
    };
    InputError::unless((0..groups.hosts()).any(sends), key, "no host sends anything", expected)
}

pub(crate) struct SimulatedFabric<'a> {
    pub kind: &'a TopologyKind,
    /// The network that `kind` has generated.
    pub topology: &'a Topology,
    /// Its switches and links under synthetic traffic.
    pub network: &'a OpenLoopNetwork,
    /// Links that fail.
    pub outages: &'a [Outage],
}

pub(crate) struct CurvePoint {
    pub routing: RoutingKind,
    pub pattern: String,
    pub load: f64,
    /// When the last pattern of a switching one became active [ns].
    pub change_ns: Option<u32>,
    pub bound: Option<Bound>,
    /// The interval in which the line's saturation lies, when it was looked for.
    pub saturation: Option<[f64; 2]>,
    pub report: Report,
    pub wall_s: f64,
}

/// How far a curve is.
#[derive(Clone, PartialEq, Debug)]
pub struct CurveProgress {
    /// Points that are done.
    pub done: usize,
    /// All points.
    pub count: usize,
    /// The next point: "minimal, uniform, load 0.5".
    pub next: String,
}

/// Simulates point by point; `on_point` returns whether to continue. The points done until then are the result, also
/// where a panic ends the next one.
///
/// # Errors
/// When a parameter is out of range or the fabric cannot be simulated.
pub(crate) fn curve(
    fabric: &SimulatedFabric<'_>,
    spec: &OpenLoopSpec,
    seed: u64,
    workers: (&Processes, usize),
    on_point: &mut dyn FnMut(CurveProgress) -> bool,
) -> Result<(Table, Option<Fault>), InputErrors> {
    spec.check(fabric, seed)?;
    let tables = spec.fabric_tables(fabric.kind, fabric.topology);
    let of_routing = |&routing| spec.patterns.iter().map(move |pattern| (routing, pattern));
    let lines: Vec<_> = spec.routings.iter().flat_map(of_routing).collect();
    let of_line = spec.points_of_line();
    let mut points: Vec<CurvePoint> = Vec::with_capacity(lines.len() * of_line);
    let mut fault = None;
    'lines: for (routing, pattern) in lines.iter().copied() {
        let first = points.len();
        let mut loads = Loads::of(spec);
        while let Some(load) = loads.next(&points[first..]) {
            let next = format!("{}, {}, load {load}", routing::label(routing), pattern.label());
            let count = lines.len() * of_line;
            let before = points.len();
            let progress = CurveProgress { done: before, count, next };
            let bound = points[first..].first().map(|point| point.bound.clone());
            let run = RunParams { load, length: spec.length(), records_steps: false, seed };
            let simulate = || {
                let traffic = || spec.traffic(fabric, &tables, pattern, run);
                on_point(progress).then(|| point(routing, pattern, traffic(), bound, workers)).transpose()
            };
            // A panic of one of several processes ends all.
            let done = if workers.0.are_several() { Ok(simulate()) } else { caught(simulate) };
            match done {
                Ok(point) => points.extend(point?),
                Err(panic) => fault = Some(panic),
            }
            if points.len() == before {
                break 'lines;
            }
        }
        let saturation = spec.saturation.then(|| Loads::bracket(&points[first..]));
        points[first..].iter_mut().for_each(|point| point.saturation = saturation);
    }
    Ok((table(&points, fabric.topology), fault))
}

fn point(
    routing: RoutingKind,
    pattern: &PatternSpec,
    traffic: OfferedTraffic<'_>,
    bound: Option<Option<Bound>>,
    (processes, threads): (&Processes, usize),
) -> Result<CurvePoint, InputErrors> {
    let started = Instant::now();
    let report = traffic.run_on(processes, routing, threads).map_err(conversions::open_loop)?;
    let wall_s = started.elapsed().as_secs_f64();
    let bound = bound.map_or_else(|| traffic.bound_with(routing), Ok);
    let bound = bound.map_err(|error| conversions::open_loop(error.into()))?;
    let (load, change_ns) = (traffic.run.load, change_ns(&traffic.pattern));
    Ok(CurvePoint { routing, pattern: pattern.label(), load, change_ns, bound, saturation: None, report, wall_s })
}

/// The loads of a line: those that are listed, and then halvings of the interval in which saturation lies.
struct Loads<'a> {
    listed: std::slice::Iter<'a, f64>,
    halvings: usize,
}

/// Leaves an interval of 1/128 of a link's load.
const HALVINGS: usize = 7;
/// Less of what is offered that is accepted is saturation.
const CARRIED: f64 = 0.95;

impl<'a> Loads<'a> {
    fn of(spec: &'a OpenLoopSpec) -> Loads<'a> {
        Loads { listed: spec.loads.iter(), halvings: if spec.saturation { HALVINGS } else { 0 } }
    }

    /// The load after those that are done.
    fn next(&mut self, done: &[CurvePoint]) -> Option<f64> {
        if let Some(&load) = self.listed.next() {
            return Some(load);
        }
        let [low, high] = Loads::bracket(done);
        let is_open = self.halvings > 0 && high - low > 0.5_f64.powi(HALVINGS as i32);
        self.halvings = self.halvings.saturating_sub(1);
        is_open.then_some((low + high) / 2.0)
    }

    /// The highest load below the lowest that was not carried, and that one; 0 and 1 where there is none.
    fn bracket(done: &[CurvePoint]) -> [f64; 2] {
        let is_carried = |point: &&CurvePoint| point.report.load_accepted >= CARRIED * point.report.load_offered;
        let lost = done.iter().filter(|point| !is_carried(point)).map(|point| point.load);
        let high = lost.fold(f64::INFINITY, f64::min);
        let low =
            done.iter().filter(is_carried).map(|point| point.load).filter(|&load| load < high).fold(0.0, f64::max);
        [low, high.min(1.0)]
    }
}

/// Switches, ports and channels of a deadlock cycle of full buffers: `g0s1:4/0 g2s0:3/0`; empty where there is none.
fn cycle(steps: &[WaitingChannel], topology: &Topology) -> String {
    let name = |step: &WaitingChannel| {
        format!("{}:{}/{}", topology.switch_name(SwitchId::new(step.switch)), step.port, step.channel)
    };
    steps.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// When the last pattern of one that switches comes into force [ns], if within any run.
pub(crate) fn change_ns(pattern: &Pattern) -> Option<u32> {
    let Pattern::Switching(switching) = pattern else { return None };
    u32::try_from(switching.last().as_ps() / 1_000).ok()
}

/// Points as rows; latencies are not a number where nothing arrived, bounds where none is known, reactions
/// where no pattern switched or the routing did not react.
pub(crate) fn table(points: &[CurvePoint], topology: &Topology) -> Table {
    let largest = |of: fn(&Report) -> &[f32]| -> Column {
        numbers(points, move |point| of(&point.report).iter().copied().fold(0.0, f32::max).into())
    };
    let percentile = |share: f64| -> Column {
        numbers(points, move |point| point.report.latency_ns.percentile(share).map_or(f64::NAN, f64::from))
    };
    let since_change = |of: fn(&Report, u32) -> Option<u32>| {
        let since = move |point: &CurvePoint| of(&point.report, point.change_ns?).map(f64::from);
        numbers(points, move |point| since(point).unwrap_or(f64::NAN))
    };
    let mean = |of: fn(&Report) -> Option<f64>| numbers(points, move |point| of(&point.report).unwrap_or(f64::NAN));
    Table {
        name: "points",
        columns: vec![
            ("routing", texts(points, |point| routing::label(point.routing))),
            ("pattern", texts(points, |point| point.pattern.clone())),
            ("load", numbers(points, |point| point.load)),
            ("load_offered", numbers(points, |point| point.report.load_offered)),
            ("load_accepted", numbers(points, |point| point.report.load_accepted)),
            (
                "load_saturation",
                numbers(points, |point| point.saturation.map_or(f64::NAN, |[low, high]| (low + high) / 2.0)),
            ),
            ("load_bound", numbers(points, |point| point.bound.as_ref().map_or(f64::NAN, |bound| bound.load_accepted))),
            (
                "load_bound_channel",
                texts(points, |point| {
                    point.bound.as_ref().map_or_else(String::new, |bound| bound.channel_name.clone())
                }),
            ),
            ("latency_ns_mean", mean(|report| report.latency_ns_mean)),
            ("latency_ns_half_width", mean(|report| report.latency_ns_half_width)),
            ("load_accepted_half_width", mean(|report| report.load_accepted_half_width)),
            ("latency_ns_p50", percentile(0.5)),
            ("latency_ns_p99", percentile(0.99)),
            ("latency_ns_p999", percentile(0.999)),
            ("hops_mean", mean(|report| report.hops_mean)),
            ("misrouted_share", mean(|report| report.misrouted_share)),
            ("fairness_jain", mean(|report| report.fairness.jain())),
            ("fairness_least_to_most", mean(|report| report.fairness.least_to_most())),
            ("reordered_share", mean(|report| report.reordering.share())),
            ("reordered_extent", integers(points, |point| u64::from(point.report.reordering.extent()))),
            ("warm_up_ns", integers(points, |point| u64::from(point.report.measured_ns.start))),
            ("measured_ns", integers(points, |point| point.report.measured_ns.len() as u64)),
            ("is_steady", integers(points, |point| u64::from(point.report.is_steady))),
            ("reaction_ns", since_change(Report::reaction_ns)),
            ("latency_settled_ns", since_change(Report::latency_settled_ns)),
            ("busy_max", largest(|report| &report.busy)),
            ("paused_max", largest(|report| &report.paused)),
            ("deadlock", texts(points, |point| cycle(&point.report.deadlock, topology))),
            ("packets_made", integers(points, |point| point.report.made)),
            ("packets_source_blocked", integers(points, |point| point.report.source_blocked)),
            ("packets_lost", integers(points, |point| point.report.lost)),
            ("packets_delivered", integers(points, |point| point.report.delivered)),
            ("packets_in_flight", integers(points, |point| point.report.in_flight)),
            ("packet_hops", integers(points, |point| point.report.packet_hops)),
            ("wall_s", numbers(points, |point| point.wall_s)),
            ("fingerprint", integers(points, |point| point.report.fingerprint)),
        ],
    }
}
