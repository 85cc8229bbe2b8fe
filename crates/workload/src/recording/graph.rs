//! A recording as GOAL text: what starts after what, as the program's calls say.
//!
//! A rank has one thread. A call starts after the one before it has returned: a blocking one when it is complete, one
//! that goes on when it has started. What waits for requests is a calculation of nothing that requires them. A
//! collective that goes on is a chain beside the thread.

use std::{collections::BTreeMap, fmt::Write};

use etherweave_primitives::{InputError, Rank};

use super::{Call, Completion, Message, RankRecording, Recording, ReplayRules, collectives::Collectives};
use crate::check::{Balance, add, settled};
use crate::{Op, collective::TAG_BASE};

/// Numbers for the tags of the text: of an application in a group, or of a collective.
type Tags = BTreeMap<(usize, u32, usize), usize>;

#[derive(Clone, Copy)]
enum After {
    Start(u64),
    End(u64),
}

struct Writer<'a> {
    rank: &'a RankRecording,
    rules: &'a ReplayRules,
    collectives: &'a Collectives,
    tags: &'a mut Tags,
    /// Messages of the application, by group: the text has other tags, which errors must not name.
    balances: &'a mut BTreeMap<usize, Balance>,
    text: &'a mut String,
    label: u64,
    after: Option<After>,
    /// The label of the operation of each request.
    open: BTreeMap<u64, u64>,
    /// Completions of receives, by request.
    received: BTreeMap<u64, Completion>,
    /// How many collectives it called, by communicator.
    called: Vec<usize>,
}

pub(super) fn write(
    recording: &Recording,
    rules: &ReplayRules,
    collectives: &Collectives,
) -> Result<String, InputError> {
    let mut text = format!("num_ranks {}\n", recording.ranks().len());
    let (mut tags, mut balances) = (Tags::new(), BTreeMap::new());
    for rank in recording.ranks() {
        let _ = write!(text, "\nrank {} {{\n", rank.rank);
        let mut writer = Writer {
            rank,
            rules,
            collectives,
            tags: &mut tags,
            balances: &mut balances,
            text: &mut text,
            label: 0,
            after: None,
            open: BTreeMap::new(),
            received: received(rank),
            called: vec![0; rank.communicators.len()],
        };
        writer.write()?;
        text.push_str("}\n");
    }
    for balance in balances.values() {
        balance.iter().try_for_each(|(&channel, &open)| settled(channel, open, balance))?;
    }
    Ok(text)
}

/// Receives that are complete, by the number of their request.
fn received(rank: &RankRecording) -> BTreeMap<u64, Completion> {
    let completions = rank.records.iter().flat_map(|record| match &record.call {
        Call::Complete(completions) => completions.as_slice(),
        _ => &[],
    });
    completions
        .filter(|completion| completion.is_cancelled || completion.received.is_some())
        .map(|completion| (completion.request, *completion))
        .collect()
}

