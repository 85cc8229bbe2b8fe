//! Capture: frames at the ports of chosen hosts, stored for pcapng files.

use etherweave_primitives::{HostId, Time};

use crate::engine::Shard;
use crate::host::Endpoint;
use crate::packet::{Handle, Packet};
use crate::switch::pause::PauseFrame;
use crate::transport::SackBlocks;

/// A captured frame's content.
#[derive(Clone, Copy, Debug)]
pub enum Captured {
    /// A packet, with its SACK blocks.
    Packet(Packet, Option<SackBlocks>),
    /// A pause frame.
    Pause(PauseFrame),
}

/// One frame at the captured port.
#[derive(Clone, Copy, Debug)]
pub struct CapturedFrame {
    /// First bit of an outgoing frame; end of reception of an incoming one.
    pub time: Time,
    /// Whether the host sent it.
    pub is_outgoing: bool,
    /// Sender; for a pause frame, the captured host.
    pub source: HostId,
    /// Receiver; for a pause frame, the captured host.
    pub destination: HostId,
    /// Number of the sending end of its connection; the other end's differs in the last bit.
    pub queue: u32,
    /// Its content.
    pub content: Captured,
}

/// The frames at the port of one host.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Host of the port.
    pub host: HostId,
    port: u32,
    /// In order of time.
    pub frames: Vec<CapturedFrame>,
}

impl Capture {
    /// Captures at `port` of the shard of `host`.
    pub(crate) fn new(host: HostId, port: u32) -> Capture {
        Capture { host, port, frames: Vec::new() }
    }

    /// Stores a frame in order of time: a pause frame is recorded before it leaves.
    fn store(&mut self, frame: CapturedFrame) {
        let place = self.frames.partition_point(|other| other.time <= frame.time);
        self.frames.insert(place, frame);
    }
}

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
