//! What a draw of open-loop traffic takes, per member of each family: nanoseconds, with hosts in no order that a
//! processor could foresee, as in a run.
//!
//! `cargo run --release -p etherweave-workload --example traffic_speed [groups] [hosts per group]`: by default a small
//! fabric, whose state stays in the cache; 463 648 shows what memory adds at 300,024 hosts.

use std::time::Instant;

use etherweave_primitives::{Duration, HostId, InputError, Purpose, Stream, Time};
use etherweave_workload::{Arrival, HostArrivals, HostGroups, Pattern, Share, pattern::host_destinations};

const DRAWS: u32 = 20_000_000;
const SEED: u64 = 1;

fn main() -> Result<(), InputError> {
    let number = |text: String| text.parse().expect("arguments are numbers");
    let arguments: Vec<u32> = std::env::args().skip(1).map(number).collect();
    let (count, size) = (arguments.first().copied().unwrap_or(8), arguments.get(1).copied().unwrap_or(8));
    let groups = HostGroups::new(&vec![size; count as usize])?;
    println!("{} hosts, {DRAWS} draws each", groups.hosts());
    for arrival in Arrival::defaults() {
        let plan = arrival.plan(Duration::from_ns(200), Share::percent(50))?;
        let mut hosts: Vec<_> = host_ids(&groups).map(|host| HostArrivals::new(SEED, host)).collect();
        report("arrival", arrival.name(), &groups, |host| plan.next(&mut hosts[host.index()]).as_ps());
    }
    for pattern in Pattern::defaults() {
        let plan = match pattern.plan(&groups, SEED) {
            Ok(plan) => plan,
            Err(error) => {
                println!("{:>8} {:<20} not here: {error}", "pattern", pattern.name());
                continue;
            }
        };
        let mut streams: Vec<_> = host_ids(&groups).map(|host| host_destinations(SEED, host)).collect();
        report("pattern", pattern.name(), &groups, |host| {
            plan.destination(host, Time::ZERO, &mut streams[host.index()]).map_or(0, |dst| u64::from(dst.get()))
        });
    }
    Ok(())
}

fn host_ids(groups: &HostGroups) -> impl Iterator<Item = HostId> + use<> {
    (0..groups.hosts()).map(HostId::new)
}

/// Times draws of shuffled hosts in turn; the sum keeps the compiler from leaving them out.
fn report(family: &str, member: &str, groups: &HostGroups, mut draw: impl FnMut(HostId) -> u64) {
    let mut hosts: Vec<_> = host_ids(groups).collect();
    Stream::new(SEED, Purpose::Placement, 0).shuffle(&mut hosts);
    let rounds = DRAWS.div_ceil(groups.hosts());
    let start = Instant::now();
    let sum = (0..rounds).flat_map(|_| &hosts).fold(0u64, |sum, &host| sum.wrapping_add(draw(host)));
    let ns = start.elapsed().as_secs_f64() * 1e9 / (f64::from(rounds) * f64::from(groups.hosts()));
    println!("{family:>8} {member:<20} {ns:>6.2} ns/draw   (sum {sum:016x})");
}
