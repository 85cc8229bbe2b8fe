//! Flow-level mode against packets, and what it rejects.

use etherweave_scenario::{Outcome, Run, ScenarioError};

use super::results::{numbers, run as run_with};

fn run(text: &str, fidelity: &str, threads: usize) -> Result<Outcome, ScenarioError> {
    run_with(text, &[("run.fidelity", &format!("{fidelity:?}"))], threads)
}

/// End of the run in flow-level mode over that with packets.
fn ratio(text: &str) -> f64 {
    let [packet, flow] = ["packet", "flow"].map(|fidelity| run(text, fidelity, 1).unwrap().summary);
    assert_eq!((packet.finished, flow.finished), ("complete", "complete"));
    // As many data packets; acknowledgements are not made.
    assert!(flow.packets_created < packet.packets_created);
    assert_eq!((flow.packets_created, flow.packets_in_flight), (flow.packets_delivered, 0));
    flow.end_ns / packet.end_ns
}

const PAIR: &str = "topology.single_switch = { hosts = 2, rate = \"100Gb/s\" }\n[[job]]\nname = \"pair\"\n";

#[test]
fn without_contention_both_take_the_same_time_within_three_percent() {
    let fabrics = [
        "topology.single_switch = { hosts = 16 }",
        "switch.forwarding = \"store_and_forward\"\n[topology.k_ary_fat_tree]\nk = 4",
        "[topology.dragonfly]",
    ];
    let workloads = [
        "osu_latency = { bytes = \"8B\", iterations = 100 }",
        "osu_latency = { bytes = \"4KiB\", iterations = 100 }",
        "osu_latency = { bytes = \"1MiB\", iterations = 10 }",
        "osu_bw = { bytes = \"8MiB\", iterations = 4 }",
    ];
    // On one switch every rank has its links for itself.
    let collective = "osu_collective = { operation.allreduce.bytes = \"256KiB\", ranks = 8, iterations = 3 }";
    let pairs = fabrics.iter().flat_map(|fabric| workloads.iter().map(move |workload| (*fabric, *workload)));
    for (fabric, workload) in pairs.chain([(fabrics[0], collective)]) {
        let ratio = ratio(&format!("{fabric}\n[[job]]\nname = \"job\"\nworkload.{workload}\n"));
        assert!((0.97..1.03).contains(&ratio), "{fabric} {workload}: {ratio}");
    }
}

/// Switches with queues at their inputs, credits, and NICs that hold packets until they are whole.
#[test]
fn fabrics_with_credits_take_the_same_time_within_one_percent() {
    let workloads = [
        "osu_latency = { bytes = \"8B\", iterations = 100 }",
        "osu_latency = { bytes = \"4KiB\", iterations = 100 }",
        "osu_latency = { bytes = \"1MiB\", iterations = 10 }",
        "osu_bw = { bytes = \"8MiB\", iterations = 4 }",
        "osu_collective = { operation.allreduce.bytes = \"256KiB\", ranks = 8, iterations = 3 }",
    ];
    let profiles = ["infiniband-hdr", "infiniband-ndr", "slingshot-11"];
    for (profile, workload) in profiles.iter().flat_map(|profile| workloads.map(|workload| (profile, workload))) {
        let fabric = format!("interconnect.profile = \"{profile}\"\ntopology.single_switch.hosts = 16\n");
        let ratio = ratio(&format!("{fabric}[[job]]\nname = \"job\"\nworkload.{workload}\n"));
        assert!((0.99..1.01).contains(&ratio), "{profile} {workload}: {ratio}");
    }
}

/// Losses are found by timeout: otherwise packets that are overtaken are sent again, which flow-level mode has not.
const OVERTAKING: &str = "[transport.roce]\nreliability = \"selective_repeat\"\nloss_detection = \"timeout\"\n\
                          [flow_control.pfc]\npriorities = [0, 1, 2, 3, 4, 5]\n[[job]]\nname = \"job\"\n";

fn permutation(routing: &str, fabric: &str, ranks: u32, partner: &str) -> String {
    let workload = format!("{{ ranks = {ranks}, bytes = \"2MB\", partner = {partner}, iterations = 1 }}");
    format!("routing = \"{routing}\"\n[topology.{fabric}]\n{OVERTAKING}workload.permutation = {workload}\n")
}

/// No link is shared: a lone pair takes as long by any routing, whatever its paths.
#[test]
fn a_pair_whose_packets_take_several_paths_takes_the_same_time_within_three_percent() {
    let routings = [
        ("spray", "k_ary_fat_tree"),
        ("adaptive_up", "k_ary_fat_tree"),
        ("valiant_group", "dragonfly"),
        ("ugal_local", "dragonfly"),
        ("adaptive_minimal", "hyperx"),
        ("valiant", "hyperx"),
    ];
    for (routing, fabric) in routings {
        let pair = "placement.hosts = [0, 15]\nworkload.osu_";
        let sizes = ["1KiB", "4KiB", "6KiB", "8KiB", "64KiB"];
        let latencies = sizes.map(|bytes| format!("latency = {{ bytes = \"{bytes}\", iterations = 200 }}"));
        for workload in latencies.into_iter().chain(["bw = { bytes = \"8MiB\", iterations = 4 }".to_owned()]) {
            let text = format!("routing = \"{routing}\"\n[topology.{fabric}]\n{OVERTAKING}{pair}{workload}\n");
            let ratio = ratio(&text);
            assert!((0.97..1.03).contains(&ratio), "{routing} {workload}: {ratio}");
        }
    }
}

