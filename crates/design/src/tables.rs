//! Entries that the tables of switches need, and whether they fit.

use etherweave_forwarding::{Compacted, Count, PlanKind, PlanTables, Sharing, Strategy, Survey, TableUse};
use etherweave_primitives::InputError;
use etherweave_topology::{Topology, TopologyKind};

use crate::TablesSpec;

/// The tables of a fabric under each organisation.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct TableCounts {
    /// Exact-match (CAM) entries: one per host, under any plan.
    pub exact: TableFit,
    /// Ternary (TCAM) entries by address plan.
    pub plans: Vec<PlanCount>,
    /// Why there are no entries of a plan: that the fabric cannot have it.
    pub plans_missing: Vec<String>,
    /// Compacted ternary tables.
    pub compacted: RuleCount,
}

/// Entries under one address plan.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct PlanCount {
    /// The plan.
    pub plan: PlanKind,
    /// Its fields in the 46 free bits of a MAC address, most significant first.
    pub layout: String,
    /// Entries of the smallest table.
    pub entries_min: u64,
    /// Entries of a table on average.
    pub entries_mean: f64,
    /// Whether the largest fits.
    pub largest: TableFit,
}

/// Compacted tables.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct RuleCount {
    /// The plan.
    pub plan: PlanKind,
    /// How.
    pub compaction: etherweave_forwarding::CompactionKind,
    /// Fields that divide packets among several ports.
    pub sharing: Sharing,
    /// The fields of the plan.
    pub layout: String,
    /// Rules of the smallest table.
    pub rules_min: u64,
    /// Rules of a table on average.
    pub rules_mean: f64,
    /// Whether the largest fits.
    pub largest: TableFit,
    /// The most ports in use on one switch: the fewest rules that it can have in general.
    pub ports_max: u64,
    /// Pairs of a switch and a host for which the table was proved equal to the routing: all of them.
    pub pairs_proved: u64,
    /// Regions of addresses that stood for them in the proof.
    pub regions_proved: u64,
}

/// A table against a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct TableFit {
    /// Entries wanted.
    pub entries: u64,
    /// Entries that there are.
    pub capacity: u64,
    /// Entries beyond the capacity; 0 when the table fits.
    pub excess: u64,
}

impl TableFit {
    pub(crate) fn new(entries: u64, capacity: u64) -> TableFit {
        TableFit::of(TableUse { entries, capacity })
    }

    fn of(fit: TableUse) -> TableFit {
        TableFit { entries: fit.entries, capacity: fit.capacity, excess: fit.excess() }
    }
}

impl TableCounts {
    /// `on_switch` is called before each switch with the number of those done, and returns whether to continue; none
    /// when it does not.
    ///
    /// # Errors
    /// When the fabric cannot have what the specification asks for.
    pub(crate) fn of(
        kind: &TopologyKind,
        topology: &Topology,
        spec: &TablesSpec,
        on_switch: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<TableCounts>, InputError> {
        if !spec.is_asked() {
            Survey::check(kind, topology).map_err(|error| error.within("tables"))?;
        }
        let survey = Survey::with(kind, topology, spec.strategy(kind), &spec.widths, on_switch);
        let survey = survey.map_err(|error| error.within("tables"))?;
        Ok(survey.map(|survey| TableCounts::counted(&survey, spec)))
    }

    fn counted(survey: &Survey, spec: &TablesSpec) -> TableCounts {
        let capacity = &spec.capacity;
        let hosts = Count { min: survey.exact, max: survey.exact, total: survey.exact, tables: 1 };
        TableCounts {
            exact: TableFit::of(capacity.exact(&hosts)),
            plans: survey.plans.iter().flatten().map(|plan| PlanCount::of(plan, capacity)).collect(),
            plans_missing: survey.plans.iter().filter_map(|plan| Some(plan.as_ref().err()?.reason())).collect(),
            compacted: RuleCount::of(&survey.compacted, capacity),
        }
    }
}

impl TablesSpec {
    /// Whether it asks for certain tables, so that there must be some.
    pub(crate) fn is_asked(&self) -> bool {
        *self != TablesSpec { capacity: self.capacity.clone(), peers: self.peers, ..TablesSpec::default() }
    }

    /// How the tables of a fabric of this kind are made.
    pub fn strategy(&self, kind: &TopologyKind) -> Strategy {
        let fitting = Strategy::fitting(kind);
        Strategy {
            plan: self.plan.unwrap_or(fitting.plan),
            compaction: self.compaction.unwrap_or(fitting.compaction),
            sharing: self.share_by.unwrap_or(fitting.sharing),
            group_coordinates: self.group_coordinates,
        }
    }
}

type Capacity = etherweave_forwarding::TableProfile;

impl PlanCount {
    fn of(tables: &PlanTables, capacity: &Capacity) -> PlanCount {
        PlanCount {
            plan: tables.plan,
            layout: tables.layout.clone(),
            entries_min: tables.ternary.min,
            entries_mean: tables.ternary.mean(),
            largest: TableFit::of(capacity.ternary(&tables.ternary)),
        }
    }
}

impl RuleCount {
    fn of(compacted: &Compacted, capacity: &Capacity) -> RuleCount {
        RuleCount {
            plan: compacted.strategy.plan,
            compaction: compacted.strategy.compaction,
            sharing: compacted.strategy.sharing,
            layout: compacted.layout.clone(),
            rules_min: compacted.rules.min,
            rules_mean: compacted.rules.mean(),
            largest: TableFit::of(capacity.ternary(&compacted.rules)),
            ports_max: compacted.ports.max,
            pairs_proved: compacted.proof.pairs,
            regions_proved: compacted.proof.regions,
        }
    }
}
