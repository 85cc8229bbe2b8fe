//! Link-level flow control and scheduling of traffic classes.

use etherweave_primitives::{Bytes, Duration, Priority, params};
use etherweave_topology::LinkClass;

use super::pfc_watchdog::PfcWatchdog;

/// Means to stop a sender before the receiver's buffer overflows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum FlowControl {
    /// Nothing: what does not fit is dropped.
    None {},
    /// IEEE 802.3 Annex 31B: a full port stops its peer altogether.
    GlobalPause(GlobalPause),
    /// IEEE 802.1Qbb: a full port stops single priorities of its peer.
    Pfc(Pfc),
    /// Credits per virtual channel, as InfiniBand, Omni-Path and Slingshot have them: a sender knows how much room is
    /// left at the far end.
    Credits(Credits),
}

impl FlowControl {
    /// The watchdog of PFC.
    pub fn watchdog(&self) -> Option<&PfcWatchdog> {
        if let FlowControl::Pfc(pfc) = self { pfc.watchdog.as_ref() } else { None }
    }
}

impl Default for FlowControl {
    fn default() -> Self {
        FlowControl::Pfc(Pfc::default())
    }
}

params! {
    /// 802.3x pause.
    pub struct GlobalPause {
        /// Pause time in each frame [512 bit times], 1..=65535.
        pub quanta: u16 = u16::MAX,
        /// Time from the last bit of a pause frame to the stop of the transmitter.
        pub reaction: Duration = Duration::from_ns(500),
    }
}

params! {
    /// Priority-based flow control.
    pub struct Pfc {
        /// Priorities that must not lose packets.
        pub priorities: Vec<Priority> = vec![Priority::new(0)],
        /// Pause time in each frame [512 bit times], 1..=65535.
        pub quanta: u16 = u16::MAX,
        /// Time from the last bit of a pause frame to the stop of the transmitter. The standard allows 394 quanta
        /// (2.02 us) at 100 Gb/s; hardware is quicker.
        pub reaction: Duration = Duration::from_ns(500),
        /// Whether a port pauses all its lossless priorities at once, as the testbed's switches do, whose
        /// priorities share one pool.
        pub coupled: bool = false,
        /// Ends pauses without end at the ports of switches, in runs. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub watchdog: Option<PfcWatchdog> = None,
        /// Buffer of each port and listed priority of input-queued switches, which open loops alone have with pauses.
        /// Absent: 32 packets, and 64 at global links.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub buffer: Option<Bytes> = None,
        /// The same at global links. Absent: `buffer`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub global_buffer: Option<Bytes> = None,
    }
}

params! {
    /// Credit-based flow control. A virtual channel (InfiniBand: virtual lane) is an 802.1Q priority here.
    pub struct Credits {
        /// Priorities that must not lose packets; the others share what the credit buffers leave of the memory.
        pub priorities: Vec<Priority> = vec![Priority::new(0)],
        /// Buffer of each port and listed priority, at the receiving end. Absent: computed for each cable, so that one
        /// priority can use the whole rate; in open loops 32 packets, and 64 at global links.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub buffer: Option<Bytes> = None,
        /// The same at global links. Absent: `buffer`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub global_buffer: Option<Bytes> = None,
        /// Size of a credit, 1B to 64KiB: a packet takes whole credits. InfiniBand counts blocks of 64 B
        /// (InfiniBand Architecture vol. 1, 7.9.4).
        pub unit: Bytes = Bytes::new(64),
        /// Time from when room is free until credits for it are on the cable back. Not published; 100 ns is the
        /// latency of a whole EDR or Omni-Path switch.
        pub return_latency: Duration = Duration::from_ns(100),
        /// Messages with credits as links of Ultra Ethernet have them: at most one in so many bytes of the link, 400 to
        /// 17,296 B, inside of frames too. Credits wait for the next, at most; the time of all these bytes is counted.
        /// Absent: credits wait for no message.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub update_spacing: Option<Bytes> = None,
    }
}

/// Credits that the counters of messages distinguish: 15 bits.
const UPDATE_CREDITS: u64 = 1 << 15;

impl Credits {
    /// Whether the counters of its messages, where it has such, suffice for a buffer.
    pub fn counts(&self, buffer: Bytes) -> bool {
        self.update_spacing.is_none() || buffer.get() / self.unit.get() < UPDATE_CREDITS
    }

    /// The stated buffer of a port at a link of a class.
    pub fn buffer_at(&self, class: LinkClass) -> Option<Bytes> {
        self.global_buffer.filter(|_| class == LinkClass::Global).or(self.buffer)
    }

    /// The listed priorities, a bit each.
    pub fn mask(&self) -> u8 {
        self.priorities.iter().fold(0, |mask, priority| mask | 1 << priority.get())
    }
}

params! {
    /// Enhanced transmission selection (IEEE 802.1Qaz): deficit weighted round robin among the classes with a
    /// weight; classes without one are strictly preferred, the highest first.
    pub struct Ets {
        /// Traffic class of each priority, 0-7.
        pub class_of_priority: [u8; Priority::COUNT] = [0, 1, 2, 3, 4, 5, 6, 7],
        /// Share of each class [%], 0 = strict priority. The weights that are not 0 add up to 100.
        pub weights: [u8; Priority::COUNT] = [16, 12, 12, 12, 12, 12, 12, 12],
    }
}
