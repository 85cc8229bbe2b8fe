//! Lookup of a packet's chain of choices: a walk down the fields of its destination's address, then down the bits of
//! its source's that matter there.
//!
//! ```text
//!   switch ─► group of dst ─┬─ another: chain
//!                           └─ the own: ─► switch of dst ─┬─ another: chain
//!                                                         └─ the own: ─► host: chain
//! ```
//!
//! A region of addresses is not taken apart when the first rule that meets it takes all of it, as long as only pauses
//! or sources may say otherwise; what follows keeps what it has to match. Nodes and chains that are alike are stored
//! once for all switches.

use std::collections::HashMap;

use super::choices::END;

/// Marks an entry as a chain.
const CHAIN: u32 = 1 << 31;
/// No host has such an address.
pub const NOWHERE: u32 = CHAIN | END;

/// Address that a node looks at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The destination's.
    Destination,
    /// The source's.
    Source,
}

/// A few bits of an address, and an entry for each of their values.
#[derive(Clone, Copy, Debug)]
struct IndexNode {
    first_entry: u32,
    mask: u32,
    shift: u8,
    side: Side,
}

/// Entries are nodes or, marked, chains.
#[derive(Default)]
pub(super) struct Index {
    roots: Vec<u32>,
    nodes: Vec<IndexNode>,
    entries: Vec<u32>,
}

impl Index {
    /// The first choice of the packets of two addresses at a switch.
    #[inline]
    pub fn chain(&self, switch: u32, dst: u32, src: impl Fn() -> u32) -> u32 {
        let mut entry = self.roots[switch as usize];
        while entry & CHAIN == 0 {
            let node = self.nodes[entry as usize];
            let word = match node.side {
                Side::Destination => dst,
                Side::Source => src(),
            };
            entry = self.entries[(node.first_entry + (word >> node.shift & node.mask)) as usize];
        }
        entry & !CHAIN
    }

    /// The first choices of the packets for an address at a switch, from any source.
    pub fn chains(&self, switch: u32, dst: u32) -> Vec<u32> {
        let (mut found, mut left) = (Vec::new(), vec![self.roots[switch as usize]]);
        while let Some(entry) = left.pop() {
            if entry & CHAIN != 0 {
                found.push(entry & !CHAIN);
                continue;
            }
            let node = self.nodes[entry as usize];
            let first = node.first_entry as usize;
            match node.side {
                Side::Destination => left.push(self.entries[first + (dst >> node.shift & node.mask) as usize]),
                Side::Source => left.extend_from_slice(&self.entries[first..=first + node.mask as usize]),
            }
        }
        found
    }
}

/// An index in the making; equal nodes are one.
#[derive(Default)]
pub struct Nodes {
    pub(super) index: Index,
    numbers: HashMap<(Side, u8, Vec<u32>), u32>,
}

impl Nodes {
    /// How many entries there are so far.
    pub fn entries(&self) -> usize {
        self.index.entries.len()
    }

    /// Adds the entry of the next switch, at which its packets begin.
    pub fn add_root(&mut self, entry: u32) {
        self.index.roots.push(entry);
    }

    /// An entry for a chain of choices that begins with `first`.
    pub fn chain(&self, first: u32) -> u32 {
        CHAIN | first
    }

    /// An entry for a node over `entries`, a power of two of them.
    pub fn add(&mut self, side: Side, shift: u32, entries: Vec<u32>) -> u32 {
        debug_assert!(entries.len().is_power_of_two(), "a node looks at whole bits");
        let shift = shift as u8;
        let index = &mut self.index;
        *self.numbers.entry((side, shift, entries)).or_insert_with_key(|(_, _, entries)| {
            let (first_entry, mask) = (index.entries.len() as u32, entries.len() as u32 - 1);
            index.entries.extend_from_slice(entries);
            index.nodes.push(IndexNode { first_entry, mask, shift, side });
            index.nodes.len() as u32 - 1
        })
    }
}
