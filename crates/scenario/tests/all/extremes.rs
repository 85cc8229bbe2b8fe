//! Values at the edge of sense, key by key: each runs, or is rejected with what is expected.

use etherweave_scenario::Run;

const MARKS: &str = "switch.ecn = { queue_min = \"10KiB\", queue_max = \"100KiB\", share_max = 0.5 }\n";
const SELECTIVE: &str = "transport.roce.reliability = \"selective_repeat\"\ntransport.roce.";
const TCP: &str = "transport.tcp = {}\nflow_control.none = {}\n";

/// Four hosts, an incast of three into the fourth, and `lines` of dotted keys.
fn scenario(lines: &str) -> String {
    let topology = if lines.contains("topology.") { "" } else { "topology.single_switch = { hosts = 4 }\n" };
    let run = if lines.contains("run") { "" } else { "run.end = \"20us\"\n" };
    let job = "[[job]]\nname = \"j\"\nworkload.incast = { sources = 3, message = \"64KiB\" }\n";
    let job = if lines.contains("[[job]]") { "" } else { job };
    format!("{topology}{run}{lines}\n{job}")
}

fn error(lines: &str) -> String {
    match Run::start(&scenario(lines), "x.toml", &[], 1, &[]) {
        Ok(_) => panic!("{lines} is accepted"),
        Err(error) => error.to_string(),
    }
}

/// Each case is a line and how its error goes on after the key.
fn rejects(cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        let error = error(lines);
        assert!(error.contains(expected), "{lines}\ngave     {error}\nexpected {expected}");
        assert!(error.lines().all(|line| line.starts_with("x.toml:")), "{error}");
    }
}

/// Each case moves packets and keeps count of them.
fn runs(cases: &[&str]) {
    for lines in cases {
        let run = Run::start(&scenario(lines), "x.toml", &[], 1, &[]).unwrap_or_else(|error| panic!("{error}"));
        let summary = run.finish(&mut |_| true).0.summary;
        let lost = summary.packets_dropped + summary.packets_damaged + summary.packets_lost;
        let accounted = summary.packets_delivered + lost + summary.packets_in_flight;
        assert_eq!(summary.packets_created, accounted, "{lines}");
        assert!(summary.packets_created > 0, "{lines}: {summary:?}");
    }
}

#[test]
fn switches() {
    rejects(&[
        ("switch.latency = \"10s\"", "3:8: switch.latency: 10s; expected at most 1s"),
        ("switch.buffer = \"1000GB\"", "switch.buffer: 1000GB; expected less than 4GiB"),
        ("switch.buffer = \"0B\"", "switch.buffer: 0B; expected at least the largest frame on the wire, 4198B"),
        ("switch.header = \"65B\"", "switch.header: 65B; expected 1B to 64B"),
        ("switch.ingress_threshold.static = \"17MiB\"", "more than 0 and at most switch.buffer, 16MiB"),
        ("switch.egress_threshold.static = \"0B\"", "more than 0 and at most switch.buffer, 16MiB"),
        ("switch.ingress_threshold.alpha = 1e300", "1e300; expected an alpha of 1/128 to 1024"),
        ("switch.ingress_threshold.alpha = nan", "NaN; expected an alpha of 1/128 to 1024"),
        ("switch.ingress_threshold.static = \"16MiB\"", "16777216 B; expected at most 16"),
        (
            "switch = { reserve = \"0B\", xon_offset = \"0B\", ingress_threshold.static = \"4KiB\" }",
            "expected room for a frame, 4198 B",
        ),
        (
            "switch = { reserve = \"0B\", egress_threshold.alpha = 0.0078125, buffer = \"400KiB\" }",
            "switch.egress_threshold: 2395 B of switch0's pool, 306588 B, and a reserve of 0 B; expected room for a fr",
        ),
        (
            r#"switch.cells = {size = "9B", factor = 2, fixed = "1B", rates = [{rate = "5Gb/s"}, {rate = "1Gb/s"}]}"#,
            "rates in another order; expected ascending rates",
        ),
        (
            "switch.cells = { size = \"208B\", factor = 2, fixed = \"1KiB\", response_factor = 2 }",
            "none; expected ieee_802_3 beside response_factor",
        ),
        ("switch.xon_offset = \"17MiB\"", "17MiB; expected at most the threshold, 16MiB"),
        (
            "switch.forwarding = \"store_and_forward\"\nswitch.header = \"32B\"",
            "4:8: switch.header: 32B; expected 64B, the default: nothing here cuts through, so that it cannot",
        ),
    ]);
    runs(&[
        "switch.latency = \"0s\"",
        "switch.header = \"1B\"",
        "switch.ingress_threshold.static = \"1B\"",
        "switch.ingress_threshold.alpha = 0.0078125",
        "switch.reserve = \"0B\"",
        "switch.buffer = \"250KiB\"",
    ]);
}

