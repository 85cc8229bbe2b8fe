//! Proportional rate reduction (RFC 6937): how much each ACK lets out while the window shrinks.

/// One reduction, from its start to the window's arrival at the threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// Flight at the start (`RecoverFS`) [B].
    flight: u64,
    /// Delivered since (`prr_delivered`) [B].
    delivered: u64,
    /// Sent since (`prr_out`) [B].
    out: u64,
}

/// The state that an ACK leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckDelivery {
    /// Newly delivered by this ACK (`DeliveredData`) [B].
    pub(super) delivered: u64,
    /// Bytes in the network (`pipe`) [B].
    pub(super) in_flight: u64,
    /// Where the reduction ends (`ssthresh`) [B].
    pub(super) threshold: u64,
    /// Segment size [B].
    pub(super) mss: u64,
}

impl Prr {
    pub(super) fn new(flight: u64) -> Prr {
        Prr { flight: flight.max(1), delivered: 0, out: 0 }
    }

    pub(super) fn sent(&mut self, len: u64) {
        self.out += len;
    }

    /// How much may be sent now (`sndcnt`; section 3, with the slow-start reduction bound).
    pub(super) fn on_ack(&mut self, ack: AckDelivery) -> u64 {
        self.delivered += ack.delivered;
        if ack.in_flight > ack.threshold {
            let share = u128::from(self.delivered) * u128::from(ack.threshold);
            let due = share.div_ceil(u128::from(self.flight)) as u64;
            due.saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(ack.delivered) + ack.mss;
            limit.min(ack.threshold - ack.in_flight)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_threshold_share_goes_out_per_delivery() {
        // Flight 20, threshold 10: every second ACK of one segment releases one (RFC 6937, section 4).
        let mut prr = Prr::new(20_000);
        let mut in_flight = 19_000;
        let mut sent = 0;
        for _ in 0..8 {
            in_flight -= 1_000;
            let due = prr.on_ack(AckDelivery { delivered: 1_000, in_flight, threshold: 10_000, mss: 1_000 });
            if due >= 1_000 {
                prr.sent(1_000);
                in_flight += 1_000;
                sent += 1;
            }
        }
        assert_eq!(sent, 4);
    }

    #[test]
    fn below_the_threshold_it_catches_up_by_one_segment_per_ack() {
        let mut prr = Prr::new(20_000);
        let due = prr.on_ack(AckDelivery { delivered: 1_000, in_flight: 4_000, threshold: 10_000, mss: 1_000 });
        assert_eq!(due, 2_000);
    }
}
