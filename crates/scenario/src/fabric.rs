//! A scenario's fabric, on paper: nothing runs on it.

use std::ops::RangeInclusive;

use etherweave_design::{Design, DesignError, DesignStep, Largest, ReductionCost};
use etherweave_kernel::Processes;
use etherweave_openloop::load_share;
use etherweave_primitives::{BitRate, Bytes, InputError, InputErrors};
use etherweave_routing::{Outage, Routing, RoutingKind};
use etherweave_sim::{PreparedRouting, TreeCost, largest_packet, port_buffers, tree_costs};
use etherweave_topology::{Export, ExportNames, Topology, TopologyKind, reverse};

use crate::open_loop::{self, CurveProgress, SimulatedFabric};
use crate::{
    Deployment, Estimate, Fault, Scenario, ScenarioError, Table, effect, forecast::estimate,
    forecast::memory::MemoryLimit, interconnect::subnet_warning, observation::PointChoice, observation::observe,
    parts::faults, parts::host_ports::generate, parts::network::OpenLoopNetwork, parts::routing, result::fabric_tables,
    result::measured, result::measured::PortSent, scenario::experiment, scenario::read_values,
    text::document::Document, text::reader,
};

/// The fabric of a scenario, built; jobs and all that only matters to a run may be missing from the file.
pub struct Fabric {
    scenario: Scenario,
    topology: Topology,
    /// Where the keys of later mistakes stand.
    document: Document,
}

impl Fabric {
    /// Reads a scenario and builds its fabric.
    ///
    /// # Errors
    /// Every independent mistake, where it stands in the file.
    pub fn parse(text: &str, origin: &str, overrides: &[(String, String)]) -> Result<Fabric, ScenarioError> {
        let (document, scenario) = read_values(text, origin, overrides)?;
        let topology = generate(&scenario).map_err(|error| document.locate(error))?;
        Ok(Fabric { scenario, topology, document })
    }

    /// Returns the name of the fabric.
    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    /// Returns the topology: what is connected to what.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The family with its parameters.
    pub fn kind(&self) -> &TopologyKind {
        &self.scenario.topology
    }

    /// Its switches, hosts and links, in the order of ids.
    pub fn tables(&self) -> Vec<Table> {
        fabric_tables::tables(&self.topology)
    }

    /// Headroom, buffer of each priority under credits and shared pool [B] of every port of every switch for packets of
    /// `mtu` bytes above Ethernet; as a run
    /// of this scenario has them for [`largest_packet_bytes`](Fabric::largest_packet_bytes).
    ///
    /// # Errors
    /// When parameters do not fit together, or a switch has too little memory.
    pub fn buffers(&self, mtu: u16) -> Result<Table, ScenarioError> {
        let ports = port_buffers(&self.topology, &self.scenario.params(), Bytes::new(mtu.into()));
        let ports = ports.map_err(|error| self.document.locate(error))?;
        Ok(fabric_tables::buffers(&self.topology, &ports))
    }

    /// The largest packet above Ethernet that its hosts send [B]: what an MTU must let through.
    pub fn largest_packet_bytes(&self) -> u64 {
        largest_packet(&self.scenario.params()).get()
    }

    /// How many priorities a routing's deadlock proof takes apart on this fabric; of the scenario's own routing if
    /// none is named.
    ///
    /// # Errors
    /// When there is no such routing, or it is not for this fabric.
    pub fn routing_priorities(&self, routing: Option<&str>) -> Result<u8, ScenarioError> {
        let kind = match routing {
            Some(name) => reader::name(name).map_err(|error| self.document.elsewhere(error.within("routing")))?,
            None => self.scenario.routing,
        };
        let topology = self.topology.by_port();
        let legality = kind.legality(topology).map_err(|error| error.within("routing"));
        let by_plan = legality.map(|legality| legality.priorities());
        if kind.is_by_flow() {
            return by_plan.map_err(|error| self.document.locate(error));
        }
        let tables = self.scenario.open_loop.fabric_tables(&self.scenario.topology, topology);
        let by_packet = PreparedRouting::new(kind, &tables).map(|prepared| prepared.priorities());
        let priorities = match (by_plan, by_packet) {
            (Ok(one), Ok(other)) => Ok(one.max(other)),
            (Ok(only), Err(_)) | (_, Ok(only)) => Ok(only),
            (Err(error), Err(other)) => Err(if kind.has_plan() { error } else { other }),
        };
        priorities.map_err(|error| self.document.locate(error))
    }

