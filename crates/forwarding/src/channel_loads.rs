//! Loads of channels by flow tables, without a run: of all traffic that hosts can send, the part that meets in one
//! channel.
//!
//! The *load* of a channel is what it would carry, as a share of what it can, if every host sent as much as its link
//! takes: γ of Dally and Towles, *Principles and Practices of Interconnection Networks*, 2004, section 3.3.1. The
//! fabric accepts at most 1/γ of the busiest channel. A rule with several ports gives each as much, as a fair hash of
//! many flows does.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, HostId, InputError, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology, reverse};

use crate::{AddressPlan, FlowTable, MinimalRouting, RegionRoutes, Rule, Sources, Strategy, Ternary};

/// Pairs of a host and a switch with hosts that are walked at most: a few seconds.
const PAIRS_MAX: u64 = 1 << 23;
/// Loads that differ by less, of the largest, are alike.
const ROUNDING: f64 = 1e-9;

/// Traffic that hosts send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadPattern {
    /// Every host to every other, all alike.
    Uniform,
    /// The hosts of every switch to those of the switch that is so many further, all alike; no host gets more than its
    /// link takes.
    Shift(usize),
}

/// The channel that is full first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BusiestChannel {
    /// Its load.
    pub load: f64,
    /// The first of several alike.
    pub channel: ChannelId,
    /// Traffic that hosts send then.
    pub pattern: LoadPattern,
}

/// The busiest channels of some tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Busiest {
    /// Under uniform traffic.
    pub uniform: BusiestChannel,
    /// Under the worst of uniform traffic and some shifts: by a power of two of switches, and by a group.
    pub worst: BusiestChannel,
}

/// The flow tables of a fabric, followed by what hosts send.
pub struct TableLoads<'a> {
    topology: &'a Topology,
    tables: Vec<FlowTable>,
    addresses: Vec<u64>,
    /// All address bits.
    word: u64,
    /// Switches with hosts in the order of addresses, with their hosts.
    homes: Vec<(SwitchId, Vec<HostId>)>,
    /// Whether any rule asks for the source.
    is_shared: bool,
}

/// So much from one source, or from all together where no rule asks for the source.
#[derive(Clone, Copy)]
struct SourceLoad {
    host: HostId,
    load: f64,
}

impl<'a> TableLoads<'a> {
    /// The tables of a strategy, with the width of each field of its plan [bits]; none: as narrow as possible.
    ///
    /// # Errors
    /// When the plan or the widths do not suit the fabric.
    pub fn of(minimal: &MinimalRouting<'a>, strategy: Strategy, widths: &[u32]) -> Result<TableLoads<'a>, InputError> {
        let topology = minimal.topology();
        let plan = strategy.address_plan(topology, widths)?;
        let mut sources = Sources::of(&plan);
        let table = |at| strategy.table(&RegionRoutes::of(minimal, &plan, at), &mut sources, topology);
        let tables = (0..topology.switches()).map(SwitchId::from_index).map(table).collect();
        Ok(TableLoads::with(topology, &plan, tables))
    }

    /// Any tables, one per switch.
    pub fn with(topology: &'a Topology, plan: &AddressPlan, tables: Vec<FlowTable>) -> TableLoads<'a> {
        let addresses: Vec<u64> = (0..plan.hosts()).map(|host| plan.address(HostId::from_index(host))).collect();
        let mut hosts: Vec<HostId> = (0..plan.hosts()).map(HostId::from_index).collect();
        hosts.sort_by_key(|host| (topology.coordinates(topology.switch_of(*host)), topology.switch_of(*host), *host));
        let home = |hosts: &[HostId]| (topology.switch_of(hosts[0]), hosts.to_vec());
        let homes = hosts.chunk_by(|a, b| topology.switch_of(*a) == topology.switch_of(*b)).map(home).collect();
        let is_shared = tables.iter().flat_map(FlowTable::rules).any(|rule| rule.src != Ternary::ANY);
        TableLoads { topology, tables, addresses, word: (1 << plan.bits()) - 1, homes, is_shared }
    }

    /// Why a fabric is not walked: it has too many pairs of a host and a switch with hosts, or one host.
    ///
    /// # Errors
    /// The reason.
    pub fn check(topology: &Topology) -> Result<(), String> {
        let switches = (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host)));
        let pairs = switches.collect::<BTreeSet<_>>().len() as u64 * topology.hosts() as u64;
        match topology.hosts() {
            0 | 1 => Err("one host sends nothing".to_owned()),
            _ if pairs > PAIRS_MAX => {
                Err(format!("{pairs} pairs of a host and a switch with hosts; expected at most {PAIRS_MAX}"))
            }
            _ => Ok(()),
        }
    }

