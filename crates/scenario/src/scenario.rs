//! A scenario as a value, and how it becomes an experiment.

use etherweave_design::DesignSpec;
use etherweave_primitives::{ChannelId, Duration, HostId, InputError, InputErrors, Priority, params};
use etherweave_routing::{MeasurementParams, PortChooser, RoutingKind, SelectionKind};
use etherweave_sim::params::{
    Binding, Ets, Fidelity, FlowControl, HostParams, NicParams, SimParams, SwitchParams, Transport,
};
use etherweave_sim::{ClassCodes, Experiment, Job};
use etherweave_topology::{FatTree, Topology, TopologyKind};
use etherweave_workload::{HostAreas, Placement, RankOrder, Traffic, Workload};

use crate::{
    ScenarioError, check, interconnect, interconnect::InterconnectSpec, open_loop::OpenLoopSpec, parts::classes,
    parts::classes::OpenClasses, parts::connections::Connections, parts::control::ControlSpec, parts::fast_forward,
    parts::fast_forward::FastForwardSpec, parts::faults, parts::faults::FaultsSpec, parts::flows, parts::host_ports,
    parts::host_ports::HostPortsSpec, parts::nic_buffer, parts::routing, parts::sampling, parts::sampling::ObserveSpec,
    parts::sweep::SweepSpec, parts::thresholds, text::document::Document, text::files, text::reader,
};

params! {
    /// A scenario file: fabric, protocols, jobs; all keys have defaults, and a run needs a job.
    pub struct Scenario {
        /// Name of the run. Default: the file's name without ".toml".
        pub name: String = String::new(),
        /// Seed of all random streams. Default 1.
        pub seed: u64 = 1,
        /// Profile of switch, link, NIC, transport and MPI library, which fills in what is not given.
        #[serde(skip_serializing)]
        pub interconnect: Option<InterconnectSpec> = None,
        /// Legal channels of packets; of routings that decide for every packet at every switch, also the choice among
        /// them. Default: "dimension_order" on flattened butterflies, HyperX and meshes without faults, else "up_down".
        pub routing: RoutingKind = RoutingKind::default(),
        /// Network: its switches, hosts and links.
        pub topology: TopologyKind = TopologyKind::FatTree(FatTree::default()),
        /// Ports of hosts that have several.
        #[serde(skip_serializing_if = "HostPortsSpec::is_default")]
        pub host_ports: HostPortsSpec = HostPortsSpec::default(),
        /// Choice among the legal channels for a flow, where `routing` leaves it open.
        pub selection: SelectionKind = SelectionKind::default(),
        /// The controller of `routing = "controller"`, which measures traffic in a run. Default: its reaction takes
        /// "70ms".
        #[serde(skip_serializing_if = "Option::is_none")]
        pub controller: Option<MeasurementParams> = None,
        /// Choice of the caller among the ports that `routing` allows on a tree, for exploration, in place of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub port_choice: Option<PortChooser> = None,
        /// Every switch. `profile = "spectrum"` fills in what is not given.
        pub switch: SwitchParams = SwitchParams::default(),
        /// Flow control: stops senders before buffers overflow. Default: "pfc", in open loops "credits".
        pub flow_control: FlowControl = FlowControl::default(),
        /// Shares of traffic classes in a port.
        pub ets: Ets = Ets::default(),
        /// Forward error correction of links by their class, in place of that by rate and cable.
        #[serde(skip_serializing_if = "is_default")]
        pub fec: ClassCodes = ClassCodes::default(),
        /// NICs.
        pub nic: NicParams = NicParams::default(),
        /// Processors, operating system, MPI library.
        pub host: HostParams = HostParams::default(),
        /// Transport protocol of hosts.
        pub transport: Transport = Transport::default(),
        /// Start of the measurement, and end of the run.
        pub run: RunSpec = RunSpec::default(),
        /// Workloads of the hosts.
        pub job: Vec<JobSpec> = Vec::new(),
        /// Time series of ports and flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub observe: Option<ObserveSpec> = None,
        /// Faults during the run.
        #[serde(skip_serializing_if = "FaultsSpec::is_default")]
        pub faults: FaultsSpec = FaultsSpec::default(),
        /// Design of the fabric by `etherweave design`; a run does not use it.
        pub design: DesignSpec = DesignSpec::default(),
        /// Synthetic traffic at several loads, for `etherweave curve` and `observe`; a run does not use it.
        #[serde(skip_serializing_if = "OpenLoopSpec::is_default")]
        pub open_loop: OpenLoopSpec = OpenLoopSpec::default(),
        /// How the fabric is deployed, for `etherweave control` and `etherweave lab`; a run does not use it.
        #[serde(skip_serializing_if = "ControlSpec::is_default")]
        pub control: ControlSpec = ControlSpec::default(),
        /// Runs at many values of keys, for `etherweave sweep`; each of them is resolved without it.
        #[serde(skip_serializing)]
        pub sweep: Option<SweepSpec> = None,
    }
}

