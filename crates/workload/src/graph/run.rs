//! A graph that is performed: what its operations still wait for.

use std::sync::Arc;

use etherweave_primitives::{InputError, Time};

use super::{Graph, GraphOp, NodeLists, Nodes, driver::DriverRun, driver::Received, window::NodeWindow};

/// A graph that is performed by somebody who says what has started and what is complete, and learns what is ready by
/// that, with its stream. Of a graph in a file only what is in progress is in memory.
pub struct GraphRun {
    graph: Arc<Graph>,
    /// Number of nodes that each node still waits for, of a graph in memory.
    waits: Vec<u32>,
    window: Option<NodeWindow>,
    driver: Option<DriverRun>,
    /// Nodes that are not complete.
    left: u64,
    failure: Option<InputError>,
}

/// Takes a dependency from each node of `dependants`.
#[inline]
fn release(nodes: &NodeLists, waits: &mut [u32], dependants: &[u32], ready: &mut impl FnMut(u32, u8)) {
    for &node in dependants {
        let left = &mut waits[node as usize];
        *left -= 1;
        if *left == 0 {
            ready(node, nodes.stream(node));
        }
    }
}

impl GraphRun {
    /// A graph that has not begun.
    pub fn new(graph: Arc<Graph>) -> GraphRun {
        let (mut window, mut driver) = (None, None);
        match &graph.nodes {
            Nodes::Memory(_) => {}
            Nodes::File(source, count) => window = Some(NodeWindow::new(source.clone(), *count)),
            Nodes::Driven(make, _) => driver = Some(DriverRun::new(&**make)),
        }
        GraphRun { graph, waits: Vec::new(), window, driver, left: 0, failure: None }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Operations that are not complete.
    pub fn left(&self) -> u64 {
        self.driver.as_ref().map_or(self.left, DriverRun::left)
    }

    /// When the next wait of its driver ends.
    pub fn next_wait(&self) -> Option<Time> {
        self.driver.as_ref()?.next_wait()
    }

    /// Ends the waits of its driver that last until now.
    pub fn wake(&mut self, now: Time, mut ready: impl FnMut(u32, u8)) {
        if let Some(driver) = &mut self.driver {
            driver.wake(&self.graph, now, &mut ready);
        }
    }

    /// Takes what its driver has recorded: from when to when.
    pub fn take_records(&mut self) -> Vec<(Time, Time)> {
        self.driver.as_mut().map(DriverRun::take_records).unwrap_or_default()
    }

    /// Why nothing becomes ready any more, if the file of the graph cannot be read or has changed.
    pub fn failure(&self) -> Option<&InputError> {
        self.failure.as_ref()
    }

    /// Most blocks of a file that have been in memory at once.
    pub fn blocks_max(&self) -> usize {
        self.window.as_ref().map_or(0, NodeWindow::blocks_max)
    }

    /// Begins at `now`, once or again: what waits for nothing is ready, lowest first.
    pub fn begin(&mut self, now: Time, mut ready: impl FnMut(u32, u8)) {
        self.left = self.graph.len() as u64;
        let nodes = match (&self.graph.nodes, &mut self.window) {
            (Nodes::Memory(nodes), _) => nodes,
            (Nodes::Driven(..), _) => {
                let driver = self.driver.as_mut().expect("the graph has a driver");
                return driver.begin(&self.graph, now, &mut ready);
            }
            (Nodes::File(..), window) => {
                let begun = window.as_mut().map_or(Ok(()), |window| window.begin(&mut ready));
                return self.keep(begun);
            }
        };
        self.waits.clear();
        self.waits.extend_from_slice(&nodes.waits);
        for node in 0..nodes.len() as u32 {
            if self.waits[node as usize] == 0 {
                ready(node, nodes.stream(node));
            }
        }
    }

    /// Nodes of a graph in memory, and what each of them waits for.
    #[inline]
    pub fn in_memory(&self) -> Option<(&NodeLists, &[u32])> {
        if let Nodes::Memory(nodes) = &self.graph.nodes { Some((nodes, &self.waits)) } else { None }
    }

    /// The operation of a node that has started and is not complete.
    #[inline]
    pub fn op(&self, node: u32) -> GraphOp {
        match (&self.graph.nodes, &self.window) {
            (Nodes::Memory(nodes), _) => nodes.op(node).with_peer(self.graph.facts.peers()),
            (Nodes::File(..), Some(window)) => window.op(node),
            (Nodes::Driven(..), _) => self.driver.as_ref().expect("the graph has a driver").op(node),
            (Nodes::File(..), None) => unreachable!("a graph in a file has a window"),
        }
    }

    /// A node starts. Gives whether it does: not after a [failure](GraphRun::failure).
    #[inline]
    pub fn start(&mut self, node: u32, mut ready: impl FnMut(u32, u8)) -> bool {
        if let Nodes::Memory(nodes) = &self.graph.nodes {
            release(nodes, &mut self.waits, nodes.after_start(node), &mut ready);
            return true;
        }
        if let (Some(window), None) = (&mut self.window, &self.failure) {
            let started = window.start(node, &mut ready);
            self.keep(started);
        }
        self.failure.is_none()
    }

    /// A node that has started is complete at `now`; of a receive, with what came in.
    #[inline]
    pub fn complete(&mut self, node: u32, now: Time, received: Option<Received>, mut ready: impl FnMut(u32, u8)) {
        if let Some(driver) = &mut self.driver {
            return driver.complete(&self.graph, node, now, received, &mut ready);
        }
        self.left -= 1;
        if let Nodes::Memory(nodes) = &self.graph.nodes {
            return release(nodes, &mut self.waits, nodes.after(node), &mut ready);
        }
        if let (Some(window), None) = (&mut self.window, &self.failure) {
            let complete = window.complete(node, &mut ready);
            self.keep(complete);
        }
    }

    fn keep(&mut self, result: Result<(), InputError>) {
        self.failure = result.err();
    }
}
