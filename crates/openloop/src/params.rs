//! What a switch, a link and a run are like.

use etherweave_kernel::Arbiter;
use etherweave_primitives::{BitRate, Bytes, Duration};
use etherweave_topology::LinkClass;

use etherweave_primitives::{InputError, InputErrors};

/// How an input buffer keeps the far end of its link from sending more than it can take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowControl {
    /// The sender counts the room there is, the default.
    #[default]
    Credits,
    /// The receiver pauses and resumes it, channel by channel: PFC with a priority for each.
    Pauses,
}

/// Which channel of a port sends next, of those that may, where pauses are used.
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

/// Switches, links and hosts, all alike but links whose rate or cable the topology states.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchParams {
    /// Rate of links whose rate the topology does not state [bit/s]. Default "40Gb/s".
    pub rate: BitRate,
    /// Length of every packet [bytes]. It takes whole nanoseconds on every link. Default "1000B".
    pub packet: Bytes,
    /// Delay of a packet's head from input to output queue [whole ns]. Default "200ns".
    pub crossbar_latency: Duration,
    /// How much faster than the fastest link of its switch a packet crosses from input to output, 1..=16. Default 2.
    pub speed_up: u32,
    /// Which input is served first at an output. Default "age".
    pub arbiter: Arbiter,
    /// Whether an output serves inputs from other switches before those from hosts, by any arbiter. Default false.
    pub transit_first: bool,
    /// Rounds of each nanosecond in which inputs ask for an output and outputs choose one of those that ask, 1..=16.
    /// Absent, the default: an output serves an input as soon as both are free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_rounds: Option<u32>,
    /// How input buffers are kept from overflowing. Default "credits".
    pub flow_control: FlowControl,
    /// Which channel of a port sends next, with pauses; with credits packets leave in the order of their grants.
    /// Default "strict".
    pub scheduler: ChannelScheduler,
    /// How far below XOFF a buffer must be before XON [packets], 0..=4096. Default 2.
    pub resume_below: u32,
    /// The most channels of a port, each a priority, 1..=8; a routing that wants more has its last ones in one, and may
    /// deadlock. By default as many as the routing wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priorities: Option<u8>,
    /// Depth of the input buffer of a local link [packets per channel], 1..=4096. Default 32.
    pub local_buffer: u32,
    /// Depth of the input buffer of a global link [packets per channel], 1..=4096. Default 64.
    pub global_buffer: u32,
    /// Depth of the queue of an output [packets], 1..=64. Default 10.
    pub output_queue: u32,
    /// Depth of the queues of a host together [packets], 1..=4096. Default 100.
    pub injection_queue: u32,
    /// Queues of a host at its switch, each for an equal part of all destinations in their order, 1..=8: with several,
    /// a packet for a busy output keeps back fewer others. Default 1.
    pub injection_channels: u8,
    /// Delay of a local link whose cable the topology does not state [whole ns], at least 1 ns. Default "40ns".
    pub local_delay: Duration,
    /// Delay of a global link whose cable the topology does not state [whole ns], at least 1 ns. Default "400ns".
    pub global_delay: Duration,
    /// Delay from host to switch by a cable that the topology does not state [whole ns]. Default "40ns".
    pub injection_delay: Duration,
    /// Delay from switch to host by a cable that the topology does not state [whole ns]. Default "40ns".
    pub ejection_delay: Duration,
}

/// Benito, Vallejo and Beivide, "On the use of commodity Ethernet technology in exascale HPC systems", HiPC 2015,
/// table III; buffers are those of the public configuration of its simulator.
impl Default for SwitchParams {
    fn default() -> Self {
        SwitchParams {
            rate: BitRate::from_gbps(40),
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
            local_delay: Duration::from_ns(40),
            global_delay: Duration::from_ns(400),
            injection_delay: Duration::from_ns(40),
            ejection_delay: Duration::from_ns(40),
        }
    }
}

/// The same in ticks of 1 ns, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// A packet on a link whose rate is not stated.
    pub packet: u32,
    pub crossbar: u32,
    pub injection: u32,
    pub ejection: u32,
    pub local: u32,
    pub global: u32,
}

impl Ticks {
    /// The longest delay of a link.
    pub const DELAY_MAX: u64 = 60_000;

