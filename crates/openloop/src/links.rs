//! Links: how long a packet takes on each, how far its ends are apart, and what follows for buffers and crossbars.

use std::collections::BTreeMap;

use etherweave_primitives::{BitRate, ChannelId, Duration, InputError, InputErrors, SwitchId};
use etherweave_topology::{Channel, LinkClass, Node, Topology};

use crate::params::{FlowControl, PauseThresholds, SwitchParams, Ticks};

/// More kinds have no number.
const KINDS_MAX: usize = u16::MAX as usize;

/// Rates and delays that single links have. All others have those of [`SwitchParams`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatedLinks {
    /// Rate of each channel [bit/s]; empty: none is stated.
    pub rates: Vec<Option<BitRate>>,
    /// Delay of each channel, rounded to nanoseconds here; empty: none is stated.
    pub delays: Vec<Option<Duration>>,
}

impl StatedLinks {
    /// Time of a packet on a channel.
    pub fn packet_time(&self, id: ChannelId, params: &SwitchParams) -> Duration {
        self.rate(id, params).serialization_time(params.packet)
    }

    /// The rate of a channel.
    fn rate(&self, id: ChannelId, params: &SwitchParams) -> BitRate {
        self.rates.get(id.index()).copied().flatten().unwrap_or(params.rate)
    }

    /// The stated delay of a channel [ticks], at least one between switches.
    fn delay(&self, id: ChannelId, class: LinkClass) -> Option<u64> {
        let stated = self.delays.get(id.index()).copied().flatten()?;
        let delay_min = u64::from(class != LinkClass::Host);
        Some(((stated.as_ps() + 500) / 1_000).max(delay_min))
    }

    /// Rate of each channel, as a share of the fastest; empty where all are alike.
    pub fn shares(&self, topology: &Topology, params: &SwitchParams) -> Vec<f64> {
        let rate = |id| self.rate(ChannelId::from_index(id), params).as_bps();
        let rates: Vec<u64> = (0..topology.channels().len()).map(rate).collect();
        let fastest = rates.iter().copied().max().unwrap_or(1);
        if rates.iter().all(|&rate| rate == fastest) {
            return Vec::new();
        }
        rates.iter().map(|&rate| rate as f64 / fastest as f64).collect()
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

/// The kinds of a fabric, and which one each port is of.
pub(crate) struct LinkKinds {
    pub kinds: Vec<LinkKind>,
    /// Kind of each channel from a switch.
    pub numbers: Vec<u16>,
}

impl LinkKinds {
    /// # Errors
    /// Links on which a packet takes no whole number of nanoseconds, lengths out of range, and buffers without room for
    /// what comes after a pause.
    pub fn of(
        topology: &Topology,
        params: &SwitchParams,
        ticks: &Ticks,
        stated: &StatedLinks,
    ) -> Result<LinkKinds, InputErrors> {
        let fabric = StatedFabric { topology, params, ticks, stated };
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
                let found = format!("links of more than {KINDS_MAX} different rates and lengths");
                return Err(InputError::new("topology", found, "fewer").into());
            }
        }
        Ok(LinkKinds { kinds, numbers })
    }
}

/// Checks the links of a fabric.
///
/// # Errors
/// Checks as for a run, with keys from `open_loop`.
pub fn check_links(topology: &Topology, params: &SwitchParams, stated: &StatedLinks) -> Result<(), InputErrors> {
    LinkKinds::of(topology, params, &params.ticks()?, stated).map(|_| ())
}

struct StatedFabric<'a> {
    topology: &'a Topology,
    params: &'a SwitchParams,
    ticks: &'a Ticks,
    stated: &'a StatedLinks,
}

