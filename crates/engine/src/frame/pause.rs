//! The content of pause frames, 802.3x and PFC.

use etherweave_primitives::Priority;

/// The content of a pause frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseFrame {
    /// Priorities that it names, a bit each.
    pub enable: u8,
    /// Of those, the ones to stop.
    pub stop: u8,
    /// For how long [512 bit times].
    pub quanta: u16,
}

impl PauseFrame {
    /// As one number, for an event.
    pub fn pack(self) -> u32 {
        u32::from(self.enable) << 24 | u32::from(self.stop) << 16 | u32::from(self.quanta)
    }

    /// From one number.
    pub fn unpack(word: u32) -> PauseFrame {
        PauseFrame { enable: (word >> 24) as u8, stop: (word >> 16) as u8, quanta: word as u16 }
    }
}

/// The priorities in a mask.
#[inline]
pub fn priorities(mask: u8) -> impl Iterator<Item = usize> {
    (0..Priority::COUNT).filter(move |bit| mask & 1 << bit != 0)
}
