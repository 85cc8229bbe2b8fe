//! Deadlock freedom by channel dependencies: Dally and Seitz, "Deadlock-free message routing in multiprocessor
//! interconnection networks", IEEE Trans. Comput. 1987, theorem 1.
//!
//! A packet that holds buffer behind channel `a` and may ask for channel `b` next makes `b` a successor of `a`. A
//! lossless fabric in which these dependencies close no cycle cannot deadlock. For routings with a choice the test is
//! sufficient, not necessary: an escape path (Duato, 1993) could still break a cycle.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, HostId, Priority, SwitchId};
use etherweave_topology::{Node, Topology};

use crate::{ChannelHop, Routing};

/// A cycle of channels each of which may wait for the next and the last for the first; none when the fabric cannot
/// deadlock. Follows every legal path between every two hosts: time grows with hosts × channels × candidates. A channel
/// on another priority is another channel.
///
/// For any routing, also one from outside; [`prove`](crate::prove) is for fabrics too large for this.
pub fn dependency_cycle<R: Routing + ?Sized>(topology: &Topology, routing: &R) -> Option<Vec<ChannelId>> {
    let mut successors = vec![BTreeSet::new(); topology.channels().len() * Priority::COUNT];
    for dst in (0..topology.hosts()).map(HostId::from_index) {
        follow(topology, routing, dst, &mut successors);
    }
    let cycle = cycle(&successors)?;
    Some(cycle.into_iter().map(|virtual_channel| ChannelId::new(virtual_channel / Priority::COUNT as u32)).collect())
}

/// The number of a channel on a priority.
fn virtual_channel(hop: ChannelHop) -> u32 {
    hop.channel.get() * Priority::COUNT as u32 + u32::from(hop.priority.get())
}

/// Adds the dependencies of packets for `dst`.
fn follow<R: Routing + ?Sized>(topology: &Topology, routing: &R, dst: HostId, successors: &mut [BTreeSet<u32>]) {
    let sources = (0..topology.hosts()).map(HostId::from_index).filter(|&host| host != dst);
    let mut holding: Vec<ChannelHop> = sources.map(|host| ChannelHop::first(topology.host_channel(host))).collect();
    let mut seen: BTreeSet<ChannelHop> = BTreeSet::new();
    let mut hops = Vec::new();
    while let Some(held) = holding.pop() {
        let Some(at) = switch_after(topology, held.channel) else { continue };
        let is_from_switch = matches!(topology.channel(held.channel).from.node, Node::Switch(_));
        hops.clear();
        routing.hops(at, is_from_switch.then_some(held), dst, &mut hops);
        for &next in &hops {
            successors[virtual_channel(held) as usize].insert(virtual_channel(next));
            if seen.insert(next) {
                holding.push(next);
            }
        }
    }
}

fn switch_after(topology: &Topology, channel: ChannelId) -> Option<SwitchId> {
    match topology.channel(channel).to.node {
        Node::Switch(switch) => Some(switch),
        Node::Host(_) => None,
    }
}

/// Depth-first search; a cycle is the part of the current path from a channel that is met again.
fn cycle(successors: &[BTreeSet<u32>]) -> Option<Vec<u32>> {
    let mut is_done = vec![false; successors.len()];
    let mut is_on_path = vec![false; successors.len()];
    for start in 0..successors.len() as u32 {
        let mut path = Vec::new();
        let mut branches = vec![vec![start]];
        while let Some(branch) = branches.last_mut() {
            match branch.pop() {
                Some(next) if is_on_path[next as usize] => {
                    let first = path.iter().position(|&channel| channel == next).expect("it is on the path");
                    return Some(path.split_off(first));
                }
                Some(next) if is_done[next as usize] => {}
                Some(next) => {
                    is_on_path[next as usize] = true;
                    path.push(next);
                    branches.push(successors[next as usize].iter().rev().copied().collect());
                }
                None => {
                    branches.pop();
                    if let Some(left) = path.pop() {
                        is_on_path[left as usize] = false;
                        is_done[left as usize] = true;
                    }
                }
            }
        }
    }
    None
}
