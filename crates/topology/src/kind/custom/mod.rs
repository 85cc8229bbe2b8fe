//! A fabric listed link by link: as an edge list, as GraphML, or as JSON.
//!
//! All three are texts within the scenario. Each is read into a [`ListedGraph`], which becomes the topology.

mod edge_list;
mod graph;
mod graphml;
mod json;
mod link_text;
mod switch_places;

use etherweave_primitives::{BitRate, InputError, InputErrors, params};

use crate::{AsBuilt, Cable, Family, FamilyFit, Shape, SizeRequest, Topology};
use graph::ListedGraph;
use link_text::LinkDefaults;

params! {
    /// Any fabric, as one of three texts.
    ///
    /// An edge list is CSV with one link per line and hosts `h0`, `h1`, … and switches `s0`, `s1`, … without gaps:
    ///
    /// ```text
    /// from,to,rate,length
    /// h0,s0,100Gb/s,3m
    /// h1,s1,100Gb/s,3m
    /// s0,s1,400Gb/s,20m    # repeated lines are parallel links
    /// ```
    ///
    /// Without a header line, columns are `from`, `to`, `rate`, `length` and `medium` (copper or optical), of which the
    /// first two are required. A header line names columns in any order and case, also `class` (local or global) and
    /// `to_rate` (the port speed at the other end, which must be the same). What is absent or empty has its default:
    /// `rate` and `cable` of this table. Empty lines and comments after `#` are skipped.
    ///
    /// GraphML and JSON (the node-link form of NetworkX: `{"nodes": [{"id": …}], "links": [{"source": …, "target":
    /// …}]}`) name nodes freely and give the `kind` (host or switch, the default) of each. An edge has `rate`,
    /// `length`, `medium`, `class`, `to_rate` as above and `links`, the number of parallel links; listing a pair twice
    /// is a mistake unless different ports are named (`sourceport` and `targetport`). In JSON a switch may have
    /// `datapath`, its datapath id in OpenFlow in hexadecimal digits; rules are then written for the numbers that
    /// `sourceport` and `targetport` are.
    ///
    /// The level of a switch is its distance from the nearest switch with a host, unless GraphML gives a `level` for
    /// every switch. There, keys called `axis:NAME` are coordinates, most significant first, which every switch has and
    /// no two share; the graph may have data called `radix` and `breakout`, as in `as_built`, which overrides them.
    pub struct Custom {
        /// Hosts; all of `h0..` must occur. Default 0: as many as occur.
        pub hosts: u32 = 0,
        /// The fabric as an edge list. Default empty.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub links: String = String::new(),
        /// The fabric as GraphML. Default empty.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub graphml: String = String::new(),
        /// The fabric as JSON. Default empty.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub json: String = String::new(),
        /// Rate of links without one [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Cable of links without one. Default "3m".
        pub cable: Cable = Cable::from_m(3),
        /// Departures from what is listed.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

impl Custom {
    fn graph(&self) -> Result<ListedGraph, InputError> {
        let sources = [("links", &self.links), ("graphml", &self.graphml), ("json", &self.json)];
        let mut sources = sources.into_iter().filter(|(_, text)| !text.trim().is_empty());
        let (first, second) = (sources.next(), sources.next());
        if let (Some((first, _)), Some((second, _))) = (first, second) {
            return Err(InputError::new(second, format!("given beside {first}"), "only one of them"));
        }
        let defaults = LinkDefaults { rate: self.rate, cable: self.cable };
        match first {
            Some(("links", text)) => edge_list::read(text, self.hosts, &defaults),
            Some(("graphml", text)) => graphml::read(text, &defaults),
            Some((_, text)) => json::read(text, &defaults),
            None => {
                let expected = "an edge list with one link per line: from,to,rate,length; or graphml or json instead";
                Err(InputError::new("links", "empty", expected))
            }
        }
    }
}

impl Custom {
    /// The mistake of a list without a host.
    fn no_host(&self) -> InputError {
        let expected = "kind = host at each node that is a host: a node without a kind is a switch; \
                        `etherweave import` reads graphs without kinds";
        match (self.graphml.trim().is_empty(), self.json.trim().is_empty()) {
            (false, _) => InputError::new("graphml", "no node has kind host", expected),
            (true, false) => InputError::new("json", "no node has kind host", expected),
            (true, true) => InputError::new("links", "no link of a host", "links such as h0,s0"),
        }
    }
}

impl Family for Custom {
    fn generate(&self) -> Result<Topology, InputErrors> {
        let graph = self.graph()?;
        let listed = graph.hosts;
        if ![0, listed].contains(&self.hosts) && listed != 0 {
            let expected = format!("{listed}, as many as are listed, or 0");
            return Err(InputError::new("hosts", self.hosts, expected).into());
        }
        let builder = graph.builder()?;
        if listed == 0 {
            return Err(self.no_host().into());
        }
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        let star = "h0,s0,100Gb/s,3m\nh1,s0,100Gb/s,3m\n".to_owned();
        let ring: String =
            (0..4).map(|i| format!("h{i},s{i},25Gb/s,3m\ns{i},s{},100Gb/s,20m\n", (i + 1) % 4)).collect();
        let ring = format!("{}\n{ring}", edge_list::HEADER);
        vec![
            Custom { hosts: 2, links: star, ..Custom::default() },
            Custom { hosts: 4, links: ring, ..Custom::default() },
            Custom { graphml: graphml::EXAMPLE.to_owned(), ..Custom::default() },
            Custom { json: json::EXAMPLE.to_owned(), ..Custom::default() },
        ]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Graph { is_listed: true }
    }

    /// Returns the hosts as given: those of a list are counted when it is read.
    fn hosts_planned(&self) -> u64 {
        self.hosts.into()
    }

    /// A listed fabric has no other members.
    fn fit(_: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        Err(InputError::new("custom", "a list", "a family with parameters"))
    }
}
