//! JSON in the node-link form that NetworkX writes.

use etherweave_primitives::{InputError, check_file_name};
use std::collections::HashMap;

use super::graph::ListedGraph;
use super::link_text::{LinkAttributes, LinkDefaults, ListedCables, mistake, read_kind};

pub(super) const EXAMPLE: &str = r#"{
  "nodes": [
    {"id": "login", "kind": "host"}, {"id": "n1", "kind": "host"},
    {"id": "a", "kind": "switch"}, {"id": "b", "kind": "switch"}
  ],
  "links": [
    {"source": "login", "target": "a", "rate": "25Gb/s"}, {"source": "n1", "target": "b", "rate": "25Gb/s"},
    {"source": "a", "target": "b", "rate": "100Gb/s", "length": "20m", "medium": "optical", "links": 2}
  ]
}"#;

/// Form that the text should have.
const DOCUMENT: &str = "an object with nodes and links";

/// `nodes` and `links`; what NetworkX adds is read and, but for `directed`, ignored.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonDocument {
    nodes: Vec<NodeEntry>,
    #[serde(alias = "edges")]
    links: Vec<LinkEntry>,
    #[serde(default)]
    directed: bool,
    #[serde(default, rename = "multigraph")]
    _multigraph: serde::de::IgnoredAny,
    #[serde(default, rename = "graph")]
    _graph: serde::de::IgnoredAny,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeEntry {
    id: Name,
    kind: Option<String>,
    /// Its datapath id in OpenFlow, which `etherweave control` reads.
    #[serde(default, rename = "datapath")]
    _datapath: serde::de::IgnoredAny,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    source: Name,
    target: Name,
    rate: Option<String>,
    to_rate: Option<String>,
    length: Option<String>,
    medium: Option<String>,
    class: Option<String>,
    links: Option<u64>,
    sourceport: Option<Name>,
    targetport: Option<Name>,
    /// The number that NetworkX gives to parallel edges.
    #[serde(default, rename = "key")]
    _key: serde::de::IgnoredAny,
}

/// A name; numbers are names too.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Number(i64),
}

impl Name {
    fn text(&self) -> String {
        match self {
            Name::Text(text) => text.clone(),
            Name::Number(number) => number.to_string(),
        }
    }
}

pub(super) fn read(text: &str, defaults: &LinkDefaults) -> Result<ListedGraph, InputError> {
    if text.trim_start().starts_with('[') {
        return Err(InputError::new("json", "a list", DOCUMENT));
    }
    let document: JsonDocument = serde_json::from_str(text).map_err(|error| misread(&error))?;
    if document.directed {
        return Err(InputError::new("json.directed", "true", "false: a cable leads both ways"));
    }
    let mut numbers = HashMap::new();
    let mut nodes = Vec::with_capacity(document.nodes.len());
    for (number, node) in document.nodes.iter().enumerate() {
        let of_element = |error: InputError| error.within(&format!("json.nodes.{number}"));
        let name = node.id.text();
        check_file_name("id", &name).map_err(of_element)?;
        if numbers.insert(name.clone(), number).is_some() {
            return Err(of_element(mistake(format!("there are two nodes \"{name}\""), "different ids".to_owned())));
        }
        nodes.push((name, read_kind(node.kind.as_deref()).map_err(of_element)?));
    }
    let mut cables = ListedCables::default();
    let mut edges = Vec::with_capacity(document.links.len());
    for (number, link) in document.links.iter().enumerate() {
        let of_element = |error: InputError| error.within(&format!("json.links.{number}"));
        let ends = link.ends(&numbers).map_err(of_element)?;
        link.list(&mut cables, ends).map_err(of_element)?;
        edges.push(link.attributes().edge(ends, defaults).map_err(of_element)?);
    }
    Ok(ListedGraph::new(nodes, edges))
}

/// The mistake in a text that is no JSON of this form, with one expectation.
fn misread(error: &serde_json::Error) -> InputError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line").map_or(message.as_str(), |(message, _)| message);
    let (found, expected) = match message.split_once(", expected ") {
        Some((found, "a string")) => (found, "a text in quotes, as \"25Gb/s\" for a rate or \"3m\" for a length"),
        Some((found, expected)) => (found, expected),
        None if message.contains("untagged enum Name") => ("a name that is neither", "a text or a whole number"),
        None => (message, DOCUMENT),
    };
    InputError::new("json", found.trim_start_matches("invalid type: "), expected).at_line(error.line())
}