#[test]
fn marking() {
    let ecn = |low: &str, high: &str, share: &str| {
        format!("switch.ecn = {{ queue_min = \"{low}\", queue_max = \"{high}\", share_max = {share} }}")
    };
    rejects(&[
        (&format!("transport.roce.dcqcn = {{}}\n{}", ecn("2KiB", "1KiB", "1.0")), "2KiB; expected at most queue_max"),
        (&format!("transport.roce.dcqcn = {{}}\n{}", ecn("1KiB", "2KiB", "1.5")), "1.5; expected a share of 0 to 1"),
        (&format!("transport.roce.dcqcn = {{}}\n{}", ecn("1KiB", "2KiB", "nan")), "NaN; expected a share of 0 to 1"),
        (&format!("transport.roce.dcqcn = {{}}\n{}", ecn("1KiB", "1GiB", "1.0")), "1GiB; expected at most switch.buf"),
        (MARKS, "switch.ecn: marking switches; expected transport.roce.dcqcn, dctcp or injection_delay: nothing heeds"),
        (&format!("{TCP}{MARKS}"), "switch.ecn: marking switches; expected transport.tcp.ecn = true"),
        ("transport.tcp.ecn = true", "transport.tcp.ecn: true without switch.ecn; expected switches that mark"),
    ]);
    runs(&[&format!("transport.roce.dcqcn = {{}}\n{}", ecn("0B", "0B", "0.0"))]);
}

#[test]
fn flow_control() {
    rejects(&[
        ("flow_control.pfc.quanta = 0", "1 to 65535; 0 would mean to go on"),
        ("flow_control.pfc.reaction = \"2s\"", "flow_control.pfc.reaction: 2s; expected at most 1s"),
        ("flow_control.global_pause.reaction = \"2s\"", "flow_control.global_pause.reaction: 2s; expected at most 1s"),
        ("flow_control.pfc.reaction = \"1s\"", "nic.receive_buffer: 262016B; expected at least"),
        (
            "nic.xoff = \"128KiB\"\nflow_control.pfc.reaction = \"1s\"",
            "switch.buffer: reserves and headroom of switch0 take",
        ),
        ("flow_control.none = { quanta = 1 }", "3:23: flow_control.none.quanta: unknown key; expected none"),
        ("flow_control.none = {}\nswitch.xon_offset = \"1KiB\"", "xon_offset: 1KiB; expected 9KiB, the default"),
        (
            "flow_control.global_pause = {}\nswitch.egress_threshold.alpha = 1.0",
            "4:8: switch.egress_threshold: a threshold of lossy queues; expected none with flow_control.global_pause",
        ),
        (
            "flow_control.credits.priorities = []",
            "flow_control.credits.priorities: none; expected at least one priority",
        ),
        ("flow_control.credits.priorities = [0, 0]", "a priority twice; expected each priority once"),
        (
            "flow_control.credits.return_latency = \"2s\"",
            "flow_control.credits.return_latency: 2s; expected at most 1s",
        ),
        ("flow_control.credits.unit = \"0B\"", "flow_control.credits.unit: 0B; expected 1B to 64KiB"),
        ("flow_control.credits.buffer = \"4KiB\"", "flow_control.credits.buffer: 4KiB; expected at least 4224B: the"),
        (
            "flow_control.credits.buffer = \"200KiB\"\nswitch.buffer = \"400KiB\"",
            "switch.buffer: 409600 B; buffers under",
        ),
        (
            "flow_control.credits.buffer = \"300KiB\"",
            "nic.receive_buffer: 262016B; expected at least 300KiB, the buffers",
        ),
        ("flow_control.credits.return_latency = \"1s\"", "nic.receive_buffer: 262016B; expected at least"),
        (
            "flow_control.credits = {}\nswitch.headroom = \"1KiB\"",
            "expected none: nothing here pauses, so that it cannot take effect",
        ),
        ("flow_control.credits = {}\nswitch.xon_offset = \"1KiB\"", "xon_offset: 1KiB; expected 9KiB, the default"),
        (
            "flow_control.credits.priorities = [0, 1, 2, 3, 4, 5, 6, 7]\nswitch.egress_threshold.alpha = 1.0",
            "switch.egress_threshold: a threshold of lossy queues; expected none with flow_control.credits",
        ),
        ("ets.weights = [0, 0, 0, 0, 0, 0, 0, 1]", "a sum of 1 %; expected a sum of 100 %, or all strict (0)"),
        (
            "ets = { class_of_priority = [0, 0, 0, 0, 0, 0, 0, 0], weights = [50, 50, 0, 0, 0, 0, 0, 0] }",
            "ets.weights: a share for class 1; expected shares of classes that a priority maps to",
        ),
        ("ets.class_of_priority = [8, 0, 0, 0, 0, 0, 0, 0]", "8; expected classes 0 to 7"),
    ]);
    runs(&[
        "flow_control.pfc.quanta = 1",
        "flow_control.pfc.reaction = \"0s\"",
        "flow_control.pfc.priorities = [0, 1, 2, 3, 4, 5, 6, 7]",
        "flow_control.global_pause = {}",
        "flow_control.credits.priorities = [0, 1, 2, 3, 4, 5, 6, 7]",
        "flow_control.credits = { buffer = \"4224B\", unit = \"1B\", return_latency = \"0s\" }",
        "ets.weights = [0, 0, 0, 0, 0, 0, 0, 0]",
        "ets.class_of_priority = [7, 7, 7, 7, 7, 7, 7, 7]",
    ]);
}

