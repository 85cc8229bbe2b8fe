//! The point-to-point tests of the OSU Micro-Benchmarks: pairs of ranks, of which the first half holds the clocks.

use etherweave_primitives::{Bytes, InputError, InputErrors, Rank, params};

use crate::collective::{BLOCKING, Collective, Communicator, Rule};
use crate::limits::{MESSAGE_MAX, WINDOW_MAX, at_least, at_most, within};
use crate::{Block, Op, Program, RankWorkload, program::iteration};

params! {
    /// Ping-pong (`osu_latency`; `osu_multi_lat` with several pairs). An iteration is one *round trip*; the tool
    /// reports half of its mean.
    pub struct OsuLatency {
        /// Message each way [B], 0 or more.
        pub bytes: Bytes = Bytes::new(8),
        /// Pairs of ranks, 1 or more: each rank of the first half of all with one of the second. Default 1.
        pub pairs: u32 = 1,
        /// Round trips that are not measured.
        pub warm_up: u32 = 10,
        /// Round trips that are measured, 1 or more.
        pub iterations: u32 = 1_000,
    }
}

params! {
    /// One-way bandwidth (`osu_bw`; `osu_mbw_mr` with several pairs). An iteration is one window and its 4-byte
    /// acknowledgement; the tool reports `window · bytes · iterations / time`.
    pub struct OsuBw {
        /// One message [B], 1 or more.
        pub bytes: Bytes = Bytes::new(4 << 20),
        /// Pairs of ranks, 1 or more: each rank of the first half of all with one of the second. Default 1.
        pub pairs: u32 = 1,
        /// Messages that are posted at once, 1 or more.
        pub window: u32 = 64,
        /// Windows that are not measured.
        pub warm_up: u32 = 2,
        /// Windows that are measured, 1 or more.
        pub iterations: u32 = 20,
    }
}

params! {
    /// Two-way bandwidth (`osu_bibw`). An iteration is one window each way;
    /// the tool reports `2 · window · bytes · iterations / time`.
    pub struct OsuBibw {
        /// One message [B], 1 or more.
        pub bytes: Bytes = Bytes::new(4 << 20),
        /// Messages that are posted at once each way, 1 or more.
        pub window: u32 = 64,
        /// Windows that are not measured.
        pub warm_up: u32 = 2,
        /// Windows that are measured, 1 or more.
        pub iterations: u32 = 20,
    }
}

impl RankWorkload for OsuLatency {
    fn ranks(&self) -> u64 {
        2 * u64::from(self.pairs)
    }

    /// Rank 0 sends and receives, rank 1 receives and sends.
    ///
    /// # Errors
    /// When there is nothing to measure.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        /// The tool sends by `MPI_Send`, which libraries treat as they do the sends of collectives.
        const TAG: u32 = BLOCKING;
        InputErrors::all([
            at_least("iterations", self.iterations, 1),
            at_most("bytes", self.bytes, MESSAGE_MAX),
            pairs_are_sound(self.pairs),
        ])?;
        let bytes = self.bytes.get();
        let ping = |peer| vec![send(peer, TAG, bytes), Op::WaitAll, receive(peer, TAG, bytes), Op::WaitAll];
        let pong = |peer| vec![receive(peer, TAG, bytes), Op::WaitAll, send(peer, TAG, bytes), Op::WaitAll];
        Ok(ranks.map(paired(self.pairs, ping, pong, self.warm_up, self.iterations)).collect())
    }
}

impl RankWorkload for OsuBw {
    fn ranks(&self) -> u64 {
        2 * u64::from(self.pairs)
    }

    /// Rank 0 fills the window, rank 1 drains it and acknowledges.
    ///
    /// # Errors
    /// When there is nothing to send or to measure.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        const DATA: u32 = 100;
        const ACK: u32 = 101;
        const ACK_BYTES: u64 = 4;
        window_is_sound(self.bytes, self.window, self.iterations)?;
        pairs_are_sound(self.pairs)?;
        let (bytes, window) = (self.bytes.get(), self.window as usize);
        let then = |mut ops: Vec<Op>, last| {
            ops.extend([Op::WaitAll, last, Op::WaitAll]);
            ops
        };
        let sender = |peer| then(vec![send(peer, DATA, bytes); window], receive(peer, ACK, ACK_BYTES));
        let receiver = |peer| then(vec![receive(peer, DATA, bytes); window], send(peer, ACK, ACK_BYTES));
        Ok(ranks.map(paired(self.pairs, sender, receiver, self.warm_up, self.iterations)).collect())
    }
}

impl RankWorkload for OsuBibw {
    fn ranks(&self) -> u64 {
        2
    }

