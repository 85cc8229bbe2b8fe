//! What an accelerator does for a micro-batch in one layer, one after another.

use super::Training;
use super::groups::Groups;
use crate::accelerators::{Group, Operation};

/// One of the parts of a layer.
pub(super) enum Work {
    /// So many operations for each token.
    Compute { operations: u64 },
    /// An exchange on the way of the computation.
    Exchange { group: fn(&Groups) -> &Group, operation: Operation, bytes: u64 },
}

impl Training {
    /// A layer, backward with twice the computation. Keys and values come from all of the context, and their gradients
    /// go back.
    pub(super) fn layer(&self, is_forward: bool) -> Vec<Work> {
        let (model, parallel) = (&self.model, &self.parallel);
        let times = if is_forward { 1 } else { 2 };
        let keys =
            self.tokens() * 2 * u64::from(model.key_value) * u64::from(self.element_bytes) / u64::from(parallel.tensor);
        let routed = self.passed_on() * u64::from(model.experts_per_token) / u64::from(parallel.expert);
        let compute = |operations: u64| Work::Compute { operations: times * operations };
        let of_context = |operation| Work::Exchange { group: |groups| &groups.context, operation, bytes: keys };
        let (operation, bytes) = (Operation::Allreduce, self.activation());
        let of_tensor = || Work::Exchange { group: |groups| &groups.tensor, operation, bytes };
        let operation = Operation::Alltoall;
        let of_experts = || Work::Exchange { group: |groups| &groups.expert, operation, bytes: routed };
        let mut work = vec![of_context(Operation::Allgather), compute(model.attention_operations())];
        if !is_forward {
            work.push(of_context(Operation::ReduceScatter));
        }
        work.extend([of_tensor(), of_experts(), compute(model.perceptron_operations()), of_experts(), of_tensor()]);
        work
    }
}
