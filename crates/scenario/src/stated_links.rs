//! Links whose rates and cables a scenario states, for open loops: all others have those of `[open_loop.switch]`.

use etherweave_openloop::StatedLinks;
use etherweave_primitives::{InputError, InputErrors};
use etherweave_topology::{Channel, LinkClass, Shape, Topology, TopologyKind};
use toml::{Table, Value};

/// Values for keys that are not in the file, chosen to differ from those of the fabric.
const OTHER_RATE: &str = "7Gb/s";
const OTHER_CABLE: &str = "7777m";

fn is_rate(key: &str) -> bool {
    key == "rate" || key.ends_with("_rate")
}

fn is_cable(key: &str) -> bool {
    key == "cable" || key.ends_with("_cable")
}

/// The stated rates and delays of a scenario's fabric. A link is as stated when no default changes it: the fabric is
/// generated with others, and compared.
pub(crate) fn of(values: &Table, kind: &TopologyKind, topology: &Topology) -> StatedLinks {
    let Some(given) = values.get("topology").filter(|given| may_state(kind, given)) else {
        return StatedLinks::default();
    };
    let Some(other) = with_other_defaults(kind, given).and_then(|kind| kind.generate().ok()) else {
        return StatedLinks::default();
    };
    let pairs = || topology.channels().iter().zip(other.channels());
    let rate = |(own, other): (&Channel, &Channel)| (own.rate == other.rate).then_some(own.rate);
    let delay =
        |(own, other): (&Channel, &Channel)| (own.length == other.length).then(|| own.length.propagation_time());
    StatedLinks { rates: pairs().map(rate).collect(), delays: pairs().map(delay).collect() }
}

/// Whether there is a rate or cable at any depth, or a text that may have some.
fn may_state(kind: &TopologyKind, given: &Value) -> bool {
    fn states(given: &Value) -> bool {
        match given {
            Value::Table(table) => table.iter().any(|(key, value)| is_rate(key) || is_cable(key) || states(value)),
            Value::Array(list) => list.iter().any(states),
            Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => false,
        }
    }
    kind.shape() == (Shape::Graph { is_listed: true }) || states(given)
}

fn with_other_defaults(kind: &TopologyKind, given: &Value) -> Option<TopologyKind> {
    fn replace(value: &mut Value, given: Option<&Value>) {
        match value {
            Value::Table(table) => {
                for (key, value) in table.iter_mut() {
                    let stated = given.and_then(|given| given.get(key));
                    match value {
                        Value::String(text) if stated.is_none() && is_rate(key) => OTHER_RATE.clone_into(text),
                        Value::String(text) if stated.is_none() && is_cable(key) => OTHER_CABLE.clone_into(text),
                        other => replace(other, stated),
                    }
                }
            }
            Value::Array(list) => {
                for (at, value) in list.iter_mut().enumerate() {
                    replace(value, given.and_then(|given| given.get(at)));
                }
            }
            Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
        }
    }
    let mut value = Value::try_from(kind).ok()?;
    replace(&mut value, Some(given));
    value.try_into().ok()
}

/// A key of `[open_loop.switch]`, and the links that it is for.
struct SwitchKey<'a> {
    key: &'static str,
    /// Values that links have of their own instead.
    instead: &'static str,
    /// The class of the links; absent: all.
    class: Option<LinkClass>,
    /// Whether each channel has its own; empty: none has.
    is_stated: &'a [bool],
}

impl SwitchKey<'_> {
    /// Whether no link is left for it.
    fn is_unused(&self, topology: &Topology) -> bool {
        let of_class = |&(_, channel): &(usize, &Channel)| self.class.is_none_or(|class| channel.class == class);
        let mut numbers = topology.channels().iter().enumerate().filter(of_class).peekable();
        let is_stated = |number: usize| self.is_stated.get(number).is_some_and(|&is_stated| is_stated);
        numbers.peek().is_some() && numbers.all(|(number, _)| is_stated(number))
    }
}

