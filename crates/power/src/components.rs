//! Power by component.

use std::{iter::Sum, ops::Add, ops::AddAssign};

use etherweave_primitives::Power;

/// Power that components draw [µW].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Components {
    /// Processor, logic, fans: what a switch draws before a port is up.
    pub fixed: Power,
    /// Electronics of the ports of switches.
    pub ports: Power,
    /// Transceivers and active ends of cables, where the profile has them apart from the ports.
    pub modules: Power,
    /// Packets written to and read from buffers.
    pub buffers: Power,
    /// Searches in forwarding tables.
    pub tables: Power,
    /// NICs of hosts.
    pub nics: Power,
}

impl Components {
    /// The components, in the order of their fields.
    pub const fn values(&self) -> [Power; 6] {
        [self.fixed, self.ports, self.modules, self.buffers, self.tables, self.nics]
    }

    /// All of them.
    pub fn total(&self) -> Power {
        self.values().into_iter().sum()
    }

    pub(crate) fn map(&self, each: impl Fn(Power) -> Power) -> Components {
        let [fixed, ports, modules, buffers, tables, nics] = self.values().map(each);
        Components { fixed, ports, modules, buffers, tables, nics }
    }
}

impl Add for Components {
    type Output = Components;
    fn add(self, other: Components) -> Components {
        Components {
            fixed: self.fixed + other.fixed,
            ports: self.ports + other.ports,
            modules: self.modules + other.modules,
            buffers: self.buffers + other.buffers,
            tables: self.tables + other.tables,
            nics: self.nics + other.nics,
        }
    }
}

impl AddAssign for Components {
    fn add_assign(&mut self, other: Components) {
        *self = *self + other;
    }
}

impl Sum for Components {
    fn sum<I: Iterator<Item = Components>>(parts: I) -> Components {
        parts.fold(Components::default(), Add::add)
    }
}
