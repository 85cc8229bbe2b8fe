//! Bounds by hand, and runs that keep them.

use crate::fabric::Fabric;
use etherweave_openloop::Pattern;
use etherweave_primitives::{SwitchId, Time};
use etherweave_routing::bounds::{Bound, ChannelLoads, bound, host_groups};
use etherweave_routing::{DragonflyMinimal, DragonflyPlan, FabricPlan, PacketRouting, UgalLocal, ValiantGroup};
use etherweave_topology::{Dragonfly, Family, LinkClass, Topology};
use etherweave_workload::Share;
use etherweave_workload::pattern::{Alternating, HotSpot, Listed, Switching, Tornado};

/// Sums of rounded shares.
const ROUNDING: f64 = 1e-9;

fn loads<'a>(topology: &'a Topology, routing: &impl PacketRouting, pattern: &Pattern) -> ChannelLoads<'a> {
    let destinations = pattern.plan(&host_groups(topology).unwrap(), 1).unwrap();
    ChannelLoads::new(topology, &[], routing.oblivious().unwrap(), &destinations, Time::ZERO).unwrap()
}

fn minimal(fabric: &Fabric) -> DragonflyMinimal {
    DragonflyMinimal { plan: fabric.plan.clone() }
}

fn valiant(fabric: &Fabric) -> ValiantGroup {
    ValiantGroup { plan: fabric.plan.clone() }
}

fn check_class(loads: &ChannelLoads<'_>, class: LinkClass, mean: f64, max: f64) {
    let load = loads.of_class(class).unwrap();
    let is_close = |number: f64, expected: f64| (number / expected - 1.0).abs() < ROUNDING;
    assert!(is_close(load.mean, mean) && is_close(load.max, max), "{class:?}: {load:?}, expected {mean} and {max}");
}

fn check_bound(loads: &ChannelLoads<'_>, load: f64, load_accepted: f64, channel: &str) -> Bound {
    let bound = loads.bound().unwrap();
    let is_close = |number: f64, expected: f64| (number / expected - 1.0).abs() < ROUNDING;
    assert!(is_close(bound.load, load) && is_close(bound.load_accepted, load_accepted), "{bound:?}, expected {load}");
    assert_eq!(bound.channel_name, channel);
    bound
}

#[test]
fn uniform_traffic_on_minimal_paths_loads_all_channels_of_a_class_alike() {
    let check = |p: u32, a: u32, h: u32, channel: &str| {
        let topology = Dragonfly { p, a, h, ..Dragonfly::default() }.generate().unwrap();
        let loads =
            loads(&topology, &DragonflyMinimal { plan: DragonflyPlan::of(&topology).unwrap() }, &Pattern::default());
        let [p, a, h] = [p, a, h].map(f64::from);
        let others = p * a * (a * h + 1.0) - 1.0;
        // One link between every two groups takes what all p a hosts of one send to those of the other.
        let global = (p * a).powi(2) / others;
        // From a switch to another of its group: what its hosts send there, what they send to the h groups behind it,
        // and what comes from h groups for it.
        let local = (p * p + p * h * p * a + h * p * a * p) / others;
        check_class(&loads, LinkClass::Global, global, global);
        check_class(&loads, LinkClass::Local, local, local);
        check_class(&loads, LinkClass::Host, 1.0, 1.0);
        let bound = 1.0 / global.max(local).max(1.0);
        check_bound(&loads, bound, bound, channel);
    };
    // Balanced ones are held back by nothing but the hosts' links.
    check(2, 4, 2, "host0 to group0.switch0");
    check(3, 6, 3, "host0 to group0.switch0");
    // Four hosts on every global link: port 0 of group 0 leads to the last group, at its last port.
    check(4, 3, 1, "group0.switch0 port 6 to group3.switch2");
}

#[test]
fn uniform_traffic_by_random_groups_takes_global_links_nearly_twice() {
    // 9 groups of 8 hosts, 71 others for each. Between two groups v and t: 8/8 of what the hosts of v send go to t
    // first; in v are 8/8 of what each other group sends, of which 8/71 goes to t, from t itself 7/71.
    let fabric = Fabric::balanced(2);
    let global = 1.0 + 7.0 * 8.0 / 71.0 + 7.0 / 71.0;
    let loads = loads(&fabric.topology, &valiant(&fabric), &Pattern::default());
    check_class(&loads, LinkClass::Global, global, global);
    check_bound(&loads, 1.0 / global, 1.0 / global, "group0.switch0 port 5 to group8.switch3");
}

