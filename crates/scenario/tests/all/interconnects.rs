//! Interconnects without load against closed forms.

use etherweave_primitives::{BitRate, Bytes, Duration};
use etherweave_scenario::{Run, Scenario};
use etherweave_sim::frame::size::RoceSizes;
use etherweave_sim::params::{SimParams, SwitchModel, Threshold};
use etherweave_topology::Topology;

use super::results::{numbers, run};

const PROFILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/interconnect");

fn names() -> Vec<String> {
    let files = std::fs::read_dir(PROFILES).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<String> = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// A ping-pong of `bytes` between two hosts at one switch.
fn ping_pong(profile: &str, bytes: u64) -> String {
    format!(
        "interconnect.profile = \"{profile}\"\ntopology.single_switch.hosts = 2\n[[job]]\nname = \"ping\"\n\
         workload.osu_latency = {{ bytes = \"{bytes}B\", iterations = 1, warm_up = 20 }}\n"
    )
}

/// Half of its round trip [ps].
fn latency(profile: &str, bytes: u64) -> f64 {
    let outcome = run(&ping_pong(profile, bytes), &[], 1).unwrap();
    numbers(&outcome.tables, "iterations", "duration_ns")[0] * 500.0
}

/// A byte for all of these [ps].
fn serialization(rate: BitRate, bytes: u64) -> f64 {
    8e12 / rate.as_bps() as f64 * bytes as f64
}

/// Overheads of the library with copies, NICs, bus, two cables, the switch with its header, and the packet on the wire.
fn closed_form(params: &SimParams, topology: &Topology, bytes: u64) -> f64 {
    let (mpi, nic) = (&params.host.mpi_roce, &params.nic);
    let link = topology.channels()[0];
    let payload = bytes + mpi.header.get();
    let wire = match params.transport.roce() {
        Some(roce) => payload.next_multiple_of(4) + u64::from(RoceSizes::new(roce.version, true).first_overhead()),
        None => payload + u64::from(params.transport.headers().first),
    };
    let bus = nic.pcie.as_ref().filter(|bus| bus.store_and_forward);
    let bus = bus.map_or(0.0, |bus| serialization(bus.rate(), bus.write_bytes(payload as u32).into()));
    let read = nic.pcie.as_ref().filter(|bus| payload > bus.inline_max.get());
    let read = read.map_or(Duration::ZERO, |bus| bus.read_latency);
    let copies = (mpi.eager_send_per_kib + mpi.eager_receive_per_kib).as_ps() as f64 * bytes as f64 / 1024.0;
    let fixed: Duration = mpi.send_overhead
        + mpi.handling_overhead
        + read
        + nic.transmit_latency
        + nic.receive_latency
        + params.switch.latency
        + link.length.propagation_time() * 2;
    let header = params.switch.header.get().min(wire);
    fixed.as_ps() as f64 + copies + 2.0 * bus + serialization(link.rate, header + wire)
}

#[test]
fn latency_of_a_packet_without_load_is_the_sum_of_its_parts() {
    for name in names() {
        let scenario = Scenario::parse(&ping_pong(&name, 8), "ping.toml", &[]).unwrap();
        let (params, topology) = (scenario.params(), scenario.topology.generate().unwrap());
        if params.transport.is_in_kernel() {
            continue;
        }
        for bytes in [8, 512, 1_000] {
            let (found, expected) = (latency(&name, bytes), closed_form(&params, &topology, bytes));
            assert!((found - expected).abs() < 1_000.0, "{name}, {bytes} B: {found} against {expected} ps");
        }
    }
}

/// All 64 hosts of a profile add up 4 MB in their switches. Streaming aggregation on HDR takes 95 % of the bandwidth of
/// the network (Graham et al., ISC 2020); of so short a vector latencies are 1 to 3 % more.
#[test]
fn infiniband_reduces_in_the_network_at_the_rate_of_a_link() {
    for profile in ["infiniband-hdr", "infiniband-hdr100", "infiniband-ndr"] {
        let text = format!(
            "interconnect.profile = \"{profile}\"\n[[job]]\nname = \"a\"\nworkload.osu_collective = {{ ranks = 64, \
             operation.allreduce.bytes = \"4MB\", algorithm = \"in_network\", warm_up = 0, iterations = 1 }}\n"
        );
        let rate = Scenario::parse(&text, "a.toml", &[]).unwrap().topology.generate().unwrap().channels()[0].rate;
        let times = numbers(&run(&text, &[], 1).unwrap().tables, "iterations", "duration_ns");
        let share = rate.serialization_time(Bytes::new(4_000_000)).as_ns_f64() / times[0];
        assert!((0.92..1.0).contains(&share), "{profile}: {share} of the rate");
    }
}

/// Four nodes of four add up 16 MB, accelerators of one place a quarter of it, which each host sends once.
///
/// The call takes the latency of NCCL's tables, 2 (3.7 + 3 · 0.4) + 31 - 2 us, and that quarter by the rate of a link.
#[test]
fn infiniband_reduces_for_each_place_of_the_nodes_of_nccl() {
    let text = |more: &str| {
        format!(
            "interconnect.profile = \"infiniband-ndr\"\n[[job]]\nname = \"a\"\n{more}\nworkload.nccl_tests = {{ \
             ranks = 16, operation.allreduce.bytes = \"16MB\", node.accelerators = 4, iterations = 1, \
             algorithm = \"collnet_direct\", protocol = \"simple\" }}\n"
        )
    };
    let outcome = run(&text(""), &[], 1).unwrap();
    let rate = Scenario::parse(&text(""), "a.toml", &[]).unwrap().topology.generate().unwrap().channels()[0].rate;
    let link = rate.serialization_time(Bytes::new(4_000_000)).as_ns_f64();
    for time in numbers(&outcome.tables, "iterations", "duration_ns") {
        let share = link / (time - 38_800.0);
        assert!((0.9..1.0).contains(&share), "{share} of the rate in {time} ns");
    }
    let error = run(&text("connections = \"per pair\""), &[], 1).unwrap_err().to_string();
    assert!(error.contains("per communicator"), "{error}");
}

/// Thresholds of switches by section 3.6.17 of the specification, and the round trip of a full packet between the ends
/// of the profile's fabric in units of 128 ns.
#[test]
fn ultra_ethernet_has_thresholds_of_the_bandwidth_delay_product_of_its_fabric() {
    for name in names().into_iter().filter(|name| name.starts_with("ultra-ethernet")) {
        let text = format!(
            "interconnect.profile = \"{name}\"\n[[job]]\nname = \"a\"\nplacement.hosts = [0, 63]\n\
             workload.incast = {{ sources = 1, message = \"4KiB\", messages = 1, outstanding = 1 }}\n"
        );
        let scenario = Scenario::parse(&text, "a.toml", &[]).unwrap();
        let (params, topology) = (scenario.params(), scenario.topology.generate().unwrap());
        let base = params.transport.uet().unwrap().nscc.as_ref().unwrap().base_round_trip;
        let product = topology.channels()[0].rate.bytes_in(base).get();
        let ecn = params.switch.ecn.unwrap();
        assert_eq!((5 * ecn.queue_min.get(), 5 * ecn.queue_max.get()), (product, 4 * product), "{name}");
        assert_eq!(params.switch.egress_threshold, Threshold::Static(Bytes::new(product)), "{name}");
        let times = numbers(&run(&text, &[], 1).unwrap().tables, "flows", "acknowledged_ns");
        let (mpi, read) = (&params.host.mpi_roce, params.nic.pcie.as_ref().unwrap().read_latency);
        let round_trip = times[0] - (mpi.send_overhead + read).as_ns_f64();
        assert!((base.as_ns_f64() - 128.0..=base.as_ns_f64()).contains(&round_trip), "{name}: {round_trip} ns");
    }
}

/// The interrupt and its batch at the receiver, NICs and the switch follow each other. Calls may overlap with them.
#[test]
fn latency_over_tcp_is_at_least_that_of_what_must_follow_each_other() {
    for name in names() {
        let params = Scenario::parse(&ping_pong(&name, 8), "ping.toml", &[]).unwrap().params();
        if params.transport.tcp().is_none() {
            continue;
        }
        let (cpu, nic) = (&params.host.cpu, &params.nic);
        let batch = cpu.interrupt + cpu.receive_frame + cpu.receive_batch;
        let least = batch + nic.transmit_latency + nic.receive_latency + params.switch.latency;
        let latency_ns = latency(&name, 8) / 1_000.0;
        assert!((least.as_ns_f64()..30_000.0).contains(&latency_ns), "{name}: {latency_ns} ns, at least {least}");
    }
}

/// A fabric of its own for every profile, whose hosts are all used.
#[test]
fn the_fabric_of_every_profile_has_64_hosts_and_its_rates() {
    for name in names() {
        let text = format!("interconnect.profile = \"{name}\"\n[[job]]\nname = \"a\"\nworkload.osu_latency = {{}}\n");
        let topology = Scenario::parse(&text, "a.toml", &[]).unwrap().topology.generate().unwrap();
        assert_eq!(topology.hosts(), 64, "{name}");
        let slowest = topology.channels().iter().map(|channel| channel.rate).min().unwrap();
        let rate_min = BitRate::from_gbps(if name == "ethernet-1-tcp" { 1 } else { 10 });
        assert!(slowest <= topology.channels()[0].rate && slowest >= rate_min, "{name}");
    }
}

/// Two pairs of hosts over one link between two switches.
fn pairs(profile: &str, keys: &str) -> String {
    let job = |name: &str, hosts: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nplacement.hosts = {hosts}\n\
             workload.permutation = {{ ranks = 2, bytes = \"40kB\", iterations = 1 }}\n"
        )
    };
    format!(
        "{keys}interconnect.profile = \"{profile}\"\n\
         topology.fat_tree = {{ leaves = 2, hosts_per_leaf = 2, cores = 1, links_per_core = 1 }}\n{}{}",
        job("a", "[0, 2]"),
        job("b", "[1, 3]")
    )
}

/// Keys that flow-level mode rejects of a profile, beside jobs in packets or without.
fn rejected_keys(params: &SimParams, is_hybrid: bool) -> Vec<&'static str> {
    let transport = (!params.transport.has_flow_level()).then_some("transport");
    let model = (is_hybrid && params.switch.model == SwitchModel::InputQueued).then_some("switch.model");
    [transport, model].into_iter().flatten().collect()
}

