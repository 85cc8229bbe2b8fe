//! Traffic engineering by a central controller that knows everything, late.

use etherweave_primitives::{Duration, HostId, InputError, InputErrors, Time, params};
use etherweave_topology::LinkClass;
use etherweave_workload::Destinations;

use crate::per_packet::dragonfly::{ANYWHERE, VIA, by_link};
use crate::per_packet::{
    DragonflyPlan, InputChannel, KnownTraffic, LoadView, MeasuredGroups, NextHop, OutputChannel, PacketRouting,
    RoutedPacket,
};

/// A nanosecond [ps].
const NS: u64 = 1_000;
/// Sums of as many rounded shares as a group has hosts differ by less from what they stand for.
const ROUNDING: f64 = 1e-9;

/// Share of the links between two groups from which on a controller that measures finds them overloaded [percent]:
/// hosts that flow control holds back never send more than the links take.
const MEASURED_PERCENT: u32 = 90;

/// Packets between two groups go by a random group, as with [`ValiantGroup`](crate::ValiantGroup), while the controller
/// holds the links between the two for overloaded; all others go minimally.
///
/// Where the traffic is known beforehand, overloaded are the pairs of groups whose hosts wanted more than the links
/// between them take, `reaction` ago, by the pattern then active. That favours the controller over any that could be
/// built: it measures without error or interval, and its rules become active everywhere at one instant. Before
/// `reaction` it knows nothing. Otherwise it goes by what the simulation measured
/// ([`LoadView::sent_percent`]).
pub struct Controller {
    plan: DragonflyPlan,
    known: Option<LearntTraffic>,
}

params! {
    /// Parameters of a controller.
    pub struct ControllerParams {
        /// Time from a change of the traffic until the rules for it are active at all switches. Default "70ms".
        // Benito, Vallejo and Beivide, HiPC 2015, section V-A: above 70 ms in the best case.
        pub reaction: Duration = Duration::from_ms(70),
    }
}

params! {
    /// How a controller of a run measures: `[controller]`.
    ///
    /// It is like Hedera with `interval = "5s"`, `reaction = "10s"` and `flow_min = 0.1` (Al-Fares et al., NSDI 2010,
    /// section 4), which reads flow counters of switches every five seconds and places flows above a tenth of a link;
    /// with `reaction = "3ms"` and `sampling` like Planck (Rasley et al., SIGCOMM 2014), which samples packets; with
    /// `change_max` like MicroTE (Benson et al., CoNEXT 2011), which reroutes what it can predict.
    pub struct MeasurementParams {
        /// Longest time from a change of the traffic until the rules for it are active at all switches. Default "70ms".
        pub reaction: Duration = ControllerParams::default().reaction,
        /// Time between two readings of counters, a hundredth to a half of the reaction. Absent: a third of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub interval: Option<Duration> = None,
        /// Share of its link from which on what a host sends to another group in an interval is a large flow, which
        /// alone is rerouted, 0 to 1. Default 0: everything is.
        pub flow_min: f64 = 0.0,
        /// Packets of a host of which one is counted, 1 to 65,536. Default 1: all are.
        pub sampling: u32 = 1,
        /// Share by which what a group sends to another may differ from the interval before, 0 to 1: what changes more
        /// is not predictable and keeps its minimal paths. Absent: all is rerouted, whatever it was before.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub change_max: Option<f64> = None,
    }
}

impl MeasurementParams {
    /// Time between two readings of counters.
    pub fn period(&self) -> Duration {
        self.interval.unwrap_or(Duration::from_ps(self.reaction.as_ps() / 3))
    }

    /// Time from a reading until its rules are active.
    pub fn delay(&self) -> Duration {
        let left = |interval: Duration| Duration::from_ps(self.reaction.as_ps().saturating_sub(2 * interval.as_ps()));
        self.interval.map_or_else(|| self.period(), left)
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// Names the key, below `controller`.
    pub fn check(&self) -> Result<(), InputErrors> {
        let mut errors = InputErrors::default();
        if let Some(interval) = self.interval {
            let (at_least, at_most) = (self.reaction.as_ps() / INTERVALS_MAX, self.reaction.as_ps() / 2);
            let expected = format!("{} to {}", Duration::from_ps(at_least.max(1)), Duration::from_ps(at_most));
            let is_within = (at_least.max(1)..=at_most).contains(&interval.as_ps());
            errors.check(InputError::unless(is_within, "interval", interval, expected));
        }
        errors.check(InputError::unless((0.0..=1.0).contains(&self.flow_min), "flow_min", self.flow_min, "0 to 1"));
        if let Some(change) = self.change_max {
            errors.check(InputError::unless((0.0..=1.0).contains(&change), "change_max", change, "0 to 1"));
        }
        let is_sampling = (1..=SAMPLING_MAX).contains(&self.sampling);
        errors.check(InputError::unless(is_sampling, "sampling", self.sampling, format!("1 to {SAMPLING_MAX}")));
        errors.into_result()
    }
}

/// Intervals in a reaction.
const INTERVALS_MAX: u64 = 100;
/// Packets of which one is counted.
const SAMPLING_MAX: u32 = 1 << 16;

struct LearntTraffic {
    destinations: Destinations,
    reaction: Duration,
    /// Flags by phase, then by group of the source, then by group of the destination.
    is_overloaded: Vec<bool>,
}

impl Controller {
    /// A controller without knowledge of the traffic until [`PacketRouting::learn`].
    pub fn new(plan: DragonflyPlan) -> Controller {
        Controller { plan, known: None }
    }

