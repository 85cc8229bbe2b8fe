//! Capture: what passes one host's port, remembered for a pcapng file.

use etherweave_primitives::Time;

use crate::engine::Shard;
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
    pub(crate) fn capture_packet(&mut self, port: u32, handle: Handle, is_outgoing: bool) {
        let packet = self.packets[handle];
        let side = self.packets.side(packet.side);
        self.capture_frame(
            port,
            CapturedFrame { time: self.now, is_outgoing, content: Captured::Packet(packet, side) },
        );
    }

    pub(crate) fn capture_pause(&mut self, port: u32, time: Time, frame: PauseFrame, is_outgoing: bool) {
        self.capture_frame(port, CapturedFrame { time, is_outgoing, content: Captured::Pause(frame) });
    }

    fn capture_frame(&mut self, port: u32, frame: CapturedFrame) {
        if let Some(capture) = &mut self.capture
            && capture.port == port
        {
            capture.frames.push(frame);
        }
    }
}