/// Runs the pairs to an end, in a mode of which "hybrid" has a job of each fidelity, or is refused with the keys.
fn check_end(profile: &str, model: &str, mode: &str, [finished, end]: [&str; 2]) {
    let case = format!("{profile} {model} {mode} {finished}");
    let fidelity = if mode == "packet" { "packet" } else { "flow" };
    let text = pairs(profile, &format!("run.fidelity = \"{fidelity}\"\n{end}"));
    let mut changes = vec![("switch.model".to_owned(), format!("{model:?}"))];
    if mode == "hybrid" {
        changes.push(("job.0.fidelity".to_owned(), "\"packet\"".to_owned()));
    }
    let params = Scenario::parse(&text, "x.toml", &changes).unwrap().params();
    let rejected = if mode == "packet" { Vec::new() } else { rejected_keys(&params, mode == "hybrid") };
    match Run::start(&text, "x.toml", &changes, 1, &[]) {
        Ok(run) => {
            assert!(rejected.is_empty(), "{case} is not rejected");
            let summary = run.finish(&mut |_| true).0.summary;
            assert_eq!((summary.finished, summary.packets_dropped), (finished, 0), "{case}");
        }
        Err(error) => {
            let error = error.to_string();
            let has_keys = !rejected.is_empty() && rejected.iter().all(|key| error.contains(key));
            assert!(has_keys, "{case}: {error}");
        }
    }
}

/// Holds for all switches and transports. Debug builds count credits and packets at every end.
#[test]
fn every_profile_runs_to_its_end_and_to_a_limit_in_every_fidelity() {
    for profile in names() {
        let own = Scenario::parse(&pairs(&profile, ""), "x.toml", &[]).unwrap().params().switch.model;
        let models: &[&str] = match own {
            SwitchModel::InputQueued => &["input_queued", "shared_buffer"],
            SwitchModel::SharedBuffer => &["shared_buffer"],
        };
        for (model, mode) in models.iter().flat_map(|model| ["packet", "flow", "hybrid"].map(|mode| (model, mode))) {
            check_end(&profile, model, mode, ["complete", ""]);
            check_end(&profile, model, mode, ["time_limit", "run.end = \"4us\"\n"]);
        }
    }
}
