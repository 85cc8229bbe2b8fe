//! Queues of a switch's neighbours as it knows them, for routings that compare them: those at global ports of the
//! switches at the other ends of its local links, or those at all ports to switches of all that it has a link to.
//!
//! ```text
//!   a queue changes ──► report: when, which, bytes ──► log of the shard, and of shards with neighbours
//!                                                        │ older than `delay`
//!                                                        ▼
//!                                                      known: what decisions see
//! ```
//!
//! A report is known `delay` after the change, everywhere at once: as long as a packet takes over the longest of these
//! links, as switches piggyback it there. That is at least the lookahead, so a shard has every report of another one
//! when it may be used, and decisions are the same in every layout. Reports are no events, and take no bandwidth.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use etherweave_engine::{LoadReport, Wires, port::Owner};
use etherweave_kernel::{IndexVec, indices::PortIndex, indices::SwitchIndex};
use etherweave_primitives::{Duration, Time};
use etherweave_routing::Saturation;

use crate::Switches;

/// Numbers of queues: those of the global ports of all switches, each with the classes of interest.
pub struct QueueNumbers {
    /// First number of each switch, and the ports that others see.
    pub switches: Vec<(u32, Range<u8>)>,
    /// Traffic classes of channel 0 of the jobs, a bit each.
    pub classes: u8,
}

impl QueueNumbers {
    fn of(&self, switch: u32, port: u8, class: usize) -> Option<u32> {
        let (first, ports) = &self.switches[switch as usize];
        let is_known = ports.contains(&port) && self.classes & 1 << class != 0;
        let before = (self.classes & ((1 << class) - 1)).count_ones();
        is_known.then(|| first + u32::from(port - ports.start) * self.classes.count_ones() + before)
    }

    fn count(&self) -> usize {
        let ports: usize = self.switches.iter().map(|(_, ports)| ports.len()).sum();
        ports * self.classes.count_ones() as usize
    }
}

/// Queues of a shard's switches and of their neighbours.
pub struct NeighbourLoads {
    numbers: Arc<QueueNumbers>,
    /// Time from a change until others know it.
    delay: Duration,
    /// Threshold that marks a port as saturated, with its packets in bytes.
    saturation: Option<Saturation>,
    /// Known load by queue [B].
    known: Vec<u32>,
    /// The last report of each queue of the shard [B].
    reported: Vec<u32>,
    /// Reports that are not yet known, of this shard, and of others.
    own: VecDeque<LoadReport>,
    others: VecDeque<LoadReport>,
    /// Other shards with neighbours, by switch of the shard.
    shards: IndexVec<SwitchIndex, Vec<u32>>,
}

impl NeighbourLoads {
    /// Empty queues; `shards` has the other shards with neighbours of each switch.
    pub fn new(
        numbers: &Arc<QueueNumbers>,
        delay: Duration,
        saturation: Option<Saturation>,
        shards: Vec<Vec<u32>>,
    ) -> NeighbourLoads {
        let (known, reported) = (vec![0; numbers.count()], vec![0; numbers.count()]);
        let (own, others) = (VecDeque::new(), VecDeque::new());
        NeighbourLoads {
            numbers: Arc::clone(numbers),
            delay,
            saturation,
            known,
            reported,
            own,
            others,
            shards: shards.into(),
        }
    }

    /// Takes note of all that is known at `now`.
    pub fn advance(&mut self, now: Time) {
        for log in [&mut self.own, &mut self.others] {
            while let Some(report) = log.front().filter(|report| report.time + self.delay <= now) {
                self.known[report.queue as usize] = report.bytes;
                log.pop_front();
            }
        }
    }

    /// Takes the reports of another shard for the window that is over: all events to come are later.
    pub fn receive(&mut self, reports: &[LoadReport]) {
        let Some(last) = reports.last() else { return };
        self.advance(last.time);
        self.others.extend(reports);
        // Several shards report on one window. Of a queue only one does, whose order stays.
        self.others.make_contiguous().sort_by_key(|report| report.time);
    }

    /// Returns the bytes that the queue of another switch is known to hold.
    pub fn queued(&self, switch: u32, port: u8, class: usize) -> u32 {
        self.numbers.of(switch, port, class).map_or(0, |queue| self.known[queue as usize])
    }

