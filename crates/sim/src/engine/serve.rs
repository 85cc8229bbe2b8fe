//! The main loop: dispatches one event after the other.

use etherweave_primitives::Time;

use super::event::{Event, Kind};
use super::shard::Shard;
use crate::frame::pause::PauseFrame;
use crate::packet::Handle;
use crate::switch::port::Owner;

/// Ports [B] that a processor's own cache holds together with their packets.
const CACHED: usize = 1 << 20;

impl Shard {
    /// Serves all events before `end`.
    pub fn serve(&mut self, end: Time) {
        let is_cached = size_of_val(self.ports.as_slice()) <= CACHED;
        while self.queue.next_time().is_some_and(|next| next < end) {
            if !is_cached {
                self.fetch();
            }
            while let Some(event) = self.queue.pop_current(end) {
                self.now = event.time;
                self.totals.events += 1;
                self.dispatch(event);
            }
        }
    }

    /// Touches what the events of the present bucket will need, so that the processor fetches many cache lines at
    /// once instead of one after another: first what events name, then what is found there. Changes nothing; see
    /// `docs/models/engine.md` for what it gains.
    fn fetch(&mut self) {
        if self.packets.capacity_used() == 0 || self.constants.routes.is_empty() {
            return;
        }
        let mut touched: u32 = 0;
        for event in self.queue.bucket() {
            let place = event.key.place();
            match event.key.kind() {
                Kind::Arrive => {
                    let (egress, priority) = event.hint.as_egress();
                    touched ^= self.packets[event.handle].wire ^ self.ports[egress as usize].touch().0;
                    touched ^= self.touch_group(place, priority);
                }
                Kind::Deliver => {
                    touched ^= self.packets[event.handle].wire ^ self.ports[place as usize].touch().0;
                    touched ^= self.endpoints[event.hint.as_endpoint() as usize].touch();
                }
                Kind::TransmitterFree => touched ^= self.ports[place as usize].touch().0,
                _ => {}
            }
        }
        for event in self.queue.bucket() {
            match event.key.kind() {
                Kind::Arrive => {
                    let (egress, _) = event.hint.as_egress();
                    let (_, last) = self.ports[egress as usize].touch();
                    touched ^= self.packets.touch(last).next;
                    touched ^= self.touch_route(self.packets[event.handle].route + 1);
                }
                Kind::TransmitterFree => {
                    let (first, _) = self.ports[event.key.place() as usize].touch();
                    let packet = self.packets.touch(first);
                    touched ^= self.touch_route(packet.route);
                    touched ^= self.touch_group(packet.ingress, packet.priority);
                }
                _ => {}
            }
        }
        std::hint::black_box(touched);
    }

    fn touch_group(&self, port: u32, priority: u8) -> u32 {
        self.groups[self.constants.group(port, priority).min(self.groups.len() - 1)].stored
    }

    /// An entry of the route table, or another if there is none.
    fn touch_route(&self, route: u32) -> u32 {
        let routes = &self.constants.routes;
        routes[(route as usize).min(routes.len() - 1)]
    }

    /// The two kinds that every packet-hop needs stay in the loop; the others are calls.
    #[inline(always)]
    fn dispatch(&mut self, event: Event) {
        match event.key.kind() {
            Kind::Arrive => self.arrive(event.key.place(), event),
            Kind::TransmitterFree => self.transmitter_free(event.key.place()),
            _ => self.dispatch_other(event),
        }
    }

    #[inline(never)]
    fn dispatch_other(&mut self, event: Event) {
        let (place, index) = (event.key.place(), event.key.index());
        match event.key.kind() {
            Kind::Arrive | Kind::TransmitterFree => unreachable!("served in the loop"),
            Kind::Deliver => self.deliver_packet(place, event.handle),
            Kind::PauseArrive => self.pause_arrive(place, PauseFrame::unpack(event.handle)),
            Kind::PauseExpire => self.pause_expire(place, index as usize),
            Kind::PauseRefresh => self.pause_refresh(place, index as u8),
            Kind::NicResume => self.nic_resume(place),
            Kind::Announce => self.announce(event.handle),
            Kind::TransportTimer => self.transport_timer(index),
            Kind::Softirq => self.softirq(index),
            Kind::ThreadDone => self.thread_done(index),
            Kind::Pacing => self.pacing(index),
            Kind::Start => self.thread_start(index),
            Kind::ArriveDamaged => self.arrive_damaged(place, event.handle),
            Kind::PauseArriveDamaged => self.pause_arrive_damaged(place, PauseFrame::unpack(event.handle)),
        }
    }

    #[inline(always)]
    fn arrive(&mut self, port: u32, event: Event) {
        self.note_arrival(port, event.handle);
        let (egress, priority) = match self.constants.router {
            None => event.hint.as_egress(),
            Some(_) => self.decide_egress(port, event.handle),
        };
        self.arrive_at_switch(port, egress, priority, event.handle);
    }

    #[inline]
    fn deliver_packet(&mut self, port: u32, handle: Handle) {
        self.note_arrival(port, handle);
        let Owner::Host(host) = self.ports[port as usize].owner else { unreachable!("only hosts are delivered to") };
        self.arrive_at_host(host as usize, handle);
    }

    #[inline]
    fn note_arrival(&mut self, port: u32, handle: Handle) {
        self.totals.last_progress = self.now;
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.add(self.now, self.channels[port as usize], &self.packets[handle]);
        }
    }

    #[inline(always)]
    fn transmitter_free(&mut self, port_index: u32) {
        let port = &mut self.ports[port_index as usize];
        port.free_scheduled = false;
        if port.busy_until > self.now {
            // A pause frame slipped in between.
            self.expect_free(port_index);
        } else {
            self.transmit(port_index);
        }
    }
}
