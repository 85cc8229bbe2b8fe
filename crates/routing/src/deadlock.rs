//! Deadlock freedom by channel dependencies: Dally and Seitz, "Deadlock-free message routing in multiprocessor
//! interconnection networks", IEEE Trans. Comput. 1987, theorem 1.
//!
//! A packet that holds buffer behind channel `a` and may ask for channel `b` next makes `b` a successor of `a`. A
//! lossless fabric in which these dependencies close no ring cannot deadlock. For routings with a choice the test is
//! sufficient, not necessary: an escape path (Duato, 1993) could still break a ring.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_topology::{Node, Topology};

use crate::Routing;

/// A ring of channels each of which may wait for the next and the last for the first; none when the fabric cannot
/// deadlock. Follows every legal way between every two hosts: time grows with hosts × channels × candidates.
pub fn dependency_cycle<R: Routing + ?Sized>(topology: &Topology, routing: &R) -> Option<Vec<ChannelId>> {
    let mut successors = vec![BTreeSet::new(); topology.channels().len()];
    for dst in (0..topology.hosts()).map(HostId::from_index) {
        follow(topology, routing, dst, &mut successors);
    }
    ring(&successors)
}

/// Adds the dependencies of packets for `dst`.
fn follow<R: Routing + ?Sized>(topology: &Topology, routing: &R, dst: HostId, successors: &mut [BTreeSet<ChannelId>]) {
    let sources = (0..topology.hosts()).map(HostId::from_index).filter(|&host| host != dst);
    let mut holding: Vec<ChannelId> = sources.map(|host| topology.host_channel(host)).collect();
    let mut is_seen = vec![false; topology.channels().len()];
    let mut candidates = Vec::new();
    while let Some(held) = holding.pop() {
        let Some(at) = switch_after(topology, held) else { continue };
        candidates.clear();
        routing.candidates(at, dst, &mut candidates);
        for &next in &candidates {
            successors[held.index()].insert(next);
            if !std::mem::replace(&mut is_seen[next.index()], true) {
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

/// Depth-first search; a ring is the part of the current way from a channel that is met again.
fn ring(successors: &[BTreeSet<ChannelId>]) -> Option<Vec<ChannelId>> {
    let mut is_done = vec![false; successors.len()];
    let mut is_on_way = vec![false; successors.len()];
    for start in (0..successors.len()).map(ChannelId::from_index) {
        let mut way = Vec::new();
        let mut branches = vec![vec![start]];
        while let Some(branch) = branches.last_mut() {
            match branch.pop() {
                Some(next) if is_on_way[next.index()] => {
                    let first = way.iter().position(|&channel| channel == next).expect("it is on the way");
                    return Some(way.split_off(first));
                }
                Some(next) if is_done[next.index()] => {}
                Some(next) => {
                    is_on_way[next.index()] = true;
                    way.push(next);
                    branches.push(successors[next.index()].iter().rev().copied().collect());
                }
                None => {
                    branches.pop();
                    if let Some(left) = way.pop() {
                        is_on_way[left.index()] = false;
                        is_done[left.index()] = true;
                    }
                }
            }
        }
    }
    None
}
