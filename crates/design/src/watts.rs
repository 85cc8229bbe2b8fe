//! Power of a fabric: by organisation of its tables at the worst case, and under a lighter load.

use etherweave_forwarding::PlanKind;
use etherweave_power::{
    Certainty, Citation, Components, Draw, Entries, PowerProfile, Saving, TableKind, Tables, shipped,
};
use etherweave_primitives::InputError;
use etherweave_topology::Topology;

use crate::{ChannelLoads, DesignSpec, PlanCount, TableCounts, bridging::encapsulated};

/// Power that a fabric draws.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct WattsOf {
    /// The power profile.
    pub profile: String,
    /// Description of the profile.
    pub about: String,
    /// Power at the worst case, by organisation of the tables; the last is that of the design.
    pub organisations: Vec<Organisation>,
    /// Under the load of the specification, with the tables of the design.
    pub activity: Vec<WattsAt>,
    /// Certainty of the sums.
    pub certainty: String,
    /// Parts that the profile does not separate or count.
    pub notes: Vec<String>,
    /// The figures used, each with its source.
    pub figures: Vec<Citation>,
}

/// The worst case with one organisation of the tables. All switches have a table of the size of the largest, except
/// where frames are encapsulated.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Organisation {
    /// The address plan; none: tables are not counted separately.
    pub plan: Option<PlanKind>,
    /// Whether tables of switches with hosts are learnt, and other switches only know switches: frames have an outer
    /// header, as with TRILL.
    pub is_encapsulated: bool,
    /// Whether the tables are compacted.
    pub is_compacted: bool,
    /// Memory that the tables are made of.
    pub table: Option<&'static str>,
    /// Entries of each table, or of the largest.
    pub entries: u64,
    /// The whole fabric.
    pub fabric: Watts,
    /// A switch on average.
    pub switch: Watts,
}

/// Under a load, with one method of saving.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct WattsAt {
    /// Mean share of the time that channels send.
    pub load: f64,
    /// Whether the load was measured channel by channel; otherwise it is the same on all.
    pub is_measured: bool,
    /// Treatment of idle ports.
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
    /// NICs of hosts.
    pub nics_w: f64,
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
            nics_w: watts(components.nics),
            total_w: watts(components.total()),
        }
    }
}

impl WattsOf {
    /// # Errors
    /// When the named profile does not exist, cannot be read, or lacks a part of the fabric; when a load is asked about
    /// and no profile has figures for it. Where nothing is asked, no profile may suit: then the reason is the inner
    /// error.
    pub(crate) fn of(
        topology: &Topology,
        tables: Option<&TableCounts>,
        spec: &DesignSpec,
    ) -> Result<Result<WattsOf, String>, InputError> {
        let within = |key| move |error: InputError| error.within(key);
        match (&spec.power, &spec.power_text) {
            (Some(_), Some(_)) => {
                Err(InputError::new("power", "given beside a profile in power_text or power_file", "one"))
            }
            (Some(name), None) => {
                let profile = PowerProfile::shipped(name).map_err(within("power"))?;
                WattsOf::by(&profile, "power", topology, tables, spec).map(Ok)
            }
            (None, Some(text)) => {
                let profile = PowerProfile::parse("power_text", text).map_err(within("power_text"))?;
                WattsOf::by(&profile, "power_text", topology, tables, spec).map(Ok)
            }
            (None, None) => WattsOf::first(topology, tables, spec),
        }
    }

