//! A fabric listed link by link.

use std::collections::{BTreeSet, VecDeque};

use etherweave_primitives::{BitRate, HostId, Length, SwitchId};

use crate::{Builder, Family, LinkClass, Node, Topology, TopologyError};

const HEADER: &str = "from,to,rate,length";

/// Any fabric, as an edge list.
///
/// One link per line, `from,to,rate,length`, with hosts `h0`, `h1`, … and switches `s0`, `s1`, … without gaps:
///
/// ```text
/// from,to,rate,length
/// h0,s0,100Gb/s,3m
/// h1,s1,100Gb/s,3m
/// s0,s1,400Gb/s,20m    # repeated lines are parallel links
/// ```
///
/// The header line is optional, empty lines and what follows `#` are skipped. The level of a switch is its distance
/// from the nearest switch with a host.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Custom {
    /// Hosts, at least 1; all of `h0..` must occur in `links`. Default 0, which must be replaced.
    pub hosts: u32,
    /// The edge list. Default empty, which must be replaced.
    pub links: String,
}

impl Family for Custom {
    fn generate(&self) -> Result<Topology, TopologyError> {
        let edges = parse(&self.links, self.hosts)?;
        // Before anything is allocated by a number that a stranger wrote.
        check_hosts(&edges, self.hosts)?;
        let switches = count_switches(&edges)?;
        let mut builder = Builder::new();
        builder.add_hosts(self.hosts);
        for (switch, level) in levels(&edges, switches).into_iter().enumerate() {
            builder.add_switch(format!("s{switch}"), level);
        }
        for edge in &edges {
            builder.link(edge.from, edge.to, edge.rate, edge.length, edge.class());
        }
        builder.build()
    }

    fn examples() -> Vec<Self> {
        let star = "h0,s0,100Gb/s,3m\nh1,s0,100Gb/s,3m\n".to_owned();
        let ring: String =
            (0..4).map(|i| format!("h{i},s{i},25Gb/s,3m\ns{i},s{},100Gb/s,20m\n", (i + 1) % 4)).collect();
        vec![Custom { hosts: 2, links: star }, Custom { hosts: 4, links: format!("{HEADER}\n{ring}") }]
    }
}

struct Edge {
    from: Node,
    to: Node,
    rate: BitRate,
    length: Length,
}

impl Edge {
    fn class(&self) -> LinkClass {
        match (self.from, self.to) {
            (Node::Switch(_), Node::Switch(_)) => LinkClass::Local,
            (Node::Host(_), _) | (_, Node::Host(_)) => LinkClass::Host,
        }
    }
}

fn parse(text: &str, hosts: u32) -> Result<Vec<Edge>, TopologyError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("").trim()));
    let filled = lines.filter(|(_, line)| !line.is_empty());
    let edges = filled.enumerate().filter(|(place, (_, line))| *place > 0 || *line != HEADER);
    edges.map(|(_, (number, line))| parse_edge(number, line, hosts)).collect()
}

fn parse_edge(line: usize, text: &str, hosts: u32) -> Result<Edge, TopologyError> {
    let fail = |found: String, expected: &str| TopologyError::Line { line, found, expected: expected.to_owned() };
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let &[from, to, rate, length] = fields.as_slice() else {
        return Err(fail(format!("{} fields", fields.len()), "four: from,to,rate,length"));
    };
    let node = |field: &str| match parse_node(field) {
        Some(Node::Host(host)) if host.get() >= hosts => {
            Err(fail(format!("there is no host \"{field}\""), &format!("h0 to h{}", i64::from(hosts) - 1)))
        }
        Some(node) => Ok(node),
        None => Err(fail(format!("\"{field}\" is not a node"), "a host such as h0 or a switch such as s3")),
    };
    Ok(Edge {
        from: node(from)?,
        to: node(to)?,
        rate: rate.parse().map_err(|error| fail(format!("{error}"), "a rate such as 100Gb/s"))?,
        length: length.parse().map_err(|error| fail(format!("{error}"), "a length such as 3m"))?,
    })
}