    /// The channels that are full first, of a fabric that [`check`](Self::check) admits.
    ///
    /// # Panics
    /// On a fabric with one host.
    pub fn busiest(&self) -> Busiest {
        let uniform = self.busiest_under(LoadPattern::Uniform);
        let shifts = self.shifts().into_iter().map(|shift| self.busiest_under(LoadPattern::Shift(shift)));
        let worst = shifts.fold(uniform, |worst, next| if next.load > worst.load + ROUNDING { next } else { worst });
        Busiest { uniform, worst }
    }

    /// The channel that is full first under a pattern.
    fn busiest_under(&self, pattern: LoadPattern) -> BusiestChannel {
        let loads = self.loads(pattern);
        let load = loads.iter().copied().fold(0.0, f64::max);
        let first = loads.iter().position(|&other| other >= load * (1.0 - ROUNDING));
        BusiestChannel { load, channel: ChannelId::from_index(first.expect("hosts have links")), pattern }
    }

    /// Powers of two, and the switches of a group: those that share all coordinates but the last.
    fn shifts(&self) -> BTreeSet<usize> {
        let group = |at: SwitchId| {
            let place = self.topology.coordinates(at);
            &place[..place.len().saturating_sub(1)]
        };
        let first = group(self.homes[0].0);
        let of_group = self.homes.iter().take_while(|(at, _)| group(*at) == first).count();
        let powers = std::iter::successors(Some(1), |power| Some(2 * power));
        powers
            .take_while(|&power| power < self.homes.len())
            .chain([of_group % self.homes.len()])
            .filter(|&by| by > 0)
            .collect()
    }

    /// The loads of all channels, by id.
    pub fn loads(&self, pattern: LoadPattern) -> Vec<f64> {
        let mut loads = vec![0.0; self.topology.channels().len()];
        for (number, (to, hosts)) in self.homes.iter().enumerate() {
            let mut starts: Vec<(SwitchId, Vec<SourceLoad>)> = Vec::new();
            for (place, (from, sources)) in self.homes.iter().enumerate() {
                let each = self.sent(pattern, place, number);
                if each > 0.0 {
                    self.count_ends(sources, hosts, each, &mut loads);
                    starts.push((*from, self.sources(sources, each)));
                }
            }
            starts.retain(|(from, _)| from != to);
            if !starts.is_empty() {
                self.walk(*to, hosts, &starts, &mut loads);
            }
        }
        let rate = |channel: usize| self.topology.channels()[channel].rate.as_bps() as f64;
        let host_rate = rate(self.topology.host_channel(HostId::new(0)).index());
        loads.iter().enumerate().map(|(channel, load)| load * host_rate / rate(channel)).collect()
    }

    /// Returns the traffic that each host of a home sends to another home.
    fn sent(&self, pattern: LoadPattern, from: usize, to: usize) -> f64 {
        let [sources, targets] = [from, to].map(|home| self.homes[home].1.len() as f64);
        match pattern {
            LoadPattern::Uniform => {
                let others = if from == to { targets - 1.0 } else { targets };
                others / (self.addresses.len() as f64 - 1.0)
            }
            LoadPattern::Shift(by) if (from + by) % self.homes.len() == to => (targets / sources).min(1.0),
            LoadPattern::Shift(_) => 0.0,
        }
    }

    /// Adds what hosts send and get on their own links.
    fn count_ends(&self, sources: &[HostId], hosts: &[HostId], each: f64, loads: &mut [f64]) {
        sources.iter().for_each(|&host| loads[self.topology.host_channel(host).index()] += each);
        let received = each * sources.len() as f64 / hosts.len() as f64;
        hosts.iter().for_each(|&host| loads[reverse(self.topology.host_channel(host)).index()] += received);
    }

    fn sources(&self, hosts: &[HostId], each: f64) -> Vec<SourceLoad> {
        match self.is_shared {
            true => hosts.iter().map(|&host| SourceLoad { host, load: each }).collect(),
            false => vec![SourceLoad { host: HostId::new(0), load: each * hosts.len() as f64 }],
        }
    }

