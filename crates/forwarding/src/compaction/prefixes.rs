//! Disjoint prefixes: two halves of a prefix with the same ports are one rule.
//!
//! No rule lies within another, so that a conditional rule that is out of force uncovers none that was not meant.

use super::Row;
use super::trie::{Node, nodes};
use crate::table::SetId;
use crate::{Rule, Ternary};

pub(super) fn rules(row: &Row<'_>) -> Vec<Rule> {
    let nodes = nodes(&row.entries, row.plan.bits());
    let mut alike: Vec<Option<u32>> = Vec::with_capacity(nodes.len());
    let mut rules = Vec::new();
    let emit = |rules: &mut Vec<Rule>, prefix: Ternary, action: Option<u32>| {
        rules.extend(action.map(|action| Rule::to(1, prefix, SetId(action))));
    };
    for node in &nodes {
        alike.push(match *node {
            Node::Leaf { action, .. } => Some(action),
            Node::Fork { below, .. } => {
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

fn prefix(node: &Node) -> Ternary {
    match *node {
        Node::Leaf { prefix, .. } | Node::Fork { prefix, .. } => prefix,
    }
}
