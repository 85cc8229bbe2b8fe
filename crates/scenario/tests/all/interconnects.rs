//! Interconnects without load against closed forms.

use etherweave_primitives::{BitRate, Duration};
use etherweave_scenario::{Column, Run, Scenario};
use etherweave_sim::frame::size::RoceSizes;
use etherweave_sim::params::SimParams;
use etherweave_topology::Topology;

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
         workload.osu_latency = {{ bytes = \"{bytes}B\", iterations = 1, warm_up = 1 }}\n"
    )
}

/// Half of its round trip [ps].
fn latency(profile: &str, bytes: u64) -> f64 {
    let run = Run::start(&ping_pong(profile, bytes), "ping.toml", &[], 1, &[]).unwrap();
    let outcome = run.finish(&mut |_| true).0;
    let rows = outcome.tables.iter().find(|table| table.name == "iterations").unwrap();
    let Some((_, Column::Numbers(times))) = rows.columns.iter().find(|(name, _)| *name == "duration_ns") else {
        panic!("a column of times")
    };
    times[0] * 500.0
}

/// A byte for all of these [ps].
fn serialization(rate: BitRate, bytes: u64) -> f64 {
    8e12 / rate.as_bps() as f64 * bytes as f64
}

/// Overheads of the library with copies, NICs, bus, two cables, the switch with its header, and the packet on the wire.
fn closed_form(params: &SimParams, topology: &Topology, bytes: u64) -> f64 {
    let (mpi, nic, roce) = (&params.host.mpi_roce, &params.nic, params.transport.roce().unwrap());
    let link = topology.channels()[0];
    let payload = bytes + mpi.header.get();
    let wire = payload.next_multiple_of(4) + u64::from(RoceSizes::new(roce.version, true).first_overhead());
    let bus = nic.pcie.as_ref().filter(|bus| bus.store_and_forward);
    let bus = bus.map_or(0.0, |bus| serialization(bus.rate(), bus.write_bytes(payload as u32).into()));
    let copies = (mpi.eager_send_per_kib + mpi.eager_receive_per_kib).as_ps() as f64 * bytes as f64 / 1024.0;
    let fixed: Duration = mpi.send_overhead
        + mpi.handling_overhead
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
        if params.transport.roce().is_none() {
            continue;
        }
        for bytes in [8, 512, 1_000] {
            let (found, expected) = (latency(&name, bytes), closed_form(&params, &topology, bytes));
            assert!((found - expected).abs() < 1_000.0, "{name}, {bytes} B: {found} against {expected} ps");
        }
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
        let found = latency(&name, 8) / 1_000.0;
        assert!((least.as_ns_f64()..30_000.0).contains(&found), "{name}: {found} ns, at least {least}");
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
        assert!(slowest <= topology.channels()[0].rate && slowest > BitRate::from_gbps(9), "{name}");
    }
}
