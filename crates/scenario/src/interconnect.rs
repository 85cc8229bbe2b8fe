//! Interconnects: `[interconnect]` takes switch, link, NIC, transport, MPI library and default fabric from one file.
//!
//! Every figure of such a file is a table with the figure, what it rests on and where it comes from; a file with
//! one that lacks any of them is rejected. Figures have the keys that a scenario has, and `link` beside them. `base`
//! names a shipped profile whose figures hold where the file has none.

mod profile;
mod shipped;
mod without;

use etherweave_primitives::{InputError, InputErrors};
use etherweave_topology::{Topology, TopologyKind};
use toml::{Table, Value};

use crate::{ScenarioError, text::document::Document, text::files, text::files::complete, text::reader};
use profile::Interconnect;
use without::leave_out;

pub(crate) use profile::Figure;
pub(crate) use shipped::SHIPPED;

const TABLE: &str = "interconnect";
const RATE: &str = "rate";
const HOST_RATE: &str = "host_rate";
const ADDRESSES: &str = "addresses";

/// The interconnect that a scenario is built on: what the scenario does not say, its profile says.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InterconnectSpec {
    /// Included profile that sets the keys that are not given.
    pub profile: Option<String>,
    /// File beside the scenario with a profile, TOML, in place of an included one.
    pub file: Option<String>,
    /// Keys of the profile that the scenario does not take, a whole table by its name, such as "transport.uet.nscc".
    /// Each has its own default instead. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Addresses of a subnet, of which each host and each switch takes one; a larger fabric is warned of. Default: that
    /// of the profile; 49,151 for InfiniBand, no limit for Ethernet.
    pub addresses: Option<u32>,
}

/// The warning that a fabric has more hosts and switches than a subnet of its interconnect has addresses.
pub(crate) fn subnet_warning(spec: Option<&InterconnectSpec>, topology: &Topology) -> Option<String> {
    let addresses = spec?.addresses?;
    let (hosts, switches) = (topology.hosts(), topology.switches());
    (hosts + switches > addresses as usize).then(|| {
        format!(
            "interconnect.addresses: {hosts} hosts and {switches} switches, but a subnet has {addresses} addresses: \
             several subnets with routers between them are needed, which are not modelled"
        )
    })
}

/// Completes the values by those of the profile that `[interconnect]` names, and returns its figures that they now
/// have; keys that are given stay.
///
/// # Errors
/// A profile that there is not, and every mistake in a file.
pub(crate) fn insert(document: &mut Document) -> Result<Vec<Figure>, ScenarioError> {
    let Some(given) = document.values.get(TABLE).and_then(Value::as_table) else { return Ok(Vec::new()) };
    let interconnect = named(given, document).map_err(|errors| document.locate(errors))?;
    document.profile = complete_scenario(&mut document.values, interconnect.scenario);
    let addresses = interconnect.link.get(ADDRESSES).cloned();
    if let (Some(Value::Table(spec)), Some(addresses)) = (document.values.get_mut(TABLE), addresses) {
        spec.entry(ADDRESSES).or_insert(addresses);
    }
    set_rates(&mut document.values, &interconnect.link);
    let figures = interconnect.figures.into_iter();
    Ok(figures.filter(|figure| figure.is_in(&document.values)).collect())
}

/// A fabric that is given is not changed, and has a routing of its own unless it is of the profile's family.
/// Returns what the scenario may take.
fn complete_scenario(values: &mut Table, mut profile: Table) -> Table {
    if values.contains_key("topology") {
        if family(values) != family(&profile) {
            profile.remove("routing");
        }
        profile.remove("topology");
    }
    complete(values, profile.clone());
    profile
}

/// The profile that the table names, of those that come with Etherweave or of a file beside the scenario, less the keys
/// that the table leaves out.
fn named(table: &Table, document: &Document) -> Result<Interconnect, InputErrors> {
    let spec: InterconnectSpec = reader::read(table).map_err(|errors| errors.within(TABLE))?;
    let without = spec.without.clone();
    let mut interconnect = read(spec, document)?;
    leave_out(&without, &mut interconnect)?;
    Ok(interconnect)
}