    /// The scenario, with every default written out.
    pub fn resolved(&self) -> String {
        self.scenario.resolved()
    }

    /// Adds to a design of this fabric what it draws under the load of a run: what its ports sent in `span_ns`.
    ///
    /// # Errors
    /// When the rows are of another fabric, or the design has no power.
    pub fn add_load(&self, design: &mut Design, rows: &[PortSent], span_ns: f64) -> Result<(), ScenarioError> {
        let load = measured::load(&self.topology, rows, span_ns).map_err(|error| self.document.elsewhere(error))?;
        let added = design.add_load(&self.topology, &self.scenario.design, &load);
        added.map_err(|error| self.document.locate(error.within("design")))
    }

    /// The fabric in a format that other programs read: files by name, with their texts. `names` are fields of
    /// [`ExportNames`] and their values; the fabric is called as the scenario, unless they say otherwise.
    ///
    /// # Errors
    /// When there is no such format or field, or a node has a name that the format cannot express.
    pub fn export(&self, format: &str, names: &[(String, String)]) -> Result<Vec<(String, String)>, ScenarioError> {
        let error = |error: InputError| {
            self.document.elsewhere(if error.key.is_empty() { error.within("topology") } else { error })
        };
        let export: Export = format.parse().map_err(error)?;
        let names = self.export_names(names)?;
        // A scenario may be called anything, but its files stay where they are written.
        let stem = self.name().replace(|sign: char| sign.is_control() || ['/', '\\'].contains(&sign), "-");
        let files = export.files(&self.topology, &names).map_err(error)?;
        Ok(files.into_iter().map(|file| (format!("{stem}{}", file.suffix), file.text)).collect())
    }

    fn export_names(&self, names: &[(String, String)]) -> Result<ExportNames, ScenarioError> {
        let own = [("fabric".to_owned(), self.name().to_owned())];
        let fields = own.iter().chain(names).map(|(key, value)| (key.clone(), toml::Value::String(value.clone())));
        let names = reader::read(&fields.collect::<toml::Table>());
        names.map_err(|errors| self.document.elsewhere(errors.within("export names")))
    }

    /// Latency and throughput under the traffic of `[open_loop]`, a row for each routing, pattern and load. Each port
    /// of a host is a source of its own; of equal planes, which share nothing, one is simulated. `on_point` is called
    /// before each point and returns whether to continue. Several processes use one thread each, and all get the same
    /// rows. Beside them: the fault that ended the last point, if one did.
    ///
    /// # Errors
    /// When a parameter is out of range or the fabric cannot be simulated.
    pub fn curve(
        &self,
        processes: &Processes,
        threads: usize,
        memory_limit: Option<&str>,
        on_point: &mut dyn FnMut(CurveProgress) -> bool,
    ) -> Result<(Table, Option<Fault>), ScenarioError> {
        let Scenario { open_loop, seed, .. } = &self.scenario;
        let network = self.network()?;
        let (topology, outages) = (self.topology.by_port(), &self.outages()?);
        self.check_memory(estimate::curve(open_loop, topology, &network), memory_limit)?;
        let fabric = SimulatedFabric { kind: &self.scenario.topology, topology, network: &network, outages };
        let points = open_loop::curve(&fabric, open_loop, *seed, (processes, threads), on_point);
        points.map_err(|error| self.document.locate(error))
    }

