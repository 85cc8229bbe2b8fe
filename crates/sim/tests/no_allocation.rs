//! Packets cost no allocation: once a run has warmed up, serving millions of events allocates next to nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use etherweave_primitives::{Bytes, Duration, Time};
use etherweave_routing::RoutingKind;
use etherweave_sim::{Experiment, Job, Paths, Simulation, params::SimParams};
use etherweave_topology::{Family, KAryFatTree};
use etherweave_workload::{PermutationStreams, Workload};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counter touches no memory of its own.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller keeps the promises of `GlobalAlloc::alloc`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller keeps the promises of `GlobalAlloc::dealloc`.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    // SAFETY: the caller keeps the promises of `GlobalAlloc::realloc`.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_run_allocates_less_than_once_in_ten_thousand_packet_hops() {
    let topology = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
    let streams = PermutationStreams { ranks: 16, message: Bytes::new(1 << 20), messages: 400, ..Default::default() };
    let traffic = Workload::PermutationStreams(streams).traffic(1).unwrap();
    let paths = Paths::per_flow(RoutingKind::UpDown, &topology).unwrap();
    let experiment = Experiment::new(topology, paths, SimParams::default(), vec![Job::of_first_hosts(traffic)]);
    let mut simulation = Simulation::build(&experiment, 1).unwrap();
    simulation.run(Time::ZERO + Duration::from_ms(5), &mut |_| true);
    let (hops, allocations) = (simulation.report().totals.packet_hops, ALLOCATIONS.load(Ordering::Relaxed));
    simulation.run(Time::ZERO + Duration::from_ms(15), &mut |_| true);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocations;
    let hops = simulation.report().totals.packet_hops - hops;
    assert!(hops > 200_000, "{hops} packet-hops");
    assert!(allocations * 10_000 < hops, "{allocations} allocations in {hops} packet-hops");
}