/// Errors measured on a loaded fabric; bounds are what docs/models/flow-level.md says.
#[test]
fn routings_that_look_at_no_queue_are_within_ten_percent_of_packets() {
    let cases = [
        permutation("spray", "k_ary_fat_tree", 16, "\"random\""),
        permutation("valiant_group", "dragonfly", 72, "{ shift = 8 }"),
        permutation("valiant", "hyperx", 64, "{ shift = 4 }"),
    ];
    for text in cases {
        let ratio = ratio(&text);
        assert!((0.9..1.1).contains(&ratio), "{text}: {ratio}");
    }
}

/// Eight hosts of a group share the one link to the next: by it alone they take eight times as long as a free host,
/// and by other groups up to half the links between groups are theirs.
#[test]
fn adaptive_routings_use_other_groups_where_minimal_links_are_full() {
    let end = |routing: &str| {
        let text = permutation(routing, "dragonfly", 72, "{ shift = 8 }");
        run(&text, "flow", 1).unwrap().summary.end_ns
    };
    let [minimal, valiant, adaptive] = ["minimal", "valiant_group", "ugal_global"].map(end);
    assert!(adaptive < valiant && 3.0 * valiant < minimal, "{minimal} {valiant} {adaptive}");
    // A link of 100 Gb/s carries 2 MB of each of eight hosts, in packets of 4,096 B with 78 to 94 B beside them.
    let serial = 8.0 * 2e6 * 8.0 / 100.0;
    assert!((1.0..1.05).contains(&(minimal / serial)), "{minimal} {serial}");
}

/// A message that is in transit at the end of the warm-up or of the run counts by what of it has come in the time
/// between: a share of a link is its share however long messages are.
#[test]
fn messages_that_have_not_come_whole_count_in_part() {
    for message in ["64KiB", "1MiB", "8MiB", "64MiB"] {
        let text = format!(
            "topology.single_switch = {{ hosts = 5, rate = \"100Gb/s\" }}\nrun.end = \"3ms\"\nrun.warm_up = \"1ms\"\n\
             [[job]]\nname = \"incast\"\nworkload.incast = {{ sources = 4, streams_per_source = 1, \
             message = \"{message}\" }}\n"
        );
        let [packet, flow] = ["packet", "flow"].map(|fidelity| goodput(&run(&text, fidelity, 1).unwrap()));
        let [packet, flow] = [packet, flow].map(|rates| rates.iter().sum::<f64>());
        assert!((flow / packet - 1.0).abs() < 0.01, "{message}: {flow} {packet}");
    }
}

/// Returns the goodput of each stream [Gb/s].
fn goodput(outcome: &Outcome) -> Vec<f64> {
    numbers(&outcome.tables, "streams", "goodput_gbps")
}

/// Two jobs on one uplink of 100 Gb/s, 4,096 B of every 4,190 B on the wire: by weights of 75 and 25 three times as
/// much for the first; behind a strict class nothing.
#[test]
fn jobs_in_several_classes_share_links_by_weight() {
    let text = |weights: &str| {
        let jobs = [("a", "0, 2", 0), ("b", "1, 3", 1)].map(|(name, hosts, priority)| {
            format!(
                "[[job]]\nname = \"{name}\"\npriority = {priority}\nplacement.hosts = [{hosts}]\n\
                 workload.incast = {{ sources = 1 }}\n"
            )
        });
        format!(
            "run.end = \"10ms\"\nrun.warm_up = \"2ms\"\n[topology.fat_tree]\nleaves = 2\nhosts_per_leaf = 2\n\
             cores = 1\nlinks_per_core = 1\n[flow_control.pfc]\npriorities = [0, 1]\n[ets]\nweights = {weights}\n{}{}",
            jobs[0], jobs[1]
        )
    };
    for (weights, shares) in [("[75, 25, 0, 0, 0, 0, 0, 0]", [0.75, 0.25]), ("[0, 100, 0, 0, 0, 0, 0, 0]", [1.0, 0.0])]
    {
        let [packet, flow] = ["packet", "flow"].map(|fidelity| goodput(&run(&text(weights), fidelity, 1).unwrap()));
        for (number, share) in shares.into_iter().enumerate() {
            let expected = share * 100.0 * 4096.0 / 4190.0;
            assert!((flow[number] - expected).abs() < 1.0, "{weights}: {flow:?} {packet:?}");
            assert!((flow[number] - packet[number]).abs() < 1.0, "{weights}: {flow:?} {packet:?}");
        }
    }
}

