//! Capture files in pcapng, as Wireshark reads them (draft-ietf-opsawg-pcapng, sections 4.1-4.3).
//!
//! One interface, times in picoseconds, the direction of every frame. Frame check sequences are left out, as NICs do.
//! With a snap length only the first bytes of a frame are kept, beside its length.

use std::io::{Result, Write};

use super::octets;
use crate::{capture::CapturedFrame, params::SimParams};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// Option codes.
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;

/// Begins the file of the frames at the port of `host`, of which at most `snap_length` bytes are kept.
///
/// # Errors
/// When `out` fails.
pub fn begin(out: &mut impl Write, host: &str, snap_length: Option<u32>) -> Result<()> {
    // Byte order mark, version 1.0, length unknown.
    let mut section = vec![0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    section.extend([0xff; 8]);
    block(out, SECTION, &section)?;
    let mut interface = ETHERNET.to_le_bytes().to_vec();
    interface.extend([0; 2]);
    // 0 is no limit.
    interface.extend(snap_length.unwrap_or(0).to_le_bytes());
    option(&mut interface, NAME, host.as_bytes());
    // Times are powers of ten: 10^-12 s.
    option(&mut interface, RESOLUTION, &[12]);
    interface.extend([0; 4]);
    block(out, INTERFACE, &interface)
}

/// Appends a frame, not earlier than those before it.
///
/// # Errors
/// When `out` fails.
pub fn frame(out: &mut impl Write, frame: &CapturedFrame, params: &SimParams, snap_length: Option<u32>) -> Result<()> {
    let octets = octets(frame, params);
    let kept = snap_length.map_or(octets.len(), |most| octets.len().min(most as usize));
    packet(out, frame, &octets[..kept], octets.len() as u32)
}

/// A block of the octets that are kept of a frame of `length`.
fn packet(out: &mut impl Write, frame: &CapturedFrame, octets: &[u8], length: u32) -> Result<()> {
    let time = frame.time.as_ps();
    let kept = octets.len() as u32;
    let mut body = Vec::with_capacity(octets.len() + 48);
    for word in [0, (time >> 32) as u32, time as u32, kept, length] {
        body.extend(word.to_le_bytes());
    }
    body.extend(octets);
    pad(&mut body);
    // Direction: 1 inbound, 2 outbound.
    option(&mut body, FLAGS, &(1 + u32::from(frame.is_outgoing)).to_le_bytes());
    body.extend([0; 4]);
    block(out, ENHANCED_PACKET, &body)
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> Result<()> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length)?;
    out.write_all(body)?;
    out.write_all(&length)
}