fn read(spec: InterconnectSpec, document: &Document) -> Result<Interconnect, InputErrors> {
    match (spec.profile, spec.file) {
        (Some(name), None) => Interconnect::shipped(&name).map_err(|errors| errors.within(TABLE)),
        (None, Some(name)) => {
            let key = format!("{TABLE}.file");
            let unreadable = |reason| InputError::new(&key, format!("\"{name}\" cannot be read ({reason})"), "TOML");
            let text = files::read(&document.beside(&name)).map_err(unreadable)?;
            let interconnect = Interconnect::parse(&name, &text);
            interconnect.map_err(|errors| errors.iter().map(|error| in_file(&key, &name, error)).collect())
        }
        (Some(_), Some(_)) => Err(InputError::new(TABLE, "profile and file", "one of them").into()),
        (None, None) => Err(InputError::new(TABLE, "neither profile nor file", "one of them").into()),
    }
}

fn in_file(key: &str, name: &str, error: &InputError) -> InputError {
    InputError::new(key, format!("\"{name}\": {}: {}", error.key, error.found), &error.expected)
}

fn family(values: &Table) -> Option<&str> {
    match values.get("topology")? {
        Value::String(name) => Some(name),
        Value::Table(table) => table.keys().next().map(String::as_str),
        _ => None,
    }
}

/// Gives every link of the fabric whose rate the scenario does not say the rate of the interconnect.
fn set_rates(values: &mut Table, link: &Table) {
    #[derive(serde::Deserialize)]
    struct Fabric {
        topology: TopologyKind,
    }
    // What is missing or cannot be read is reported with the other mistakes of the scenario.
    let Some(topology) = values.get("topology").cloned() else { return };
    let Ok(fabric) = reader::read::<Fabric>(&Table::from_iter([("topology".to_owned(), topology.clone())])) else {
        return;
    };
    let name = fabric.topology.name();
    let full = Value::try_from(&fabric.topology).expect("a fabric is TOML");
    let Some(Value::Table(full)) = full.get(name).cloned() else { return };
    let mut table = topology.get(name).and_then(Value::as_table).cloned().unwrap_or_default();
    let rate_of = |key: &str| {
        let is_host = key == HOST_RATE || name == "single_switch";
        let key = if is_host && link.contains_key(HOST_RATE) { HOST_RATE } else { RATE };
        link.get(key).cloned()
    };
    set_in(&mut table, &full, &rate_of);
    values.insert("topology".to_owned(), Table::from_iter([(name.to_owned(), table.into())]).into());
}

/// Sets the rates of a table that has the keys of `full`, at any depth.
fn set_in(table: &mut Table, full: &Table, rate_of: &impl Fn(&str) -> Option<Value>) {
    for (key, value) in full {
        if key == RATE || key.ends_with("_rate") {
            if let (false, Some(rate)) = (table.contains_key(key), rate_of(key)) {
                table.insert(key.clone(), rate);
            }
        } else if let Value::Array(list) = value
            && list.iter().any(Value::is_table)
        {
            let empty = || Value::Array(list.iter().map(|_| Value::Table(Table::new())).collect());
            let rows = table.entry(key).or_insert_with(empty);
            for (row, full) in rows.as_array_mut().into_iter().flatten().zip(list) {
                if let (Value::Table(row), Value::Table(full)) = (row, full) {
                    set_in(row, full, rate_of);
                }
            }
        }
    }
}

