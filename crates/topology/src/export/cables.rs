//! The cable plan: what a technician needs to pull, label and plug every cable, as CSV (RFC 4180).
//!
//! Cables of one bundle stand together: those of hosts by switch and port, then local and global ones. Ports are those
//! of the [`Topology`]; hosts on a breakout cable have a port each there, and share one on the front panel.

use etherweave_primitives::InputError;
use std::fmt::Write;

use super::order::{Metres, Pulled, label, pulled};
use super::{ExportFile, ExportNames, text::Csv};
use crate::Topology;

/// Longer than most lines.
const LINE: usize = 112;

const HEADER: &str = "cable,label,bundle,from_node,from_port,to_node,to_port,class,rate,length_m,medium,\
    breakout_cable,breakout_leg\n";

pub(super) fn files(topology: &Topology, names: &ExportNames) -> Result<Vec<ExportFile>, InputError> {
    let mut text = String::with_capacity(LINE * (1 + topology.channels.len() / 2));
    text.push_str(HEADER);
    for cable in pulled(topology) {
        line(topology, &label(names, &cable), &cable, &mut text).expect("a string takes any text");
    }
    Ok(vec![ExportFile::new("-cables.csv", text)])
}

fn line(topology: &Topology, label: &str, cable: &Pulled<'_>, text: &mut String) -> std::fmt::Result {
    let (number, link) = (cable.number, cable.link);
    write!(text, "{number},{},{}", Csv(label), cable.bundle)?;
    for end in cable.ends {
        write!(text, ",{},{}", Csv(topology.name(end.node)), end.port.get())?;
    }
    let (class, length, medium) = (link.class.name(), Metres(link.length.as_mm()), link.medium.name());
    write!(text, ",{class},{},{length},{medium}", link.rate)?;
    match cable.breakout {
        Some((breakout, leg)) => writeln!(text, ",{breakout},{leg}"),
        None => writeln!(text, ",,"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AsBuilt, Custom, Family, FatTree, SingleSwitch};

    fn lines(topology: &Topology) -> Vec<String> {
        let files = files(topology, &ExportNames::default()).unwrap();
        files[0].text.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn hosts_share_a_breakout_cable_in_the_order_of_ports() {
        let as_built = AsBuilt { breakout: 2, ..AsBuilt::default() };
        let topology = SingleSwitch { hosts: 3, as_built, ..SingleSwitch::default() }.generate().unwrap();
        let breakouts = lines(&topology).into_iter().map(|line| line.rsplitn(3, ',').take(2).collect::<String>());
        // Leg, then cable: two hosts on the first, the third host on the second.
        assert_eq!(breakouts.collect::<Vec<_>>(), ["11", "21", "12"]);
    }

    #[test]
    fn a_bundle_of_parallel_cables_stands_together() {
        let plan = FatTree { leaves: 2, hosts_per_leaf: 1, cores: 2, links_per_core: 2, ..FatTree::default() };
        let between = lines(&plan.generate().unwrap()).split_off(2);
        let bundles: Vec<&str> = between.iter().map(|line| line.split(',').nth(2).unwrap()).collect();
        assert_eq!(bundles, ["3", "3", "4", "4", "5", "5", "6", "6"]);
        assert!(between[1].starts_with("4,C0000004,3,leaf0,2,core0,1,local,"), "{}", between[1]);
    }

    #[test]
    fn labels_are_quoted_as_a_whole() {
        let names = ExportNames { cable: "row 1, ".to_owned(), ..ExportNames::default() };
        let pair = SingleSwitch { hosts: 2, ..SingleSwitch::default() }.generate().unwrap();
        let text = files(&pair, &names).unwrap().remove(0).text;
        assert!(text.contains("\n2,\"row 1, 0000002\",2,host1,"), "{text}");
    }

    #[test]
    fn names_with_commas_and_lengths_with_fractions_are_written_out() {
        let links = r#"{"nodes": [{"id": "a,b", "kind": "host"}, {"id": "s"}],
            "links": [{"source": "s", "target": "a,b", "length": "1.5m", "rate": "25Gb/s"}]}"#;
        let topology = Custom { json: links.to_owned(), ..Custom::default() }.generate().unwrap();
        assert_eq!(lines(&topology), ["1,C0000001,1,\"a,b\",0,s,0,host,25Gb/s,1.5,copper,,"]);
    }
}
