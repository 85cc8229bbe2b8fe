//! The binary trie over a row's regions that both prefix compactions work on.
//!
//! A node stands for the longest run of regions under one prefix, so that a prefix grows over addresses without hosts
//! until it meets another region.

use crate::{RegionRoute, Ternary};

/// A node: a prefix and what it holds.
pub(super) enum TrieNode {
    Leaf {
        prefix: Ternary,
        action: u32,
    },
    /// Two nodes by number.
    Fork {
        prefix: Ternary,
        below: [usize; 2],
    },
}

/// Nodes, each after those below it; the last is the root.
pub(super) fn nodes(entries: &[RegionRoute<'_>], bits: u32) -> Vec<TrieNode> {
    let mut nodes = Vec::with_capacity(2 * entries.len());
    if !entries.is_empty() {
        grow(&mut nodes, entries, Ternary::ANY, bits);
    }
    nodes
}

/// Adds what lies under a prefix whose `bits` lowest bits are free.
fn grow(nodes: &mut Vec<TrieNode>, entries: &[RegionRoute<'_>], prefix: Ternary, bits: u32) -> usize {
    let first = &entries[0];
    if let [_] = entries {
        nodes.push(TrieNode::Leaf { prefix, action: first.action.0 });
        return nodes.len() - 1;
    }
    let last = &entries[entries.len() - 1];
    // Regions are disjoint and ascend: the highest bit in which the outermost differ separates them.
    let apart = first.cube.value() ^ last.cube.value();
    let bit = 1 << apart.ilog2();
    let middle = entries.partition_point(|entry| entry.cube.value() & bit == 0);
    let mask = ((1 << bits) - 1) & !(bit - 1);
    let half = |entry: &RegionRoute<'_>| Ternary::new(entry.cube.value(), mask);
    let low = grow(nodes, &entries[..middle], half(first), bits);
    let high = grow(nodes, &entries[middle..], half(last), bits);
    nodes.push(TrieNode::Fork { prefix, below: [low, high] });
    nodes.len() - 1
}