#[test]
fn hosts() {
    rejects(&[
        ("nic.drain_rate = \"1b/s\"", "nic.drain_rate: 1b/s; expected 1Mb/s to 100Tb/s"),
        ("nic = { receive_buffer = \"2KiB\", xoff = \"1KiB\", xon = \"0B\" }", "at least 4533B: a frame, 4198B, and"),
        ("nic.context_switch = \"1ms\"", "nic.receive_buffer: 262016B; expected at least"),
        ("nic.receive_buffer = \"4GiB\"", "nic.receive_buffer: 4GiB; expected less than 4GiB"),
        ("nic.receive_latency = \"10s\"", "nic.receive_latency: 10s; expected at most 1s"),
        ("host.receive.queues = 0", "host.receive.queues: 0; expected 1 to 128"),
        ("host.receive.ring = 0", "host.receive.ring: 0; expected 1 or more frames"),
        ("host.receive.moderation.adaptive.start = 5", "start: 5; expected 0 to 4"),
        ("host.receive.moderation.fixed = { period = \"10s\", count = 1 }", "period: 10s; expected at most 1s"),
        ("host.receive.moderation.fixed = { period = \"8us\", count = 0 }", "count: 0; expected 1 or more frames"),
        ("host.transmit.moderation.adaptive.start = 5", "host.transmit.moderation.adaptive.start: 5; expected 0 to 4"),
        ("host.timer_slack = \"10s\"", "host.timer_slack: 10s; expected at most 1s"),
        ("host.cpu.receive_frame = \"10s\"", "host.cpu.receive_frame: 10s; expected at most 1s"),
        ("host.cpu.send_per_kib = \"1s\"", "host.cpu.send_per_kib: 1s; expected at most"),
        ("host.cpu.offload = \"4GiB\"", "host.cpu.offload: 4GiB; expected 1B to 512KiB"),
        ("transport.tcp = {}\nhost.cpu.offload = \"1B\"", "at least transport.tcp.mss, 4448B, which means no offload"),
        ("host.mpi_roce.header = \"0B\"", "host.mpi_roce.header: 0B; expected 1B to 64KiB"),
        ("host.mpi_tcp.send_overhead = \"10s\"", "host.mpi_tcp.send_overhead: 10s; expected at most 1s"),
    ]);
    runs(&[
        "nic = { receive_buffer = \"5KiB\", xoff = \"4KiB\", xon = \"0B\" }",
        "nic.drain_rate = \"1Mb/s\"",
        &format!("{TCP}nic.receive_buffer = \"64KiB\""),
        &format!("{TCP}host.cpu.offload = \"4448B\""),
        &format!("{TCP}host.cpu.offload = \"512KiB\""),
        &format!("{TCP}host.cpu.acknowledgement = \"1s\""),
    ]);
}

