//! All figures of one fabric.

use std::fmt;

use etherweave_primitives::{Fault, InputError, Power, caught};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Topology, TopologyKind};

use crate::{
    Bill, BridgingCount, BusiestChannels, DesignError, DesignSpec, FabricFigures, ReductionCost, RoutingProof,
    TableCounts, WattsOf, proofs, proofs::ProvedFabric,
};

/// Switches whose tables are planned between two reports of progress.
const SWITCHES_OF_A_STEP: usize = 64;

/// A fabric on paper.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Design {
    /// Name of the design.
    pub name: String,
    /// Its family of topologies.
    pub family: &'static str,
    /// Counts, distances, rates.
    pub fabric: FabricFigures,
    /// Whether routings can deadlock.
    pub routings: Vec<RoutingProof>,
    /// Entries that forwarding tables need; none where there is a reason in [`Design::missing`].
    pub tables: Option<TableCounts>,
    /// Tables of switches that learn addresses.
    pub bridging: Vec<BridgingCount>,
    /// The channels that are full first; none where there are no tables, or a reason in [`Design::missing`].
    pub busiest: Option<BusiestChannels>,
    /// Power that it draws.
    pub power: Option<WattsOf>,
    /// Costs.
    pub cost: Option<Bill>,
    /// Needs of switches that reduce in the network; empty without jobs that ask for it.
    pub reduction: Vec<ReductionCost>,
    /// Parts that could not be computed, and why.
    pub missing: Vec<String>,
    /// The first panic that took a part of it, if one has.
    #[serde(skip)]
    pub fault: Option<Fault>,
}

/// Step that a design is about to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DesignStep {
    /// Counts, distances, bisection: from so many switches with hosts the distances are known.
    Measure {
        /// Switches with hosts that are done.
        done: usize,
        /// Switches with hosts in all.
        of: usize,
    },
    /// Entries by plan, compaction, its proof, loads: so many switches are done.
    Tables {
        /// Switches whose tables are planned.
        done: usize,
        /// Switches in all.
        of: usize,
    },
    /// Deadlock freedom of a routing.
    Prove(RoutingKind),
    /// Watts and prices.
    PowerAndCost,
}

impl DesignStep {
    /// The share of it that is done, if it is known.
    pub fn share(&self) -> Option<f64> {
        match *self {
            DesignStep::Measure { done, of } | DesignStep::Tables { done, of } => Some(done as f64 / of as f64),
            DesignStep::Prove(_) | DesignStep::PowerAndCost => None,
        }
    }
}

impl fmt::Display for DesignStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DesignStep::Measure { done: 0, .. } => f.write_str("measuring"),
            DesignStep::Measure { done, of } => write!(f, "measuring, {done} of {of} switches done"),
            DesignStep::Tables { done: 0, .. } => f.write_str("planning tables"),
            DesignStep::Tables { done, of } => write!(f, "planning tables, {done} of {of} switches done"),
            DesignStep::Prove(routing) => write!(f, "proving {}", routing.name()),
            DesignStep::PowerAndCost => f.write_str("adding up power and cost"),
        }
    }
}

impl Design {
    /// Designs `topology`, which `kind` has generated; of several planes, what routing sees is that of each.
    /// `on_step` is called before each step and returns whether to continue.
    ///
    /// # Errors
    /// When the specification asks for what the fabric or a profile cannot give, or `on_step` stopped it. What
    /// was not asked for and cannot be computed is listed in [`Design::missing`], as is a part that a panic took.
    pub fn of(
        name: &str,
        kind: &TopologyKind,
        topology: &Topology,
        spec: &DesignSpec,
        on_step: &mut dyn FnMut(DesignStep) -> bool,
    ) -> Result<Design, DesignError> {
        spec.check()?;
        let mut next = |step| if on_step(step) { Ok(()) } else { Err(DesignError::Stopped) };
        let mut parts = Parts::default();
        let by_port = topology.by_port();
        next(DesignStep::Measure { done: 0, of: by_port.switches() })?;
        let mut on_switch = |done, of| done == 0 || next(DesignStep::Measure { done, of }).is_ok();
        let fabric = FabricFigures::of(kind, topology, &mut on_switch).ok_or(DesignError::Stopped)?;
        let tables = parts.kept("tables", |missing| {
            let tables = tables(kind, by_port, spec, &mut next)?;
            Ok(known(tables, spec.tables.is_asked(), missing)?)
        })?;
        let busiest = parts.kept("busiest channel", |missing| {
            let busiest = tables.as_ref().map(|_| BusiestChannels::of(kind, by_port, &spec.tables));
            Ok(busiest.and_then(|busiest| noted(busiest, "busiest channel", missing)))
        })?;
        let proved =
            ProvedFabric { kind, topology: by_port, diameter: fabric.diameter, priorities_max: spec.priorities };
        let routings = prove(proved, spec, &mut next, &mut parts)?;
        let power = parts.kept("power", |missing| {
            next(DesignStep::PowerAndCost)?;
            Ok(noted(WattsOf::of(topology, tables.as_ref(), spec)?, "power", missing))
        })?;
        let drawn = power.as_ref().map(|power| Power::from_uw((power.design().fabric.total_w * 1e6) as u64));
        let cost = parts.kept("cost", |missing| Ok(noted(Bill::of(topology, drawn, spec)?, "cost", missing)))?;
        let bridging = parts.kept("tables that learn", |_| Ok(Some(BridgingCount::all(by_port, spec))))?;
        let (name, family, bridging) = (name.to_owned(), kind.name(), bridging.unwrap_or_default());
        let (Parts { missing, fault }, reduction) = (parts, Vec::new());
        Ok(Design { name, family, fabric, routings, tables, bridging, busiest, power, cost, reduction, missing, fault })
    }

