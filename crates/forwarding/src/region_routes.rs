//! The routes of one switch: the regions that it treats alike, and its ports for each.

use etherweave_primitives::{Port, SwitchId};
use etherweave_topology::Topology;

use crate::table::{Interner, PortSets, SetId};
use crate::{AddressPlan, MinimalRouting, Region, SwitchView, Ternary};

/// The routing of one switch, region by region, before any compaction.
pub struct RegionRoutes<'a> {
    /// The switch.
    pub at: SwitchId,
    /// The address plan.
    pub plan: &'a AddressPlan,
    /// Disjoint regions that hold all hosts, by address.
    pub entries: Vec<RegionRoute<'a>>,
    /// Their actions.
    pub sets: PortSets,
    /// Whether of every depth at most one region had to be descended into, so that an entry's last field decides
    /// once those before it have not.
    pub is_single_path: bool,
}

/// A region whose hosts a switch treats alike.
#[derive(Clone, Copy)]
pub struct RegionRoute<'a> {
    /// The region.
    pub region: Region<'a>,
    /// Its addresses.
    pub cube: Ternary,
    /// Its ports.
    pub action: SetId,
    /// Whether it is a host of this switch.
    pub is_own: bool,
}

impl<'a> RegionRoutes<'a> {
    /// Queries the routing about ever smaller regions.
    pub fn of(minimal: &MinimalRouting<'_>, plan: &'a AddressPlan, at: SwitchId) -> RegionRoutes<'a> {
        RegionRoutes::seen(&minimal.view(at), minimal.topology(), plan, at)
    }

    pub(crate) fn seen(
        view: &SwitchView<'_>,
        topology: &Topology,
        plan: &'a AddressPlan,
        at: SwitchId,
    ) -> RegionRoutes<'a> {
        let mut walk = RegionWalk {
            topology,
            at,
            view,
            interner: Interner::default(),
            ports: Vec::new(),
            entries: Vec::new(),
            descents: vec![0; plan.fields().len() + 1],
        };
        walk.descend(plan.root());
        let RegionWalk { interner, entries, descents, .. } = walk;
        let is_single_path = descents.iter().all(|&descents| descents <= 1);
        RegionRoutes { at, plan, entries, sets: interner.sets, is_single_path }
    }
}

struct RegionWalk<'a, 'v> {
    topology: &'v Topology,
    at: SwitchId,
    view: &'v SwitchView<'v>,
    interner: Interner,
    ports: Vec<Port>,
    entries: Vec<RegionRoute<'a>>,
    /// Regions descended into, by depth.
    descents: Vec<u32>,
}

impl<'a> RegionWalk<'a, '_> {
    fn descend(&mut self, region: Region<'a>) {
        self.descents[region.depth()] += 1;
        for child in region.children() {
            if self.view.ports(&child, &mut self.ports) {
                let action = self.interner.number(&self.ports);
                let is_own = child.host().is_some_and(|host| self.topology.switch_of(host) == self.at);
                self.entries.push(RegionRoute { region: child, cube: child.cube(), action, is_own });
            } else {
                self.descend(child);
            }
        }
    }
}
