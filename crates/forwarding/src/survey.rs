//! The tables of a whole fabric, switch by switch: how large they are by plan, and that the compacted ones are right.
//!
//! One row and one table are in memory at a time, whatever the size of the fabric.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::{RowShape, Shape, Topology, TopologyKind};

use crate::compaction::{CompactionKind, Sources};
use crate::plan::FieldLayout;
use crate::region_routes::RegionRoute;
use crate::{AddressPlan, Count, FlowTable, MinimalRouting, PlanKind, RegionRoutes, SwitchView, prove};

/// Pairs of a switch and a host whose shortest paths are searched unasked: minutes.
const PAIRS_MAX: u64 = 1 << 26;

/// Entries without compaction under one address plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanTables {
    /// The plan.
    pub plan: PlanKind,
    /// Its fields: "group 9 | switch 6 | host 5 (20 of 46 bits)".
    pub layout: String,
    /// Ternary entries: one per region that a switch treats alike.
    pub ternary: Count,
}

/// How the tables of a fabric are made small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strategy {
    /// The address plan.
    pub plan: PlanKind,
    /// The compaction.
    pub compaction: CompactionKind,
    /// Field that divides packets among several ports.
    pub sharing: Sharing,
    /// Leading coordinates that the switches of a group share, where the plan is [`PlanKind::PerGroup`]; none: all but
    /// the last.
    pub group_coordinates: Option<u32>,
}

/// Field that divides packets among several ports that lead to their destinations alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// A hash of the switch: a rule for all ports together.
    Hash,
    /// The source address: a rule for each port with its share of the sources.
    Source,
    /// The destination address: a rule for each port with its share of the destinations.
    Destination,
}

impl Strategy {
    /// Returns the strategy of Benito et al. 2015, section III-B: wildcards per dimension in flattened butterflies,
    /// source shares in folded Clos networks, prefixes in dragonflies; prefixes per switch without coordinates.
    pub fn fitting(kind: &TopologyKind) -> Strategy {
        let strategy = |plan, compaction, sharing| Strategy { plan, compaction, sharing, group_coordinates: None };
        match kind.shape() {
            Shape::Grid { row: RowShape::Full, .. } => {
                strategy(PlanKind::Coordinates, CompactionKind::Wildcards, Sharing::Hash)
            }
            Shape::Tree => strategy(PlanKind::Coordinates, CompactionKind::PrefixesNested, Sharing::Source),
            Shape::Groups(_)
            | Shape::Rails { .. }
            | Shape::Grid { row: RowShape::Ring | RowShape::Line, .. }
            | Shape::Graph { is_listed: false } => {
                strategy(PlanKind::Coordinates, CompactionKind::PrefixesNested, Sharing::Hash)
            }
            Shape::Single | Shape::Graph { is_listed: true } => {
                strategy(PlanKind::PerSwitch, CompactionKind::PrefixesNested, Sharing::Hash)
            }
        }
    }

    /// The table of one switch.
    pub fn table(&self, routes: &RegionRoutes<'_>, sources: &mut Sources<'_>, topology: &Topology) -> FlowTable {
        let table = self.compaction.table(routes);
        match self.sharing {
            Sharing::Hash => table,
            Sharing::Source => sources.share_passing(&table, topology, routes.at),
            Sharing::Destination => sources.share_destinations(&table, topology.level(routes.at)),
        }
    }

    /// The address plan of a fabric, with the width of each field [bits]; none: as narrow as possible.
    ///
    /// # Errors
    /// When it does not suit the fabric.
    pub fn address_plan(&self, topology: &Topology, widths: &[u32]) -> Result<AddressPlan, InputError> {
        self.plan.plan_with(topology, FieldLayout { widths, group_coordinates: self.group_coordinates })
    }
}

/// Compacted tables, all proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// How.
    pub strategy: Strategy,
    /// The fields of the plan: "z 4 | y 4 | x 4 | host 4 (16 of 46 bits)".
    pub layout: String,
    /// Rules.
    pub rules: Count,
    /// Ports in use, the fewest rules that any table can have in general.
    pub ports: Count,
    /// The extent of the proof.
    pub proof: Proved,
}

/// The extent of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Proved {
    /// Pairs of a switch and a host whose ports are those of the routing.
    pub pairs: u64,
    /// Regions that were checked for them.
    pub regions: u64,
}

/// Entries without compaction, by switch; time grows with switches × fields where the routing is not listed.
pub fn plain(minimal: &MinimalRouting<'_>, plan: &AddressPlan) -> PlanTables {
    let entries = switches(minimal.topology()).map(|at| minimal.view(at).entries(&plan.root()));
    PlanTables::new(plan, entries)
}

impl PlanTables {
    fn new(plan: &AddressPlan, entries: impl IntoIterator<Item = u64>) -> PlanTables {
        let ternary = Count::of(entries).expect("a fabric has switches");
        PlanTables { plan: plan.kind(), layout: plan.to_string(), ternary }
    }
}

/// Makes, proves and counts every table.
///
/// # Errors
/// When the plan does not suit the fabric, or a table is not equal to the routing.
pub fn compact(minimal: &MinimalRouting<'_>, strategy: Strategy) -> Result<Compacted, InputError> {
    let plan = strategy.address_plan(minimal.topology(), &[])?;
    let mut compactor = Compactor::new(minimal.topology(), &plan, strategy);
    switches(minimal.topology()).try_for_each(|at| compactor.add(at, &minimal.view(at)))?;
    Ok(compactor.finish())
}

