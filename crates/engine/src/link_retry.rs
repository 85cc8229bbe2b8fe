//! Link-level retry: the replay buffer of a link's sender, and the control messages on the wire.
//!
//! A frame stays in the replay buffer until it is acknowledged. Acknowledgements are cumulative, and travel in messages
//! of 8 B within and between the frames of the other direction, one for each `message_spacing` bytes of it:
//!
//! ```text
//!   sender   ──frame──► receiver ── waits for the next message ──► sender: its room is free
//!            ──frame─✗─► receiver ── at once ──► sender: the frame is sent again, and what was sent behind it
//! ```
//!
//! A frame that finds no room waits, with all behind it. Source: Ultra Ethernet Specification 1.0, section 5.1.

use std::collections::VecDeque;

use etherweave_primitives::{BitRate, Bytes, Duration, Time};

/// A control message: a control ordered set [B].
pub const MESSAGE: u64 = 8;

/// Link-level retry: Ultra Ethernet Specification 1.0, section 5.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkRetry {
    /// Largest number of replays of a frame, 1..=15; damaged once more it is lost. Default 3.
    pub replays_max: u32,
    /// Time of both ends, from the last bit of a damaged frame to the first of its replay, without the cable. Default
    /// "100ns", assumed.
    pub latency: Duration,
    /// Room for frames that are sent and not acknowledged, with preamble and gap; at least the largest frame. Absent:
    /// by rate and cable, so that no frame waits for room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Bytes of frames between two control messages of 8 B, 400 to 17,296 B. Default "2048B".
    pub message_spacing: Bytes,
}

impl Default for LinkRetry {
    fn default() -> Self {
        let message_spacing = Bytes::new(2_048);
        LinkRetry { replays_max: 3, latency: Duration::from_ns(100), buffer: None, message_spacing }
    }
}

/// A cable with what its ends send over it.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// Rate of both directions.
    pub rate: BitRate,
    /// Propagation to the far end and back.
    pub round_trip: Duration,
    /// Largest frame on it, with preamble and gap.
    pub frame_max: Bytes,
}

impl LinkRetry {
    /// Time from the last bit of a damaged frame to the first of its replay.
    fn turnaround(&self, cable: &Cable) -> Duration {
        cable.round_trip + self.latency
    }

    /// Time from the last bit of a frame to its acknowledgement, at the most.
    fn acknowledgement_time(&self, cable: &Cable) -> Duration {
        self.turnaround(cable) + cable.rate.serialization_time(self.message_spacing)
    }

    /// Room of the replay buffer: what is sent until an acknowledgement, the frame that it frees, and one more.
    pub fn room(&self, cable: &Cable) -> Bytes {
        let computed = || cable.rate.bytes_in(self.acknowledgement_time(cable)) + cable.frame_max * 2;
        self.buffer.unwrap_or_else(computed)
    }
}

/// Frames that a link has sent again, and what its retry has cost beside that.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Replays {
    /// Frames that were sent again.
    pub frames: u64,
    /// Times that they were.
    pub replays: u64,
    /// Frames that were damaged as often as they may be sent, and lost.
    pub given_up: u64,
    /// Bytes sent again, with preamble and gap.
    pub bytes: u64,
    /// Time that the transmitter has lost by them.
    pub lost: Duration,
    /// Time that frames have waited for room in the replay buffer.
    pub held: Duration,
    /// Control messages that frames have waited for.
    pub messages: u64,
}

/// The sender of a link with retry.
#[derive(Debug)]
pub(crate) struct RetryingSender {
    pub replays_max: u32,
    turnaround: Duration,
    acknowledgement_time: Duration,
    room: u64,
    /// Time at which each frame that is kept is acknowledged, and its bytes.
    kept: VecDeque<(Time, u32)>,
    kept_bytes: u64,
    message_spacing: Duration,
    last_message: Time,
}

impl RetryingSender {
    pub fn new(retry: &LinkRetry, cable: &Cable) -> RetryingSender {
        RetryingSender {
            replays_max: retry.replays_max,
            turnaround: retry.turnaround(cable),
            acknowledgement_time: retry.acknowledgement_time(cable),
            room: retry.room(cable).get(),
            kept: VecDeque::new(),
            kept_bytes: 0,
            message_spacing: cable.rate.serialization_time(retry.message_spacing),
            last_message: Time::ZERO,
        }
    }

