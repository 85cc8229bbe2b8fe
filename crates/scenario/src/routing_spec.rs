//! A routing as the key `routing` names it: one that gives every flow a path, or one that decides for every packet.

use std::borrow::Cow;
use std::sync::LazyLock;

use etherweave_primitives::InputError;
use etherweave_routing::{FabricOf, Outage, PacketRoutingKind, RoutingKind};
use etherweave_sim::{Paths, PreparedRouting};
use etherweave_topology::Topology;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};

use crate::Scenario;

/// A routing by its name. A name that both kinds have is that of the paths per flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum RoutingSpec {
    /// Legal paths, of which a hash picks one for every flow.
    PerFlow(RoutingKind),
    /// A decision for every packet at every switch.
    PerPacket(PacketRoutingKind),
}

/// All names, once each.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = RoutingKind::ALL.iter().map(|kind| kind.name()).collect();
    let others = PacketRoutingKind::ALL.iter().map(|kind| kind.name()).filter(|name| !names.contains(name));
    let others: Vec<_> = others.collect();
    names.extend(others);
    names
});

impl Default for RoutingSpec {
    fn default() -> Self {
        RoutingSpec::PerFlow(RoutingKind::default())
    }
}

impl RoutingSpec {
    /// The routing of a name.
    pub(crate) fn named(name: &str) -> Option<RoutingSpec> {
        let per_flow = RoutingKind::ALL.iter().find(|kind| kind.name() == name).copied().map(RoutingSpec::PerFlow);
        let packet = || PacketRoutingKind::ALL.iter().find(|kind| kind.name() == name).copied();
        per_flow.or_else(|| packet().map(RoutingSpec::PerPacket))
    }
}

/// The paths of a run. Shortest paths that are computed anew around failures are a decision for every packet.
///
/// # Errors
/// When the routing does not work on the fabric or not in a run, or a key cannot take effect.
pub(crate) fn paths(scenario: &Scenario, topology: &Topology, outages: &[Outage]) -> Result<Paths, InputError> {
    let reroute_after = scenario.faults.reroute_after;
    let routing = match (scenario.routing, reroute_after) {
        (RoutingSpec::PerFlow(RoutingKind::ShortestPath), Some(_)) if !outages.is_empty() => {
            PacketRoutingKind::ShortestPath
        }
        (_, Some(delay)) => {
            let expected = "none, without the routing shortest_path and `faults.down`";
            return Err(InputError::new("faults.reroute_after", delay, expected));
        }
        (RoutingSpec::PerFlow(routing), None) => {
            let routing = routing.build(topology).map_err(|error| error.within("routing"))?;
            return Ok(Paths::PerFlow { routing, selection: scenario.selection.build(topology) });
        }
        (RoutingSpec::PerPacket(routing), None) => routing,
    };
    let tables = scenario.open_loop.fabric_tables(&scenario.topology, topology);
    let fabric = FabricOf { tables: Some(&tables), topology, outages, reroute_after };
    PreparedRouting::new(routing, fabric).map(Paths::PerPacket)
}

impl<'de> Deserialize<'de> for RoutingSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let former = (name == "dragonfly_detour").then_some(RoutingSpec::PerFlow(RoutingKind::DragonflyNonMinimal));
        RoutingSpec::named(&name).or(former).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

impl JsonSchema for RoutingSpec {
    fn schema_name() -> Cow<'static, str> {
        "RoutingSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (per_flow, per_packet) =
            (generator.subschema_for::<RoutingKind>(), generator.subschema_for::<PacketRoutingKind>());
        json_schema!({ "anyOf": [per_flow, per_packet] })
    }
}
