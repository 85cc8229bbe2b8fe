//! Within each node, and between nodes by a leader of each: one of them stands for all, as `han` of Open MPI
//! (`coll_han_*.c`) and the compositions by node of MPICH have it. Nodes of a leaf switch form groups likewise, whose
//! leaders are among those of the nodes. Long vectors go segment by segment, so that a node works on one while the next
//! is between nodes.

use super::Form;
use crate::collective::{ELEMENT, Kind, Library, Member, Rule};
use crate::{
    collective::layout::Layout, collective::layout::Part, collective::member::Among, collective::tree::segments,
};

use super::Algorithm;

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, barrier),
    Form::segmented(Kind::Bcast, bcast),
    Form::segmented(Kind::Reduce, reduce),
    Form::segmented(Kind::Allreduce, allreduce),
    Form::new(Kind::Gather, gather),
    Form::new(Kind::Scatter, scatter),
    Form::new(Kind::Allgather, allgather),
];

struct Nodes {
    /// Members of each but the last.
    size: u32,
    members: u32,
    /// Place of leaders within their node: that of the root.
    leader: u32,
    /// Rules of collectives within a node, and between leaders.
    within: Rule,
    between: Rule,
}

impl Nodes {
    fn of(member: &Member<'_>) -> Nodes {
        let rule = member.rule();
        let members = member.size();
        let size = rule.groups(members).expect("members form groups");
        let within = Rule { nodes: None, leaves: None, ..rule };
        // Leaders of nodes form groups by leaf.
        let leaves = rule.leaves.map(|leaves| leaves / size);
        let between = Rule { nodes: leaves, leaves: None, ..rule };
        Nodes { size, members, leader: member.root % size, within, between }
    }

    fn count(&self) -> u32 {
        self.members.div_ceil(self.size)
    }

    fn members_of(&self, node: u32) -> std::ops::Range<u32> {
        node * self.size..self.members.min((node + 1) * self.size)
    }

    fn place_of_leader(&self, node: u32) -> u32 {
        self.leader.min(self.members_of(node).len() as u32 - 1)
    }

    /// Performs a collective within the own node, rooted at its leader.
    fn within(&self, member: &mut Member<'_>, kind: Kind, layout: impl FnOnce(u32) -> Layout, start: u64) {
        let node = member.me / self.size;
        let members: Vec<u32> = self.members_of(node).collect();
        let (root, layout) = (self.place_of_leader(node), layout(members.len() as u32));
        member.perform_among(Among { members, kind, root, layout, start }, &self.within);
    }

    /// Performs a collective between the leaders of all nodes.
    fn between(&self, member: &mut Member<'_>, kind: Kind, layout: impl FnOnce(u32) -> Layout, start: u64) {
        let members = (0..self.count()).map(|node| node * self.size + self.place_of_leader(node)).collect();
        let root = member.root / self.size;
        let among = Among { members, kind, root, layout: layout(self.count()), start };
        member.perform_among(among, &self.rule_between(kind));
    }

    /// Returns the rule between groups: by leaf where there are any; else as the library picks it.
    fn rule_between(&self, kind: Kind) -> Rule {
        let is_grouped = self.between.groups(self.count()).is_some();
        let algorithm = match (kind, self.between.library) {
            _ if is_grouped => Some(Algorithm::Hierarchical),
            // A reduction and a broadcast, each a non-blocking one (`coll_han_allreduce.c`).
            (Kind::Allreduce, Library::OpenMpi50) => Some(Algorithm::Composed),
            _ => None,
        };
        let is_nonblocking = self.between.is_nonblocking || self.between.library == Library::OpenMpi50;
        Rule { algorithm, is_nonblocking, ..self.between }
    }

    /// Blocks of the members of the own node, and where they start.
    fn blocks(&self, member: &Member<'_>) -> (Layout, u64) {
        let members = self.members_of(member.me / self.size);
        let start = member.layout.start(members.start);
        let lengths = members.clone().map(|number| block_length(member, number..number + 1)).collect();
        (Layout::blocks(lengths, members.len() as u32), start)
    }

