//! Parameters of switches, links and runs.

use etherweave_kernel::Arbiter;
use etherweave_primitives::{BitRate, Bytes, Duration};
use etherweave_topology::LinkClass;

use etherweave_primitives::{InputError, InputErrors};

/// How an input buffer keeps the far end of its link from sending more than it can take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowControl {
    /// The sender counts the room there is, the default.
    #[default]
    Credits,
    /// The receiver pauses and resumes it, channel by channel: PFC with a priority for each.
    Pauses,
}

/// Order of the channels of a port that may send, where pauses are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelScheduler {
    /// The highest, by strict priority (IEEE 802.1Q, 8.6.8.1), the default: channels rise along a path, so that packets
    /// on their way go before those that hosts send.
    #[default]
    Strict,
    /// The next in turn.
    RoundRobin,
}

impl ChannelScheduler {
    /// The channel at a place in the order of preference, where the turn is at a channel.
    #[inline]
    pub(crate) fn channel(self, place: usize, turn: usize, channels: usize) -> usize {
        match self {
            ChannelScheduler::Strict => channels - 1 - place,
            ChannelScheduler::RoundRobin if turn + place < channels => turn + place,
            ChannelScheduler::RoundRobin => turn + place - channels,
        }
    }
}

/// Switches and hosts, all alike, without the rates and cables of their links.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchParams {
    /// Length of every packet [bytes]. It takes whole nanoseconds on every link.
    pub packet: Bytes,
    /// Delay of a packet's head from input to output queue [whole ns].
    pub crossbar_latency: Duration,
    /// How much faster than the fastest link of its switch a packet crosses from input to output, 1..=16.
    pub speed_up: u32,
    /// Input that is served first at an output.
    pub arbiter: Arbiter,
    /// Whether an output serves inputs from other switches before those from hosts, by any arbiter.
    pub transit_first: bool,
    /// Rounds of each nanosecond in which inputs ask for an output and outputs choose one of those that ask, 1..=16.
    /// Absent: an output serves an input as soon as both are free.
    pub allocation_rounds: Option<u32>,
    /// How input buffers are kept from overflowing.
    pub flow_control: FlowControl,
    /// Order of the channels of a port, with pauses; with credits packets leave in the order of their grants.
    pub scheduler: ChannelScheduler,
    /// How far below XOFF a buffer must be before XON [packets], 0..=4096.
    pub resume_below: u32,
    /// The most channels of a port, each a priority, 1..=8; a routing that wants more has its last ones in one, and may
    /// deadlock. Absent: as many as the routing wants.
    pub priorities: Option<u8>,
    /// Depth of the input buffer of a local link [packets per channel], 1..=4096.
    pub local_buffer: u32,
    /// Depth of the input buffer of a global link [packets per channel], 1..=4096.
    pub global_buffer: u32,
    /// Depth of the queue of an output [packets], 1..=64.
    pub output_queue: u32,
    /// Depth of the queues of a host together [packets], 1..=4096.
    pub injection_queue: u32,
    /// Queues of a host at its switch, each for an equal part of all destinations in their order, 1..=8: with several,
    /// a packet for a busy output keeps back fewer others.
    pub injection_channels: u8,
}

/// Benito, Vallejo and Beivide, "On the use of commodity Ethernet technology in exascale HPC systems", HiPC 2015,
/// table III; buffers are those of the public configuration of its simulator.
impl Default for SwitchParams {
    fn default() -> Self {
        SwitchParams {
            packet: Bytes::new(1_000),
            crossbar_latency: Duration::from_ns(200),
            speed_up: 2,
            arbiter: Arbiter::default(),
            transit_first: false,
            allocation_rounds: None,
            flow_control: FlowControl::default(),
            scheduler: ChannelScheduler::default(),
            resume_below: 2,
            priorities: None,
            local_buffer: 32,
            global_buffer: 64,
            output_queue: 10,
            injection_queue: 100,
            injection_channels: 1,
        }
    }
}

/// The longest delay of a link or a crossbar [ticks of 1 ns].
pub const DELAY_MAX: u64 = 60_000;

/// XOFF and XON thresholds of the input buffers of a kind of links [packets per channel].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PauseThresholds {
    pub xoff: u16,
    pub xon: u16,
}

impl PauseThresholds {
    /// Room is left for what is on the link, what is sent until the pause arrives, and a packet that has just begun.
    ///
    /// # Errors
    /// When the buffer has no room for that, with its key.
    pub fn of(params: &SwitchParams, class: LinkClass, delay: u32, packet: u32) -> Result<PauseThresholds, InputError> {
        let (buffer, headroom) = (params.buffer(class), 2 * delay / packet + 1);
        let Some(xoff) = buffer.checked_sub(headroom).filter(|&xoff| xoff > 0) else {
            let key = params.buffer_key(class);
            let expected = format!("more, for what comes after a pause: {} ns there and back", 2 * delay);
            return Err(InputError::new(key, buffer, expected));
        };
        Ok(PauseThresholds { xoff: xoff as u16, xon: xoff.saturating_sub(params.resume_below) as u16 })
    }
}

impl SwitchParams {
    /// Checks the values.
    ///
    /// # Errors
    /// Every value that is out of range or not a whole number of nanoseconds.
    pub fn check(&self) -> Result<(), InputErrors> {
        let packet = u64::from(self.packet.get() > 0);
        let values = [
            ("packet", packet, 1, 1),
            (self.buffer_key(LinkClass::Local), self.local_buffer.into(), 1, 4_096),
            (self.buffer_key(LinkClass::Global), self.global_buffer.into(), 1, 4_096),
            ("injection_queue", self.injection_queue.into(), 1, 4_096),
            ("injection_channels", self.injection_channels.into(), 1, 8),
            ("switch.output_queue", self.output_queue.into(), 1, 64),
            ("switch.speed_up", self.speed_up.into(), 1, 16),
            ("allocation_rounds", self.allocation_rounds.unwrap_or(1).into(), 1, 16),
            (self.priorities_key(), self.priorities.unwrap_or(1).into(), 1, 8),
            ("switch.xon_offset", self.resume_below.into(), 0, 4_096),
        ];
        let mut errors = InputErrors::default();
        for (key, value, low, high) in values {
            errors.check(in_range(key, value, low, high));
        }
        errors.check(self.check_scheduler());
        errors.check(self.crossbar());
        errors.into_result()
    }