    /// Whether a global port holds so much more than its switch's others that it is saturated.
    pub fn is_saturated(&self, switch: u32, port: u8, queued: impl Fn(u8) -> u32) -> bool {
        let Some(saturation) = self.saturation else { return false };
        let ports = self.numbers.switches[switch as usize].1.clone();
        let count = ports.len() as u64;
        let sum: u64 = ports.map(|port| u64::from(queued(port))).sum();
        let excess = queued(port).saturating_sub(saturation.packets);
        100 * count * u64::from(excess) > u64::from(saturation.mean_percent) * sum
    }
}

impl Switches {
    /// Reports the queue of a port and priority, if others may ask for it.
    #[inline]
    pub(super) fn report_queue(&mut self, wires: &mut Wires, egress: PortIndex, priority: u8) {
        if self.neighbour_loads.is_some() {
            self.report_queue_to_neighbours(wires, egress, priority);
        }
    }

    #[inline(never)]
    fn report_queue_to_neighbours(&mut self, wires: &mut Wires, egress: PortIndex, priority: u8) {
        let Some(neighbours) = &mut self.neighbour_loads else { return };
        let class = wires.constants.scheduler.class(priority);
        let port = &wires.ports[egress];
        let Owner::Switch(index) = port.owner else { return };
        let switch = &self.switches[index];
        let number = neighbours.numbers.of(switch.number, switch.number_of(egress) as u8, class);
        let Some(queue) = number else { return };
        let bytes = match self.crossbars.are_used() {
            true => wires.credits.ports[egress].channels[usize::from(priority)].taken() * wires.credits.unit,
            false => {
                let messages = wires.fluid.as_ref().map_or(0, |fluid| fluid.queued(egress));
                port.queue(class).bytes + messages
            }
        };
        if std::mem::replace(&mut neighbours.reported[queue as usize], bytes) == bytes {
            return;
        }
        let report = LoadReport { time: wires.now, queue, bytes };
        // Also where no decision does: logs stay as short as the delay.
        neighbours.advance(wires.now);
        neighbours.own.push_back(report);
        for &shard in &neighbours.shards[index] {
            wires.outboxes[shard as usize].loads.push(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads() -> NeighbourLoads {
        // Two switches with the global ports 4 and 5; two classes.
        let numbers = QueueNumbers { switches: vec![(0, 4..6), (4, 4..6)], classes: 0b1001 };
        let saturation = Some(Saturation { mean_percent: 150, packets: 1_000 });
        NeighbourLoads::new(&Arc::new(numbers), Duration::from_ns(100), saturation, Vec::new())
    }

    #[test]
    fn queues_are_numbered_by_switch_port_and_class() {
        let numbers = loads().numbers;
        assert_eq!(
            [(0, 4, 0), (0, 4, 3), (0, 5, 0), (1, 5, 3)].map(|(s, p, c)| numbers.of(s, p, c)),
            [Some(0), Some(1), Some(2), Some(7)]
        );
        assert_eq!((numbers.of(0, 3, 0), numbers.of(0, 4, 1), numbers.count()), (None, None, 8));
    }

    #[test]
    fn a_report_is_known_a_delay_later_whichever_shard_it_came_from() {
        let mut loads = loads();
        let at = |ns: u64| Time::ZERO + Duration::from_ns(ns);
        let report = |time, bytes| LoadReport { time: at(time), queue: 7, bytes };
        loads.receive(&[report(10, 1), report(20, 2)]);
        loads.receive(&[LoadReport { time: at(15), queue: 0, bytes: 3 }]);
        let mut seen = |now| {
            loads.advance(at(now));
            (loads.queued(1, 5, 3), loads.queued(0, 4, 0))
        };
        assert_eq!([109, 110, 115, 120].map(&mut seen), [(0, 0), (1, 0), (1, 3), (2, 3)]);
    }

    #[test]
    fn a_port_is_saturated_by_its_share_of_the_switch() {
        let loads = loads();
        let is_saturated = |queues: [u32; 2]| loads.is_saturated(1, 4, |port| queues[usize::from(port) - 4]);
        // More than 1.5 times the mean, after 1,000 B are left out: 2 x (10,001 - 1,000) against 1.5 x 12,001.
        assert!(is_saturated([10_001, 2_000]) && !is_saturated([10_000, 2_000]));
    }
}