    /// Takes loads to the hosts of one switch; to single ones, where some rule is for a part of them.
    fn walk(&self, to: SwitchId, hosts: &[HostId], starts: &[(SwitchId, Vec<SourceLoad>)], loads: &mut [f64]) {
        let mut added = Vec::new();
        if self.walk_alike(to, hosts, starts, 1.0, &mut added) {
            added.iter().for_each(|&(channel, load): &(ChannelId, f64)| loads[channel.index()] += load);
            return;
        }
        for host in hosts {
            added.clear();
            let scale = 1.0 / hosts.len() as f64;
            let is_alike = self.walk_alike(to, std::slice::from_ref(host), starts, scale, &mut added);
            assert!(is_alike, "a single host's packets are treated alike");
            added.iter().for_each(|&(channel, load)| loads[channel.index()] += load);
        }
    }

    /// Collects what channels get; says false when rules differ for some of the hosts.
    fn walk_alike(
        &self,
        to: SwitchId,
        hosts: &[HostId],
        starts: &[(SwitchId, Vec<SourceLoad>)],
        scale: f64,
        added: &mut Vec<(ChannelId, f64)>,
    ) -> bool {
        let mut now = starts.to_vec();
        for _ in 0..=self.topology.switches() {
            let mut next: Vec<(SwitchId, SourceLoad)> = Vec::new();
            for (at, arrived) in &now {
                let Some(rules) = self.rules(*at, hosts) else { return false };
                for source in arrived {
                    self.leave(*at, &rules, *source, &mut |channel, load| {
                        added.push((channel, load * scale));
                        match self.topology.channel(channel).to.node {
                            Node::Switch(far) if far != to => next.push((far, SourceLoad { load, ..*source })),
                            Node::Switch(_) | Node::Host(_) => {}
                        }
                    });
                }
            }
            if next.is_empty() {
                return true;
            }
            now = gathered(next);
        }
        unreachable!("a path passes no switch twice")
    }

    /// The rules of a switch that meet packets to all of some hosts; none when they meet some only.
    fn rules(&self, at: SwitchId, hosts: &[HostId]) -> Option<Vec<&Rule>> {
        let meeting = |host: &HostId| {
            let address = self.addresses[host.index()] & self.word;
            self.tables[at.index()].rules().iter().filter(move |rule| rule.dst.matches(address))
        };
        // What follows a rule for all sources decides nothing.
        let is_last = |rule: &&Rule| rule.src == Ternary::ANY;
        let deciding = |host: &HostId| -> Vec<&Rule> {
            let mut rules: Vec<&Rule> = Vec::new();
            for rule in meeting(host) {
                rules.push(rule);
                if is_last(&rule) {
                    break;
                }
            }
            rules
        };
        let first = deciding(&hosts[0]);
        let is_alike = |host| std::iter::zip(&first, deciding(host)).all(|(a, b)| std::ptr::eq(*a, b));
        hosts[1..].iter().all(|host| deciding(host).len() == first.len() && is_alike(host)).then_some(first)
    }

    /// Sends a load on by the first rule that matches its source.
    fn leave(&self, at: SwitchId, rules: &[&Rule], source: SourceLoad, each: &mut dyn FnMut(ChannelId, f64)) {
        let address = self.addresses[source.host.index()];
        let rule = rules.iter().find(|rule| rule.src.matches(address)).expect("tables have a rule for every host");
        let ports = self.tables[at.index()].ports(rule);
        for &port in ports {
            let channel = self.topology.out_channel(at, port);
            debug_assert!(self.topology.channel(channel).class != LinkClass::Host, "a packet ends at its own switch");
            each(channel, source.load / ports.len() as f64);
        }
    }
}

fn gathered(mut arrived: Vec<(SwitchId, SourceLoad)>) -> Vec<(SwitchId, Vec<SourceLoad>)> {
    arrived.sort_by_key(|(at, source)| (*at, source.host));
    let mut gathered: Vec<(SwitchId, Vec<SourceLoad>)> = Vec::new();
    for (at, source) in arrived {
        if gathered.last().is_none_or(|(last, _)| *last != at) {
            gathered.push((at, Vec::new()));
        }
        let sources = &mut gathered.last_mut().expect("one was added").1;
        match sources.last_mut().filter(|last| last.host == source.host) {
            Some(last) => last.load += source.load,
            None => sources.push(source),
        }
    }
    gathered
}
