//! All that the rules of a fabric allow, for the proof that it cannot deadlock.

use etherweave_primitives::{ChannelId, HostId, Priority, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology, reverse};

use super::{CompiledTables, InputChannel, choices::MatchFields};
use crate::{ChannelHop, Routing, dependency_cycle};

/// Pairs of hosts and channels up to which rules are followed one by one.
const RULES_MAX: usize = 1 << 21;

impl CompiledTables {
    /// How pauses may deadlock a fabric by these tables, every rule of which is followed for every host; none where
    /// they cannot.
    pub fn deadlock(&self, topology: &Topology) -> Option<String> {
        if topology.hosts().saturating_mul(topology.channels().len()) > RULES_MAX {
            return Some("not proved: the fabric is too large to follow every rule".to_owned());
        }
        let cycle = dependency_cycle(topology, &LegalHops { topology, tables: self })?;
        let from = |&id: &ChannelId| topology.name(topology.channel(id).from.node);
        Some(format!("may deadlock: {} wait for each other", cycle.iter().map(from).collect::<Vec<_>>().join(", ")))
    }
}

/// The hops that packets may take by tables, whatever is inactive; the priority of a hop is its virtual channel.
pub struct LegalHops<'a> {
    /// The fabric.
    pub topology: &'a Topology,
    /// Its tables.
    pub tables: &'a CompiledTables,
}

impl LegalHops<'_> {
    /// Adds hops by any rule that matches, up to the first that is always active.
    fn by_rules(&self, at: InputChannel, dst: u32, out: &mut Vec<ChannelHop>) {
        let choices = &self.tables.choices;
        let seen = MatchFields { dst, in_port: at.port };
        for chain in self.tables.index.chains(at.switch, dst) {
            for choice in choices.chain(chain).filter(|choice| choice.matches(seen)) {
                out.extend(choices.targets(choice).iter().map(|target| {
                    let channel = self.topology.out_channels(SwitchId::new(at.switch))[usize::from(target.port)];
                    // Around links that are down paths may be longer: rules leave the last priority as it is.
                    let stage = target.rank.channel(at).min(self.tables.ranks.channels() - 1);
                    ChannelHop { channel, priority: Priority::new(stage), stage }
                }));
                if choice.watched.is_none() {
                    break;
                }
            }
        }
    }

    /// Where a packet stands that arrived by a channel.
    fn place(&self, channel: ChannelId, priority: u8) -> InputChannel {
        let channel = self.topology.channel(channel);
        let at = match channel.to.node {
            Node::Switch(at) => at.get(),
            Node::Host(_) => unreachable!("a packet at its host goes nowhere"),
        };
        InputChannel { switch: at, port: channel.to.port.get() as u8, channel: priority, class: channel.class }
    }

    fn injecting(&self, at: SwitchId) -> impl Iterator<Item = ChannelId> {
        let leaving = self.topology.out_channels(at).iter().copied();
        let to_hosts = leaving.filter(|&channel| self.topology.channel(channel).class == LinkClass::Host);
        to_hosts.map(reverse)
    }
}

impl Routing for LegalHops<'_> {
    fn candidates(&self, at: SwitchId, dst: HostId, out: &mut Vec<ChannelId>) {
        let mut hops = Vec::new();
        self.hops(at, None, dst, &mut hops);
        out.extend(hops.iter().map(|hop| hop.channel));
    }

    fn priorities(&self) -> u8 {
        self.tables.ranks.channels()
    }

    fn hops(&self, at: SwitchId, arrival: Option<ChannelHop>, dst: HostId, out: &mut Vec<ChannelHop>) {
        let address = self.tables.addresses[dst.index()];
        match arrival {
            Some(hop) => self.by_rules(self.place(hop.channel, hop.priority.get()), address, out),
            None => self.injecting(at).for_each(|channel| self.by_rules(self.place(channel, 0), address, out)),
        }
        out.sort_unstable();
        out.dedup();
    }
}
