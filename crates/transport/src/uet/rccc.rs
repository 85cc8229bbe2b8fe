//! Receiver-credit congestion control: receivers grant what sources may send, no faster than their links (Ultra
//! Ethernet Specification 1.0, section 3.6.14).
//!
//! Requests carry a target, which is all that the source wants to have been granted. The pseudocode of the
//! specification was not read: quanta, the speculative start and the pace are those of the reference simulator
//! uet-htsim (`uec.cpp`).

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, Time, params};

use super::pace::{Core, GrantPace};

params! {
    /// Receiver-credit congestion control.
    pub struct Rccc {
        /// Round trip of a full packet on the longest idle path, 100 ns to 10 ms: a source begins with one and a half
        /// bandwidth-delay products of credit, or with a full packet where that is more, and never has more. Default
        /// "12us".
        pub base_round_trip: Duration = Duration::from_us(12),
        /// Share of a receiver's link that it grants, 0.5 to 1. Default 0.99.
        pub link_share: f64 = 0.99,
        /// Largest grant, 256 B to 1 MiB in multiples of 256 B. Default "16KiB".
        pub grant: Bytes = Bytes::new(16 << 10),
        /// Rate of the hosts of a leaf over that of its uplinks, 1 to 1000: above 1, a receiver grants more slowly
        /// while packets are marked or trimmed before the last hop, down to 0.9 of its link over this number, 0.01 at
        /// least. Default 1.
        pub oversubscription: f64 = 1.0,
    }
}

/// Unit of credits [B].
const QUANTUM: u64 = 256;
/// Quanta that a grant takes of the receiver's link at least, however small it is: 1,024 B.
const QUANTA_MIN: u32 = 4;

/// Quanta of so many bytes.
fn quanta(bytes: u64) -> u32 {
    bytes.div_ceil(QUANTUM) as u32
}

impl Rccc {
    /// Rejects inconsistent parameters.
    ///
    /// # Errors
    /// With the key below its table.
    pub fn check(&self) -> Result<(), InputError> {
        let (least, most) = (Duration::from_ns(100), Duration::from_ms(10));
        let base = self.base_round_trip;
        let is_within = base >= least && base <= most;
        InputError::unless(is_within, "base_round_trip", base, format!("{least} to {most}"))?;
        InputError::unless((0.5..=1.0).contains(&self.link_share), "link_share", self.link_share, "0.5 to 1")?;
        let grant = self.grant.get();
        let is_whole = grant.is_multiple_of(QUANTUM) && (QUANTUM..=1 << 20).contains(&grant);
        InputError::unless(is_whole, "grant", self.grant, "a multiple of 256 B, up to 1 MiB")?;
        let ratio = self.oversubscription;
        InputError::unless((1.0..=1000.0).contains(&ratio), "oversubscription", ratio, "1 to 1000")
    }

    pub(super) fn core(&self) -> Core {
        Core { oversubscription: self.oversubscription, round_trip: self.base_round_trip }
    }

    /// Most credit of a source at a NIC of `rate` [B].
    pub(super) fn credit_max(&self, rate: BitRate) -> u64 {
        rate.bytes_in(self.base_round_trip).get() * 3 / 2
    }

    /// Time between two grants of a receiver at a NIC of `rate`.
    pub(super) fn gap(&self, rate: BitRate) -> Duration {
        let full = rate.serialization_time(self.grant).as_ps() as f64;
        Duration::from_ps((full / self.link_share) as u64)
    }
}

/// Credit of a source.
#[derive(Clone, Debug)]
pub(super) struct SourceCredit {
    credit: i64,
    credit_max: i64,
    /// Whether nothing has been heard of the receiver: the credit is speculative.
    is_speculative: bool,
    /// Granted in all, and what the receiver was asked for, modulo 2^32 [quanta].
    granted: u32,
    target: u32,
}

impl SourceCredit {
    /// Creates the credit at a NIC of `rate`, in packets that count `packet` bytes at most: less credit than that would
    /// never send.
    pub(super) fn new(params: &Rccc, rate: BitRate, packet: u64) -> SourceCredit {
        let credit_max = params.credit_max(rate).max(packet) as i64;
        SourceCredit { credit: credit_max, credit_max, is_speculative: true, granted: 0, target: 0 }
    }

