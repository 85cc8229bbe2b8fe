//! What a packet carries for its routing.

/// Addresses, state and random bits of a packet: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RoutedPacket {
    /// The host it goes to.
    pub dst: u32,
    /// The host it comes from.
    pub src: u32,
    /// State of the routing.
    pub route_state: [u16; 2],
    /// Random bits for choices among equal ports.
    pub hash: u16,
    /// Switches passed.
    pub hops: u8,
    /// Whether it was routed non-minimally.
    pub is_misrouted: bool,
}
