//! Eager messages, rendezvous, and what copies cost.

use etherweave_primitives::{Bytes, Duration};
use etherweave_sim::params::{MpiParams, SimParams, UCX_COPY_PER_KIB};
use etherweave_workload::{AllToAll, OsuLatency, Workload};

use crate::common::{experiment, job, one_switch, roce, run};

/// The round trip of a ping-pong with messages of `bytes` [ps].
fn round_trip(mpi: MpiParams, bytes: u64) -> u64 {
    let mut params: SimParams = roce();
    params.host.mpi_roce = mpi;
    let latency = OsuLatency { bytes: Bytes::new(bytes), warm_up: 1, iterations: 1, ..Default::default() };
    let report = run(&experiment(one_switch(2), params, vec![job(&Workload::OsuLatency(latency))]), 1);
    report.iterations[0].duration.as_ps()
}

/// 5 KiB are copied into and out of buffers in either direction: four copies of 5 KiB.
#[test]
fn an_eager_message_is_copied_at_both_ends() {
    let direct = MpiParams::roce();
    let (eager_send_per_kib, eager_receive_per_kib) = (UCX_COPY_PER_KIB, UCX_COPY_PER_KIB);
    let copied = MpiParams { eager_send_per_kib, eager_receive_per_kib, ..direct.clone() };
    assert_eq!(round_trip(copied, 5 << 10) - round_trip(direct, 5 << 10), UCX_COPY_PER_KIB.as_ps() * 5 * 4);
}

/// 16 KiB in fragments of 8 KiB, whose wire is far faster than their copies. While the receiver copies the first the
/// sender copies the second: three copies of 8 KiB one way in place of four, and one more post and one more completion.
#[test]
fn copies_of_fragments_overlap() {
    let (eager_send_per_kib, eager_receive_per_kib) = (Duration::from_us(10), Duration::from_us(10));
    let eager =
        MpiParams { eager_max: Bytes::new(64 << 10), eager_send_per_kib, eager_receive_per_kib, ..MpiParams::roce() };
    let fragments = MpiParams { fragment: Some(Bytes::new(8 << 10)), ..eager.clone() };
    let saved = round_trip(eager, 16 << 10) - round_trip(fragments, 16 << 10);
    let copy = Duration::from_us(10).as_ps() * 8;
    assert!(saved.abs_diff(2 * copy) < copy / 50, "{saved} ps");
}

/// Beyond the threshold a message is read from where it lies: no copies, but a request, a READ and its answer.
#[test]
fn a_message_beyond_the_threshold_is_not_copied() {
    let mpi = MpiParams::roce();
    let most = mpi.eager_max.get();
    let slow = MpiParams { eager_send_per_kib: Duration::from_us(1), ..mpi.clone() };
    assert_eq!(round_trip(slow.clone(), most + 1), round_trip(mpi.clone(), most + 1));
    assert!(round_trip(slow, most) > round_trip(mpi, most));
}

/// A NIC that matches spares the receiver the handling of the request: one of four in a round trip of two messages, at
/// either end. The payload and the message that ends each are handled as before.
#[test]
fn a_nic_that_matches_fetches_the_payload_without_the_processor() {
    let by_processor = MpiParams::roce();
    let by_nic = MpiParams { matched_by_nic: true, ..by_processor.clone() };
    let bytes = by_processor.eager_max.get() + 1;
    let saved = round_trip(by_processor.clone(), bytes) - round_trip(by_nic.clone(), bytes);
    assert_eq!(saved, 2 * by_processor.handling_overhead.as_ps());
    assert_eq!(round_trip(by_processor, 8), round_trip(by_nic, 8), "an eager message is handled as before");
}

/// Windows of 8 KiB, each a piece: every further one takes the same time longer, and every piece is copied, before the
/// next window is cleared, by the receiver alone.
#[test]
fn a_message_in_windows_waits_for_its_receiver_at_each() {
    let window = Some(Bytes::new(8 << 10));
    let direct = MpiParams { rendezvous_window: window, fragment: window, ..MpiParams::roce() };
    let [three, four, five] = [3, 4, 5].map(|windows| round_trip(direct.clone(), windows * (8 << 10)));
    assert_eq!(five - four, four - three);
    let once = MpiParams { rendezvous_window: Some(Bytes::new(64 << 10)), ..direct.clone() };
    let small = round_trip(direct.clone(), 8);
    assert!(three - round_trip(once, 24 << 10) > small, "a clear to send and a piece more for two windows, each way");
    let (eager_send_per_kib, eager_receive_per_kib) = (Duration::from_us(9), Duration::from_us(1));
    let copied = MpiParams { eager_send_per_kib, eager_receive_per_kib, ..direct };
    assert_eq!(round_trip(copied, 24 << 10) - three, Duration::from_us(2 * 24).as_ps());
}

/// A collective's message of 10,000 B crosses the network once if it is eager, and four times if it is not.
#[test]
fn messages_of_collectives_have_a_threshold_of_their_own() {
    let time = |collective_eager_max| {
        let mut params = roce();
        params.host.mpi_roce.collective_eager_max = Some(collective_eager_max);
        let all_to_all = AllToAll { bytes: Bytes::new(10_000), ..AllToAll::default() };
        let workload = Workload::AllToAll(all_to_all);
        let ranks = workload.ranks() as u32;
        run(&experiment(one_switch(ranks), params, vec![job(&workload)]), 1).totals.end
    };
    assert!(time(Bytes::new(256 << 10)) < time(Bytes::new(8 << 10)));
}

/// `osu_latency` calls `MPI_Send`: 64 KiB are copied at both ends where blocking sends are eager so far.
#[test]
fn the_ping_pong_sends_by_blocking_sends() {
    let (eager_send_per_kib, collective_eager_max) = (Duration::from_us(1), Some(Bytes::new(256 << 10)));
    let blocking = MpiParams { eager_send_per_kib, collective_eager_max, ..MpiParams::roce() };
    let none = MpiParams { eager_send_per_kib: Duration::ZERO, ..blocking.clone() };
    assert_eq!(round_trip(blocking, 64 << 10) - round_trip(none, 64 << 10), Duration::from_us(2 * 64).as_ps());
}

/// Two ranks exchange 10 KiB each, and copy as much: 100 ns for each KiB.
#[test]
fn the_block_of_a_rank_for_itself_is_copied() {
    let time = |self_per_kib| {
        let mut params = roce();
        params.host.mpi_roce.self_per_kib = self_per_kib;
        let all_to_all = AllToAll { ranks: 2, bytes: Bytes::new(10 << 10), iterations: 1, ..AllToAll::default() };
        let workload = Workload::AllToAll(all_to_all);
        run(&experiment(one_switch(2), params, vec![job(&workload)]), 1).iterations[0].duration
    };
    assert_eq!(time(Duration::from_ns(100)), time(Duration::ZERO) + Duration::from_ns(1_000));
}