/// The figures that a scenario has from its interconnect, with what they rest on, as JSON; none without one.
///
/// # Errors
/// As for reading a scenario, but for mistakes in what is not a file or a profile.
pub fn figures(text: &str, origin: &str, overrides: &[(String, String)]) -> Result<String, ScenarioError> {
    let mut document = Document::parse(text, origin, overrides)?;
    files::insert(&mut document)?;
    Ok(serde_json::to_string(&insert(&mut document)?).expect("figures are JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, testing::Folder};

    const JOB: &str = "[[job]]\nname = \"j\"\nworkload.osu_latency = {}\n";

    fn scenario(text: &str) -> Scenario {
        Scenario::parse(&format!("{text}\n{JOB}"), "x.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(text: &str) -> String {
        Scenario::parse(&format!("{text}\n{JOB}"), "x.toml", &[]).unwrap_err().to_string()
    }

    fn keys(text: &str) -> Vec<String> {
        let figures = figures(&format!("{text}\n{JOB}"), "x.toml", &[]).unwrap();
        let rows: Vec<Value> = serde_json::from_str(&figures).unwrap();
        rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn keys_that_are_left_out_have_their_own_defaults() {
        let profile = "[interconnect]\nprofile = \"ultra-ethernet-400\"\n";
        let uet = |text: &str| scenario(&format!("{profile}{text}")).transport.uet().cloned().unwrap();
        assert!(uet("").nscc.is_some());
        let credits = uet("without = [\"transport.uet.nscc\"]\n[transport.uet.rccc]\nbase_round_trip = \"8us\"");
        assert!(credits.nscc.is_none() && credits.rccc.is_some());
        let plain = scenario(&format!("{profile}without = [\"switch.trimming\"]"));
        assert!(plain.switch.trimming.is_none());
        assert_eq!(Scenario::parse(&plain.resolved(), "x.toml", &[]).unwrap().resolved(), plain.resolved());
        let unknown = error(&format!("{profile}without = [\"switch.trimming\", \"transport.uet.nsc\"]"));
        assert!(unknown.contains("interconnect.without.1: \"transport.uet.nsc\""), "{unknown}");
    }

    #[test]
    fn keys_to_leave_out_that_a_profile_does_not_set_have_the_nearest_that_it_sets() {
        let left_out =
            |profile: &str, keys: &str| error(&format!("[interconnect]\nprofile = \"{profile}\"\nwithout = [{keys}]"));
        let mistyped = left_out("ultra-ethernet-400", "\"switch.triming\"");
        assert!(mistyped.contains("a key that the profile sets; nearest is `switch.trimming`"), "{mistyped}");
        for table in ["link.host_rate", "link"] {
            let of_links = left_out("infiniband-ndr", &format!("\"{table}\""));
            assert!(of_links.contains("a key that the profile sets: link."), "{of_links}");
        }
        let product = left_out("infiniband-ndr", "\"product\"");
        assert!(product.contains("a key that the profile sets: flow_control, "), "{product}");
        for again in ["switch.trimming", "switch.trimming.size"] {
            let twice = left_out("ultra-ethernet-400", &format!("\"switch.trimming\", \"{again}\""));
            let mistake =
                format!("interconnect.without.1: \"{again}\" beside \"switch.trimming\"; expected each key once");
            assert!(twice.contains(&mistake), "{twice}");
        }
    }

    /// Links of hosts have 50 Gb/s in the profile, and others 200; the default of a fabric is 100.
    #[test]
    fn links_without_the_rates_of_the_profile_have_other_ones() {
        let folder = Folder::new("link");
        let figure = |value: &str| format!("{{ value = {value}, basis = \"estimate\", source = \"a guess\" }}");
        let link = format!("rate = {}\nhost_rate = {}\n", figure("\"200Gb/s\""), figure("\"50Gb/s\""));
        let text = format!("base = \"infiniband-hdr\"\nabout = \"a site\"\n[link]\n{link}");
        folder.write("mine.toml", text);
        let rates = |without: &str| {
            let text = format!("[interconnect]\nfile = \"mine.toml\"\nwithout = {without}\n[topology.fat_tree]\n{JOB}");
            let topology = Scenario::parse(&text, &folder.origin(), &[]).unwrap().topology.generate().unwrap();
            let mut rates =
                Vec::from_iter(topology.channels().iter().map(|channel| channel.rate.as_bps() / 1_000_000_000));
            rates.sort_unstable();
            rates.dedup();
            rates
        };
        let all = ["[]", "[\"link.host_rate\"]", "[\"link.rate\"]", "[\"link.rate\", \"link.host_rate\"]"].map(rates);
        assert_eq!(all, [vec![50, 200], vec![200], vec![50, 100], vec![100]]);
        let infiniband = "[interconnect]\nprofile = \"infiniband-hdr\"\nwithout = ";
        assert_eq!(scenario(&format!("{infiniband}[\"link.addresses\"]")).interconnect.unwrap().addresses, None);
        assert!(error(&format!("{infiniband}[\"link.length\"]")).contains("interconnect.without.0: \"link.length\""));
        let name = error(&format!("{infiniband}[\"host.mpi_roce.profile\"]"));
        assert!(
            name.contains("expected \"host.mpi_roce\", the table whose keys the name of a profile stands"),
            "{name}"
        );
    }

    /// RoCE without DCQCN, Swift or HPCC has no use for the marks of the profile's switches.
    #[test]
    fn mistakes_at_keys_of_the_profile_name_it() {
        let text = "[interconnect]\nprofile = \"ultra-ethernet-400\"\n";
        let roce = "[transport.roce]\n[flow_control.pfc]\npriorities = [0]\n";
        let mistakes = error(&format!("{text}{roce}"));
        let remedy = "the profile sets it, interconnect.without = [\"switch.ecn\"] leaves it out";
        assert!(mistakes.contains(remedy), "{mistakes}");
        let own =
            error(&format!("{text}{roce}[switch.ecn]\nqueue_min = \"1MB\"\nqueue_max = \"1kB\"\nshare_max = 1.0"));
        assert!(!own.contains(remedy), "{own}");
    }

    #[test]
    fn every_shipped_interconnect_is_a_fabric_that_runs() {
        for name in SHIPPED.names() {
            let scenario = scenario(&format!("interconnect.profile = \"{name}\""));
            let again = Scenario::parse(&scenario.resolved(), "x.toml", &[]).unwrap();
            assert_eq!(again.resolved(), scenario.resolved(), "{name}: what is resolved needs no profile");
        }
    }

    /// The scenario's own keys, then the profile that one of its tables names, then the interconnect.
    #[test]
    fn a_key_of_the_scenario_holds_before_its_interconnect() {
        let edr = "[interconnect]\nprofile = \"infiniband-edr\"\n";
        let spec = scenario(&format!("{edr}[switch]\nlatency = \"5us\"\n[host.mpi_roce]\nprofile = \"ucx-1.15\"\n"));
        assert_eq!(spec.switch.latency.as_ns_f64(), 5_000.0);
        assert_eq!(spec.switch.model, scenario(edr).switch.model, "the rest is the interconnect's");
        let changed = keys(&format!("{edr}switch.latency = \"5us\"\n").replace("switch.", "\n[switch]\n"));
        assert!(keys(edr).contains(&"switch.latency".to_owned()) && !changed.contains(&"switch.latency".to_owned()));
    }

    #[test]
    fn a_choice_of_the_scenario_is_not_mixed_with_that_of_its_interconnect() {
        let text = "[interconnect]\nprofile = \"ethernet-25-tcp\"\n[flow_control.pfc]\n[transport.roce]\n";
        let mixed = scenario(text);
        assert!(mixed.transport.roce().is_some() && mixed.transport.tcp().is_none());
        assert!(!keys(text).iter().any(|key| key.starts_with("transport") || key.starts_with("flow_control")));
    }

    #[test]
    fn links_without_a_rate_have_that_of_the_interconnect_in_every_family() {
        let of = |topology: &str| scenario(&format!("interconnect.profile = \"ethernet-25-roce\"\n{topology}"));
        let rates = |scenario: &Scenario| {
            let topology = scenario.topology.generate().unwrap();
            let mut rates: Vec<u64> =
                topology.channels().iter().map(|channel| channel.rate.as_bps() / 1_000_000_000).collect();
            rates.sort_unstable();
            rates.dedup();
            rates
        };
        for family in TopologyKind::NAMES.iter().filter(|family| **family != "custom") {
            assert_eq!(rates(&of(&format!("[topology.{family}]"))), [25], "{family}");
        }
        let uplinks = "[topology.fat_tree]\nuplink_rate = \"100Gb/s\"\n";
        assert_eq!(rates(&of(uplinks)), [25, 100]);
    }

    #[test]
    fn mistakes_in_the_table_are_located() {
        let unknown = error("[interconnect]\nprofile = \"infiniband-edrr\"");
        assert!(unknown.contains("x.toml:2:1: interconnect.profile: no interconnect \"infiniband-edrr\""), "{unknown}");
        assert!(error("[interconnect]").contains("neither profile nor file"));
        assert!(error("[interconnect]\nprofile = \"a\"\nfile = \"b\"").contains("profile and file"));
        let missing = error("[interconnect]\nfile = \"missing.toml\"");
        assert!(missing.contains("interconnect.file: \"missing.toml\" cannot be read"), "{missing}");
    }

    #[test]
    fn a_file_beside_the_scenario_is_a_profile() {
        let folder = Folder::new("interconnect");
        let with = |figure: &str| {
            let text = format!("base = \"infiniband-edr\"\nabout = \"a site\"\n[switch]\nlatency = {figure}\n");
            folder.write("mine.toml", text);
            let text = format!("[interconnect]\nfile = \"mine.toml\"\n{JOB}");
            Scenario::parse(&text, &folder.origin(), &[])
        };
        let cited = with("{ value = \"2us\", basis = \"fitted\", source = \"a measurement\" }");
        let uncited = with("\"2us\"");
        assert_eq!(cited.unwrap().switch.latency.as_ns_f64(), 2_000.0);
        let error = uncited.unwrap_err().to_string();
        let expected = "a.toml:2:1: interconnect.file: \"mine.toml\": switch.latency: a figure without its source";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_fabric_with_more_hosts_and_switches_than_a_subnet_has_addresses_is_warned_of() {
        let warned = |text: &str| {
            let scenario = scenario(text);
            let topology = scenario.topology.generate().unwrap();
            subnet_warning(scenario.interconnect.as_ref(), &topology)
        };
        // A dragonfly of 72 hosts on 36 switches.
        let fabric = |interconnect: &str| format!("{interconnect}\n[topology.dragonfly]");
        let infiniband = "interconnect.profile = \"infiniband-ndr\"";
        assert_eq!(warned(&fabric(infiniband)), None);
        let warning = warned(&fabric(&format!("{infiniband}\ninterconnect.addresses = 107"))).unwrap();
        let expected = "interconnect.addresses: 72 hosts and 36 switches, but a subnet has 107 addresses";
        assert!(warning.starts_with(expected), "{warning}");
        assert_eq!(warned(&fabric(&format!("{infiniband}\ninterconnect.addresses = 108"))), None);
        // Unicast LIDs: 0x0001 to 0xBFFF. A fat tree of 58 ports: 58^3 / 4 hosts, 5 · 58^2 / 4 switches.
        let large = "topology.k_ary_fat_tree.k = 58";
        assert_eq!(scenario(infiniband).interconnect.unwrap().addresses, Some(0xBFFF));
        let omni_path = scenario("interconnect.profile = \"omni-path-100\"").interconnect.unwrap();
        assert_eq!(omni_path.addresses, Some(0xEFFF_FFFF), "its base has LIDs of 16 bits");
        let warning = warned(&format!("{infiniband}\n{large}")).unwrap();
        assert!(warning.contains("48778 hosts and 4205 switches, but a subnet has 49151 addresses"), "{warning}");
        assert_eq!(warned(&format!("interconnect.profile = \"ethernet-400-roce\"\n{large}")), None);
    }
}