/// A workload on its hosts.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Name of the job in tables.
    pub name: String,
    /// 802.1Q priority of all its packets, 0..=7. Default 0.
    #[serde(default)]
    pub priority: Priority,
    /// Start of the job, after the start of the run. Default "0s".
    #[serde(default)]
    pub start: Duration,
    /// Whether the run may end before the job does. Default false.
    #[serde(default)]
    pub background: bool,
    /// Traffic of its ranks or streams.
    pub workload: Workload,
    /// Its hosts. Default: in order, from the first free host.
    #[serde(default)]
    pub placement: Placement,
    /// Ranks on each of its hosts, at most; the last host may have fewer. Default 1.
    #[serde(default = "one")]
    pub ranks_per_host: u32,
    /// Host of each rank, among its hosts. Default "block".
    #[serde(default)]
    pub rank_order: RankOrder,
    /// Core of each rank of a host, where `host.cores` says what cores there are. Default "core".
    #[serde(default)]
    pub binding: Binding,
    /// Connections of each pair of its ranks on two hosts: "per pair", a single one that keeps the order of messages;
    /// "per communicator", one for each, as NCCL has it; "per message", one for each, as flows have; or a number, which
    /// messages take in turn. Default "per communicator" for jobs of NCCL, DeepEP's
    /// queue pairs for experts, else "per pair".
    #[serde(default)]
    pub connections: Connections,
    /// Transport of its connections, which may be another than that of jobs on the same hosts. Default: `transport`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Whether its hosts may be those of other jobs, with which it then shares cores, NICs and links. Default false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shared_hosts: bool,
    /// Detail in which messages of the job are simulated; "flow" beside jobs in packets takes bandwidth from them, and
    /// leaves them their share. Default: `run.fidelity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
}

impl JobSpec {
    pub(crate) fn hosts(&self) -> u64 {
        self.rank_order.hosts(self.workload.ranks(), self.ranks_per_host.max(1))
    }
}

fn one() -> u32 {
    1
}

fn is_default(codes: &ClassCodes) -> bool {
    *codes == ClassCodes::default()
}

fn is_false(value: &bool) -> bool {
    !value
}

params! {
    /// Start of the measurement, and end of a run.
    pub struct RunSpec {
        /// Latest end of the run. Absent: it ends when its jobs are done.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub end: Option<Duration> = None,
        /// Start of the measurement of the goodput of streams. Default "0s".
        pub warm_up: Duration = Duration::ZERO,
        /// Simulated time without progress after which the run ends as stuck. Absent: 10 s, and so much more than the
        /// latest start of a job, the longest computation or sleep, or three times the longest transfer within a node,
        /// where that is 10 s or longer.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub stall_limit: Option<Duration> = None,
        /// Whether to compute the fingerprint. Default true.
        pub fingerprint: bool = true,
        /// Names of the jobs that run; the others keep their hosts and stay idle. Absent: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jobs: Option<Vec<String>> = None,
        /// Detail in which the network between hosts is simulated: every packet, or messages at max-min fair rates,
        /// which is much faster and knows no queues. Default "packet".
        #[serde(skip_serializing_if = "Fidelity::is_packet")]
        pub fidelity: Fidelity = Fidelity::Packet,
        /// Repetitions of loops of ranks that are not simulated, since others are like them. Absent: all are simulated.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub fast_forward: Option<FastForwardSpec> = None,
    }
}

