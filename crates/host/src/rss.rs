//! Receive-side scaling: which receive queue a connection's frames go to.
//!
//! The NIC hashes addresses and ports (Toeplitz), and its indirection table maps the hash to a queue.

/// Entries of the indirection table, filled with all queues in turn (mlx5: `mlx5e_build_default_indir_rqt`).
const TABLE: u32 = 128;
/// Drivers draw the key at random when they start; this one has published hashes (Microsoft, *Verifying the RSS hash
/// calculation*), and runs are reproducible.
const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b,
    0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac,
    0x01, 0xfa,
];

/// One end of a connection.
pub struct Socket {
    /// IPv4 address.
    pub address: [u8; 4],
    /// TCP port.
    pub port: u16,
}

/// The queue of frames from `source` to `destination`, of `queues`.
pub fn queue(source: &Socket, destination: &Socket, queues: u32) -> u32 {
    hash(source, destination) % TABLE % queues
}

/// Every set bit of the input adds the 32 bits of the key that begin there.
fn hash(source: &Socket, destination: &Socket) -> u32 {
    let [source_port, destination_port] = [source.port.to_be_bytes(), destination.port.to_be_bytes()];
    let input = source.address.iter().chain(&destination.address).chain(&source_port).chain(&destination_port);
    let mut hash = 0;
    let mut window = u32::from_be_bytes([KEY[0], KEY[1], KEY[2], KEY[3]]);
    for (place, &byte) in input.enumerate() {
        for bit in (0..8).rev() {
            if byte >> bit & 1 == 1 {
                hash ^= window;
            }
            window = window << 1 | u32::from(KEY[place + 4] >> bit & 1);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published table.
    #[test]
    fn hashes_are_those_that_microsoft_publishes() {
        let socket = |address, port| Socket { address, port };
        let check = |source, destination, expected| assert_eq!(hash(&source, &destination), expected);
        check(socket([66, 9, 149, 187], 2794), socket([161, 142, 100, 80], 1766), 0x51cc_c178);
        check(socket([199, 92, 111, 2], 14230), socket([65, 69, 140, 83], 4739), 0xc626_b0ea);
        check(socket([24, 19, 198, 95], 12898), socket([12, 22, 207, 184], 38024), 0x5c2b_394a);
    }

    /// 26 connections use about 18 of 32 queues: 32 (1 - (1 - 1/32)^26) = 18.0.
    #[test]
    fn connections_spread_as_if_at_random() {
        let used = |host: u8| {
            let own = Socket { address: [10, 0, 0, host], port: 5001 };
            let queue = |peer: u8| {
                let port = 32_768 + u16::from(host) * 26 + u16::from(peer);
                queue(&Socket { address: [10, 0, 1, peer], port }, &own, 32)
            };
            (0..26).map(queue).collect::<std::collections::BTreeSet<_>>().len()
        };
        let mean = (0..48).map(used).sum::<usize>() as f64 / 48.0;
        assert!((15.0..21.0).contains(&mean), "{mean}");
    }
}