struct Compactor<'a> {
    topology: &'a Topology,
    plan: &'a AddressPlan,
    strategy: Strategy,
    sources: Sources<'a>,
    rules: Vec<u64>,
    proof: Proved,
}

impl<'a> Compactor<'a> {
    fn new(topology: &'a Topology, plan: &'a AddressPlan, strategy: Strategy) -> Compactor<'a> {
        let (sources, rules) = (Sources::of(plan), Vec::with_capacity(topology.switches()));
        Compactor { topology, plan, strategy, sources, rules, proof: Proved::default() }
    }

    fn add(&mut self, at: SwitchId, view: &SwitchView<'_>) -> Result<(), InputError> {
        let routes = RegionRoutes::seen(view, self.topology, self.plan, at);
        let table = self.strategy.table(&routes, &mut self.sources, self.topology);
        self.proof.regions += prove(&routes, &table, self.topology)?;
        self.proof.pairs += self.plan.hosts() as u64;
        self.rules.push(table.rules().len() as u64);
        Ok(())
    }

    fn finish(self) -> Compacted {
        let ports = switches(self.topology).map(|at| self.topology.out_channels(at).len() as u64);
        let [rules, ports] =
            [Count::of(self.rules), Count::of(ports)].map(|count| count.expect("a fabric has switches"));
        Compacted { strategy: self.strategy, layout: self.plan.to_string(), rules, ports, proof: self.proof }
    }
}

/// The figures of a fabric's tables that `design` reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Entries of an exact-match table: one per host, under any plan.
    pub exact: u64,
    /// Tables by plan, or why the fabric cannot have the plan.
    pub plans: Vec<Result<PlanTables, InputError>>,
    /// The compacted tables.
    pub compacted: Compacted,
}

impl Survey {
    /// How much memory a survey takes, about [B]: plans, entries by plan and switch, and one table.
    pub fn memory_bytes(topology: &Topology) -> u64 {
        let (hosts, switches) = (topology.hosts() as u64, topology.switches() as u64);
        let plans = PlanKind::ALL.len() as u64;
        let host = plans * AddressPlan::HOST_BYTES + size_of::<RegionRoute<'_>>() as u64;
        hosts * host + switches * (plans + 1) * size_of::<u64>() as u64
    }

    /// Refuses what would take hours: switches whose shortest paths to all hosts are searched one after the other.
    ///
    /// # Errors
    /// With the number of pairs of a switch and a host.
    pub fn check(kind: &TopologyKind, topology: &Topology) -> Result<(), InputError> {
        let pairs = topology.switches() as u64 * topology.hosts() as u64;
        if pairs > PAIRS_MAX && MinimalRouting::of(kind, topology)?.is_searched() {
            let mistake = format!("{pairs} pairs of a switch and a host, whose shortest paths are searched");
            return Err(InputError::new("", mistake, format!("at most {PAIRS_MAX}, or a `plan`")));
        }
        Ok(())
    }

    /// Surveys `topology`, which `kind` has generated.
    ///
    /// # Errors
    /// When there is no routing to compact, or a table is not equal to it.
    pub fn of(kind: &TopologyKind, topology: &Topology) -> Result<Survey, InputError> {
        let survey = Survey::with(kind, topology, Strategy::fitting(kind), &[], &mut |_| true)?;
        Ok(survey.expect("nobody stops it"))
    }

    /// Does the same as [`Survey::of`], compacted by a strategy of one's own, with the width of each field of its plan
    /// [bits]; none: as narrow as possible. `on_switch` is called before each switch with the number of those done, and
    /// returns whether to continue; none when it does not.
    ///
    /// # Errors
    /// Also when the plan or the widths do not suit the fabric.
    pub fn with(
        kind: &TopologyKind,
        topology: &Topology,
        strategy: Strategy,
        widths: &[u32],
        on_switch: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<Survey>, InputError> {
        let minimal = MinimalRouting::of(kind, topology)?;
        let compact_plan = strategy.address_plan(topology, widths)?;
        let mut compactor = Compactor::new(topology, &compact_plan, strategy);
        let kinds = [PlanKind::Flat, PlanKind::PerSwitch, PlanKind::PerGroup];
        let plans = kinds.map(|plan| Strategy { plan, ..strategy }.address_plan(topology, &[]));
        let mut entries = [(); 3].map(|()| Vec::with_capacity(topology.switches()));
        for at in switches(topology) {
            if !on_switch(at.index()) {
                return Ok(None);
            }
            let view = minimal.view(at);
            for (plan, entries) in plans.iter().zip(&mut entries) {
                entries.extend(plan.iter().map(|plan| view.entries(&plan.root())));
            }
            compactor.add(at, &view)?;
        }
        let tables = plans.into_iter().zip(entries).map(|(plan, entries)| Ok(PlanTables::new(&plan?, entries)));
        let exact = topology.hosts() as u64;
        Ok(Some(Survey { exact, plans: tables.collect(), compacted: compactor.finish() }))
    }
}

fn switches(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switches()).map(SwitchId::from_index)
}
