//! Hosts at the points of a lattice with rings in every dimension: what tornado and neighbour have in common.

use super::permuted::Permuted;
use crate::HostGroups;
use etherweave_primitives::InputError;

/// Every host `step` points further in each dimension, by the dimension's extent, to the same place at that point.
///
/// `extents` are points per dimension, first dimension fastest, each point with equally many consecutive hosts; an
/// empty list means the groups as one ring.
///
/// # Errors
/// When the hosts do not spread evenly over the points, or nobody would move.
pub(super) fn moved(extents: &[u32], groups: &HostGroups, steps: fn(u32) -> u32) -> Result<Permuted, InputError> {
    let hosts = groups.hosts();
    let extents = if extents.is_empty() { vec![ring_of_groups(groups)?] } else { extents.to_vec() };
    let points = points(&extents, hosts)?;
    if extents.iter().all(|&extent| steps(extent).is_multiple_of(extent)) {
        let expected = "an extent along which somebody is that much further";
        return Err(InputError::new("extents", format!("{extents:?}, along which nobody moves"), expected));
    }
    let at_point = hosts / points;
    Ok(Permuted::new(hosts, |host| moved_point(host / at_point, &extents, steps) * at_point + host % at_point))
}

fn ring_of_groups(groups: &HostGroups) -> Result<u32, InputError> {
    let mistake = || format!("none, and {} groups of unequal sizes", groups.count());
    let unequal = || InputError::new("extents", mistake(), "extents, or groups of one size");
    groups.equal_size().map(|_| groups.count()).ok_or_else(unequal)
}

fn points(extents: &[u32], hosts: u32) -> Result<u32, InputError> {
    let product = extents.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
    let fits = |&points: &u32| points > 0 && hosts.is_multiple_of(points);
    let expected = || format!("a product that divides the {hosts} hosts");
    product.filter(fits).ok_or_else(|| InputError::new("extents", format!("{extents:?}"), expected()))
}

fn moved_point(point: u32, extents: &[u32], steps: fn(u32) -> u32) -> u32 {
    let (mut rest, mut stride, mut moved) = (point, 1, 0);
    for &extent in extents {
        let further = (u64::from(rest % extent) + u64::from(steps(extent))) % u64::from(extent);
        moved += further as u32 * stride;
        (rest, stride) = (rest / extent, stride * extent);
    }
    moved
}