    /// Computes power by the first profile that has all parts of the fabric.
    fn first(
        topology: &Topology,
        tables: Option<&TableCounts>,
        spec: &DesignSpec,
    ) -> Result<Result<WattsOf, String>, InputError> {
        let profiles = shipped::PROFILES.names();
        let mut unsaved = None;
        for name in &profiles {
            let profile = PowerProfile::shipped(name).expect("a shipped profile can be read");
            match WattsOf::by(&profile, "power", topology, tables, spec) {
                Ok(watts) => return Ok(Ok(watts)),
                Err(error) if error.key == SAVING => unsaved = Some(error),
                Err(_) => {}
            }
        }
        let known = profiles.join(", ");
        let reason = format!(
            "no profile that comes along ({known}) has all parts; name one as design.power to see what it lacks"
        );
        match (unsaved, &spec.activity) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Err(InputError::new("activity", reason, "a profile with all parts")),
            (None, None) => Ok(Err(reason)),
        }
    }

    /// Computes power by one profile, which `key` has named.
    fn by(
        profile: &PowerProfile,
        key: &'static str,
        topology: &Topology,
        tables: Option<&TableCounts>,
        spec: &DesignSpec,
    ) -> Result<WattsOf, InputError> {
        let within = |error: InputError| error.within(key);
        let mut draws = Vec::new();
        for kind in organisations(profile, tables, topology, spec) {
            let draw = profile.draw(topology, kind.tables.as_ref()).map_err(within)?;
            draws.push((kind, draw));
        }
        let (design, last) = draws.last().expect("there is one organisation at least");
        let mut under = Vec::new();
        if let Some(spec) = &spec.activity {
            let load = ChannelLoads::even(topology, spec.load, spec.packet);
            for saving in savings(profile, spec.saving)? {
                let (at, draw) =
                    WattsAt::of(profile, topology, design.tables.as_ref(), &load, saving).map_err(within)?;
                under.push((WattsAt { load: spec.load, is_measured: false, ..at }, draw));
            }
        }
        let uncounted = tables.is_none().then(|| "forwarding tables are not counted: none are known".to_owned());
        let figures = figures(draws.iter().map(|(_, draw)| draw).chain(under.iter().map(|(_, draw)| draw)));
        Ok(WattsOf {
            profile: profile.name.clone(),
            about: profile.about.clone(),
            activity: under.into_iter().map(|(at, _)| at).collect(),
            notes: last.notes.iter().cloned().chain(uncounted).collect(),
            organisations: draws.iter().map(|(kind, draw)| kind.with_draw(draw, topology)).collect(),
            certainty: Certainty::of(&figures).to_string(),
            figures,
        })
    }

    /// Does the work of [`Design::add_load`](crate::Design::add_load).
    pub(crate) fn add_load(
        &mut self,
        topology: &Topology,
        spec: &DesignSpec,
        load: &ChannelLoads,
    ) -> Result<(), InputError> {
        let within = |error: InputError| error.within("power");
        let profile = match &spec.power_text {
            Some(text) => PowerProfile::parse(&self.profile, text).map_err(within)?,
            None => PowerProfile::shipped(&self.profile).map_err(within)?,
        };
        let tables = self.design().tables();
        let mut draws = Vec::new();
        for saving in savings(&profile, spec.activity.as_ref().and_then(|activity| activity.saving))? {
            let (at, draw) = WattsAt::of(&profile, topology, tables.as_ref(), load, saving).map_err(within)?;
            self.activity.push(at);
            draws.push(draw);
        }
        self.figures = merged(std::mem::take(&mut self.figures).into_iter().chain(figures(draws.iter())));
        self.certainty = Certainty::of(&self.figures).to_string();
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

/// Tables that switches have.
struct Organised {
    plan: Option<PlanKind>,
    is_encapsulated: bool,
    is_compacted: bool,
    tables: Option<Tables>,
}

impl Organised {
    const UNKNOWN: Organised = Organised { plan: None, is_encapsulated: false, is_compacted: false, tables: None };

    fn by_plan(plan: PlanKind, kind: TableKind, entries: u64) -> Organised {
        let tables = Some(Tables { kind, entries: Entries::Each(entries) });
        Organised { plan: Some(plan), tables, ..Organised::UNKNOWN }
    }

    fn with_draw(&self, draw: &Draw, topology: &Topology) -> Organisation {
        Organisation {
            plan: self.plan,
            is_encapsulated: self.is_encapsulated,
            is_compacted: self.is_compacted,
            table: self.tables.as_ref().map(|tables| tables.kind.name()),
            entries: self.tables.as_ref().map_or(0, |tables| tables.entries.max()),
            fabric: Watts::of(draw.total(), 1.0),
            switch: Watts::of(draw.switches(), 1.0 / topology.switches() as f64),
        }
    }
}

/// Exact tables of encapsulated frames, exact and ternary flat ones, ternary ones by plan, compacted ones; one alone
/// where profile or fabric has none.
fn organisations(
    profile: &PowerProfile,
    tables: Option<&TableCounts>,
    topology: &Topology,
    spec: &DesignSpec,
) -> Vec<Organised> {
    let Some(tables) = tables else { return vec![Organised::UNKNOWN] };
    let has = |kind| profile.table.contains_key(&kind);
    let mut all = Vec::new();
    if has(TableKind::Cam) {
        let entries = Entries::PerSwitch(encapsulated(topology, spec));
        let learnt = Some(Tables { kind: TableKind::Cam, entries });
        all.push(Organised { is_encapsulated: true, tables: learnt, ..Organised::UNKNOWN });
        all.push(Organised::by_plan(PlanKind::Flat, TableKind::Cam, tables.exact.entries));
    }
    if has(TableKind::Tcam) {
        let by_plan = |plan: &PlanCount| Organised::by_plan(plan.plan, TableKind::Tcam, plan.largest.entries);
        all.extend(tables.plans.iter().map(by_plan));
        let compacted = Organised::by_plan(tables.compacted.plan, TableKind::Tcam, tables.compacted.largest.entries);
        all.push(Organised { is_compacted: true, ..compacted });
    }
    if all.is_empty() { vec![Organised::UNKNOWN] } else { all }
}

fn figures<'a>(draws: impl Iterator<Item = &'a Draw>) -> Vec<Citation> {
    merged(draws.flat_map(|draw| draw.figures.iter().cloned()))
}

