//! The choice of the port by which a host sends, where it has several.

use etherweave_primitives::Duration;

/// A connection and both of its ends, as a choice sees them.
#[derive(Clone, Copy, Debug)]
pub struct PortKey {
    /// Number of the connection in the run.
    pub number: u64,
    /// Number of each end's rank on its host.
    pub ranks: [u32; 2],
    /// A random number of the connection.
    pub hash: u64,
}

macro_rules! port_choices {
    ($($(#[$meta:meta])* $choice:ident = $name:literal by $function:ident $(, $packets:ident)?;)*) => {
        /// Choice of the port for a flow, a message, a packet.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum PortChoice {
            $($(#[$meta])* #[serde(rename = $name)] $choice,)*
        }

        impl PortChoice {
            /// Every member.
            pub const ALL: &[PortChoice] = &[$(PortChoice::$choice),*];

            /// Its name in a scenario.
            pub const fn name(self) -> &'static str {
                match self {
                    $(PortChoice::$choice => $name,)*
                }
            }

            /// Numbers of the ports at both ends of a connection, counted on beyond the last port from the first.
            pub fn ports(self, key: &PortKey) -> [u64; 2] {
                match self {
                    $(PortChoice::$choice => $function(key),)*
                }
            }

            /// Whether packets of a connection take ports in turn, so that they overtake each other.
            pub const fn is_per_packet(self) -> bool {
                match self {
                    $(PortChoice::$choice => port_choices!(@is $($packets)?),)*
                }
            }
        }
    };
    (@is packets) => { true };
    (@is) => { false };
}

port_choices! {
    /// The port that has the number of the rank on its host; at the other host, that of the rank there. So the ranks of
    /// a server keep to their rails.
    ByRank = "by_rank" by by_rank;
    /// A hash of the connection.
    ByHash = "by_hash" by by_hash;
    /// Connections in turn; with as many `job.connections` as ports, messages of a pair of ranks in turn.
    #[default]
    RoundRobin = "round_robin" by round_robin;
    /// Packets of a connection in turn.
    PerPacket = "per_packet" by first, packets;
    /// The first port; the others are there for when it fails.
    FirstWorking = "first_working" by first;
}

fn by_rank(key: &PortKey) -> [u64; 2] {
    key.ranks.map(u64::from)
}

fn by_hash(key: &PortKey) -> [u64; 2] {
    [key.hash; 2]
}

fn round_robin(key: &PortKey) -> [u64; 2] {
    [key.number; 2]
}

fn first(_: &PortKey) -> [u64; 2] {
    [0; 2]
}

/// Ports of hosts that have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortParams {
    /// The choice among them.
    pub choice: PortChoice,
    /// How long after a link on the path by a port has failed or returned the host knows it.
    pub detection: Duration,
}

impl Default for PortParams {
    /// Linux, *Ethernet Bonding Driver HOWTO*, `miimon`: "a value of 100 is a good starting point" [ms].
    fn default() -> PortParams {
        PortParams { choice: PortChoice::default(), detection: Duration::from_ms(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(choice: PortChoice) -> Vec<[u64; 2]> {
        let key = |number: u64| PortKey { number, ranks: [number as u32, 7], hash: 1_000 + number };
        (0..3).map(|number| choice.ports(&key(number))).collect()
    }

    #[test]
    fn ranks_keep_to_their_rails() {
        assert_eq!(ports(PortChoice::ByRank), [[0, 7], [1, 7], [2, 7]]);
    }

    #[test]
    fn both_ends_of_a_connection_hash_to_one_port() {
        assert_eq!(ports(PortChoice::ByHash), [[1_000; 2], [1_001; 2], [1_002; 2]]);
    }

    #[test]
    fn connections_take_ports_in_turn() {
        assert_eq!(ports(PortChoice::RoundRobin), [[0; 2], [1; 2], [2; 2]]);
    }

    #[test]
    fn packets_take_ports_in_turn_from_the_first_on() {
        assert_eq!(ports(PortChoice::PerPacket), [[0; 2]; 3]);
        let per_packet: Vec<&str> =
            PortChoice::ALL.iter().filter(|choice| choice.is_per_packet()).map(|choice| choice.name()).collect();
        assert_eq!(per_packet, ["per_packet"]);
    }

    #[test]
    fn the_first_port_is_used_while_it_works() {
        assert_eq!(ports(PortChoice::FirstWorking), [[0; 2]; 3]);
    }
}
