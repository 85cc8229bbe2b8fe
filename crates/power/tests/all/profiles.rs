//! Every included profile works, and a missing figure is reported.

use etherweave_power::{
    Activity, Basis, Certainty, ChannelActivity, Entries, PowerProfile, RateTime, Saving, TableKind, Tables, shipped,
};
use etherweave_primitives::{BitRate, Bytes, Duration, InputError, Power};
use etherweave_topology::{AsBuilt, Family, FatTree, SingleSwitch, Topology};

/// 2 leaves of 3 hosts, 1 core, 2 links from each leaf.
fn tree(rate: BitRate) -> Topology {
    let tree = FatTree { leaves: 2, hosts_per_leaf: 3, cores: 1, links_per_core: 2, ..FatTree::default() };
    let cables =
        FatTree { host_cable: "2m copper".parse().unwrap(), uplink_cable: "20m optical".parse().unwrap(), ..tree };
    FatTree { host_rate: rate, uplink_rate: rate, ..cables }.generate().unwrap()
}

/// Figures of round size: ports 2 W and 4 W, modules 1 W and 3 W, cards 10 W.
const ROUND: &str = r#"
about = "round numbers"
switch.fixed = { value = "100W", basis = "published", source = "a test" }
switch.ports = 8
[port]
"100Gb/s copper" = { value = "2W", basis = "published", source = "a test" }
"100Gb/s optical" = { value = "4W", basis = "published", source = "a test" }
"400Gb/s copper" = { value = "8W", basis = "published", source = "a test" }
[module]
"100Gb/s copper" = { value = "1W", basis = "published", source = "a test" }
"100Gb/s optical" = { value = "3W", basis = "estimate", source = "a test" }
"400Gb/s copper" = { value = "5W", basis = "published", source = "a test" }
[nic]
"100Gb/s" = { value = "10W", basis = "published", source = "a test" }
[low_power_idle]
share = { value = 0.2, basis = "published", source = "a test" }
sleep = { value = "3us", basis = "published", source = "a test" }
wake = { value = "5us", basis = "published", source = "a test" }
[link_sleep]
share = { value = 0.1, basis = "published", source = "a test" }
wake = { value = "2s", basis = "published", source = "a test" }
[rate_adaptation]
load_max = { value = 0.5, basis = "published", source = "a test" }
change = { value = "1us", basis = "published", source = "a test" }
rates = [
    { rate = 0.1, share = { value = 0.4, basis = "published", source = "a test" } },
    { rate = 0.25, share = { value = 0.6, basis = "published", source = "a test" } },
]
"#;

fn round() -> PowerProfile {
    PowerProfile::parse("round", ROUND).unwrap()
}

fn hundred() -> BitRate {
    BitRate::from_gbps(100)
}

#[test]
fn every_shipped_profile_is_read_and_cites_its_sources() {
    for name in shipped::PROFILES.names() {
        let profile = PowerProfile::shipped(name).unwrap();
        let kind = profile.port.keys().next_back().unwrap();
        let fabric = SingleSwitch { hosts: 4, rate: kind.rate, ..SingleSwitch::default() }.generate().unwrap();
        let draw = profile.draw(&fabric, None).unwrap();
        assert!(draw.figures.iter().all(|figure| figure.source.len() > 10), "{name}");
        assert!(draw.total().total() > Power::from_w(30), "{name}");
    }
}

#[test]
fn modern_sums_are_estimates_and_say_so() {
    let draw = PowerProfile::shipped("ethernet-400g").unwrap().draw(&tree(BitRate::from_gbps(400)), None).unwrap();
    assert_eq!(Certainty::of(&draw.figures).basis, Basis::Estimate);
    assert!(Certainty::of(&draw.figures).to_string().starts_with("an estimate: "), "{}", Certainty::of(&draw.figures));
    // 8 ends of optical links at 9 W; 6 passive cables with two ends of 0.1 W.
    let modules = draw.total().modules;
    assert_eq!(modules, Power::from_uw(8 * 9_000_000 + 12 * 100_000));
}