impl LinkEntry {
    fn ends(&self, numbers: &HashMap<String, usize>) -> Result<[usize; 2], InputError> {
        let end = |name: &Name| {
            let name = name.text();
            let number = numbers.get(&name).copied();
            number.ok_or_else(|| mistake(format!("there is no node \"{name}\""), "the id of a listed node".to_owned()))
        };
        Ok([end(&self.source)?, end(&self.target)?])
    }

    fn list(&self, cables: &mut ListedCables, ends: [usize; 2]) -> Result<(), InputError> {
        let [source_port, target_port] = [&self.sourceport, &self.targetport].map(|port| port.as_ref().map(Name::text));
        let names = [self.source.text(), self.target.text()];
        cables.add(ends, [source_port.as_deref(), target_port.as_deref()], [&names[0], &names[1]])
    }

    fn attributes(&self) -> LinkAttributes<'_> {
        LinkAttributes {
            rate: self.rate.as_deref(),
            to_rate: self.to_rate.as_deref(),
            length: self.length.as_deref(),
            medium: self.medium.as_deref(),
            class: self.class.as_deref(),
            links: self.links,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Custom, Family};

    fn generate(json: &str) -> Result<(usize, usize, usize), String> {
        let topology = Custom { json: json.to_owned(), ..Custom::default() }.generate();
        let topology = topology.map_err(|error| error.to_string())?;
        Ok((topology.hosts(), topology.switches(), topology.channels().len() / 2))
    }

    /// The example with one text for another.
    fn check_error(from: &str, to: &str, expected: &str) {
        assert!(EXAMPLE.contains(from), "{from}");
        assert_eq!(generate(&EXAMPLE.replacen(from, to, 1)).unwrap_err(), expected);
    }

    #[test]
    fn what_networkx_writes_is_read() {
        assert_eq!(generate(EXAMPLE), Ok((2, 2, 4)));
        let networkx = "\"directed\": false, \"multigraph\": false, \"graph\": {}, \"edges\": [";
        assert_eq!(generate(&EXAMPLE.replace("\"links\": [", networkx)), Ok((2, 2, 4)));
        assert_eq!(generate(&EXAMPLE.replace("\"n1\"", "1")), Ok((2, 2, 4)));
        let datapath = "\"kind\": \"switch\", \"datapath\": \"00000000000000a1\"";
        assert_eq!(generate(&EXAMPLE.replace("\"kind\": \"switch\"", datapath)), Ok((2, 2, 4)));
    }

    #[test]
    fn mistakes_name_their_element() {
        check_error(
            "\"target\": \"a\"",
            "\"target\": \"c\"",
            "json.links.0: there is no node \"c\"; expected the id of \
            a listed node",
        );
        check_error(
            "\"n1\", \"kind\"",
            "\"login\", \"kind\"",
            "json.nodes.1: there are two nodes \"login\"; expected \
            different ids",
        );
        check_error(
            "\"kind\": \"switch\"",
            "\"kind\": \"router\"",
            "json.nodes.2: \"router\" is not a kind of node; \
            expected host or switch",
        );
        check_error(
            "\"medium\": \"optical\"",
            "\"to_rate\": \"25Gb/s\"",
            "json.links.2: port speeds 100Gb/s and 25Gb/s \
            differ; expected the same rate at both ends",
        );
        check_error("\"links\": 2", "\"links\": 0", "json.links.2: links is 0; expected 1 to 1024");
        check_error(
            "\"links\": 2}",
            "}, {\"source\": \"b\", \"target\": \"a\"}",
            "json: line 8: trailing comma; expected \
            an object with nodes and links",
        );
        let text = "a text in quotes, as \"25Gb/s\" for a rate or \"3m\" for a length";
        let number = format!("json: line 7: integer `25000000000`; expected {text}");
        check_error(
            "\"rate\": \"25Gb/s\"}, {\"source\": \"n1\"",
            "\"rate\": 25000000000}, {\"source\": \"n1\"",
            &number,
        );
        check_error(
            "{\"id\": \"a\"",
            "{\"id\": 1.5",
            "json: line 4: a name that is neither; expected a text or a whole number",
        );
        let directed = "json.directed: true; expected false: a cable leads both ways";
        check_error("\"links\": [", "\"directed\": true, \"links\": [", directed);
    }

    #[test]
    fn loose_nodes_are_named() {
        let loose = EXAMPLE.replace("{\"id\": \"b\"", "{\"id\": \"c\", \"kind\": \"switch\"}, {\"id\": \"b\"");
        let expected = "c cannot be reached from login; expected a connected fabric";
        assert_eq!(generate(&loose).unwrap_err(), expected);
    }
}
