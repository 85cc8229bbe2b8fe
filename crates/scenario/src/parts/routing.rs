//! The routing of a run: that of its family unless the scenario names one, its paths, and whether it may deadlock.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_routing::{
    FabricOf, Outage, PacketRouting, RoutingKind, Saturation, Verdict, Visit, check_replaced, prove, tables::Trigger,
};
use etherweave_sim::params::{FlowControl, Overtaken, SwitchModel, SwitchParams, Transport};
use etherweave_sim::{Paths, PortRow, PreparedRouting};
use etherweave_topology::{LinkClass, RowShape, Shape, Topology, TopologyKind};

use crate::{Scenario, parts::control::RuleKind, parts::host_ports};

/// Pairs of two switches up to which every packet is followed before a run: a second or two.
const FOLLOWED_MAX: usize = 1 << 20;

/// The routing of a family: minimal where one priority keeps that free of deadlock, else up/down. A run gives each job
/// one priority: the dateline of a torus and the hops of a dragonfly need two.
pub(crate) fn of(kind: &TopologyKind) -> RoutingKind {
    let is_grid = matches!(kind.shape(), Shape::Grid { row: RowShape::Full | RowShape::Line, .. });
    if is_grid && kind.as_built().is_regular() { RoutingKind::DimensionOrder } else { RoutingKind::UpDown }
}

/// Returns the label of a routing in rows of points: its name, and its parameters where these are not its defaults.
pub(crate) fn label(kind: RoutingKind) -> String {
    let table = serde_json::to_value(kind).expect("parameters are numbers and texts");
    match table.get(kind.name()) {
        Some(parameters) => format!("{} {parameters}", kind.name()),
        None => kind.name().to_owned(),
    }
}

/// Whether a word is what rows call a routing, or its bare name.
pub(crate) fn is_called(kind: &RoutingKind, word: &str) -> bool {
    label(*kind) == word || kind.name() == word
}

/// Whether switches of a run decide for every packet, as far as the family says.
pub(crate) fn is_by_packet(scenario: &Scenario) -> bool {
    let has_rings = matches!(scenario.topology.shape(), Shape::Grid { row: RowShape::Ring, .. });
    !scenario.routing.is_by_flow() || has_rings && scenario.routing == RoutingKind::DimensionOrder
}

/// Whether packets of a run go by conditional rules.
pub(crate) fn goes_by_rules(routing: RoutingKind) -> bool {
    matches!(routing, RoutingKind::Conditional | RoutingKind::ConditionalTables)
}

/// The paths of a run. Shortest paths that are computed anew around failures are a decision for every packet.
///
/// # Errors
/// When the routing does not work on the fabric or not in a run, or a key cannot take effect.
pub(crate) fn paths(scenario: &Scenario, topology: &Topology, outages: &[Outage]) -> Result<Paths, InputError> {
    let (routing, reroute_after) = (scenario.routing, scenario.faults.reroute_after);
    let (outages, topology) = (if topology.planes() > 1 { &[] } else { outages }, topology.by_port());
    let is_rerouted = routing == RoutingKind::ShortestPath && !outages.is_empty();
    if let Some(delay) = reroute_after.filter(|_| !is_rerouted) {
        let expected = "none, without the routing shortest_path and `faults.down`";
        return Err(InputError::new("faults.reroute_after", delay, expected));
    }
    if routing.is_by_flow() && reroute_after.is_none() {
        match routing.build(topology) {
            Ok(routing) => return Ok(Paths::PerFlow { routing, selection: scenario.selection.build(topology) }),
            // Paths that change priorities are no table.
            Err(_) if routing.works_on(topology) => {}
            Err(error) => return Err(error.within("routing")),
        }
    }
    let tables = scenario.open_loop.fabric_tables(&scenario.topology, topology);
    let fabric = FabricOf { tables: Some(&tables), topology, outages, reroute_after };
    let prepared = PreparedRouting::new(routing, fabric)?;
    match scenario.port_choice.as_ref().filter(|choice| choice.start.get().is_some()) {
        Some(choice) => prepared.by_caller(topology, &choice.start).map(Paths::PerPacket),
        None => Ok(Paths::PerPacket(prepared)),
    }
}