    /// Both ranks post a window of receives, then a window of sends.
    ///
    /// # Errors
    /// When there is nothing to send or to measure.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        const FROM: [u32; 2] = [100, 10];
        window_is_sound(self.bytes, self.window, self.iterations)?;
        let (bytes, window) = (self.bytes.get(), self.window as usize);
        let side = |me: usize, peer: u32| {
            let mut ops = vec![receive(peer, FROM[1 - me], bytes); window];
            ops.extend(vec![send(peer, FROM[me], bytes); window]);
            ops.push(Op::WaitAll);
            ops
        };
        Ok(ranks.map(paired(1, |peer| side(0, peer), |peer| side(1, peer), self.warm_up, self.iterations)).collect())
    }
}

fn send(peer: u32, tag: u32, bytes: u64) -> Op {
    Op::Isend { peer: Rank::new(peer), tag, bytes }
}

fn receive(peer: u32, tag: u32, bytes: u64) -> Op {
    Op::Irecv { peer: Rank::new(peer), tag, bytes }
}

fn window_is_sound(bytes: Bytes, window: u32, iterations: u32) -> Result<(), InputErrors> {
    InputErrors::all([
        InputError::unless(bytes != Bytes::ZERO, "bytes", "0B", "at least 1B: a bandwidth needs data"),
        at_most("bytes", bytes, MESSAGE_MAX),
        within("window", window, 1..=WINDOW_MAX),
        at_least("iterations", iterations, 1),
    ])
}

/// More pairs than a fabric has hosts for are rejected with the fabric; this keeps their number a number of ranks.
fn pairs_are_sound(pairs: u32) -> Result<(), InputError> {
    within("pairs", pairs, 1..=1 << 30)
}

/// Barrier, warm-up, measured iterations of every rank with its peer. Only the first halves mark them, for only their
/// clocks are reported.
fn paired(
    pairs: u32,
    first: impl Fn(u32) -> Vec<Op>,
    second: impl Fn(u32) -> Vec<Op>,
    warm_up: u32,
    iterations: u32,
) -> impl Fn(u32) -> Program {
    let world = Communicator::world(2 * pairs);
    move |rank| {
        let is_first = rank < pairs;
        let once = if is_first { first(rank + pairs) } else { second(rank - pairs) };
        let timed = if is_first { iteration(once.clone()) } else { once.clone() };
        Program::new([
            Block::unmeasured(Collective::Barrier.lower(&Rule::default(), &world, rank)),
            Block { ops: once.into(), repeat: warm_up, measured: false },
            Block::measured(timed, iterations),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes_sent;

    #[test]
    fn a_window_is_64_messages_and_an_acknowledgement_of_4_bytes() {
        let bw = OsuBw { bytes: Bytes::new(1_000), warm_up: 2, iterations: 20, ..OsuBw::default() };
        let [sender, receiver] = &bw.programs(1).unwrap()[..] else { panic!("two ranks") };
        assert_eq!(bytes_sent(sender), (2 + 20) * 64 * 1_000);
        assert_eq!(bytes_sent(receiver), (2 + 20) * 4);
    }

    #[test]
    fn both_sides_of_bibw_send_alike() {
        let bibw = OsuBibw { bytes: Bytes::new(1_000), warm_up: 0, iterations: 1, ..OsuBibw::default() };
        assert!(bibw.programs(1).unwrap().iter().all(|program| bytes_sent(program) == 64 * 1_000));
    }

    #[test]
    fn each_rank_of_the_first_half_has_one_of_the_second() {
        let programs = OsuLatency { pairs: 3, iterations: 1, warm_up: 0, ..OsuLatency::default() }.programs(1).unwrap();
        let pinged = |program: &Program| {
            let last = program.blocks.last().unwrap();
            last.ops.iter().find_map(|op| if let Op::Isend { peer, .. } = op { Some(peer.get()) } else { None })
        };
        let peers: Vec<u32> = programs.iter().filter_map(pinged).collect();
        assert_eq!(peers, [3, 4, 5, 0, 1, 2]);
    }

    #[test]
    fn only_rank_zero_records_and_warm_up_does_not_count() {
        let latency = OsuLatency { warm_up: 7, iterations: 3, ..OsuLatency::default() };
        let recorded: Vec<_> = latency.programs(1).unwrap().iter().map(Program::iterations).collect();
        assert_eq!(recorded, [3, 0]);
    }

    #[test]
    fn an_empty_ping_is_a_ping_but_an_empty_window_is_no_bandwidth() {
        assert!(OsuLatency { bytes: Bytes::ZERO, ..OsuLatency::default() }.programs(1).is_ok());
    }
}
