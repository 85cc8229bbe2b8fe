//! Messages of a rank to itself: a send becomes a copy, and its receive a join that waits for the copy.

use std::collections::{BTreeMap, VecDeque};

use etherweave_primitives::{Duration, InputError};

use super::{GraphBuilder, GraphOp, NodeId};

/// A send of a rank to itself, or a receive from itself.
#[derive(Clone, Copy)]
pub(crate) struct OwnMessage {
    pub is_send: bool,
    pub tag: u32,
    /// Payload [B].
    pub bytes: u64,
}

/// Those of a rank whose graph is being built. The nth send under a tag goes to the nth receive, by their numbers.
#[derive(Default)]
pub(crate) struct OwnMessages {
    /// Without a counterpart, by tag: all sends or all receives.
    open: BTreeMap<u32, VecDeque<(NodeId, OwnMessage)>>,
}

impl OwnMessages {
    /// Adds an operation to the graph in place of a message.
    ///
    /// # Errors
    /// When the lengths of a send and its receive differ.
    pub fn add(&mut self, graph: &mut GraphBuilder, stream: u8, message: OwnMessage) -> Result<NodeId, InputError> {
        let join = GraphOp::Compute { duration: Duration::ZERO };
        let op = if message.is_send { GraphOp::Copy { bytes: message.bytes } } else { join };
        let node = graph.add(stream, op, &[]);
        let open = self.open.entry(message.tag).or_default();
        let Some((other, counterpart)) = open.pop_front_if(|(_, other)| other.is_send != message.is_send) else {
            open.push_back((node, message));
            return Ok(node);
        };
        let mistake = format_args!("a message to the rank itself of {} B meets {} B", message.bytes, counterpart.bytes);
        let is_equal = message.bytes == counterpart.bytes;
        InputError::unless(is_equal, "", mistake, "equal lengths of a send and its receive")?;
        let (copy, receive) = if message.is_send { (node, other) } else { (other, node) };
        graph.after(receive, &[copy]);
        Ok(node)
    }

    /// The first operation without a counterpart, and what is wrong with it.
    pub fn unmatched(&self) -> Option<(NodeId, InputError)> {
        let first = self.open.values().filter_map(VecDeque::front).min_by_key(|(node, _)| *node);
        first.map(|&(node, OwnMessage { is_send, tag, bytes })| {
            let (own, other) = if is_send { ("send to", "receive from") } else { ("receive from", "send to") };
            let mistake = format_args!("a {own} the rank itself of {bytes} B under tag {tag}");
            (node, InputError::new("", mistake, format_args!("a {other} itself under this tag")))
        })
    }
}