    /// All figures, as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("figures are JSON")
    }
}

#[derive(Default)]
struct Parts {
    missing: Vec<String>,
    fault: Option<Fault>,
}

impl Parts {
    /// A part, or nothing where computing it panics: the others are kept.
    fn kept<T>(
        &mut self,
        name: &str,
        compute: impl FnOnce(&mut Vec<String>) -> Result<Option<T>, DesignError>,
    ) -> Result<Option<T>, DesignError> {
        caught(|| compute(&mut self.missing)).unwrap_or_else(|fault| {
            self.missing.push(format!("{name}: a fault of Etherweave: {}", fault.message));
            self.fault.get_or_insert(fault);
            Ok(None)
        })
    }
}

/// The tables, or what the fabric cannot have.
fn tables(
    kind: &TopologyKind,
    topology: &Topology,
    spec: &DesignSpec,
    next: &mut dyn FnMut(DesignStep) -> Result<(), DesignError>,
) -> Result<Result<TableCounts, InputError>, DesignError> {
    let of = topology.switches();
    let mut go_on = |done| next(DesignStep::Tables { done, of }).is_ok();
    let mut on_switch = |done: usize| !done.is_multiple_of(SWITCHES_OF_A_STEP) || go_on(done);
    match TableCounts::of(kind, topology, &spec.tables, &mut on_switch) {
        Ok(None) => Err(DesignError::Stopped),
        Ok(Some(tables)) => Ok(Ok(tables)),
        Err(error) => Ok(Err(error)),
    }
}

/// A part that must be there when it was asked for, and else may be missing for a reason.
fn known<T>(part: Result<T, InputError>, is_asked: bool, missing: &mut Vec<String>) -> Result<Option<T>, InputError> {
    match part {
        Ok(part) => Ok(Some(part)),
        Err(error) if is_asked => Err(error),
        Err(error) => {
            missing.push(error.to_string());
            Ok(None)
        }
    }
}

fn noted<T>(part: Result<T, String>, name: &str, missing: &mut Vec<String>) -> Option<T> {
    part.map_err(|reason| missing.push(format!("{name}: {reason}"))).ok()
}

/// Names a routing once, whether or not the reason does.
fn unsuited(name: &str, reason: &str) -> String {
    format!("{name}: {}", reason.strip_prefix(&format!("{name}, ")).unwrap_or(reason))
}

/// Those asked for must suit the fabric; of those that the family is known for, the ones that do.
fn prove(
    fabric: ProvedFabric<'_>,
    spec: &DesignSpec,
    next: &mut dyn FnMut(DesignStep) -> Result<(), DesignError>,
    parts: &mut Parts,
) -> Result<Vec<RoutingProof>, DesignError> {
    let asked = spec.routings.as_deref();
    let mut proofs = Vec::new();
    for &routing in asked.unwrap_or(proofs::known_for(fabric.kind)) {
        if !routing.is_default() {
            let mistake = format!("{} with parameters", routing.name());
            let expected = "its name alone: a proof holds for all parameters";
            return Err(InputError::new("routings", mistake, expected).into());
        }
        let routing = proofs::meant(routing, fabric.topology, &mut parts.missing);
        let proof = parts.kept(routing.name(), |missing| {
            next(DesignStep::Prove(routing))?;
            let proof = RoutingProof::of(routing, fabric, asked.is_some());
            let proof = proof.map_err(|reason| InputError::new("routings", unsuited(routing.name(), &reason), ""));
            Ok(known(proof, asked.is_some(), missing)?)
        });
        proofs.extend(proof?);
    }
    Ok(proofs)
}
