//! The shared packet buffer of a switch: reserve, pool, headroom; XOFF and XON.
//!
//! Every ingress port has counters per *priority group*: one group for each lossless priority and one for all lossy
//! ones. Bytes fill the group's reserve first, then the shared pool up to the group's threshold, then (lossless) the
//! headroom. They leave in the opposite order.
//!
//! ```text
//!   group occupancy  ├── reserve ──┼── pool, ≤ threshold ──┼── headroom ──┤
//!                                                    XON ▲  ▲ XOFF        ▲ loss
//! ```

use etherweave_engine::constants::RunConstants;
use etherweave_engine::params::Threshold;
use etherweave_primitives::BitRate;

/// One ingress port's counters of one priority group.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(32))]
pub struct Group {
    /// Bytes in the reserve and the pool.
    pub stored: u32,
    /// Bytes in the headroom.
    pub headroom: u32,
    /// Most that was ever in the buffer, headroom included [B].
    pub peak: u32,
    /// Packets lost here.
    pub lost: u32,
    /// Bytes lost here.
    pub lost_bytes: u64,
    /// Headroom: for what still arrives after XOFF [B]; 0 for a lossy group.
    pub headroom_limit: u32,
    /// Share of the limit of its part of the pool that is added for its rate, negative for a slower port [1/128].
    pub extra: i16,
    /// Whether the peer is paused.
    pub is_paused: bool,
}

impl Group {
    /// Share that is added to limits of a port of `threshold_rate` for a port of `rate` [1/128].
    pub fn extra(rate: BitRate, threshold_rate: Option<BitRate>) -> i16 {
        let share = threshold_rate.map_or(1.0, |own| rate.as_bps() as f64 / own.as_bps() as f64);
        ((share - 1.0) * 128.0) as i16
    }

    /// Limit of its part of the pool, where that of others is `bytes`.
    #[inline]
    fn limit(&self, bytes: u64) -> u64 {
        (bytes as i64 + ((bytes as i64 * i64::from(self.extra)) >> 7)) as u64
    }
}

/// Whether a packet was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It is stored.
    Stored,
    /// It is stored, and the peer must be paused.
    StoredPause,
    /// The buffer is full.
    Dropped,
}

/// Sizes that all groups of a switch share.
#[derive(Clone, Debug)]
pub struct BufferSizes {
    /// Reserve of one group [B].
    pub reserve: u32,
    /// Shared by all [B].
    pub pool: u32,
    /// Limit of one group's part of the pool.
    pub ingress: Limit,
    /// Limit of a lossy egress queue.
    pub egress: Limit,
    /// How far below the limit a paused group must fall before XON [B].
    pub xon_offset: u32,
    /// Size of a cell: a packet takes whole cells [B]; 1 if memory is counted in bytes.
    pub cell: u32,
}

impl BufferSizes {
    /// Sizes of a switch's buffer, `ports` of which need headroom `headroom_total` together.
    pub fn of(constants: &RunConstants, ports: u64, headroom_total: u64) -> Option<BufferSizes> {
        let switch = &constants.params.switch;
        let pool = switch.buffer.get().checked_sub(constants.reserved(ports, headroom_total))?;
        Some(BufferSizes {
            reserve: switch.reserve.get() as u32,
            pool: u32::try_from(pool).ok()?,
            ingress: Limit::new(switch.ingress_threshold),
            egress: Limit::new(switch.egress_threshold),
            xon_offset: switch.xon_offset.get() as u32,
            cell: switch.cells.as_ref().map_or(1, |cells| cells.size.get() as u32),
        })
    }
}

impl BufferSizes {
    /// Sizes of a switch that shares nothing.
    pub const NONE: BufferSizes = BufferSizes {
        reserve: 0,
        pool: 0,
        ingress: Limit::Static(0),
        egress: Limit::Static(0),
        xon_offset: 0,
        cell: 1,
    };