impl StatedFabric<'_> {
    /// A packet on a channel [ticks].
    fn packet(&self, id: ChannelId) -> Result<u32, InputError> {
        let rate = self.stated.rate(id, self.params);
        if rate == self.params.rate {
            return Ok(self.ticks.packet);
        }
        let Channel { from, to, .. } = self.topology.channel(id);
        let packet = self.params.packet_on(rate).map_err(|error| error.within("switch"));
        packet.map_err(|error| {
            let [from, to] = [from, to].map(|end| self.topology.name(end.node));
            InputError { found: format!("{} at {rate}, from {from} to {to}", error.found), ..error }
        })
    }

    /// A packet through the crossbar of a switch, which is `speed_up` times as fast as its fastest link [ticks].
    fn crossing(&self, at: SwitchId) -> Result<u32, InputError> {
        let packets = self.topology.out_channels(at).iter().map(|&id| self.packet(id));
        let fastest = packets.collect::<Result<Vec<u32>, InputError>>()?.into_iter().min();
        Ok(fastest.unwrap_or(self.ticks.packet).div_ceil(self.params.speed_up.max(1)))
    }

    fn kind(&self, id: ChannelId, crossing: u32) -> Result<LinkKind, InputError> {
        let (params, ticks) = (self.params, self.ticks);
        let class = match self.topology.channel(id).to.node {
            Node::Host(_) => LinkClass::Host,
            Node::Switch(_) => self.topology.channel(id).class,
        };
        let packet = self.packet(id)?;
        let stated = self.stated.delay(id, class);
        if let Some(delay) = stated.filter(|&delay| delay > Ticks::DELAY_MAX) {
            let name = self.topology.name(self.topology.channel(id).from.node);
            let found = format!("a cable at {name} that delays by {delay} ns");
            return Err(InputError::new("topology", found, format!("at most {} ns", Ticks::DELAY_MAX)));
        }
        let delay = stated.map_or(ticks.delay(class), |delay| delay as u32);
        let injection = stated.map_or(ticks.injection, |delay| delay as u32);
        let full = (params.output_queue * packet).max(ticks.crossbar);
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

    fn stated(topology: &Topology) -> StatedLinks {
        let channels = topology.channels();
        StatedLinks {
            rates: channels.iter().map(|channel| Some(channel.rate)).collect(),
            delays: channels.iter().map(|channel| Some(channel.length.propagation_time())).collect(),
        }
    }

    #[test]
    fn a_link_has_its_own_rate_and_delay() {
        let (topology, params) = (bridge(), SwitchParams::default());
        let kinds = LinkKinds::of(&topology, &params, &params.ticks().unwrap(), &stated(&topology)).unwrap().kinds;
        // 1,000 B take 80 ns at 100 Gb/s and 200 ns at 40; the crossbar is twice as fast as the fastest link.
        let of = |class| kinds.iter().find(|kind| kind.class == class).unwrap();
        let (host, between) = (of(LinkClass::Host), of(LinkClass::Local));
        assert_eq!((host.packet, host.crossing, host.delay, host.injection), (80, 40, 15, 15));
        assert_eq!((between.packet, between.crossing, between.delay), (200, 40, 10_000));
        assert_eq!(stated(&topology).shares(&topology, &params)[..], [1.0, 1.0, 1.0, 1.0, 0.4, 0.4]);
    }

    #[test]
    fn without_rates_and_delays_of_their_own_links_are_alike() {
        let (topology, params, stated) = (bridge(), SwitchParams::default(), StatedLinks::default());
        let kinds = LinkKinds::of(&topology, &params, &params.ticks().unwrap(), &stated).unwrap().kinds;
        assert!(kinds.iter().all(|kind| (kind.packet, kind.crossing, kind.delay) == (200, 100, 40)), "{kinds:?}");
        assert!(stated.shares(&topology, &params).is_empty());
    }

    #[test]
    fn a_packet_of_no_whole_nanoseconds_is_reported_with_its_link() {
        let topology = bridge();
        let mut odd = stated(&topology);
        odd.rates[4] = Some(BitRate::from_bps(56_000_000_000));
        let error = check_links(&topology, &SwitchParams::default(), &odd).unwrap_err().to_string();
        let expected = "switch.packet: 142858ps at 56Gb/s, from s0 to s1; expected a whole number of nanoseconds";
        assert_eq!(error, expected);
    }
}
