//! Frames: their exact size on the wire, and their octets for captures.
//!
//! The simulation itself needs only [`size`]. [`octets`] writes real frames that other programs decode, [`pcapng`]
//! puts them in a file.

pub mod pause;
pub mod pcapng;
#[cfg(test)]
mod tests;

pub use etherweave_transport::frame::{ethernet, size};

use etherweave_transport::packet::FrameEnds;

use crate::packet::{Packet, PacketKind, flags};
use crate::{capture::Captured, capture::CapturedFrame, params::FlowControl, params::SimParams};

/// The octets of a captured frame from the destination address on, without the frame check sequence.
pub fn octets(frame: &CapturedFrame, params: &SimParams) -> Vec<u8> {
    match &frame.content {
        Captured::Pause(pause) => {
            let is_pfc = matches!(params.flow_control, FlowControl::Pfc(_));
            // A switch port has an address of its own.
            let source = if frame.is_outgoing { ethernet::mac(frame.source) } else { [0x02, 0x01, 0, 0, 0, 1] };
            pause::octets(*pause, source, is_pfc)
        }
        Captured::Packet(packet, side) => {
            let &CapturedFrame { time, source, destination, queue, .. } = frame;
            let ends = FrameEnds { time, source, destination, queue };
            let transport = params.transport_of(frame.transport);
            let (kind, above) = transport.octets(&ends, &packet.content(), side.as_deref());
            let mut octets = ethernet::header(source, destination, packet.priority, kind);
            octets.extend(above);
            remark(&mut octets, packet, params);
            ethernet::pad(&mut octets);
            octets
        }
    }
}

/// Gives a trimmed packet its code point, in place of 0.
fn remark(octets: &mut [u8], packet: &Packet, params: &SimParams) {
    let trimming = params.switch.trimming.filter(|_| packet.kind == PacketKind::Data && packet.has(flags::TRIMMED));
    if let Some(trimming) = trimming {
        ethernet::set_code_point(octets, trimming.code_point(packet.has(flags::LAST_HOP)));
    }
}
