//! The power of a fabric: at the worst case, or under a measured activity.

use etherweave_primitives::{Duration, InputError};
use etherweave_topology::Topology;

use crate::{Activity, Citation, Components, PowerProfile, SwitchKind, Tables, meter::Meter};

/// Power that a fabric draws.
#[derive(Clone, PartialEq, Debug)]
pub struct Draw {
    /// Power by kind of switch, lowest level first.
    pub kinds: Vec<KindDraw>,
    /// NICs and the modules in them, all hosts together.
    pub hosts: Components,
    /// Links that are down for want of traffic.
    pub links_asleep: u64,
    /// How long a sleeping direction or link takes to wake; zero where nothing sleeps.
    pub wake: Duration,
    /// Notes on what the profile does not separate or count.
    pub notes: Vec<String>,
    /// The figures used.
    pub figures: Vec<Citation>,
}

/// Power that switches of one kind draw.
#[derive(Clone, PartialEq, Debug)]
pub struct KindDraw {
    /// The kind.
    pub kind: SwitchKind,
    /// The name of the first of them.
    pub first: String,
    /// How many there are.
    pub switches: u64,
    /// Fewest entries of a table.
    pub entries_min: u64,
    /// Mean entries of a table.
    pub entries_mean: f64,
    /// Most entries of a table.
    pub entries_max: u64,
    /// All of them together.
    pub all: Components,
}

impl Draw {
    /// All switches.
    pub fn switches(&self) -> Components {
        self.kinds.iter().map(|kind| kind.all).sum()
    }

    /// Switches and hosts.
    pub fn total(&self) -> Components {
        self.switches() + self.hosts
    }
}

impl KindDraw {
    /// None yet of a kind.
    pub(crate) fn none(kind: SwitchKind, first: &str) -> KindDraw {
        KindDraw {
            kind,
            first: first.to_owned(),
            switches: 0,
            entries_min: u64::MAX,
            entries_mean: 0.0,
            entries_max: 0,
            all: Components::default(),
        }
    }

    pub(crate) fn add(&mut self, entries: u64, components: Components) {
        self.switches += 1;
        self.entries_min = self.entries_min.min(entries);
        self.entries_max = self.entries_max.max(entries);
        self.entries_mean += (entries as f64 - self.entries_mean) / self.switches as f64;
        self.all += components;
    }

    /// One of them, on the mean.
    pub fn mean(&self) -> Components {
        self.all.map(|power| power.share(1.0 / self.switches as f64))
    }
}

impl PowerProfile {
    /// Returns the power that `topology` draws at the worst case: all ports full of the profile's packets, nothing
    /// asleep.
    ///
    /// # Errors
    /// When the profile lacks a kind of port, module, NIC or table, a switch has fewer ports than are used, or
    /// `tables` does not fit the topology.
    pub fn draw(&self, topology: &Topology, tables: Option<&Tables>) -> Result<Draw, InputError> {
        Meter::new(self, topology, tables, None)?.read()
    }

    /// Returns the power that `topology` draws under a measured activity.
    ///
    /// # Errors
    /// As [`PowerProfile::draw`], and when `activity` does not fit the topology, has values out of range, or saves by a
    /// method of which the profile has no figures.
    pub fn draw_under(
        &self,
        topology: &Topology,
        tables: Option<&Tables>,
        activity: &Activity,
    ) -> Result<Draw, InputError> {
        activity.check(topology)?;
        Meter::new(self, topology, tables, Some(activity))?.read()
    }
}
