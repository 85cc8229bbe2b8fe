//! Capture: frames at the ports of chosen hosts.

use etherweave_primitives::{HostId, Time};

pub use etherweave_transport::packet::SideContent;

use crate::{frame::pause::PauseFrame, packet::Packet};

/// A captured frame's content.
#[derive(Clone, Debug)]
pub enum Captured {
    /// A packet, with what few carry.
    Packet(Packet, Option<Box<SideContent>>),
    /// A pause frame.
    Pause(PauseFrame),
}

/// One frame at the captured port.
#[derive(Clone, Debug)]
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
    /// Number of that connection's transport.
    pub transport: u8,
    /// Its content.
    pub content: Captured,
}

/// The frames at the port of one host.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Host of the port.
    pub host: HostId,
    /// Frames not yet written, in order of time.
    pub frames: Vec<CapturedFrame>,
}
