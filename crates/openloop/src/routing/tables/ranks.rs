//! The channel of a hop: what a rule writes into the packet's priority when it sends it on (Benito et al. 2015, section
//! V-E: "CoS updates can be embedded in existent OpenFlow rules").

use etherweave_topology::LinkClass;

use super::Place;

/// What a rule does to the channel that a packet came by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rank {
    /// This one, whatever it was.
    Fixed(u8),
    /// One more; the first from a host.
    Above,
    /// The same from a local link, one more from a global one, the first from a host.
    SameOrAbove,
}

impl Rank {
    /// The channel of the next hop.
    #[inline]
    pub fn channel(self, at: Place) -> u8 {
        match (self, at.class) {
            (Rank::Fixed(channel), _) => channel,
            (Rank::Above | Rank::SameOrAbove, LinkClass::Host) => 0,
            (Rank::SameOrAbove, LinkClass::Local) => at.channel,
            (Rank::Above, LinkClass::Local | LinkClass::Global) | (Rank::SameOrAbove, LinkClass::Global) => {
                at.channel + 1
            }
        }
    }
}

/// What a rule of a dragonfly is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Destinations in the own group.
    Home,
    /// Destinations elsewhere, minimally.
    Away,
    /// Destinations elsewhere, by some other group.
    Detour,
}

/// How all rules of a fabric choose channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ranks {
    /// One channel: trees, up and down; dimensions in their order.
    One,
    /// One more with every hop, so many: dimensions in any order (Günther 1981).
    ByHop(u8),
    /// Dragonfly: local 0, global 0, local 1, global 1, local 2; so many. Minimal ways need 2, detours 3.
    ByLink(u8),
    /// Dragonfly: global 0 by a detour, local 0, global 1, local 1 in the destination's group. Two channels do, and
    /// each rule writes a constant.
    ByRule,
}

impl Ranks {
    /// Virtual channels in use.
    pub fn channels(self) -> u8 {
        match self {
            Ranks::One => 1,
            Ranks::ByRule => 2,
            Ranks::ByHop(channels) | Ranks::ByLink(channels) => channels,
        }
    }

    /// What a rule writes for a port to a link of some class.
    pub fn rank(self, class: LinkClass, purpose: Purpose) -> Rank {
        match (self, class, purpose) {
            (_, LinkClass::Host, _) | (Ranks::One, ..) => Rank::Fixed(0),
            (Ranks::ByHop(_), ..) | (Ranks::ByLink(_), LinkClass::Local, _) => Rank::Above,
            (Ranks::ByLink(_), LinkClass::Global, _) => Rank::SameOrAbove,
            (Ranks::ByRule, LinkClass::Local, Purpose::Home) => Rank::Fixed(1),
            (Ranks::ByRule, LinkClass::Local, Purpose::Away | Purpose::Detour) => Rank::Fixed(0),
            (Ranks::ByRule, LinkClass::Global, Purpose::Detour) => Rank::Fixed(0),
            (Ranks::ByRule, LinkClass::Global, Purpose::Home | Purpose::Away) => Rank::Fixed(1),
        }
    }
}
