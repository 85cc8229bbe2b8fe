//! Rings of full buffers, each of which waits for the next: looked for at the end of a run.

use crate::{constants::RunConstants, packet::NONE, port::HeadState, switches::Switches};

/// An output channel of a deadlock cycle: its packets wait for room at its far end, which waits for the next of the
/// cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitingChannel {
    /// The switch.
    pub switch: u32,
    /// Its port.
    pub port: u8,
    /// The virtual channel of that port.
    pub channel: u8,
}

/// An input channel whose first packet waits for room at the far end of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    /// Its shard, and itself within that.
    pub at: (u16, u32),
    /// The input channel that it waits for.
    pub next: (u16, u32),
    /// Whether it has no room itself.
    pub is_full: bool,
    /// The output channel between them.
    pub step: WaitingChannel,
}

/// A cycle of input channels, with credits: all are full, and the first packet of each wants the next.
///
/// Nothing that can happen later resolves such a cycle, as no credit is in flight: a full buffer holds every one of its
/// packets. Empty where there is none. The waits are those of all shards in their order.
pub(crate) fn cycle(waits: &[Wait]) -> Vec<WaitingChannel> {
    // When a wait was first visited: by which walk.
    let mut walks = vec![0; waits.len()];
    for start in 0..waits.len() {
        let mut at = Some(start);
        while let Some(index) = at.filter(|&index| walks[index] == 0) {
            walks[index] = start + 1;
            at = next(waits, index);
        }
        if let Some(index) = at.filter(|&index| walks[index] == start + 1) {
            return cycle_from(waits, index);
        }
    }
    Vec::new()
}

fn next(waits: &[Wait], index: usize) -> Option<usize> {
    let next = waits.binary_search_by_key(&waits[index].next, |wait| wait.at).ok()?;
    waits[next].is_full.then_some(next)
}

fn cycle_from(waits: &[Wait], start: usize) -> Vec<WaitingChannel> {
    let ahead = std::iter::successors(next(waits, start), |&index| next(waits, index));
    let others = ahead.take_while(|&index| index != start);
    std::iter::once(start).chain(others).map(|index| waits[index].step).collect()
}

/// Those of a shard in the order of its input channels; none where pauses are used.
pub(crate) fn waits<R>(switches: &Switches, constants: &RunConstants<'_, R>) -> impl Iterator<Item = Wait> {
    let inputs = if constants.has_pauses { 0 } else { switches.inputs.len() };
    (0..inputs).filter_map(move |input| wait(switches, input, constants))
}

fn wait<R>(switches: &Switches, input: usize, constants: &RunConstants<'_, R>) -> Option<Wait> {
    if switches.inputs[input].state != HeadState::Waiting {
        return None;
    }
    let port = &switches.ports[input >> switches.shift];
    let base = usize::from(port.home) * switches.radix;
    let (out, output) = switches.wanted(input, base);
    if switches.is_to_host(out) || switches.outputs[output].credits > 0 {
        return None;
    }
    let channel = output - (out << switches.shift);
    let switch = switches.first_switch + u32::from(port.home);
    Some(Wait {
        at: (switches.wires.number, input as u32),
        next: (switches.ports[out].peer_shard, (switches.ports[out].peer << switches.shift) + channel as u32),
        is_full: packets(switches, input) == usize::from(constants.room(port.class)),
        step: WaitingChannel { switch, port: (out - base) as u8, channel: channel as u8 },
    })
}

fn packets(switches: &Switches, input: usize) -> usize {
    let first = Some(switches.inputs[input].first).filter(|&id| id != NONE);
    std::iter::successors(first, |&id| Some(switches.wires.slab.peek(id).next).filter(|&id| id != NONE)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input channels 0, 1, … wait for these.
    fn check(nexts: &[u32], full: impl Fn(u32) -> bool, expected: &[u32]) {
        let step = |switch| WaitingChannel { switch, port: 0, channel: 0 };
        let wait = |(at, &next)| Wait { at: (0, at), next: (0, next), is_full: full(at), step: step(at) };
        let waits: Vec<Wait> = (0..).zip(nexts).map(wait).collect();
        assert_eq!(cycle(&waits), expected.iter().map(|&at| step(at)).collect::<Vec<_>>());
    }

    #[test]
    fn a_cycle_is_found_from_outside_and_only_when_all_of_it_is_full() {
        // 0 and 1 lead into the cycle of 2, 3 and 4.
        check(&[1, 2, 3, 4, 2], |_| true, &[2, 3, 4]);
        check(&[1, 2, 3, 4, 2], |at| at != 3, &[]);
        check(&[1, 2, 3, 4, 2], |at| at > 1, &[2, 3, 4]);
        // 4 waits for a channel that waits for nothing.
        check(&[1, 2, 3, 4, 9], |_| true, &[]);
    }
}
