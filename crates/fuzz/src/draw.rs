//! A scenario drawn from the JSON Schema of scenarios.
//!
//! Every choice of the schema (the member of a family, a named value) is drawn with equal chances. Keys that a scenario
//! may leave out are given with a share that is drawn too: some cases depart from the defaults in one key, others in
//! many. What the schema does not say (names of cables, sums, small sizes) is in [`hint`] and [`share`].

use etherweave_primitives::{Purpose, Stream};
use etherweave_scenario::schema;
use etherweave_topology::{Topology, TopologyKind};
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::{fabric, fabric::HOSTS_MAX, quantity};

/// Jobs of a case, at most.
const JOBS_MAX: u64 = 3;
/// One case of so many is a curve.
const CURVES: u64 = 6;
/// One case in so many has hosts with several ports, where the fabric allows it.
const SEVERAL_PORTS: u64 = 6;
/// Larger numbers and sizes in workloads and fabrics are always drawn anew.
const SMALL: u64 = 8;
const SMALL_BYTES: u64 = 64 << 10;
/// Elements of a drawn list, at most.
const LIST_MAX: u64 = 3;
/// Keys whose text is a name that only the author knows, or a file.
const LEFT_OUT: [&str; 8] = ["file", "groups", "groups_file", "longest", "precision", "saturation", "sha256", "text"];
/// Tables that a run does not read, and what a case sets by itself.
const ROOTS_LEFT_OUT: [&str; 10] =
    ["control", "controller", "design", "host_ports", "job", "name", "open_loop", "seed", "sweep", "topology"];

/// The schema, from which cases are drawn.
pub struct Draw {
    root: Json,
    fabrics: Vec<Table>,
}

impl Default for Draw {
    fn default() -> Draw {
        let root = serde_json::from_str(&schema()).expect("the schema is JSON");
        let small = TopologyKind::examples().into_iter().filter(|kind| fabric::is_small(kind.generate().ok().as_ref()));
        let table = |kind: TopologyKind| Table::try_from(&kind).expect("parameters are a table");
        Draw { root, fabrics: small.map(table).collect() }
    }
}

impl Draw {
    /// The scenario of a seed; parts of it may contradict each other.
    pub fn scenario(&self, seed: u64) -> Table {
        let mut dice = Stream::new(seed, Purpose::Traffic, 0);
        let share = [20, 60, 150, 350][dice.below(4) as usize];
        let topology = self.fabric(&mut dice, share);
        let is_curve = dice.happens(1, CURVES);
        let (ports, built) = self.host_ports(&mut dice, share, &topology, is_curve);
        let mut drawing = Drawing { schema: self, dice: &mut dice, share, fabric: built.as_ref() };
        let properties = self.root["properties"].as_object().expect("a scenario has keys");
        let is_drawn = |key: &str| {
            if is_curve { ["faults", "switch", "flow_control"].contains(&key) } else { !ROOTS_LEFT_OUT.contains(&key) }
        };
        let mut scenario = drawing.table(properties.iter().filter(|(key, _)| is_drawn(key)), &[], "");
        scenario.insert("seed".to_owned(), Value::Integer(drawing.dice.below(1 << 32) as i64));
        scenario.insert("topology".to_owned(), Value::Table(topology));
        if !ports.is_empty() {
            scenario.insert("host_ports".to_owned(), Value::Table(ports));
        }
        if is_curve {
            let points = drawing.object(&self.root["$defs"]["OpenLoopSpec"], "open_loop");
            scenario.insert("open_loop".to_owned(), Value::Table(points));
            return scenario;
        }
        let jobs = 1 + drawing.dice.below(JOBS_MAX);
        scenario.insert("job".to_owned(), Value::Array((0..jobs).map(|number| drawing.job(number)).collect()));
        scenario
    }

    /// An example of a family, or parameters that are drawn until they make a small fabric.
    fn fabric(&self, dice: &mut Stream, share: u64) -> Table {
        for _ in 0..4 {
            if dice.happens(1, 3) {
                break;
            }
            let node = &self.root["properties"]["topology"];
            let mut drawing = Drawing { schema: self, dice, share, fabric: None };
            let Some(Value::Table(mut drawn)) = drawing.value(node, "topology") else { break };
            if fabric::reduce(&mut drawn, dice) {
                return drawn;
            }
        }
        self.fabrics[dice.below(self.fabrics.len() as u64) as usize].clone()
    }

