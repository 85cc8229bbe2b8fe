//! The channel of a hop: what a rule writes into the packet's priority when it sends it on (Benito et al. 2015, section
//! V-E: "CoS updates can be embedded in existent OpenFlow rules").

use etherweave_topology::LinkClass;

use super::{super::dragonfly::by_link, InputChannel, OutputChannel};

/// Change of a rule to the channel by which a packet arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelRule {
    /// This one, whatever it was.
    Fixed(u8),
    /// One more; the first from a host.
    Above,
    /// The same from a local link, one more from a global one, the first from a host.
    SameOrAbove,
}

impl ChannelRule {
    /// The channel of the next hop.
    #[inline]
    pub fn channel(self, at: InputChannel) -> u8 {
        match (self, at.class) {
            (ChannelRule::Fixed(channel), _) => channel,
            (ChannelRule::Above | ChannelRule::SameOrAbove, LinkClass::Host) => 0,
            (ChannelRule::SameOrAbove, LinkClass::Local) => at.channel,
            (ChannelRule::Above, LinkClass::Local | LinkClass::Global)
            | (ChannelRule::SameOrAbove, LinkClass::Global) => at.channel + 1,
        }
    }
}

/// Purpose of a rule of a dragonfly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HopPurpose {
    /// Destinations in the own group.
    Home,
    /// Destinations elsewhere, minimally.
    Away,
    /// Destinations elsewhere, by some other group.
    NonMinimal,
}

/// How all rules of a fabric choose channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelScheme {
    /// One channel: trees, up and down; dimensions in their order.
    One,
    /// One more with every hop, so many: dimensions in any order (Günther 1981).
    ByHop(u8),
    /// Dragonfly: local 0, global 0, local 1, global 1, local 2; so many. Minimal paths need 2, non-minimal paths 3.
    ByLink(u8),
    /// Dragonfly: global 0 by a non-minimal path, local 0, global 1, local 1 in the destination's group. Two channels
    /// do, and each rule writes a constant.
    ByRule,
}

impl ChannelScheme {
    /// Virtual channels in use.
    pub fn channels(self) -> u8 {
        match self {
            ChannelScheme::One => 1,
            ChannelScheme::ByRule => 2,
            ChannelScheme::ByHop(channels) | ChannelScheme::ByLink(channels) => channels,
        }
    }

    /// The [rank](super::super::PacketRouting::rank) of a channel; none where ports have their order too.
    pub(super) fn order(self, out: OutputChannel) -> Option<u32> {
        let channel = u32::from(out.channel);
        match self {
            ChannelScheme::One => None,
            ChannelScheme::ByHop(_) => Some(channel),
            ChannelScheme::ByLink(channels) => by_link(out, channels),
            ChannelScheme::ByRule => Some(2 * channel + u32::from(out.class == LinkClass::Local)),
        }
    }

    /// Returns the channel rule for a port to a link of some class.
    pub fn rank(self, class: LinkClass, purpose: HopPurpose) -> ChannelRule {
        match (self, class, purpose) {
            (_, LinkClass::Host, _) | (ChannelScheme::One, ..) => ChannelRule::Fixed(0),
            (ChannelScheme::ByHop(_), ..) | (ChannelScheme::ByLink(_), LinkClass::Local, _) => ChannelRule::Above,
            (ChannelScheme::ByLink(_), LinkClass::Global, _) => ChannelRule::SameOrAbove,
            (ChannelScheme::ByRule, LinkClass::Local, HopPurpose::Home) => ChannelRule::Fixed(1),
            (ChannelScheme::ByRule, LinkClass::Local, HopPurpose::Away | HopPurpose::NonMinimal) => {
                ChannelRule::Fixed(0)
            }
            (ChannelScheme::ByRule, LinkClass::Global, HopPurpose::NonMinimal) => ChannelRule::Fixed(0),
            (ChannelScheme::ByRule, LinkClass::Global, HopPurpose::Home | HopPurpose::Away) => ChannelRule::Fixed(1),
        }
    }
}
