//! A profile of an interconnect, from its file.

use etherweave_power::{Basis, Cited};
use etherweave_primitives::{BitRate, InputError, InputErrors};
use etherweave_routing::RoutingKind;
use etherweave_sim::params::{Ets, FlowControl, HostParams, NicParams, SwitchParams, Transport};
use etherweave_topology::TopologyKind;
use toml::{Table, Value};

use super::SHIPPED;
use crate::{text::files, text::files::complete, text::reader};

/// Table of figures that a scenario has elsewhere: rates of links, addresses of a subnet.
pub(super) const LINK: &str = "link";
/// Table of facts for a buyer, which no scenario has.
const PRODUCT: &str = "product";
/// Tables that hold one member of a family, of which each has keys of its own.
const CHOICES: [&str; 3] = ["topology", "flow_control", "transport"];
const FIGURE: [&str; 3] = ["value", "basis", "source"];
const EXPECTED: &str =
    "{ value = ..., basis = \"published\", \"derived\", \"fitted\" or \"estimate\", source = \"...\" }";
/// Key of the two ends between which documents have a figure.
const RANGE: &str = "range";

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Figure {
    /// The interconnect that has it.
    pub profile: String,
    /// Its key, with dots.
    pub key: String,
    pub value: Value,
    pub basis: Basis,
    pub source: String,
    /// Both ends between which its documents have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[Value; 2]>,
}

impl Figure {
    /// Whether a scenario, completed by the interconnect, has this figure and none of its own.
    pub fn is_in(&self, values: &Table) -> bool {
        let mut parts = self.key.split('.');
        let last = parts.next_back().unwrap_or_default();
        let around = parts.try_fold(values, |table, part| table.get(part)?.as_table());
        // Rates of links are those of the fabric, and a profile has become what it stands for.
        [LINK, PRODUCT].contains(&self.key.split('.').next().unwrap_or_default())
            || around.is_some_and(|table| last == "profile" || table.get(last).is_some_and(|it| has(it, &self.value)))
    }
}

/// Whether `value` is the other, or a table with all that the other has.
fn has(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Table(table), Value::Table(others)) => {
            others.iter().all(|(key, other)| table.get(key).is_some_and(|value| has(value, other)))
        }
        _ => value == other,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interconnect {
    /// Figures in the order of their keys.
    pub figures: Vec<Figure>,
    /// Keys that complete a scenario, profiles of its tables included.
    pub scenario: Table,
    /// Rates of its links, and addresses of a subnet.
    pub link: Table,
}

impl Interconnect {
    /// Reads a profile that comes with Etherweave.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn shipped(name: &str) -> Result<Interconnect, InputErrors> {
        let (name, text) = shipped(name)?;
        Interconnect::parse(name, text)
    }

    /// Reads the text of the profile `name`.
    ///
    /// # Errors
    /// Every figure without its source, and what a scenario could not take, by its key.
    pub fn parse(name: &str, text: &str) -> Result<Interconnect, InputErrors> {
        let not_toml = |error: toml::de::Error| InputError::new("", error.message().replace('\n', "; "), "TOML");
        let mut file: Table = text.parse().map_err(not_toml)?;
        let base = file.remove("base").map(|base| shipped(base.as_str().unwrap_or_default())).transpose()?;
        let about = file.remove("about");
        let expected = "what the profile is about, a sentence";
        InputError::unless(about.is_some_and(|text| text.is_str()), "about", "missing", expected)?;
        let mut figures = Vec::new();
        let mut errors = InputErrors::default();
        for (key, value) in file {
            collect(name, key, value, &mut figures, &mut errors);
        }
        errors.into_result()?;
        if let Some((base, text)) = base {
            let base = Interconnect::parse(base, text)?.figures;
            let is_new = |figure: &Figure| !figures.iter().any(|own| overlap(&own.key, &figure.key));
            let others: Vec<Figure> = base.into_iter().filter(is_new).collect();
            figures.extend(others);
        }
        figures.sort_by(|figure, other| figure.key.cmp(&other.key));
        Interconnect::of(figures)
    }

    fn of(figures: Vec<Figure>) -> Result<Interconnect, InputErrors> {
        let mut scenario = Table::new();
        for figure in &figures {
            put(&mut scenario, &figure.key, figure.value.clone());
        }
        files::insert_profiles(&mut scenario)?;
        reader::read::<Settings>(&scenario)?;
        for figure in &figures {
            for end in figure.range.iter().flatten() {
                let mut with_end = Table::new();
                put(&mut with_end, &figure.key, end.clone());
                complete(&mut with_end, scenario.clone());
                reader::read::<Settings>(&with_end)?;
            }
        }
        scenario.remove(PRODUCT);
        let link = scenario.remove(LINK).and_then(|table| table.as_table().cloned()).unwrap_or_default();
        Ok(Interconnect { figures, scenario, link })
    }
}

