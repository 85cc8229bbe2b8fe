//! Counts of all shards of a run, put together in their order.

use std::ops::Range;

use crate::{
    constants::RunConstants, deadlock::Wait, deadlock::waits, fairness::Fairness, open_loops::OpenLoops,
    open_loops::StepRecorder, packet::NONE, port::Port, port::Queue, reordering::Reordering, switches::Switches,
    tally::Tally,
};

/// Counts of consecutive shards.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Measures {
    /// Counts of all; its own fingerprint is left out.
    pub tally: Tally,
    /// Fingerprints by shard.
    pub fingerprints: Vec<u64>,
    /// Packets in queues and on links between switches at the end.
    pub held: u64,
    /// The most packets for which there was memory.
    pub most: u64,
    /// Fairness of hosts that had packets in the measured time.
    pub fairness: Fairness,
    /// Reordering at watched hosts.
    pub reordering: Reordering,
    /// Time in which each port's link was busy within the measured time [ticks].
    pub busy: Vec<u32>,
    /// Time for which the far end kept the channels of a port from sending, put together [ticks], by port.
    pub paused: Vec<u32>,
    /// Input channels that waited for room at the end, in the order of shards and input channels; empty where pauses
    /// are used.
    pub waits: Vec<Wait>,
    /// Packets sent in each batch, by batch and port, when that was wanted.
    pub steps: Vec<Vec<u16>>,
}

impl Measures {
    /// Collects the measures of a run that measured for a span.
    pub fn of<R>(shards: &[OpenLoops], constants: &RunConstants<'_, R>, span: &Range<u32>) -> Measures {
        let switches = || shards.iter().map(|shard| &shard.switches);
        let wires = || switches().map(|switches| &switches.wires);
        switches().for_each(Switches::assert_little);
        let mut tally = Tally::default();
        wires().for_each(|wires| tally.merge(&wires.tally));
        let busy = |port: &Port| port.busy_until(span.end);
        Measures {
            tally,
            fingerprints: wires().map(|wires| wires.tally.fingerprint).collect(),
            held: wires().map(|wires| wires.slab.held()).sum(),
            most: wires().map(|wires| wires.slab.most() as u64).sum(),
            fairness: fairness(shards),
            reordering: switches()
                .map(|switches| Reordering::of(&switches.arrivals_watched))
                .fold(Reordering::default(), Reordering::plus),
            busy: switches().flat_map(|switches| &switches.ports).map(busy).collect(),
            paused: switches().flat_map(|switches| paused(switches, span)).collect(),
            waits: switches().flat_map(|switches| waits(switches, constants)).collect(),
            steps: steps(shards),
        }
    }

    /// Appends those of the shards that follow.
    pub fn append(&mut self, next: Measures) {
        self.tally.merge(&next.tally);
        self.fingerprints.extend(next.fingerprints);
        self.held += next.held;
        self.most += next.most;
        self.fairness.merge(next.fairness);
        self.reordering = self.reordering.plus(next.reordering);
        self.busy.extend(next.busy);
        self.paused.extend(next.paused);
        self.waits.extend(next.waits);
        self.steps.resize(self.steps.len().max(next.steps.len()), Vec::new());
        self.steps.iter_mut().zip(next.steps).for_each(|(step, next)| step.extend(next));
    }
}

impl Switches {
    /// Checks Little's law at the end of a run.
    pub fn assert_little(&self) {
        for (port, meter) in self.meters.iter().enumerate() {
            let inputs = (port << self.shift)..((port + 1) << self.shift);
            let still: u64 = inputs.map(|input| self.still(input)).sum();
            meter.end(self.wires.now.into(), self.ports[port].held.into(), still.into());
        }
    }

    /// How long the packets of an input channel have waited so far, put together [ticks].
    fn still(&self, input: usize) -> u64 {
        let first = Some(self.inputs[input].first).filter(|&id| id != NONE);
        let waiting = std::iter::successors(first, |&id| Some(self.wires.slab.peek(id).next).filter(|&id| id != NONE));
        waiting.map(|id| u64::from(self.wires.now - self.wires.slab.peek(id).entered)).sum()
    }
}

fn fairness(shards: &[OpenLoops]) -> Fairness {
    let mut fairness = Fairness::default();
    let senders = shards.iter().flat_map(|shard| &shard.sources.hosts).filter(|host| host.wanted > 0);
    senders.for_each(|host| fairness.add(host.made));
    fairness
}

fn paused(switches: &Switches, span: &Range<u32>) -> Vec<u32> {
    let queues = &switches.pauses.queues;
    if queues.is_empty() {
        return vec![0; switches.ports.len()];
    }
    let of_port = |queues: &[Queue]| queues.iter().map(|queue| queue.paused_until(span)).sum();
    queues.chunks(1 << switches.shift).map(of_port).collect()
}

/// Steps of all shards, put together.
fn steps(shards: &[OpenLoops]) -> Vec<Vec<u16>> {
    let recorders: Vec<&StepRecorder> = shards.iter().filter_map(|shard| shard.steps.as_ref()).collect();
    let count = recorders.iter().map(|recorder| recorder.steps.len()).min().unwrap_or(0);
    (0..count).map(|step| recorders.iter().flat_map(|recorder| &recorder.steps[step]).copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;
    use etherweave_topology::{Dragonfly, Family};

    use super::*;
    use crate::{Arrival, Experiment, Links, Pattern, RunParams, SwitchParams, workers};
    use etherweave_routing::{DragonflyMinimal, DragonflyPlan, FabricPlan};

    #[test]
    fn measures_of_parts_put_together_are_those_of_the_whole() {
        let topology = Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() }.generate().unwrap();
        let routing = DragonflyMinimal { plan: DragonflyPlan::of(&topology).unwrap() };
        let run = RunParams { records_steps: true, ..RunParams::fixed(1.0, Duration::ZERO, Duration::from_us(20), 1) };
        let (switch, pattern, arrival) = (SwitchParams::default(), Pattern::default(), Arrival::default());
        let links = Links::of(&topology);
        let experiment =
            Experiment { topology: &topology, switch, links, routing, pattern, arrival, outages: vec![], run };
        let mut prepared = experiment.prepare().unwrap();
        prepared.start();
        let parts = &mut prepared.parts;
        let control =
            workers::run(&mut parts.shards, &prepared.constants, &prepared.control, parts.window, parts.division);
        let of = |shards: &[OpenLoops]| Measures::of(shards, &prepared.constants, &control.span);
        let all = of(&parts.shards);
        // Nine groups of four switches: shards of 16, 16 and 4.
        assert_eq!((all.fingerprints.len(), all.busy.len(), all.steps.len()), (3, 36 * 7, 8));
        for cut in 0..=3 {
            let (first, rest) = parts.shards.split_at(cut);
            let mut joined = of(first);
            joined.append(of(rest));
            assert_eq!(joined, all, "cut at {cut}");
        }
    }
}
