//! Disjoint prefixes: two halves of a prefix with the same ports are one rule.
//!
//! No rule lies within another, so that behind an inactive conditional rule no unintended one matches.

use super::{RegionRoutes, trie::TrieNode, trie::nodes};
use crate::{Rule, Ternary, table::SetId};

pub(super) fn rules(routes: &RegionRoutes<'_>) -> Vec<Rule> {
    let nodes = nodes(&routes.entries, routes.plan.bits());
    let mut alike: Vec<Option<u32>> = Vec::with_capacity(nodes.len());
    let mut rules = Vec::new();
    let emit = |rules: &mut Vec<Rule>, prefix: Ternary, action: Option<u32>| {
        rules.extend(action.map(|action| Rule::to(1, prefix, SetId(action))));
    };
    for node in &nodes {
        alike.push(match *node {
            TrieNode::Leaf { action, .. } => Some(action),
            TrieNode::Fork { below, .. } => {
                let actions = below.map(|node| alike[node]);
                let same = actions[0].filter(|_| actions[0] == actions[1]);
                if same.is_none() {
                    below.iter().for_each(|&node| emit(&mut rules, prefix(&nodes[node]), alike[node]));
                }
                same
            }
        });
    }
    if let Some(root) = nodes.last() {
        emit(&mut rules, prefix(root), alike[nodes.len() - 1]);
    }
    rules
}

fn prefix(node: &TrieNode) -> Ternary {
    match *node {
        TrieNode::Leaf { prefix, .. } | TrieNode::Fork { prefix, .. } => prefix,
    }
}