#[test]
fn roce() {
    rejects(&[
        ("transport.roce.window = \"0B\"", "0B; expected at least ack_every packets, 64KiB"),
        ("transport.roce.window = \"1000GB\"", "1000GB; expected at most 32GiB: 2^23 packets"),
        ("transport.roce.ack_every = 4294967295", "transport.roce.window: 1MiB; expected at least ack_every packets"),
        ("transport.roce.psn_range = 64", "64; expected 1024, the default: nothing here repeats"),
        ("transport.roce.tail_loss_probe_min = \"1us\"", "1us; expected 100us, the default: nothing here sends probes"),
        ("transport.roce.loss_detection = \"timeout\"", "timeout; expected time, the default: nothing here repeats"),
        (
            &format!("{SELECTIVE}loss_detection = \"timeout\"\ntransport.roce.tail_loss_probe_min = \"1us\""),
            "1us; expected 100us, the default: nothing here sends probes",
        ),
        (&format!("{SELECTIVE}psn_range = 15"), "15; expected at least ack_every, 16"),
        (&format!("{SELECTIVE}psn_range = 8388609"), "8388609; expected at most 2^23"),
        (&format!("{SELECTIVE}tail_loss_probe_min = \"1s\""), "1s; expected at most retransmission_timeout, 67109us"),
        ("transport.roce.retransmission_timeout = \"0s\"", "0ps; expected 1ps to 1000000s"),
        ("transport.roce.retransmission_timeout = \"18000000s\"", "18000000s; expected 1ps to 1000000s"),
        (&format!("{MARKS}transport.roce.dcqcn.dce_tcp_rtt = \"1ps\""), "1ps; expected at least 100ns"),
        (&format!("{MARKS}transport.roce.dcqcn.rpg_min_rate = \"0b/s\""), "0b/s; expected 1Mb/s to 100Tb/s"),
        (&format!("{MARKS}transport.roce.dcqcn.rpg_byte_reset = \"0B\""), "0B; expected more than 0"),
        (&format!("{MARKS}transport.roce.dcqcn.dce_tcp_g = 1024"), "1024; expected 0 to 1023"),
    ]);
    runs(&[
        "transport.roce = { window = \"4KiB\", ack_every = 1 }",
        &format!("{SELECTIVE}psn_range = 16"),
        &format!("{SELECTIVE}tail_loss_probe_min = \"0s\""),
        &format!("{SELECTIVE}loss_detection = \"timeout\"\ntransport.roce.retransmission_timeout = \"50us\""),
        "transport.roce = { window = \"2GiB\", path_mtu = \"256B\" }",
        &format!(
            "{MARKS}transport.roce.dcqcn = {{ rpg_byte_reset = \"1B\", dce_tcp_g = 0, min_time_between_cnps = \"0s\" }}"
        ),
    ]);
}

#[test]
fn tcp() {
    let tcp = |lines: &str| format!("flow_control.none = {{}}\ntransport.tcp = {{ {lines} }}");
    rejects(&[
        (&tcp("mss = \"0B\""), "4:19: transport.tcp.mss: 0B; expected 1B to 65483B"),
        (&tcp("mss = \"18446744073GB\""), "transport.tcp.mss: 18446744073GB; expected 1B to 65483B"),
        (
            &tcp("receive_buffer = \"9kB\""),
            "transport.tcp.receive_buffer_initial: 87380B; expected at most receive_buf",
        ),
        (&tcp("receive_buffer = \"4GiB\""), "transport.tcp.receive_buffer: 4GiB; expected at most 2GiB"),
        (&tcp("receive_buffer_initial = \"1kB\""), "1kB; expected at least 8896B: half of it must hold a segment"),
        (&tcp("send_buffer = \"1kB\""), "transport.tcp.send_buffer: 1kB; expected 4448B to 2GiB"),
        (&tcp("initial_window = 0"), "transport.tcp.initial_window: 0; expected 1 or more segments"),
        (&tcp("delayed_ack_segments = 0"), "transport.tcp.delayed_ack_segments: 0; expected 1 or more segments"),
        (
            &tcp("rto_initial = \"0s\""),
            "transport.tcp.rto_initial: 0ps; expected more than 0 and at most rto_max, 120s",
        ),
        (&tcp("rto_min = \"0s\""), "transport.tcp.rto_min: 0ps; expected more than 0 and at most rto_max, 120s"),
        (&tcp("rto_max = \"18000000s\""), "transport.tcp.rto_max: 18000000s; expected 1ps to 1000000s"),
        (&tcp("delayed_ack = \"1000s\""), "transport.tcp.delayed_ack: 1000s; expected at most rto_max, 120s"),
        (&tcp("hystart_clock = \"0s\""), "transport.tcp.hystart_clock: 0ps; expected 1ps to 1000000s"),
        (&tcp("hystart = false, hystart_clock = \"1us\""), "1us; expected 1ms, the default: nothing here uses"),
        (
            &tcp("congestion_control = \"new_reno\", hystart_clock = \"1us\""),
            "1us; expected 1ms, the default: nothing here uses HyStart, so that it cannot take effect",
        ),
        (&tcp("tail_loss_probe = false, tail_loss_probe_min = \"1us\""), "1us; expected 10ms, the default: nothing"),
        (&tcp("sack = false"), "transport.tcp.tail_loss_probe: true without sack; expected false, or sack"),
    ]);
    runs(&[
        &tcp("mss = \"1B\", receive_buffer_initial = \"2B\""),
        &tcp("initial_window = 4294967295, delayed_ack_segments = 4294967295, quick_acks = 4294967295"),
        &tcp("receive_buffer_initial = \"2GiB\", receive_buffer = \"2GiB\", send_buffer = \"2GiB\""),
        &tcp("receive_buffer_initial = \"8896B\", receive_buffer = \"8896B\", send_buffer = \"4448B\""),
        &tcp("rto_min = \"1ps\", rto_initial = \"1ps\", delayed_ack = \"0s\""),
        &tcp("sack = false, tail_loss_probe = false, early_retransmit = false"),
    ]);
}