    /// Whether a packet may be sent.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.credit > 0
    }

    /// Most credit [B].
    pub(super) fn max(&self) -> u64 {
        self.credit_max as u64
    }

    /// Whether the receiver owes nothing of what it was asked for.
    pub(super) fn is_settled(&self) -> bool {
        self.target.wrapping_sub(self.granted) as i32 <= 0
    }

    /// A packet of `bytes` is sent.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.credit -= bytes as i64;
    }

    /// The target that a packet carries, of a source that has `demand` bytes to send.
    pub(super) fn request(&mut self, demand: u64) -> u32 {
        let missing = ((demand as i64).min(self.credit_max) - self.credit).max(0);
        self.target = self.granted.wrapping_add(quanta(missing as u64));
        self.target
    }

    /// The receiver has answered: speculation ends.
    pub(super) fn confirm(&mut self) {
        if std::mem::take(&mut self.is_speculative) {
            self.credit = self.credit.min(0);
        }
    }

    /// Takes a grant up to `granted`.
    pub(super) fn grant(&mut self, granted: u32) {
        let more = granted.wrapping_sub(self.granted) as i32;
        if more > 0 {
            self.granted = granted;
            self.credit = (self.credit + i64::from(more) * QUANTUM as i64).min(self.credit_max);
        }
    }
}

/// Grants of a receiver to a source.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    granted: u32,
    target: u32,
    /// Bytes of trimmed packets that are less than a quantum.
    trimmed: u64,
    size: u32,
    /// Most that it may be granted beyond that.
    ahead_max: u32,
    /// Time that a grant of `size` takes of the receiver's link.
    gap: Duration,
    /// Whether a grant may have been lost: the source asks for what it was given.
    repeats: bool,
    /// Quanta of the grant that the host will ask for, where it will.
    scheduled: Option<u32>,
    /// Whether the grant is to be sent now.
    is_due: bool,
}

impl Grants {
    pub(super) fn new(params: &Rccc, rate: BitRate) -> Grants {
        let (size, ahead_max) = (quanta(params.grant.get()), (params.credit_max(rate) / QUANTUM) as u32);
        let gap = params.gap(rate);
        Grants {
            granted: 0,
            target: 0,
            trimmed: 0,
            size,
            ahead_max,
            gap,
            repeats: false,
            scheduled: None,
            is_due: false,
        }
    }

    /// Takes the target of a packet.
    pub(super) fn ask(&mut self, target: u32) {
        if target.wrapping_sub(self.target) as i32 > 0 {
            self.target = target;
        }
    }

    /// A packet of up to `bytes` was trimmed: its source will send it again.
    pub(super) fn owe(&mut self, bytes: u64) {
        self.trimmed += bytes;
        let quanta = (self.trimmed / QUANTUM) as u32;
        self.trimmed %= QUANTUM;
        self.target = self.granted.wrapping_add(self.owed() + quanta);
    }

    /// Takes the target of a source that has no credit.
    pub(super) fn ask_without_credit(&mut self, target: u32) {
        self.ask(target);
        self.repeats = true;
    }

    /// Credit that the source asked for and was not granted [quanta].
    fn owed(&self) -> u32 {
        (self.target.wrapping_sub(self.granted) as i32).max(0) as u32
    }

    /// Time of the next grant, where one must be scheduled: of what the source asked for, up to a whole grant. A source
    /// that has all of that is granted more where no other waits for the link, as its last target is half a round trip
    /// old.
    pub(super) fn schedule(&mut self, now: Time, pace: &mut GrantPace) -> Option<Time> {
        if self.scheduled.is_some() {
            return None;
        }
        let (time, gap) = (now.max(pace.from), pace.stretch(self.gap));
        let (owed, ahead) = (self.owed(), self.granted.wrapping_sub(self.target));
        let is_ahead = owed == 0 && time.since(now) <= gap && ahead < self.ahead_max;
        let quanta = if is_ahead { self.size } else { owed.min(self.size) };
        self.scheduled = (quanta > 0 || self.repeats).then_some(quanta);
        pace.from = time + gap * u64::from(self.scheduled?.max(QUANTA_MIN)) / u64::from(self.size);
        Some(time)
    }

