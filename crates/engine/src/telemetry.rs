//! Telemetry that a switch writes into the packets that it sends.

use etherweave_kernel::indices::PortIndex;
use etherweave_transport::telemetry::PortTelemetry;

use crate::{Wires, packet::Handle, packet::flags, port::Owner};

impl Wires {
    /// Writes the state of a switch's port into a packet with room for it that begins to leave by it.
    pub fn write_telemetry(&mut self, egress: PortIndex, handle: Handle) {
        let port = &self.ports[egress];
        let packet = &self.packets[handle];
        if !packet.has(flags::TELEMETRY) || matches!(port.owner, Owner::Host(_)) {
            return;
        }
        let telemetry = PortTelemetry {
            time: self.now,
            sent: port.sent(),
            queued: port.queued(),
            port: self.channels[egress].get(),
            rate: port.rate(),
        };
        self.packets.path_mut(handle).push(telemetry, self.constants.telemetry_switches);
    }
}
