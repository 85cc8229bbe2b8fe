//! Nodes that are in a file, of which only those in progress are in memory.
//!
//! ```text
//!   file     │ block 0 │ block 1 │ block 2 │ block 3 │ ...
//!   places        ·         0         ·         1
//!   slots                   └──► nodes and counters of block 1, of block 3, one that is free
//! ```
//!
//! A node is in progress from the first time that one of its dependencies is met, or its start, to its completion. A
//! block is in memory while one of its nodes is. When none is, its counters are those of the file again for all nodes
//! that are still to come, so that its slot can take another block.

use std::{collections::VecDeque, sync::Arc};

use etherweave_primitives::InputError;

use super::{GraphOp, NodeLists};

/// Nodes of a block, the bits of a number.
pub(crate) const BLOCK_NODES: u32 = u64::BITS;
/// Blocks that a graph keeps in any case, so that one that is left and entered again is not read again.
const BLOCKS_KEPT: usize = 2;
/// Memory of a block [B]: its nodes, if one operation waits for each.
pub(crate) const BLOCK_BYTES: u64 = BLOCK_NODES as u64 * (36 + 4);
/// Place of a block that is not in memory, or block of a slot that has none.
const NONE: u32 = u32::MAX;

pub(crate) trait ReadNodes: Send + Sync + std::fmt::Debug {
    /// Reads `count` nodes from number `first` on, in place of what the lists hold. All numbers of nodes that it gives
    /// are those of nodes of the graph.
    ///
    /// # Errors
    /// When they cannot be read, or are none.
    fn read(&self, first: u32, count: u32, nodes: &mut NodeLists) -> Result<(), InputError>;

    /// Reads numbers of nodes that wait for nothing, lowest first, from the place `from` in their list on; none at its
    /// end.
    ///
    /// # Errors
    /// When they cannot be read, or are none.
    fn read_roots(&self, from: u32, roots: &mut Vec<u32>) -> Result<(), InputError>;
}

#[derive(Default)]
struct Slot {
    block: u32,
    /// Its nodes that are in progress, as bits.
    in_progress: u64,
    /// Whether it is in the list of free slots.
    is_listed: bool,
    /// Its nodes; `waits` is what they still wait for.
    nodes: NodeLists,
}

pub(super) struct NodeWindow {
    source: Arc<dyn ReadNodes>,
    count: u32,
    slots: Vec<Slot>,
    /// The slot of each block.
    places: Vec<u32>,
    /// Slots without a node in progress, the longest so first; some others too.
    free: VecDeque<u32>,
}

impl NodeWindow {
    pub fn new(source: Arc<dyn ReadNodes>, count: u32) -> NodeWindow {
        let places = vec![NONE; count.div_ceil(BLOCK_NODES) as usize];
        NodeWindow { source, count, slots: Vec::new(), places, free: VecDeque::new() }
    }

    /// Most blocks that have been in memory at once.
    pub fn blocks_max(&self) -> usize {
        self.slots.len()
    }

    /// Forgets what has been released, and gives nodes that wait for nothing to `ready`, with their stream.
    pub fn begin(&mut self, ready: &mut impl FnMut(u32, u8)) -> Result<(), InputError> {
        for number in 0..self.slots.len() {
            self.places[self.slots[number].block as usize] = NONE;
            self.slots[number].in_progress = 0;
            self.list(number);
        }
        let (mut roots, mut from) = (Vec::new(), 0);
        loop {
            roots.clear();
            self.source.read_roots(from, &mut roots)?;
            if roots.is_empty() {
                return Ok(());
            }
            from += roots.len() as u32;
            for &root in &roots {
                let (slot, within) = self.load(root)?;
                ready(root, self.slots[slot].nodes.stream(within));
            }
        }
    }

    /// The operation of a node that is in progress.
    #[inline]
    pub fn op(&self, node: u32) -> GraphOp {
        let (slot, within) = self.at(node);
        self.slots[slot].nodes.op(within)
    }

    #[inline]
    fn at(&self, node: u32) -> (usize, u32) {
        (self.places[(node / BLOCK_NODES) as usize] as usize, node % BLOCK_NODES)
    }

    /// A node starts: releases what waits for that.
    pub fn start(&mut self, node: u32, ready: &mut impl FnMut(u32, u8)) -> Result<(), InputError> {
        let (slot, within) = self.load(node)?;
        self.slots[slot].in_progress |= 1 << within;
        for place in 0..self.slots[slot].nodes.after_start(within).len() {
            self.release(self.slots[slot].nodes.after_start(within)[place], ready)?;
        }
        Ok(())
    }

    /// A node is complete: releases what waits for that.
    pub fn complete(&mut self, node: u32, ready: &mut impl FnMut(u32, u8)) -> Result<(), InputError> {
        let (slot, within) = self.at(node);
        for place in 0..self.slots[slot].nodes.after(within).len() {
            self.release(self.slots[slot].nodes.after(within)[place], ready)?;
        }
        self.slots[slot].in_progress &= !(1 << within);
        self.list(slot);
        Ok(())
    }

    fn release(&mut self, node: u32, ready: &mut impl FnMut(u32, u8)) -> Result<(), InputError> {
        let (slot, within) = self.load(node)?;
        let slot = &mut self.slots[slot];
        slot.in_progress |= 1 << within;
        let waits = &mut slot.nodes.waits[within as usize];
        let Some(left) = waits.checked_sub(1) else {
            let mistake = format!("operation {node} waits for fewer operations than it is to wait for");
            return Err(InputError::new("file", mistake, "a number of dependencies that is theirs"));
        };
        *waits = left;
        if left == 0 {
            ready(node, slot.nodes.stream(within));
        }
        Ok(())
    }

    /// Has a node in memory; gives its slot and its place there.
    fn load(&mut self, node: u32) -> Result<(usize, u32), InputError> {
        let (block, within) = (node / BLOCK_NODES, node % BLOCK_NODES);
        let place = self.places[block as usize];
        if place != NONE {
            return Ok((place as usize, within));
        }
        let number = self.unused_slot();
        let slot = &mut self.slots[number];
        let first = block * BLOCK_NODES;
        let read = self.source.read(first, BLOCK_NODES.min(self.count - first), &mut slot.nodes);
        if read.is_ok() {
            slot.block = block;
            self.places[block as usize] = number as u32;
        }
        self.list(number);
        read.map(|()| (number, within))
    }

    /// A slot that no block has: one without a node in progress, or a new one.
    fn unused_slot(&mut self) -> usize {
        while self.slots.len() >= BLOCKS_KEPT
            && let Some(number) = self.free.pop_front()
        {
            let slot = &mut self.slots[number as usize];
            slot.is_listed = false;
            if slot.in_progress == 0 {
                // That of a block that could not be read has none.
                let place = &mut self.places[slot.block as usize];
                *place = if *place == number { NONE } else { *place };
                return number as usize;
            }
        }
        self.slots.push(Slot::default());
        self.slots.len() - 1
    }

    /// Puts a slot into the list of free ones, if none of its nodes is in progress.
    fn list(&mut self, number: usize) {
        let slot = &mut self.slots[number];
        if slot.in_progress == 0 && !slot.is_listed {
            slot.is_listed = true;
            self.free.push_back(number as u32);
        }
    }
}
