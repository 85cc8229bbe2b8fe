//! What a fabric draws: by organisation of its tables at the worst case, and under a lighter load.

use etherweave_forwarding::PlanKind;
use etherweave_power::{
    Certainty, Citation, Components, Draw, Entries, PowerError, PowerProfile, Saving, TableKind, Tables, shipped,
};
use etherweave_topology::Topology;

use crate::money::Figure;
use crate::{ActivitySpec, DesignError, DesignSpec, Load, TableCounts};

/// What a fabric draws.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct WattsOf {
    /// The power profile.
    pub profile: String,
    /// What the profile describes.
    pub about: String,
    /// At the worst case, by organisation of the tables; the last is that of the design.
    pub organisations: Vec<Organisation>,
    /// Under the load of the specification, with the tables of the design.
    pub activity: Vec<WattsAt>,
    /// What the sums may claim.
    pub certainty: String,
    /// What the profile does not tell apart or count.
    pub notes: Vec<String>,
    /// The figures used, each with its source.
    pub figures: Vec<Figure>,
}

/// The worst case with one organisation of the tables. All switches have a table of the size of the largest.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Organisation {
    /// The address plan; none: tables are not told apart.
    pub plan: Option<PlanKind>,
    /// Whether the tables are compacted.
    pub is_compacted: bool,
    /// What the tables are made of.
    pub table: Option<&'static str>,
    /// Entries of each table.
    pub entries: u64,
    /// The whole fabric.
    pub fabric: Watts,
    /// A switch on average.
    pub switch: Watts,
}

/// Under a load, with one way of saving.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct WattsAt {
    /// Mean share of the time that channels send.
    pub load: f64,
    /// Whether the load was measured channel by channel; otherwise it is the same on all.
    pub is_measured: bool,
    /// What is done with idle ports.
    pub saving: &'static str,
    /// The whole fabric.
    pub fabric: Watts,
    /// Links that are down for want of traffic.
    pub links_asleep: u64,
    /// How long a sleeping direction or link takes to wake [us].
    pub wake_us: f64,
}

/// Power by component [W].
#[derive(Clone, Copy, PartialEq, Default, Debug, serde::Serialize)]
pub struct Watts {
    /// Switches before a port is up.
    pub fixed_w: f64,
    /// Electronics of the ports of switches.
    pub ports_w: f64,
    /// Transceivers and active ends of cables.
    pub modules_w: f64,
    /// Packets written to and read from buffers.
    pub buffers_w: f64,
    /// Searches in forwarding tables.
    pub tables_w: f64,
    /// Network cards of hosts.
    pub cards_w: f64,
    /// All of them.
    pub total_w: f64,
}

impl Watts {
    fn of(components: Components, share: f64) -> Watts {
        let watts = |power: etherweave_primitives::Power| power.as_w_f64() * share;
        Watts {
            fixed_w: watts(components.fixed),
            ports_w: watts(components.ports),
            modules_w: watts(components.modules),
            buffers_w: watts(components.buffers),
            tables_w: watts(components.tables),
            cards_w: watts(components.cards),
            total_w: watts(components.total()),
        }
    }
}

impl WattsOf {
    /// # Errors
    /// When the named profile does not exist, cannot be read, or lacks a part of the fabric. Where none is named, none
    /// may suit: then the reason is the inner error.
    pub(crate) fn of(
        topology: &Topology,
        tables: &TableCounts,
        spec: &DesignSpec,
    ) -> Result<Result<WattsOf, String>, DesignError> {
        let told = |key| move |error: PowerError| DesignError::key(key, error);
        match (&spec.power, &spec.power_text) {
            (Some(_), Some(_)) => Err(DesignError::key("power", "given beside a profile of one's own; expected one")),
            (Some(name), None) => {
                let profile = PowerProfile::shipped(name).map_err(told("power"))?;
                WattsOf::by(&profile, topology, tables, spec).map(Ok).map_err(told("power"))
            }
            (None, Some(text)) => {
                let profile = PowerProfile::parse("power_text", text).map_err(told("power_text"))?;
                WattsOf::by(&profile, topology, tables, spec).map(Ok).map_err(told("power_text"))
            }
            (None, None) => Ok(WattsOf::first(topology, tables, spec)),
        }
    }

    /// By the first profile that has all parts of the fabric.
    fn first(topology: &Topology, tables: &TableCounts, spec: &DesignSpec) -> Result<WattsOf, String> {
        let profiles = shipped::profiles();
        let read = |name| PowerProfile::shipped(name).expect("a shipped profile can be read");
        let mut drawn = profiles.iter().map(|name| WattsOf::by(&read(name), topology, tables, spec));
        drawn.find_map(Result::ok).ok_or_else(|| {
            let known = profiles.join(", ");
            format!(
                "no profile that comes along ({known}) has all parts; name one as design.power to see what it lacks"
            )
        })
    }

    fn by(
        profile: &PowerProfile,
        topology: &Topology,
        tables: &TableCounts,
        spec: &DesignSpec,
    ) -> Result<WattsOf, PowerError> {
        let mut draws = Vec::new();
        for kind in organisations(profile, tables) {
            let draw = profile.draw(topology, kind.tables().as_ref())?;
            draws.push((kind, draw));
        }
        let (design, last) = draws.last().expect("there is one organisation at least");
        let activity = match &spec.activity {
            Some(spec) => even(profile, topology, design.tables().as_ref(), spec)?,
            None => Vec::new(),
        };
        let figures = figures(&draws);
        Ok(WattsOf {
            profile: profile.name.clone(),
            about: profile.about.clone(),
            activity,
            certainty: Certainty::of(&figures).to_string(),
            notes: last.notes.clone(),
            figures: figures.iter().map(Figure::of).collect(),
            organisations: draws.iter().map(|(kind, draw)| kind.told(draw, topology)).collect(),
        })
    }

