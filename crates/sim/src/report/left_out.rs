//! Effects that flow-level mode leaves out of a run, and the share of the run that each concerns.

use etherweave_engine::params::FlowControl;

use crate::{run::Simulation, shard::Shard};

/// Shares of what was solved for connections in flow-level mode, 0 where a run simulates what is left out or has none
/// of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LeftOut {
    /// Rates, or connections that begin, that lossless flow control would hold back, because on a link of the
    /// connection others wait for a full link that it does not use.
    pub held_back: f64,
    /// Connections that begin behind packets of others, which take longer than their messages take at their share.
    pub delayed: f64,
    /// Rates that a link behind a switch limits, where packets may be lost since more would wait than the switch holds.
    pub lost: f64,
    /// Rates that a link behind a switch limits, where a congestion control would set them.
    pub controlled: f64,
    /// Connections whose packets overtake each other, since some of them wait with others' for links of which they use
    /// more than half: some are sent again.
    pub overtaken: f64,
}

impl Simulation {
    pub(super) fn left_out(&self) -> LeftOut {
        let Some((shard, counts)) =
            self.shards.first().and_then(|shard| Some((shard, &shard.wires.fluid.as_ref()?.left_out)))
        else {
            return LeftOut::default();
        };
        let of = |share: f64, applies: bool| if applies { share } else { 0.0 };
        LeftOut {
            held_back: of(counts.held_back(), shard.wires.constants.nic_pause_mask != 0),
            delayed: counts.delayed(),
            lost: of(counts.overflowing(), may_lose_packets(shard)),
            controlled: of(counts.limited(), controls_congestion(shard)),
            overtaken: of(counts.overtaken(), resends_what_is_overtaken(shard)),
        }
    }
}

/// Whether connections are in a priority that no flow control protects.
fn may_lose_packets(shard: &Shard) -> bool {
    let credits = match &shard.wires.constants.params.flow_control {
        FlowControl::Credits(credits) => credits.mask(),
        FlowControl::None {} | FlowControl::GlobalPause(_) | FlowControl::Pfc(_) => 0,
    };
    let is_lossy = |priority: u8| (shard.wires.constants.nic_pause_mask | credits) & 1 << priority == 0;
    shard.hosts.nics.endpoints.iter().any(|endpoint| is_lossy(endpoint.priority))
}

/// Whether hosts slow down by what they see of queues before anything is lost.
fn controls_congestion(shard: &Shard) -> bool {
    let params = &shard.wires.constants.params;
    params.transport.slows_before_loss(params.switch.ecn.is_some())
}

/// Whether connections take packets for lost that others have overtaken. Go-back-N is warned of before a run.
fn resends_what_is_overtaken(shard: &Shard) -> bool {
    shard.wires.constants.params.transport.resends_overtaken()
}