#[test]
fn ports_modules_and_nics_add_up() {
    let draw = round().draw(&tree(hundred()), None).unwrap();
    let [leaves, core] = [&draw.kinds[0], &draw.kinds[1]];
    assert_eq!((leaves.first.as_str(), leaves.switches, leaves.kind.hosts), ("leaf0", 2, 3));
    // A leaf: 3 copper, 2 optical. The core: 4 optical.
    assert_eq!((leaves.mean().ports, leaves.mean().modules), (Power::from_w(14), Power::from_w(9)));
    assert_eq!((core.all.ports, core.all.modules), (Power::from_w(16), Power::from_w(12)));
    assert_eq!((draw.hosts.nics, draw.hosts.modules), (Power::from_w(60), Power::from_w(6)));
    assert_eq!(draw.total().total(), Power::from_w(300 + 28 + 18 + 16 + 12 + 66));
    assert_eq!(Certainty::of(&draw.figures).uncertain, [("module.\"100Gb/s optical\"".to_owned(), Basis::Estimate)]);
}

#[test]
fn what_a_profile_does_not_separate_is_noted() {
    let tables = Tables { kind: TableKind::Tcam, entries: Entries::Each(1_000) };
    let modern = round().draw(&tree(hundred()), Some(&tables)).unwrap();
    assert_eq!(modern.total().tables, Power::ZERO);
    let note = |part: &str| modern.notes.iter().any(|note| note.contains(part));
    assert!(
        note("tables are not counted separately") && note("buffers are not counted separately"),
        "{:?}",
        modern.notes
    );
    let paper = PowerProfile::shipped("exascale-2015").unwrap().draw(&tree(BitRate::from_gbps(40)), None).unwrap();
    assert_eq!(paper.notes, ["NICs are not counted: the profile has none"]);
}

#[test]
fn hosts_on_a_breakout_cable_share_one_port() {
    // 6 hosts at 100 Gb/s, 4 to a port of 400 Gb/s: two ports; a module in each port and each host.
    let as_built = AsBuilt { breakout: 4, ..AsBuilt::default() };
    let switch = SingleSwitch { hosts: 6, rate: hundred(), as_built, ..SingleSwitch::default() };
    let draw = round().draw(&switch.generate().unwrap(), None).unwrap();
    assert_eq!((draw.kinds[0].all.ports, draw.kinds[0].all.modules), (Power::from_w(16), Power::from_w(10)));
    assert_eq!(draw.hosts.modules, Power::from_w(6));
}

#[test]
fn tables_of_every_switch_may_differ() {
    let text = format!(
        "{ROUND}\n[packet]\nsize = \"64B\"\ngap = \"20B\"\n\
         read = {{ value = \"1nJ\", basis = \"published\", source = \"a test\" }}\n\
         written = {{ value = \"1nJ\", basis = \"published\", source = \"a test\" }}\n\
         [table.tcam]\nbits = {{ value = 100, basis = \"published\", source = \"a test\" }}\n\
         energy_per_bit = {{ value = \"1fJ\", basis = \"published\", source = \"a test\" }}\n"
    );
    let profile = PowerProfile::parse("tables", &text).unwrap();
    let tables = Tables { kind: TableKind::Tcam, entries: Entries::PerSwitch(vec![1_000, 3_000, 0]) };
    let draw = profile.draw(&tree(hundred()), Some(&tables)).unwrap();
    let leaves = &draw.kinds[0];
    assert_eq!((leaves.entries_min, leaves.entries_mean, leaves.entries_max), (1_000, 2_000.0, 3_000));
    // 5 ports · 100 Gb/s / 672 bit = 744 M searches/s, of 100 bits · 2,000 entries · 1 fJ.
    let searches = 5.0 * 100e9 / 672.0;
    assert!((leaves.mean().tables.as_w_f64() - searches * 2e5 * 1e-15).abs() < 1e-5);
    assert!((leaves.mean().buffers.as_w_f64() - searches * 2e-9).abs() < 1e-5);
    assert_eq!(draw.kinds[1].all.tables, Power::ZERO);

    // Half the load in packets of 672 B: buffers follow bytes, searches follow packets.
    let activity = Activity::even(&tree(hundred()), 0.5, Bytes::new(672), Saving::AlwaysOn);
    let half = profile.draw_under(&tree(hundred()), Some(&tables), &activity).unwrap();
    let bytes = 5.0 * 100e9 / 8.0 * 0.5;
    assert!((half.kinds[0].mean().buffers.as_w_f64() - bytes / 64.0 * 2e-9).abs() < 1e-5);
    assert!((half.kinds[0].mean().tables.as_w_f64() - bytes / 672.0 * 2e5 * 1e-15).abs() < 1e-5);
}