impl RunSpec {
    /// Whether a job runs.
    pub(crate) fn has(&self, job: &str) -> bool {
        self.jobs.as_ref().is_none_or(|jobs| jobs.iter().any(|name| name == job))
    }
}

impl Scenario {
    /// Reads a scenario and checks all that can be checked before anything is built. One without jobs describes a
    /// fabric, for designs, open loops or labs: each of its values is checked by itself. `origin` is what errors call
    /// the text; `overrides` are dotted keys and TOML literals.
    ///
    /// # Errors
    /// Every independent mistake.
    pub fn parse(text: &str, origin: &str, overrides: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let (document, scenario) = read_values(text, origin, overrides)?;
        if !scenario.job.is_empty() {
            check::scenario(&scenario).map_err(|errors| document.locate(errors))?;
        }
        Ok(scenario)
    }

    /// The scenario with every default written out.
    pub fn resolved(&self) -> String {
        toml::to_string_pretty(self).expect("a scenario is a TOML table")
    }

    /// Payload of a full frame of the run's transport, and what it takes of a link with preamble and gap [B].
    pub fn full_frame(&self) -> (u64, u64) {
        let payload = self.transport.payload().get();
        (payload, payload + u64::from(self.transport.headers().later))
    }

    /// How closely messages of a job are simulated.
    pub(crate) fn fidelity(&self, job: &JobSpec) -> Fidelity {
        job.fidelity.unwrap_or(self.run.fidelity)
    }

    /// All parameters of the simulator.
    pub fn params(&self) -> SimParams {
        let mut transports = self.transports().into_iter().cloned();
        SimParams {
            switch: self.switch.clone(),
            flow_control: self.flow_control.clone(),
            ets: self.ets.clone(),
            fec: self.fec,
            nic: self.nic.clone(),
            host: self.host.clone(),
            ports: self.host_ports.params(),
            transport: transports.next().expect("a run has a transport"),
            other_transports: transports.collect(),
            controller: self.controller.clone().unwrap_or_default(),
            fidelity: self.run.fidelity,
            seed: self.seed,
        }
    }
}

/// The table `sweep` of a file as JSON, every default written out; none without one.
///
/// # Errors
/// Every mistake of one value.
pub fn sweep(text: &str, origin: &str) -> Result<Option<String>, ScenarioError> {
    let (_, scenario) = read_values(text, origin, &[])?;
    Ok(scenario.sweep.map(|spec| serde_json::to_string(&spec).expect("a sweep is JSON")))
}

/// Reads and checks what a run needs; with the document, for later errors.
pub(crate) fn read(
    text: &str,
    origin: &str,
    overrides: &[(String, String)],
) -> Result<(Document, Scenario), ScenarioError> {
    let (document, scenario) = read_values(text, origin, overrides)?;
    let mut errors = InputErrors::default();
    let expected = "at least one `[[job]]` with a name and a workload";
    errors.check(InputError::unless(!scenario.job.is_empty(), "job", "no job", expected));
    errors.check(check::scenario(&scenario));
    errors.into_result().map_err(|errors| document.locate(errors))?;
    Ok((document, scenario))
}

