//! Which fabrics have enough hosts.

use etherweave_topology::{SizeRequest, TopologyKind};

/// A member of a family that fulfils a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// "dragonfly", or "dragonfly largest" for the one with the most hosts.
    pub name: String,
    /// Its parameters.
    pub kind: TopologyKind,
}

/// The smallest member of every family for a request, then the largest where it is another; and why a family has none.
pub fn proposals(request: &SizeRequest) -> (Vec<Proposal>, Vec<String>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for (family, fit) in TopologyKind::fits(request) {
        match fit {
            Ok(fit) => {
                let largest = fit.largest.filter(|largest| *largest != fit.smallest);
                found.push(Proposal { name: family.to_owned(), kind: fit.smallest });
                found.extend(largest.map(|kind| Proposal { name: format!("{family} largest"), kind }));
            }
            Err(error) => refused.push(format!("{family}: {error}")),
        }
    }
    (found, refused)
}
