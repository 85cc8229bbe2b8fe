//! GraphML (Brandes et al. 2001; graphml.graphdrawing.org/primer): everything that a [`Topology`] has.
//!
//! Edges stand in the order of links, so that ports come back as they are. `axis:NAME` are the coordinates of a
//! switch, most significant first. A name with a blank is no NMTOKEN, as the schema wants identifiers to be; all
//! readers known to us take it.

use std::fmt::Write;

use etherweave_primitives::{InputError, SwitchId};

use super::text::{Xml, check_names, is_no_xml, names};
use super::{ExportFile, ExportNames};
use crate::{Channel, Topology};

/// Longer than most nodes and edges.
const NODE: usize = 160;
const EDGE: usize = 288;

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k" for="node" attr.name="kind" attr.type="string"/>
<key id="v" for="node" attr.name="level" attr.type="int"/>
<key id="r" for="edge" attr.name="rate" attr.type="string"/>
<key id="l" for="edge" attr.name="length" attr.type="string"/>
<key id="m" for="edge" attr.name="medium" attr.type="string"/>
<key id="c" for="edge" attr.name="class" attr.type="string"/>
<key id="p" for="graph" attr.name="radix" attr.type="int"/>
<key id="b" for="graph" attr.name="breakout" attr.type="int"/>
"#;

pub(super) fn files(topology: &Topology, called: &ExportNames) -> Result<Vec<ExportFile>, InputError> {
    let written = names(topology).chain(&topology.axes).chain([&called.fabric]);
    check_names(written, "GraphML", "a name without control characters", |name| name.contains(is_no_xml))?;
    let nodes = topology.hosts() + topology.switches();
    let mut text = String::with_capacity(HEAD.len() + NODE * (8 + nodes) + EDGE * (topology.channels.len() / 2));
    write(topology, called, &mut text).expect("a string takes any text");
    Ok(vec![ExportFile::new(".graphml", text)])
}

fn write(topology: &Topology, called: &ExportNames, text: &mut String) -> std::fmt::Result {
    text.push_str(HEAD);
    for (number, axis) in topology.axes.iter().enumerate() {
        let name = Xml(axis);
        writeln!(text, "<key id=\"x{number}\" for=\"node\" attr.name=\"axis:{name}\" attr.type=\"int\"/>")?;
    }
    writeln!(text, "<graph id=\"{}\" edgedefault=\"undirected\">", Xml(&called.fabric))?;
    if let Some(radix) = topology.radix {
        writeln!(text, "<data key=\"p\">{radix}</data>")?;
    }
    writeln!(text, "<data key=\"b\">{}</data>", topology.breakout)?;
    for name in topology.host_names.iter() {
        writeln!(text, "<node id=\"{}\"><data key=\"k\">host</data></node>", Xml(name))?;
    }
    (0..topology.switches()).try_for_each(|switch| node(topology, SwitchId::from_index(switch), text))?;
    edges(topology, text)?;
    text.write_str("</graph>\n</graphml>\n")
}

fn node(topology: &Topology, switch: SwitchId, text: &mut String) -> std::fmt::Result {
    let (name, level) = (Xml(topology.switch_name(switch)), topology.level(switch));
    write!(text, "<node id=\"{name}\"><data key=\"k\">switch</data><data key=\"v\">{level}</data>")?;
    for (axis, place) in topology.coordinates(switch).iter().enumerate() {
        write!(text, "<data key=\"x{axis}\">{place}</data>")?;
    }
    text.write_str("</node>\n")
}

fn edges(topology: &Topology, text: &mut String) -> std::fmt::Result {
    // Most links are like the one before, and what they are takes longer to write than where they lead.
    let (mut of, mut what) = (None, String::new());
    for link in topology.links() {
        if of != Some((link.rate, link.length, link.medium, link.class)) {
            of = Some((link.rate, link.length, link.medium, link.class));
            what = kind(link);
        }
        let [from, to] = [link.from, link.to].map(|end| (Xml(topology.name(end.node)), end.port.get()));
        write!(text, "<edge source=\"{}\" target=\"{}\"", from.0, to.0)?;
        writeln!(text, " sourceport=\"{}\" targetport=\"{}\">{what}</edge>", from.1, to.1)?;
    }
    Ok(())
}

fn kind(link: &Channel) -> String {
    let (rate, length, medium, class) = (link.rate, link.length, link.medium.name(), link.class.name());
    let rate = format!("<data key=\"r\">{rate}</data><data key=\"l\">{length}</data>");
    format!("{rate}<data key=\"m\">{medium}</data><data key=\"c\">{class}</data>")
}
