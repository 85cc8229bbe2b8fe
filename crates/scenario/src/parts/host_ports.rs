//! Hosts with several ports: how they get them, and what chooses one.

use etherweave_primitives::{Duration, InputError, InputErrors, params};
use etherweave_sim::params::{PortChoice, PortParams};
use etherweave_topology::Topology;

use crate::Scenario;

params! {
    /// Ports of hosts, beyond one each. Hosts of `topology.custom` have as many as links are listed for them.
    pub struct HostPortsSpec {
        /// Number of equal fabrics, 1..=8, each with a port of every host. Default 1.
        pub planes: u32 = 1,
        /// Neighbouring switches on each of which a host has a port, 1..=8: hosts at the same place on them become one.
        /// On trees, hosts on several leaves; on "rail_optimised" with as many as rails, servers with all their NICs.
        /// Default 1.
        pub leaves: u32 = 1,
        /// Choice of the port for a flow, a message, a packet. Default: "per_packet" over several planes with
        /// `transport.roce.reliability = "selective_repeat"`, else "round_robin".
        #[serde(skip_serializing_if = "Option::is_none")]
        pub choice: Option<PortChoice> = None,
        /// Delay after a link on the path by a port fails or returns until its host knows it, and sends by another or
        /// by this one again. Default "100ms", as bonds of Linux often have it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub detection: Option<Duration> = None,
    }
}

impl HostPortsSpec {
    /// Whether every key has its default.
    pub(crate) fn is_default(&self) -> bool {
        *self == HostPortsSpec::default()
    }

    pub(crate) fn params(&self) -> PortParams {
        let default = PortParams::default();
        PortParams {
            choice: self.choice.unwrap_or(default.choice),
            detection: self.detection.unwrap_or(default.detection),
        }
    }

    pub(crate) fn attach(&self, fabric: Topology) -> Result<Topology, InputErrors> {
        let attached = fabric.on_leaves(self.leaves).and_then(|fabric| fabric.in_planes(self.planes));
        attached.map_err(|error| error.within("host_ports").into())
    }
}

pub(crate) fn generate(scenario: &Scenario) -> Result<Topology, InputErrors> {
    let fabric = scenario.topology.generate().map_err(|error| error.within("topology"))?;
    scenario.host_ports.attach(fabric)
}

/// Fills in what chooses ports, where the scenario says that there are several and leaves the choice open.
pub(crate) fn complete(scenario: &mut Scenario) {
    let may_overtake = scenario.each_transport().all(|transport| transport.places_any_order());
    let spec = &mut scenario.host_ports;
    if spec.planes > 1 || spec.leaves > 1 {
        let is_per_packet = spec.planes > 1 && may_overtake;
        let choice = if is_per_packet { PortChoice::PerPacket } else { PortChoice::RoundRobin };
        spec.choice.get_or_insert(choice);
        spec.detection.get_or_insert(PortParams::default().detection);
    }
}

/// Whether packets of a connection take several ports, so that they overtake each other.
pub(crate) fn is_per_packet(scenario: &Scenario) -> bool {
    scenario.host_ports.choice.is_some_and(PortChoice::is_per_packet)
}

/// Rejects a choice among single ports.
///
/// # Errors
/// Names the key.
pub(crate) fn check(scenario: &Scenario, topology: &Topology) -> Result<(), InputErrors> {
    let HostPortsSpec { choice, detection, .. } = &scenario.host_ports;
    let mut errors = InputErrors::default();
    let is_used = |is_given: bool| !is_given || !topology.is_single_homed();
    let expected = "hosts with several ports beside it: host_ports.planes, host_ports.leaves, or several links of a \
                    host in topology.custom";
    let name = choice.map_or("", PortChoice::name);
    errors.check(InputError::unless(is_used(choice.is_some()), "host_ports.choice", name, expected));
    let time = detection.unwrap_or_default();
    errors.check(InputError::unless(is_used(detection.is_some()), "host_ports.detection", time, expected));
    if topology.planes() > 1 {
        let after = scenario.faults.reroute_after;
        let expected = "none over several planes: hosts send by another port after host_ports.detection";
        let delay = after.unwrap_or_default();
        errors.check(InputError::unless(after.is_none(), "faults.reroute_after", delay, expected));
    }
    errors.into_result()
}
