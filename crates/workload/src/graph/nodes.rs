//! Nodes of a graph and what waits for them, as lists one after another.

use etherweave_primitives::{Duration, Rank};

use super::GraphOp;

/// Stands for any rank and any tag; no tag of an operation.
pub(super) const ANY: u32 = u32::MAX;

/// Nodes with successive numbers: all of a graph, or a block of them. Accessors take the place of a node within, from
/// 0. A node takes 36 B, and 4 B for each operation that waits for it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct NodeLists {
    nodes: Vec<Node>,
    /// Numbers of nodes of the graph.
    dependants: Vec<u32>,
    pub(super) waits: Vec<u32>,
}

/// An operation without what it does not have, and where those that wait for it are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Node {
    /// Payload [B], time [ps] or repetitions.
    amount: u64,
    /// Other rank, share of a transfer or rounds of a repetition.
    peer: u32,
    tag: u32,
    /// Ends of the dependants on completion and of those on start; they begin where those of the node before end.
    ends: [u32; 2],
    kind: NodeKind,
    stream: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum NodeKind {
    Send,
    Receive,
    Compute,
    Copy,
    Transfer,
    Repeat,
}

impl Node {
    fn new(op: GraphOp, stream: u8, end: u32) -> Node {
        let (kind, amount, peer, tag) = match op {
            GraphOp::Send { peer, tag, bytes } => (NodeKind::Send, bytes, peer.get(), tag),
            GraphOp::Receive { peer, tag, bytes } => {
                (NodeKind::Receive, bytes, peer.map_or(ANY, Rank::get), tag.unwrap_or(ANY))
            }
            GraphOp::Compute { duration } => (NodeKind::Compute, duration.as_ps(), 0, 0),
            GraphOp::Copy { bytes } => (NodeKind::Copy, bytes, 0, 0),
            GraphOp::Transfer { duration, share } => (NodeKind::Transfer, duration.as_ps(), share, 0),
            GraphOp::Repeat { times, per } => (NodeKind::Repeat, times.into(), per, 0),
        };
        Node { amount, peer, tag, ends: [end; 2], kind, stream }
    }

    fn op(self) -> GraphOp {
        let named = |number: u32| Some(number).filter(|&number| number != ANY);
        let bytes = self.amount;
        match self.kind {
            NodeKind::Send => GraphOp::Send { peer: Rank::new(self.peer), tag: self.tag, bytes },
            NodeKind::Receive => {
                GraphOp::Receive { peer: named(self.peer).map(Rank::new), tag: named(self.tag), bytes }
            }
            NodeKind::Compute => GraphOp::Compute { duration: Duration::from_ps(bytes) },
            NodeKind::Copy => GraphOp::Copy { bytes },
            NodeKind::Transfer => GraphOp::Transfer { duration: Duration::from_ps(bytes), share: self.peer },
            NodeKind::Repeat => GraphOp::Repeat { times: bytes as u32, per: self.peer },
        }
    }
}

impl NodeLists {
    /// Number of operations.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The operation of a node.
    #[inline]
    pub fn op(&self, node: u32) -> GraphOp {
        self.nodes[node as usize].op()
    }

    /// Memory of a node, for who fetches it beforehand.
    #[inline]
    pub fn node(&self, node: u32) -> Option<&(impl Sized + use<>)> {
        self.nodes.get(node as usize)
    }

    /// The stream that performs a node.
    #[inline]
    pub fn stream(&self, node: u32) -> u8 {
        self.nodes[node as usize].stream
    }

    /// All operations, by number.
    pub fn ops(&self) -> impl Iterator<Item = GraphOp> {
        self.nodes.iter().map(|node| node.op())
    }

    /// How many operations each node waits for, by number.
    pub fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// Nodes that wait for the completion of `node`, lowest first.
    #[inline]
    pub fn after(&self, node: u32) -> &[u32] {
        let begin = node.checked_sub(1).map_or(0, |before| self.nodes[before as usize].ends[1]);
        &self.dependants[begin as usize..self.nodes[node as usize].ends[0] as usize]
    }

    /// Nodes that wait for the start of `node`, lowest first.
    #[inline]
    pub fn after_start(&self, node: u32) -> &[u32] {
        let [begin, end] = self.nodes[node as usize].ends;
        &self.dependants[begin as usize..end as usize]
    }

    /// Returns the size of the lists in memory [B].
    pub fn memory(&self) -> u64 {
        let lists = self.nodes.len() * size_of::<Node>() + 4 * self.waits.len();
        (lists + 4 * self.dependants.len()) as u64
    }

    /// Names other peers: each by what `name` makes of it.
    pub(super) fn with_peers(mut self, name: impl Fn(u32) -> u32) -> NodeLists {
        let is_message = |node: &&mut Node| matches!(node.kind, NodeKind::Send | NodeKind::Receive);
        let named = self.nodes.iter_mut().filter(is_message).filter(|node| node.peer != ANY);
        named.for_each(|node| node.peer = name(node.peer));
        self
    }

    pub(super) fn with_capacity(nodes: usize, dependencies: usize) -> NodeLists {
        NodeLists {
            nodes: Vec::with_capacity(nodes),
            dependants: Vec::with_capacity(dependencies),
            waits: Vec::with_capacity(nodes),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.dependants.clear();
        self.waits.clear();
    }

    /// Adds a node, for which nothing waits so far.
    pub(crate) fn push(&mut self, op: GraphOp, stream: u8, waits: u32) {
        let end = self.dependants.len() as u32;
        self.nodes.push(Node::new(op, stream, end));
        self.waits.push(waits);
    }

    /// Adds what waits for the completion of the last node and then, or else, for its start; gives where they are.
    ///
    /// # Panics
    /// When there is no node.
    pub(crate) fn extend(&mut self, is_start: bool, dependants: impl Iterator<Item = u32>) {
        let begin = self.dependants.len();
        self.dependants.extend(dependants);
        if !self.dependants[begin..].is_sorted() {
            self.dependants[begin..].sort_unstable();
        }
        let end = u32::try_from(self.dependants.len()).expect("fewer than 2^32 dependencies");
        let [complete, start] = &mut self.nodes.last_mut().expect("there is a node").ends;
        *start = end;
        if !is_start {
            *complete = end;
        }
    }

    /// Adds those of `others`, which follow.
    pub(super) fn append(&mut self, others: &NodeLists) {
        for node in 0..others.len() as u32 {
            self.push(others.op(node), others.stream(node), others.waits[node as usize]);
            self.extend(false, others.after(node).iter().copied());
            self.extend(true, others.after_start(node).iter().copied());
        }
    }
}
