//! Capture: what passes one host's port, remembered for a pcapng file.

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

/// The frames of one port.
#[derive(Clone, Debug)]
pub struct Capture {
    port: u32,
    /// In order of time.
    pub frames: Vec<CapturedFrame>,
}

impl Capture {
    /// Captures at `port` of its shard.
    pub fn new(port: u32) -> Capture {
        Capture { port, frames: Vec::new() }
    }
}

impl Shard {
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_packet(&mut self, port: u32, handle: Handle, is_outgoing: bool) {
        if !self.is_captured(port) {
            return;
        }
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
        self.keep(CapturedFrame { time: self.now, is_outgoing, source, destination, queue, content });
    }

    pub(crate) fn capture_pause(&mut self, port: u32, time: Time, frame: PauseFrame, is_outgoing: bool) {
        if !self.is_captured(port) {
            return;
        }
        let Some(host) = self.host_of_port(port) else { return };
        let host = HostId::new(self.hosts[host].id);
        let content = Captured::Pause(frame);
        self.keep(CapturedFrame { time, is_outgoing, source: host, destination: host, queue: 0, content });
    }

    fn is_captured(&self, port: u32) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.port == port)
    }

    /// Keeps a frame in its place: a pause frame is told of before it leaves.
    fn keep(&mut self, frame: CapturedFrame) {
        if let Some(capture) = &mut self.capture {
            let place = capture.frames.partition_point(|other| other.time <= frame.time);
            capture.frames.insert(place, frame);
        }
    }
}
