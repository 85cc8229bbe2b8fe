//! Packet memory in cells, and the headroom that a vendor computes from them.

use etherweave_primitives::{BitRate, Bytes, Duration, Length};

/// Packet memory in cells. A packet takes whole cells, and headroom follows from the cells that fill after a pause.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// Size of a cell, 1B to 64KiB: every packet takes whole cells.
    pub size: Bytes,
    /// Memory that a byte on the wire takes in the worst case, with small packets in whole cells, 1..=16.
    pub factor: f64,
    /// Bytes that arrive after a pause at any rate: frames under way at both ends, MAC and PHY.
    pub fixed: Bytes,
    /// Delay inside both ends, cable and response excluded. Default "0ns".
    #[serde(default)]
    pub delay: Duration,
    /// Response of the peer: what else it may send before it stops. Default "none".
    #[serde(default)]
    pub response: PeerResponse,
    /// Memory that a byte of the response takes, 1..=16. Absent: `factor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_factor: Option<f64>,
    /// Rates that headroom is computed with, ascending: a port takes the first not below its own. Default: its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<TableRate>,
}

/// A rate that the vendor's table of headroom has rows of its own for.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableRate {
    /// The rate.
    pub rate: BitRate,
    /// The longest cable of these rows; a longer one takes the next rate. Absent: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cable_max: Option<Length>,
}

/// Response of a peer that has received a pause: what it may still send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerResponse {
    /// `fixed` and `delay` contain it, the default.
    #[default]
    None,
    /// The pause quanta of IEEE 802.3, Annex 31B.3.7, for the rate.
    #[serde(rename = "ieee_802_3")]
    Ieee8023,
}

/// Rates [Gb/s] and the pause quanta of 512 bit times that a peer may take to stop: IEEE 802.3 Annex 31B.3.7. SONiC's
/// `cfgmgr/buffer_headroom_mellanox.lua` has the same, and 905 for 800 Gb/s.
const QUANTA: [(u64, u64); 8] =
    [(10, 67), (25, 80), (40, 118), (50, 147), (100, 394), (200, 453), (400, 905), (800, 905)];
const QUANTUM: Bytes = Bytes::new(512 / 8);
/// Response time at rates that the table does not list: 394 quanta at 100 Gb/s, the longest from 25 Gb/s on.
const LONGEST_RESPONSE: Duration = Duration::from_ps(2_017_280);

impl PeerResponse {
    fn bytes(self, rate: BitRate) -> Bytes {
        match self {
            PeerResponse::None => Bytes::ZERO,
            PeerResponse::Ieee8023 => QUANTA
                .iter()
                .find(|(gbps, _)| BitRate::from_gbps(*gbps) == rate)
                .map_or_else(|| rate.bytes_in(LONGEST_RESPONSE), |(_, quanta)| QUANTUM * *quanta),
        }
    }
}

impl Cells {
    /// The headroom of a port with a cable of `length`: the memory of what arrives after a pause, in whole cells.
    pub fn headroom(&self, rate: BitRate, length: Length) -> Bytes {
        let rate = self.table_rate(rate, length);
        let elapsed = length.propagation_time() * 2 + self.delay;
        let arrives = rate.bytes_in(elapsed) + self.fixed;
        let response = self.response_factor.unwrap_or(self.factor) * self.response.bytes(rate).get() as f64;
        let worst = (self.factor * arrives.get() as f64 + response).ceil() as u64;
        Bytes::new(worst.next_multiple_of(self.size.get()))
    }

    fn table_rate(&self, rate: BitRate, length: Length) -> BitRate {
        let has = |row: &&TableRate| row.rate >= rate && row.cable_max.is_none_or(|longest| length <= longest);
        self.rates.iter().find(has).map_or(rate, |row| row.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(factor: f64, response: PeerResponse) -> Cells {
        let (size, fixed, delay) = (Bytes::new(192), Bytes::new(10_000), Duration::from_ns(100));
        Cells { size, factor, fixed, delay, response, response_factor: None, rates: Vec::new() }
    }

    fn headroom(factor: f64, response: PeerResponse) -> u64 {
        cells(factor, response).headroom(BitRate::from_gbps(100), Length::from_m(40)).get()
    }

    #[test]
    fn headroom_is_what_arrives_after_a_pause_in_whole_cells() {
        // 100 Gb/s are 12.5 B/ns: 2 * 40 m * 5 ns + 100 ns bring 6250 B.
        assert_eq!(headroom(1.0, PeerResponse::None), 16_250_u64.next_multiple_of(192));
        assert_eq!(headroom(3.0, PeerResponse::None), (3 * 16_250_u64).next_multiple_of(192));
        // 394 quanta of 64 B.
        let response = 394 * 64;
        assert_eq!(headroom(1.0, PeerResponse::Ieee8023), (16_250_u64 + response).next_multiple_of(192));
    }

    #[test]
    fn the_response_may_take_less_memory_than_what_else_arrives() {
        let separate = Cells { response_factor: Some(1.5), ..cells(3.0, PeerResponse::Ieee8023) };
        let bytes = separate.headroom(BitRate::from_gbps(100), Length::from_m(40)).get();
        assert_eq!(bytes, (3 * 16_250_u64 + 394 * 96).next_multiple_of(192));
    }

    #[test]
    fn a_port_has_the_headroom_of_the_first_row_that_has_its_rate_and_cable() {
        let row = |gbps, cable_max| TableRate { rate: BitRate::from_gbps(gbps), cable_max };
        let own = cells(1.0, PeerResponse::None);
        let table = Cells { rates: vec![row(25, Some(Length::from_m(40))), row(100, None)], ..own.clone() };
        for (rate, cable, taken) in
            [(10, 40, 25), (25, 40, 25), (25, 41, 100), (50, 5, 100), (100, 300, 100), (400, 5, 400)]
        {
            let of = |cells: &Cells, gbps| cells.headroom(BitRate::from_gbps(gbps), Length::from_m(cable));
            assert_eq!(of(&table, rate), of(&own, taken), "{rate} Gb/s, {cable} m");
        }
    }

    #[test]
    fn a_rate_that_the_standard_does_not_list_has_the_longest_response() {
        let of = |gbps| PeerResponse::Ieee8023.bytes(BitRate::from_gbps(gbps)).get();
        assert_eq!((of(400), of(100)), (905 * 64, 394 * 64));
        // 394 quanta at 100 Gb/s are 2.01728 us.
        assert_eq!(of(1_600), 16 * of(100));
    }
}
