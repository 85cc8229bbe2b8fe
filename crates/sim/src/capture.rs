//! Capture: what passes the ports of chosen hosts, remembered for pcapng files.

use etherweave_primitives::{HostId, Time};

use crate::engine::Shard;
use crate::host::Endpoint;
use crate::packet::{Handle, Packet};
use crate::switch::pause::PauseFrame;
use crate::transport::SackBlocks;

/// What passed.
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
    /// Who sent it; for a pause frame, the captured host.
    pub source: HostId,
    /// Whom it is for; for a pause frame, the captured host.
    pub destination: HostId,
    /// Number of the sending end of its connection; the other end's differs in the last bit.
    pub queue: u32,
    /// What it was.
    pub content: Captured,
}

/// The frames at the port of one host.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Whose port.
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

    /// Keeps a frame in its place: a pause frame is told of before it leaves.
    fn keep(&mut self, frame: CapturedFrame) {
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
        // On its way out a packet names the other end only, which may lie in another shard; its path names the
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
        self.captures[capture].keep(frame);
    }

    pub(crate) fn capture_pause(&mut self, port: u32, time: Time, frame: PauseFrame, is_outgoing: bool) {
        let Some(capture) = self.capture_at(port) else { return };
        let capture = &mut self.captures[capture];
        let (host, content) = (capture.host, Captured::Pause(frame));
        capture.keep(CapturedFrame { time, is_outgoing, source: host, destination: host, queue: 0, content });
    }

    fn capture_at(&self, port: u32) -> Option<usize> {
        self.captures.iter().position(|capture| capture.port == port)
    }
}
