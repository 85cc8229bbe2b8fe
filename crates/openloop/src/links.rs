//! Links: how long a packet takes on each, how far its ends are apart, and what follows for buffers and crossbars.

use std::collections::BTreeMap;

use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, HostId, InputError, InputErrors, SwitchId};
use etherweave_topology::{Channel, LinkClass, Node, Topology, reverse};

use crate::params::{DELAY_MAX, FlowControl, PauseThresholds, SwitchParams};

/// More kinds have no number.
const KINDS_MAX: usize = u16::MAX as usize;

/// Rate and delay of each channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// Rates [bit/s].
    pub rates: Vec<BitRate>,
    /// Delays, rounded to nanoseconds here.
    pub delays: Vec<Duration>,
}

impl Links {
    /// The rates and cables of a topology.
    pub fn of(topology: &Topology) -> Links {
        let channels = || topology.channels().iter();
        let delays = channels().map(|channel| channel.length.propagation_time()).collect();
        Links { rates: channels().map(|channel| channel.rate).collect(), delays }
    }

    /// One rate for all links, and a delay for each class, in the order of [`LinkClass::ALL`].
    pub fn alike(topology: &Topology, rate: BitRate, delays: [Duration; 3]) -> Links {
        let delay = |channel: &Channel| delays[channel.class as usize];
        let delays = topology.channels().iter().map(delay).collect();
        Links { rates: vec![rate; topology.channels().len()], delays }
    }

    /// The same links with another delay from switches to hosts.
    pub fn with_ejection(mut self, topology: &Topology, delay: Duration) -> Links {
        for host in (0..topology.hosts()).map(HostId::from_index) {
            self.delays[reverse(topology.host_channel(host)).index()] = delay;
        }
        self
    }

    /// Time of a packet on a channel.
    pub fn packet_time(&self, id: ChannelId, packet: Bytes) -> Duration {
        self.rates[id.index()].serialization_time(packet)
    }

    /// The delay of a channel [ticks], at least one between switches.
    fn delay(&self, topology: &Topology, id: ChannelId) -> Result<u32, InputError> {
        let channel = topology.channel(id);
        let delay_min = u64::from(channel.class != LinkClass::Host);
        let delay = ((self.delays[id.index()].as_ps() + 500) / 1_000).max(delay_min);
        if delay <= DELAY_MAX {
            return Ok(delay as u32);
        }
        let mistake = format!("a cable at {} that delays by {delay} ns", topology.name(channel.from.node));
        Err(InputError::new("topology", mistake, format!("at most {DELAY_MAX} ns")))
    }

    /// Rate of each channel, as a share of the fastest; empty where all are alike.
    pub fn shares(&self) -> Vec<f64> {
        let rates = || self.rates.iter().map(|rate| rate.as_bps());
        let fastest = rates().max().unwrap_or(1);
        if rates().all(|rate| rate == fastest) {
            return Vec::new();
        }
        rates().map(|rate| rate as f64 / fastest as f64).collect()
    }
}

/// Common values of a switch's ports on links of a kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LinkKind {
    pub class: LinkClass,
    /// A packet on the link [ticks].
    pub packet: u32,
    /// A packet through the crossbar of the switch, at the least [ticks].
    pub crossing: u32,
    /// Delay to the far end [ticks].
    pub delay: u32,
    /// Delay from the far end, where that is a host [ticks].
    pub injection: u32,
    /// How long a full output queue takes to send, and no less than what is in the crossbar [ticks]. As packets are
    /// equally long and none overtakes, a queue holds `output_queue` packets exactly while its link is taken for
    /// longer than this.
    pub full: u32,
    /// When the far end is paused; absent where credits are used, and for hosts, which take all that comes.
    pub thresholds: Option<PauseThresholds>,
}

pub(crate) struct LinkKinds {
    pub kinds: Vec<LinkKind>,
    /// Kind of each channel from a switch.
    pub numbers: Vec<u16>,
}

impl LinkKinds {
    /// # Errors
    /// Links on which a packet takes no whole number of nanoseconds, lengths out of range, and buffers without room for
    /// what comes after a pause.
    pub fn of(topology: &Topology, params: &SwitchParams, links: &Links) -> Result<LinkKinds, InputErrors> {
        let fabric = LinkedFabric { topology, params, links, crossbar: params.crossbar()? };
        let mut known = BTreeMap::new();
        let (mut kinds, mut numbers) = (Vec::new(), vec![0; topology.channels().len()]);
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            let crossing = fabric.crossing(at)?;
            for &id in topology.out_channels(at) {
                let kind = fabric.kind(id, crossing)?;
                numbers[id.index()] = *known.entry(kind).or_insert_with(|| {
                    kinds.push(kind);
                    (kinds.len() - 1) as u16
                });
            }
            if kinds.len() > KINDS_MAX {
                let mistake = format!("links of more than {KINDS_MAX} different rates and lengths");
                return Err(InputError::new("topology", mistake, "fewer").into());
            }
        }
        Ok(LinkKinds { kinds, numbers })
    }
}

