//! What all shards share during a run: nothing of it changes.

use etherweave_topology::LinkClass;
use etherweave_workload::ArrivalPlan;
use etherweave_workload::pattern::Destinations;

use crate::outage::Outages;
use crate::params::{PauseThresholds, SwitchParams, Ticks};

/// Parameters of a run and its routing.
pub(crate) struct RunConstants<'a, R> {
    pub routing: &'a R,
    pub ticks: Ticks,
    pub params: &'a SwitchParams,
    /// When local and global links are paused; absent where credits are used.
    pub pause_thresholds: Option<[PauseThresholds; 2]>,
    /// Links that fail.
    pub outages: Outages,
    /// The highest channel there is.
    pub channel_last: u8,
    /// When hosts make packets.
    pub arrivals: ArrivalPlan,
    /// Whom they are for.
    pub destinations: Destinations,
    pub hosts: u32,
    /// Hosts with none of these bits in their number are watched for packets out of order.
    pub watch_mask: u32,
    pub seed: u64,
}

impl<R> RunConstants<'_, R> {
    /// How long a full output queue takes to send [ticks]. As packets are equally long and none overtakes, a queue
    /// holds `output_queue` packets exactly while its link is taken for longer than this.
    pub fn full(&self) -> u32 {
        self.params.output_queue * self.ticks.packet
    }

    /// When links of a class are paused; absent where credits are used, and for hosts, which take all that comes.
    pub fn pause_threshold(&self, class: LinkClass) -> Option<PauseThresholds> {
        match class {
            LinkClass::Host => None,
            LinkClass::Local => self.pause_thresholds.map(|[local, _]| local),
            LinkClass::Global => self.pause_thresholds.map(|[_, global]| global),
        }
    }

    /// What an output channel counts as its room [packets]: with credits that of the far end, with pauses its queue.
    pub fn room(&self, class: LinkClass) -> u16 {
        if self.pause_thresholds.is_some() {
            return self.params.output_queue as u16;
        }
        match class {
            // A host takes all that comes.
            LinkClass::Host => u16::MAX,
            LinkClass::Local | LinkClass::Global => self.params.buffer(class) as u16,
        }
    }

    /// [`RunConstants::room`] of every class.
    pub fn rooms(&self) -> [u16; 3] {
        LinkClass::ALL.map(|class| self.room(class))
    }

    /// From the last grant of a packet to its delivery, at the most [ticks].
    pub fn lead(&self) -> u32 {
        self.ticks.crossbar + self.full() + 2 * self.ticks.packet + self.ticks.ejection
    }

    /// Further ahead than any event [ticks].
    pub fn horizon(&self) -> u32 {
        let ticks = &self.ticks;
        let delay = ticks.local.max(ticks.global);
        1 + ticks.crossbar + self.full() + 2 * ticks.packet + 2 * delay
    }
}