/// Reads, and checks no more than each value by itself.
pub(crate) fn read_values(
    text: &str,
    origin: &str,
    overrides: &[(String, String)],
) -> Result<(Document, Scenario), ScenarioError> {
    let mut document = Document::parse(text, origin, overrides)?;
    files::insert(&mut document)?;
    let states_priorities = classes::states_priorities(&document.values);
    interconnect::insert(&mut document)?;
    let mut scenario: Scenario = reader::read(&document.values).map_err(|errors| document.locate(errors))?;
    if !document.values.contains_key("routing") {
        scenario.routing = routing::of(&scenario.topology);
    }
    let weights = !classes::states_weights(&document.values);
    OpenClasses { priorities: !states_priorities, weights }.complete(&mut scenario);
    host_ports::complete(&mut scenario);
    thresholds::complete(document.values.get("switch").and_then(toml::Value::as_table), &mut scenario);
    scenario.job.iter_mut().for_each(|job| job.workload.complete());
    let nic = document.values.get("nic").and_then(toml::Value::as_table);
    nic_buffer::complete(nic, &mut scenario).map_err(|error| document.locate(error))?;
    routing::choose_loss_detection(&mut scenario);
    if scenario.name.is_empty() {
        scenario.name = stem(origin).to_owned();
    }
    files::trace::open(&mut scenario).map_err(|errors| document.locate(errors))?;
    flows::complete(&mut scenario).map_err(|errors| document.locate(errors))?;
    Ok((document, scenario))
}

/// Name of a scenario that states none.
fn stem(origin: &str) -> &str {
    let file = origin.rsplit('/').next().unwrap_or(origin);
    file.strip_suffix(".toml").unwrap_or(file)
}

/// Builds routes and jobs on the scenario's fabric.
pub(crate) fn experiment(
    document: &Document,
    scenario: &Scenario,
    topology: Topology,
    capture: &[String],
) -> Result<Experiment, ScenarioError> {
    let locate = |errors: InputErrors| document.locate(errors);
    let capture: Result<Vec<ChannelId>, _> = capture.iter().map(|name| port_named(&topology, name)).collect();
    let capture = capture.map_err(|error| document.elsewhere(error))?;
    let mut errors = InputErrors::default();
    let ports = errors.check(host_ports::check(scenario, &topology));
    let outages = errors.check(faults::outages(&scenario.faults, &topology));
    let degraded = errors.check(faults::degraded(scenario, &topology));
    let storms = errors.check(faults::storms(scenario, &topology));
    let jobs = errors.check(jobs(scenario, &topology));
    let sampling = errors.check(sampling::sampling(scenario, &topology));
    // Tables of a large fabric take seconds: none are made for jobs that have a mistake.
    let ready = jobs.as_ref().and(outages.as_ref());
    let paths = ready.and_then(|outages| errors.check(routing::paths(scenario, &topology, outages)));
    let (Some(paths), Some(outages), Some(degraded), Some(storms), Some(mut jobs), Some(sampling), Some(())) =
        (paths, outages, degraded, storms, jobs, sampling, ports)
    else {
        return Err(locate(errors));
    };
    check::built(scenario, &topology, &jobs).map_err(|error| document.locate(error))?;
    let has_capture = !capture.is_empty();
    fast_forward::find_rounds(scenario, &mut jobs);
    let skips = fast_forward::check_built(scenario, &jobs, has_capture);
    skips.map_err(|error| document.locate(InputErrors::from(error)))?;
    let stall_limit = check::stall_limit(scenario, &jobs);
    jobs.retain(|job| scenario.run.has(&job.name));
    Ok(Experiment {
        paths,
        params: scenario.params(),
        jobs,
        degraded,
        outages,
        storms,
        warm_up: scenario.run.warm_up,
        stall_limit,
        capture,
        sampling,
        observes_ranks: scenario.observe.as_ref().is_some_and(|observe| observe.ranks),
        fingerprint: scenario.run.fingerprint,
        fast_forward: scenario.run.fast_forward.as_ref().map(FastForwardSpec::limits),
        topology,
    })
}

