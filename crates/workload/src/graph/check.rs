//! Graphs of a job are checked as a whole: what is sent is received, and all of it ends.

use std::{collections::BTreeMap, sync::Arc};

use etherweave_primitives::{InputError, Rank};

use super::{Graph, GraphOp, progress};
use crate::check::{Balance, add, check_peer, counted, lacking, settled};

/// Source and tag of a receive that leaves one of them open.
type Wildcard = (Option<Rank>, Option<u32>);

/// How many such receives a rank has, and the length of the first [B].
type Wildcards = BTreeMap<Wildcard, (i128, u64)>;

/// Messages that all ranks send and receive.
#[derive(Default)]
struct Messages {
    named: Balance,
    /// Receives from any rank or with any tag, by their rank.
    wildcards: BTreeMap<Rank, Wildcards>,
}

/// Checks that over all ranks each send has its receive: as many per source, destination and tag, and of equal lengths;
/// where a rank receives from any rank or with any tag, as many as can match. Where nobody does, also that all of it
/// ends if every send completes at once. Of graphs in a file with such receives only that as many
/// messages are received as sent, and that no operation waits for itself: more takes memory by the message.
///
/// # Errors
/// Names the first ranks that do not fit together, with tag and length, or that wait for ever.
pub fn check_graphs(graphs: &[Arc<Graph>]) -> Result<(), InputError> {
    for (index, graph) in graphs.iter().enumerate() {
        let rank = Rank::from_index(index);
        graph.facts().peers().iter().try_for_each(|&peer| check_peer(rank, peer, graphs.len()))?;
    }
    // What a driver sends is known when it does.
    if graphs.iter().any(|graph| graph.is_driven()) {
        return Ok(());
    }
    let is_named = graphs.iter().all(|graph| !graph.facts().has_open_receives);
    let is_in_file = graphs.iter().any(|graph| graph.is_in_file());
    if is_named {
        // What ends and leaves no message has a receive for each send: sums say more of a mistake.
        let sums = || if is_in_file { Ok(()) } else { Messages::check(graphs) };
        return progress::check_progress(graphs).or_else(|error| sums().and(Err(error)));
    }
    match is_in_file {
        true => graphs.iter().enumerate().try_for_each(|(rank, graph)| progress::check_cycles(rank, graph))?,
        false => Messages::check(graphs)?,
    }
    check_sums(graphs)
}

/// Checks that over all ranks as many messages are received as sent.
fn check_sums(graphs: &[Arc<Graph>]) -> Result<(), InputError> {
    let sum = |part: fn(&Graph) -> u64| graphs.iter().map(|graph| part(graph)).sum::<u64>();
    let sent = sum(|graph| graph.facts().sent.messages);
    let received = sum(|graph| graph.facts().received.messages);
    let mistake = format_args!("{sent} messages sent and {received} received over all ranks");
    InputError::unless(sent == received, "programs", mistake, lacking(sent.into(), received.into()))
}

impl Messages {
    fn count(&mut self, rank: Rank, op: GraphOp) {
        match op {
            GraphOp::Send { peer, tag, bytes } => add(&mut self.named, (rank, peer, tag), 1, bytes),
            GraphOp::Receive { peer: Some(peer), tag: Some(tag), bytes } => {
                add(&mut self.named, (peer, rank, tag), -1, bytes);
            }
            GraphOp::Receive { peer, tag, bytes } => {
                self.wildcards.entry(rank).or_default().entry((peer, tag)).or_insert((0, bytes)).0 += 1;
            }
            GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => {}
        }
    }

    /// Checks what graphs in memory send and receive.
    fn check(graphs: &[Arc<Graph>]) -> Result<(), InputError> {
        let mut messages = Messages::default();
        for (index, graph) in graphs.iter().enumerate() {
            graph.nodes()?.ops().for_each(|op| messages.count(Rank::from_index(index), op));
        }
        messages.check_balance()
    }

    fn check_balance(&self) -> Result<(), InputError> {
        let mut left: BTreeMap<Rank, i128> = BTreeMap::new();
        for (&(source, sink, tag), &(messages, bytes)) in &self.named {
            let channel = (source, sink, tag);
            let Some(wildcards) = self.wildcards.get(&sink) else {
                settled(channel, (messages, bytes), &self.named)?;
                continue;
            };
            let matching = [(Some(source), None), (None, Some(tag)), (None, None)];
            let taken: i128 =
                matching.iter().filter_map(|wildcard| wildcards.get(wildcard)).map(|(receives, _)| receives).sum();
            if messages < 0 || messages > taken {
                settled(channel, (messages, bytes), &self.named)?;
            }
            *left.entry(sink).or_default() += messages;
        }
        self.wildcards
            .iter()
            .try_for_each(|(&sink, wildcards)| balanced(sink, wildcards, left.get(&sink).copied().unwrap_or_default()))
    }
}

/// Rejects a number of messages other than that of the receives which leave source or tag open.
fn balanced(sink: Rank, wildcards: &Wildcards, messages: i128) -> Result<(), InputError> {
    let receives: i128 = wildcards.values().map(|(receives, _)| receives).sum();
    let ((source, tag), (_, bytes)) =
        wildcards.first_key_value().map_or_else(Default::default, |(key, counts)| (*key, *counts));
    let source = source.map_or_else(|| "any rank".to_owned(), |rank| rank.to_string());
    let tag = tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
    let (posted, sent) = (counted(receives, "receive"), counted(messages, "message"));
    let mistake = format_args!("{sink} has {posted} like one of {bytes} B from {source} with {tag}, for {sent}");
    InputError::unless(receives == messages, "programs", mistake, lacking(messages, receives))
}