#[test]
fn adversarial_traffic_on_minimal_paths_shares_one_link() {
    // Port j of group i leads to group i - j - 1: from group 8 to group 0 by j = 7 at switch 3, one of its ports 5 and
    // 6 behind 2 to hosts and 3 to other switches. Back j is 0: of those that are full its link was made first.
    let fabric = Fabric::balanced(2);
    let by_group = fabric.adversarial();
    for pattern in [by_group, Pattern::Tornado(Tornado { extents: vec![] })] {
        let loads = loads(&fabric.topology, &minimal(&fabric), &pattern);
        // One of the 8 links of every group takes all that its 8 hosts send.
        check_class(&loads, LinkClass::Global, 1.0, 8.0);
        assert!((loads.bound().unwrap().load - 1.0 / 8.0).abs() < ROUNDING);
    }
    let loads = loads(&fabric.topology, &minimal(&fabric), &fabric.adversarial());
    check_bound(&loads, 1.0 / 8.0, 1.0 / 8.0, "group8.switch3 port 5 to group0.switch0");
}

#[test]
fn adversarial_traffic_by_random_groups_takes_global_links_twice_but_one_of_each_group() {
    for p in [2, 3, 4] {
        let fabric = Fabric::balanced(p);
        let loads = loads(&fabric.topology, &valiant(&fabric), &fabric.adversarial());
        // Groups but the source's.
        let others = f64::from(2 * p * p);
        // On average 2 links per packet and 1 when the intermediate group, one of g - 1, is the destination's. The link
        // to the next group has those alone; every other has p/h from its own group and p/h from the one before its
        // end.
        check_class(&loads, LinkClass::Global, 2.0 - 1.0 / others, 2.0);
        // Where the links of a group from i and to i + 1 are at different switches, what goes between them takes 1,
        // what starts at a switch or ends there p/a more each.
        let local = loads.of_class(LinkClass::Local).unwrap().max;
        assert!((local - 2.0).abs() < ROUNDING, "{local}");
        assert!((loads.bound().unwrap().load_accepted - 0.5).abs() < ROUNDING);
    }
}

#[test]
fn a_hot_spot_is_held_back_by_the_link_to_its_host() {
    // 71 others send half of theirs there, and a 71st of the other half.
    let fabric = Fabric::balanced(2);
    let pattern = Pattern::HotSpot(HotSpot { hosts: vec![0], share: Share::percent(50) });
    let loads = loads(&fabric.topology, &minimal(&fabric), &pattern);
    let bound = check_bound(&loads, 1.0 / 36.0, 1.0 / 36.0, "group0.switch0 port 0 to host0");
    assert!((loads.of(bound.channel) - 36.0).abs() < 36.0 * ROUNDING);
}

#[test]
fn silent_hosts_lower_what_is_accepted_of_all_links() {
    let fabric = Fabric::balanced(2);
    let listed = |pairs| Pattern::Listed(Listed { pairs });
    let three = loads(&fabric.topology, &minimal(&fabric), &listed(vec![[1, 0], [2, 0], [3, 0]]));
    check_bound(&three, 1.0 / 3.0, 1.0 / 72.0, "group0.switch0 port 0 to host0");
    assert_eq!(loads(&fabric.topology, &minimal(&fabric), &listed(vec![])).bound(), None);
}

#[test]
fn loads_between_switches_add_up_to_the_hops_of_a_run() {
    let fabric = Fabric::balanced(3);
    check_hops(&fabric, minimal(&fabric));
    check_hops(&fabric, valiant(&fabric));
}

