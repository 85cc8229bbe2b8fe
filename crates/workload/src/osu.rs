//! The point-to-point tests of the OSU Micro-Benchmarks: two ranks, rank 0 holds the clock.

use etherweave_primitives::{Bytes, InputError, InputErrors, Rank};

use crate::collective::{Collective, Communicator, Rule};
use crate::limits::{MESSAGE_MAX, WINDOW_MAX, at_least, at_most, within};
use crate::program::iteration;
use crate::{Block, Op, Program};

/// Ping-pong (`osu_latency`). An iteration is one *round trip*; the tool reports half of its mean.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OsuLatency {
    /// Message each way [B], 0 or more.
    pub bytes: Bytes,
    /// Round trips that are not measured.
    pub warm_up: u32,
    /// Round trips that are measured, 1 or more.
    pub iterations: u32,
}

/// One-way bandwidth (`osu_bw`). An iteration is one window and its 4-byte acknowledgement;
/// the tool reports `window · bytes · iterations / time`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OsuBw {
    /// One message [B], 1 or more.
    pub bytes: Bytes,
    /// Messages that are posted at once, 1 or more.
    pub window: u32,
    /// Windows that are not measured.
    pub warm_up: u32,
    /// Windows that are measured, 1 or more.
    pub iterations: u32,
}

/// Two-way bandwidth (`osu_bibw`). An iteration is one window each way;
/// the tool reports `2 · window · bytes · iterations / time`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OsuBibw {
    /// One message [B], 1 or more.
    pub bytes: Bytes,
    /// Messages that are posted at once each way, 1 or more.
    pub window: u32,
    /// Windows that are not measured.
    pub warm_up: u32,
    /// Windows that are measured, 1 or more.
    pub iterations: u32,
}

impl Default for OsuLatency {
    fn default() -> OsuLatency {
        OsuLatency { bytes: Bytes::new(8), warm_up: 10, iterations: 1_000 }
    }
}

impl Default for OsuBw {
    fn default() -> OsuBw {
        OsuBw { bytes: Bytes::new(4 << 20), window: 64, warm_up: 2, iterations: 20 }
    }
}

impl Default for OsuBibw {
    fn default() -> OsuBibw {
        OsuBibw { bytes: Bytes::new(4 << 20), window: 64, warm_up: 2, iterations: 20 }
    }
}

impl OsuLatency {
    /// How many ranks it has, before anything is built.
    pub(crate) fn ranks(&self) -> u64 {
        2
    }

    /// Rank 0 sends and receives, rank 1 receives and sends.
    ///
    /// # Errors
    /// When there is nothing to measure.
    pub fn programs(&self) -> Result<Vec<Program>, InputErrors> {
        const TAG: u32 = 1;
        InputErrors::all([at_least("iterations", self.iterations, 1), at_most("bytes", self.bytes, MESSAGE_MAX)])?;
        let bytes = self.bytes.get();
        let ping = [send(1, TAG, bytes), Op::WaitAll, receive(1, TAG, bytes), Op::WaitAll];
        let pong = [receive(0, TAG, bytes), Op::WaitAll, send(0, TAG, bytes), Op::WaitAll];
        Ok(pair(ping.into(), pong.into(), self.warm_up, self.iterations))
    }
}

impl OsuBw {
    /// How many ranks it has, before anything is built.
    pub(crate) fn ranks(&self) -> u64 {
        2
    }

    /// Rank 0 fills the window, rank 1 drains it and acknowledges.
    ///
    /// # Errors
    /// When there is nothing to send or to measure.
    pub fn programs(&self) -> Result<Vec<Program>, InputErrors> {
        const DATA: u32 = 100;
        const ACK: u32 = 101;
        const ACK_BYTES: u64 = 4;
        window_is_sound(self.bytes, self.window, self.iterations)?;
        let (bytes, window) = (self.bytes.get(), self.window as usize);
        let mut sender = vec![send(1, DATA, bytes); window];
        sender.extend([Op::WaitAll, receive(1, ACK, ACK_BYTES), Op::WaitAll]);
        let mut receiver = vec![receive(0, DATA, bytes); window];
        receiver.extend([Op::WaitAll, send(0, ACK, ACK_BYTES), Op::WaitAll]);
        Ok(pair(sender, receiver, self.warm_up, self.iterations))
    }
}

impl OsuBibw {
    /// How many ranks it has, before anything is built.
    pub(crate) fn ranks(&self) -> u64 {
        2
    }

    /// Both ranks post a window of receives, then a window of sends.
    ///
    /// # Errors
    /// When there is nothing to send or to measure.
    pub fn programs(&self) -> Result<Vec<Program>, InputErrors> {
        const FROM: [u32; 2] = [100, 10];
        window_is_sound(self.bytes, self.window, self.iterations)?;
        let (bytes, window) = (self.bytes.get(), self.window as usize);
        let side = |me: usize| {
            let peer = 1 - me;
            let mut ops = vec![receive(peer as u32, FROM[peer], bytes); window];
            ops.extend(vec![send(peer as u32, FROM[me], bytes); window]);
            ops.push(Op::WaitAll);
            ops
        };
        Ok(pair(side(0), side(1), self.warm_up, self.iterations))
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

/// Barrier, warm-up, measured iterations. Only rank 0 marks them, for only its clock is reported.
fn pair(first: Vec<Op>, second: Vec<Op>, warm_up: u32, iterations: u32) -> Vec<Program> {
    let world = Communicator::world(2);
    let program = |rank, once: Vec<Op>, timed| {
        Program::new([
            Block::unmeasured(Collective::Barrier.lower(&Rule::default(), &world, rank)),
            Block { ops: once, repeat: warm_up, measured: false },
            Block::measured(timed, iterations),
        ])
    };
    vec![program(0, first.clone(), iteration(first)), program(1, second.clone(), second)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes_sent;

    #[test]
    fn a_window_is_64_messages_and_an_acknowledgement_of_4_bytes() {
        let bw = OsuBw { bytes: Bytes::new(1_000), warm_up: 2, iterations: 20, ..OsuBw::default() };
        let [sender, receiver] = &bw.programs().unwrap()[..] else { panic!("two ranks") };
        assert_eq!(bytes_sent(sender), (2 + 20) * 64 * 1_000);
        assert_eq!(bytes_sent(receiver), (2 + 20) * 4);
    }

    #[test]
    fn both_sides_of_bibw_send_alike() {
        let bibw = OsuBibw { bytes: Bytes::new(1_000), warm_up: 0, iterations: 1, ..OsuBibw::default() };
        assert!(bibw.programs().unwrap().iter().all(|program| bytes_sent(program) == 64 * 1_000));
    }

    #[test]
    fn only_rank_zero_records_and_warm_up_does_not_count() {
        let latency = OsuLatency { warm_up: 7, iterations: 3, ..OsuLatency::default() };
        let recorded: Vec<_> = latency.programs().unwrap().iter().map(Program::iterations).collect();
        assert_eq!(recorded, [3, 0]);
    }

    #[test]
    fn an_empty_ping_is_a_ping_but_an_empty_window_is_no_bandwidth() {
        assert!(OsuLatency { bytes: Bytes::ZERO, ..OsuLatency::default() }.programs().is_ok());
        let error = OsuBw { bytes: Bytes::ZERO, ..OsuBw::default() }.programs().unwrap_err().to_string();
        assert_eq!(error, "bytes: 0B; expected at least 1B: a bandwidth needs data");
    }
}