impl Writer<'_> {
    fn write(&mut self) -> Result<(), InputError> {
        let mut before_ns = 0;
        for record in &self.rank.records {
            self.compute(self.rank.computed_ns(before_ns, record.start_ns));
            before_ns = record.end_ns;
            self.call(&record.call)?;
        }
        Ok(())
    }

    fn compute(&mut self, ns: u64) {
        let scaled = (ns as f64 * self.rules.compute_scale).round() as u64;
        if scaled > 0 {
            let label = self.operation(&format!("calc {scaled}"));
            self.after = Some(After::End(label));
        }
    }

    fn call(&mut self, call: &Call) -> Result<(), InputError> {
        match call {
            Call::Pause | Call::Other | Call::Free { .. } => {}
            Call::Send(message) => self.now(Some(message), None),
            Call::Receive(message) => self.now(None, Some(message)),
            Call::SendReceive { sent, received } => self.now(Some(sent), Some(received)),
            Call::Isend { request, message } => self.send_on(*request, message),
            Call::Ireceive { request, communicator, peer, tag, bytes } => {
                let posted = (*peer).zip(*tag).map(|(peer, tag)| (peer, tag, *bytes));
                self.receive_on(*request, *communicator, posted)?;
            }
            Call::Complete(completions) => {
                let labels =
                    completions.iter().filter_map(|completion| self.open.remove(&completion.request)).collect();
                self.join(labels);
            }
            Call::Collective(call, request) => {
                let place = self.called[call.communicator as usize];
                self.called[call.communicator as usize] += 1;
                let ops = self.collectives.ops(self.rank, call, place, self.rules.rule)?;
                let group = self.collectives.group(self.rank.rank, call.communicator);
                // Collectives that are under way together must not take each other's messages.
                let turn = if request.is_some() { place + 1 } else { 0 };
                let thread = self.after;
                self.perform(&ops, group, turn);
                if let Some(request) = request {
                    if let Some(After::End(label)) = self.after.filter(|_| !ops.is_empty()) {
                        self.open.insert(*request, label);
                    }
                    self.after = thread;
                }
            }
            Call::Unsupported(name) => {
                let mistake = format!("{name}, which is not recorded");
                return Err(InputError::new(
                    format!("rank {}", self.rank.rank),
                    mistake,
                    "a program that does not use it",
                ));
            }
        }
        Ok(())
    }

    /// Calls that return when their messages are complete. What a rank sends to itself crosses no network.
    fn now(&mut self, sent: Option<&Message>, received: Option<&Message>) {
        let labels =
            [(received, "recv", "from"), (sent, "send", "to")].into_iter().filter_map(|(message, verb, way)| {
                let message = message.filter(|message| message.peer != self.rank.rank)?;
                Some(self.message(verb, way, message))
            });
        let labels: Vec<u64> = labels.collect();
        match labels.as_slice() {
            [] => {}
            [only] => self.after = Some(After::End(*only)),
            _ => self.join(labels),
        }
    }

    fn send_on(&mut self, request: u64, message: &Message) {
        if message.peer != self.rank.rank {
            let label = self.message("send", "to", message);
            self.open.insert(request, label);
        }
    }

    /// A receive gets what it got; of one that was never seen complete, what it asked for.
    fn receive_on(
        &mut self,
        request: u64,
        communicator: u32,
        posted: Option<(u32, u32, u64)>,
    ) -> Result<(), InputError> {
        let known = match self.received.get(&request) {
            Some(one) if one.is_cancelled => return Ok(()),
            Some(one) => one.received,
            None => posted,
        };
        let Some((peer, tag, bytes)) = known else {
            let mistake = format!("request {request}, a receive from anybody that never ends");
            return Err(InputError::new(format!("rank {}", self.rank.rank), mistake, "a receive that was waited for"));
        };
        if peer != self.rank.rank {
            let label = self.message("recv", "from", &Message { communicator, peer, tag, bytes });
            self.open.insert(request, label);
        }
        Ok(())
    }

    fn message(&mut self, verb: &str, way: &str, message: &Message) -> u64 {
        let group = self.collectives.group(self.rank.rank, message.communicator);
        let (own, peer) = (Rank::new(self.rank.rank), Rank::new(message.peer));
        let (source, sink, count) = if verb == "send" { (own, peer, 1) } else { (peer, own, -1) };
        add(self.balances.entry(group).or_default(), (source, sink, message.tag), count, message.bytes);
        let tag = self.tag(group, message.tag, 0);
        let label = self.operation(&format!("{verb} {}b {way} {} tag {tag}", message.bytes, message.peer));
        self.after = Some(After::Start(label));
        label
    }

    fn tag(&mut self, group: usize, tag: u32, turn: usize) -> usize {
        let next = self.tags.len();
        *self.tags.entry((group, tag, turn)).or_insert(next)
    }

    /// Operations one after another; a wait is for all of them so far.
    fn perform(&mut self, ops: &[Op], group: usize, turn: usize) {
        let mut open = Vec::new();
        for op in ops.iter().chain([&Op::WaitAll]) {
            if *op == Op::WaitAll {
                self.join(std::mem::take(&mut open));
            }
            let Some((is_send, peer, tag, bytes)) = op.message() else { continue };
            let (verb, way) = if is_send { ("send", "to") } else { ("recv", "from") };
            debug_assert!(tag >= TAG_BASE, "collectives have tags of their own");
            let tag = self.tag(group, tag, turn);
            let label = self.operation(&format!("{verb} {bytes}b {way} {} tag {tag}", peer.get()));
            self.after = Some(After::Start(label));
            open.push(label);
        }
    }

    /// A wait: a calculation of nothing that requires all of these.
    fn join(&mut self, labels: Vec<u64>) {
        if labels.is_empty() {
            return;
        }
        let label = self.operation("calc 0");
        for message in labels {
            let _ = writeln!(self.text, "l{label} requires l{message}");
        }
        self.after = Some(After::End(label));
    }

    fn operation(&mut self, operation: &str) -> u64 {
        self.label += 1;
        let label = self.label;
        let _ = writeln!(self.text, "l{label}: {operation}");
        let _ = match self.after {
            Some(After::Start(other)) => writeln!(self.text, "l{label} irequires l{other}"),
            Some(After::End(other)) => writeln!(self.text, "l{label} requires l{other}"),
            None => Ok(()),
        };
        label
    }
}