    /// One point of `[open_loop]`, watched: `points` with its row as of [`Fabric::curve`], `patterns` with when each
    /// begins, `channels` between switches with their utilisation in the measured time, `steps` with that between any
    /// two groups (switches, where the fabric has no groups) in every batch, and `series` with loads and latency.
    ///
    /// # Errors
    /// When there is no such point, or it cannot be simulated.
    pub fn observe(
        &self,
        choice: &PointChoice,
        threads: usize,
        memory_limit: Option<&str>,
    ) -> Result<Vec<Table>, ScenarioError> {
        let Scenario { open_loop, seed, .. } = &self.scenario;
        let network = self.network()?;
        let (topology, outages) = (self.topology.by_port(), &self.outages()?);
        let fabric = SimulatedFabric { kind: &self.scenario.topology, topology, network: &network, outages };
        let point = choice.of(open_loop).map_err(|error| self.document.elsewhere(error))?;
        self.check_memory(point.estimate(open_loop, topology, &network), memory_limit)?;
        if let Some(load) = choice.load {
            let share = load_share(load).map_err(|error| error.within("load"));
            share.map_err(|error| self.document.elsewhere(error))?;
        }
        observe(&fabric, open_loop, *seed, point, threads).map_err(|errors| self.document.locate(errors))
    }

    /// The flow tables and addresses to deploy, as `[control]` and `[design.tables]` say, around cables that are down
    /// ("leaf0 - core0"; twice, two of several parallel ones).
    ///
    /// # Errors
    /// When a parameter does not suit the fabric, addresses do not fit, or no such cable is there.
    pub fn deployment(&self, down: &[String]) -> Result<Deployment, ScenarioError> {
        let down = faults::cables(&self.topology, down);
        let down = down.map_err(|error| self.document.elsewhere(error.within("failed")))?;
        let Scenario { topology: kind, design, control, .. } = &self.scenario;
        let strategy = design.tables.strategy(kind);
        let stated = self.document.values.contains_key("flow_control").then_some(&self.scenario.flow_control);
        let (widths, is_lossless) = (&design.tables.widths, control.is_lossless(stated));
        let deployment = Deployment::of(kind, &self.topology, control, strategy, widths, &down, is_lossless);
        let deployment = deployment.map_err(|error| self.document.locate(error))?;
        let checked = control.check(deployment.address_bits(), deployment.priorities());
        checked.map_err(|errors| self.document.locate(errors.within("control")))?;
        routing::check_planned_trigger(&self.scenario).map_err(|error| self.document.locate(error))?;
        let deadlock = control.deadlock_warning(deployment.priorities(), stated).or_else(|| deployment.deadlock());
        let warnings = [deadlock, control.order_warning(&self.scenario.ets), deployment.division()];
        Ok(deployment.with_warnings(warnings.into_iter().flatten().collect()))
    }

    /// Estimates what [`Fabric::curve`] needs; nothing is known where a parameter is out of range.
    pub fn estimate_curve(&self) -> Estimate {
        let (Scenario { open_loop, .. }, topology) = (&self.scenario, self.topology.by_port());
        let network = self.network_unchecked();
        let mut estimate = estimate::curve(open_loop, topology, &network).unwrap_or_default();
        let warn = |&kind: &RoutingKind| routing::saturation_warning(kind, "open_loop.routings", topology);
        estimate.warnings = open_loop.routings.iter().filter_map(warn).collect();
        estimate
    }

    /// Estimates what [`Fabric::observe`] needs; nothing is known where there is no such point.
    pub fn estimate_observe(&self, choice: &PointChoice) -> Estimate {
        let open_loop = &self.scenario.open_loop;
        choice
            .of(open_loop)
            .map(|point| {
                point.estimate(open_loop, self.topology.by_port(), &self.network_unchecked()).unwrap_or_default()
            })
            .unwrap_or_default()
    }

    /// The switches and links of open loops.
    ///
    /// # Errors
    /// Keys that open loops do not use, and nothing else in the file.
    fn network(&self) -> Result<OpenLoopNetwork, ScenarioError> {
        let errors = effect::without_effect(&self.document.stated).into_result();
        errors.map_err(|errors| self.document.locate(errors)).map(|()| self.network_unchecked())
    }

    fn network_unchecked(&self) -> OpenLoopNetwork {
        OpenLoopNetwork::of(&self.document.stated, &self.scenario, self.topology.by_port())
    }

