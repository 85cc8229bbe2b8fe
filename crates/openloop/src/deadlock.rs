//! Rings of full buffers, each of which waits for the next: looked for at the end of a run.

use crate::packet::NONE;
use crate::port::Head;
use crate::shard::Shard;
use crate::world::World;

/// An output channel of a ring: its packets wait for room at its far end, which waits for the next of the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingStep {
    /// The switch.
    pub switch: u32,
    /// Its port.
    pub port: u8,
    /// The virtual channel of that port.
    pub channel: u8,
}

/// Input channels of all shards, one after the other.
struct Waits {
    /// Where each shard's begin.
    starts: Vec<usize>,
    /// The input channel that each waits for, and the output channel on the way; absent where it need not wait.
    next: Vec<Option<(usize, RingStep)>>,
}

/// A ring of input channels, with credits: all are full, and the first packet of each wants the next.
///
/// Nothing that can happen later opens such a ring, as no credit is on its way: a full buffer holds every one of its
/// packets. Empty where there is none.
pub(crate) fn ring<R>(shards: &[Shard], world: &World<'_, R>) -> Vec<RingStep> {
    let waits = Waits::of(shards, world);
    // When an input channel was first visited: by which walk.
    let mut walks = vec![0; waits.next.len()];
    for start in 0..waits.next.len() {
        let mut at = start;
        while let Some((next, _)) = waits.next[at].filter(|_| walks[at] == 0) {
            walks[at] = start + 1;
            at = next;
        }
        if waits.next[at].is_some() && walks[at] == start + 1 {
            return waits.from(at);
        }
    }
    Vec::new()
}

impl Waits {
    fn of<R>(shards: &[Shard], world: &World<'_, R>) -> Waits {
        let starts = shards.iter().scan(0, |sum, shard| Some(std::mem::replace(sum, *sum + shard.inputs.len())));
        let mut waits = Waits { starts: starts.collect(), next: Vec::new() };
        for shard in shards {
            let inputs = 0..shard.inputs.len();
            let steps: Vec<_> = inputs.map(|input| waits.step(shards, shard, input, world)).collect();
            waits.next.extend(steps);
        }
        waits
    }

    fn step<R>(
        &self,
        shards: &[Shard],
        shard: &Shard,
        input: usize,
        world: &World<'_, R>,
    ) -> Option<(usize, RingStep)> {
        if shard.inputs[input].state != Head::Waiting {
            return None;
        }
        let home = usize::from(shard.ports[input >> shard.shift].home);
        let (out, output) = shard.wanted(input, home * shard.radix);
        if shard.is_to_host(out) || shard.outputs[output].credits > 0 {
            return None;
        }
        let (port, channel) = (out - home * shard.radix, output - (out << shard.shift));
        let far = usize::from(shard.ports[out].peer_shard);
        let there = ((shard.ports[out].peer as usize) << shard.shift) + channel;
        let step = RingStep { switch: shard.first_switch + home as u32, port: port as u8, channel: channel as u8 };
        let is_full = packets(&shards[far], there) == usize::from(world.room(shard.ports[out].class));
        is_full.then(|| (self.starts[far] + there, step))
    }

    /// The ring that an input channel is in.
    fn from(&self, start: usize) -> Vec<RingStep> {
        let mut steps = Vec::new();
        let mut at = start;
        while let Some((next, step)) = self.next[at] {
            steps.push(step);
            at = next;
            if at == start {
                break;
            }
        }
        steps
    }
}

/// How many packets stand in an input channel.
fn packets(shard: &Shard, input: usize) -> usize {
    let first = Some(shard.inputs[input].first).filter(|&id| id != NONE);
    std::iter::successors(first, |&id| Some(shard.slab.peek(id).next).filter(|&id| id != NONE)).count()
}