#[test]
fn fabrics() {
    rejects(&[
        ("topology.single_switch = { hosts = 4, rate = \"1b/s\" }", "has rate 1b/s; expected 1Mb/s to 100Tb/s"),
        ("topology.single_switch = { hosts = 4, rate = \"200Tb/s\" }", "has rate 200Tb/s; expected 1Mb/s to 100Tb/s"),
        ("topology.single_switch = { hosts = 4, cable = \"1001km\" }", "too long; expected at most 1000km"),
        ("topology.single_switch = { hosts = 65537 }", "65537; expected 1 to 65536"),
        ("topology.fat_tree = { cores = 4294967295 }", "too many links; expected at most 4194304"),
    ]);
    runs(&[
        "topology.single_switch = { hosts = 4, rate = \"1Mb/s\" }",
        "topology.single_switch = { hosts = 4, rate = \"1.6Tb/s\" }",
        "topology.single_switch = { hosts = 4, cable = \"0m\" }",
    ]);
}

/// A job of one workload, and what else the job says.
fn job(workload: &str) -> String {
    format!("[[job]]\nname = \"j\"\nworkload.{workload}")
}

#[test]
fn messages_and_ranks() {
    rejects(&[
        (&job("osu_bw = { bytes = \"2000GB\" }"), "job.0.workload.osu_bw.bytes: 2000GB; expected at most 1024GiB"),
        (&job("osu_bw = { window = 4294967295 }"), "job.0.workload.osu_bw.window: 4294967295; expected 1 to 65536"),
        (&job("osu_latency = { iterations = 4294967295 }"), "4294967295 rows over all ranks and jobs so far; expected"),
        (&job("incast = { message = \"2000GB\", sources = 1 }"), "message: 2000GB; expected at most 1024GiB"),
        (&job("incast = { message = \"0B\", sources = 1 }"), "message: 0B; expected at least 1B"),
        (&job("incast = { sources = 4294967295 }"), "4294967296 ranks; expected at most 4, one for each host"),
        (&job("incast = { sources = 1, streams_per_source = 4294967295 }"), "4294967295 streams; expected at most"),
        (&job("all_to_all = { ranks = 4294967295 }"), "4294967295 ranks; expected at most 4"),
        (&job("all_to_all = { ranks = 4, bytes = \"2GiB\" }"), "bytes: 2GiB; expected at most 2147483647B"),
        (&job("permutation = { ranks = 4294967295 }"), "4294967295 ranks; expected at most 4"),
        (&job("permutation = { ranks = 4, partner.shift = 4294967292 }"), "shift 4294967292 among 4 ranks leads back"),
        (&job("permutation_streams = { ranks = 4, messages = 0 }"), "nothing to send; expected at least one message"),
        (
            &job("permutation_streams = { ranks = 4, messages = 4294967295, message = \"1GB\" }"),
            "messages: 4294967295 of 1GB; expected at most 1073741824GiB in all",
        ),
        (&job("halo3d = { pex = 100000 }"), "job.0.workload: 1200000 ranks; expected at most 4"),
        (&job("halo3d = { pex = 2, pey = 2, pez = 1, vars = 4294967295 }"), "a face of 343597383600kB; expected at mo"),
        (&job("fft = { pex = 0 }"), "job.0.workload.fft.pex: 0; expected at least 1"),
        (
            &job("osu_collective = { ranks = 4, operation.bcast = { root = 4, bytes = \"1B\" } }"),
            "job.0.workload.osu_collective.operation.bcast.root: 4; expected 0 to 3",
        ),
        (
            &job("osu_collective = { ranks = 4, operation.allgather = { bytes = \"4GiB\" } }"),
            "job.0.workload.osu_collective.operation.allgather.bytes: 4GiB; expected at most 2147483647B",
        ),
    ]);
    runs(&[
        &job("osu_bw = { bytes = \"1000GB\" }"),
        &job("osu_latency = { bytes = \"0B\", warm_up = 4294967295 }"),
        &job("incast = { sources = 1, outstanding = 4294967295 }"),
        &job("permutation_streams = { ranks = 4, messages = 4294967295 }"),
        &job("osu_collective = { ranks = 4, operation.bcast = { root = 3, bytes = \"2147483647B\" } }"),
    ]);
}