    /// The time of a grant has come.
    pub(super) fn fall_due(&mut self) {
        self.is_due = self.scheduled.is_some();
    }

    /// Whether a grant is to be sent now.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// All that has been granted, with the grant that was scheduled.
    pub(super) fn give(&mut self) -> u32 {
        self.repeats = false;
        self.granted = self.granted.wrapping_add(self.scheduled.take().unwrap_or_default());
        self.granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_speculates_until_it_hears_of_its_receiver() {
        // 1.5 * 150,000 B of credit at 100 Gb/s over 12 us.
        let mut source = SourceCredit::new(&Rccc::default(), BitRate::from_gbps(100), 4_150);
        source.spend(100_000);
        assert!(source.is_open());
        assert_eq!(source.request(1_000_000), quanta(225_000 - 125_000));
        source.confirm();
        assert!(!source.is_open());
        source.grant(64);
        source.spend(16_000);
        assert!(source.is_open());
        source.spend(4_150);
        assert!(!source.is_open(), "credit may go below zero by a packet");
        assert_eq!(source.request(8_000), 64 + quanta(8_000 + 3_766));
        assert!(!source.is_settled());
        source.grant(128);
        assert!(source.is_settled());
    }

    #[test]
    fn a_source_has_credit_for_a_full_packet_whatever_the_round_trip() {
        // 1.5 * 1,250 B at 100 Gb/s over 100 ns.
        let params = Rccc { base_round_trip: Duration::from_ns(100), ..Rccc::default() };
        assert_eq!(SourceCredit::new(&params, BitRate::from_gbps(100), 4_150).max(), 4_150);
    }

    #[test]
    fn a_receiver_grants_up_to_the_target_at_its_pace() {
        let mut grants = Grants::new(&Rccc::default(), BitRate::from_gbps(100));
        let mut pace = GrantPace::new(0, 0);
        // Grants to others take the link for two microseconds.
        let busy = Time::from_ps(2_000_000);
        pace.from = busy;
        assert_eq!(grants.schedule(Time::ZERO, &mut pace), None);
        grants.ask(100);
        assert_eq!(grants.schedule(Time::ZERO, &mut pace), Some(busy));
        // 16 KiB at 99 Gb/s.
        let next = busy + Duration::from_ps(1_323_959);
        assert_eq!(pace.from, next);
        assert_eq!(grants.schedule(Time::ZERO, &mut pace), None, "it is scheduled");
        grants.fall_due();
        assert!(grants.take_due() && !grants.take_due());
        assert_eq!(grants.give(), 64);
        // What is left of the target, 36 of 64 quanta, takes as much of the link.
        assert_eq!(grants.schedule(Time::ZERO, &mut pace), Some(next));
        assert_eq!(pace.from, next + Duration::from_ps(744_726));
        grants.fall_due();
        assert_eq!((grants.give(), grants.schedule(Time::ZERO, &mut pace)), (100, None));
        // Nobody else waits for the link: 225,000 B beyond the target.
        assert_eq!(last_grant(&mut grants, Duration::ZERO), 100 + 64 * 878u32.div_ceil(64));
    }

    /// All that is granted where others leave the link free after `wait`.
    fn last_grant(grants: &mut Grants, wait: Duration) -> u32 {
        let (mut last, mut pace) = (0, GrantPace::new(0, 0));
        loop {
            pace.from = Time::ZERO + wait;
            if grants.schedule(Time::ZERO, &mut pace).is_none() {
                return last;
            }
            grants.fall_due();
            last = grants.give();
        }
    }

    #[test]
    fn a_receiver_owes_what_was_trimmed_to_the_byte() {
        let mut grants = Grants::new(&Rccc::default(), BitRate::from_gbps(100));
        // 100 packets of 4,150 B are 1,621 quanta and 24 B, where 17 quanta for each would be 1,700.
        (0..100).for_each(|_| grants.owe(4_150));
        assert_eq!(last_grant(&mut grants, Duration::from_us(2)), 1_621);
    }
}