/// The hosts of a job: none that another has, unless it may share them.
fn placed(spec: &JobSpec, areas: &HostAreas, taken: &mut [bool], seed: u64) -> Result<Vec<HostId>, InputError> {
    let count = spec.hosts() as u32;
    if !spec.shared_hosts {
        let shares = |error: InputError| InputError {
            expected: format!(
                "{}; shared_hosts = true beside placement, in [[job]], lets the job have those of others too",
                error.expected
            ),
            ..error
        };
        let is_first = !taken.contains(&true);
        let hosts = spec.placement.place(count, areas, taken, seed);
        return hosts.map_err(|error| if is_first { error } else { shares(error) });
    }
    let hosts = spec.placement.place(count, areas, &mut vec![false; taken.len()], seed)?;
    hosts.iter().for_each(|host| taken[host.index()] = true);
    Ok(hosts)
}

/// Every job on its hosts.
///
/// # Errors
/// Mistakes of all workloads; of placements the first, because a job takes the hosts that those before it leave.
fn jobs(scenario: &Scenario, topology: &Topology) -> Result<Vec<Job>, InputErrors> {
    let areas = areas(topology);
    let mut taken = vec![false; topology.hosts()];
    let mut jobs = Vec::with_capacity(scenario.job.len());
    let mut errors = InputErrors::default();
    for (number, spec) in scenario.job.iter().enumerate() {
        let Some(traffic) = errors.check(traffic(scenario, number, topology)) else { continue };
        if !errors.is_empty() {
            continue;
        }
        let hosts = placed(spec, &areas, &mut taken, scenario.seed);
        let hosts = hosts.map_err(|error| error.within(&format!("job.{number}.placement")))?;
        let of_ranks = spec.rank_order.assign(&hosts, traffic.ranks(), spec.ranks_per_host, scenario.seed);
        jobs.push(Job {
            name: spec.name.clone(),
            binding: spec.binding.clone(),
            hosts: of_ranks.map_err(|error| error.within(&format!("job.{number}.rank_order")))?,
            traffic,
            priority: spec.priority,
            start: spec.start,
            is_background: spec.background,
            fidelity: spec.fidelity,
            transport: scenario.transport_number(spec),
            connections: spec.connections.of_pair(),
        });
    }
    errors.into_result().map(|()| jobs)
}

/// Leaf and group of every host, by its first port.
fn areas(topology: &Topology) -> HostAreas {
    let first = |host| topology.port_host(HostId::from_index(host), 0);
    let hosts: Vec<HostId> = (0..topology.hosts()).map(first).collect();
    let topology = topology.by_port();
    let switches = || hosts.iter().map(|&host| topology.switch_of(host));
    let axis = topology.axes().iter().position(|axis| axis == "group" || axis == "pod");
    let groups = axis.map(|axis| switches().map(|at| topology.coordinates(at)[axis]).collect());
    HostAreas { leaves: switches().map(|at| at.get()).collect(), groups }
}

/// Traffic of a job, if the fabric has hosts for its ranks.
fn traffic(scenario: &Scenario, number: usize, topology: &Topology) -> Result<Traffic, InputErrors> {
    let spec = &scenario.job[number];
    check::ranks(number, spec, topology)?;
    let traffic = spec.workload.traffic(scenario.seed);
    let traffic =
        traffic.map_err(|errors| errors.within(&format!("job.{number}.workload.{}", spec.workload.name())))?;
    check::of_streams(number, spec, &traffic)?;
    check::binding(number, spec, scenario.host.cores.as_ref())?;
    Ok(traffic)
}

/// The channel of the port of a host with this name: "host3", or "host3.1" of a host with several.
pub(crate) fn port_named(topology: &Topology, name: &str) -> Result<ChannelId, InputError> {
    let mut ports = topology.host_ports();
    let port = ports.find(|&(host, port)| topology.host_port_name(host, port) == name);
    let last = topology.host_ports().last().map(|(host, port)| topology.host_port_name(host, port));
    let what = if topology.is_single_homed() { "host" } else { "port of a host" };
    let expected = || format!("a {what} of the topology, up to {}", last.unwrap_or_default());
    let port = port.map(|(host, port)| topology.host_channels(host)[port]);
    port.ok_or_else(|| InputError::new("", format!("no {what} {name} to capture"), expected()))
}
