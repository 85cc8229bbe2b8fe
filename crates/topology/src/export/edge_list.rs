//! The edge list that [`Custom`](crate::Custom) reads: one link per line, in the order of links, so that ports come
//! back as they are. Hosts are `h0`, `h1`, …, switches `s0`, `s1`, …; names, levels and places are lost.

use etherweave_primitives::InputError;
use std::fmt::Write;

use super::{ExportFile, ExportNames};
use crate::{Node, Topology};

/// Longer than most lines.
const LINE: usize = 48;

pub(super) fn files(topology: &Topology, _: &ExportNames) -> Result<Vec<ExportFile>, InputError> {
    let mut text = String::with_capacity(LINE * (1 + topology.channels.len() / 2));
    text.push_str("from,to,rate,length,medium,class\n");
    for link in topology.links() {
        let [(from, a), (to, b)] = [link.from.node, link.to.node].map(numbered);
        let (rate, length, medium, class) = (link.rate, link.length, link.medium.name(), link.class.name());
        writeln!(text, "{from}{a},{to}{b},{rate},{length},{medium},{class}").expect("a string takes any text");
    }
    Ok(vec![ExportFile::new("-edges.csv", text)])
}

fn numbered(node: Node) -> (char, u32) {
    match node {
        Node::Host(host) => ('h', host.get()),
        Node::Switch(switch) => ('s', switch.get()),
    }
}
