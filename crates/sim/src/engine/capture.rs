//! Recording of frames at captured ports.

use etherweave_primitives::{HostId, Time};

use super::Shard;
use crate::capture::{Captured, CapturedFrame};
use crate::frame::pause::PauseFrame;
use crate::host::Endpoint;
use crate::packet::Handle;

impl Shard {
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_packet(&mut self, port: u32, handle: Handle, is_outgoing: bool) {
        let Some(capture) = self.capture_at(port) else { return };
        let packet = self.packets[handle];
        let side = self.packets.side(packet.side);
        // An outgoing packet names the other end only, which may lie in another shard; its path names the
        // connection.
        let end = if is_outgoing {
            let is_sender = |end: &&Endpoint| end.route == packet.route && end.remote == packet.endpoint;
            self.endpoints.iter().find(is_sender)
        } else {
            self.endpoints.get(packet.endpoint as usize)
        };
        let Some(end) = end else { return };
        let (own, other) = (HostId::new(end.hosts.0), HostId::new(end.hosts.1));
        let (source, destination) = if is_outgoing { (own, other) } else { (other, own) };
        let queue = if is_outgoing { end.number } else { end.number ^ 1 };
        let content = Captured::Packet(packet, side);
        let frame = CapturedFrame { time: self.now, is_outgoing, source, destination, queue, content };
        self.captures[capture].store(frame);
    }

    pub(crate) fn capture_pause(&mut self, port: u32, time: Time, frame: PauseFrame, is_outgoing: bool) {
        let Some(capture) = self.capture_at(port) else { return };
        let capture = &mut self.captures[capture];
        let (host, content) = (capture.host, Captured::Pause(frame));
        capture.store(CapturedFrame { time, is_outgoing, source: host, destination: host, queue: 0, content });
    }

    fn capture_at(&self, port: u32) -> Option<usize> {
        self.captures.iter().position(|capture| capture.port == port)
    }
}
