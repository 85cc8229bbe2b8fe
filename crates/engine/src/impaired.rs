//! Impaired links: they damage frames, fail for a time, their sending port is behind a shaper, sleeps between frames or
//! changes its rate, or messages of flow-level mode cross them too.
//!
//! Only few packets cross one. The check is where packets that leave their shard are handled, so that the others do not
//! pay for it.

use etherweave_fluid::Crossing;
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Time};

use super::event::{EventKey, Kind};
use crate::packet::{Handle, Packet, flags};
use crate::trace::Beside;
use crate::{
    Wires, degraded::Passage, impaired_link::ImpairedLink, port::PeerLink, sleep::SleepingTransmitter,
    stepped::SteppedTransmitter,
};

impl Wires {
    /// The impaired link of a port, made at the first call.
    pub fn impaired_link(&mut self, port: PortIndex) -> &mut ImpairedLink {
        let link = self.ports[port].peer.link;
        if let Ok(shard) = link.resolve() {
            let number = self.impaired_links.push(ImpairedLink {
                shard,
                port,
                damage: None,
                shaper: None,
                sleep: None,
                rates: None,
                outages: Vec::new(),
                background: None,
            });
            self.ports[port].peer.link = PeerLink::impaired(number);
        }
        self.impaired_links.get_mut(self.ports[port].peer.link).expect("the link is impaired now")
    }

    /// When a packet that starts to be sent now arrives at the far end, and by which event; `time` and `key` are those
    /// of an intact packet on a link of its own.
    pub(super) fn cross_link(
        &mut self,
        link: PeerLink,
        mut time: Time,
        key: EventKey,
        handle: Handle,
    ) -> (Time, EventKey) {
        let (Packet { wire, .. }, mut beside) = (self.packets[handle], None);
        let Some(link) = self.impaired_links.get_mut(link) else { return (time, key) };
        if let Some(shaper) = &mut link.shaper {
            let port = &mut self.ports[link.port];
            port.busy_until = shaper.charge(self.now, port.busy_until, wire);
        }
        if let (Some(background), Some(fluid)) = (&mut link.background, &mut self.fluid) {
            let Crossing { wait, occupied } = fluid.cross(self.now, link.port, wire);
            let port = &mut self.ports[link.port];
            port.busy_until = port.busy_until.max(self.now + occupied);
            let alone = time;
            time = (time + wait).max(background.next_arrival);
            background.next_arrival = time + port.serialization_time(wire);
            beside = Some(Beside { port: link.port, wait: time.since(alone), until: self.now + occupied });
        }
        let packet = &mut self.packets[handle];
        if let Some(damage) = &mut link.damage {
            let port = &mut self.ports[link.port];
            let Passage { is_damaged, late } = damage.pass(self.now, wire, port.serialization_time(wire));
            (time, port.busy_until) = (time + late, port.busy_until + late);
            packet.flags |= if is_damaged { flags::DAMAGED } else { 0 };
            let port = link.port;
            if is_damaged {
                let packet = self.packets[handle];
                self.trace_loss(port, &packet);
            }
        }
        if let Some(beside) = beside {
            self.trace_beside(handle, beside);
        }
        let key =
            if self.packets[handle].has(flags::DAMAGED) { self.key(key.place(), Kind::ArriveDamaged, 0) } else { key };
        (time, key)
    }

    /// Wakes an impaired link for the packet that is being sent, if it sleeps, and sends the packet at the rate that it
    /// has. Returns how much later the packet ends than on a link that is awake at its full rate.
    pub(super) fn wake_link(&mut self, link: PeerLink) -> Duration {
        let Some(ImpairedLink { port, sleep, rates, .. }) = self.impaired_links.get_mut(link) else {
            return Duration::ZERO;
        };
        let port = &mut self.ports[*port];
        let late = late(sleep.as_mut(), rates.as_mut(), self.now, port.busy_until.since(self.now));
        port.busy_until += late;
        late
    }

    /// When the last byte of the packet that is being sent is through an impaired link: later than its arrival at a
    /// cut-through switch.
    pub(super) fn tail_leaves(&mut self, link: PeerLink) -> Time {
        let ports = &self.ports;
        self.impaired_links.get_mut(link).map_or(self.now, |link| ports[link.port].busy_until + ports[link.port].delay)
    }

    /// Takes a packet away that a failing link has lost; its last byte would have been there at `arrival`.
    pub(super) fn lose(&mut self, link: PeerLink, arrival: Time, handle: Handle) {
        let packet = self.packets.remove(handle);
        if let Some(link) = self.impaired_links.get_mut(link) {
            link.lose(self.now, arrival, &packet);
            self.credits.restore(link.port, &packet);
            let port = link.port;
            self.trace_loss(port, &packet);
        }
        self.packets.remove_side(packet.side);
        self.totals.lost += 1;
    }

    /// A pause frame of `wire` bytes leaves a port as soon as its wire is free and awake; no shaper delays it. Returns
    /// when.
    pub fn start_of_pause(&mut self, port: PortIndex, wire: u32) -> Time {
        let port = &mut self.ports[port];
        let (shaper, sleep, rates) = match self.impaired_links.get_mut(port.peer.link) {
            Some(link) => (link.shaper.as_mut(), link.sleep.as_mut(), link.rates.as_mut()),
            None => (None, None, None),
        };
        let duration = port.serialization_time(wire);
        let wire_until = shaper.map_or(&mut port.busy_until, |shaper| &mut shaper.wire_until);
        let mut start = self.now.max(*wire_until);
        start += late(sleep, rates, start, duration);
        *wire_until = start + duration;
        port.busy_until = port.busy_until.max(start + duration);
        start
    }

    /// A NIC discards a packet with a wrong check sequence, or with the address of another.
    #[cold]
    #[inline(never)]
    pub fn reject(&mut self, port: PortIndex, handle: Handle) {
        match self.packets[handle].has(flags::DAMAGED) {
            true => self.arrive_damaged(port, handle),
            false => self.discard_copy(handle),
        }
    }

    /// A packet has arrived over a degraded channel with a wrong check sequence.
    pub fn arrive_damaged(&mut self, port: PortIndex, handle: Handle) {
        let priority = usize::from(self.packets[handle].priority);
        self.ports[port].count_fcs_error(priority);
        if self.constants.is_cut_through && self.host_of_port(port).is_none() {
            // By an event of its own, served next: only the main loop contains the code that forwards.
            self.expect_packet(self.now, self.key(port, Kind::Arrive, 0), handle);
        } else {
            self.discard_damaged(port, handle);
        }
    }

    /// Discards a packet that has come in by `port`, and frees the room that it had there.
    pub fn discard_damaged(&mut self, port: PortIndex, handle: Handle) {
        let packet = self.packets.remove(handle);
        self.free_credits_of_lost(port, &packet);
        self.packets.remove_side(packet.side);
        self.totals.damaged += 1;
    }
}

/// How much later a frame ends, which would begin at `start` and take `duration`, because its transmitter sleeps or has
/// a lower rate.
fn late(
    sleep: Option<&mut SleepingTransmitter>,
    rates: Option<&mut SteppedTransmitter>,
    start: Time,
    duration: Duration,
) -> Duration {
    match (sleep, rates) {
        (None, None) => Duration::ZERO,
        (None, Some(rates)) => rates.begin(start, duration),
        (Some(sleep), rates) => {
            let wait = sleep.wake(start);
            let late = wait + rates.map_or(Duration::ZERO, |rates| rates.begin(start + wait, duration));
            sleep.send(start + late + duration);
            late
        }
    }
}
