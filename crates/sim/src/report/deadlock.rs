//! Deadlocks: ports that wait for each other for ever.
//!
//! A port that is paused or lacks credits waits for the buffer at the far end of its link. That buffer holds packets
//! which wait in queues, each of which may itself be held by a port that is paused or lacks credits.
//!
//! ```text
//!   port ──waits for──► buffer of the far end ──holds packets of──► queues ──held by──► ports
//! ```
//!
//! A port waits for ever when every queue with packets of that buffer is held by a port that waits for ever: the
//! greatest set of ports with this property is found by taking out, again and again, those that can go on. What is left
//! has a cycle. Whether a pause frame or credits are in flight is known from both ends of the link.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_engine::{frame::pause::priorities, packet::NO_PACKET};
use etherweave_kernel::{Processes, indices::PortIndex};
use etherweave_primitives::ChannelId;
use etherweave_topology::reverse;

use crate::{run::Simulation, shard::Shard};

/// A channel and a priority: the port that sends into the channel.
type Sender = (ChannelId, u32);

/// A port that is paused or lacks credits, with the units that it has taken of the far end's buffer.
type Held = (Sender, u32);

/// Queues that hold packets of a buffer: of each, the ports that hold it. And the units of the buffer that are
/// occupied.
type Contents = (Vec<Vec<Sender>>, u32);

/// The buffer behind a channel.
type Buffer = (Sender, Contents);

/// Queues of switches with packets that came in by a port with a priority.
type QueuesByInput = BTreeMap<(u32, u8), BTreeSet<(u32, u8)>>;

impl Simulation {
    /// The cycle of ports that wait for each other for ever, if there is one; on the first process.
    pub(crate) fn deadlock(&self, processes: &Processes) -> Option<String> {
        let held = self.shards.iter().flat_map(held_ports).collect::<Vec<_>>();
        let is_idle = processes.share(u64::from(held.is_empty())).into_iter().all(|is_idle| is_idle > 0);
        if is_idle {
            return None;
        }
        let buffers = self.shards.iter().flat_map(buffers).collect::<Vec<_>>();
        let (held, buffers): (Vec<_>, Vec<_>) = processes.gather((held, buffers)).into_iter().unzip();
        let cycle = cycle(&held.concat(), buffers.concat())?;
        let name = |&(channel, priority): &Sender| {
            let (node, port, _) = self.port_names(channel);
            format!("{node} port {port} (priority {priority})")
        };
        Some(cycle.iter().map(name).collect::<Vec<_>>().join(", "))
    }
}

fn held_ports(shard: &Shard) -> Vec<Held> {
    let mut held = Vec::new();
    for index in shard.wires.ports.indices() {
        let channel = shard.wires.channels[index];
        let paused = priorities(shard.wires.ports[index].paused().stopped());
        held.extend(paused.map(|priority| ((channel, priority as u32), 0)));
        for priority in shard.wires.credits.waiting(index) {
            let taken = shard.wires.credits.ports[index].channels[priority].taken();
            held.push(((channel, priority as u32), taken));
        }
    }
    held
}

/// Buffers of switches for which a port may wait for ever.
fn buffers(shard: &Shard) -> Vec<Buffer> {
    let queues = queues_by_input(shard);
    let inputs =
        shard.switches.switches.iter().flat_map(|switch| switch.places().map(|place| PortIndex::new(place as u32)));
    let buffers = inputs.flat_map(|input| {
        let before = reverse(shard.wires.channels[input]);
        let paused = paused_buffers(shard, input, &queues);
        let credited = credited_buffers(shard, input, &queues);
        paused.into_iter().chain(credited).map(move |(priority, buffer)| ((before, priority), buffer))
    });
    buffers.collect()
}

