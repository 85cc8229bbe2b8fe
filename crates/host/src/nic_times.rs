//! Receive side of NICs, in times.

use etherweave_engine::{constants::RunConstants, params::Transport};
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
    /// A packet of a connection whose state the NIC does not hold takes so much longer still.
    pub context_miss: Duration,
}

impl NicTimes {
    /// Times of a run's NICs.
    pub fn new(constants: &RunConstants) -> NicTimes {
        let sim = &constants.params;
        let (params, frame) = (&sim.nic, constants.largest_frame);
        let bus = params.pcie.as_ref().map(Bus::new);
        let rate = |bus: &Bus, transport: &Transport| {
            bus.wire_rate(frame, transport.payload().get() as u32, transport.is_in_kernel())
        };
        let by_bus = bus.as_ref().and_then(|bus| sim.transports().map(|transport| rate(bus, transport)).min());
        let rate = by_bus.unwrap_or(params.drain_rate);
        let is_in_kernel = sim.transports().all(|transport| transport.is_in_kernel());
        let time = |size| rate.serialization_time(size);
        NicTimes {
            rate,
            interface: HostInterface::new(params, bus),
            byte: ByteTime::new(rate),
            buffer: time(params.receive_buffer),
            xoff: time(params.xoff),
            xon: time(params.xon),
            context_switch: if is_in_kernel { Duration::ZERO } else { params.context_switch },
            context_miss: params.context_cache.as_ref().map_or(Duration::ZERO, |cache| cache.miss),
        }
    }
}
