//! GraphML: Brandes et al., "GraphML progress report", ListedGraph Drawing 2001; attributes as in the GraphML primer.

use etherweave_primitives::{InputError, check_file_name};
use std::collections::{BTreeMap, HashMap};

use quick_xml::{XmlVersion, escape::resolve_predefined_entity, events::BytesStart, events::Event, reader::Reader};

use super::link_text::{Edge, LinkAttributes, LinkDefaults, ListedCables, mistake, read_kind};
use super::{graph::ListedGraph, switch_places::PlaceReader};

pub(super) const EXAMPLE: &str = r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="kind" for="node" attr.name="kind" attr.type="string"><default>host</default></key>
  <key id="rate" for="edge" attr.name="rate" attr.type="string"><default>100Gb/s</default></key>
  <key id="n" for="edge" attr.name="links" attr.type="int"/>
  <graph id="g" edgedefault="undirected">
    <node id="n0"/><node id="n1"/>
    <node id="left"><data key="kind">switch</data></node>
    <node id="right"><data key="kind">switch</data></node>
    <edge source="n0" target="left"/><edge source="n1" target="right"/>
    <edge source="left" target="right"><data key="n">2</data></edge>
  </graph>
</graphml>
"#;

pub(super) fn read(text: &str, defaults: &LinkDefaults) -> Result<ListedGraph, InputError> {
    let mut reader = Reader::from_str(text);
    let mut document = GraphmlDocument::default();
    let mut lines = Lines { text, read: 0, line: 1 };
    loop {
        let line = lines.at(reader.buffer_position());
        let at_line = |error: InputError| error.within("graphml").at_line(line);
        let event =
            reader.read_event().map_err(|error| at_line(mistake(error.to_string(), "well-formed XML".to_owned())))?;
        match event {
            Event::Start(element) => document.open(&element, line).map_err(at_line)?,
            Event::Empty(element) => {
                document.open(&element, line).map_err(at_line)?;
                document.close(local_name(&element)).map_err(at_line)?;
            }
            Event::End(element) => document.close(element.local_name().as_ref()).map_err(at_line)?,
            Event::Text(text) => document.text.push_str(&text.xml10_content()),
            Event::CData(text) => document.text.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().ok().flatten().map(String::from);
                let known = character.or_else(|| resolve_predefined_entity(&reference).map(str::to_owned));
                let expected = "a predefined entity such as &amp;".to_owned();
                document
                    .text
                    .push_str(&known.ok_or_else(|| at_line(mistake("an unknown entity".to_owned(), expected)))?);
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    document.graph(lines.line, defaults)
}

/// The line of a position in the text, asked in ascending order.
struct Lines<'a> {
    text: &'a str,
    read: usize,
    line: usize,
}

impl Lines<'_> {
    fn at(&mut self, position: u64) -> usize {
        let position = (position as usize).min(self.text.len());
        self.line += self.text.as_bytes()[self.read..position].iter().filter(|&&byte| byte == b'\n').count();
        self.read = position;
        self.line
    }
}

#[derive(Default)]
struct GraphmlDocument {
    /// Attributes of nodes and edges by their key's id, and the values of those that have a default, by name.
    keys: HashMap<String, String>,
    defaults: BTreeMap<(String, String), String>,
    nodes: Vec<(String, bool)>,
    numbers: HashMap<String, usize>,
    /// Where nodes are, and what the graph says of all switches.
    places: PlaceReader,
    /// Edges with the line they stand on; nodes may be listed after them.
    edges: Vec<EdgeEntry>,
    /// The element whose data are being read, and the key whose value is.
    element: Option<Element>,
    key: Option<GraphmlKey>,
    text: String,
    is_graph: bool,
}

struct Element {
    line: usize,
    kind: ElementKind,
    values: BTreeMap<String, String>,
}

enum ElementKind {
    Node { id: String },
    Edge { ends: [String; 2], ports: [Option<String>; 2] },
}

struct EdgeEntry {
    line: usize,
    ends: [String; 2],
    ports: [Option<String>; 2],
    values: BTreeMap<String, String>,
}

/// An open key: the elements it is for, and its name.
struct GraphmlKey {
    domain: String,
    name: String,
}