/// Buffers of an input that pause their peer: a group, or one of those that pause together.
fn paused_buffers(shard: &Shard, input: PortIndex, queues: &QueuesByInput) -> Vec<(u32, Contents)> {
    let constants = &shard.wires.constants;
    let first = constants.groups(input).start;
    let switch = &shard.switches.switches[shard.wires.switch_of_port(input)];
    let mut buffers = Vec::new();
    for group in (0..constants.group_count).filter(|&group| shard.switches.groups[first + group].is_paused) {
        for partner in constants.coupled_groups(group) {
            let holds = partner == group || !switch.buffer.may_resume(&shard.switches.groups[first + partner]);
            let members = (0..8u8).filter(|&priority| constants.group_of_priority[usize::from(priority)] == partner);
            let queues = members.filter_map(|priority| queues.get(&(input.get(), priority))).flatten();
            let holders: Vec<_> = queues.map(|&queue| holders(shard, queue)).collect();
            if holds && !holders.is_empty() {
                let mask = constants.pause_mask_of_group[group];
                buffers.extend(priorities(mask).map(|priority| (priority as u32, (holders.clone(), 0))));
            }
        }
    }
    buffers
}

/// Buffers of an input for which its peer has credits.
fn credited_buffers(shard: &Shard, input: PortIndex, queues: &QueuesByInput) -> Vec<(u32, Contents)> {
    if !shard.wires.credits.are_used() {
        return Vec::new();
    }
    let covered = priorities(shard.wires.credits.priorities);
    let buffers = covered.filter_map(|priority| {
        let held = shard.wires.credits.ports[input].channels[priority].held;
        let holders: Vec<_> = match shard.switches.crossbars.are_used() {
            true => shard
                .switches
                .head_of_input(input, priority as u8)
                .map(|head| input_holders(shard, head))
                .into_iter()
                .collect(),
            false => {
                let queues = queues.get(&(input.get(), priority as u8)).into_iter().flatten();
                queues.map(|&queue| holders(shard, queue)).collect()
            }
        };
        (!holders.is_empty()).then_some((priority as u32, (holders, held)))
    });
    buffers.collect()
}

/// Ports that hold the queue of an output and class.
fn holders(shard: &Shard, (output, class): (u32, u8)) -> Vec<Sender> {
    let output = PortIndex::new(output);
    let (port, channel) = (&shard.wires.ports[output], shard.wires.channels[output]);
    let paused = priorities(port.paused().stopped());
    let paused = paused.filter(|&priority| shard.wires.constants.scheduler.class(priority as u8) == usize::from(class));
    let next = usize::from(shard.wires.next_priority(output, port.first(usize::from(class))));
    let lacking = shard.wires.credits.waiting(output).filter(|&priority| priority == next);
    paused.chain(lacking).map(|priority| (channel, priority as u32)).collect()
}

/// The port that holds the first packet of an input queue, if it lacks credits.
fn input_holders(shard: &Shard, head: Option<(PortIndex, u8)>) -> Vec<Sender> {
    let Some((output, next)) = head else { return Vec::new() };
    let lacking = shard.wires.credits.waiting(output).filter(|&priority| priority == usize::from(next));
    lacking.map(|priority| (shard.wires.channels[output], priority as u32)).collect()
}

/// Ports at which packets in shared buffers wait, by the port and priority that they came with.
fn queues_by_input(shard: &Shard) -> QueuesByInput {
    let mut queues = QueuesByInput::new();
    let outputs = shard.switches.switches.iter().flat_map(|switch| switch.places());
    for output in outputs.map(|place| PortIndex::new(place as u32)) {
        let port = &shard.wires.ports[output];
        for class in priorities(if shard.switches.crossbars.are_used() { 0 } else { port.waiting }) {
            let mut handle = port.first(class);
            while handle != NO_PACKET {
                let packet = &shard.wires.packets[handle];
                let queue = (output.get(), class as u8);
                queues.entry((packet.ingress.get(), packet.priority)).or_default().insert(queue);
                handle = packet.next;
            }
        }
    }
    queues
}