    /// Ports of hosts, and the fabric with them; of open loops, and where it would not be small, one each.
    fn host_ports(&self, dice: &mut Stream, share: u64, topology: &Table, is_curve: bool) -> (Table, Option<Topology>) {
        if !is_curve && dice.happens(1, SEVERAL_PORTS) {
            let mut drawing = Drawing { schema: self, dice, share, fabric: None };
            let ports = drawing.object(&self.root["$defs"]["HostPortsSpec"], "host_ports");
            let built = fabric::of(topology, &ports).filter(|fabric| fabric::is_small(Some(fabric)));
            if built.is_some() {
                return (ports, built);
            }
        }
        (Table::new(), fabric::of(topology, &Table::new()))
    }

    /// The node that a reference leads to, and its name.
    fn resolved<'s>(&'s self, node: &'s Json) -> (&'s Json, &'s str) {
        let name = node["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.map_or((node, ""), |name| (&self.root["$defs"][name], name))
    }
}

/// One case on its way.
struct Drawing<'d> {
    schema: &'d Draw,
    dice: &'d mut Stream,
    /// How often a key is given that may be left out, of 1,000.
    share: u64,
    fabric: Option<&'d Topology>,
}

impl Drawing<'_> {
    fn job(&mut self, number: u64) -> Value {
        let node = &self.schema.root["$defs"]["JobSpec"];
        let key = format!("job.{number}");
        let mut job = self.object(node, &key);
        job.insert("name".to_owned(), Value::String(format!("job{number}")));
        Value::Table(job)
    }

    /// A value of a node; none where the schema does not say enough.
    fn value(&mut self, node: &Json, key: &str) -> Option<Value> {
        if let Some(value) = hint(self, key) {
            return Some(value);
        }
        if let Some(kinds) = node["anyOf"].as_array() {
            let kind = kinds.iter().find(|kind| kind["type"] != "null")?;
            return self.value(kind, key);
        }
        let default = &node["default"];
        let (node, name) = self.schema.resolved(node);
        if quantity::is_quantity(name) {
            return Some(Value::String(self.quantity(name, default.as_str(), key)));
        }
        if let Some(kinds) = node["oneOf"].as_array() {
            let kind = &kinds[self.dice.below(kinds.len() as u64) as usize];
            return self.value(kind, key);
        }
        if let Some(names) = node["enum"].as_array() {
            let names: Vec<&str> = names.iter().filter_map(Json::as_str).collect();
            return Some(Value::String(names[self.dice.below(names.len() as u64) as usize].to_owned()));
        }
        if let Some(name) = node["const"].as_str() {
            return Some(Value::String(name.to_owned()));
        }
        self.plain(node, default, key)
    }

    fn plain(&mut self, node: &Json, default: &Json, key: &str) -> Option<Value> {
        let kind = node["type"].as_str().or_else(|| node["type"][0].as_str())?;
        match kind {
            "object" => Some(Value::Table(self.object(node, key))),
            "array" => Some(Value::Array(self.list(node, key))),
            "integer" => Some(Value::Integer(self.integer(node, default.as_u64(), key))),
            "number" => Some(Value::Float(self.number(default.as_f64()))),
            "boolean" => Some(Value::Boolean(self.dice.happens(1, 2))),
            _ => None,
        }
    }

    fn object(&mut self, node: &Json, key: &str) -> Table {
        let required: Vec<&str> = node["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        self.table(node["properties"].as_object().into_iter().flatten(), &required, key)
    }

    fn table<'n>(
        &mut self,
        properties: impl Iterator<Item = (&'n String, &'n Json)>,
        required: &[&str],
        key: &str,
    ) -> Table {
        let mut table = Table::new();
        for (name, node) in properties.filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            let share =
                if required.contains(&name.as_str()) { 1_000 } else { share(&key, node).max(self.share_of(&key)) };
            if !self.dice.happens(share, 1_000) {
                continue;
            }
            if let Some(value) = self.value(node, &key) {
                table.insert(name.clone(), value);
            }
        }
        table
    }

    /// Fabrics depart from their plan less often.
    fn share_of(&self, key: &str) -> u64 {
        if key.contains("as_built") { self.share / 4 } else { self.share }
    }

    fn list(&mut self, node: &Json, key: &str) -> Vec<Value> {
        let bound = |name: &str| node[name].as_u64();
        let count = bound("minItems").unwrap_or_else(|| 1 + self.dice.below(LIST_MAX));
        let item = &node["items"];
        (0..count).filter_map(|number| self.value(item, &format!("{key}.{number}"))).collect()
    }

    fn integer(&mut self, node: &Json, default: Option<u64>, key: &str) -> i64 {
        let max = node["maximum"].as_u64().unwrap_or(1 << 32);
        let small = is_sized(key);
        let drawn = match (default, self.dice.below(8)) {
            (_, 0) => self.dice.below(3),
            (Some(default), 1..4) if !small => default / (1 + self.dice.below(8)),
            (Some(default), 4..7) if !small => default + self.dice.below(default + 2),
            (_, 7) => 1 << self.dice.below(6),
            _ => 1 + self.dice.below(SMALL),
        };
        drawn.min(max) as i64
    }

    fn number(&mut self, default: Option<f64>) -> f64 {
        let scale = [0.0, 0.01, 0.125, 0.5, 1.0, 2.0, 8.0][self.dice.below(7) as usize];
        default.filter(|&default| default != 0.0).unwrap_or(1.0) * scale
    }

    fn quantity(&mut self, kind: &str, default: Option<&str>, key: &str) -> String {
        let is_large = default.and_then(quantity::bytes).is_some_and(|bytes| bytes > SMALL_BYTES);
        let default = default.filter(|_| !(is_large && is_sized(key)));
        quantity::drawn(self.dice, kind, default)
    }

    fn pick<V: Copy>(&mut self, values: &[V]) -> V {
        values[self.dice.below(values.len() as u64) as usize]
    }
}