fn check_hops(fabric: &Fabric, routing: impl PacketRouting + Clone) {
    for pattern in [Pattern::default(), fabric.adversarial()] {
        let loads = loads(&fabric.topology, &routing, &pattern);
        let total = |class: LinkClass| {
            let count = fabric.topology.channels().iter().filter(|channel| channel.class == class).count();
            loads.of_class(class).unwrap().mean * count as f64
        };
        // A packet passes its first switch, and one after every link.
        let links = (total(LinkClass::Local) + total(LinkClass::Global)) / fabric.topology.hosts() as f64;
        let report = fabric.run(routing.clone(), pattern, 0.04, 100);
        let hops = report.hops_mean.unwrap();
        // Of 1 to 6 switches, so no more than 2.5 from the middle: four deviations of a mean.
        let packets: u64 = report.latency_ns.buckets().map(|(_, count)| count).sum();
        let room = 4.0 * 2.5 / (packets as f64).sqrt();
        assert!((hops - 1.0 - links).abs() < room, "{hops}, expected {} within {room}", 1.0 + links);
    }
}

#[test]
fn ports_send_what_is_expected_of_their_channels() {
    let fabric = Fabric::balanced(2);
    for pattern in [Pattern::default(), fabric.adversarial()] {
        check_ports(&fabric, minimal(&fabric), &pattern);
        check_ports(&fabric, valiant(&fabric), &pattern);
    }
}

fn check_ports(fabric: &Fabric, routing: impl PacketRouting, pattern: &Pattern) {
    let loads = loads(&fabric.topology, &routing, pattern);
    let report = fabric.run(routing, pattern.clone(), 0.04, 1_000);
    let radix = report.busy.len() / fabric.topology.switches();
    for at in (0..fabric.topology.switches()).map(SwitchId::from_index) {
        for (port, &channel) in fabric.topology.out_channels(at).iter().enumerate() {
            // A link takes 5,000 packets of 200 ns.
            let sent = f64::from(report.busy[at.index() * radix + port]) * 5_000.0;
            let expected = loads.of(channel) * 0.04 * 5_000.0;
            // Five deviations of a count, and a packet at either end.
            let room = if expected > 0.0 { 5.0 * expected.sqrt() + 2.0 } else { 0.0 };
            assert!((sent - expected).abs() <= room, "{at:?} port {port}: {sent}, expected {expected}");
        }
    }
}

#[test]
fn no_run_accepts_more_than_the_bound() {
    let (small, large) = (Fabric::balanced(2), Fabric::balanced(3));
    let tornado = || Pattern::Tornado(Tornado { extents: vec![] });
    for pattern in [Pattern::default(), small.adversarial(), tornado()] {
        check_run(&small, minimal(&small), &pattern);
        check_run(&small, valiant(&small), &pattern);
    }
    check_run(&large, minimal(&large), &tornado());
}

fn check_run(fabric: &Fabric, routing: impl PacketRouting, pattern: &Pattern) {
    let bound = loads(&fabric.topology, &routing, pattern).bound().unwrap().load_accepted;
    // A full channel passes 5,000 packets: what was behind it before, and arrives at hosts beyond that, is less than a
    // thousandth.
    let accepted = fabric.run(routing, pattern.clone(), 1.0, 1_000).load_accepted;
    assert!(accepted <= bound * 1.001, "{pattern:?}: {accepted} above {bound}");
}

#[test]
fn no_bound_is_claimed_where_loads_are_unknown() {
    let fabric = Fabric::balanced(2);
    let adaptive = UgalLocal { plan: fabric.plan.clone(), threshold: 0 };
    assert_eq!(bound(&fabric.topology, &[], &adaptive, &Pattern::default(), 1).unwrap(), None);
    for changing in [Pattern::Switching(Switching::default()), Pattern::Alternating(Alternating::default())] {
        assert_eq!(bound(&fabric.topology, &[], &minimal(&fabric), &changing, 1).unwrap(), None);
    }
    let many = Dragonfly { p: 1, a: 64, h: 2, groups: Some(65), ..Dragonfly::default() }.generate().unwrap();
    let routing = DragonflyMinimal { plan: DragonflyPlan::of(&many).unwrap() };
    assert_eq!(bound(&many, &[], &routing, &Pattern::default(), 1).unwrap(), None);
    let destinations = Pattern::default().plan(&host_groups(&many).unwrap(), 1).unwrap();
    let error = ChannelLoads::new(&many, &[], &routing, &destinations, Time::ZERO).unwrap_err().to_string();
    assert_eq!(error, "topology: one of 4160 switches with hosts; expected 4096 at most, for expected loads");
}
