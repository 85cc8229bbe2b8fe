//! Every algorithm and every library: executed on symbolic data, and held against formulas.

mod data;
mod execution;
mod formulas;
mod libraries;
mod semantics;

use etherweave_primitives::Bytes;

use super::{Algorithm, Collective, Kind, Rule};

/// A collective of each kind: vectors of whole elements, blocks as they come.
pub(super) fn collective(kind: Kind, bytes: u64, root: u32, ranks: u32) -> Collective {
    // Two members in a dimension are each other's neighbours on both sides.
    let dims = if ranks.is_multiple_of(2) { vec![ranks / 2, 2, 1] } else { vec![ranks] };
    let (vector, bytes) = (Bytes::new(bytes.next_multiple_of(8)), Bytes::new(bytes));
    match kind {
        Kind::Barrier => Collective::Barrier,
        Kind::Alltoall => Collective::Alltoall { bytes },
        Kind::Allgather => Collective::Allgather { bytes },
        Kind::Allreduce => Collective::Allreduce { bytes: vector },
        Kind::Bcast => Collective::Bcast { root, bytes },
        Kind::Gather => Collective::Gather { root, bytes },
        Kind::Scatter => Collective::Scatter { root, bytes },
        Kind::Reduce => Collective::Reduce { root, bytes: vector },
        Kind::ReduceScatter => Collective::ReduceScatter { bytes: vector },
        Kind::ReduceScatterBlock => Collective::ReduceScatterBlock { bytes: vector },
        Kind::NeighborAllgather => Collective::NeighborAllgather { dims, bytes },
        Kind::NeighborAlltoall => Collective::NeighborAlltoall { dims, bytes },
        Kind::Scan => Collective::Scan { bytes: vector },
        Kind::Exscan => Collective::Exscan { bytes: vector },
        Kind::Gatherv => Collective::Gatherv { root, bytes: vec![bytes, Bytes::ZERO] },
        Kind::Scatterv => Collective::Scatterv { root, bytes: vec![bytes, Bytes::ZERO] },
        Kind::Allgatherv => Collective::Allgatherv { bytes: vec![bytes, Bytes::ZERO] },
        Kind::Alltoallv => Collective::Alltoallv { bytes: vec![bytes, Bytes::ZERO] },
        Kind::Alltoallw => Collective::Alltoallw { bytes: vec![bytes, Bytes::ZERO] },
    }
}

/// Every algorithm for every collective that it performs on so many ranks, whole, in segments and of radix 3.
pub(super) fn named(ranks: u32) -> Vec<(Rule, Kind)> {
    let kinds = |algorithm: Algorithm| Kind::ALL.iter().map(move |&kind| (algorithm, kind));
    let pairs = Algorithm::ALL.iter().copied().flat_map(kinds);
    let forms = pairs.filter_map(|(algorithm, kind)| algorithm.form_of(kind).map(|form| (algorithm, kind, form)));
    forms
        .filter(|(_, _, form)| form.sizes.contains(ranks))
        .filter(|(algorithm, _, _)| *algorithm != Algorithm::Hierarchical || ranks > 3)
        .flat_map(|(algorithm, kind, form)| {
            // Three ranks a node, two nodes a leaf.
            let (nodes, leaves) = if algorithm == Algorithm::Hierarchical { (Some(3), Some(6)) } else { (None, None) };
            let base = Rule { algorithm: Some(algorithm), nodes, leaves, ..Rule::default() };
            let segmented = Rule { segment: Some(Bytes::new(16)), ..base };
            let of_radix = Rule { radix: Some(3), ..base };
            let rules = [Some(base), form.is_segmented.then_some(segmented), form.has_radix.then_some(of_radix)];
            rules.into_iter().flatten().map(move |rule| (rule, kind))
        })
        .collect()
}