    /// Refuses what does not fit; a parameter out of range is reported when it is used.
    fn check_memory(&self, estimate: Result<Estimate, InputErrors>, limit: Option<&str>) -> Result<(), ScenarioError> {
        let limit = MemoryLimit::of(limit).map_err(|error| self.document.elsewhere(error))?;
        estimate.unwrap_or_default().check(&limit).map_err(|error| self.document.locate(error))
    }

    /// Links that fail in the fabric by port: of equal planes those of the first, if the same fail in all.
    fn outages(&self) -> Result<Vec<Outage>, ScenarioError> {
        let outages = faults::open_loop_outages(&self.scenario.faults, &self.topology);
        let mut of_planes = vec![Vec::new(); self.topology.planes()];
        for outage in outages.map_err(|errors| self.document.locate(errors))? {
            let (plane, channel) = self.topology.channel_in_plane(outage.channel);
            of_planes[plane].push(Outage { channel: channel.min(reverse(channel)), ..outage });
        }
        let place = |outage: &Outage| (outage.channel, outage.from, outage.until);
        of_planes.iter_mut().for_each(|outages| outages.sort_by_key(place));
        let (is_alike, planes) = (of_planes.iter().all(|plane| *plane == of_planes[0]), of_planes.len());
        let mistake = format!("links that differ between {planes} planes");
        let expected = "the same links in every plane, at the same times: one plane is simulated for all";
        let error = InputError::unless(is_alike, "faults.down", mistake, expected);
        error.map_err(|error| self.document.locate(error)).map(|()| of_planes.swap_remove(0))
    }

    /// Estimates what [`Fabric::design`] needs.
    pub fn estimate_design(&self) -> Estimate {
        let mut estimate = estimate::design(&self.scenario.topology, self.topology.by_port(), &self.scenario.design);
        estimate.warnings.extend(subnet_warning(self.scenario.interconnect.as_ref(), &self.topology));
        estimate
    }

    /// All figures of the fabric; `on_step` is called before each step and returns whether to continue. None when it
    /// stopped.
    ///
    /// # Errors
    /// When `[design]` asks for what the fabric or a profile cannot give, or there is too little memory.
    pub fn design(
        &self,
        memory_limit: Option<&str>,
        on_step: &mut dyn FnMut(DesignStep) -> bool,
    ) -> Result<Option<Design>, ScenarioError> {
        self.check_memory(Ok(self.estimate_design()), memory_limit)?;
        let Scenario { name, topology: kind, design, .. } = &self.scenario;
        match Design::of(name, kind, &self.topology, design, on_step) {
            Ok(design) => self.add_reduction(design).map(Some),
            Err(DesignError::Stopped) => Ok(None),
            Err(DesignError::Input(errors)) => Err(self.document.locate(errors.within("design"))),
        }
    }

    /// Adds what jobs that reduce in the network need of switches.
    fn add_reduction(&self, mut design: Design) -> Result<Design, ScenarioError> {
        let Some(reduction) = self.scenario.switch.reduction.as_ref().filter(|_| !self.scenario.job.is_empty()) else {
            return Ok(design);
        };
        match experiment(&self.document, &self.scenario, self.topology.clone(), &[]) {
            Err(error) => design.missing.push(format!("reduction in the network: {error}")),
            Ok(experiment) => {
                let costs = tree_costs(&experiment).map_err(|errors| self.document.locate(errors))?;
                design.reduction = costs.into_iter().map(|cost| self.reduction_cost(cost, reduction.trees)).collect();
            }
        }
        Ok(design)
    }

    fn reduction_cost(&self, cost: TreeCost, trees_max: u32) -> ReductionCost {
        let TreeCost { switch, trees, entries, segment_packets, buffer } = cost;
        let switch = self.topology.switch_name(switch).to_owned();
        ReductionCost { switch, trees, trees_max, entries, segment_packets, buffer_bytes: buffer.get() }
    }
}

/// A fabric that fulfils a request.
pub struct ProposedScenario {
    /// Its family, and whether it is the family's largest.
    pub name: String,
    /// A scenario with this topology and nothing else.
    pub scenario: String,
}