    /// Delay of a packet's head through the crossbar [ticks].
    pub(crate) fn crossbar(&self) -> Result<u32, InputError> {
        let ticks = whole("switch.latency", self.crossbar_latency)?;
        in_range("switch.latency", ticks, 0, DELAY_MAX).map(|()| ticks as u32)
    }

    fn buffer_key(&self, class: LinkClass) -> &'static str {
        match (self.flow_control, class) {
            (FlowControl::Credits, LinkClass::Global) => "flow_control.credits.global_buffer",
            (FlowControl::Credits, LinkClass::Local | LinkClass::Host) => "flow_control.credits.buffer",
            (FlowControl::Pauses, LinkClass::Global) => "flow_control.pfc.global_buffer",
            (FlowControl::Pauses, LinkClass::Local | LinkClass::Host) => "flow_control.pfc.buffer",
        }
    }

    fn priorities_key(&self) -> &'static str {
        match self.flow_control {
            FlowControl::Credits => "flow_control.credits.priorities",
            FlowControl::Pauses => "flow_control.pfc.priorities",
        }
    }

    /// Credits fix when a packet leaves as soon as it is granted: no port chooses among channels.
    fn check_scheduler(&self) -> Result<(), InputError> {
        let has_effect = match (self.scheduler, self.flow_control) {
            (ChannelScheduler::Strict, _) | (ChannelScheduler::RoundRobin, FlowControl::Pauses) => true,
            (ChannelScheduler::RoundRobin, FlowControl::Credits) => false,
        };
        InputError::unless(has_effect, "scheduler", "round_robin with credits", "flow_control.pfc")
    }

    /// A packet on a link of a rate [ticks].
    pub(crate) fn packet_on(&self, rate: BitRate) -> Result<u32, InputError> {
        in_range("packet", self.packet.get(), 1, 65_536)?;
        let packet = whole("packet", rate.serialization_time(self.packet))?;
        let duration = format!("{packet} ns on a link");
        InputError::unless((1..=100_000).contains(&packet), "packet", duration, "1 to 100000 ns")?;
        Ok(packet as u32)
    }

    pub(crate) fn buffer(&self, class: LinkClass) -> u32 {
        match class {
            LinkClass::Host => self.injection_queue,
            LinkClass::Local => self.local_buffer,
            LinkClass::Global => self.global_buffer,
        }
    }
}

pub(crate) fn whole(key: &'static str, span: Duration) -> Result<u64, InputError> {
    if span.as_ps().is_multiple_of(1_000) {
        Ok(span.as_ps() / 1_000)
    } else {
        Err(InputError::new(key, span, "a whole number of nanoseconds"))
    }
}

pub(crate) fn in_range(key: &'static str, number: u64, least: u64, most: u64) -> Result<(), InputError> {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    Err(InputError::new(key, number, format!("{least} to {most}")))
}

/// The longest run [ticks]: an instant and what follows from it fit 32 bits.
pub(crate) const RUN_MAX: u64 = 4_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_values_out_of_range_give_the_range() {
        let check = |params: SwitchParams, expected: &str| {
            assert_eq!(params.check().unwrap_err().to_string(), expected);
        };
        let good = SwitchParams::default;
        check(SwitchParams { speed_up: 0, ..good() }, "switch.speed_up: 0; expected 1 to 16");
        check(
            SwitchParams { crossbar_latency: Duration::from_ps(1_500), ..good() },
            "switch.latency: 1500ps; expected a whole number of nanoseconds",
        );
        check(
            SwitchParams { scheduler: ChannelScheduler::RoundRobin, ..good() },
            "scheduler: round_robin with credits; expected flow_control.pfc",
        );
        check(
            SwitchParams { output_queue: 65, resume_below: 5_000, flow_control: FlowControl::Pauses, ..good() },
            "switch.output_queue: 65; expected 1 to 64\nswitch.xon_offset: 5000; expected 0 to 4096",
        );
    }

    #[test]
    fn headroom_is_what_two_delays_bring_and_one_packet_more() {
        // 200 ns a packet: 2 x 40 ns bring none more, 2 x 400 ns four.
        let thresholds = |buffer, class, delay| {
            let switch = SwitchParams { flow_control: FlowControl::Pauses, ..SwitchParams::default() };
            let params = SwitchParams { local_buffer: buffer, global_buffer: buffer, ..switch };
            PauseThresholds::of(&params, class, delay, 200)
        };
        let (local, global) = (LinkClass::Local, LinkClass::Global);
        assert_eq!(thresholds(32, local, 40), Ok(PauseThresholds { xoff: 31, xon: 29 }));
        assert_eq!(thresholds(64, global, 400), Ok(PauseThresholds { xoff: 59, xon: 57 }));
        assert_eq!(thresholds(6, global, 400), Ok(PauseThresholds { xoff: 1, xon: 0 }));
        let keys = [(1, local, 40), (5, global, 400)]
            .map(|(buffer, class, delay)| thresholds(buffer, class, delay).unwrap_err().key);
        assert_eq!(keys, ["flow_control.pfc.buffer", "flow_control.pfc.global_buffer"]);
    }
}