/// Whether numbers at a key decide how large a run is.
fn is_sized(key: &str) -> bool {
    key.contains(".workload.") || key.starts_with("topology.")
}

/// How often a key is given at least, of 1,000.
fn share(key: &str, node: &Json) -> u64 {
    let default = &node["default"];
    let is_large = |default: &Json| {
        default.as_u64().is_some_and(|number| number > SMALL / 2)
            || default.is_object()
            || default.is_array()
            || default.as_str().and_then(quantity::bytes).is_some_and(|bytes| bytes > SMALL_BYTES)
    };
    match key {
        "flow_control" | "transport" => 800,
        "routing" | "switch" | "run" => 600,
        "run.end" => 600,
        "faults" | "observe" | "switch.ecn" | "switch.model" | "switch.buffer" => 350,
        "observe.ranks" | "observe.waits" | "observe.ports" | "faults.down" | "faults.degraded" => 500,
        "transport.roce.dcqcn" | "transport.roce.reliability" | "transport.tcp.ecn" => 300,
        "transport.tcp.congestion_control" | "run.fidelity" | "nic" | "host" => 250,
        "interconnect" => 80,
        "host_ports.planes" => 700,
        "host_ports.choice" | "host_ports.leaves" => 300,
        "open_loop.warm_up" | "open_loop.measured" | "open_loop.loads" => 1_000,
        "open_loop.routings" | "open_loop.patterns" => 600,
        _ if key.ends_with("rate") && key.starts_with("topology.") => 400,
        _ if is_sized(key) && !key.contains("as_built") && is_large(default) => 950,
        _ => 0,
    }
}

