//! Graph of the operations of one accelerator in a step.
//!
//! ```text
//!   compute     forward 0 ── forward 1 ── backward 0 ── ... ── backward of the last micro-batch
//!   pipeline    receive, receive, ..., and a send behind each pass
//!   parameters  (ZeRO 3, or `prefetch`) those of the next layer, gathered while one computes
//!   gradients                             a bucket behind every few of the last layers ── norm
//! ```

use std::rc::Rc;

use etherweave_primitives::{Duration, InputError};

use super::{
    Training, groups::Groups, groups::Numbering, layer::Work, pipeline::Pass, pipeline::Pipeline, share::Share,
};
use crate::accelerators::{Exchange, Group, Operation};
use crate::{ExecutionStream, Graph, GraphBuilder, GraphOp, NodeId};

/// Most operations of an accelerator in a step: some hundred bytes each.
const OPERATIONS_MAX: usize = 1 << 21;
/// Size of the sum of the squares of all gradients [B].
const NORM: u64 = 8;
/// Largest vector of a collective [B]: longer ones are divided.
const PIECE_MAX: u64 = 1 << 30;
/// Gradients that are enough for an exchange, unless `bucket` says how many are: the default of PyTorch's
/// DistributedDataParallel [B].
const BUCKET: u64 = 25 << 20;

struct Streams {
    compute: u8,
    parameters: u8,
    gradients: u8,
    send: u8,
    receive: u8,
    /// Transfers in the node, beside messages; the computation, where there are none.
    links: u8,
}

/// An accelerator that writes down its step.
pub(super) struct Step<'a> {
    training: &'a Training,
    pipeline: Pipeline,
    rank: u32,
    stage: u32,
    numbering: Numbering,
    groups: Groups,
    graph: GraphBuilder,
    streams: Streams,
    /// The last work on the way of the computation, and the computation since.
    last: Option<NodeId>,
    pending: Duration,
    /// Gradients that wait for their exchange, and the last exchange of gradients.
    waiting: Share,
    reduced: Option<NodeId>,
    /// The last exchange of parameters, and what the layer that took the ones before waited for.
    gathered: Option<NodeId>,
    layer_began: Option<NodeId>,
    links: SharedLinks,
    /// Exchanges that were made, by the context of their group: layers repeat them.
    exchanged: Vec<((u8, Operation, u64), Rc<Exchange>)>,
}

/// Who may take links of the node beside an exchange of a layer.
#[derive(Default)]
struct SharedLinks {
    /// Parameters, which are gathered until the last pass that takes them in.
    by_parameters: bool,
    /// Gradients, from their first exchange in the node on.
    by_gradients: bool,
}

