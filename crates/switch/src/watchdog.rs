//! The PFC watchdog: finds queues that pauses stop without end, and discards or sends what they hold.
//!
//! A port is polled at multiples of the period, while one of its priorities is paused or storms. A poll compares
//! counters with those of the poll before:
//!
//! ```text
//!   holds packets, sent none, paused all the time ─► stopped for `detection` ─► storm: the action begins
//!   not paused at any time                        ─► quiet for `restoration` ─► the action ends
//! ```
//!
//! So a storm is detected, and its end noticed, later than `detection` and `restoration` by up to a period.

use std::collections::BTreeMap;

use etherweave_engine::{
    Wires, event::Kind, frame::pause::priorities, packet::Handle, params::PfcWatchdog, params::WatchdogAction,
};
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Priority, Time};

use crate::{Switches, forward::Held};

/// Share of a period [%] throughout which a queue must be paused, and of a time that must have passed, as periods are
/// measured: `pfc_detect_mellanox.lua` of sonic-swss.
const NEARLY_ALL: u64 = 99;

/// Whether a time has passed but for what is lost in measuring it.
fn has_passed(elapsed: Duration, time: Duration) -> bool {
    elapsed.as_ps() * 100 > time.as_ps() * NEARLY_ALL
}

/// A storm of one port and priority.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    /// The port whose peer pauses.
    pub port: PortIndex,
    /// The paused priority.
    pub priority: u8,
    /// Time of its detection.
    pub detected: Time,
    /// Time at which the queue was restored; absent, not in this run.
    pub restored: Option<Time>,
    /// Packets of the priority that the port had sent before.
    tx_before: u64,
    /// Packets that the port sent until the queue was restored.
    tx_ok: u64,
    /// Packets for the port that were discarded.
    pub tx_drops: u64,
    /// Packets from the port that were accepted.
    pub rx_ok: u64,
    /// Packets from the port that were discarded.
    pub rx_drops: u64,
}

impl Storm {
    fn new(port: PortIndex, priority: u8, detected: Time, tx_before: u64) -> Storm {
        Storm { port, priority, detected, restored: None, tx_before, tx_ok: 0, tx_drops: 0, rx_ok: 0, rx_drops: 0 }
    }

    fn end(&mut self, now: Time, tx_packets: u64) {
        (self.restored, self.tx_ok) = (Some(now), tx_packets - self.tx_before);
    }

    /// Packets that the port has sent since, until the queue was restored.
    pub fn tx_ok(&self, wires: &Wires) -> u64 {
        let now = wires.ports[self.port].counters(usize::from(self.priority)).tx_packets;
        if self.restored.is_some() { self.tx_ok } else { now - self.tx_before }
    }
}

/// Counters of a port and priority at a poll.
#[derive(Clone, Copy, Debug)]
struct Sight {
    tx_packets: u64,
    paused: Duration,
}

struct Poll {
    port: PortIndex,
    priority: usize,
    now: Sight,
    last: Option<Sight>,
}

#[derive(Clone, Copy, Default, Debug)]
struct WatchedQueue {
    last: Option<Sight>,
    /// Time for which it has been stopped, or of a storm, quiet.
    elapsed: Duration,
    storm: Option<usize>,
}

/// The watchdogs of a shard's switches.
pub struct Watchdog {
    params: PfcWatchdog,
    ports: BTreeMap<u32, [WatchedQueue; Priority::COUNT]>,
    /// Storms whose queues are not restored.
    active: Vec<usize>,
    /// Storms so far.
    pub storms: Vec<Storm>,
}

impl Watchdog {
    /// A watchdog that has seen nothing.
    pub fn new(params: PfcWatchdog) -> Watchdog {
        Watchdog { params, ports: BTreeMap::new(), active: Vec::new(), storms: Vec::new() }
    }

    fn storm_of(&self, port: PortIndex, priority: u8) -> Option<usize> {
        self.active.iter().copied().find(|&storm| {
            let Storm { port: own, priority: of, .. } = self.storms[storm];
            own == port && of == priority
        })
    }
}

impl Switches {
    /// A pause frame has come to a port: a watchdog polls it from the next multiple of the period on.
    pub fn expect_poll(&mut self, wires: &mut Wires, port: PortIndex) {
        let Some(watchdog) = &mut self.watchdog else { return };
        if wires.host_of_port(port).is_none() && !watchdog.ports.contains_key(&port.get()) {
            watchdog.ports.insert(port.get(), Default::default());
            watchdog.schedule(wires, port);
        }
    }

    /// Looks at a port, and acts on what it finds.
    pub fn poll(&mut self, wires: &mut Wires, port: PortIndex) {
        let watchdog = self.watchdog.as_mut().expect("a watchdog polls");
        let mut queues = watchdog.ports.remove(&port.get()).expect("a port that is polled is watched");
        for priority in priorities(wires.constants.nic_pause_mask) {
            let queue = &mut queues[priority];
            let now = sight(wires, port, priority);
            let poll = Poll { port, priority, now, last: queue.last.replace(now) };
            match queue.storm {
                None => self.look_for_storm(wires, poll, queue),
                Some(storm) => self.look_for_end(wires, poll, queue, storm),
            }
        }
        let is_watched = |queue: &WatchedQueue| queue.storm.is_some() || !queue.elapsed.is_zero();
        if wires.ports[port].paused().priorities != 0 || queues.iter().any(is_watched) {
            let watchdog = self.watchdog.as_mut().expect("a watchdog polls");
            watchdog.ports.insert(port.get(), queues);
            watchdog.schedule(wires, port);
        }
        self.kick(wires, port);
    }
}