/// The name and the text of a profile that comes with Etherweave.
fn shipped(name: &str) -> Result<(&'static str, &'static str), InputError> {
    SHIPPED.entry("profile", "interconnect", name)
}

/// All that a profile can set, read only to be checked.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read only to be checked")]
struct Settings {
    link: Link,
    product: Option<Product>,
    routing: Option<RoutingKind>,
    topology: Option<TopologyKind>,
    switch: Option<SwitchParams>,
    flow_control: Option<FlowControl>,
    ets: Option<Ets>,
    nic: Option<NicParams>,
    host: Option<HostParams>,
    transport: Option<Transport>,
}

/// Rates of links, and addresses of a subnet.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read only to be checked")]
struct Link {
    rate: BitRate,
    host_rate: Option<BitRate>,
    addresses: Option<u32>,
}

/// Maker of an interconnect, and its offers.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read only to be checked")]
struct Product {
    manufacturer: Option<String>,
    proprietary: Option<bool>,
    congestion_control: Option<String>,
    rdma: Option<bool>,
    year: Option<u16>,
}

/// Whether one of two figures is, or is a part of, the other; and members of one choice exclude each other.
fn overlap(own: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let choice = |key: &str| {
        let (table, rest) = key.split_once('.')?;
        CHOICES.contains(&table).then(|| (table.to_owned(), rest.split('.').next().unwrap_or_default().to_owned()))
    };
    let excludes = matches!((choice(own), choice(other)), (Some((a, x)), Some((b, y))) if a == b && x != y);
    excludes || within(own, other) || within(other, own)
}

/// Every figure at or below a key of the profile `name`.
fn collect(name: &str, key: String, value: Value, figures: &mut Vec<Figure>, errors: &mut InputErrors) {
    let Value::Table(mut table) = value else {
        return errors.push(InputError::new(key, "a figure without its source", EXPECTED));
    };
    if !FIGURE.iter().any(|part| table.contains_key(*part)) {
        let inner = table.into_iter();
        return inner.for_each(|(part, value)| collect(name, format!("{key}.{part}"), value, figures, errors));
    }
    let range = errors.check(table.remove(RANGE).map(|range| range_of(&key, range)).transpose()).flatten();
    let cited = Value::Table(table).try_into::<Cited<Value>>();
    let error = |error: toml::de::Error| InputError::new(&key, error.message().replace('\n', "; "), EXPECTED);
    if let Some(Cited { value, basis, source }) = errors.check(cited.map_err(error)) {
        figures.push(Figure { profile: name.to_owned(), key, value, basis, source: source.text().to_owned(), range });
    }
}

/// Both ends of a range, as a figure has them.
fn range_of(key: &str, range: Value) -> Result<[Value; 2], InputError> {
    let expected = "[low, high], the ends between which documents have the figure";
    let text = range.to_string();
    let ends = range.try_into::<[Value; 2]>().ok();
    let ends = ends.filter(|[low, high]| low.same_type(high) && low != high);
    ends.ok_or_else(|| InputError::new(format!("{key}.{RANGE}"), text, expected))
}