/// Checks the links of a fabric.
///
/// # Errors
/// Checks as for a run, with keys from `open_loop`.
pub fn check_links(topology: &Topology, params: &SwitchParams, links: &Links) -> Result<(), InputErrors> {
    LinkKinds::of(topology, params, links).map(|_| ())
}

struct LinkedFabric<'a> {
    topology: &'a Topology,
    params: &'a SwitchParams,
    links: &'a Links,
    /// Delay of a packet's head through a crossbar [ticks].
    crossbar: u32,
}

impl LinkedFabric<'_> {
    /// A packet on a channel [ticks].
    fn packet(&self, id: ChannelId) -> Result<u32, InputError> {
        let rate = self.links.rates[id.index()];
        self.params.packet_on(rate).map_err(|error| {
            let Channel { from, to, .. } = self.topology.channel(id);
            let [from, to] = [from, to].map(|end| self.topology.name(end.node));
            InputError { found: format!("{} at {rate}, from {from} to {to}", error.found), ..error }
        })
    }

    /// A packet through the crossbar of a switch, which is `speed_up` times as fast as its fastest link [ticks].
    fn crossing(&self, at: SwitchId) -> Result<u32, InputError> {
        let packets = self.topology.out_channels(at).iter().map(|&id| self.packet(id));
        let fastest = packets.collect::<Result<Vec<u32>, InputError>>()?.into_iter().min();
        Ok(fastest.unwrap_or(1).div_ceil(self.params.speed_up.max(1)))
    }

    fn kind(&self, id: ChannelId, crossing: u32) -> Result<LinkKind, InputError> {
        let (topology, params) = (self.topology, self.params);
        let class = match topology.channel(id).to.node {
            Node::Host(_) => LinkClass::Host,
            Node::Switch(_) => topology.channel(id).class,
        };
        let (packet, delay) = (self.packet(id)?, self.links.delay(topology, id)?);
        let injection = self.links.delay(topology, reverse(id))?;
        let full = (params.output_queue * packet).max(self.crossbar);
        let has_pauses = params.flow_control == FlowControl::Pauses && class != LinkClass::Host;
        let thresholds = has_pauses.then(|| PauseThresholds::of(params, class, delay, packet)).transpose()?;
        Ok(LinkKind { class, packet, crossing, delay, injection, full, thresholds })
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Custom, Family};

    use super::*;

    /// Hosts at 100 Gb/s below two switches that a link of 40 Gb/s and 2 km joins.
    fn bridge() -> Topology {
        let links = "h0,s0,100Gb/s,3m\nh1,s1,100Gb/s,3m\ns0,s1,40Gb/s,2000m\n".to_owned();
        Custom { links, ..Custom::default() }.generate().unwrap()
    }

    #[test]
    fn a_link_has_the_rate_and_the_cable_of_the_topology() {
        let (topology, params) = (bridge(), SwitchParams::default());
        let links = Links::of(&topology).with_ejection(&topology, Duration::ZERO);
        let kinds = LinkKinds::of(&topology, &params, &links).unwrap().kinds;
        // 1,000 B take 80 ns at 100 Gb/s and 200 ns at 40; the crossbar is twice as fast as the fastest link.
        let of = |class| kinds.iter().find(|kind| kind.class == class).unwrap();
        let (host, between) = (of(LinkClass::Host), of(LinkClass::Local));
        assert_eq!((host.packet, host.crossing, host.delay, host.injection), (80, 40, 0, 15));
        assert_eq!((between.packet, between.crossing, between.delay), (200, 40, 10_000));
        assert_eq!(links.shares()[..], [1.0, 1.0, 1.0, 1.0, 0.4, 0.4]);
        assert!(Links::alike(&topology, BitRate::from_gbps(40), [Duration::ZERO; 3]).shares().is_empty());
    }

    #[test]
    fn a_packet_of_no_whole_nanoseconds_is_reported_with_its_link() {
        let topology = bridge();
        let mut odd = Links::of(&topology);
        odd.rates[4] = BitRate::from_bps(56_000_000_000);
        let error = check_links(&topology, &SwitchParams::default(), &odd).unwrap_err().to_string();
        let expected = "packet: 142858ps at 56Gb/s, from s0 to s1; expected a whole number of nanoseconds";
        assert_eq!(error, expected);
    }
}