    fn node_blocks(&self, member: &Member<'_>) -> Layout {
        let lengths = (0..self.count()).map(|node| block_length(member, self.members_of(node))).collect();
        Layout::blocks(lengths, self.count())
    }
}

/// Bytes of the blocks of some members in a row.
fn block_length(member: &Member<'_>, members: std::ops::Range<u32>) -> u64 {
    member.layout.start(members.end) - member.layout.start(members.start)
}

fn barrier(member: &mut Member<'_>) {
    let nodes = Nodes::of(member);
    let nothing = |size| Layout::vector(0, size, ELEMENT);
    // `coll_han_barrier.c` has no half of a barrier; MPICH releases a node by a broadcast.
    let release = if nodes.within.library == Library::OpenMpi50 { Kind::Barrier } else { Kind::Bcast };
    nodes.within(member, Kind::Barrier, nothing, 0);
    nodes.between(member, Kind::Barrier, nothing, 0);
    nodes.within(member, release, nothing, 0);
}

fn bcast(member: &mut Member<'_>) {
    let nodes = Nodes::of(member);
    for (start, bytes) in pieces(member) {
        nodes.between(member, Kind::Bcast, |size| Layout::message(bytes, size), start);
        nodes.within(member, Kind::Bcast, |size| Layout::message(bytes, size), start);
    }
}

fn reduce(member: &mut Member<'_>) {
    let nodes = Nodes::of(member);
    for (start, bytes) in pieces(member) {
        nodes.within(member, Kind::Reduce, |size| Layout::vector(bytes, size, ELEMENT), start);
        nodes.between(member, Kind::Reduce, |size| Layout::vector(bytes, size, ELEMENT), start);
    }
}

fn allreduce(member: &mut Member<'_>) {
    let nodes = Nodes::of(member);
    for (start, bytes) in pieces(member) {
        nodes.within(member, Kind::Reduce, |size| Layout::vector(bytes, size, ELEMENT), start);
        nodes.between(member, Kind::Allreduce, |size| Layout::vector(bytes, size, ELEMENT), start);
        nodes.within(member, Kind::Bcast, |size| Layout::message(bytes, size), start);
    }
}

fn gather(member: &mut Member<'_>) {
    let nodes = Nodes::of(member);
    let (blocks, start) = nodes.blocks(member);
    nodes.within(member, Kind::Gather, |_| blocks, start);
    let node_blocks = nodes.node_blocks(member);
    nodes.between(member, Kind::Gather, |_| node_blocks, 0);
}

fn scatter(member: &mut Member<'_>) {
    let nodes = Nodes::of(member);
    let node_blocks = nodes.node_blocks(member);
    nodes.between(member, Kind::Scatter, |_| node_blocks, 0);
    let (blocks, start) = nodes.blocks(member);
    nodes.within(member, Kind::Scatter, |_| blocks, start);
}

fn allgather(member: &mut Member<'_>) {
    let nodes = Nodes::of(member);
    let (blocks, start) = nodes.blocks(member);
    nodes.within(member, Kind::Gather, |_| blocks, start);
    let node_blocks = nodes.node_blocks(member);
    nodes.between(member, Kind::Allgather, |_| node_blocks, 0);
    let all = member.layout.total();
    nodes.within(member, Kind::Bcast, |size| Layout::message(all, size), 0);
}

/// Starts and lengths of the segments of a vector, in whole elements [B].
fn pieces(member: &Member<'_>) -> Vec<(u64, u64)> {
    let segment = member.choice.segment.map(|segment| segment.next_multiple_of(ELEMENT));
    let piece = |part| match part {
        Part::Bytes(from, to) => (from, to - from),
        Part::Blocks { .. } | Part::Spread { .. } | Part::WithBit(_) => unreachable!("segments are of bytes in a row"),
    };
    segments(member.whole(), segment).map(piece).collect()
}
