//! Recording of frames at captured ports.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::Time;

use crate::capture::{Capture, Captured, CapturedFrame, SideContent};
use crate::{
    captured_port::CapturedPort, captured_port::connection, frame::pause::PauseFrame, packet::Handle, wires::Wires,
};

impl Wires {
    /// Records a packet at a port, if its frames are captured.
    #[cold]
    #[inline(never)]
    pub fn capture_packet(&mut self, port: PortIndex, handle: Handle, is_outgoing: bool) {
        let Some(capture) = self.capture_at(port) else { return };
        let packet = self.packets[handle];
        let path = self.packets.path(packet.side).copied().unwrap_or_default();
        let side = self.packets.side(packet.side).map(|blocks| Box::new(SideContent { blocks, path }));
        let CapturedPort { capture: Capture { host: own, .. }, peers, .. } = &self.captures[capture];
        let (own, peer) = (*own, peers[&connection(packet.sender)]);
        let (source, destination) = if is_outgoing { (own, peer.host) } else { (peer.host, own) };
        let content = Captured::Packet(packet, side);
        let (queue, transport) = (packet.sender, peer.transport);
        let time = self.now;
        let frame = CapturedFrame { time, is_outgoing, source, destination, queue, transport, content };
        self.store_frame(capture, frame);
    }

    /// Records a pause frame at a port, if its frames are captured.
    pub fn capture_pause(&mut self, port: PortIndex, time: Time, frame: PauseFrame, is_outgoing: bool) {
        let Some(capture) = self.capture_at(port) else { return };
        let (host, content) = (self.captures[capture].capture.host, Captured::Pause(frame));
        let (source, destination, transport) = (host, host, 0);
        let frame = CapturedFrame { time, is_outgoing, source, destination, queue: 0, transport, content };
        self.store_frame(capture, frame);
    }

    fn store_frame(&mut self, capture: usize, frame: CapturedFrame) {
        self.captures[capture].store(self.now, &self.constants.params, frame);
    }

    fn capture_at(&self, port: PortIndex) -> Option<usize> {
        self.captures.iter().position(|capture| capture.port == port)
    }
}
