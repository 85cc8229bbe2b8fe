//! Every algorithm and every library: executed on symbolic data, and held against formulas.

mod data;
mod execution;
mod formulas;
mod libraries;
mod semantics;

use etherweave_primitives::Bytes;

use super::{Algorithm, Collective, Kind, Rule};

/// A collective of each kind: vectors of whole elements, blocks as they come.
pub(super) fn collective(kind: Kind, bytes: u64, root: u32) -> Collective {
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
        Kind::Scan => Collective::Scan { bytes: vector },
        Kind::Allgatherv => Collective::Allgatherv { bytes: vec![bytes, Bytes::ZERO] },
        Kind::Alltoallv => Collective::Alltoallv { bytes: vec![bytes, Bytes::ZERO] },
    }
}

/// Every algorithm for every collective that it performs on so many ranks, whole and in segments.
pub(super) fn named(ranks: u32) -> Vec<(Rule, Kind)> {
    let kinds = |algorithm: Algorithm| Kind::ALL.iter().map(move |&kind| (algorithm, kind));
    let pairs = Algorithm::ALL.iter().copied().flat_map(kinds);
    let forms = pairs.filter_map(|(algorithm, kind)| algorithm.form_of(kind).map(|form| (algorithm, kind, form)));
    forms
        .filter(|(_, _, form)| form.sizes.contains(ranks))
        .flat_map(|(algorithm, kind, form)| {
            let whole = Rule { algorithm: Some(algorithm), ..Rule::default() };
            let segmented = Rule { segment: Some(Bytes::new(16)), ..whole };
            [whole].into_iter().chain(form.is_segmented.then_some(segmented)).map(move |rule| (rule, kind))
        })
        .collect()
}
