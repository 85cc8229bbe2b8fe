//! Address plans: how addresses encode where hosts are.
//!
//! A plan has fields, most significant first; the last one is the host's place on its switch. Addresses that agree in
//! their first fields form a [`Region`], and regions form a tree: what forwarding tables have entries for.

mod coordinates;
mod cover;
mod field;
mod flat;
mod host_sites;
mod kind;
mod per_group;
mod per_switch;
mod region;

use std::fmt;

use etherweave_primitives::{HostId, InputError};

pub use field::AddressField;
use host_sites::HostSites;
pub use kind::{FieldLayout, PlanKind};
pub use region::Region;
use region::RegionTree;

use crate::{ADDRESS_BITS, Ternary};

/// The values of a field before its width is known.
struct FieldColumn {
    name: String,
    values: Vec<u32>,
    /// Leading coordinates of a host's switch that this field and those before it determine.
    known: usize,
}

impl FieldColumn {
    fn place(sites: &HostSites<'_>) -> FieldColumn {
        FieldColumn { name: "host".into(), values: sites.place.clone(), known: sites.topology.axes().len() }
    }

    /// The fewest bits that distinguish the values [bits].
    fn bits_needed(&self) -> u32 {
        u32::BITS - self.values.iter().max().map_or(u32::BITS, |max| max.leading_zeros())
    }
}

/// The address of every host.
#[derive(Clone, Debug)]
pub struct AddressPlan {
    kind: PlanKind,
    addresses: Vec<u64>,
    tree: RegionTree,
}

impl AddressPlan {
    /// Memory of each host, about [B]: its address, its place by address, and its switch.
    pub(crate) const HOST_BYTES: u64 = (2 * size_of::<u64>() + size_of::<HostId>() + 3 * size_of::<u32>()) as u64;

    fn new(
        kind: PlanKind,
        sites: &HostSites<'_>,
        columns: Vec<FieldColumn>,
        widths: &[u32],
    ) -> Result<AddressPlan, InputError> {
        let fields = lay_out(&columns, widths)?;
        let mut addresses = vec![0; sites.switch_of.len()];
        for (field, column) in fields.iter().zip(&columns) {
            addresses.iter_mut().zip(&column.values).for_each(|(word, &value)| *word |= field.matching(value).value());
        }
        let tree =
            RegionTree::new(fields, &addresses, sites, &columns.iter().map(|column| column.known).collect::<Vec<_>>());
        Ok(AddressPlan { kind, addresses, tree })
    }

    /// Returns the kind of the plan.
    pub fn kind(&self) -> PlanKind {
        self.kind
    }

    /// The fields, most significant first.
    pub fn fields(&self) -> &[AddressField] {
        self.tree.fields()
    }

    /// How many address bits the fields take, at most [`ADDRESS_BITS`]; those above are zero.
    pub fn bits(&self) -> u32 {
        self.tree.bits()
    }

    /// The address bits of a host.
    pub fn address(&self, host: HostId) -> u64 {
        self.addresses[host.index()]
    }

    /// How many hosts have addresses.
    pub fn hosts(&self) -> usize {
        self.addresses.len()
    }

    /// Disjoint patterns of all address bits that match every host's address and nothing else.
    pub fn cover(&self) -> Vec<Ternary> {
        let mut addresses = self.addresses.clone();
        addresses.sort_unstable();
        cover::cover(&addresses)
    }

    /// The region of every host alone, by number.
    pub fn hosts_as_regions(&self) -> Vec<Region<'_>> {
        let mut regions = vec![self.root(); self.hosts()];
        Region::hosts_alone(&self.tree).for_each(|region| regions[region.hosts()[0].index()] = region);
        regions
    }

    /// All addresses.
    pub fn root(&self) -> Region<'_> {
        Region::root(&self.tree)
    }
}

impl fmt::Display for AddressPlan {
    /// The layout: "group 9 | switch 6 | host 5 (20 of 46 bits)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} of {ADDRESS_BITS} bits)", describe(self.fields()), self.bits())
    }
}

/// The error of a plan that needs coordinates, on a fabric where two switches have the same, or none.
fn no_coordinates(plan: &str, [a, b]: [String; 2]) -> InputError {
    let mistake = format!("the address plan {plan} cannot distinguish {a} and {b}");
    InputError::new("plan", mistake, "a fabric with coordinates, or the plan flat or per_switch")
}

/// Fields of the given widths, or as narrow as possible.
fn lay_out(columns: &[FieldColumn], widths: &[u32]) -> Result<Vec<AddressField>, InputError> {
    if !widths.is_empty() && widths.len() != columns.len() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let mistake = format!("{} widths are given", widths.len());
        return Err(InputError::new("widths", mistake, format!("one each for {}", names.join(", "))));
    }
    let mut fields = Vec::with_capacity(columns.len());
    for (place, column) in columns.iter().enumerate() {
        let needed = column.bits_needed();
        let bits = widths.get(place).copied().unwrap_or(needed);
        if !(needed..=ADDRESS_BITS).contains(&bits) {
            let mistake = format!("the address field {} has {bits} bits", column.name);
            return Err(InputError::new("widths", mistake, format!("{needed} to {ADDRESS_BITS}")));
        }
        fields.push(AddressField { name: column.name.clone(), bits, shift: 0 });
    }
    let total: u32 = fields.iter().map(|field| field.bits).sum();
    if total > ADDRESS_BITS {
        let mistake = format!("the address fields {} need {total} bits", describe(&fields));
        return Err(InputError::new("widths", mistake, format!("at most {ADDRESS_BITS}")));
    }
    let mut left = total;
    fields.iter_mut().for_each(|field| {
        left -= field.bits;
        field.shift = left;
    });
    Ok(fields)
}