/// Rejects a class of the caller beside a routing whose choice it cannot replace.
///
/// # Errors
/// Names `routing`, or `observe.waits`, which repeats the run: a class may answer otherwise then.
pub(crate) fn check_port_choice(scenario: &Scenario) -> Result<(), InputError> {
    if scenario.port_choice.is_none() {
        return Ok(());
    }
    let is_once = scenario.observe.as_ref().is_none_or(|observe| !observe.waits);
    InputError::unless(is_once, "observe.waits", true, "false beside port_choice: it repeats the run")?;
    check_replaced(scenario.routing)
}

/// Rejects a controller that the routing does not ask, and what it asks one for that moves no flows.
///
/// # Errors
/// With the routing.
pub(crate) fn check_controller(scenario: &Scenario) -> Result<(), InputError> {
    let Some(controller) = &scenario.controller else { return Ok(()) };
    let (is_elastic, name) = (matches!(scenario.routing, RoutingKind::ElasticTree(_)), scenario.routing.name());
    let is_used = is_elastic || scenario.routing == RoutingKind::Controller;
    let expected = "routing = \"controller\" or \"elastic_tree\" beside it";
    InputError::unless(is_used, "controller", format!("given with routing = \"{name}\""), expected)?;
    let of_flows = [("flow_min", controller.flow_min > 0.0), ("change_max", controller.change_max.is_some())];
    let stated = of_flows.into_iter().find(|&(_, is_stated)| is_elastic && is_stated);
    let expected = format!("none: {name} chooses links, not flows");
    stated.map_or(Ok(()), |(key, _)| Err(InputError::new(format!("controller.{key}"), "given", expected)))
}

/// Rejects a depth of output queues that nothing asks for.
///
/// # Errors
/// Names the key and the depth.
pub(crate) fn check_output_queue(scenario: &Scenario) -> Result<(), InputError> {
    let (queue, default) = (scenario.switch.output_queue, SwitchParams::default().output_queue);
    let by_tables = scenario.routing == RoutingKind::ConditionalTables
        && scenario.open_loop.tables.conditional.trigger != Trigger::Pause;
    let is_used =
        scenario.switch.model == SwitchModel::InputQueued || scenario.routing == RoutingKind::Conditional || by_tables;
    let expected = format!(
        "{default}, the default: nothing here is input_queued or goes by conditional rules that ask for queues, so \
         that it cannot take effect"
    );
    InputError::unless(is_used || queue == default, "switch.output_queue", queue, expected)
}

/// Warnings before a run: of deadlocks, of packets that are overtaken and then taken for lost, and of a single path
/// where the transport chooses among several.
pub(crate) fn warnings(scenario: &Scenario, topology: &Topology) -> Vec<String> {
    let topology = topology.by_port();
    let saturation = saturation_warning(scenario.routing, "routing", topology);
    let single_path = single_path_warning(scenario, topology);
    let warnings = [deadlock_warning(scenario, topology), reordering_warning(scenario), saturation, single_path];
    warnings.into_iter().flatten().collect()
}

/// The warning that entropy values are on a routing with one path for a pair of hosts.
fn single_path_warning(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let name = scenario.routing.name();
    let paths = match scenario.routing {
        RoutingKind::Flowlet(_) => "keeps one path while packets follow closely",
        RoutingKind::Ecmp => return None,
        other if other.keeps_order() || other.is_by_flow() => "takes one path for a pair of hosts",
        _ => return None,
    };
    (topology.switches() > 2 && scenario.each_transport().any(|own| own.chooses_paths())).then(|| {
        format!(
            "routing: {name} {paths}, whatever transport.uet.load_balancing chooses; \"ecmp\" hashes entropy values to \
             paths"
        )
    })
}