/// Ports of the whole tree when one channel of host 0 sends, and whatever else is asked.
fn ports_under(saving: Saving, channel: ChannelActivity) -> (Power, Power, u64, Duration) {
    let topology = tree(hundred());
    let silent = ChannelActivity { load: 0.0, wakes_per_second: Some(0.0) };
    let mut channels = vec![silent; topology.channels().len()];
    channels[0] = channel;
    let activity = Activity { channels, packet: Bytes::new(1_000), saving, rates: Vec::new() };
    let draw = round().draw_under(&topology, None, &activity).unwrap();
    (draw.total().ports, draw.total().modules, draw.links_asleep, draw.wake)
}

#[test]
fn idle_directions_sleep_between_packets() {
    // 6 copper ports of 2 W and 8 optical ones of 4 W: 44 W, asleep 20 % of it. Each direction is half a port. The one
    // that sends is awake for 0.25 + 50,000/s · 8 us = 0.65 of the time: 0.65 + 0.35 · 0.2 = 0.72.
    let sending = ChannelActivity { load: 0.25, wakes_per_second: Some(50_000.0) };
    let (ports, modules, _, wake) = ports_under(Saving::LowPowerIdle, sending);
    assert!((ports.as_w_f64() - (44.0 * 0.2 + 0.72 - 0.2)).abs() < 1e-5, "{ports}");
    assert_eq!((modules, wake), (Power::from_w(36), Duration::from_us(5)));
}

#[test]
fn packets_that_come_often_keep_a_direction_awake() {
    // 25 % of 100 Gb/s in packets of 1,000 B: 3.125 M/s, each of which would cost 8 us.
    let sending = ChannelActivity { load: 0.25, wakes_per_second: None };
    let (ports, ..) = ports_under(Saving::LowPowerIdle, sending);
    assert!((ports.as_w_f64() - (44.0 * 0.2 + 1.0 - 0.2)).abs() < 1e-5, "{ports}");
}

#[test]
fn links_without_traffic_sleep_with_their_modules() {
    let sending = ChannelActivity { load: 0.25, wakes_per_second: None };
    // 10 links; 9 sleep. One copper port of 2 W and two modules of 1 W stay up, of 30 W in switches and 6 W in cards.
    let (ports, modules, asleep, wake) = ports_under(Saving::LinkSleep, sending);
    assert!((ports.as_w_f64() - (42.0 * 0.1 + 2.0)).abs() < 1e-5, "{ports}");
    assert!((modules.as_w_f64() - (34.0 * 0.1 + 2.0)).abs() < 1e-5, "{modules}");
    assert_eq!((asleep, wake.as_s_f64()), (9, 2.0));
}

#[test]
fn directions_run_at_the_lowest_rate_that_suffices_for_their_load() {
    // 44 W of ports, at the lowest rate 40 % of it. Half of a rate is used: up to a load of 0.05 the tenth suffices, up
    // to 0.125 the quarter, above it the full rate. The direction that sends is half of a copper port of 2 W.
    for (load, share) in [(0.05, 0.4), (0.06, 0.6), (0.125, 0.6), (0.126, 1.0)] {
        let sending = ChannelActivity { load, wakes_per_second: None };
        let (ports, modules, asleep, change) = ports_under(Saving::RateAdaptation, sending);
        assert!((ports.as_w_f64() - (44.0 * 0.4 + share - 0.4)).abs() < 1e-5, "{ports} at {load}");
        assert_eq!((modules, asleep, change), (Power::from_w(36), 0, Duration::from_us(1)));
    }
}

#[test]
fn directions_draw_by_the_rates_that_they_had_where_a_run_simulated_them() {
    // 2 W of the port of host 0, half of it for a direction: at a fifth of the rate it draws what the profile has for a
    // quarter, 60 %.
    let topology = tree(hundred());
    let adapted = |rates: Vec<RateTime>| {
        let full = ChannelActivity { load: 1.0, wakes_per_second: None };
        let mut all = vec![Vec::new(); topology.channels().len()];
        all[0] = rates;
        let channels = vec![full; topology.channels().len()];
        let activity = Activity { channels, packet: Bytes::new(1_000), saving: Saving::RateAdaptation, rates: all };
        round().draw_under(&topology, None, &activity).unwrap().total().ports.as_w_f64()
    };
    let [low, full] = [0.2, 1.0].map(|rate| RateTime { rate, time: 0.5 });
    let saved = adapted(Vec::new()) - adapted(vec![low, full]);
    assert!((saved - 0.5 * (1.0 - 0.6)).abs() < 1e-5, "{saved}");
}