/// Puts a value at a dotted key, making tables for what is before its dots.
fn put(table: &mut Table, key: &str, value: Value) {
    let nested = key.rsplit('.').fold(value, |value, part| Table::from_iter([(part.to_owned(), value)]).into());
    if let Value::Table(nested) = nested {
        complete(table, nested);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "about = \"A test\"\n[link]\nrate = { value = \"50Gb/s\", basis = \"published\", source = \"a test\" }\n";

    fn errors(text: &str) -> Vec<String> {
        let errors = Interconnect::parse("x", &format!("{FILE}{text}")).unwrap_err();
        errors.iter().map(|error| format!("{}: {}", error.key, error.found)).collect()
    }

    #[test]
    fn every_figure_of_every_shipped_profile_has_a_source() {
        for name in SHIPPED.names() {
            let profile = Interconnect::shipped(name).unwrap_or_else(|errors| panic!("{name}: {errors}"));
            assert!(profile.figures.len() > 10, "{name}");
        }
    }

    #[test]
    fn a_figure_without_a_source_is_named() {
        let mistakes = errors("[switch]\nlatency = \"300ns\"\nbuffer = { value = \"1MiB\", basis = \"published\" }\n");
        assert_eq!(mistakes, ["switch.buffer: missing field `source`", "switch.latency: a figure without its source"]);
        let unsure = errors("[nic]\nreceive_buffer = { value = \"1MiB\", basis = \"sure\", source = \"a test\" }\n");
        assert!(unsure[0].starts_with("nic.receive_buffer: unknown variant `sure`"), "{unsure:?}");
    }

    #[test]
    fn figures_that_no_scenario_has_are_named() {
        let figure = "{ value = \"3ns\", basis = \"estimate\", source = \"a test\" }";
        assert!(errors(&format!("[switch]\nlatncy = {figure}\n"))[0].starts_with("switch.latncy: unknown key"));
        assert_eq!(errors(&format!("[swich]\nlatency = {figure}\n")), ["swich: unknown key"]);
    }

    #[test]
    fn what_a_buyer_asks_is_a_figure_and_no_key_of_a_scenario() {
        let fact = |value: &str| format!("{{ value = {value}, basis = \"published\", source = \"a test\" }}");
        let with = |value: &str| format!("{FILE}[product]\nyear = {}\n", fact(value));
        let profile = Interconnect::parse("x", &with("1999")).unwrap();
        assert!(profile.figures.iter().any(|figure| figure.key == "product.year"));
        assert!(!profile.scenario.contains_key("product"));
        assert!(errors(&with("\"soon\"")[FILE.len()..])[0].starts_with("product.year"));
        assert!(errors(&format!("[product]\nmaker = {}\n", fact("\"many\"")))[0].starts_with("product.maker"));
    }

    #[test]
    fn a_range_has_two_ends_that_a_scenario_takes() {
        let with = |range: &str| {
            errors(&format!(
                "[nic]\nreceive_latency = {{ value = \"2us\", basis = \"estimate\", source = \"a test\", \
                 range = {range} }}\n"
            ))
        };
        assert_eq!(with("[\"1us\"]"), ["nic.receive_latency.range: [\"1us\"]"]);
        assert_eq!(with("[\"1us\", 2]"), ["nic.receive_latency.range: [\"1us\", 2]"]);
        assert_eq!(with("\"1us to 2us\""), ["nic.receive_latency.range: \"1us to 2us\""]);
        assert!(with("[\"1us\", \"3furlongs\"]")[0].starts_with("nic.receive_latency: "));
    }

    #[test]
    fn figures_of_a_base_hold_where_a_file_has_none() {
        let based = format!("base = \"ethernet-100-roce\"\n{FILE}");
        let interconnect = Interconnect::parse("x", &based).unwrap();
        let of = |key: &str| interconnect.figures.iter().find(|figure| figure.key == key).unwrap();
        assert_eq!((of("link.rate").value.as_str(), of("link.rate").profile.as_str()), (Some("50Gb/s"), "x"));
        assert_eq!(of("switch.latency").profile, "ethernet-100-roce");
    }
}
