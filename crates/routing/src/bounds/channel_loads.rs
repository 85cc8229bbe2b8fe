//! Loads of channels, and what follows from the largest.

use etherweave_primitives::{ChannelId, HostId, Time};
use etherweave_topology::{Channel, LinkClass, Node, Topology};
use etherweave_workload::Destinations;

use super::{demand::Demand, first_legs::FirstLegs, walk::FlowWalk};
use crate::{Oblivious, WalkTarget};
use etherweave_primitives::InputError;

/// More switches with hosts take minutes and gigabytes: time grows with the square of their number.
const HOMES_MAX: usize = 4_096;
/// Flows from home to home for which there is memory at a time: 64 MiB.
const FLOWS_MAX: usize = 1 << 23;
/// Loads that differ by less, of the largest, are alike: they are sums of as many rounded numbers as there are hosts.
const ROUNDING: f64 = 1e-9;

/// Expected load of every channel of a fabric, if every host that sends sends all that its link takes.
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelLoads<'a> {
    topology: &'a Topology,
    loads: Vec<f64>,
    /// Load of the hosts that send, as a share of the rate of all hosts' links.
    senders: f64,
}

/// Bound on the load of a pattern that a fabric accepts.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    /// Rate at which each host that sends can send until a channel is full, as a share of its link, 0..=1.
    pub load: f64,
    /// Rate at which data then arrives at hosts, as a share of the links of all hosts, those included that send
    /// nothing.
    pub load_accepted: f64,
    /// The channel that is full first; of several alike the first.
    pub channel: ChannelId,
    /// Its name: "group0.switch3 port 5 to group8.switch0".
    pub channel_name: String,
}

/// Loads of the channels of a class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassLoad {
    /// Mean of all channels.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

impl<'a> ChannelLoads<'a> {
    /// Computes the loads under the destinations that hosts have at `now`.
    ///
    /// `rates` are those of channels, in any unit; empty: all are alike.
    ///
    /// Takes a walk over the fabric for every switch with hosts, and another for every switch and all that its packets
    /// visit first: less than a second for 2,064 switches of a dragonfly.
    ///
    /// # Errors
    /// When more than 4,096 switches have hosts.
    pub fn new(
        topology: &'a Topology,
        rates: &[f64],
        routing: &dyn Oblivious,
        destinations: &Destinations,
        now: Time,
    ) -> Result<ChannelLoads<'a>, InputError> {
        let rate = |channel: ChannelId| rates.get(channel.index()).copied().unwrap_or(1.0);
        let of_hosts =
            (0..topology.hosts()).map(|host| rate(topology.host_channel(HostId::from_index(host)))).collect();
        let demand = Demand::new(topology, of_hosts, destinations, now);
        if demand.homes.len() > HOMES_MAX {
            let mistake = format!("one of {} switches with hosts", demand.homes.len());
            let expected = format!("{HOMES_MAX} at most, for expected loads");
            return Err(InputError::new("topology", mistake, expected));
        }
        let mut loads = vec![0.0; topology.channels().len()];
        let mut walk = FlowWalk::new(topology, routing);
        let first = FirstLegs::new(&demand, routing, &mut walk, &mut loads);
        let received = demand.for_each_home(FLOWS_MAX, &mut |home, flows| {
            first.start(flows, &mut walk);
            walk.run(WalkTarget::Switch(home.switch), 1.0, &mut loads, &mut |_, _| {});
        });
        for (host, (&sent, received)) in demand.sent.iter().zip(received).enumerate() {
            let channel = topology.host_channel(HostId::from_index(host));
            loads[channel.index()] = sent;
            loads[etherweave_topology::reverse(channel).index()] = received;
        }
        (0..).map(ChannelId::new).zip(&mut loads).for_each(|(channel, load)| *load /= rate(channel));
        let senders = demand.sent.iter().sum::<f64>() / demand.rates.iter().sum::<f64>();
        Ok(ChannelLoads { topology, loads, senders })
    }

    /// The load of a channel.
    pub fn of(&self, channel: ChannelId) -> f64 {
        self.loads[channel.index()]
    }

    /// Loads of the channels of a class, those to and from hosts alike; absent where there are none.
    pub fn of_class(&self, class: LinkClass) -> Option<ClassLoad> {
        let of_class = |(channel, _): &(&Channel, &f64)| channel.class == class;
        let loads = || self.topology.channels().iter().zip(&self.loads).filter(of_class).map(|(_, &load)| load);
        let count = loads().count();
        (count > 0).then(|| ClassLoad { mean: loads().sum::<f64>() / count as f64, max: loads().fold(0.0, f64::max) })
    }

    /// Returns the bound that follows from the most loaded channel; absent when nobody sends.
    pub fn bound(&self) -> Option<Bound> {
        let most = self.loads.iter().copied().fold(0.0, f64::max);
        let first = self.loads.iter().position(|&load| load >= most * (1.0 - ROUNDING))?;
        let channel = ChannelId::from_index(first);
        // The link of a host that sends has load 1.
        (most > 0.0).then(|| Bound {
            load: 1.0 / most,
            load_accepted: self.senders / most,
            channel,
            channel_name: name(self.topology, channel),
        })
    }
}

fn name(topology: &Topology, channel: ChannelId) -> String {
    let Channel { from, to, .. } = topology.channel(channel);
    match from.node {
        Node::Host(host) => format!("{} to {}", topology.host_name(host), topology.name(to.node)),
        Node::Switch(at) => {
            format!("{} port {} to {}", topology.switch_name(at), from.port.index(), topology.name(to.node))
        }
    }
}