#[test]
fn full_load_saves_nothing() {
    let topology = tree(hundred());
    for saving in Saving::ALL {
        let activity = Activity::even(&topology, 1.0, Bytes::new(64), saving);
        let under = round().draw_under(&topology, None, &activity).unwrap();
        assert_eq!(under.total(), round().draw(&topology, None).unwrap().total(), "{}", saving.name());
    }
}

fn rejects(result: Result<impl Sized, InputError>, parts: &[&str]) {
    let error = result.err().expect("it is rejected").to_string();
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn what_is_missing_is_named_with_what_exists() {
    rejects(
        PowerProfile::shipped("exascale"),
        &["no power profile \"exascale\"; expected one of exascale-2015, ethernet-100g"],
    );
    let forty = tree(BitRate::from_gbps(40));
    rejects(
        round().draw(&forty, None),
        &["power profile round has no port.\"40Gb/s copper\"", "expected one of port.\"100Gb/s"],
    );
    let many = SingleSwitch { hosts: 9, rate: hundred(), ..SingleSwitch::default() }.generate().unwrap();
    rejects(round().draw(&many, None), &["switch.ports: 8, and switch0 uses 9"]);
    let profile = PowerProfile::shipped("exascale-2015").unwrap();
    let idle = Activity::even(&forty, 0.1, Bytes::new(64), Saving::LowPowerIdle);
    rejects(profile.draw_under(&forty, None, &idle), &["power profile exascale-2015 has no low_power_idle"]);
    let tables = Tables { kind: TableKind::Cam, entries: Entries::PerSwitch(vec![1, 2]) };
    rejects(profile.draw(&forty, Some(&tables)), &["entries: a list of 2; expected one number for each of the 3"]);
}

#[test]
fn activities_out_of_range_are_rejects() {
    let topology = tree(hundred());
    let with = |load, wakes_per_second| {
        let channel = ChannelActivity { load, wakes_per_second };
        let channels = vec![channel; topology.channels().len()];
        let activity = Activity::even(&topology, 0.5, Bytes::new(64), Saving::AlwaysOn);
        round().draw_under(&topology, None, &Activity { channels, ..activity })
    };
    rejects(with(1.5, None), &["activity.channels.0.load: 1.5; expected 0 to 1"]);
    rejects(with(f64::NAN, None), &["load: NaN"]);
    rejects(with(0.5, Some(f64::INFINITY)), &["wakes_per_second: inf"]);
    let even = Activity::even(&topology, 0.5, Bytes::new(64), Saving::AlwaysOn);
    let none = Activity { channels: Vec::new(), ..even };
    rejects(
        round().draw_under(&topology, None, &none),
        &["a list of 0; expected one entry for each of the 20 channels"],
    );
    let empty = Activity::even(&topology, 0.5, Bytes::ZERO, Saving::AlwaysOn);
    rejects(round().draw_under(&topology, None, &empty), &["activity.packet: 0B"]);
}

#[test]
fn mistakes_in_a_text_are_reported_with_their_place() {
    let parse = |from: &str, to: &str| PowerProfile::parse("mine", &ROUND.replacen(from, to, 1));
    rejects(parse("\"100W\"", "100"), &["line 3", "a power as a string with its unit"]);
    rejects(parse("\"100Gb/s copper\" =", "\"copper\" ="), &["as \"40Gb/s copper\""]);
    rejects(parse("[nic]", "[card]"), &["unknown field `card`", "`nic`"]);
    rejects(parse("value = 0.2", "value = 1.2"), &["low_power_idle.share: 1.2; expected 0 to 1"]);
    rejects(parse("basis = \"published\"", "basis = \"known\""), &["unknown variant `known`", "`estimate`"]);
    rejects(parse("rate = 0.25", "rate = 0.05"), &["rate_adaptation.rates.1.rate: 0.05; expected more than 0.1"]);
    rejects(parse("rate = 0.25", "rate = 1.0"), &["rate_adaptation.rates.1.rate: 1", "less than 1"]);
    rejects(parse("value = 0.6", "value = 1.6"), &["rate_adaptation.rates.1.share: 1.6; expected 0 to 1"]);
    rejects(parse("value = 0.5", "value = 0.0"), &["rate_adaptation.load_max: 0; expected above 0"]);
}
