//! Work of an accelerator for a micro-batch in one layer, one operation after another.

use etherweave_primitives::Duration;

use super::{Training, groups::Groups, model::OPERATIONS_OF_PARAMETER};
use crate::accelerators::{Group, Operation};

pub(super) enum Work {
    /// Kernels one after another.
    Compute { duration: Duration },
    /// An exchange on the way of the computation.
    Exchange { group: fn(&Groups) -> &Group, operation: Operation, bytes: u64 },
}

impl Training {
    /// A layer. Keys and values come from all of the context, and their gradients go back.
    pub(super) fn layer(&self, is_forward: bool) -> Vec<Work> {
        let (model, parallel) = (&self.model, &self.parallel);
        let keys =
            self.tokens() * 2 * u64::from(model.key_value) * u64::from(self.element_bytes) / u64::from(parallel.tensor);
        let routed = self.passed_on() * u64::from(model.experts_per_token) / u64::from(parallel.expert);
        let of_context = |operation| Work::Exchange { group: |groups| &groups.context, operation, bytes: keys };
        let (operation, bytes) = (Operation::Allreduce, self.activation());
        let of_tensor = || Work::Exchange { group: |groups| &groups.tensor, operation, bytes };
        let operation = Operation::Alltoall;
        let of_experts = || Work::Exchange { group: |groups| &groups.expert, operation, bytes: routed };
        let compute =
            |operations: u64, endpoint: Duration| Work::Compute { duration: self.computing(operations) + endpoint };
        let attention = compute(self.attention_operations(is_forward), self.attention_endpoint(is_forward));
        let perceptron = compute(self.perceptron_operations(is_forward), self.perceptron_endpoint(is_forward));
        let mut work = vec![of_context(Operation::Allgather), attention];
        if !is_forward {
            work.push(of_context(Operation::ReduceScatter));
        }
        work.extend([of_tensor(), of_experts(), perceptron, of_experts(), of_tensor()]);
        work
    }

    /// Operations for a token in an attention: backward twice as many, without gradients of frozen parameters.
    fn attention_operations(&self, is_forward: bool) -> u64 {
        let operations = self.model.attention_operations() + self.adapter_operations();
        self.directed(operations, self.model.attention(), is_forward)
    }

    /// Those of the perceptrons that it takes.
    fn perceptron_operations(&self, is_forward: bool) -> u64 {
        let operations = self.model.perceptron_operations();
        self.directed(operations, operations / OPERATIONS_OF_PARAMETER, is_forward)
    }

    fn output_operations(&self, is_forward: bool) -> u64 {
        self.directed(self.model.output_operations(), self.model.embedding(), is_forward)
    }

    fn directed(&self, operations: u64, parameters: u64, is_forward: bool) -> u64 {
        let frozen = if self.adapters.is_some() { OPERATIONS_OF_PARAMETER * parameters } else { 0 };
        if is_forward { operations } else { 2 * operations - frozen }
    }

    fn adapter_operations(&self) -> u64 {
        OPERATIONS_OF_PARAMETER * self.adapters.map_or(0, |rank| self.model.adapters(rank))
    }

    /// The output layer, how long an accelerator takes for it.
    pub(super) fn output(&self, is_forward: bool) -> Duration {
        self.computing(self.output_operations(is_forward)) + self.output_endpoint(is_forward)
    }

    /// Operations for a token forward and backward through all layers.
    pub(super) fn operations_of_token(&self) -> u64 {
        let both = |operations: fn(&Training, bool) -> u64| operations(self, true) + operations(self, false);
        let layer = both(Training::attention_operations) + both(Training::perceptron_operations);
        u64::from(self.model.layers) * layer + both(Training::output_operations)
    }
}