/// Two jobs of a stream each on one uplink of 100 Gb/s.
fn pairs_on_an_uplink(more: &str, [first, second]: [&str; 2]) -> String {
    format!(
        "[topology.fat_tree]\nleaves = 2\nhosts_per_leaf = 2\ncores = 1\nlinks_per_core = 1\n\
         uplink_rate = \"100Gb/s\"\n[flow_control.pfc]\npriorities = [0, 1]\n{more}\n[[job]]\nname = \"a\"\n\
         placement.hosts = [2, 0]\nworkload.{first}\n[[job]]\nname = \"b\"\nplacement.hosts = [3, 1]\n\
         priority = 1\nworkload.{second}\n"
    )
}

/// The second job waits until the first has ended, and then has the link for itself: 20 MiB in 1.72 ms.
#[test]
fn a_class_that_a_strict_one_stopped_goes_on_when_that_has_ended() {
    for (message, messages) in [("4KiB", 5120), ("64KiB", 320), ("1MiB", 20)] {
        let incast = format!("incast = {{ sources = 1, message = \"{message}\", messages = {messages} }}");
        let text = pairs_on_an_uplink("[ets]\nweights = [0, 100, 0, 0, 0, 0, 0, 0]", [&incast, &incast]);
        let alone = 20.0 * f64::from(1 << 20) * 8.0 * 4190.0 / 4096.0 / 100.0;
        for fidelity in ["packet", "flow"] {
            let ends = numbers(&run(&text, fidelity, 1).unwrap().tables, "streams", "end_ns");
            let expected = [alone, 2.0 * alone];
            let are_close = ends.iter().zip(expected).all(|(end, expected)| (end / expected - 1.0).abs() < 0.03);
            assert!(are_close, "{message} {fidelity}: {ends:?} {expected:?}");
        }
    }
}

/// Rates are solved as often as the short messages end: the link never carries more than it can for long. Messages of
/// 64 KiB, one at a time, have their share of the link, however long the others are.
#[test]
fn short_messages_share_a_link_with_long_ones_of_any_length() {
    let short = "incast = { sources = 1, message = \"64KiB\", messages = 400, outstanding = 1 }";
    for (message, is_hybrid) in [("1MiB", false), ("4GiB", false), ("4GiB", true)] {
        let long = format!("incast = {{ sources = 1, message = \"{message}\" }}");
        let text = |more: &str| {
            let run = "[transport.roce]\nwindow = \"64KiB\"\n[run]\nend = \"4ms\"";
            pairs_on_an_uplink(run, [short, &long]).replace("priority = 1", more)
        };
        let packet = goodput(&run(&text(""), "packet", 1).unwrap());
        let flow = match is_hybrid {
            true => run(&text("fidelity = \"flow\""), "packet", 1),
            false => run(&text(""), "flow", 1),
        };
        let flow = goodput(&flow.unwrap());
        assert!(flow.iter().sum::<f64>() < 1.01 * 97.8, "{message}: {flow:?}");
        assert!((flow[0] / packet[0] - 1.0).abs() < 0.1, "{message}: {flow:?} {packet:?}");
    }
}

/// The responder acknowledges every sixteen packets, so a window of 64 KiB is acknowledged at once, 15 packets later
/// than the first of them would be; a selectively repeating requester is 1,024 packets ahead at most.
#[test]
fn windows_limit_a_lone_pair_as_they_do_with_packets() {
    let cases = [
        ("20m", "window = \"64KiB\""),
        ("200m", "window = \"64KiB\""),
        ("1km", "window = \"256KiB\""),
        ("5km", "window = \"4MiB\"\npath_mtu = \"1KiB\"\nreliability = \"selective_repeat\""),
        ("20m", "hpcc = {}\nreliability = \"selective_repeat\"\nack_every = 1"),
    ];
    for (cable, roce) in cases {
        let ratio = ratio_of_iterations(&format!(
            "topology.single_switch = {{ hosts = 2, cable = \"{cable}\" }}\n[flow_control.pfc]\n[transport.roce]\n\
             {roce}\n[[job]]\nname = \"pair\"\nworkload.osu_bw = {{ bytes = \"4MiB\", iterations = 2 }}\n"
        ));
        assert!((ratio - 1.0).abs() < 0.03, "{cable} {roce}: {ratio}");
    }
}

/// Seven senders share a link: each message takes seven times as long as alone. All begin at once and stay equal,
/// to a packet in 15 ms [Gb/s].
#[test]
fn senders_to_one_host_get_equal_shares() {
    let text = "topology.single_switch = { hosts = 8, rate = \"100Gb/s\" }\nrun.end = \"20ms\"\nrun.warm_up = \"5ms\"\n\
                [flow_control.pfc]\n[[job]]\nname = \"incast\"\nworkload.incast = { sources = 7 }\n";
    let [packet, flow] = ["packet", "flow"].map(|fidelity| run(text, fidelity, 1).unwrap());
    let (packet, flow) = (goodput(&packet), goodput(&flow));
    assert_eq!((packet.len(), flow.len()), (7, 7));
    assert!((flow[0] / packet[0] - 1.0).abs() < 0.03, "{flow:?} {packet:?}");
    let packet = 4190.0 * 8.0 / 15e6;
    assert!(flow.iter().all(|rate| (rate - flow[0]).abs() < packet), "{flow:?}");
}

