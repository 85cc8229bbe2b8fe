//! Flow tables of one of several equal fabrics, around the links that are down there.

use std::collections::BTreeSet;

use etherweave_forwarding::{AddressPlan, Conditions, FlowTable, FlowTables, MinimalRouting, Strategy};
use etherweave_primitives::{ChannelId, InputError};
use etherweave_routing::tables::{ChannelScheme, Trigger};
use etherweave_topology::{Topology, TopologyKind, reverse};

use super::{conditional, fixed};
use crate::{parts::control::ControlSpec, parts::control::RuleKind, text::conversions};

/// Parts of which the tables of every plane are made.
pub(super) struct PlaneSpec<'a> {
    pub kind: &'a TopologyKind,
    /// Fabric in which each port of a host is a host of its own.
    pub fabric: &'a Topology,
    pub spec: &'a ControlSpec,
    pub strategy: Strategy,
    pub widths: &'a [u32],
    /// How the routing uses virtual channels, where that is known.
    pub ranks: Option<ChannelScheme>,
    pub is_lossless: bool,
}

pub(super) struct PlaneTables {
    /// Links that are down there, by one channel each.
    pub down: Vec<ChannelId>,
    /// Tables by switch of the plane.
    pub tables: Vec<FlowTable>,
    /// The virtual channel that each rule of each switch writes.
    pub written: Vec<Vec<Option<u8>>>,
    /// Problem of its rules under pauses, where it is lossless and no proof of its family is about them.
    pub deadlock: Option<String>,
}

impl PlaneTables {
    /// The tables around links that are down, and the addresses.
    ///
    /// # Errors
    /// When a parameter does not suit the fabric.
    pub fn of(plane: &PlaneSpec<'_>, down: Vec<ChannelId>) -> Result<(PlaneTables, AddressPlan), InputError> {
        let &PlaneSpec { kind, fabric, spec, strategy, widths, ranks, is_lossless } = plane;
        let error = conversions::deployment;
        let flow_tables = match spec.rules {
            RuleKind::Minimal => FlowTables::new(kind, fabric, strategy, Conditions::None).map_err(error)?,
            RuleKind::Conditional => conditional(spec, strategy, kind)?.tables(kind, fabric).map_err(error)?.0,
        };
        let flow_tables = flow_tables.with_widths(widths).map_err(error)?.around(kind, &down);
        let writing = ranks.filter(|ranks| ranks.channels() > 1 && !spec.priorities.is_empty());
        let (mut tables, mut written) = (Vec::with_capacity(fabric.switches()), Vec::new());
        let each = flow_tables.each(|at, table| {
            let rules = table.rules().iter();
            written.push(rules.map(|rule| fixed(flow_tables.channel_rule(writing?, at, table, rule)?)).collect());
            tables.push(table.clone());
            Ok(())
        });
        each.map_err(error)?;
        let is_followed = is_lossless && !(flow_tables.is_regular() && ranks.is_some());
        let deadlock = is_followed.then(|| deadlock(&flow_tables, writing.unwrap_or(ChannelScheme::One), fabric));
        let plan = flow_tables.plan().clone();
        Ok((PlaneTables { down, tables, written, deadlock: deadlock.flatten() }, plan))
    }

    /// Both directions of links that are down.
    pub fn both_down(&self) -> BTreeSet<ChannelId> {
        self.down.iter().flat_map(|&channel| [channel, reverse(channel)]).collect()
    }

    /// Whether the link of a channel is down.
    pub fn is_down(&self, channel: ChannelId) -> bool {
        self.down.contains(&channel) || self.down.contains(&reverse(channel))
    }

    /// The routing that the tables follow.
    pub fn routing<'a>(&self, kind: &'a TopologyKind, fabric: &'a Topology) -> MinimalRouting<'a> {
        match self.down.as_slice() {
            [] => MinimalRouting::of(kind, fabric).expect("the tables were made of it"),
            down => {
                let both: Vec<ChannelId> = down.iter().flat_map(|&channel| [channel, reverse(channel)]).collect();
                MinimalRouting::around(kind, fabric, &both)
            }
        }
    }
}

/// How pauses may deadlock tables on some channels; none where they cannot.
fn deadlock(tables: &FlowTables<'_>, ranks: ChannelScheme, fabric: &Topology) -> Option<String> {
    match tables.compile(ranks, Trigger::default()) {
        Ok(compiled) => compiled.deadlock(fabric),
        Err(error) => Some(format!("not proved: {}", error.reason())),
    }
}
