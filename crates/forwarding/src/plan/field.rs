//! A part of an address.

use crate::Ternary;

/// A part of the address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressField {
    /// Name of the coordinate that its values number: "group", "x1", "host".
    pub name: String,
    /// How wide it is [bits].
    pub bits: u32,
    /// How many address bits are less significant.
    pub shift: u32,
}

impl AddressField {
    /// The addresses with this value in the field.
    pub const fn matching(&self, value: u32) -> Ternary {
        let mask = ((1 << self.bits) - 1) << self.shift;
        Ternary::new((value as u64) << self.shift, mask)
    }
}
