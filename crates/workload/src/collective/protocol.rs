//! Protocols by which messages of NCCL carry their data (`src/include/device.h`).

/// Protocol of messages: with a flag beside the data, a receiver needs no other word that they are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Four bytes of data beside four of a flag.
    Ll,
    /// 120 bytes of data beside eight of a flag.
    Ll128,
    /// Data alone.
    Simple,
}

impl Protocol {
    /// Slots of a member's buffer.
    pub(super) const SLOTS: usize = 8;

    /// Every protocol, in order.
    pub const ALL: &'static [Protocol] = &[Protocol::Ll, Protocol::Ll128, Protocol::Simple];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Ll => "ll",
            Protocol::Ll128 => "ll128",
            Protocol::Simple => "simple",
        }
    }

    /// Data in a unit, and what the unit is long [B].
    fn unit(self) -> (u64, u64) {
        match self {
            Protocol::Ll => (8, 16),
            Protocol::Ll128 => (120, 128),
            Protocol::Simple => (1, 1),
        }
    }

    /// Length of a message with so many bytes of data, in whole units [B].
    pub(super) fn wire(self, bytes: u64) -> u64 {
        let (data, unit) = self.unit();
        bytes.div_ceil(data) * unit
    }

    /// Longest messages that may be on the way to a member: a slot each, of which a slice of `Simple` has two.
    pub(super) fn in_flight(self) -> usize {
        match self {
            Protocol::Ll | Protocol::Ll128 => Protocol::SLOTS,
            Protocol::Simple => Protocol::SLOTS / 2,
        }
    }

    /// Data of a slot of its buffers, the longest message [B]: 512 KiB of 4 MiB for `Simple`, of which a slice has two;
    /// 8 lines x 512 of 16 B; 120 words of 128 x 640 x 8 B.
    pub(super) fn slot(self) -> u64 {
        match self {
            Protocol::Ll => 512 * 8 * 8,
            Protocol::Ll128 => 120 * 640 * 8,
            Protocol::Simple => 1 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 15 words of 8 B are a line of 128 B, and 16 words take two.
    #[test]
    fn flags_lengthen_messages_by_whole_units() {
        let wire = |bytes| Protocol::ALL.iter().map(|protocol| protocol.wire(bytes)).collect::<Vec<_>>();
        assert_eq!([wire(120), wire(128), wire(0)], [vec![240, 128, 120], vec![256, 256, 128], vec![0, 0, 0]]);
    }
}
