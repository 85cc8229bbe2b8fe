//! The fewest prefixes of which the longest decides: Draves, King, Venkatachary and Zill, "Constructing optimal IP
//! routing tables", INFOCOM 1999, section 3 (ORTC).
//!
//! From the leaves up, a prefix may have any action that suits both halves, or else either's; from the root down, a
//! prefix gets a rule when the one around it does not suit. Addresses without hosts suit all.

use super::{RegionRoutes, trie::TrieNode, trie::nodes};
use crate::{Rule, table::SetId};

pub(super) fn rules(routes: &RegionRoutes<'_>) -> Vec<Rule> {
    let nodes = nodes(&routes.entries, routes.plan.bits());
    let mut suiting: Vec<Vec<u32>> = Vec::with_capacity(nodes.len());
    for node in &nodes {
        suiting.push(match *node {
            TrieNode::Leaf { action, .. } => vec![action],
            TrieNode::Fork { below: [low, high], .. } => both_or_either(&suiting[low], &suiting[high]),
        });
    }
    let mut rules = Vec::new();
    // The action of the rule around each node.
    let mut around: Vec<(usize, Option<u32>)> =
        nodes.len().checked_sub(1).map(|root| (root, None)).into_iter().collect();
    while let Some((number, outer)) = around.pop() {
        let inner = outer.filter(|action| suiting[number].binary_search(action).is_ok());
        let action = inner.unwrap_or(suiting[number][0]);
        let (prefix, below) = match nodes[number] {
            TrieNode::Leaf { prefix, .. } => (prefix, None),
            TrieNode::Fork { prefix, below } => (prefix, Some(below)),
        };
        if inner.is_none() {
            rules.push(Rule::to(prefix.bits() as u16 + 1, prefix, SetId(action)));
        }
        around.extend(below.into_iter().flatten().map(|node| (node, Some(action))));
    }
    rules
}

/// Returns the entries of both sorted lists or, when there are none, those of either.
fn both_or_either(a: &[u32], b: &[u32]) -> Vec<u32> {
    let both: Vec<u32> = a.iter().copied().filter(|action| b.binary_search(action).is_ok()).collect();
    if !both.is_empty() {
        return both;
    }
    let mut either = [a, b].concat();
    either.sort_unstable();
    either
}
