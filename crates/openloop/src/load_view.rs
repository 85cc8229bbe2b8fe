//! The load of a switch, as its routing sees it.

use etherweave_routing::LoadView;

#[cfg(test)]
use crate::port::END;
use crate::port::{Output, Port, Queue};
use crate::{links::LinkKind, notification::NotificationPlan, notification::Notifications, outage::Outages};

/// The load of one switch, as it sees it itself.
#[derive(Clone, Copy)]
pub(crate) struct SwitchLoad<'a> {
    pub(crate) ports: &'a [Port],
    pub(crate) outputs: &'a [Output],
    /// The first port of the switch.
    pub(crate) base: usize,
    /// Ports of every switch.
    pub(crate) radix: usize,
    pub(crate) first_switch: u32,
    /// Room of each far end [packets per channel], by class.
    pub(crate) room: [u16; 3],
    /// Queues of output channels; empty where credits are used.
    pub(crate) queues: &'a [Queue],
    /// Snooped notifications of the shard, where rules depend on them.
    pub(crate) notifications: Option<(&'a NotificationPlan, &'a Notifications)>,
    pub(crate) shift: u32,
    /// The last channel there is: later ones are this one.
    pub(crate) channel_last: u8,
    pub(crate) now: u32,
    pub(crate) links: &'a [LinkKind],
    pub(crate) outages: &'a Outages,
}

impl SwitchLoad<'_> {
    /// Packets that the far end of a channel has room for.
    fn credits(&self, port: u8, channel: u8) -> u32 {
        u32::from(self.outputs[self.output(port, channel)].credits)
    }

    fn output(&self, port: u8, channel: u8) -> usize {
        ((self.base + usize::from(port)) << self.shift) + usize::from(channel.min(self.channel_last))
    }
}

/// Queues are counted in packets.
impl LoadView for SwitchLoad<'_> {
    fn now_ns(&self) -> u64 {
        u64::from(self.now)
    }

    /// Packets in flight to the far end of a channel, there, or not yet known to have left it.
    fn occupancy(&self, port: u8, channel: u8) -> u32 {
        let room = self.room[self.ports[self.base + usize::from(port)].class as usize];
        u32::from(room) - self.credits(port, channel)
    }

    fn queued(&self, port: u8) -> u32 {
        let port = self.base + usize::from(port);
        let room = u32::from(self.room[self.ports[port].class as usize]);
        let channels = &self.outputs[port << self.shift..(port + 1) << self.shift];
        channels.iter().map(|channel| room - u32::from(channel.credits)).sum()
    }

    fn occupancy_at(&self, switch: u32, port: u8, channel: u8) -> u32 {
        let base = (switch - self.first_switch) as usize * self.radix;
        SwitchLoad { base, ..*self }.occupancy(port, channel)
    }

    /// The marks of other switches are known a local delay later.
    fn is_saturated(&self, switch: u32, port: u8) -> bool {
        let base = (switch - self.first_switch) as usize * self.radix;
        let state = &self.ports[base + usize::from(port)];
        if base == self.base { state.is_saturated } else { state.seems_saturated }
    }

    fn is_down(&self, port: u8) -> bool {
        let state = &self.ports[self.base + usize::from(port)];
        let switch = self.first_switch + u32::from(state.home);
        state.fails && self.outages.touch(switch, usize::from(port), self.now..=self.now)
    }

    /// Whether the far end pauses the channel; with credits, whether it has no room.
    fn is_paused(&self, port: u8, channel: u8) -> bool {
        let is_stopped = match self.queues.get(self.output(port, channel)) {
            Some(queue) => queue.is_paused,
            None => self.credits(port, channel) == 0,
        };
        is_stopped || self.is_down(port)
    }

    /// Credits, or with pauses the room of the channel's own queue.
    fn is_blocked(&self, port: u8, channel: u8) -> bool {
        let state = &self.ports[self.base + usize::from(port)];
        let full = self.links[usize::from(state.link)].full;
        self.is_paused(port, channel) || self.credits(port, channel) == 0 || state.link_free > self.now + full
    }

    fn is_notified(&self, port: u8, dst: u32) -> bool {
        let port = self.base + usize::from(port);
        self.notifications.is_some_and(|(plan, snooped)| snooped.are_held(plan, port, dst, self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_fewer_priorities_the_load_of_a_later_channel_is_that_of_the_last() {
        const ROOM: u16 = 32;
        let ports = vec![Port::unused(); 6];
        let outputs: Vec<Output> =
            (0..24).map(|output| Output { credits: ROOM - output, first: END, last: END }).collect();
        let all = SwitchLoad {
            ports: &ports,
            outputs: &outputs,
            base: 0,
            radix: 6,
            first_switch: 0,
            room: [ROOM; 3],
            queues: &[],
            notifications: None,
            shift: 2,
            channel_last: u8::MAX,
            now: 0,
            links: &[],
            outages: &Outages::NONE,
        };
        let load = SwitchLoad { channel_last: 1, ..all };
        let [first, last, later] = [0, 1, 3].map(|channel| load.occupancy(5, channel));
        assert!(first != last && last == later, "{first} {last} {later}");
        assert_eq!(load.queued(5), (0..4).map(|channel| all.occupancy(5, channel)).sum::<u32>());
    }
}