/// Rejects entropy values that a scenario asks for beside a routing that hashes none.
///
/// # Errors
/// Names the routing.
pub(crate) fn check_load_balancing(scenario: &Scenario) -> Result<(), InputError> {
    let choice = scenario.each_transport().find_map(|own| own.path_choice_key());
    // The default of Ultra Ethernet beside up/down is warned of.
    let of_uet = || scenario.each_transport().filter(|_| scenario.routing != RoutingKind::UpDown).find_map(uet_choice);
    let Some(key) = choice.or_else(of_uet) else { return Ok(()) };
    let expected = format!("\"ecmp\" beside {key}: no other routing hashes entropy values to paths");
    InputError::unless(scenario.routing == RoutingKind::Ecmp, "routing", scenario.routing.name(), expected)
}

/// The key by which a transport of Ultra Ethernet chooses other entropy values than by default.
fn uet_choice(own: &Transport) -> Option<&'static str> {
    fn default_of<T: Default>(_: &T) -> T {
        T::default()
    }
    let uet = own.uet()?;
    let default = default_of(uet);
    let schemes = uet.load_balancer.is_some() || uet.load_balancing != default.load_balancing;
    match (schemes, uet.entropies != default.entropies) {
        (true, _) => Some("transport.uet.load_balancing"),
        (false, true) => Some("transport.uet.entropies"),
        (false, false) => None,
    }
}

/// The warning that no global port can be marked as saturated: of so few ports none can hold so much more than their
/// mean.
pub(crate) fn saturation_warning(kind: RoutingKind, key: &str, topology: &Topology) -> Option<String> {
    struct SaturationOf;
    impl Visit for SaturationOf {
        type Output = Option<Saturation>;

        fn visit<R: PacketRouting>(self, routing: R) -> Option<Saturation> {
            routing.saturation()
        }
    }
    if !matches!(kind, RoutingKind::Piggyback(_)) {
        return None;
    }
    let percent = kind.with(topology, SaturationOf).ok()??.mean_percent;
    let ports = (0..topology.switches()).map(|at| global_ports(topology, SwitchId::from_index(at))).max()?;
    (100 * ports as u32 <= percent).then(|| {
        let name = kind.name();
        format!(
            "{key}: {name} marks a global port that holds more than {percent} % of the mean of its switch's global \
             ports, which none of {ports} can: it decides as ugal_local does; with three \
             or more (topology.dragonfly.h) it does not"
        )
    })
}

fn global_ports(topology: &Topology, at: SwitchId) -> usize {
    topology.out_channels(at).iter().filter(|&&id| topology.channel(id).class == LinkClass::Global).count()
}

/// Rejects notifications of congestion, which no switch of a run sends.
///
/// # Errors
/// Names the trigger.
pub(crate) fn check_trigger(scenario: &Scenario) -> Result<(), InputError> {
    let by_tables = scenario.routing == RoutingKind::ConditionalTables;
    let trigger = scenario.open_loop.tables.conditional.trigger;
    let is_known = !by_tables || !matches!(trigger, Trigger::Notification(_));
    let expected = "full, pause or congestion: switches of a run send no notifications of 802.1Qau, those of curve do";
    InputError::unless(is_known, "open_loop.tables.conditional.trigger", "notification", expected)
}

/// Rejects triggers of conditional rules that no deployed switch acts on: what is deployed is what is simulated.
///
/// # Errors
/// Names the trigger.
pub(crate) fn check_planned_trigger(scenario: &Scenario) -> Result<(), InputError> {
    let trigger = match scenario.open_loop.tables.conditional.trigger {
        Trigger::Congestion { .. } => "congestion",
        Trigger::Notification(_) => "notification",
        Trigger::Full | Trigger::Pause => return Ok(()),
    };
    let is_minimal = scenario.control.rules == RuleKind::Minimal;
    let expected = "full or pause beside control.rules = \"conditional\": deployed switches know pauses alone";
    InputError::unless(is_minimal, "open_loop.tables.conditional.trigger", trigger, expected)
}