#[test]
fn times_of_runs_and_jobs() {
    let two = format!("{}\n{}", job("osu_latency = {}"), job("osu_latency = {}"));
    // Rank 1 waits for 15 s.
    let text = "num_ranks 2\\nrank 0 {\\na: calc 15000000000\\nb: send 8b to 1\\nb requires a\\n}\\n\
                rank 1 {\\nrecv 8b from 0\\n}\\n";
    let trace = job(&format!("goal.text = \"{text}\""));
    let nap = job("halo3d = { pex = 2, pey = 2, pez = 1, sleep = \"10s\" }");
    rejects(&[
        ("run.end = \"0s\"", "run.end: 0ps; expected more than 0 and at most 5000000s"),
        ("run.end = \"18000000s\"", "run.end: 18000000s; expected more than 0 and at most 5000000s"),
        ("run = { end = \"1us\", warm_up = \"1us\" }", "run.warm_up: 1us; expected less than the end of the run, 1us"),
        ("run.stall_limit = \"1ps\"", "run.stall_limit: 1ps; expected more than a retransmission timeout, 67109us"),
        ("run.fingerprint = true", "run.end: none; expected an end of the run: the streams of incast have none"),
        (
            &format!("run = {{ end = \"1ms\", warm_up = \"1us\" }}\n{}", job("osu_latency = {}")),
            "run.warm_up: 1us; expected none without streams",
        ),
        (&job("osu_latency = {}\nstart = \"20us\""), "job.0.start: 20us; expected less than the end of the run, 20us"),
        (
            &format!("run.stall_limit = \"10s\"\n{}", job("osu_latency = {}\nstart = \"20s\"")),
            "run.stall_limit: 10s; expected more than 20s, when job.0 starts",
        ),
        (
            &format!("run.stall_limit = \"10s\"\n{nap}"),
            "run.stall_limit: 10s; expected more than 10.00005s, for which job.0 sleeps or computes",
        ),
        (
            &format!("run.stall_limit = \"15s\"\n{trace}"),
            "run.stall_limit: 15s; expected more than 15.00005s, for which job.0 computes: that is waiting",
        ),
        (&job("osu_latency = {}\nbackground = true"), "job.0.background: true; expected false for one job at least"),
        (&format!("run.jobs = [\"k\"]\n{}", job("osu_latency = {}")), "run.jobs: k; expected names of jobs: j"),
        (&two, "job.1.name: j twice; expected another name for each job"),
        (
            &job("osu_latency = {}").replace("\"j\"", "\"\""),
            "job.0.name: \"\" is empty; expected a name that a file can have",
        ),
        (
            &format!("{MARKS}transport.roce.dcqcn.rpg_min_rate = \"200Gb/s\""),
            "transport.roce.dcqcn.rpg_min_rate: 200Gb/s; expected at most the rate of a host's link, 100Gb/s",
        ),
    ]);
    runs(&[&format!("run.end = \"16s\"\n{trace}")]);
    runs(&[&format!("run.stall_limit = \"11s\"\nrun.end = \"1ms\"\n{nap}").replace("\"10s\"", "\"10us\"")]);
}