impl Watchdog {
    fn schedule(&self, wires: &mut Wires, port: PortIndex) {
        let period = self.params.poll.as_ps();
        let next = Time::from_ps((wires.now.as_ps() / period + 1) * period);
        wires.schedule_at(next, port, Kind::WatchdogPoll, 0);
    }
}

fn sight(wires: &Wires, port: PortIndex, priority: usize) -> Sight {
    let port = &wires.ports[port];
    Sight { tx_packets: port.counters(priority).tx_packets, paused: port.paused().durations(wires.now, 0, priority).0 }
}

impl Switches {
    fn look_for_storm(&mut self, wires: &mut Wires, poll: Poll, queue: &mut WatchedQueue) {
        let Poll { port, priority, now, last } = poll;
        let watchdog = self.watchdog.as_mut().expect("a watchdog polls");
        let PfcWatchdog { detection, poll, action, .. } = watchdog.params;
        let class = wires.constants.scheduler.class(priority as u8);
        let is_stopped =
            last.is_some_and(|last| now.tx_packets == last.tx_packets && has_passed(now.paused - last.paused, poll));
        if !is_stopped || wires.ports[port].queue(class).is_empty() {
            queue.elapsed = Duration::ZERO;
            return;
        }
        queue.elapsed += poll;
        if !has_passed(queue.elapsed, detection) {
            return;
        }
        let storm = watchdog.storms.len();
        watchdog.storms.push(Storm::new(port, priority as u8, wires.now, now.tx_packets));
        watchdog.active.push(storm);
        (queue.storm, queue.elapsed) = (Some(storm), Duration::ZERO);
        let (is_ignored, is_discarded) = (action != WatchdogAction::Alert, action == WatchdogAction::Drop);
        wires.override_pauses(port, priority, is_ignored, is_discarded);
        if is_discarded {
            self.discard(wires, storm);
        }
    }

    fn look_for_end(&mut self, wires: &mut Wires, poll: Poll, queue: &mut WatchedQueue, storm: usize) {
        let Poll { port, priority, now, last } = poll;
        let watchdog = self.watchdog.as_mut().expect("a watchdog polls");
        let PfcWatchdog { restoration, poll, .. } = watchdog.params;
        let is_paused = wires.ports[port].paused().priorities & 1 << priority != 0;
        let is_quiet = !is_paused && last.is_some_and(|last| now.paused == last.paused);
        queue.elapsed = if is_quiet { queue.elapsed + poll } else { Duration::ZERO };
        if is_quiet && has_passed(queue.elapsed, restoration) {
            watchdog.storms[storm].end(wires.now, now.tx_packets);
            watchdog.active.retain(|&other| other != storm);
            *queue = WatchedQueue { last: queue.last, ..WatchedQueue::default() };
            wires.override_pauses(port, priority, false, false);
        }
    }

    /// Whether there is a storm.
    #[inline]
    pub fn has_storm(&self) -> bool {
        self.watchdog.as_ref().is_some_and(|watchdog| !watchdog.active.is_empty())
    }

    /// A packet has come in during a storm.
    #[cold]
    pub fn arrive_in_storm(
        &mut self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        priority: u8,
        handle: Handle,
    ) {
        let watchdog = self.watchdog.as_mut().expect("a watchdog has found a storm");
        let is_discarded = watchdog.params.action == WatchdogAction::Drop;
        if let Some(storm) = watchdog.storm_of(ingress, wires.packets[handle].priority) {
            watchdog.storms[storm].rx_ok += u64::from(!is_discarded);
            watchdog.storms[storm].rx_drops += u64::from(is_discarded);
            if is_discarded {
                wires.drop_packet(ingress, handle);
                return;
            }
        }
        self.arrive_at_switch(wires, ingress, egress, priority, handle);
        self.discard_blocked(wires);
    }

    /// Discards what has joined the queues of storms.
    pub fn discard_blocked(&mut self, wires: &mut Wires) {
        let discarding = self.watchdog.as_ref().filter(|watchdog| watchdog.params.action == WatchdogAction::Drop);
        let count = discarding.map_or(0, |watchdog| watchdog.active.len());
        for place in 0..count {
            let storm = self.watchdog.as_ref().expect("a watchdog discards").active[place];
            self.discard(wires, storm);
        }
    }

    fn discard(&mut self, wires: &mut Wires, storm: usize) {
        let watchdog = self.watchdog.as_mut().expect("a watchdog discards");
        let Storm { port, priority, .. } = watchdog.storms[storm];
        let class = wires.constants.scheduler.class(priority);
        while wires.ports[port].waiting & 1 << class != 0 {
            let handle = wires.ports[port].dequeue(class, &wires.packets);
            let held = Held::of(&wires.packets[handle]);
            self.watchdog.as_mut().expect("a watchdog discards").storms[storm].tx_drops += 1;
            wires.drop_packet(port, handle);
            self.release(wires, port, held);
        }
    }
}