    /// Returns the memory that a packet of `bytes` takes [B].
    #[inline]
    fn occupied(&self, bytes: u32) -> u32 {
        if self.cell == 1 { bytes } else { bytes.next_multiple_of(self.cell) }
    }
}

/// A [`Threshold`] in integers.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Times what is free in the pool [1/128].
    Alpha(u64),
    /// Bytes.
    Static(u64),
}

impl Limit {
    /// The threshold with its factor rounded to 1/128.
    pub fn new(threshold: Threshold) -> Limit {
        match threshold {
            Threshold::Alpha(factor) => Limit::Alpha((factor * 128.0) as u64),
            Threshold::Static(size) => Limit::Static(size.get()),
        }
    }

    /// Returns the bytes that a group or queue may take of a pool with `free` bytes left.
    #[inline]
    pub fn bytes(self, free: u32) -> u64 {
        match self {
            Limit::Alpha(factor) => (factor * u64::from(free)) >> 7,
            Limit::Static(size) => size,
        }
    }
}

/// Pool of a switch: its use, and the most that was ever used of it.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    sizes: BufferSizes,
    used: u32,
    /// Most of the pool that was ever in use [B].
    pub peak: u32,
}

impl SharedBuffer {
    /// An empty buffer.
    pub fn new(sizes: BufferSizes) -> SharedBuffer {
        SharedBuffer { sizes, used: 0, peak: 0 }
    }

    /// Whether a lossy egress queue may be of `bytes`.
    #[inline]
    pub fn queue_has_room(&self, bytes: u32) -> bool {
        u64::from(bytes) <= self.sizes.egress.bytes(self.free()) + u64::from(self.sizes.reserve)
    }

    /// Admits a packet of `length` bytes, if there is room.
    #[inline(always)]
    pub fn admit(&mut self, group: &mut Group, length: u32) -> Admission {
        let bytes = self.sizes.occupied(length);
        let pooled = self.pooled(group);
        let wanted = self.pooled_with(group.stored + bytes) - pooled;
        let limit = group.limit(self.sizes.ingress.bytes(self.free()));
        let fits = u64::from(pooled + wanted) <= limit && wanted <= self.free();
        if wanted == 0 || fits {
            self.used += wanted;
            self.peak = self.peak.max(self.used);
            group.stored += bytes;
            group.peak = group.peak.max(group.stored + group.headroom);
            return Admission::Stored;
        }
        if group.headroom + bytes <= group.headroom_limit {
            group.headroom += bytes;
            group.peak = group.peak.max(group.stored + group.headroom);
            return if group.is_paused { Admission::Stored } else { Admission::StoredPause };
        }
        group.lost += 1;
        group.lost_bytes += u64::from(length);
        Admission::Dropped
    }

    /// Frees a packet of `length` bytes of a group: headroom first. True when a paused group may resume.
    #[inline]
    pub fn release(&mut self, group: &mut Group, length: u32) -> bool {
        let bytes = self.sizes.occupied(length);
        let from_headroom = bytes.min(group.headroom);
        group.headroom -= from_headroom;
        let before = self.pooled(group);
        group.stored -= bytes - from_headroom;
        self.used -= before - self.pooled(group);
        group.is_paused && self.may_resume(group)
    }

    /// Whether the occupancy of a paused group has fallen below XON.
    #[inline]
    pub fn may_resume(&self, group: &Group) -> bool {
        let limit = group.limit(self.sizes.ingress.bytes(self.free())) + u64::from(self.sizes.reserve);
        group.headroom == 0 && u64::from(group.stored) <= limit.saturating_sub(u64::from(self.sizes.xon_offset))
    }

    #[inline]
    fn free(&self) -> u32 {
        self.sizes.pool - self.used
    }

    #[inline]
    fn pooled(&self, group: &Group) -> u32 {
        self.pooled_with(group.stored)
    }

