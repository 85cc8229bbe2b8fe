//! In-band network telemetry: what each switch on its path writes into a packet (Y. Li et al., "HPCC: High precision
//! congestion control", SIGCOMM 2019, figure 7).

use etherweave_primitives::{BitRate, Time};

/// Switches that can write into a packet; those after them leave it as it is.
pub const SWITCHES_MAX: usize = 8;

/// Returns the bytes that room for so many switches adds to data and acknowledgements [B] (section 4.1).
pub fn header_bytes(switches: u8) -> u32 {
    if switches == 0 { 0 } else { 2 + 8 * u32::from(switches) }
}

/// Telemetry that a switch writes when it begins to send a packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PortTelemetry {
    /// When (`TS`).
    pub time: Time,
    /// Sent by the port in all [B on the wire] (`txBytes`).
    pub sent: u64,
    /// Waiting at the port, as buffers count [B] (`qLen`).
    pub queued: u32,
    /// Port of the run: stands for its part of `pathID`.
    pub port: u32,
    /// Rate of the port (`B`).
    pub rate: BitRate,
}

/// Telemetry that all switches on a path have written.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PathTelemetry {
    /// How many have (`nHop`).
    pub count: u32,
    /// The first `count` have written.
    pub ports: [PortTelemetry; SWITCHES_MAX],
}

impl PathTelemetry {
    /// Adds what a switch writes; where `most` have written, nothing.
    pub fn push(&mut self, port: PortTelemetry, most: u8) {
        if self.count < u32::from(most) {
            self.ports[self.count as usize] = port;
            self.count += 1;
        }
    }

    /// Returns the telemetry that has been written, from the first switch on.
    pub fn ports(&self) -> &[PortTelemetry] {
        &self.ports[..self.count as usize]
    }
}

etherweave_kernel::wire! {
    PathTelemetry { count, ports }
    PortTelemetry { time, sent, queued, port, rate }
}
