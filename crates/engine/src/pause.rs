//! Pause frames: how they are sent, what they stop, and for how long.
//!
//! One mechanism serves 802.3x and PFC: a frame names priorities and, for each, whether to stop (with a number of
//! quanta) or to resume (quanta 0). An 802.3x frame names all eight; between ports with PFC, where it has no effect, it
//! names none. A pause frame does not wait behind data: it leaves when the packet that is being sent has left.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Time};

use crate::{
    Wires, degraded::Passage, event::Kind, frame::pause::PauseFrame, frame::pause::priorities,
    frame::size::pause_wire_bytes,
};

impl Wires {
    /// Pauses the priorities of `mask` at the peer of `port`, and schedules the refresh.
    pub fn pause_peer(&mut self, port: PortIndex, mask: u8) {
        let quanta = self.constants.pause_quanta;
        self.send_pause_frame(port, PauseFrame { enable: mask, stop: mask, quanta });
        let now = self.now;
        self.ports[port].paused_mut().begin_holding(mask, now);
        self.schedule_refresh(port, mask);
    }

    /// Resumes the priorities of `mask` at the peer of `port`.
    pub fn resume_peer(&mut self, port: PortIndex, mask: u8) {
        self.send_pause_frame(port, PauseFrame { enable: mask, stop: 0, quanta: 0 });
        let now = self.now;
        self.ports[port].paused_mut().end_holding(mask, now);
    }

    /// Schedules the refresh of a pause: after half its time.
    fn schedule_refresh(&mut self, port: PortIndex, mask: u8) {
        let half = self.ports[port].quantum() * u64::from(self.constants.pause_quanta) / 2;
        self.schedule(half, port, Kind::PauseRefresh, u32::from(mask));
    }

    /// Sends an 802.3x frame to a port with PFC, which ignores it. Returns the time until the next refreshes it.
    pub fn send_ignored_pause(&mut self, port: PortIndex) -> Duration {
        let quanta = self.constants.pause_quanta;
        self.send_pause_frame(port, PauseFrame { enable: 0, stop: 0, quanta });
        self.ports[port].quantum() * u64::from(quanta) / 2
    }

    fn send_pause_frame(&mut self, port_index: PortIndex, frame: PauseFrame) {
        let start = self.start_of_pause(port_index, pause_wire_bytes());
        let port = &self.ports[port_index];
        let (peer, duration) = (port.peer, port.serialization_time(pause_wire_bytes()));
        let mut arrival = start + duration + port.pause_delay();
        if self.impaired_links.is_cut(peer.link, start, arrival) {
            return;
        }
        let Passage { is_damaged, late } = self.impaired_links.pass(peer.link, start, pause_wire_bytes(), duration);
        arrival += late;
        self.ports[port_index].busy_until += late;
        let kind = if is_damaged { Kind::PauseArriveDamaged } else { Kind::PauseArrive };
        self.post_bits(peer, kind, 0, arrival, frame.pack());
        self.capture_pause(port_index, start, frame, true);
    }

    /// A damaged pause frame has arrived: it has no effect.
    pub fn pause_arrive_damaged(&mut self, port_index: PortIndex, frame: PauseFrame) {
        let paused = self.ports[port_index].paused_mut();
        priorities(frame.enable).for_each(|priority| paused.fcs_errors[priority] += 1);
    }

    fn stop_priority(&mut self, port_index: PortIndex, priority: usize, quanta: u16) {
        let port = &mut self.ports[port_index];
        let until = self.now + port.quantum() * u64::from(quanta);
        let must_expire = port.paused_mut().stop(priority, self.now, until);
        port.paused_classes = self.constants.classes(port.paused().stopped());
        if must_expire {
            self.schedule_at(until, port_index, Kind::PauseExpire, priority as u32);
        }
    }

    fn resume_priority(&mut self, port_index: PortIndex, priority: usize) {
        let port = &mut self.ports[port_index];
        port.paused_mut().resume(priority, self.now);
        port.paused_classes = self.constants.classes(port.paused().stopped());
    }

    /// A watchdog begins or ceases to ignore pauses of a priority, and may keep it from being sent meanwhile.
    pub fn override_pauses(&mut self, port_index: PortIndex, priority: usize, is_ignored: bool, is_discarded: bool) {
        let port = &mut self.ports[port_index];
        let paused = port.paused_mut();
        let with = |mask: u8, is_set: bool| mask & !(1 << priority) | u8::from(is_set) << priority;
        (paused.ignored, paused.discarded) = (with(paused.ignored, is_ignored), with(paused.discarded, is_discarded));
        port.paused_classes = self.constants.classes(port.paused().stopped());
    }

    /// A refresh is due, and the priorities in `held` are held: sends it if this pause still holds.
    pub fn pause_refresh(&mut self, port: PortIndex, held: u8) {
        let half = self.ports[port].quantum() * u64::from(self.constants.pause_quanta) / 2;
        let is_this_one =
            priorities(held).all(|priority| self.now.since(self.ports[port].paused().holding_since[priority]) >= half);
        if held != 0 && is_this_one {
            let quanta = self.constants.pause_quanta;
            self.send_pause_frame(port, PauseFrame { enable: held, stop: held, quanta });
            let paused = self.ports[port].paused_mut();
            priorities(held).for_each(|priority| paused.tx_packets[priority].refresh += 1);
            self.schedule_refresh(port, held);
        }
    }

    /// A pause frame has arrived and takes effect on lossless priorities.
    pub fn pause_arrive(&mut self, port_index: PortIndex, frame: PauseFrame) {
        self.capture_pause(port_index, self.now, frame, false);
        for priority in priorities(frame.enable) {
            let (is_stop, is_lossy) =
                (frame.stop & 1 << priority != 0, self.constants.nic_pause_mask & 1 << priority == 0);
            if is_lossy {
                let counters = &mut self.ports[port_index].paused_mut().rx_packets[priority];
                counters.xoff += u32::from(is_stop);
                counters.xon += u32::from(!is_stop);
            } else if is_stop {
                self.stop_priority(port_index, priority, frame.quanta);
            } else {
                self.ports[port_index].paused_mut().rx_packets[priority].xon += 1;
                self.resume_priority(port_index, priority);
            }
        }
    }

    /// A pause may have expired. Whether it has, so that the port may send.
    pub fn pause_expire(&mut self, port_index: PortIndex, priority: usize) -> bool {
        match self.ports[port_index].paused_mut().expire(priority, self.now) {
            None => false,
            Some(until) if until > self.now => {
                self.schedule_at(until, port_index, Kind::PauseExpire, priority as u32);
                false
            }
            Some(_) => {
                self.resume_priority(port_index, priority);
                true
            }
        }
    }

    /// Adds the pauses that still hold at the end of a run, `held` by this port, to its counters.
    pub fn settle_pauses(&mut self, port_index: PortIndex, held: u8, end: Time) {
        let port = &mut self.ports[port_index];
        if held | port.paused().priorities != 0 {
            port.paused_mut().settle(end, held);
        }
    }
}