fn parse_node(field: &str) -> Option<Node> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<u32>().ok())?
    };
    if let Some(digits) = field.strip_prefix('h') {
        number(digits).map(|id| Node::Host(HostId::new(id)))
    } else {
        let digits = field.strip_prefix('s')?;
        number(digits).map(|id| Node::Switch(SwitchId::new(id)))
    }
}

fn check_hosts(edges: &[Edge], hosts: u32) -> Result<(), TopologyError> {
    if edges.is_empty() {
        let expected = "an edge list with one link per line: from,to,rate,length";
        return Err(TopologyError::Parameter { name: "links", found: "empty".to_owned(), expected });
    }
    if hosts as usize > 2 * edges.len() {
        let expected = "no more hosts than the edge list joins";
        return Err(TopologyError::Parameter { name: "hosts", found: hosts.to_string(), expected });
    }
    Ok(())
}

/// How many switches there are, when all from `s0` on occur.
fn count_switches(edges: &[Edge]) -> Result<usize, TopologyError> {
    let mut numbers = BTreeSet::new();
    for edge in edges {
        for node in [edge.from, edge.to] {
            if let Node::Switch(switch) = node {
                numbers.insert(switch.index());
            }
        }
    }
    match numbers.iter().enumerate().find(|&(place, &number)| place != number) {
        None => Ok(numbers.len()),
        Some((missing, last)) => {
            let found = format!("naming s{last} but not s{missing}");
            Err(TopologyError::Parameter { name: "links", found, expected: "switches numbered without gaps from s0" })
        }
    }
}

/// Distance of every switch from the nearest switch with a host, at most 255.
fn levels(edges: &[Edge], switches: usize) -> Vec<u8> {
    let mut levels = vec![None; switches];
    let mut neighbours = vec![Vec::new(); switches];
    let mut frontier = VecDeque::new();
    for edge in edges {
        match (edge.from, edge.to) {
            (Node::Switch(a), Node::Switch(b)) => {
                neighbours[a.index()].push(b.index());
                neighbours[b.index()].push(a.index());
            }
            (Node::Switch(switch), Node::Host(_)) | (Node::Host(_), Node::Switch(switch)) => {
                levels[switch.index()] = Some(0);
                frontier.push_back((switch.index(), 0));
            }
            (Node::Host(_), Node::Host(_)) => {}
        }
    }
    while let Some((at, level)) = frontier.pop_front() {
        for &next in &neighbours[at] {
            if levels[next].is_none() {
                let above = u8::saturating_add(level, 1);
                levels[next] = Some(above);
                frontier.push_back((next, above));
            }
        }
    }
    // A switch that no host reaches makes the build fail, whatever its level.
    levels.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_of_a_switch_is_its_distance_from_the_nearest_switch_with_a_host() {
        let links = "h0,s0,1Gb/s,3m\nh1,s4,1Gb/s,3m\ns0,s1,1Gb/s,3m\ns1,s2,1Gb/s,3m\ns2,s3,1Gb/s,3m\ns3,s4,1Gb/s,3m";
        let topology = Custom { hosts: 2, links: links.to_owned() }.generate().unwrap();
        let levels: Vec<u8> = (0..5).map(|switch| topology.level(SwitchId::new(switch))).collect();
        assert_eq!(levels, [0, 1, 2, 1, 0]);
    }

    #[test]
    fn a_long_chain_of_doubled_links_is_read_in_linear_time() {
        // Following every way instead of every switch would take 2^300 steps.
        let links: String = (0..300).map(|i| format!("s{i},s{},1Gb/s,3m\n", i + 1).repeat(2)).collect();
        let topology = Custom { hosts: 1, links: format!("h0,s0,1Gb/s,3m\n{links}") }.generate().unwrap();
        assert_eq!(topology.level(SwitchId::new(254)), 254);
        assert_eq!(topology.level(SwitchId::new(300)), 255);
    }
}