    /// Delay of a link whose cable is not stated, to its far end.
    pub fn delay(&self, class: LinkClass) -> u32 {
        match class {
            LinkClass::Host => self.ejection,
            LinkClass::Local => self.local,
            LinkClass::Global => self.global,
        }
    }
}

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
            let key = if class == LinkClass::Global { "switch.global_buffer" } else { "switch.local_buffer" };
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
        self.ticks().map(|_| ())
    }

    /// # Errors
    /// Every value that is out of range or not a whole number of nanoseconds.
    pub(crate) fn ticks(&self) -> Result<Ticks, InputErrors> {
        let mut errors = self.check_counts();
        let packet = errors.check(self.packet_on(self.rate)).unwrap_or_default();
        let mut span = |key, value, least| {
            let ticks = whole(key, value)
                .and_then(|ticks| in_range(key, ticks, least, Ticks::DELAY_MAX).map(|()| ticks as u32));
            errors.check(ticks).unwrap_or_default()
        };
        let ticks = Ticks {
            packet,
            crossbar: span("crossbar_latency", self.crossbar_latency, 0),
            injection: span("injection_delay", self.injection_delay, 0),
            ejection: span("ejection_delay", self.ejection_delay, 0),
            local: span("local_delay", self.local_delay, 1),
            global: span("global_delay", self.global_delay, 1),
        };
        errors.within("switch").into_result().map(|()| ticks)
    }

    fn check_counts(&self) -> InputErrors {
        let depths = [
            ("local_buffer", self.local_buffer, 4_096),
            ("global_buffer", self.global_buffer, 4_096),
            ("injection_queue", self.injection_queue, 4_096),
            ("injection_channels", self.injection_channels.into(), 8),
            ("output_queue", self.output_queue, 64),
            ("speed_up", self.speed_up, 16),
            ("allocation_rounds", self.allocation_rounds.unwrap_or(1), 16),
            ("priorities", u32::from(self.priorities.unwrap_or(1)), 8),
        ];
        let mut errors = InputErrors::default();
        for (key, value, most) in depths {
            errors.check(in_range(key, u64::from(value), 1, most));
        }
        errors.check(in_range("resume_below", u64::from(self.resume_below), 0, 4_096));
        errors.check(self.check_scheduler());
        errors
    }

    /// Credits fix when a packet leaves as soon as it is granted: no port chooses among channels.
    fn check_scheduler(&self) -> Result<(), InputError> {
        let has_effect = match (self.scheduler, self.flow_control) {
            (ChannelScheduler::Strict, _) | (ChannelScheduler::RoundRobin, FlowControl::Pauses) => true,
            (ChannelScheduler::RoundRobin, FlowControl::Credits) => false,
        };
        InputError::unless(has_effect, "scheduler", "round_robin with credits", "switch.flow_control = \"pauses\"")
    }

    /// A packet on a link of a rate [ticks].
    pub(crate) fn packet_on(&self, rate: BitRate) -> Result<u32, InputError> {
        in_range("packet", self.packet.get(), 1, 65_536)?;
        let packet = whole("packet", rate.serialization_time(self.packet))?;
        let found = format!("{packet} ns on a link");
        InputError::unless((1..=100_000).contains(&packet), "packet", found, "1 to 100000 ns")?;
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

pub(crate) fn in_range(key: &'static str, found: u64, least: u64, most: u64) -> Result<(), InputError> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(InputError::new(key, found, format!("{least} to {most}")))
}

/// The longest run [ticks]: an instant and what follows from it fit 32 bits.
pub(crate) const RUN_MAX: u64 = 4_000_000_000;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_1000_bytes_takes_200_ns_at_40_gbps() {
        let ticks = SwitchParams::default().ticks().unwrap();
        assert_eq!(ticks.packet, 200);
    }

    #[test]
    fn errors_of_values_out_of_range_give_the_range() {
        let check = |params: SwitchParams, expected: &str| {
            assert_eq!(params.ticks().unwrap_err().to_string(), expected);
        };
        let good = SwitchParams::default;
        check(SwitchParams { speed_up: 0, ..good() }, "switch.speed_up: 0; expected 1 to 16");
        check(
            SwitchParams { packet: Bytes::new(1_001), ..good() },
            "switch.packet: 200200ps; expected a whole number of nanoseconds",
        );
        check(SwitchParams { local_delay: Duration::ZERO, ..good() }, "switch.local_delay: 0; expected 1 to 60000");
        check(
            SwitchParams { scheduler: ChannelScheduler::RoundRobin, ..good() },
            "switch.scheduler: round_robin with credits; expected switch.flow_control = \"pauses\"",
        );
        check(
            SwitchParams { output_queue: 65, resume_below: 5_000, global_delay: Duration::from_us(61), ..good() },
            "switch.output_queue: 65; expected 1 to 64\nswitch.resume_below: 5000; expected 0 to 4096\n\
             switch.global_delay: 61000; expected 1 to 60000",
        );
    }

    #[test]
    fn headroom_is_what_two_delays_bring_and_one_packet_more() {
        // 200 ns a packet: 2 x 40 ns bring none more, 2 x 400 ns four.
        let thresholds = |buffer, class, delay| {
            let params = SwitchParams { local_buffer: buffer, global_buffer: buffer, ..SwitchParams::default() };
            PauseThresholds::of(&params, class, delay, 200)
        };
        let (local, global) = (LinkClass::Local, LinkClass::Global);
        assert_eq!(thresholds(32, local, 40), Ok(PauseThresholds { xoff: 31, xon: 29 }));
        assert_eq!(thresholds(64, global, 400), Ok(PauseThresholds { xoff: 59, xon: 57 }));
        assert_eq!(thresholds(6, global, 400), Ok(PauseThresholds { xoff: 1, xon: 0 }));
        let keys = [(1, local, 40), (5, global, 400)]
            .map(|(buffer, class, delay)| thresholds(buffer, class, delay).unwrap_err().key);
        assert_eq!(keys, ["switch.local_buffer", "switch.global_buffer"]);
    }
}
