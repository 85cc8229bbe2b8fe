//! CSV for NetBox's bulk import: devices, then interfaces, then cables, in this order.
//!
//! Columns as in NetBox 4 (netbox-community/netbox, `netbox/dcim/forms/bulk_import.py`: `DeviceImportForm`,
//! `InterfaceImportForm`, `CableImportForm`; choices in `netbox/dcim/choices.py`). The site, the racks, the
//! manufacturer, the roles and the device types must be there before. Each leg of a breakout cable becomes a cable of
//! its own between two interfaces, since the import makes a cable per line.

use std::fmt::{Display, Write};

use etherweave_primitives::{BitRate, HostId, InputError, SwitchId};

use super::order::{Metres, Pulled, label, pulled};
use super::text::{self, Csv, check_names};
use super::{ExportFile, ExportNames};
use crate::{ChannelEnd, LinkClass, Medium, Node, Topology};

/// Longer than most lines of each file.
const DEVICE: usize = 64;
const INTERFACE: usize = 64;
const CABLE: usize = 128;
/// Most characters of a `Device.name`.
const NAME_MAX: usize = 64;

pub(super) fn files(topology: &Topology, names: &ExportNames) -> Result<Vec<ExportFile>, InputError> {
    topology.single_homed("the export for NetBox")?;
    check_names(text::names(topology), "NetBox", "at most 64 characters", |name| name.chars().count() > NAME_MAX)?;
    let fine = topology.links().map(|link| link.rate).find(|rate| !rate.as_bps().is_multiple_of(1000));
    let mistake = fine.map_or(String::new(), |rate| format!("a link of {rate}"));
    InputError::unless(fine.is_none(), "", mistake, "whole kb/s, as NetBox has them")?;
    let cables: Vec<Pulled<'_>> = pulled(topology).collect();
    Ok(vec![
        ExportFile::new("-netbox-devices.csv", devices(topology, names)),
        ExportFile::new("-netbox-interfaces.csv", interfaces(topology, names, &cables)),
        ExportFile::new("-netbox-cables.csv", lines(topology, names, &cables)),
    ])
}

fn devices(topology: &Topology, names: &ExportNames) -> String {
    let mut text = String::with_capacity(DEVICE * (1 + topology.hosts() + topology.switches()));
    text.push_str("name,role,manufacturer,device_type,site,rack,status\n");
    let mut has_hosts = vec![false; topology.switches()];
    for host in (0..topology.hosts()).map(HostId::from_index) {
        let switch = topology.switch_of(host);
        has_hosts[switch.index()] = true;
        device(names, &names.host, topology.host_name(host), Some(topology.switch_name(switch)), &mut text);
    }
    for (switch, has_hosts) in has_hosts.into_iter().enumerate() {
        let name = topology.switch_name(SwitchId::from_index(switch));
        device(names, &names.switch, name, has_hosts.then_some(name), &mut text);
    }
    text
}

fn device(names: &ExportNames, role: &str, name: &str, rack: Option<&str>, text: &mut String) {
    let rack = rack.filter(|_| !names.rack.is_empty()).map(|switch| format!("{}{switch}", names.rack));
    let rack = rack.unwrap_or_default();
    let (name, role, rack) = (Csv(name), Csv(role), Csv(&rack));
    let (manufacturer, site) = (Csv(&names.manufacturer), Csv(&names.site));
    writeln!(text, "{name},{role},{manufacturer},{role},{site},{rack},planned").expect("a string takes any text");
}

