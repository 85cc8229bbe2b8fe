//! Duration of a step in which messages take no time: computation, the bubble of the pipeline, and what stages that
//! differ add to it. What a step takes beyond is communication that no computation hides.

use etherweave_primitives::{Duration, InputErrors};

use super::{Training, groups::Groups, layer::Work, pipeline::Pass};

/// Parts of a step that are known before it is simulated.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct StepTimes {
    /// Operations of the model for all tokens, forward and backward. What is computed again does not count.
    pub operations: f64,
    /// Computation of an accelerator, with its optimizer, the mean over stages [s].
    pub computation_s: f64,
    /// Time that stages wait for each other where all take the same time [s].
    pub bubble_s: f64,
    /// Time that they wait more because some take longer: the last has the output layer [s].
    pub imbalance_s: f64,
    /// Time that collectives within the nodes add, by their formula, of those that the computation waits for [s].
    pub in_node_s: f64,
}

#[derive(Clone, Copy)]
struct PassTime {
    computing: Duration,
    in_node: Duration,
}

impl PassTime {
    fn whole(self) -> Duration {
        self.computing + self.in_node
    }
}

impl Training {
    /// Parts of a step that are known before it is simulated.
    ///
    /// # Errors
    /// When the model, the batch or the accelerators cannot be divided as asked.
    pub fn step_times(&self) -> Result<StepTimes, InputErrors> {
        self.check()?;
        let pipeline = self.pipeline();
        let times = self.pass_times();
        let of_pass = |stage: u32, pass: Pass| times[usize::from(pass.is_forward)][self.place(stage, pass.part)];
        let means = [0, 1].map(|is_forward: usize| mean(&times[is_forward]));
        let computation = (means[0] + means[1]) * u64::from(pipeline.parts * pipeline.micro_batches);
        let equal = pipeline.elapsed(|_, pass| means[usize::from(pass.is_forward)]);
        let unequal = pipeline.elapsed(|stage, pass| of_pass(stage, pass).computing);
        let with_nodes = pipeline.elapsed(|stage, pass| of_pass(stage, pass).whole());
        Ok(StepTimes {
            operations: self.operations(),
            computation_s: (computation + self.optimizer_mean()).as_s_f64(),
            bubble_s: difference_s(equal, computation),
            imbalance_s: difference_s(unequal, equal),
            in_node_s: difference_s(with_nodes, unequal),
        })
    }

    fn operations(&self) -> f64 {
        let tokens = u64::from(self.batch) * u64::from(self.model.sequence);
        tokens as f64 * self.operations_of_token() as f64
    }

    /// The optimizer's time, the mean over stages.
    fn optimizer_mean(&self) -> Duration {
        let (groups, stages) = (Groups::new(self, 0), self.parallel.pipeline);
        (0..stages).fold(Duration::ZERO, |sum, stage| sum + self.optimizer(stage, &groups)) / u64::from(stages)
    }

    fn place(&self, stage: u32, part: u32) -> usize {
        (stage * self.parallel.interleave + part) as usize
    }

    /// Times of passes backward and forward, of all parts of all stages.
    fn pass_times(&self) -> [Vec<PassTime>; 2] {
        let groups = Groups::new(self, 0);
        let layers = [false, true].map(|is_forward| self.layer_time(is_forward, &groups));
        let parts = || {
            let parts = |stage| (0..self.parallel.interleave).map(move |part| (stage, part));
            (0..self.parallel.pipeline).flat_map(parts)
        };
        [false, true].map(|is_forward| {
            let layer = layers[usize::from(is_forward)];
            parts().map(|(stage, part)| self.pass_time(stage, part, is_forward, layer)).collect()
        })
    }

    fn pass_time(&self, stage: u32, part: u32, is_forward: bool, layer: PassTime) -> PassTime {
        let layers = u64::from(self.layers(stage, part));
        let is_last = self.pipeline().behind(stage, part).is_none();
        let output = if is_last { self.output(is_forward) } else { Duration::ZERO };
        PassTime { computing: layer.computing * layers + output, in_node: layer.in_node * layers }
    }

    /// A layer; backward with what is computed again.
    fn layer_time(&self, is_forward: bool, groups: &Groups) -> PassTime {
        let again = if !is_forward && self.recompute { self.layer(true) } else { Vec::new() };
        let mut time = PassTime { computing: Duration::ZERO, in_node: Duration::ZERO };
        for work in again.into_iter().chain(self.layer(is_forward)) {
            match work {
                Work::Compute { duration } => time.computing += duration,
                Work::Exchange { group, operation, bytes } => {
                    let exchange = group(groups).exchange(operation, bytes, &self.accelerators());
                    time.in_node += exchange.within_node().unwrap_or(Duration::ZERO);
                }
            }
        }
        time
    }
}

fn mean(times: &[PassTime]) -> Duration {
    let sum = times.iter().fold(Duration::ZERO, |sum, time| sum + time.computing);
    sum / times.len() as u64
}

/// Returns the time by which one is longer than the other [s]; rounding may make it shorter by a few picoseconds.
fn difference_s(longer: Duration, shorter: Duration) -> f64 {
    (longer.as_s_f64() - shorter.as_s_f64()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::{super::AcceleratorNode, super::Parallelism, super::tests::small, *};

    fn near(figure: f64, expected: f64) {
        assert!((figure - expected).abs() <= 1e-6 * expected.abs() + 1e-10, "{figure} {expected}");
    }

    /// Four stages of one layer each, eight micro-batches. A layer takes 3 (forward and backward) of its operations,
    /// the output layer as well, in the last stage alone: 8 times the last stage and 3 times another.
    #[test]
    fn stages_that_differ_add_to_the_bubble() {
        let training = Training { batch: 8, parallel: Parallelism { pipeline: 4, ..small().parallel }, ..small() };
        let layer = training.model.attention_operations() + training.model.perceptron_operations();
        let time = |operations: u64| (3 * 64 * operations) as f64 * training.per_teraflop.as_s_f64() / 1e12;
        let (layer, output) = (time(layer), time(training.model.output_operations()));
        let times = training.step_times().unwrap();
        near(times.computation_s, 8.0 * (layer + output / 4.0));
        near(times.bubble_s, 3.0 * (layer + output / 4.0));
        near(times.computation_s + times.bubble_s + times.imbalance_s, 8.0 * (layer + output) + 3.0 * layer);
        near(times.in_node_s, 0.0);
        near(times.operations * training.per_teraflop.as_s_f64() / 1e12, 8.0 * (4.0 * layer + output));
    }

    /// One stage, and two accelerators of a node that share every matrix: each of four layers has an all-reduce behind
    /// the attention and the perceptron, forward and backward, each for itself. With a recomputation there are six.
    #[test]
    fn collectives_in_nodes_add_what_their_formula_says() {
        let node = AcceleratorNode { accelerators: 2, ..AcceleratorNode::default() };
        let parallel = Parallelism { tensor: 2, ..small().parallel };
        let training = Training { batch: 2, ranks: 4, node, parallel, ..small() };
        let bytes = 64 * 64 * 2;
        let exchange = training.node.latency.as_s_f64() + (8 * bytes) as f64 / training.node.rate.as_bps() as f64;
        near(training.step_times().unwrap().in_node_s, 4.0 * 4.0 * exchange);
        let again = Training { recompute: true, ..training };
        near(again.step_times().unwrap().in_node_s, 4.0 * 6.0 * exchange);
        near(again.step_times().unwrap().imbalance_s, 0.0);
    }
}