    #[inline]
    fn pooled_with(&self, stored: u32) -> u32 {
        stored.saturating_sub(self.sizes.reserve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(pool: u32, alpha: f64) -> SharedBuffer {
        SharedBuffer::new(BufferSizes {
            reserve: 1_000,
            pool,
            ingress: Limit::new(Threshold::Alpha(alpha)),
            egress: Limit::new(Threshold::Alpha(alpha)),
            xon_offset: 500,
            cell: 1,
        })
    }

    #[test]
    fn a_packet_takes_whole_cells_and_frees_as_many() {
        let mut buffer = SharedBuffer::new(BufferSizes { reserve: 0, cell: 144, ..buffer(1_440, 1.0).sizes });
        let mut group = Group { headroom_limit: 288, ..Group::default() };
        // Half of the pool, five cells, then the headroom's two; a lost packet counts by its length.
        let sizes = [145, 144, 1, 100, 64, 144, 145];
        let admitted = sizes.map(|size| buffer.admit(&mut group, size) != Admission::Dropped);
        assert_eq!(admitted, [true, true, true, true, true, true, false]);
        assert_eq!((group.stored, group.headroom, group.lost_bytes), (5 * 144, 2 * 144, 145));
        for size in &sizes[..6] {
            buffer.release(&mut group, *size);
        }
        assert_eq!((group.stored, group.headroom, buffer.used), (0, 0, 0));
    }

    #[test]
    fn one_group_stops_at_alpha_over_one_plus_alpha_of_the_pool() {
        // Choudhury and Hahne, eq. 3 for one queue: q = alpha (B - q), q = B alpha / (1 + alpha).
        let (mut buffer, mut group) = (buffer(90_000, 8.0), Group::default());
        while buffer.admit(&mut group, 100) == Admission::Stored {}
        assert_eq!(group.stored, 1_000 + 80_000);
        assert_eq!(buffer.used, 80_000);
    }

    /// Alpha of 1/8 is 1/2 at four times the rate, as in HPCC's simulator; a lone queue ends at B alpha / (1 + alpha).
    #[test]
    fn a_port_of_four_times_the_rate_has_four_times_the_threshold() {
        for (gbps, expected) in [(400, 31_000), (100, 11_000), (50, 6_300)] {
            let extra = Group::extra(BitRate::from_gbps(gbps), Some(BitRate::from_gbps(100)));
            let (mut buffer, mut group) = (buffer(90_000, 0.125), Group { extra, ..Group::default() });
            while buffer.admit(&mut group, 100) == Admission::Stored {}
            assert_eq!(group.stored, expected, "{gbps} Gb/s");
        }
    }

    #[test]
    fn the_first_packet_in_the_headroom_pauses_and_the_last_out_resumes() {
        let mut group = Group { headroom_limit: 300, ..Group::default() };
        let mut buffer = buffer(10_000, 1.0);
        while buffer.admit(&mut group, 100) == Admission::Stored {}
        assert_eq!((group.stored, group.headroom), (6_000, 100));
        group.is_paused = true;
        assert_eq!(buffer.admit(&mut group, 200), Admission::Stored);
        assert_eq!(buffer.admit(&mut group, 1), Admission::Dropped);
        // Headroom empties first; XON comes 500 B below the limit, which itself moves with the pool.
        assert!(!buffer.release(&mut group, 300));
        let mut freed = 0;
        while !buffer.release(&mut group, 50) {
            freed += 50;
        }
        // limit = 1,000 + (10,000 - (5,000 - x)) with x freed; stored = 6,000 - x <= limit - 500 at 2x >= 500.
        assert_eq!(freed + 50, 250);
    }

    #[test]
    fn what_goes_in_comes_out() {
        let mut group = Group { headroom_limit: 5_000, ..Group::default() };
        let mut buffer = buffer(50_000, 2.0);
        let stored: Vec<u32> = (1..200).filter(|&size| buffer.admit(&mut group, size) != Admission::Dropped).collect();
        stored.iter().for_each(|&size| {
            buffer.release(&mut group, size);
        });
        assert_eq!((group.stored, group.headroom, buffer.used), (0, 0, 0));
    }
}