/// "group 9 | switch 6 | host 5"
fn describe(fields: &[AddressField]) -> String {
    let parts: Vec<String> = fields.iter().map(|field| format!("{} {}", field.name, field.bits)).collect();
    parts.join(" | ")
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Custom, Dragonfly, Family, FlattenedButterfly, FoldedClos, Topology, Uplinks};

    use super::*;

    fn layout(kind: PlanKind, topology: &Topology) -> String {
        kind.plan(topology).unwrap().to_string()
    }

    #[test]
    fn fields_are_as_wide_as_their_values() {
        // 9 groups of 4 switches of 2 hosts.
        let dragonfly = Dragonfly::default().generate().unwrap();
        assert_eq!(layout(PlanKind::Flat, &dragonfly), "host 7 (7 of 46 bits)");
        assert_eq!(layout(PlanKind::PerSwitch, &dragonfly), "switch 6 | host 1 (7 of 46 bits)");
        assert_eq!(layout(PlanKind::PerGroup, &dragonfly), "group 4 | switch 2 | host 1 (7 of 46 bits)");
        assert_eq!(layout(PlanKind::Coordinates, &dragonfly), "group 4 | switch 2 | host 1 (7 of 46 bits)");
    }

    #[test]
    fn a_row_of_a_butterfly_and_a_pod_of_a_clos_are_groups() {
        let sizes = vec![5, 4, 3];
        let butterfly = FlattenedButterfly { sizes, ..FlattenedButterfly::default() }.generate().unwrap();
        assert_eq!(layout(PlanKind::PerGroup, &butterfly), "group 4 | switch 3 | host 2 (9 of 46 bits)");
        assert_eq!(layout(PlanKind::Coordinates, &butterfly), "z 2 | y 2 | x 3 | host 2 (9 of 46 bits)");
        let uplinks = vec![Uplinks::default(); 2];
        let clos = FoldedClos { radix: 4, hosts: 16, uplinks, ..FoldedClos::default() }.generate().unwrap();
        assert_eq!(layout(PlanKind::Coordinates, &clos), "x2 2 | x1 1 | host 1 (4 of 46 bits)");
    }

    #[test]
    fn fields_can_be_widened_up_to_46_bits() {
        let topology = Dragonfly::default().generate().unwrap();
        let with = |widths: &[u32]| {
            let layout = FieldLayout { widths, ..FieldLayout::default() };
            PlanKind::PerGroup.plan_with(&topology, layout).map(|plan| plan.to_string())
        };
        let error = |widths: &[u32]| with(widths).unwrap_err().reason();
        // Figure 2 of Benito et al. 2015: 18 + 20 + 8 bits.
        assert_eq!(with(&[18, 20, 8]).unwrap(), "group 18 | switch 20 | host 8 (46 of 46 bits)");
        let expected = "the address fields group 18 | switch 20 | host 9 need 47 bits; expected at most 46";
        assert_eq!(error(&[18, 20, 9]), expected);
        assert_eq!(error(&[3, 20, 8]), "the address field group has 3 bits; expected 4 to 46");
        assert_eq!(error(&[4]), "1 widths are given; expected one each for group, switch, host");
    }

    #[test]
    fn groups_are_as_large_as_the_coordinates_that_they_share_are_few() {
        let sizes = vec![5, 4, 3];
        let butterfly = FlattenedButterfly { sizes, ..FlattenedButterfly::default() }.generate().unwrap();
        let layout = |count: u32| {
            let layout = FieldLayout { group_coordinates: Some(count), ..FieldLayout::default() };
            PlanKind::PerGroup
                .plan_with(&butterfly, layout)
                .map(|plan| plan.to_string())
                .map_err(|error| error.reason())
        };
        // 12 rows of 5 switches; 3 planes of 20.
        assert_eq!(layout(2).unwrap(), "group 4 | switch 3 | host 2 (9 of 46 bits)");
        assert_eq!(layout(1).unwrap(), "group 2 | switch 5 | host 2 (9 of 46 bits)");
        assert_eq!(layout(3).unwrap_err(), "3; expected 1 to 2, of z, y, x");
        assert_eq!(layout(0).unwrap_err(), "0; expected 1 to 2, of z, y, x");
    }

    #[test]
    fn a_fabric_without_coordinates_has_no_groups() {
        let topology = Custom::examples()[1].generate().unwrap();
        for plan in [PlanKind::PerGroup, PlanKind::Coordinates] {
            let error = plan.plan(&topology).unwrap_err().reason();
            assert!(
                error.starts_with(&format!("the address plan {} cannot distinguish s0 and s1", plan.name())),
                "{error}"
            );
        }
        assert!(PlanKind::PerSwitch.plan(&topology).is_ok());
    }
}