/// Messages of a packet take turns at a link as packets do; where more wait than a full packet takes, they share it.
#[test]
fn small_messages_to_one_host_take_turns_as_packets_do() {
    for (sources, message, ratio_min) in [(8, "100B", 0.9999), (3, "4000B", 0.9999), (60, "1000B", 0.93)] {
        let ratio = ratio(&format!(
            "topology.single_switch.hosts = 61\n[flow_control.pfc]\n[[job]]\nname = \"incast\"\n\
             workload.incast = {{ sources = {sources}, message = \"{message}\", messages = 1 }}\n"
        ));
        assert!((ratio_min..1.0001).contains(&ratio), "{sources} senders of {message}: {ratio}");
    }
}

/// Mean iterations in flow-level mode over those with packets.
fn ratio_of_iterations(text: &str) -> f64 {
    let [packet, flow] = ["packet", "flow"].map(|fidelity| {
        let outcome = run(text, fidelity, 1).unwrap();
        assert_eq!(outcome.summary.finished, "complete", "{text}");
        mean(&numbers(&outcome.tables, "iterations", "duration_ns"))
    });
    flow / packet
}

/// Whether a run ends with a warning that contains some words.
fn is_warned(text: &str, fidelity: &str, words: &str) -> bool {
    run(text, fidelity, 1).unwrap().summary.warnings.iter().any(|warning| warning.contains(words))
}

/// Only where packets wait on one of several paths; a lone pair has all links for itself, and by one path nothing
/// overtakes.
#[test]
fn packets_that_overtake_each_other_are_warned_of_where_they_are_sent_again() {
    let loaded = |routing: &str, fabric: &str| permutation(routing, fabric, 16, "{ shift = 8 }");
    let pair = format!(
        "routing = \"valiant_group\"\n[topology.dragonfly]\n{OVERTAKING}placement.hosts = [0, 15]\n\
         workload.osu_bw = {{}}\n"
    );
    let cases = [
        (loaded("spray", "k_ary_fat_tree"), true),
        (loaded("valiant_group", "dragonfly"), true),
        (loaded("ugal_local", "dragonfly"), true),
        (loaded("minimal", "dragonfly"), false),
        (loaded("ecmp", "k_ary_fat_tree"), false),
        (pair, false),
    ];
    for (by_timeout, expected) in cases {
        let by_time = by_timeout.replace("\"timeout\"", "\"time\"");
        let words = "transport.roce.loss_detection = \"time\" sends some again";
        assert_eq!(is_warned(&by_time, "flow", words), expected, "{by_time}");
        assert!(!is_warned(&by_time, "packet", words) && !is_warned(&by_timeout, "flow", words), "{by_time}");
    }
}

/// Seven windows of 1 MiB at one link, less what drains: more than 8/9 of 4 MB wait, and less than 8/9 of 16 MiB. Of
/// seventy windows more does, however short messages are.
#[test]
fn roce_without_flow_control_is_warned_of_where_more_waits_than_a_switch_holds() {
    let text = |more: &str, messages: &str| {
        format!(
            "topology.single_switch = {{ hosts = 8, rate = \"100Gb/s\" }}\nrun.end = \"3ms\"\n{more}\n[[job]]\n\
             name = \"incast\"\nworkload.incast = {{ sources = 7, {messages} }}\n"
        )
    };
    let (long, short) = ("message = \"8MiB\"", "message = \"64KiB\", streams_per_source = 10");
    let cases = [
        ("[flow_control.none]\n[switch]\nbuffer = \"4MB\"", long, true),
        ("[flow_control.none]", long, false),
        ("[flow_control.none]", short, true),
        ("[flow_control.pfc]\n[switch]\nbuffer = \"4MB\"", long, false),
        // What one host has sent is more than an input may hold.
        ("[flow_control.none]\n[switch]\ningress_threshold.static = \"512kB\"", long, true),
    ];
    for (more, messages, expected) in cases {
        let text = text(more, messages);
        assert_eq!(is_warned(&text, "flow", "where packets may be lost"), expected, "{text}");
        let lost = run(&text, "packet", 1).unwrap().summary.packets_dropped;
        assert_eq!(lost > 0, expected, "{more}: {lost}");
    }
}