/// Keys of `[open_loop.switch]` that no link is left for.
pub(crate) fn without_effect(values: &Table, topology: &Topology, links: &StatedLinks) -> InputErrors {
    let rates: Vec<bool> = links.rates.iter().map(Option::is_some).collect();
    let delays: Vec<bool> = links.delays.iter().map(Option::is_some).collect();
    let cable = |key, class| SwitchKey { key, instead: "cable", class: Some(class), is_stated: &delays };
    let keys = [
        SwitchKey { key: "rate", instead: "rate", class: None, is_stated: &rates },
        cable("local_delay", LinkClass::Local),
        cable("global_delay", LinkClass::Global),
        cable("injection_delay", LinkClass::Host),
        cable("ejection_delay", LinkClass::Host),
    ];
    let switch = values.get("open_loop").and_then(|open_loop| open_loop.get("switch"));
    let is_given = |key: &SwitchKey<'_>| switch.is_some_and(|switch| switch.get(key.key).is_some());
    let unused = keys.iter().filter(|&key| is_given(key) && key.is_unused(topology));
    let error = |SwitchKey { key, instead, .. }: &SwitchKey<'_>| {
        let found = format!("given beside the {instead} of every such link in the topology");
        InputError::new(format!("open_loop.switch.{key}"), found, "none: each link has its own")
    };
    unused.map(error).collect()
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{BitRate, Duration};

    use super::*;
    use crate::Scenario;

    fn stated(text: &str) -> (Table, Topology, StatedLinks) {
        let values: Table = text.parse().unwrap();
        let kind = Scenario::parse(&format!("{text}\n[[job]]\nname = \"a\"\nworkload.osu_latency = {{}}\n"), "x", &[])
            .unwrap()
            .topology;
        let topology = kind.generate().unwrap();
        let links = of(&values, &kind, &topology);
        (values, topology, links)
    }

    const BRIDGE: &str = "topology.custom.links = \"\"\"h0,s0\nh1,s1,,10m\ns0,s1,40Gb/s,20m\n\"\"\"\n";

    #[test]
    fn listed_links_have_what_their_lines_state() {
        let (_, _, links) = stated(BRIDGE);
        let bridge = Some(BitRate::from_gbps(40));
        assert_eq!(links.rates, [None, None, None, None, bridge, bridge]);
        let [ten, twenty] = [50, 100].map(|ns| Some(Duration::from_ns(ns)));
        assert_eq!(links.delays, [None, None, ten, ten, twenty, twenty]);
        let (_, _, all) = stated(&format!("{BRIDGE}topology.custom.rate = \"100Gb/s\"\n"));
        assert!(all.rates.iter().all(Option::is_some), "{all:?}");
    }

    #[test]
    fn links_of_a_family_have_what_its_keys_state() {
        let (_, topology, links) = stated("[[topology.torus.dimensions]]\nsize = 4\nrate = \"100Gb/s\"\n");
        let is_local = topology.channels().iter().map(|channel| channel.class == LinkClass::Local);
        assert!(is_local.zip(&links.rates).all(|(is_local, rate)| is_local == rate.is_some()), "{links:?}");
        assert!(links.delays.iter().all(Option::is_none));
        assert_eq!(stated("[topology.torus]\n").2, StatedLinks::default());
    }

    #[test]
    fn a_rate_that_no_link_has_is_reported() {
        let keys = |text: &str| -> Vec<String> {
            let (values, topology, links) = stated(text);
            without_effect(&values, &topology, &links).iter().map(|error| error.key.clone()).collect()
        };
        let switch = "[open_loop.switch]\nrate = \"100Gb/s\"\nlocal_delay = \"1us\"\nglobal_delay = \"1us\"\n";
        assert_eq!(keys(&format!("{BRIDGE}{switch}")), ["open_loop.switch.local_delay"]);
        let all = format!("{BRIDGE}topology.custom.rate = \"100Gb/s\"\n{switch}");
        assert_eq!(keys(&all), ["open_loop.switch.rate", "open_loop.switch.local_delay"]);
    }
}
