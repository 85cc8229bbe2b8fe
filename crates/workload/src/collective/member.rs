//! The progress of one member through a collective.

use std::ops::Range;

use etherweave_primitives::Rank;

use super::{Algorithm, Communicator, Kind, Rule, SumRole, TAG_BASE, algorithm::Choice, layout::Layout, layout::Part};
use crate::{GraphOp, Op};

/// Treatment of received data by a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Combining {
    Replace,
    Add,
    /// Adds it to what it passes on, but not to its own result.
    AddForOthers,
}

/// Bits of a tag above the kind of a collective, below the context of its communicator.
const FLOW_SHIFT: u32 = 7;

/// A member that writes down its operations.
pub(super) struct Member<'a> {
    group: &'a Communicator,
    pub(super) me: u32,
    /// The member with a part of its own, where there is one; else 0.
    pub(super) root: u32,
    pub(super) layout: Layout,
    pub(super) choice: Choice,
    rule: Rule,
    tag: u32,
    /// Bytes to add up when what was asked for has come [B].
    unreduced: u64,
    pub(super) ops: Vec<Op>,
    /// Meaning of each operation: what it carries and does, for execution on symbolic data.
    #[cfg(test)]
    pub(super) meanings: Vec<Option<Meaning>>,
    #[cfg(test)]
    shared_layout: std::rc::Rc<Layout>,
}

/// Part that a message carries, and what its receiver does with it.
#[cfg(test)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meaning {
    pub part: Part,
    pub combining: Combining,
    /// Layout of the memory that it is a part of, and where that starts in the memory of the whole collective [B].
    pub layout: std::rc::Rc<Layout>,
    pub start: u64,
}

/// A collective among some of the members, on a piece of their memory.
pub(super) struct Among {
    /// Members in order.
    pub members: Vec<u32>,
    pub kind: Kind,
    /// Place of the root among them.
    pub root: u32,
    pub layout: Layout,
    /// Where its memory starts [B].
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests execute what an operation means"))]
    pub start: u64,
}

