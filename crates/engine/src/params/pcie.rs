//! The bus between a NIC and the memory of its host (R. Neugebauer et al., "Understanding PCIe performance for end host
//! networking", SIGCOMM 2018).

use etherweave_primitives::{BitRate, Bytes, Duration, params};

/// Headers of a transaction: framing, sequence number, link check, and a header of 12 or 16 B [B].
const HEADER: u64 = 24;
/// A completion queue entry of the NIC [B].
const COMPLETION: u64 = 64;
/// Share of the link that acknowledgements and flow control leave to transactions, in thousandths.
const TRANSACTIONS: u64 = 902;
/// Bytes of transactions in a unit of 256 B of generation 6; the others are acknowledgements, checks and correction
/// (PCI Express 6.0, flit mode).
const FLIT: (u64, u64) = (236, 256);

params! {
    /// PCI Express, in the direction to memory.
    pub struct Pcie {
        /// Generation, 3 to 6: 8, 16, 32 or 64 GT/s for each of its width.
        pub generation: u8 = 3,
        /// Width, 1 to 16 (x16).
        pub width: u8 = 16,
        /// Largest payload of a transaction, 128 B to 4 KiB.
        pub payload: Bytes = Bytes::new(256),
        /// Largest read request, 128 B to 4 KiB: what the host sends is read by requests, which go in this direction
        /// too.
        pub read_request: Bytes = Bytes::new(512),
        /// Whether a NIC that works by itself has the whole of a packet before it sends it on, in either direction.
        /// Default false: a packet passes while it comes.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub store_and_forward: bool = false,
        /// Longest message, with its envelope, that a NIC that works by itself gets together with the doorbell [B]; it
        /// reads longer ones from memory. Default 0: it reads all.
        #[serde(skip_serializing_if = "super::is_zero")]
        pub inline_max: Bytes = Bytes::ZERO,
        /// Time of a read from memory: from the NIC's request for a message to its first byte. Default "0s".
        #[serde(skip_serializing_if = "super::is_zero")]
        pub read_latency: Duration = Duration::ZERO,
    }
}

impl Pcie {
    /// Returns the rate that is left to transactions: 128 of 130 bits are data in generations 3 to 5.
    pub fn rate(&self) -> BitRate {
        let transfers_mbps = 8_000 << (self.generation.max(3) - 3);
        let raw_mbps = transfers_mbps * u64::from(self.width);
        if self.generation >= 6 {
            return BitRate::from_bps(raw_mbps * FLIT.0 * 1_000_000 / FLIT.1);
        }
        let raw_mbps = raw_mbps * 128 / 130;
        BitRate::from_bps(raw_mbps * TRANSACTIONS * 1_000)
    }

    /// Returns the bytes that a write of `bytes` takes of the bus [B].
    pub fn write_bytes(&self, bytes: u32) -> u32 {
        let transactions = u64::from(bytes).div_ceil(self.payload.get());
        (u64::from(bytes) + transactions * HEADER) as u32
    }

    /// Returns the bytes that the completion of a frame for the kernel takes [B].
    pub fn completion_bytes(&self) -> u32 {
        (COMPLETION + HEADER) as u32
    }

    /// Returns the bytes of the requests that read `bytes` for sending [B].
    pub fn read_bytes(&self, bytes: u32) -> u32 {
        (u64::from(bytes).div_ceil(self.read_request.get()) * HEADER) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wire rate [Gb/s] at which frames of `wire` bytes on the wire and `bytes` in memory are written, while the same
    /// go out.
    fn drained(pcie: &Pcie, wire: u32, bytes: u32, completion: u32, is_sending: bool) -> f64 {
        let written = pcie.write_bytes(bytes) + completion;
        // Sending at 100 Gb/s leaves that much less.
        let frames_out = 100e9 / 8.0 / f64::from(wire);
        let requests = if is_sending { frames_out * f64::from(pcie.read_bytes(bytes)) * 8.0 } else { 0.0 };
        (pcie.rate().as_bps() as f64 - requests) / f64::from(written) * f64::from(wire) / 1e9
    }

    /// Generation 3 of width 16 leaves 113.7 Gb/s; the rates of frames of 4,518 B for the kernel, and of READ
    /// responses of 4,096 B, follow from headers, completions and read requests.
    #[test]
    fn the_bus_drains_a_connect_x_5_at_about_the_rate_of_its_link() {
        let pcie = Pcie::default();
        assert!((pcie.rate().as_bps() as f64 / 1e9 - 113.7).abs() < 0.1);
        let kernel = |sending| drained(&pcie, 4_538, 4_518, pcie.completion_bytes(), sending);
        let read = |sending| drained(&pcie, 4_178, 4_096, 0, sending);
        let rates = [(kernel(false), 102.5), (kernel(true), 98.3), (read(false), 106.1), (read(true), 101.8)];
        for (found, expected) in rates {
            assert!((found - expected).abs() < 0.4, "{found} against {expected}");
        }
        let narrow = Pcie { payload: Bytes::new(128), ..Pcie::default() };
        assert!(drained(&narrow, 4_178, 4_096, 0, true) < 97.0, "below what RoCE achieves on the testbed");
    }

    /// Twice the width or a later generation, twice the rate; units of generation 6 leave 944 of 1,024 Gb/s.
    #[test]
    fn the_rate_doubles_with_width_and_generations() {
        let rate = |generation, width| Pcie { generation, width, ..Pcie::default() }.rate().as_bps() as f64;
        assert!((rate(3, 16) / rate(3, 8) - 2.0).abs() < 1e-3);
        assert!((rate(5, 8) / rate(4, 8) - 2.0).abs() < 1e-3);
        assert_eq!(rate(6, 16), 944e9);
    }
}
