//! A fabric as routings are made for it.

use etherweave_primitives::{ChannelId, Duration, InputError};
use etherweave_topology::Topology;

use super::tables::CompiledTables;

/// A fabric, its failing links, and its flow tables.
#[derive(Clone, Copy)]
pub struct FabricOf<'a> {
    /// Topology of the fabric.
    pub topology: &'a Topology,
    /// Source of its flow tables; without it there are none.
    pub tables: Option<&'a dyn TableSource>,
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

/// Source of the flow tables of a fabric.
pub trait TableSource {
    /// Minimal tables.
    ///
    /// # Errors
    /// When the family has none, or they are too large.
    fn minimal(&self) -> Result<CompiledTables, InputError>;

    /// Tables with conditional rules.
    ///
    /// # Errors
    /// When the family has none, a parameter does not suit it, or they are too large.
    fn conditional(&self) -> Result<CompiledTables, InputError>;

    /// Whether [`minimal`](TableSource::minimal) tables exist, without making them.
    fn has_minimal(&self) -> bool;

    /// Whether [`conditional`](TableSource::conditional) tables exist, without making them.
    fn has_conditional(&self) -> bool;
}

/// A link that carries nothing for a time. What is on it when it fails, or sent over it until it returns, is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// One of the directions of the link.
    pub channel: ChannelId,
    /// When it fails [whole ns].
    pub from: Duration,
    /// When it returns [whole ns]; absent, not in this run.
    pub until: Option<Duration>,
}