    /// Whether the active rules send packets between two groups by another one.
    #[inline]
    fn leads_by_another(&self, port: u8, from: u16, to: u16, load: impl LoadView) -> bool {
        let Some(known) = &self.known else {
            let links = || self.plan.links_between(from, to);
            let is_overloaded = from != to && load.sent_percent(from, to) > MEASURED_PERCENT * links();
            return is_overloaded && load.is_large_flow(port, to);
        };
        let Some(then) = (load.now_ns() * NS).checked_sub(known.reaction.as_ps()) else { return false };
        let groups = self.plan.groups() as usize;
        let row = known.destinations.phase(Time::from_ps(then)) * groups + usize::from(from);
        known.is_overloaded[row * groups + usize::from(to)]
    }
}

impl PacketRouting for Controller {
    fn channels(&self) -> u8 {
        3
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        by_link(out, self.channels())
    }

    fn knows_traffic(&self) -> bool {
        true
    }

    fn measures(&self) -> Option<MeasuredGroups> {
        Some(MeasuredGroups::in_pairs(self.plan.groups(), self.plan.hosts_per_group()))
    }

    fn learn(&mut self, traffic: impl FnOnce() -> Result<KnownTraffic, InputError>) -> Result<(), InputError> {
        let KnownTraffic { destinations, load, reaction } = traffic()?;
        let phases = destinations.phases();
        let is_overloaded = phases.iter().flat_map(|phase| overloaded(&self.plan, phase, load)).collect();
        self.known = Some(LearntTraffic { destinations, reaction, is_overloaded });
        Ok(())
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        if at.class == LinkClass::Host {
            let [from, to] = [packet.src, packet.dst].map(|host| self.plan.group_of_host(host));
            packet.route_state[VIA] = ANYWHERE;
            if self.leads_by_another(at.port, from, to, load) {
                self.plan.draw_via(packet);
                packet.is_misrouted = true;
            }
        }
        self.plan.minimal(at, packet)
    }
}

/// Whether the hosts of each group want more of each other than the links between them take, when every host sends
/// `load` of its link.
fn overloaded(plan: &DragonflyPlan, destinations: &Destinations, load: f64) -> Vec<bool> {
    let (groups, size) = (plan.groups(), plan.hosts_per_group());
    let mut wanted = vec![0.0; (groups * groups) as usize];
    for src in 0..groups * size {
        let row = &mut wanted[(src / size * groups) as usize..][..groups as usize];
        destinations.shares(HostId::new(src), Time::ZERO, &mut |range, share| {
            let (first, end) = (range.first, range.first + range.hosts);
            for group in first / size..end.div_ceil(size) {
                let hosts = end.min((group + 1) * size) - first.max(group * size);
                row[group as usize] += load * share * f64::from(hosts);
            }
        });
    }
    let links = |pair: u32| plan.links_between((pair / groups) as u16, (pair % groups) as u16);
    let is_overloaded = |(pair, wanted)| pair / groups != pair % groups && wanted > f64::from(links(pair)) + ROUNDING;
    (0..).zip(wanted).map(is_overloaded).collect()
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family};
    use etherweave_workload::{HostGroups, Pattern, Share, pattern::Adversarial, pattern::GroupLocal};

    use super::*;
    use crate::per_packet::FabricPlan;

    /// Overloaded pairs of nine groups of eight hosts, with a link between any two, or of five with two.
    fn pairs(groups_wanted: u32, pattern: &Pattern, load: f64) -> Vec<[u32; 2]> {
        let dragonfly = Dragonfly { p: 2, a: 4, h: 2, groups: Some(groups_wanted), ..Dragonfly::default() };
        let topology = dragonfly.generate().unwrap();
        let plan = DragonflyPlan::of(&topology).unwrap();
        let destinations = pattern.plan(&HostGroups::new(&vec![8; groups_wanted as usize]).unwrap(), 1).unwrap();
        let pairs = (0..).zip(overloaded(&plan, &destinations, load)).filter(|&(_, is_overloaded)| is_overloaded);
        pairs.map(|(pair, _)| [pair / groups_wanted, pair % groups_wanted]).collect()
    }

    #[test]
    fn pairs_are_overloaded_that_want_more_than_their_links() {
        let next = |groups: u32| (0..groups).map(|group| [group, (group + 1) % groups]).collect::<Vec<_>>();
        let adversarial = Pattern::Adversarial(Adversarial::default());
        // Eight hosts want 8 · load of one link, or of two.
        assert_eq!(pairs(9, &adversarial, 0.125), [[0; 2]; 0]);
        assert_eq!(pairs(9, &adversarial, 0.126), next(9));
        assert_eq!(pairs(5, &adversarial, 0.25), [[0; 2]; 0]);
        assert_eq!(pairs(5, &adversarial, 0.251), next(5));
        // 64 packets of 71 hosts to each other group, whose ranges span groups: 64/71 of a link.
        assert_eq!(pairs(9, &Pattern::default(), 1.0), [[0; 2]; 0]);
        // A group has no link to itself, and needs none.
        assert_eq!(
            pairs(9, &Pattern::GroupLocal(GroupLocal { share: Share::ALL, ..GroupLocal::default() }), 1.0),
            [[0; 2]; 0]
        );
    }
}
