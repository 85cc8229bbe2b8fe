//! Interface of every family of fabrics.

use crate::{AsBuilt, Bisection, Distances, FamilyFit, Shape, SizeRequest, Topology};
use etherweave_primitives::{InputError, InputErrors};

/// Parameters that generate a fabric.
pub trait Family {
    /// The fabric with these parameters.
    ///
    /// # Errors
    /// When a parameter is out of range or the links do not make a valid fabric.
    fn generate(&self) -> Result<Topology, InputErrors>;

    /// Small valid members, for documentation and for tests that every family must pass.
    fn examples() -> Vec<Self>
    where
        Self: Sized;

    /// The members that satisfy a request.
    ///
    /// # Errors
    /// When the radix is too small for the family, or the family has no member with so many hosts.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError>
    where
        Self: Sized;

    /// Where what was built differs from the plan.
    fn as_built(&self) -> &AsBuilt;

    /// The order in which switches are joined, where they are as planned.
    fn shape(&self) -> Shape;

    /// Hosts by formula, for valid parameters: members too large to be built have a count too.
    fn hosts_planned(&self) -> u64;

    /// The bisection by formula, for valid parameters built as planned; none where no formula is known.
    fn bisection(&self) -> Option<Bisection> {
        None
    }

    /// How far hosts are apart by formula, for valid parameters built as planned; none where no formula is known.
    fn distances(&self) -> Option<Distances> {
        None
    }
}
