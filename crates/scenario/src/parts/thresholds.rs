//! Thresholds of switches that trim, where the file leaves them open: the specification of Ultra Ethernet gives them in
//! bandwidth-delay products of a plane (1.0, section 3.6.17).

use etherweave_primitives::{BitRate, Bytes, Duration, HostId};
use etherweave_sim::params::{EcnMarking, MarkAt, Threshold, Transport};
use etherweave_topology::Topology;
use toml::Table;

use crate::{Scenario, parts::host_ports::generate};

/// Sets `switch.egress_threshold` and `switch.ecn` where the table `switch` has none, beside trimming and a transport
/// that states its base round trip. Other ports than those of hosts have theirs in proportion.
pub(crate) fn complete(switch: Option<&Table>, scenario: &mut Scenario) {
    let states = |key: &str| switch.is_some_and(|switch| switch.contains_key(key));
    let has_window = scenario.each_transport().any(|own| own.uet().is_some_and(|uet| uet.nscc.is_some()));
    let (trims, marks) = (!states("egress_threshold"), has_window && !states("ecn"));
    let Some(trip) = scenario.switch.trimming.and_then(|_| round_trip(scenario)).filter(|_| trims || marks) else {
        return;
    };
    let Some((rate, is_equal)) = generate(scenario).ok().and_then(|topology| rates(&topology)) else { return };
    let product = rate.bytes_in(trip);
    let last_hop = scenario.each_transport().all(|own| own.uet().is_none_or(|uet| uet.rccc.is_none()));
    let switch = &mut scenario.switch;
    if trims {
        switch.egress_threshold = Threshold::Static(product);
    }
    if marks {
        let [queue_min, queue_max] = [1, 4].map(|fifths| Bytes::new(product.get() * fifths / 5));
        switch.ecn = Some(EcnMarking { queue_min, queue_max, share_max: 1.0, mark_at: MarkAt::Dequeue, last_hop });
    }
    if !is_equal {
        switch.threshold_rate.get_or_insert(rate);
    }
}

/// Longest base round trip that a transport states.
fn round_trip(scenario: &Scenario) -> Option<Duration> {
    let of = |own: &Transport| {
        let uet = own.uet()?;
        let trips =
            [uet.nscc.as_ref().map(|own| own.base_round_trip), uet.rccc.as_ref().map(|own| own.base_round_trip)];
        trips.into_iter().flatten().max()
    };
    scenario.each_transport().filter_map(of).max()
}

/// Rate of the first port of a host, and whether all links have it.
fn rates(topology: &Topology) -> Option<(BitRate, bool)> {
    let rate = topology.channel(*topology.host_channels(HostId::new(0)).first()?).rate;
    Some((rate, topology.channels().iter().all(|channel| channel.rate == rate)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::overrides;

    fn parsed(more: &[(&str, &str)]) -> Scenario {
        let text = "routing = \"ecmp\"\n[topology.fat_tree]\nleaves = 2\nhosts_per_leaf = 2\ncores = 2\n\
                    [switch]\ntrimming = { priority = 6 }\n[flow_control.none]\n\
                    [transport.uet]\nnscc = { base_round_trip = \"6us\" }\n\
                    [[job]]\nname = \"incast\"\nworkload.incast = { sources = 2, message = \"1MB\" }\n";
        Scenario::parse(text, "x.toml", &overrides(more)).map_err(|error| error.to_string()).unwrap()
    }

    /// A product is 100 Gb/s times 6 us: 75 kB.
    #[test]
    fn thresholds_that_are_left_out_are_bandwidth_delay_products() {
        let switch = parsed(&[]).switch;
        let ecn = switch.ecn.unwrap();
        assert_eq!(switch.egress_threshold, Threshold::Static(Bytes::new(75_000)));
        assert_eq!((ecn.queue_min, ecn.queue_max), (Bytes::new(15_000), Bytes::new(60_000)));
        assert_eq!((ecn.share_max, ecn.last_hop, switch.threshold_rate), (1.0, true, None));
        let credits = parsed(&[("transport.uet.rccc", "{ base_round_trip = \"8us\" }")]).switch;
        assert_eq!(credits.egress_threshold, Threshold::Static(Bytes::new(100_000)), "the longer of two round trips");
        assert!(!credits.ecn.unwrap().last_hop);
    }

    #[test]
    fn other_rates_have_thresholds_in_proportion_and_stated_ones_stay() {
        let mixed = parsed(&[("topology.fat_tree.uplink_rate", "\"400Gb/s\"")]).switch;
        assert_eq!(mixed.threshold_rate, Some(BitRate::from_gbps(100)));
        let own = parsed(&[("switch.egress_threshold", "{ static = \"90kB\" }")]).switch;
        assert_eq!(own.egress_threshold, Threshold::Static(Bytes::new(90_000)));
        assert!(own.ecn.is_some());
        let marked = "{ queue_min = \"1kB\", queue_max = \"9kB\", share_max = 0.5 }";
        let own = parsed(&[("switch.ecn", marked)]).switch;
        assert_eq!(own.ecn.unwrap().queue_max, Bytes::new(9_000));
    }
}