/// Two windows of 1 MiB wait at the uplink, which carries them in 168 us: messages of 8 B come behind them.
#[test]
fn messages_behind_long_queues_of_others_are_warned_of() {
    let long = "incast = { sources = 1 }";
    for (bytes, uplinks, expected) in [("8B", 1, true), ("64KiB", 1, true), ("8B", 8, false)] {
        let short = format!("osu_latency = {{ bytes = \"{bytes}\", iterations = 20 }}");
        let text = pairs_on_an_uplink("", [&short, long]).replace("priority = 1", "background = true");
        let text = text
            .replace("hosts_per_leaf = 2", "hosts_per_leaf = 3")
            .replace("cores = 1", &format!("cores = {uplinks}"));
        let text = text.replace("[2, 0]", "[3, 0]").replace("[3, 1]", "[4, 1]");
        let other =
            "[[job]]\nname = \"c\"\nbackground = true\nplacement.hosts = [5, 2]\nworkload.incast = { sources = 1 }\n";
        let words = "behind packets of others that take longer";
        assert_eq!(is_warned(&format!("{text}{other}"), "flow", words), expected, "{bytes} {uplinks}");
    }
}

/// A ping-pong whose requests meet what senders to one host leave waiting for its port, and one that passes it.
#[test]
fn small_messages_wait_about_as_long_as_packets_behind_long_messages_of_others() {
    let text = |sources: u32, more: &str, pair: &str| {
        let bulk = if sources == 2 { "[1, 2, 3]" } else { "[1, 2, 3, 4, 5]" };
        format!(
            "{more}\ntopology.single_switch.hosts = 8\nflow_control.pfc = {{}}\n[[job]]\nname = \"ping\"\n\
             shared_hosts = true\nplacement.hosts = {pair}\n\
             workload.osu_latency = {{ bytes = \"8B\", iterations = 100 }}\n[[job]]\nname = \"bulk\"\n\
             background = true\nshared_hosts = true\nplacement.hosts = {bulk}\n\
             workload.incast = {{ sources = {sources}, message = \"1MiB\", outstanding = 4 }}\n"
        )
    };
    let dcqcn =
        "transport.roce.dcqcn = {}\nswitch.ecn = { queue_min = \"50kB\", queue_max = \"200kB\", share_max = 0.1 }";
    for (sources, more, pair, error_max) in [
        (2, "", "[0, 1]", 0.03),
        (4, "", "[0, 1]", 0.03),
        (2, "transport.roce.window = \"256KiB\"", "[0, 1]", 0.1),
        (2, "switch.buffer = \"2MB\"", "[0, 1]", 0.15),
        (2, "switch.ingress_threshold = { static = \"200kB\" }", "[0, 1]", 0.1),
        (2, dcqcn, "[0, 1]", 0.5),
        (4, dcqcn, "[0, 1]", 0.5),
        (2, "", "[0, 6]", 0.001),
    ] {
        let text = text(sources, more, pair);
        let ping = |fidelity| {
            let outcome = run(&text, fidelity, 1).unwrap();
            mean(&numbers(&outcome.tables, "iterations", "duration_ns"))
        };
        let error = ping("flow") / ping("packet") - 1.0;
        assert!(error.abs() < error_max, "{sources} {more} {pair}: {error}");
    }
}

/// Eleven hosts send to one; a twelfth finds room on the uplink that three of them wait on, and changes no rate.
#[test]
fn who_finds_room_on_a_link_on_which_others_wait_is_warned_of() {
    let text = |victim: &str| {
        format!(
            "transport.roce.window = \"16MiB\"\n[topology.fat_tree]\nleaves = 3\nhosts_per_leaf = 16\ncores = 1\n\
             links_per_core = 1\nuplink_rate = \"400Gb/s\"\n[flow_control.pfc]\n[[job]]\nname = \"in\"\n\
             placement.hosts = [32, 0, 1, 2, 16, 17, 18, 19, 20, 21, 22, 23]\n\
             workload.incast = {{ sources = 11, message = \"4MiB\", messages = 1 }}\n[[job]]\nname = \"victim\"\n\
             start = \"1ms\"\nplacement.hosts = {victim}\nworkload.osu_bw = {{ bytes = \"64KiB\", iterations = 3 }}\n"
        )
    };
    // From the leaf of three senders to that of the receiver; within a leaf.
    for (victim, expected) in [("[8, 33]", true), ("[8, 9]", false)] {
        assert_eq!(is_warned(&text(victim), "flow", "wait for a full link elsewhere"), expected, "{victim}");
    }
}

#[test]
fn congestion_control_at_full_links_is_warned_of() {
    let text = |sources: u32, more: &str| {
        format!(
            "topology.single_switch = {{ hosts = 8 }}\nrun.end = \"3ms\"\n{more}\n[[job]]\nname = \"incast\"\n\
             workload.incast = {{ sources = {sources} }}\n"
        )
    };
    let ecn = "switch.ecn = { queue_min = \"50kB\", queue_max = \"200kB\", share_max = 0.1 }\ntransport";
    for (sources, transport, expected) in [
        (4, format!("{ecn}.roce.dcqcn = {{}}"), true),
        (1, format!("{ecn}.roce.dcqcn = {{}}"), false),
        (4, "transport.roce = {}".to_owned(), false),
    ] {
        let text = text(sources, &transport);
        assert_eq!(is_warned(&text, "flow", "where congestion control sets them"), expected, "{text}");
    }
}

