//! Frames: their exact size on the wire, and their octets for captures.
//!
//! The simulation itself needs only [`size`]. [`octets`] writes real frames that other programs decode, [`pcapng`]
//! puts them in a file.

mod checksum;
pub mod ethernet;
pub mod pause;
pub mod pcapng;
pub(crate) mod roce;
pub mod size;
pub mod tcp;
#[cfg(test)]
mod tests;

use crate::capture::{Captured, CapturedFrame};
use crate::params::{FlowControl, SimParams};

/// The octets of a captured frame from the destination address on, without the frame check sequence.
pub fn octets(frame: &CapturedFrame, params: &SimParams) -> Vec<u8> {
    match &frame.content {
        Captured::Pause(pause) => {
            let is_pfc = matches!(params.flow_control, FlowControl::Pfc(_));
            // A switch port has an address of its own.
            let source = if frame.is_outgoing { ethernet::mac(frame.source) } else { [0x02, 0x01, 0, 0, 0, 1] };
            ethernet::pause(*pause, source, is_pfc)
        }
        Captured::Packet(packet, side) => params.transport_of(frame.transport).frame(frame, packet, side.as_deref()),
    }
}
