//! Pause frames, 802.3x and PFC: their content and their octets.

use super::{ethernet::pad, size::ETHERNET, size::SHORTEST_FRAME};

const CONTROL: u16 = 0x8808;
/// Where pause frames go: no bridge passes them on (IEEE 802.3, Annex 31B.1).
const PAUSE_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// 802.3x and PFC.
const PAUSE: u16 = 0x0001;
const PFC: u16 = 0x0101;

/// The content of a pause frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseFrame {
    /// Priorities that it names, a bit each. Between ports with PFC, one of 802.3x names none.
    pub enable: u8,
    /// Priorities among those that it stops.
    pub stop: u8,
    /// Duration of the pause [512 bit times].
    pub quanta: u16,
}

impl PauseFrame {
    /// Packs the frame into one number, for an event.
    pub fn pack(self) -> u32 {
        u32::from(self.enable) << 24 | u32::from(self.stop) << 16 | u32::from(self.quanta)
    }

    /// Unpacks the frame from one number.
    pub fn unpack(word: u32) -> PauseFrame {
        PauseFrame { enable: (word >> 24) as u8, stop: (word >> 16) as u8, quanta: word as u16 }
    }
}

/// The priorities in a mask, ascending.
#[inline]
pub fn priorities(mut mask: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        first
    })
}

/// A pause frame, 802.3x or PFC.
pub(super) fn octets(frame: PauseFrame, source: [u8; 6], is_pfc: bool) -> Vec<u8> {
    let mut octets = Vec::with_capacity(SHORTEST_FRAME as usize);
    octets.extend(PAUSE_ADDRESS);
    octets.extend(source);
    octets.extend(CONTROL.to_be_bytes());
    if is_pfc && frame.enable != 0 {
        octets.extend(PFC.to_be_bytes());
        octets.extend(u16::from(frame.enable).to_be_bytes());
        let stops: Vec<usize> = priorities(frame.stop).collect();
        (0..8).for_each(|priority| {
            let time = if stops.contains(&priority) { frame.quanta } else { 0 };
            octets.extend(time.to_be_bytes());
        });
    } else {
        octets.extend(PAUSE.to_be_bytes());
        let is_resume = frame.stop == 0 && frame.enable != 0;
        octets.extend((if is_resume { 0 } else { frame.quanta }).to_be_bytes());
    }
    pad(&mut octets);
    debug_assert_eq!(octets.len() as u32 + 4, SHORTEST_FRAME.max(ETHERNET));
    octets
}