impl GraphmlDocument {
    fn open(&mut self, element: &BytesStart, line: usize) -> Result<(), InputError> {
        self.text.clear();
        match local_name(element) {
            "graph" if self.is_graph => {
                Err(mistake("a second graph".to_owned(), "one graph, without graphs in it".to_owned()))
            }
            "graph" => {
                self.is_graph = true;
                undirected(attribute(element, "edgedefault")?)
            }
            "key" => {
                let name = attribute(element, "attr.name")?.unwrap_or_default();
                let domain = attribute(element, "for")?.unwrap_or_else(|| "all".to_owned());
                self.places.declare(&name)?;
                self.keys.insert(required(element, "id")?, name.clone());
                self.key = Some(GraphmlKey { domain, name });
                Ok(())
            }
            "node" => {
                let id = required(element, "id")?;
                check_file_name("node.id", &id)?;
                self.begin(line, ElementKind::Node { id })
            }
            "edge" => {
                undirected(attribute(element, "directed")?.filter(|directed| directed == "true"))?;
                let ends = [required(element, "source")?, required(element, "target")?];
                let ports = [attribute(element, "sourceport")?, attribute(element, "targetport")?];
                self.begin(line, ElementKind::Edge { ends, ports })
            }
            "data" => self.open_data(required(element, "key")?),
            "hyperedge" => Err(mistake("a hyperedge".to_owned(), "edges between two nodes".to_owned())),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, line: usize, kind: ElementKind) -> Result<(), InputError> {
        if self.element.is_some() {
            return Err(mistake("a node or edge inside another".to_owned(), "nodes and edges side by side".to_owned()));
        }
        self.element = Some(Element { line, kind, values: BTreeMap::new() });
        Ok(())
    }

    fn open_data(&mut self, key: String) -> Result<(), InputError> {
        let Some(name) = self.keys.get(&key) else {
            return Err(mistake(
                format!("there is no key \"{key}\""),
                "the id of a key element before the graph".to_owned(),
            ));
        };
        self.key = Some(GraphmlKey { domain: String::new(), name: name.clone() });
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), InputError> {
        let text = self.text.trim().to_owned();
        match name {
            "key" => self.key = None,
            "default" => {
                if let Some(GraphmlKey { domain, name }) = &self.key {
                    self.defaults.insert((domain.clone(), name.clone()), text);
                }
            }
            "data" => match (&mut self.element, self.key.take()) {
                (Some(element), Some(key)) => drop(element.values.insert(key.name, text)),
                (None, Some(key)) => self.places.graph_datum(&key.name, &text)?,
                (Some(_) | None, None) => {}
            },
            "node" | "edge" => self.end()?,
            _ => {}
        }
        self.text.clear();
        Ok(())
    }

    /// Adds the open node or edge.
    fn end(&mut self) -> Result<(), InputError> {
        let Some(Element { line, kind, mut values }) = self.element.take() else { return Ok(()) };
        let domain = match &kind {
            ElementKind::Node { .. } => "node",
            ElementKind::Edge { .. } => "edge",
        };
        for ((target, name), value) in &self.defaults {
            if (target == domain || target == "all") && !values.contains_key(name) {
                values.insert(name.clone(), value.clone());
            }
        }
        match kind {
            ElementKind::Edge { ends, ports } => self.edges.push(EdgeEntry { line, ends, ports, values }),
            ElementKind::Node { id } => {
                let is_host = read_kind(values.get("kind").map(String::as_str))?;
                self.places.add(line, is_host, |name| values.get(name).map(String::as_str))?;
                if self.numbers.insert(id.clone(), self.nodes.len()).is_some() {
                    return Err(mistake(format!("there are two nodes \"{id}\""), "different ids".to_owned()));
                }
                self.nodes.push((id, is_host));
            }
        }
        Ok(())
    }

    /// All of it, once the text has ended.
    fn graph(self, last: usize, defaults: &LinkDefaults) -> Result<ListedGraph, InputError> {
        if !self.is_graph || self.element.is_some() {
            let error = mistake(
                "no complete graph",
                "a graph element with nodes and edges; `etherweave import` reads other XML",
            );
            return Err(error.within("graphml").at_line(last));
        }
        let mut cables = ListedCables::default();
        let mut edges = Vec::with_capacity(self.edges.len());
        for entry in &self.edges {
            let at_line = |error: InputError| error.within("graphml").at_line(entry.line);
            edges.push(entry.edge(&self.numbers, &mut cables, defaults).map_err(at_line)?);
        }
        let places = self.places.checked(&self.nodes, &edges)?;
        Ok(ListedGraph::new(self.nodes, edges).with_places(places))
    }
}

impl EdgeEntry {
    fn edge(
        &self,
        numbers: &HashMap<String, usize>,
        cables: &mut ListedCables,
        defaults: &LinkDefaults,
    ) -> Result<Edge, InputError> {
        let end = |name: &String| {
            let number = numbers.get(name).copied();
            number.ok_or_else(|| mistake(format!("there is no node \"{name}\""), "the id of a listed node".to_owned()))
        };
        let ends = [end(&self.ends[0])?, end(&self.ends[1])?];
        let [source_port, target_port] = &self.ports;
        cables.add(ends, [source_port.as_deref(), target_port.as_deref()], [&self.ends[0], &self.ends[1]])?;
        let value = |name: &str| self.values.get(name).map(String::as_str);
        let links = value("links").map(|text| {
            text.parse().map_err(|_| mistake(format!("links is \"{text}\""), "a number, 1 to 1024".to_owned()))
        });
        let [rate, to_rate, length, medium, class] = ["rate", "to_rate", "length", "medium", "class"].map(value);
        LinkAttributes { rate, to_rate, length, medium, class, links: links.transpose()? }.edge(ends, defaults)
    }
}

fn local_name<'a>(element: &'a BytesStart) -> &'a str {
    element.local_name().into_inner()
}

