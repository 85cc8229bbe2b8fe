//! Routing state that a packet carries.

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

impl RoutedPacket {
    /// All of it, for processes that share no memory.
    pub fn words(&self) -> [u32; 4] {
        let RoutedPacket { dst, src, route_state, hash, hops, is_misrouted } = *self;
        let [first, second] = route_state.map(u32::from);
        [dst, src, second << 16 | first, u32::from(is_misrouted) << 24 | u32::from(hops) << 16 | u32::from(hash)]
    }

    /// The packet of these words.
    pub fn of_words([dst, src, route_state, rest]: [u32; 4]) -> RoutedPacket {
        RoutedPacket {
            dst,
            src,
            route_state: [route_state as u16, (route_state >> 16) as u16],
            hash: rest as u16,
            hops: (rest >> 16) as u8,
            is_misrouted: rest >> 24 == 1,
        }
    }
}