impl<'a> Member<'a> {
    pub(super) fn new(group: &'a Communicator, me: u32, kind: Kind, layout: Layout, root: u32) -> Member<'a> {
        Member {
            group,
            me,
            root,
            #[cfg(test)]
            shared_layout: layout.clone().into(),
            layout,
            choice: Choice::default(),
            rule: Rule::default(),
            // One tag per kind and communicator: order of posting does the rest, as in MPI.
            tag: TAG_BASE | u32::from(group.context) << 8 | kind as u32,
            unreduced: 0,
            ops: Vec::new(),
            #[cfg(test)]
            meanings: Vec::new(),
        }
    }

    /// Performs a collective on its memory as `rule` says.
    pub(super) fn perform(&mut self, rule: &Rule, kind: Kind) {
        self.rule = *rule;
        self.choice = rule.choice(kind, &self.layout);
        self.choice.algorithm.form(kind).expect("the rule picks an algorithm of the collective")(self);
    }

    /// Begins an all-reduce: the vector goes from the send buffer to the receive buffer, and what others send comes to
    /// a temporary one, as long as the vector but for a ring, which has two of the length of a block (Open MPI,
    /// `coll_base_allreduce.c`; MPICH, `allreduce_intra_*.c`).
    pub(super) fn prepare(&mut self, algorithm: Algorithm) {
        let copied = self.layout.total();
        let temporary = if algorithm == Algorithm::Ring { 2 * self.layout.start(1) } else { copied };
        if copied > 0 {
            self.push_local(Op::Prepare { copied, temporary });
        }
    }

    /// Performs a part of a collective, as the library picks it.
    pub(super) fn perform_part(&mut self, kind: Kind) {
        self.perform(&Rule { nodes: None, leaves: None, ..self.rule() }, kind);
    }

    /// Returns the rule by which the library picks for parts.
    pub(super) fn rule(&self) -> Rule {
        Rule { algorithm: None, segment: None, radix: None, protocol: None, ..self.rule }
    }

    /// Performs its part of a collective among some, if it is one of several.
    pub(super) fn perform_among(&mut self, among: Among, rule: &Rule) {
        let Some(me) = among.members.iter().position(|&member| member == self.me) else { return };
        if among.members.len() < 2 {
            return;
        }
        let ranks = among.members.iter().map(|&member| self.group.members[member as usize]).collect();
        let group = Communicator::new(ranks, self.group.context);
        let mut member = Member::new(&group, me as u32, among.kind, among.layout, among.root);
        member.perform(rule, among.kind);
        self.ops.append(&mut member.ops);
        #[cfg(test)]
        self.meanings.extend(
            member
                .meanings
                .into_iter()
                .map(|meaning| meaning.map(|meaning| Meaning { start: meaning.start + among.start, ..meaning })),
        );
    }

    pub(super) fn size(&self) -> u32 {
        self.group.size()
    }

    pub(super) fn is_root(&self) -> bool {
        self.me == self.root
    }

    /// The member `distance` places up, around the ring.
    pub(super) fn up(&self, distance: u32) -> u32 {
        (self.me + distance) % self.size()
    }

    /// The member `distance` places down, around the ring.
    pub(super) fn down(&self, distance: u32) -> u32 {
        (self.me + self.size() - distance % self.size()) % self.size()
    }

    /// Its number, counted from the root.
    pub(super) fn number(&self) -> u32 {
        self.down(self.root)
    }

    /// The member whose number from the root is `number`.
    pub(super) fn numbered(&self, number: u32) -> u32 {
        (self.root + number) % self.size()
    }

    /// All of a vector or a message.
    pub(super) fn whole(&self) -> Part {
        Part::Bytes(0, self.layout.total())
    }

    /// The rounds of a pass around, or those that stand for them: the first, the last and some evenly spread.
    pub(super) fn rounds(&self, all: Range<u32>) -> impl Iterator<Item = u32> + use<> {
        let last = u64::from(all.end - all.start).saturating_sub(1);
        let samples = self.rule.samples.map_or(last + 1, u64::from).min(last + 1);
        (0..samples).map(move |number| all.start + (number * last / (samples - 1).max(1)) as u32)
    }

    /// Returns the length of a message of so many bytes.
    fn wire(&self, bytes: u64) -> u64 {
        self.choice.protocol.map_or(bytes, |protocol| protocol.wire(bytes))
    }

    /// Takes a role in the sums of its next messages to itself.
    pub(super) fn take_role(&mut self, role: SumRole) {
        self.tag = role.with(self.tag);
    }

    pub(super) fn send(&mut self, to: u32, part: Part) {
        let (peer, bytes) = self.message(part, to, to);
        self.push(Op::Isend { peer, tag: self.tag, bytes }, part, Combining::Replace);
    }

    pub(super) fn receive(&mut self, from: u32, part: Part, combining: Combining) {
        let (peer, bytes) = self.message(part, from, self.me);
        if combining != Combining::Replace {
            self.unreduced += self.layout.length(part, self.me);
        }
        self.push(Op::Irecv { peer, tag: self.tag, bytes }, part, combining);
    }

    /// The rank of a member, and how long a message with this part is for `receiver` [B].
    fn message(&self, part: Part, peer: u32, receiver: u32) -> (Rank, u64) {
        (self.group.members[peer as usize], self.wire(self.layout.length(part, receiver)))
    }

    /// Sends in a graph; `flow` keeps messages apart that flow beside each other.
    pub(super) fn send_op(&self, to: u32, part: Part, flow: u32) -> GraphOp {
        let (peer, bytes) = self.message(part, to, to);
        GraphOp::Send { peer, tag: self.tag | flow << FLOW_SHIFT, bytes }
    }

    pub(super) fn receive_op(&self, from: u32, part: Part, flow: u32) -> GraphOp {
        let (peer, bytes) = self.message(part, from, self.me);
        GraphOp::Receive { peer: Some(peer), tag: Some(self.tag | flow << FLOW_SHIFT), bytes }
    }

    /// Waits for all messages, and adds up what has come.
    pub(super) fn wait(&mut self) {
        self.push_local(Op::WaitAll);
        let bytes = std::mem::take(&mut self.unreduced);
        if bytes > 0 {
            self.push_local(Op::Reduce { bytes, vector: self.layout.total() });
        }
    }

    pub(super) fn copy(&mut self, part: Part) {
        let bytes = self.layout.length(part, self.me);
        self.push_local(Op::Copy { bytes });
    }

    pub(super) fn send_now(&mut self, to: u32, part: Part) {
        self.send(to, part);
        self.wait();
    }

    pub(super) fn receive_now(&mut self, from: u32, part: Part, combining: Combining) {
        self.receive(from, part, combining);
        self.wait();
    }

    /// Receives (from, part) while sending (to, part), and waits for both.
    pub(super) fn exchange(&mut self, (to, sent): (u32, Part), (from, received): (u32, Part), combining: Combining) {
        self.receive(from, received, combining);
        self.send(to, sent);
        self.wait();
    }

    fn push_local(&mut self, op: Op) {
        self.ops.push(op);
        #[cfg(test)]
        self.meanings.push(None);
    }

    #[cfg_attr(not(test), expect(unused_variables, reason = "only tests execute what an operation means"))]
    fn push(&mut self, op: Op, part: Part, combining: Combining) {
        self.ops.push(op);
        #[cfg(test)]
        self.meanings.push(Some(Meaning { part, combining, layout: self.shared_layout.clone(), start: 0 }));
    }
}