/// The warning that a routing which goes by pauses met none, though packets waited in switches.
pub(crate) fn pause_warning(kind: RoutingKind, ports: &[PortRow]) -> Option<String> {
    let between = || ports.iter().filter(|port| port.class != LinkClass::Host);
    let is_stopped = |port: &PortRow| !port.rx_pause_duration.is_zero() || !port.credit_wait_duration.is_zero();
    let queue_max = between().map(|port| port.occupancy_bytes_max).max()?;
    (queue_max >= QUEUE_MIN && !between().any(is_stopped)).then(|| {
        format!(
            "routing: {} leaves minimal paths only where ports are paused, and no port between switches was, with up \
             to {queue_max} B in a queue: every packet went minimally; a smaller switch.buffer pauses sooner, and with \
             open_loop.tables.conditional.trigger = \"full\" a full queue of the own switch does as well",
            kind.name()
        )
    })
}

/// Less in a queue is no congestion that a routing could avoid [B].
const QUEUE_MIN: u64 = 64 << 10;

fn reordering_warning(scenario: &Scenario) -> Option<String> {
    let Overtaken { key, value, remedy } = scenario.each_transport().find_map(|transport| transport.overtaken())?;
    let name = match scenario.routing.keeps_order() {
        true if host_ports::is_per_packet(scenario) => "host_ports.choice = \"per_packet\"",
        true => return None,
        false => scenario.routing.name(),
    };
    let cause = format!("{value} takes packets for lost that others overtake, as {name} lets them");
    Some(format!("{key}: {cause}; {remedy} does not"))
}

/// Fills in how transports find losses, where the scenario leaves it open, by whether nothing can be lost and packets
/// overtake each other: then what is late has not been lost.
pub(crate) fn choose_loss_detection(scenario: &mut Scenario) {
    let may_discard = scenario.flow_control.watchdog().is_some();
    let is_lossless =
        !matches!(scenario.flow_control, FlowControl::None {}) && scenario.faults.is_default() && !may_discard;
    let is_by_packet = !scenario.routing.keeps_order() || host_ports::is_per_packet(scenario);
    let of_jobs = scenario.job.iter_mut().filter_map(|job| job.transport.as_mut());
    for transport in std::iter::once(&mut scenario.transport).chain(of_jobs) {
        let is_overtaken = is_by_packet || transport.chooses_paths();
        transport.complete(is_lossless && is_overtaken);
    }
}