/// The members of every family with hosts in a range, from switches of `radix` ports with links of `rate`, and why
/// others were left out.
///
/// # Errors
/// When `rate` is no rate, such as "100Gb/s".
pub fn proposals(
    hosts: &RangeInclusive<u32>,
    radix: u32,
    rate: &str,
) -> Result<(Vec<ProposedScenario>, Vec<String>), InputError> {
    let rate = rate.parse::<BitRate>().map_err(|error| error.within("rate"))?;
    let (proposals, reasons) = etherweave_design::proposals(hosts, radix);
    let with_scenario = |proposal: etherweave_design::Proposal| ProposedScenario {
        scenario: topology_alone(&proposal.name, &proposal.kind, Some(rate)),
        name: proposal.name,
    };
    Ok((proposals.into_iter().map(with_scenario).collect(), reasons))
}

/// The largest balanced fabrics of switches of `radix` ports, by formula, as JSON: the fields of
/// [`Largest`](etherweave_design::Largest), with a `scenario` of that topology and nothing else.
///
/// # Errors
/// When no such fabric has so few or so many ports.
pub fn largest(radix: u32) -> Result<String, InputError> {
    #[derive(serde::Serialize)]
    struct WithScenario {
        #[serde(flatten)]
        largest: Largest,
        scenario: String,
    }
    let with_scenario =
        |largest: Largest| WithScenario { scenario: topology_alone(&largest.name, &largest.kind, None), largest };
    let all: Vec<WithScenario> = Largest::all(radix)?.into_iter().map(with_scenario).collect();
    Ok(serde_json::to_string_pretty(&all).expect("figures are JSON"))
}

/// A scenario with this topology and nothing else, all links with one rate where one is given.
fn topology_alone(name: &str, kind: &TopologyKind, rate: Option<BitRate>) -> String {
    #[derive(serde::Serialize)]
    struct Alone<'a> {
        name: &'a str,
        topology: &'a TopologyKind,
    }
    let mut alone = toml::Value::try_from(Alone { name, topology: kind }).expect("a topology is a TOML table");
    if let Some(rate) = rate {
        set_rates(&mut alone, &rate.to_string());
    }
    toml::to_string_pretty(&alone).expect("a topology is a TOML table")
}