fn merged(figures: impl Iterator<Item = Citation>) -> Vec<Citation> {
    let mut figures: Vec<Citation> = figures.collect();
    figures.sort_by(|a, b| a.key.cmp(&b.key));
    figures.dedup_by(|a, b| a.key == b.key);
    figures
}

/// The key of what is done with idle ports.
const SAVING: &str = "activity.saving";

/// Returns the treatments of idle ports: as asked, or else each method that the profile has.
fn savings(profile: &PowerProfile, asked: Option<Saving>) -> Result<Vec<Saving>, InputError> {
    let is_known = |saving: &Saving| match saving {
        Saving::AlwaysOn => true,
        Saving::LowPowerIdle => profile.low_power_idle.is_some(),
        Saving::LinkSleep => profile.link_sleep.is_some(),
        Saving::RateAdaptation => profile.rate_adaptation.is_some(),
    };
    let known: Vec<Saving> = Saving::ALL.into_iter().filter(is_known).collect();
    match asked {
        None => Ok(known),
        Some(saving) if is_known(&saving) => Ok(vec![saving]),
        Some(saving) => {
            let names: Vec<&str> = known.into_iter().map(Saving::name).collect();
            let mistake = format!("power profile {} has no figures for {}", profile.name, saving.name());
            Err(InputError::new(SAVING, mistake, names.join(" or ")))
        }
    }
}

impl WattsAt {
    fn of(
        profile: &PowerProfile,
        topology: &Topology,
        tables: Option<&Tables>,
        load: &ChannelLoads,
        saving: Saving,
    ) -> Result<(WattsAt, Draw), InputError> {
        let draw = profile.draw_under(topology, tables, &load.under(saving))?;
        let at = WattsAt {
            load: load.mean(),
            is_measured: true,
            saving: saving.name(),
            fabric: Watts::of(draw.total(), 1.0),
            links_asleep: draw.links_asleep,
            wake_us: draw.wake.as_ns_f64() / 1e3,
        };
        Ok((at, draw))
    }
}