/// The warning that a lossless run may deadlock, from the proof of its routing. Up/down is free on every fabric, and a
/// routing that decides for every packet is rejected without the priorities that it needs.
fn deadlock_warning(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let (kind, name) = (scenario.routing, scenario.routing.name());
    if !kind.is_by_flow() || matches!(scenario.flow_control, FlowControl::None {}) || kind == RoutingKind::UpDown {
        return None;
    }
    let safe = "up_down cannot";
    let is_small = topology.switches().saturating_mul(topology.switches()) <= FOLLOWED_MAX;
    if !is_small && kind == RoutingKind::ShortestPath {
        return Some(format!("routing: {name} may deadlock on this fabric, which is too large for a proof; {safe}"));
    }
    let legality = kind.legality(topology).ok()?;
    if !is_small && !legality.is_implicit() {
        return None;
    }
    match prove(topology, &legality).verdict {
        Verdict::Free => None,
        Verdict::Cycle(hops) => {
            let from = |channel| topology.name(topology.channel(channel).from.node);
            let cycle: Vec<&str> = hops.iter().map(|hop| from(hop.channel)).collect();
            let cycle = cycle.join(", ");
            Some(format!("routing: {name} may deadlock on this fabric: {cycle} may wait for each other; {safe}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_sim::params::LossDetection;

    use super::*;

    #[test]
    fn the_default_of_every_family_is_free_of_deadlock_on_one_priority() {
        for kind in TopologyKind::examples() {
            let topology = kind.generate().unwrap();
            let routing = of(&kind);
            let legality = routing.legality(&topology).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            assert!(routing.build(&topology).is_ok(), "{kind:?}");
            assert!(prove(&topology, &legality.with_priorities(1)).is_free(), "{kind:?}");
        }
    }

    fn warning(text: &str) -> Option<String> {
        let scenario = Scenario::parse(text, "x.toml", &[]).unwrap();
        deadlock_warning(&scenario, &scenario.topology.generate().unwrap())
    }

    #[test]
    fn only_what_may_deadlock_without_loss_is_warned_of() {
        let ring = "topology.torus.dimensions = [{ size = 5 }]\n";
        let shortest = format!("routing = \"shortest_path\"\n{ring}");
        let message = warning(&shortest).unwrap();
        assert!(message.starts_with("routing: shortest_path may deadlock on this fabric: switch"), "{message}");
        assert_eq!(warning(ring), None);
        assert_eq!(warning(&format!("{shortest}[flow_control.none]\n[transport.tcp]\n")), None);
        assert_eq!(warning("routing = \"shortest_path\"\n[topology.fat_tree]"), None);
    }

    #[test]
    fn go_back_n_where_packets_overtake_each_other_is_warned_of() {
        let warning_of = |routing: &str, reliability: &str| {
            let text = format!(
                "routing = \"{routing}\"\n[topology.fat_tree]\n[transport.roce]\nreliability = \"{reliability}\"\n"
            );
            reordering_warning(&Scenario::parse(&text, "x.toml", &[]).unwrap())
        };
        let warning = warning_of("spray", "go_back_n").unwrap();
        assert!(warning.starts_with("transport.roce.reliability: go_back_n takes packets for lost"), "{warning}");
        assert_eq!(warning_of("spray", "selective_repeat"), None);
        assert_eq!([warning_of("ecmp", "go_back_n"), warning_of("up_down", "go_back_n")], [None, None]);
    }

    #[test]
    fn entropy_values_of_roce_need_a_routing_that_hashes_them() {
        let of = |routing: &str| {
            let text = format!(
                "routing = \"{routing}\"\n[topology.fat_tree]\n[transport.roce]\nreliability = \
                 \"selective_repeat\"\nload_balancing = \"reps\"\n"
            );
            check_load_balancing(&Scenario::parse(&text, "x.toml", &[]).unwrap())
        };
        assert_eq!(of("ecmp"), Ok(()));
        for routing in ["up_down", "spray", "adaptive_up"] {
            let error = of(routing).unwrap_err();
            assert!(error.expected.starts_with("\"ecmp\" beside transport.roce.load_balancing"), "{error}");
        }
    }

    #[test]
    fn losses_are_found_by_the_timer_alone_where_packets_are_late_and_never_lost() {
        let by = |routing: &str, more: &str| {
            let text = format!("routing = \"{routing}\"\n[topology.fat_tree]\n[transport.roce]\n{more}");
            let overrides = [("transport.roce.reliability".to_owned(), "\"selective_repeat\"".to_owned())];
            let scenario = Scenario::parse(&text, "x.toml", &overrides).unwrap();
            scenario.transport.roce().unwrap().loss_detection.unwrap()
        };
        assert_eq!(by("ecmp", ""), LossDetection::Time, "packets keep their order");
        assert_eq!(by("spray", ""), LossDetection::Timeout);
        assert_eq!(by("ecmp", "load_balancing = \"mixed\"\n"), LossDetection::Timeout);
        assert_eq!(by("spray", "loss_detection = \"time\"\n"), LossDetection::Time);
        assert_eq!(by("spray", "[flow_control.none]\n"), LossDetection::Time, "switches drop packets");
        let damaged = "[[faults.degraded]]\nlink = \"leaf0 - core0\"\nbit_error_rate = 1e-9\n";
        assert_eq!(by("spray", damaged), LossDetection::Time, "a cable damages packets");
    }

    #[test]
    fn a_key_comes_before_the_default() {
        let hyperx = "topology.hyperx.dimensions = [{ size = 3 }, { size = 3 }]\n";
        let routing = |text: &str| Scenario::parse(text, "x.toml", &[]).unwrap().routing;
        assert_eq!(routing(hyperx), RoutingKind::DimensionOrder);
        assert_eq!(routing(&format!("routing = \"up_down\"\n{hyperx}")), RoutingKind::UpDown);
        let resolved = Scenario::parse(hyperx, "x.toml", &[]).unwrap().resolved();
        assert!(resolved.contains("routing = \"dimension_order\""), "{resolved}");
    }
}