impl<'a> Step<'a> {
    pub fn new(training: &'a Training, rank: u32) -> Step<'a> {
        let numbering = Numbering::new(training);
        let mut graph = GraphBuilder::default();
        let [compute, parameters, gradients, send, receive] =
            std::array::from_fn(|_| graph.stream(ExecutionStream::Accelerator));
        let links = if training.node.accelerators > 1 { graph.stream(ExecutionStream::Accelerator) } else { compute };
        Step {
            training,
            pipeline: training.simulated(),
            rank,
            stage: numbering.stage(rank),
            numbering,
            groups: Groups::new(training, rank),
            graph,
            streams: Streams { compute, parameters, gradients, send, receive, links },
            last: None,
            pending: Duration::ZERO,
            waiting: Share::default(),
            reduced: None,
            gathered: None,
            layer_began: None,
            links: SharedLinks::default(),
            exchanged: Vec::new(),
        }
    }

    /// The whole step.
    ///
    /// # Errors
    /// When it has more operations than memory is meant for.
    pub fn graph(mut self) -> Result<Graph, InputError> {
        let (training, stage) = (self.training, self.stage);
        let (mut backward, repetition) = (0, training.repetition());
        let passes = self.pipeline.passes(stage);
        let last_gathered = passes.iter().rposition(|&pass| self.is_gathered(pass));
        for (number, pass) in passes.into_iter().enumerate() {
            self.links.by_parameters = last_gathered >= Some(number) && self.groups.share_node();
            let mistake = format_args!("more than {OPERATIONS_MAX} operations of an accelerator in a step");
            let expected = "fewer micro-batches, layers, gradients or accelerators";
            InputError::unless(self.graph.operations() <= OPERATIONS_MAX, "batch", mistake, expected)?;
            let (before, behind) = (self.pipeline.before(stage, pass.part), self.pipeline.behind(stage, pass.part));
            if !pass.is_forward {
                repetition.iter().filter_map(|repetition| repetition.before(backward)).for_each(|op| self.repeat(op));
                backward += 1;
            }
            let (from, to) = if pass.is_forward { (before, behind) } else { (behind, before) };
            if let Some((from, _)) = from {
                self.receive(from, pass);
            }
            if pass.is_forward {
                self.forward(pass, before.is_none(), behind.is_none());
            } else {
                self.backward(pass, before.is_none(), behind.is_none());
            }
            if let Some((to, part)) = to {
                self.send(to, Pass { part, ..pass });
            }
        }
        self.finish();
        Ok(self.graph.build().expect("operations wait for earlier ones only"))
    }

    /// Stands for micro-batches that are not simulated.
    fn repeat(&mut self, repetition: GraphOp) {
        let computed = self.computed();
        self.last = Some(self.graph.add(self.streams.compute, repetition, computed.as_slice()));
    }

    /// A micro-batch forward through the layers of a part, the first of which has the embedding and the last the output
    /// layer.
    fn forward(&mut self, pass: Pass, is_first: bool, is_last: bool) {
        let training = self.training;
        let embedding = training.gathered(training.embedding_parameters(), training.trained_embedding());
        let layer = training.gathered(training.layer_parameters(), training.trained_layer());
        if is_first {
            self.gather_ahead(pass, embedding);
        }
        for _ in 0..training.layers(self.stage, pass.part) {
            self.gather_ahead(pass, layer);
            self.layer(true);
        }
        if is_last {
            if !training.is_embedding_reused() {
                self.gather_ahead(pass, embedding);
            }
            self.pending += training.output(true);
        }
    }

    /// A micro-batch back through the layers of a part, whose gradients are exchanged behind the last one, or always
    /// where they are divided.
    fn backward(&mut self, pass: Pass, is_first: bool, is_last: bool) {
        let training = self.training;
        let is_reduced = pass.micro_batch + 1 == self.pipeline.micro_batches || training.parallel.zero >= 2;
        if is_last {
            self.pending += training.output(false);
            if !training.is_embedding_reused() {
                self.gradients(is_reduced, training.trained_embedding());
            }
        }
        for _ in 0..training.layers(self.stage, pass.part) {
            self.gather_ahead(pass, training.layer_parameters());
            if training.recompute {
                self.layer(true);
            }
            self.layer(false);
            self.gradients(is_reduced, training.trained_layer());
        }
        if is_first {
            self.gradients(is_reduced, training.trained_embedding());
        }
        self.reduce();
    }

    /// A layer, what it computes and exchanges one after another.
    fn layer(&mut self, is_forward: bool) {
        for work in self.training.layer(is_forward) {
            match work {
                Work::Compute { duration } => self.pending += duration,
                Work::Exchange { group, operation, bytes } => self.exchange(group, operation, bytes),
            }
        }
    }

    /// An exchange on the way of the computation.
    fn exchange(&mut self, group: fn(&Groups) -> &Group, operation: Operation, bytes: u64) {
        let exchange = self.exchange_of(group, operation, bytes);
        let SharedLinks { by_parameters, by_gradients } = self.links;
        match exchange.within_node() {
            // Nobody else takes the links: its time is known.
            Some(duration) if !exchange.takes_links() || !(by_parameters || by_gradients) => self.pending += duration,
            Some(_) => {
                self.pending += exchange.latency();
                let computed = self.computed();
                self.last = Some(exchange.transfer(&mut self.graph, self.streams.links, computed.as_slice()));
            }
            None => {
                let computed = self.computed();
                self.last = self.put(&exchange, self.streams.compute, computed.as_slice());
            }
        }
    }

    /// Exchange of a group, which is made once.
    fn exchange_of(&mut self, group: fn(&Groups) -> &Group, operation: Operation, bytes: u64) -> Rc<Exchange> {
        let group = group(&self.groups);
        let key = (group.context(), operation, bytes);
        if let Some((_, exchange)) = self.exchanged.iter().find(|(known, _)| *known == key) {
            return Rc::clone(exchange);
        }
        let exchange = Rc::new(group.exchange(operation, bytes, &self.training.accelerators()));
        self.exchanged.push((key, Rc::clone(&exchange)));
        exchange
    }

    fn put(&mut self, exchange: &Exchange, stream: u8, after: &[NodeId]) -> Option<NodeId> {
        exchange.put(&mut self.graph, stream, self.streams.links, after)
    }

    /// The last work on the way of the computation, with all that was pending.
    fn computed(&mut self) -> Option<NodeId> {
        if !self.pending.is_zero() {
            let duration = std::mem::replace(&mut self.pending, Duration::ZERO);
            let compute = GraphOp::Compute { duration };
            self.last = Some(self.graph.add(self.streams.compute, compute, self.last.as_slice()));
        }
        self.last
    }

    /// Has the computation go on when this is complete as well.
    fn wait_for(&mut self, node: NodeId) {
        let after: Vec<NodeId> = self.computed().into_iter().chain([node]).collect();
        let join = GraphOp::Compute { duration: Duration::ZERO };
        self.last = Some(self.graph.add(self.streams.compute, join, &after));
    }

    fn tag(&self, pass: Pass) -> u32 {
        (pass.part * self.pipeline.micro_batches + pass.micro_batch) * 2 + u32::from(pass.is_forward)
    }

    /// Posts the receive of what a pass takes in at the start, and waits for it before the pass computes.
    fn receive(&mut self, from: u32, pass: Pass) {
        let (peer, tag) = (Some(self.numbering.at_stage(self.rank, from)), Some(self.tag(pass)));
        let receive = GraphOp::Receive { peer, tag, bytes: self.training.passed_on() };
        let received = self.graph.add(self.streams.receive, receive, &[]);
        self.wait_for(received);
    }

    fn send(&mut self, to: u32, next: Pass) {
        let (peer, tag) = (self.numbering.at_stage(self.rank, to), self.tag(next));
        let send = GraphOp::Send { peer, tag, bytes: self.training.passed_on() };
        let computed = self.computed();
        self.graph.add(self.streams.send, send, computed.as_slice());
    }

    /// Whether layers take in parameters in a pass: with ZeRO 3 in each, with `prefetch` on the first way forward.
    fn is_gathered(&self, pass: Pass) -> bool {
        let is_first = pass.is_forward && pass.micro_batch == 0;
        match self.training.parallel.zero {
            0 => false,
            1 | 2 => self.training.parallel.prefetch && is_first,
            _ => true,
        }
    }

    /// The parameters of a layer, which are gathered as soon as the layer before begins.
    fn gather_ahead(&mut self, pass: Pass, parameters: Share) {
        if !self.is_gathered(pass) {
            return;
        }
        let began = self.layer_began;
        self.gather(parameters, began);
        if let Some(gathered) = self.gathered {
            self.wait_for(gathered);
        }
        self.layer_began = self.last;
    }

    /// Gathers parameters after those before, not before `began` is complete.
    fn gather(&mut self, parameters: Share, began: Option<NodeId>) {
        let (stream, size) = (self.streams.parameters, self.training.parameter_size());
        let exchanges = self.exchanges(Operation::Allgather, parameters, size, PIECE_MAX);
        for exchange in exchanges {
            let after: Vec<NodeId> = self.gathered.into_iter().chain(began).collect();
            self.gathered = self.put(&exchange, stream, &after).or(self.gathered);
        }
    }

    /// Gradients join those that wait; enough of them are exchanged.
    fn gradients(&mut self, is_reduced: bool, parameters: Share) {
        if is_reduced {
            self.waiting.add(parameters);
        }
        let bytes = self.waiting.sum() * u64::from(self.training.gradient_bytes);
        let enough = self.training.parallel.bucket.map_or(BUCKET, |bucket| bucket.get());
        if bytes / u64::from(self.training.parallel.tensor) >= enough {
            self.reduce();
        }
    }

    /// Exchanges the gradients that wait, after those before.
    fn reduce(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let operation = if self.training.parallel.zero == 0 { Operation::Allreduce } else { Operation::ReduceScatter };
        let exchanges = self.exchanges(operation, waiting, self.training.gradient_bytes, self.training.gradients_max());
        self.exchange_gradients(&exchanges);
    }

    /// The gradients of an embedding that the first and the last stage have are added up, as Megatron-LM does it.
    fn reduce_embedding(&mut self) {
        let Some(group) = &self.groups.embedding else { return };
        let elements = self.training.model.embedding() / u64::from(self.training.parallel.tensor);
        let exchange = |bytes| Rc::new(group.exchange(Operation::Allreduce, bytes, &self.training.accelerators()));
        let exchanges: Vec<Rc<Exchange>> =
            pieces(elements * u64::from(self.training.gradient_bytes), self.training.gradients_max())
                .map(exchange)
                .collect();
        self.exchange_gradients(&exchanges);
    }

    /// Gradients leave after those before, as soon as they are computed.
    fn exchange_gradients(&mut self, exchanges: &[Rc<Exchange>]) {
        let computed = self.computed();
        self.links.by_gradients |= exchanges.iter().any(|exchange| exchange.takes_links());
        for exchange in exchanges {
            let after: Vec<NodeId> = self.reduced.into_iter().chain(computed).collect();
            self.reduced = self.put(exchange, self.streams.gradients, &after).or(self.reduced);
        }
    }

    /// Exchanges of elements of `size` bytes, one for each of these parameters, among those who share them, each of
    /// `most` bytes at most.
    fn exchanges(&mut self, operation: Operation, parameters: Share, size: u32, most: u64) -> Vec<Rc<Exchange>> {
        let tensor = u64::from(self.training.parallel.tensor);
        let mut of_group = |group: fn(&Groups) -> &Group, parameters: u64| -> Vec<Rc<Exchange>> {
            let bytes = parameters / tensor * u64::from(size);
            pieces(bytes, most).map(|piece| self.exchange_of(group, operation, piece)).collect()
        };
        let dense = of_group(|groups| &groups.data, parameters.dense);
        dense.into_iter().chain(of_group(|groups| &groups.expert_data, parameters.experts)).collect()
    }

    /// All gradients are there: their norm, the optimizer, and with ZeRO 1 and 2 the parameters that others have
    /// brought up to date, unless the next step gathers them.
    fn finish(&mut self) {
        self.reduce_embedding();
        let after: Vec<NodeId> = self.computed().into_iter().chain(self.reduced).collect();
        let norm = self.groups.world.exchange(Operation::Allreduce, NORM, &self.training.accelerators());
        let mut last = self.put(&norm, self.streams.gradients, &after);
        let duration = self.training.optimizer(self.stage, &self.groups);
        if !duration.is_zero() {
            last = Some(self.graph.add(self.streams.compute, GraphOp::Compute { duration }, last.as_slice()));
        }
        if matches!(self.training.parallel.zero, 1 | 2) && !self.training.parallel.prefetch {
            self.gather(self.training.trained_of_stage(self.stage), last);
        }
    }
}

/// A vector in pieces of at most `most` bytes, of equal length but for the last.
fn pieces(bytes: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = bytes.div_ceil(most);
    let piece = bytes.div_ceil(count.max(1));
    (0..count).map(move |number| piece.min(bytes - number * piece))
}

impl Training {
    /// Longest exchange of gradients [B].
    fn gradients_max(&self) -> u64 {
        self.parallel.bucket.map_or(PIECE_MAX, |bucket| bucket.get().min(PIECE_MAX))
    }
}