#[test]
fn a_run_is_the_same_on_any_number_of_threads() {
    let text = "[topology.k_ary_fat_tree]\nk = 4\n[[job]]\nname = \"job\"\nworkload.all_to_all = { ranks = 16 }\n";
    for text in [text, &permutation("ugal_local", "dragonfly", 72, "\"random\"")] {
        let [one, three] = [1, 3].map(|threads| run(text, "flow", threads).unwrap().summary);
        assert_eq!((one.end_ns, &one.fingerprint, one.events), (three.end_ns, &three.fingerprint, three.events));
        assert!(one.fingerprint.is_some_and(|fingerprint| fingerprint.t != "0"));
    }
}

#[test]
fn what_needs_packets_is_rejected_with_its_key() {
    let refused =
        |more: &str| run(&format!("{more}\n{PAIR}workload.osu_latency = {{}}\n"), "flow", 1).err().unwrap().to_string();
    let cases = [
        ("switch.shaper = { rate = \"10Gb/s\", burst = \"16KiB\" }", "nic.shaper"),
        ("nic.low_power_idle = { sleep = \"3us\", wake = \"5us\" }", "nic.low_power_idle: a link that sleeps"),
        ("switch.low_power_idle = { sleep = \"3us\", wake = \"5us\" }", "switch.low_power_idle: links that sleep"),
        (
            "transport.tcp = {}",
            "transport: tcp, which is simulated in packets alone; expected run.fidelity = \"packet\" with it",
        ),
        ("observe = { period = \"1us\", until = \"1ms\", ports = [\"switches\"] }", "observe: time series"),
    ];
    for (more, expected) in cases {
        let error = refused(more);
        assert!(error.contains(expected), "{error}");
    }
    for (routing, fabric) in [("flowlet", "k_ary_fat_tree"), ("conditional", "dragonfly"), ("controller", "dragonfly")]
    {
        let error = run(&permutation(routing, fabric, 16, "\"random\""), "flow", 1).err().unwrap().to_string();
        assert!(error.contains("routing: one that goes by pauses, by gaps between packets"), "{error}");
    }
}

/// Sixteen hosts, of which four exchange halos packet by packet amid messages among the others.
const HYBRID: &str = "[topology.k_ary_fat_tree]\nk = 4\n[flow_control.none]\n[[job]]\nname = \"halo\"\n\
                      placement.random = {}\nworkload.halo3d = { pex = 2, pey = 2, pez = 1, nx = 60, ny = 60, \
                      nz = 60, sleep = \"10us\", iterations = 5 }\n[[job]]\nname = \"others\"\nbackground = true\n\
                      fidelity = \"flow\"\nplacement.random = {}\nworkload.permutation = { ranks = 12, \
                      bytes = \"4MiB\", iterations = 1000 }\n";

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_job_in_packets_beside_idle_messages_is_as_it_is_beside_idle_packets() {
    let idle = ("job.1.start", "\"1s\"");
    let hybrid = run_with(HYBRID, &[idle], 1).unwrap();
    let packets = run_with(HYBRID, &[idle, ("job.1.fidelity", "\"packet\"")], 1).unwrap();
    assert_eq!(hybrid.tables, packets.tables);
    assert_eq!(hybrid.summary.fingerprint, packets.summary.fingerprint);
    assert_eq!(hybrid.summary.end_ns, packets.summary.end_ns);
}

/// Error in the shipped scenario; the guide to flow-level mode has the exact one.
#[test]
fn messages_slow_packets_down_about_as_packets_would() {
    let iterations = |changes: &[(&str, &str)]| {
        let outcome = run_with(include_str!("../../../../scenarios/hybrid.toml"), changes, 1).unwrap();
        assert_eq!((outcome.summary.finished, outcome.summary.packets_dropped), ("complete", 0));
        // Sixteen ranks, ten iterations.
        mean(&numbers(&outcome.tables, "iterations", "duration_ns")[..160])
    };
    let alone = iterations(&[("run.jobs", "[\"halo\"]")]);
    let (packets, hybrid) = (iterations(&[("job.1.fidelity", "\"packet\"")]) / alone, iterations(&[]) / alone);
    assert!(packets > 2.0, "{packets}");
    assert!((hybrid / packets - 1.0).abs() < 0.1, "{hybrid} {packets}");
}

#[test]
fn a_hybrid_run_is_the_same_on_any_number_of_threads() {
    let [one, two, three] = [1, 2, 3].map(|threads| run_with(HYBRID, &[], threads).unwrap());
    for other in [&two, &three] {
        assert_eq!(one.tables, other.tables);
        assert_eq!(one.summary.fingerprint, other.summary.fingerprint);
    }
}