    /// As [`Design::add_load`](crate::Design::add_load).
    pub(crate) fn add_load(&mut self, topology: &Topology, spec: &DesignSpec, load: &Load) -> Result<(), DesignError> {
        let told = |error: PowerError| DesignError::key("power", error);
        let profile = match &spec.power_text {
            Some(text) => PowerProfile::parse(&self.profile, text).map_err(told)?,
            None => PowerProfile::shipped(&self.profile).map_err(told)?,
        };
        let tables = self.design().tables();
        for saving in savings(&profile, spec.activity.as_ref().and_then(|activity| activity.saving)) {
            self.activity.push(WattsAt::of(&profile, topology, tables.as_ref(), load, saving).map_err(told)?);
        }
        Ok(())
    }

    /// The worst case with the tables of the design.
    pub fn design(&self) -> &Organisation {
        self.organisations.last().expect("there is one organisation at least")
    }
}

impl Organisation {
    fn tables(&self) -> Option<Tables> {
        let kind = [TableKind::Cam, TableKind::Tcam].into_iter().find(|kind| Some(kind.name()) == self.table)?;
        Some(Tables { kind, entries: Entries::Each(self.entries) })
    }
}

/// Which tables switches have.
struct Organised {
    plan: Option<PlanKind>,
    is_compacted: bool,
    table: Option<(TableKind, u64)>,
}

impl Organised {
    fn tables(&self) -> Option<Tables> {
        self.table.map(|(kind, entries)| Tables { kind, entries: Entries::Each(entries) })
    }

    fn told(&self, draw: &Draw, topology: &Topology) -> Organisation {
        Organisation {
            plan: self.plan,
            is_compacted: self.is_compacted,
            table: self.table.map(|(kind, _)| kind.name()),
            entries: self.table.map_or(0, |(_, entries)| entries),
            fabric: Watts::of(draw.total(), 1.0),
            switch: Watts::of(draw.switches(), 1.0 / topology.switches() as f64),
        }
    }
}

/// Exact and ternary flat tables, ternary ones by plan, compacted ones; one alone where the profile has no tables.
fn organisations(profile: &PowerProfile, tables: &TableCounts) -> Vec<Organised> {
    let has = |kind| profile.table.contains_key(&kind);
    let of = |plan, is_compacted, kind, entries| Organised { plan, is_compacted, table: Some((kind, entries)) };
    let mut all = Vec::new();
    if has(TableKind::Cam) {
        all.push(of(Some(PlanKind::Flat), false, TableKind::Cam, tables.exact.entries));
    }
    if has(TableKind::Tcam) {
        let plans = tables.plans.iter();
        all.extend(plans.map(|plan| of(Some(plan.plan), false, TableKind::Tcam, plan.largest.entries)));
        let compacted = &tables.compacted;
        all.push(of(Some(compacted.plan), true, TableKind::Tcam, compacted.largest.entries));
    }
    if all.is_empty() { vec![Organised { plan: None, is_compacted: false, table: None }] } else { all }
}

/// The figures of all draws, each once.
fn figures(draws: &[(Organised, Draw)]) -> Vec<Citation> {
    let mut figures: Vec<Citation> = draws.iter().flat_map(|(_, draw)| draw.figures.clone()).collect();
    figures.sort_by(|a, b| a.key.cmp(&b.key));
    figures.dedup_by(|a, b| a.key == b.key);
    figures
}

/// Under the load that a specification says, with each way of saving.
fn even(
    profile: &PowerProfile,
    topology: &Topology,
    tables: Option<&Tables>,
    spec: &ActivitySpec,
) -> Result<Vec<WattsAt>, PowerError> {
    let load = Load::even(topology, spec.load, spec.packet);
    let at = |saving| {
        let at = WattsAt::of(profile, topology, tables, &load, saving)?;
        Ok(WattsAt { load: spec.load, is_measured: false, ..at })
    };
    savings(profile, spec.saving).into_iter().map(at).collect()
}

/// What is done with idle ports: as asked, or else each way that the profile knows.
fn savings(profile: &PowerProfile, asked: Option<Saving>) -> Vec<Saving> {
    let is_known = |saving: &Saving| match saving {
        Saving::AlwaysOn => true,
        Saving::LowPowerIdle => profile.low_power_idle.is_some(),
        Saving::LinkSleep => profile.link_sleep.is_some(),
    };
    asked.map_or_else(|| Saving::ALL.into_iter().filter(is_known).collect(), |saving| vec![saving])
}

impl WattsAt {
    fn of(
        profile: &PowerProfile,
        topology: &Topology,
        tables: Option<&Tables>,
        load: &Load,
        saving: Saving,
    ) -> Result<WattsAt, PowerError> {
        let draw = profile.draw_under(topology, tables, &load.under(saving))?;
        Ok(WattsAt {
            load: load.mean(),
            is_measured: true,
            saving: saving.name(),
            fabric: Watts::of(draw.total(), 1.0),
            links_asleep: draw.links_asleep,
            wake_us: draw.wake.as_ns_f64() / 1e3,
        })
    }
}
