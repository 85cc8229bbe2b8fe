//! A rule per region: equation 1 of Benito et al. 2015 with groups, one per host without any hierarchy.

use super::RegionRoutes;
use crate::Rule;

pub(super) fn rules(routes: &RegionRoutes<'_>) -> Vec<Rule> {
    routes.entries.iter().map(|entry| Rule::to(1, entry.cube, entry.action)).collect()
}