fn undirected(direction: Option<String>) -> Result<(), InputError> {
    match direction.as_deref() {
        None | Some("undirected") => Ok(()),
        Some(_) => Err(mistake("directed edges".to_owned(), "undirected ones: a cable leads both ways".to_owned())),
    }
}

fn required(element: &BytesStart, name: &str) -> Result<String, InputError> {
    let value = attribute(element, name)?;
    value.ok_or_else(|| mistake(format!("a {} without {name}", local_name(element)), format!("the attribute {name}")))
}

fn attribute(element: &BytesStart, name: &str) -> Result<Option<String>, InputError> {
    let malformed = |error: String| mistake(error, "well-formed attributes");
    let attribute = element.try_get_attribute(name).map_err(|error| malformed(error.to_string()))?;
    let value = attribute.map(|attribute| attribute.normalized_value(XmlVersion::Implicit1_0));
    Ok(value.transpose().map_err(|error| malformed(error.to_string()))?.map(|value| value.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Custom, Family};

    fn generate(graphml: &str) -> Result<(usize, usize, usize), String> {
        let topology = Custom { graphml: graphml.to_owned(), ..Custom::default() }.generate();
        let topology = topology.map_err(|error| error.to_string())?;
        Ok((topology.hosts(), topology.switches(), topology.channels().len() / 2))
    }

    /// The example with one text for another.
    fn check_error(from: &str, to: &str, expected: &str) {
        assert!(EXAMPLE.contains(from), "{from}");
        assert_eq!(generate(&EXAMPLE.replacen(from, to, 1)).unwrap_err(), expected);
    }

    #[test]
    fn defaults_and_parallel_links_are_read() {
        assert_eq!(generate(EXAMPLE), Ok((2, 2, 4)));
    }

    #[test]
    fn cables_that_are_loose_or_listed_twice_are_named() {
        let loose = "graphml: line 9: there is no node \"n7\"; expected the id of a listed node";
        check_error("source=\"n0\"", "source=\"n7\"", loose);
        let again = "<edge source=\"right\" target=\"left\"/></graph>";
        let twice = "graphml: line 11: the cable right - left is listed twice; expected each pair once with its number \
            of links, or different ports";
        check_error("</graph>", again, twice);
        let to_port_7 = |host: &str| format!("<edge source=\"{host}\" target=\"left\" targetport=\"7\"/>");
        let ports = to_port_7("n0") + &to_port_7("n1");
        let shared = "graphml: line 9: port 7 of left has two cables; expected one cable per port";
        check_error("<edge source=\"n0\" target=\"left\"/>", &ports, shared);
    }

    #[test]
    fn speeds_that_differ_and_directions_are_named() {
        let rates = "<data key=\"rate\">25Gb/s</data><data key=\"to\">10Gb/s</data>";
        let text = EXAMPLE.replace("<data key=\"n\">2</data>", rates);
        let text = text.replace("<graph id", "<key id=\"to\" for=\"edge\" attr.name=\"to_rate\"/><graph id");
        let expected = "graphml: line 10: port speeds 25Gb/s and 10Gb/s differ; expected the same rate at both ends";
        assert_eq!(generate(&text).unwrap_err(), expected);
        let directed = "graphml: line 5: directed edges; expected undirected ones: a cable leads both ways";
        check_error("undirected", "directed", directed);
    }

    #[test]
    fn entities_are_read_and_broken_texts_are_errors() {
        assert_eq!(generate(&EXAMPLE.replace("\"n0\"", "\"n&amp;0\"")), Ok((2, 2, 4)));
        check_error(
            "switch</data>",
            "swi&#116;ch&lt;</data>",
            "graphml: line 7: \"switch<\" is not a kind of node; \
            expected host or switch",
        );
        assert!(generate("<graphml>").unwrap_err().contains("no complete graph"));
        assert!(generate("<a></b>").unwrap_err().contains("well-formed XML"));
    }
}