/// Both notations mean the same, whatever the routing.
#[test]
fn hybrid_runs_have_routings_that_decide_for_every_packet() {
    for (routing, fabric) in
        [("spray", "k_ary_fat_tree"), ("adaptive_up", "k_ary_fat_tree"), ("ugal_local", "dragonfly")]
    {
        let job =
            "workload.permutation = { ranks = 4 }\n[[job]]\nname = \"other\"\nworkload.permutation = { ranks = 4 }\n";
        let text = format!("routing = \"{routing}\"\n[topology.{fabric}]\n{OVERTAKING}{job}");
        let of_job = run_with(&text, &[("job.1.fidelity", "\"flow\"")], 1).unwrap();
        let of_run = run_with(&text, &[("run.fidelity", "\"flow\""), ("job.0.fidelity", "\"packet\"")], 1).unwrap();
        assert_eq!(of_job.tables, of_run.tables, "{routing}");
        assert_eq!((of_job.summary.finished, of_job.summary.packets_dropped), ("complete", 0));
    }
}

/// Two pairs of hosts share one link of 100 Gb/s between two switches.
#[test]
fn messages_and_packets_on_a_link_carry_no_more_than_it_does_and_share_it() {
    let pair = |name: &str, hosts: &str, more: &str| {
        format!("[[job]]\nname = \"{name}\"\n{more}placement.hosts = {hosts}\nworkload.incast = {{ sources = 1 }}\n")
    };
    let fabric = "[topology.fat_tree]\nleaves = 2\nhosts_per_leaf = 2\ncores = 1\nlinks_per_core = 1\n\
                  uplink_rate = \"100Gb/s\"\nhost_rate = \"100Gb/s\"\n[flow_control.none]\n[run]\nend = \"20ms\"\n\
                  warm_up = \"5ms\"\n";
    let text =
        format!("{fabric}{}{}", pair("packets", "[0, 2]", ""), pair("messages", "[1, 3]", "fidelity = \"flow\"\n"));
    let outcome = run_with(&text, &[], 1).unwrap();
    let rates = numbers(&outcome.tables, "streams", "goodput_gbps");
    let alone = run_with(&text, &[("run.jobs", "[\"packets\"]")], 1).unwrap();
    let alone = numbers(&alone.tables, "streams", "goodput_gbps")[0];
    assert!(rates.iter().sum::<f64>() < 1.01 * alone, "{rates:?} {alone}");
    assert!(rates.iter().all(|rate| (rate / alone - 0.5).abs() < 0.05), "{rates:?} {alone}");
}

#[test]
fn what_flow_level_mode_rejects_is_rejected_for_single_jobs_and_all_of_them_are_no_hybrid() {
    let refused = |changes: &[(&str, &str)]| run_with(HYBRID, changes, 1).err().unwrap().to_string();
    let cases = [
        (("job.0.fidelity", "\"flow\""), "job.0.fidelity: flow for every job; expected run.fidelity = \"flow\""),
        (("job.1.fidelity", "\"fluid\""), "job.1.fidelity"),
        (("job.1.priority", "3"), "jobs in several traffic classes, some in packets"),
    ];
    for (change, expected) in cases {
        let error = refused(&[change]);
        assert!(error.contains(expected), "{error}");
    }
    let all = [("job.0.fidelity", "\"flow\""), ("run.fidelity", "\"flow\""), ("job.1.background", "false")];
    assert!(run_with(HYBRID, &[all[0], all[1], ("run.jobs", "[\"halo\"]")], 1).is_ok());
    assert!(run_with(HYBRID, &[all[2], ("run.jobs", "[\"others\"]"), ("run.end", "\"1ms\"")], 1).is_ok());
}

/// Two hosts in packets and six in flow-level mode over one cable of 100 Gb/s, of which 4,096 B of 4,184 B are payload;
/// six more the other way.
const CABLE: &str = "routing = \"shortest_path\"\n[topology.fat_tree]\nleaves = 2\nhosts_per_leaf = 8\ncores = 1\n\
                     links_per_core = 1\n[switch]\nbuffer = \"1MiB\"\n[transport.roce]\n[[job]]\nname = \"p\"\n\
                     placement.hosts = [8, 0]\n\
                     workload.incast = { sources = 1, message = \"1MB\", outstanding = 4 }\n[[job]]\nname = \"p2\"\n\
                     placement.hosts = [9, 1]\n\
                     workload.incast = { sources = 1, message = \"1MB\", outstanding = 4 }\n[[job]]\nname = \"f\"\n\
                     fidelity = \"flow\"\nplacement.hosts = [2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15]\n\
                     workload.permutation_streams = { ranks = 12, message = \"1MB\", messages = 10000, \
                     outstanding = 4, partner = { shift = 6 } }\n";