    /// Time that a frame of `wire` bytes waits from `time` on until the buffer has room.
    pub fn wait_for_room(&mut self, time: Time, wire: u32) -> Duration {
        let mut begin = time;
        while let Some(&(acknowledged, bytes)) = self.kept.front() {
            let is_full = self.kept_bytes + u64::from(wire) > self.room;
            if acknowledged > begin && !is_full {
                break;
            }
            begin = begin.max(acknowledged);
            self.kept_bytes -= u64::from(bytes);
            self.kept.pop_front();
        }
        begin.since(time)
    }

    /// Messages that lengthen a frame which begins at `time` and takes `duration`. What is due while the link is idle
    /// is sent before the frame and costs nothing.
    pub fn messages(&mut self, time: Time, duration: Duration, message: Duration) -> u64 {
        let spacing = self.message_spacing.as_ps();
        if time.since(self.last_message).as_ps() >= spacing {
            self.last_message = time;
        }
        let count = (time + duration).since(self.last_message).as_ps() / spacing;
        self.last_message += (self.message_spacing + message) * count;
        count
    }

    /// Keeps a frame whose last bit is sent at `end`. Where it `was_replayed`, its receiver had all before it.
    pub fn keep(&mut self, end: Time, wire: u32, was_replayed: bool) {
        if was_replayed {
            self.kept.clear();
            self.kept_bytes = 0;
        }
        self.kept.push_back((end + self.acknowledgement_time, wire));
        self.kept_bytes += u64::from(wire);
    }

    /// Time that the transmitter loses by a replay of a frame that takes `duration`.
    pub fn replay_time(&self, duration: Duration) -> Duration {
        duration + self.turnaround
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: u32 = 1_500;
    /// Time of a frame at 100 Gb/s, and of a byte [ps].
    const FRAME: u64 = 120_000;
    const BYTE: u64 = 80;

    fn cable() -> Cable {
        let round_trip = Duration::from_ns(100);
        Cable { rate: BitRate::from_gbps(100), round_trip, frame_max: Bytes::new(WIRE.into()) }
    }

    /// Sends frames one behind the other. Returns the time that they have waited for room.
    fn waits(sender: &mut RetryingSender, frames: u64) -> Duration {
        let (mut time, mut waits) = (Time::ZERO, Duration::ZERO);
        for _ in 0..frames {
            let wait = sender.wait_for_room(time, WIRE);
            time += wait + Duration::from_ps(FRAME);
            waits += wait;
            sender.keep(time, WIRE, false);
        }
        waits
    }

    /// Acknowledged 100 ns of cable, 100 ns of both ends and 2,048 B after its last bit, each frame of k leaves as much
    /// later than the k-th before it, or as soon as the wire is free.
    #[test]
    fn a_buffer_of_so_many_frames_sends_them_in_each_round_trip() {
        let acknowledgement = 200_000 + 2_048 * BYTE;
        for k in 1..=8 {
            let retry = LinkRetry { buffer: Some(Bytes::new(k * u64::from(WIRE))), ..LinkRetry::default() };
            let rounds = 100;
            let waits = waits(&mut RetryingSender::new(&retry, &cable()), k * rounds + 1);
            let gap = (FRAME + acknowledgement).saturating_sub(k * FRAME);
            assert_eq!(waits.as_ps(), gap * rounds, "{k} frames");
        }
    }

    #[test]
    fn a_buffer_by_rate_and_cable_is_never_full_and_a_frame_less_may_be() {
        for metres in [1, 3, 30, 1_000] {
            let cable = Cable { round_trip: Duration::from_ns(10 * metres), ..cable() };
            let retry = LinkRetry::default();
            assert_eq!(waits(&mut RetryingSender::new(&retry, &cable), 10_000), Duration::ZERO);
            let less = retry.room(&cable) - Bytes::new(u64::from(2 * WIRE));
            let less = LinkRetry { buffer: Some(less), ..retry };
            assert!(!waits(&mut RetryingSender::new(&less, &cable), 10_000).is_zero(), "{metres} m");
        }
    }

    #[test]
    fn a_busy_link_sends_a_message_in_each_spacing_and_an_idle_one_pays_for_none() {
        let (duration, message) = (Duration::from_ps(FRAME), Duration::from_ps(8 * BYTE));
        let count = |gap: Duration| {
            let mut sender = RetryingSender::new(&LinkRetry::default(), &cable());
            let (mut time, mut messages) = (Time::ZERO, 0);
            for _ in 0..2_048 {
                let inserted = sender.messages(time, duration, message);
                time += duration + message * inserted + gap;
                messages += inserted;
            }
            messages
        };
        assert_eq!(count(Duration::ZERO), u64::from(WIRE));
        assert_eq!(count(duration), 0);
    }
}