/// A value for a key that needs more than the schema says.
fn hint(drawing: &mut Drawing<'_>, key: &str) -> Option<Value> {
    let text = |text: &str| Some(Value::String(text.to_owned()));
    let last = key.rsplit('.').next().unwrap_or(key);
    let above = key.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match (above, last) {
        ("ets.weights", "weights") => Some(weights(drawing.dice)),
        ("faults.degraded", "bit_error_rate") | (_, "bit_error_rate") => {
            Some(Value::Float(drawing.pick(&[0.0, 1e-9, 1e-7, 1e-6, 1e-5])))
        }
        ("host_ports.planes" | "host_ports.leaves", _) => Some(Value::Integer(drawing.pick(&[1, 2, 2, 3]))),
        ("interconnect", "interconnect") => None,
        ("observe.ranks" | "observe.waits", _) => Some(Value::Boolean(drawing.pick(&[true, true, true, false]))),
        ("observe.ports", _) => text(drawing.pick(&["switches", "hosts", "* - host0", "host1 - *"])),
        ("observe.flows", _) => text(drawing.pick(&["* -> *", "host0 -> *", "* -> host1"])),
        ("open_loop.warm_up" | "open_loop.measured", _) => text(drawing.pick(&["1us", "3us", "8us"])),
        ("open_loop.loads", number) if number != "loads" => Some(Value::Float(drawing.pick(&[0.05, 0.3, 0.7, 1.0]))),
        ("run.jobs", "jobs") => Some(Value::Array(vec![Value::String("job0".to_owned())])),
        ("topology.custom", "custom") => Some(Value::Table(fabric::custom(drawing.dice, HOSTS_MAX))),
        ("topology.custom.links" | "topology.custom.graphml" | "topology.custom.json", _) => None,
        (_, "link") => Some(Value::String(fabric::cable(drawing.fabric?, drawing.dice))),
        (_, "switch") if key.starts_with("faults.") => {
            Some(Value::String(fabric::switch(drawing.fabric?, drawing.dice)))
        }
        _ => None,
    }
}

/// Eight shares of 100 %.
fn weights(dice: &mut Stream) -> Value {
    let mut left = 100;
    let mut shares: Vec<Value> = Vec::new();
    for class in 0..8 {
        let share = if class == 7 { left } else { dice.below(left / 2 + 1) };
        left -= share;
        shares.push(Value::Integer(share as i64));
    }
    Value::Array(shares)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tree;

    /// Names of all members of a choice of the schema.
    fn members(draw: &Draw, definition: &str) -> BTreeSet<String> {
        let kinds = draw.root["$defs"][definition]["oneOf"].as_array().unwrap().iter();
        let name = |kind: &Json| match kind["const"].as_str() {
            Some(name) => name.to_owned(),
            None => kind["properties"].as_object().unwrap().keys().next().unwrap().clone(),
        };
        kinds.map(name).collect()
    }

    /// The name of a member: a value, or the only key of its table.
    fn name(value: &Value) -> Option<String> {
        value.as_str().map(str::to_owned).or_else(|| value.as_table()?.keys().next().cloned())
    }

    #[test]
    fn every_member_of_the_families_is_drawn() {
        let draw = Draw::default();
        let cases: Vec<Table> = (0..1_000).map(|seed| draw.scenario(seed)).collect();
        let families = [
            ("TopologyKind", "topology"),
            ("RoutingKind", "routing"),
            ("FlowControl", "flow_control"),
            ("Transport", "transport"),
            ("CongestionControl", "transport.tcp.congestion_control"),
            ("SwitchModel", "switch.model"),
            ("Fidelity", "run.fidelity"),
            ("PortChoice", "host_ports.choice"),
            ("Workload", "job.0.workload"),
        ];
        for (definition, key) in families {
            let drawn: BTreeSet<String> =
                cases.iter().filter_map(|case| tree::get(case, key)).filter_map(name).collect();
            assert_eq!(drawn, members(&draw, definition), "{definition}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_case_and_fabrics_are_small() {
        let draw = Draw::default();
        for seed in 0..50 {
            let case = draw.scenario(seed);
            assert_eq!(case, draw.scenario(seed));
            let Some(Value::Table(topology)) = case.get("topology") else { panic!("{seed}: no fabric") };
            assert!(fabric::of(topology, &Table::new()).is_none_or(|fabric| fabric.hosts() <= HOSTS_MAX), "{seed}");
        }
    }
}
