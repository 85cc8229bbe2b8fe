//! Reads the power of one fabric, switch by switch.

use std::collections::BTreeMap;

use etherweave_primitives::{BitRate, ChannelId, InputError, Power, SwitchId};
use etherweave_topology::{LinkClass, Topology};

use crate::{
    Activity, Components, Draw, KindDraw, PortKind, PowerProfile, SwitchKind, TableEnergy, Tables, awake::Awake,
    cited::Ledger, inventory::switches, traffic::SwitchTraffic,
};

/// One reading; the ledger notes the figures that it takes.
pub(crate) struct Meter<'a> {
    profile: &'a PowerProfile,
    topology: &'a Topology,
    tables: Option<&'a Tables>,
    activity: Option<&'a Activity>,
    /// The profile's figures for these tables, where it has them apart.
    table: Option<&'a TableEnergy>,
    awake: Awake<'a>,
    ledger: Ledger,
    notes: Vec<String>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(
        profile: &'a PowerProfile,
        topology: &'a Topology,
        tables: Option<&'a Tables>,
        activity: Option<&'a Activity>,
    ) -> Result<Meter<'a>, InputError> {
        let mut ledger = Ledger::default();
        let awake = Awake::new(profile, topology, activity, &mut ledger)?;
        let notes = Vec::new();
        let mut meter = Meter { profile, topology, tables, activity, table: None, awake, ledger, notes };
        meter.set_tables()?;
        meter.note_packets();
        Ok(meter)
    }

    fn set_tables(&mut self) -> Result<(), InputError> {
        let (Some(tables), profile) = (self.tables, self.profile) else { return Ok(()) };
        tables.entries.check(self.topology.switches())?;
        if profile.table.is_empty() {
            self.notes
                .push("tables are not counted separately: the profile has them in the switch's figure".to_owned());
            return Ok(());
        }
        let key = format!("table.{}", tables.kind);
        let known = profile.table.keys().map(|kind| format!("table.{kind}"));
        let table = profile.table.get(&tables.kind).ok_or_else(|| profile.missing(&key, known.collect()))?;
        if profile.packet.is_none() {
            return Err(profile.missing("packet, which says how often tables are searched", Vec::new()));
        }
        self.ledger.take(&format!("{key}.bits"), &table.bits);
        self.ledger.take(&format!("{key}.energy_per_bit"), &table.energy_per_bit);
        self.table = Some(table);
        Ok(())
    }

    fn note_packets(&mut self) {
        match &self.profile.packet {
            None => self
                .notes
                .push("buffers are not counted separately: the profile has them in the switch's figure".into()),
            Some(packet) => {
                self.ledger.take("packet.read", &packet.read);
                self.ledger.take("packet.written", &packet.written);
            }
        }
    }

    pub(crate) fn read(mut self) -> Result<Draw, InputError> {
        let mut kinds: BTreeMap<SwitchKind, KindDraw> = BTreeMap::new();
        for switch in switches(self.topology) {
            let kind = SwitchKind::of(self.topology, switch);
            self.check_size(&kind, switch)?;
            let entries = self.tables.map_or(0, |tables| tables.entries.of(switch));
            let components = self.switch(&kind, switch, entries)?;
            let name = self.topology.switch_name(switch);
            kinds.entry(kind.clone()).or_insert_with(|| KindDraw::none(kind, name)).add(entries, components);
        }
        Ok(Draw {
            kinds: kinds.into_values().collect(),
            hosts: self.hosts()?,
            links_asleep: self.awake.links_asleep(),
            wake: self.awake.wake(),
            notes: self.notes,
            figures: self.ledger.into_list(),
        })
    }

    fn check_size(&self, kind: &SwitchKind, switch: SwitchId) -> Result<(), InputError> {
        match self.profile.switch.ports {
            Some(ports) if kind.ports_used() > ports => {
                let mistake = format!("{ports}, and {} uses {}", self.topology.switch_name(switch), kind.ports_used());
                Err(InputError::new("switch.ports", mistake, "a profile of switches that are large enough"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn switch(&mut self, kind: &SwitchKind, switch: SwitchId, entries: u64) -> Result<Components, InputError> {
        let (ports, modules) = self.ports(kind, switch)?;
        let packet = self.profile.packet.as_ref();
        let traffic = packet.map(|packet| SwitchTraffic::of(self.topology, self.activity, packet, switch));
        let traffic = traffic.unwrap_or_default();
        Ok(Components {
            fixed: self.ledger.take("switch.fixed", &self.profile.switch.fixed),
            ports,
            modules,
            buffers: traffic.buffers,
            tables: self.table.map_or(Power::ZERO, |table| table.searched(entries, traffic.searches_per_second)),
            nics: Power::ZERO,
        })
    }

    /// Ports and modules of a switch; each kind at the mean share of its links.
    fn ports(&mut self, kind: &SwitchKind, switch: SwitchId) -> Result<(Power, Power), InputError> {
        let shares = self.awake.shares(switch);
        let (mut ports, mut modules) = (Power::ZERO, Power::ZERO);
        for (kind, &count) in &kind.ports {
            let share = shares.get(kind).copied().unwrap_or_default();
            let port = self.profile.look_up("port", &self.profile.port, kind, &mut self.ledger)?;
            ports += port.times(u64::from(count)).share(share.port);
            modules += self.module(kind)?.times(u64::from(count)).share(share.module);
        }
        Ok((ports, modules))
    }

    fn module(&mut self, kind: &PortKind) -> Result<Power, InputError> {
        if self.profile.module.is_empty() {
            return Ok(Power::ZERO);
        }
        self.profile.look_up("module", &self.profile.module, kind, &mut self.ledger)
    }

    /// Cards and their modules; asleep with their link, as its other end.
    fn hosts(&mut self) -> Result<Components, InputError> {
        if self.profile.nic.is_empty() {
            self.notes.push("NICs are not counted: the profile has none".to_owned());
        }
        let mut all = Components::default();
        for (number, link) in self.topology.channels().iter().enumerate().step_by(2) {
            if link.class == LinkClass::Host {
                let share = self.awake.share(ChannelId::from_index(number)).module;
                all.modules += self.module(&PortKind { rate: link.rate, medium: link.medium })?.share(share);
                all.nics += self.nic(link.rate)?;
            }
        }
        Ok(all)
    }

    fn nic(&mut self, rate: BitRate) -> Result<Power, InputError> {
        if self.profile.nic.is_empty() {
            return Ok(Power::ZERO);
        }
        self.profile.look_up("nic", &self.profile.nic, &rate, &mut self.ledger)
    }
}