fn interfaces(topology: &Topology, names: &ExportNames, cables: &[Pulled<'_>]) -> String {
    let mut text = String::with_capacity(INTERFACE * (1 + topology.channels.len()));
    text.push_str("device,name,type,speed,description\n");
    for cable in cables {
        let (form, kilobits) = (interface_type(cable.link.rate), cable.link.rate.as_bps() / 1000);
        for end in cable.ends {
            let (device, name) = (Csv(topology.name(end.node)), interface(names, end));
            let name = Csv(&name);
            write!(text, "{device},{name},{form},{kilobits},").expect("a string takes any text");
            if let (Some((breakout, leg)), Node::Switch(_)) = (cable.breakout, end.node) {
                write!(text, "leg {leg} of breakout cable {breakout}").expect("a string takes any text");
            }
            text.push('\n');
        }
    }
    text
}

fn lines(topology: &Topology, names: &ExportNames, cables: &[Pulled<'_>]) -> String {
    let mut text = String::with_capacity(CABLE * (1 + cables.len()));
    text.push_str("side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,");
    text.push_str("type,status,label,length,length_unit,description\n");
    for cable in cables {
        for end in cable.ends {
            let (device, name) = (Csv(topology.name(end.node)), interface(names, end));
            write!(text, "{device},dcim.interface,{},", Csv(&name)).expect("a string takes any text");
        }
        let form = match cable.link.medium {
            Medium::Copper => Csv(&names.copper),
            Medium::Optical => Csv(&names.optical),
        };
        let (label, (length, unit)) = (label(names, cable), length(cable));
        let description = class(cable.link.class);
        writeln!(text, "{form},planned,{},{length},{unit},{description}", Csv(&label))
            .expect("a string takes any text");
    }
    text
}

/// The class of a cable in words, which an import of Etherweave reads; none of a local cable, which is usual.
fn class(class: LinkClass) -> &'static str {
    match class {
        LinkClass::Global => "global cable",
        LinkClass::Host | LinkClass::Local => "",
    }
}

/// A length of at most six digits and two decimals, as NetBox stores it; what is finer is rounded up.
fn length(cable: &Pulled<'_>) -> (impl Display, &'static str) {
    let mm = cable.link.length.as_mm();
    if mm < 100_000_000 { (Metres(mm.next_multiple_of(10)), "m") } else { (Metres(mm.div_ceil(10_000) * 10), "km") }
}

fn interface(names: &ExportNames, end: ChannelEnd) -> String {
    match end.node {
        Node::Host(_) => names.host_interface.clone(),
        Node::Switch(_) => format!("{}{}", names.switch_interface, end.port.get()),
    }
}

/// The usual pluggable form of a rate (`InterfaceTypeChoices`); a topology does not know transceivers.
fn interface_type(rate: BitRate) -> &'static str {
    const FORMS: [(u64, &str); 10] = [
        (1, "1000base-t"),
        (10, "10gbase-x-sfpp"),
        (25, "25gbase-x-sfp28"),
        (40, "40gbase-x-qsfpp"),
        (50, "50gbase-x-sfp56"),
        (100, "100gbase-x-qsfp28"),
        (200, "200gbase-x-qsfp56"),
        (400, "400gbase-x-qsfpdd"),
        (800, "800gbase-x-qsfpdd"),
        (1_600, "1.6tbase-x-osfp1600"),
    ];
    FORMS.iter().find(|(gigabits, _)| rate == BitRate::from_gbps(*gigabits)).map_or("other", |(_, form)| form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cable, Family, SingleSwitch};

    fn texts(cable: &str, names: &ExportNames) -> Vec<String> {
        let cable: Cable = cable.parse().unwrap();
        let plan = SingleSwitch { hosts: 1, cable, ..SingleSwitch::default() };
        files(&plan.generate().unwrap(), names).unwrap().into_iter().map(|file| file.text).collect()
    }

    #[test]
    fn a_host_on_a_switch_is_two_devices_two_interfaces_and_a_cable() {
        let texts = texts("3m", &ExportNames { rack: "rack-".to_owned(), ..ExportNames::default() });
        let rows = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let device = |name: &str, kind: &str| format!("{name},{kind},Generic,{kind},Site,rack-switch0,planned");
        assert_eq!(rows(&texts[0]), [device("host0", "Host"), device("switch0", "Switch")]);
        let ports = ["host0,eth0,100gbase-x-qsfp28,100000000,", "switch0,port0,100gbase-x-qsfp28,100000000,"];
        assert_eq!(rows(&texts[1]), ports);
        let ends = "host0,dcim.interface,eth0,switch0,dcim.interface,port0";
        assert_eq!(rows(&texts[2]), [format!("{ends},dac-passive,planned,C0000001,3,m,")]);
    }

    #[test]
    fn lengths_fit_the_field_of_six_digits_and_two_decimals() {
        let written = |cable: &str| {
            let text = texts(cable, &ExportNames::default()).pop().unwrap();
            text.trim_end().rsplitn(4, ',').skip(1).take(2).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(written("1001mm"), ["m", "1.01"]);
        assert_eq!(written("99999m"), ["m", "99999"]);
        assert_eq!(written("1000km"), ["km", "1000"]);
    }

    #[test]
    fn names_longer_than_the_field_are_refused() {
        let mut builder = crate::Builder::new();
        let switch = builder.add_switch("s".repeat(65), 0);
        let host = builder.add_host("h");
        builder.link(host, switch, BitRate::from_gbps(100), Cable::from_m(3), crate::LinkClass::Host);
        let error = files(&builder.build().unwrap(), &ExportNames::default()).unwrap_err().to_string();
        assert!(
            error.starts_with("NetBox cannot express the name \"sss") && error.ends_with("64 characters"),
            "{error}"
        );
    }
}