/// A cycle among the ports that wait for ever, from the first of them on.
fn cycle(held: &[Held], buffers: Vec<Buffer>) -> Option<Vec<Sender>> {
    let taken: BTreeMap<Sender, u32> = held.iter().copied().collect();
    let mut waits: BTreeMap<Sender, Vec<Vec<Vec<Sender>>>> = BTreeMap::new();
    for (sender, (queues, units)) in buffers {
        // Credits or packets in flight end the wait.
        if taken.get(&sender) == Some(&units) {
            waits.entry(sender).or_default().push(queues);
        }
    }
    let mut stuck: BTreeSet<Sender> = waits.keys().copied().collect();
    loop {
        let is_held = |queue: &Vec<Sender>| queue.iter().any(|holder| stuck.contains(holder));
        let is_stuck = |sender: &Sender| waits[sender].iter().any(|queues| queues.iter().all(is_held));
        let rest: BTreeSet<Sender> = stuck.iter().copied().filter(is_stuck).collect();
        if rest.len() == stuck.len() {
            break;
        }
        stuck = rest;
    }
    let next = |sender: &Sender| {
        let holders = waits[sender].iter().flatten().flatten();
        holders.copied().filter(|holder| stuck.contains(holder)).min().expect("what waits for ever waits for another")
    };
    let mut path = vec![*stuck.first()?];
    loop {
        let following = next(path.last().expect("a path has a begin"));
        if let Some(start) = path.iter().position(|&sender| sender == following) {
            let mut cycle = path.split_off(start);
            let first = (0..cycle.len()).min_by_key(|&place| cycle[place]).expect("a cycle has ports");
            cycle.rotate_left(first);
            return Some(cycle);
        }
        path.push(following);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(channel: u32) -> Sender {
        (ChannelId::new(channel), 0)
    }

    /// The channels of the cycle, where each buffer is behind a channel and its queues are held by those that follow.
    fn found(held: &[u32], buffers: &[(u32, &[&[u32]])]) -> Option<Vec<u32>> {
        let held: Vec<Held> = held.iter().map(|&channel| (at(channel), 0)).collect();
        let queues = |queues: &[&[u32]]| queues.iter().map(|queue| queue.iter().map(|&by| at(by)).collect()).collect();
        let buffers = buffers.iter().map(|&(channel, of)| (at(channel), (queues(of), 0))).collect();
        cycle(&held, buffers).map(|cycle| cycle.iter().map(|(channel, _)| channel.get()).collect())
    }

    #[test]
    fn ports_whose_buffers_wait_for_each_other_are_a_cycle() {
        assert_eq!(found(&[1, 2, 3], &[(3, &[&[1]]), (1, &[&[2]]), (2, &[&[3]])]), Some(vec![1, 2, 3]));
    }

    #[test]
    fn a_buffer_with_a_queue_that_nothing_holds_drains() {
        assert_eq!(found(&[1, 2], &[(1, &[&[2]]), (2, &[&[1], &[]])]), None);
        assert_eq!(found(&[1, 2], &[(1, &[&[2]])]), None, "the buffer behind channel 2 holds nothing");
    }

    #[test]
    fn a_chain_of_pauses_that_leads_to_a_cycle_is_no_part_of_it() {
        assert_eq!(found(&[0, 1, 2], &[(0, &[&[1]]), (1, &[&[2]]), (2, &[&[1]])]), Some(vec![1, 2]));
    }

    #[test]
    fn credits_in_flight_end_a_wait() {
        let held = [(at(1), 5), (at(2), 5)];
        let buffer = |channel, by, units| (at(channel), (vec![vec![at(by)]], units));
        assert!(cycle(&held, vec![buffer(1, 2, 5), buffer(2, 1, 5)]).is_some());
        assert!(cycle(&held, vec![buffer(1, 2, 5), buffer(2, 1, 4)]).is_none());
    }
}