/// Every family calls its rates so: `rate`, `host_rate`, …
fn set_rates(value: &mut toml::Value, rate: &str) {
    match value {
        toml::Value::Table(table) => table.iter_mut().for_each(|(key, value)| match value {
            toml::Value::String(text) if key == "rate" || key.ends_with("_rate") => *text = rate.to_owned(),
            other => set_rates(other, rate),
        }),
        toml::Value::Array(list) => list.iter_mut().for_each(|value| set_rates(value, rate)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::Node;

    use crate::Column;

    use super::*;

    #[test]
    fn proposals_have_the_rate_on_every_link() {
        let (proposed, reasons) = proposals(&(50..=2_000), 12, "25Gb/s").unwrap();
        assert!(proposed.len() > 8, "{reasons:?}");
        for proposal in proposed {
            let fabric = Fabric::parse(&proposal.scenario, &proposal.name, &[]).unwrap();
            let topology = fabric.topology();
            assert!(topology.hosts() >= 50);
            for channel in topology.channels() {
                assert_eq!(channel.rate, BitRate::from_gbps(25), "{}", proposal.name);
                let is_switch = matches!(channel.from.node, Node::Switch(_));
                assert!(!is_switch || channel.from.port.get() < 12, "{}", proposal.name);
            }
        }
        assert!(proposals(&(50..=2_000), 12, "25").is_err());
    }

    fn column(table: &Table, name: &str) -> Vec<u64> {
        match &table.columns.iter().find(|(column, _)| *column == name).unwrap().1 {
            Column::Integers(values) => values.clone(),
            Column::Numbers(_) | Column::Texts(_) => unreachable!("{name} counts"),
        }
    }

    #[test]
    fn a_port_has_the_headroom_of_its_own_cable() {
        let text = "[topology.single_switch]\nhosts = 2\ncable = \"3m\"";
        let buffers = Fabric::parse(text, "x.toml", &[]).unwrap().buffers(4_156).unwrap();
        // 216 ns NIC + 300 ns switch + 500 ns reaction + both directions of 3 m at 5 ns/m, at 12.5 B/ns; three frames
        // of 4096 B with 102 B around them; a pause frame.
        let expected = 12_500 * (216 + 300 + 500 + 2 * 15) / 1_000 + 3 * (4_096 + 102) + 84;
        assert_eq!(column(&buffers, "headroom_bytes"), [expected, expected]);
        let large = Fabric::parse(text, "x.toml", &[]).unwrap().buffers(9_000).unwrap();
        assert_eq!(column(&large, "headroom_bytes")[0], expected + 3 * (9_000 - 4_156));
        // 16 MiB less a reserve of each port's lossy and lossless group, and the headroom.
        assert_eq!(column(&buffers, "pool_bytes"), [(16 << 20) - 4 * 10_240 - 2 * expected; 2]);
    }

    #[test]
    fn what_pauses_nothing_has_no_headroom() {
        let text = "[topology.single_switch]\nhosts = 2\n[flow_control.none]\n[transport.tcp]";
        let fabric = Fabric::parse(text, "x.toml", &[]).unwrap();
        assert_eq!(column(&fabric.buffers(1_500).unwrap(), "headroom_bytes"), [0, 0]);
    }

    #[test]
    fn a_port_has_the_buffer_under_credits_of_its_own_cable() {
        let text = "[topology.single_switch]\nhosts = 2\ncable = \"3m\"\n[flow_control.credits]\npriorities = [0, 3]";
        let buffers = Fabric::parse(text, "x.toml", &[]).unwrap().buffers(4_156).unwrap();
        // 216 ns NIC + 300 ns switch + 100 ns return + both directions of 3 m at 5 ns/m, at 12.5 B/ns, are 8,075 B: two
        // frames of 4,198 B, and two more. Each takes 4,178 B of a buffer, 66 units of 64 B.
        let expected = 4 * 66 * 64;
        assert_eq!(column(&buffers, "credit_bytes"), [expected, expected]);
        assert_eq!(column(&buffers, "headroom_bytes"), [0, 0]);
        // 16 MiB less a reserve of each port's lossy priorities, and two buffers of each port.
        assert_eq!(column(&buffers, "pool_bytes"), [(16 << 20) - 2 * 10_240 - 4 * expected; 2]);
    }

    #[test]
    fn too_little_memory_is_reported_at_its_key() {
        let text = "[topology.single_switch]\nhosts = 2\n[switch]\nbuffer = \"60KiB\"";
        let error = Fabric::parse(text, "x.toml", &[]).unwrap().buffers(4_156).unwrap_err();
        assert!(
            error.to_string().starts_with("x.toml:4:1: switch.buffer: reserves and headroom of switch0"),
            "{error}"
        );
    }

    #[test]
    fn packets_fill_the_path_mtu_and_their_headers() {
        let text = "[topology.single_switch]\nhosts = 2";
        // IPv4, UDP, BTH, RETH, ICRC.
        assert_eq!(Fabric::parse(text, "x.toml", &[]).unwrap().largest_packet_bytes(), 4_096 + 20 + 8 + 12 + 16 + 4);
    }

    #[test]
    fn a_routing_has_the_priorities_that_keep_it_from_deadlock() {
        let fabric = Fabric::parse("[topology.dragonfly]\np = 1\na = 2\nh = 1", "x.toml", &[]).unwrap();
        assert_eq!(fabric.routing_priorities(None), Ok(1));
        for (name, priorities) in [("minimal", 2), ("ugal_local", 3), ("conditional", 2)] {
            assert_eq!(fabric.routing_priorities(Some(name)), Ok(priorities), "{name}");
        }
        let error = fabric.routing_priorities(Some("ugall")).unwrap_err().to_string();
        assert!(error.contains("unknown name `ugall`; expected one of `up_down`, "), "{error}");
    }
}