/// Holds from the first packet on. Both jobs in packets have a quarter of the cable, and less until queues have filled.
#[test]
fn packets_and_messages_carry_no_more_than_a_link_does_in_any_span() {
    let payload = 100.0 * 4096.0 / 4184.0;
    let spans = [("0s", "100us"), ("0s", "500us"), ("500us", "1ms"), ("1ms", "2ms"), ("2ms", "5ms"), ("5ms", "10ms")];
    for (begin, end) in spans {
        let run = [("run.warm_up", format!("{begin:?}")), ("run.end", format!("{end:?}"))];
        let run: Vec<_> = run.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let rates = goodput(&run_with(CABLE, &run, 1).unwrap());
        // Streams of the packets first, then of hosts 2 to 7, and back.
        let packets: f64 = rates[..2].iter().sum();
        for carried in [rates[..8].iter().sum::<f64>(), rates[8..].iter().sum()] {
            assert!(carried < 1.005 * payload, "{begin} {end}: {carried} {rates:?}");
        }
        assert!(packets < 1.1 * payload / 4.0, "{begin} {end}: {packets}");
        assert!(begin == "0s" || packets > 0.9 * payload / 4.0, "{begin} {end}: {packets}");
    }
}

/// Streams of eight hosts amid those of 64 others; docs/models/flow-level.md has the errors.
#[test]
fn packets_keep_their_rate_amid_messages_where_switches_decide_for_every_packet() {
    let job = |name: &str, ranks: u32| {
        format!(
            "[[job]]\nname = \"{name}\"\nplacement.random = {{}}\nworkload.permutation_streams = {{ ranks = {ranks}, \
             message = \"1MB\", messages = 100000, outstanding = 4 }}\n"
        )
    };
    for routing in ["valiant_group", "ugal_global", "ugal_local"] {
        let head = OVERTAKING.split("[[job]]").next().unwrap();
        let text = format!(
            "routing = \"{routing}\"\nrun = {{ end = \"2ms\", warm_up = \"500us\" }}\n[topology.dragonfly]\n{head}{}{}",
            job("p", 8),
            job("f", 64)
        );
        let rate = |fidelity: &str| {
            let outcome = run_with(&text, &[("job.1.fidelity", fidelity)], 1).unwrap();
            goodput(&outcome)[..8].iter().sum::<f64>() / 8.0
        };
        let [packet, hybrid] = ["\"packet\"", "\"flow\""].map(rate);
        assert!((hybrid / packet - 1.0).abs() < 0.2, "{routing}: {hybrid} {packet}");
    }
}

/// Buffers, their headroom and credits are for packets: 512 hosts on a switch of 16 MiB, NICs without room for what
/// credits need, credits that return at once.
#[test]
fn what_only_packets_need_is_not_asked_for_without_them() {
    let job = "[[job]]\nname = \"job\"\nworkload.permutation = { ranks = 8, bytes = \"20kB\", iterations = 1 }\n";
    let cases = [
        ("topology.single_switch.hosts = 512", "switch.buffer"),
        ("topology.single_switch.hosts = 8\nflow_control.credits.buffer = \"1MiB\"", "nic.receive_buffer"),
        (
            "topology.fat_tree = { leaves = 2, hosts_per_leaf = 4, cores = 1, uplink_cable = \"0m\" }\n\
             flow_control.credits.return_latency = \"0s\"",
            "flow_control.credits.return_latency",
        ),
        (
            "routing = \"valiant_group\"\ntopology.dragonfly = {}\nflow_control.pfc.priorities = [0]",
            "flow_control.pfc.priorities",
        ),
        ("topology.single_switch.hosts = 8\nflow_control.pfc.priorities = [3]", "job.0.priority"),
        ("topology.single_switch.hosts = 8\nswitch.egress_threshold.static = \"16MiB\"", "switch.egress_threshold"),
    ];
    for (head, key) in cases {
        let text = format!("{head}\n{job}");
        let summary = run(&text, "flow", 1).unwrap_or_else(|error| panic!("{error}")).summary;
        assert_eq!(summary.finished, "complete", "{head}");
        let error = run(&text, "packet", 1).err().unwrap_or_else(|| panic!("{head}")).to_string();
        assert!(error.contains(key), "{head}: {error}");
    }
}

/// The callback panics as a fault of the simulator would. The pair has sent its first message by then.
#[test]
fn a_panic_ends_a_run_with_what_it_has_until_then() {
    let text = format!("{PAIR}workload.osu_latency = {{ iterations = 1000 }}\n");
    for fidelity in ["packet", "flow"] {
        let changes = [("run.fidelity".to_owned(), format!("{fidelity:?}"))];
        let run = Run::start(&text, "x.toml", &changes, 1, &[]).unwrap();
        let mut reports = 0;
        let outcome = run.finish(&mut |_| {
            reports += 1;
            assert!(reports < 3, "as a fault would");
            true
        });
        let summary = outcome.0.summary;
        assert_eq!(summary.finished, "fault");
        assert_eq!(summary.fault.unwrap().message, "as a fault would");
        assert!(summary.packets_delivered > 0 && summary.end_ns > 0.0, "{fidelity}");
        assert!(!outcome.0.tables.is_empty());
    }
}
