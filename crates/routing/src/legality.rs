//! A complete routing: with hosts at both ends and priorities on its hops.

use etherweave_primitives::{ChannelId, HostId, InputError, Priority, SwitchId};
use etherweave_topology::{Topology, reverse};

use crate::{ChannelHop, Routing, plan::FRESH, plan::RoutingPlan};

/// Legal hops, where each packet has which priority. Made by [`RoutingKind::legality`](crate::RoutingKind::legality).
///
/// Regular families compute hops from coordinates, with memory linear in channels; other fabrics look them up in
/// tables that grow with switches × switches with hosts.
pub struct Legality {
    pub(crate) plan: Box<dyn RoutingPlan>,
    pub(crate) priorities: Vec<Priority>,
    hosts: Vec<HostPlace>,
}

struct HostPlace {
    switch: SwitchId,
    last: ChannelId,
}

impl Legality {
    /// # Errors
    /// When the plan needs more priorities than IEEE 802.1Q has.
    pub(crate) fn new(topology: &Topology, plan: Box<dyn RoutingPlan>) -> Result<Legality, InputError> {
        let stages = plan.stages();
        if stages as usize > Priority::COUNT {
            let mistake = format!("the routing needs {stages} priorities on this fabric");
            return Err(InputError::new("", mistake, format!("at most {}, as 802.1Q has", Priority::COUNT)));
        }
        let place = |host| HostPlace { switch: topology.switch_of(host), last: reverse(topology.host_channel(host)) };
        let hosts = (0..topology.hosts()).map(HostId::from_index).map(place).collect();
        Ok(Legality { plan, priorities: (0..stages as u8).map(Priority::new).collect(), hosts })
    }

    /// The same hops with at most `count` priorities, at least 1: stages beyond share the last. For studies of
    /// priorities; how a switch would then distinguish stages (by a header field of its own) is left open.
    #[must_use]
    pub fn with_priorities(mut self, count: u8) -> Legality {
        let last = count.clamp(1, Priority::COUNT as u8) - 1;
        self.priorities.iter_mut().for_each(|priority| *priority = (*priority).min(Priority::new(last)));
        self
    }

    /// The most channels between switches that a packet may take.
    pub fn hops_max(&self) -> u32 {
        self.plan.hops_max()
    }

    /// Whether hops are computed for sets of destinations, so that a proof takes time linear in channels.
    pub fn is_implicit(&self) -> bool {
        self.plan.everything().is_some()
    }

    /// The switches with hosts, ascending.
    pub(crate) fn access(&self) -> Vec<SwitchId> {
        let mut access: Vec<SwitchId> = self.hosts.iter().map(|place| place.switch).collect();
        access.sort_unstable();
        access.dedup();
        access
    }

    /// Returns the phase that a packet's arrival means to the plan.
    fn phase(&self, arrival: Option<ChannelHop>) -> u32 {
        let adjacency = |hop: ChannelHop| Some((self.plan.adjacencies().adjacency_of(hop.channel)?, hop.stage));
        arrival.and_then(adjacency).map_or(FRESH, |(adjacency, stage)| self.plan.phase(adjacency, stage))
    }
}

impl Routing for Legality {
    fn candidates(&self, at: SwitchId, dst: HostId, out: &mut Vec<ChannelId>) {
        let mut hops = Vec::new();
        self.hops(at, None, dst, &mut hops);
        hops.dedup_by_key(|hop| hop.channel);
        out.extend(hops.iter().map(|hop| hop.channel));
    }

    fn priorities(&self) -> u8 {
        self.priorities.iter().max().map_or(1, |most| most.get() + 1)
    }

    fn hops(&self, at: SwitchId, arrival: Option<ChannelHop>, dst: HostId, out: &mut Vec<ChannelHop>) {
        let place = &self.hosts[dst.index()];
        if place.switch == at {
            // The host takes its packets from every priority: they keep theirs.
            out.push(ChannelHop { channel: place.last, ..arrival.unwrap_or(ChannelHop::first(place.last)) });
            return;
        }
        let mut steps = Vec::new();
        self.plan.steps(at, self.phase(arrival), crate::plan::DestinationSet::Switch(place.switch), &mut steps);
        // Channels to one next hop side by side, as one of them may be offered in several stages.
        steps.sort_by_key(|step| (step.adjacency, step.stage));
        for step in steps {
            let (priority, stage) = (self.priorities[step.stage as usize], step.stage);
            let channels = self.plan.adjacencies().channels(step.adjacency).iter();
            out.extend(channels.map(|&channel| ChannelHop { channel, priority, stage }));
        }
    }
}
