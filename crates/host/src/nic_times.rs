//! Receive side of NICs, in times.

use etherweave_engine::constants::RunConstants;
use etherweave_engine::params::SimParams;
use etherweave_primitives::{BitRate, ByteTime, Duration};

use super::bus::{Bus, HostInterface};

/// Receive buffer of a NIC, in the time that it takes to drain.
#[derive(Clone, Debug)]
pub struct NicTimes {
    /// Rate on the wire at which largest packets drain.
    pub rate: BitRate,
    /// Between NIC and host memory, where more than a rate is modelled.
    pub interface: Option<HostInterface>,
    /// One byte.
    pub byte: ByteTime,
    /// The whole buffer.
    pub buffer: Duration,
    /// Up to XOFF.
    pub xoff: Duration,
    /// Up to XON.
    pub xon: Duration,
    /// Kernel bypass: a packet of another connection than the one before takes so much longer.
    pub context_switch: Duration,
}

impl NicTimes {
    /// Times of a run's NICs.
    pub fn new(constants: &RunConstants) -> NicTimes {
        let SimParams { nic: params, transport, .. } = &constants.params;
        let bus = params.pcie.as_ref().map(|pcie| Bus::new(pcie, transport));
        let payload = transport.payload().get() as u32;
        let rate = bus.as_ref().map_or(params.drain_rate, |bus| bus.wire_rate(constants.largest_frame, payload));
        let time = |size| rate.serialization_time(size);
        NicTimes {
            rate,
            interface: HostInterface::new(params, bus),
            byte: ByteTime::new(rate),
            buffer: time(params.receive_buffer),
            xoff: time(params.xoff),
            xon: time(params.xon),
            context_switch: transport.roce().map_or(Duration::ZERO, |_| params.context_switch),
        }
    }
}
