//! Fields one after the other (Benito et al. 2015, section III-B and figure 5): a rule for the value of one field
//! leaves out the fields before it, because packets that differ there were taken by rules of higher priority.
//!
//! ```text
//!   z   y   x   host        switch (2, 0, 1) of a three-dimensional flattened butterfly
//!   3   *   *   *           along z, priority 4
//!   *   1   *   *           along y, priority 3
//!   *   *   0   *           along x, priority 2
//!   2   0   1   5           own hosts, priority 1
//! ```
//!
//! Own hosts are matched in full: a packet in transit must never end here, whatever rules are inactive.
//! The same rules with conditions are the paper's minimal adaptive routing (section V-C), and no more of them; a
//! deployed switch repeats those for packets that find all their ports paused.

use super::RegionRoutes;
use crate::{RegionRoute, Rule};

pub(super) fn rules(routes: &RegionRoutes<'_>) -> Vec<Rule> {
    let fields = routes.plan.fields().len();
    let rule = |entry: &RegionRoute<'_>| {
        let depth = entry.region.depth();
        let is_narrow = entry.is_own || !routes.is_single_path;
        let dst = if is_narrow { entry.cube } else { entry.region.field_cube() };
        Rule::to((fields - depth + 1) as u16, dst, entry.action)
    };
    routes.entries.iter().map(rule).collect()
}
