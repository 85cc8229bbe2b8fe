//! Traffic offered to a fabric: what is sent, over which switches and links.

use etherweave_primitives::Duration;
use etherweave_topology::{Topology, TopologyKind};

use crate::outage::Outage;
use crate::params::{ControllerParams, SwitchParams};
use crate::routing::tables::TableParams;
use crate::run_length::RunParams;
use crate::{Arrival, Pattern};

/// What is sent, over which switches.
pub struct OfferedTraffic<'a> {
    /// The fabric.
    pub fabric: FabricOf<'a>,
    /// Its switches.
    pub switch: SwitchParams,
    /// Whom packets are for.
    pub pattern: Pattern,
    /// When hosts make packets.
    pub arrival: Arrival,
    /// The controller, where the routing has one.
    pub controller: ControllerParams,
    /// How long and how much.
    pub run: RunParams,
}

/// A fabric, its failing links, and the parameters of its flow tables.
#[derive(Clone, Copy)]
pub struct FabricOf<'a> {
    /// What is connected to what.
    pub topology: &'a Topology,
    /// What it was generated from, and how its tables are made; without it no tables.
    pub tables: Option<(&'a TopologyKind, &'a TableParams)>,
    /// Links that fail.
    pub outages: &'a [Outage],
    /// How long after a link has failed or returned tables are computed anew [whole ns]; absent, never.
    pub reroute_after: Option<Duration>,
}

impl<'a> From<&'a Topology> for FabricOf<'a> {
    fn from(topology: &'a Topology) -> FabricOf<'a> {
        FabricOf { topology, tables: None, outages: &[], reroute_after: None }
    }
}
