//! Small fabrics.

use etherweave_primitives::{ChannelId, Stream, SwitchId};
use etherweave_scenario::{Fabric, Scenario};
use etherweave_topology::{Topology, TopologyKind};
use toml::{Table, Value};

use crate::{failure::calmly, tree};

/// Hosts and switches of a fabric, at most.
pub(crate) const HOSTS_MAX: usize = 60;
const SWITCHES_MAX: usize = 80;
/// Changes to parameters until a fabric is small.
const CHANGES_MAX: usize = 24;

/// Whether a fabric was made, and is small.
pub(crate) fn is_small(fabric: Option<&Topology>) -> bool {
    fabric.is_some_and(|fabric| (2..=HOSTS_MAX).contains(&fabric.hosts()) && fabric.switches() <= SWITCHES_MAX)
}

/// The fabric of the tables `topology` and `host_ports`.
pub(crate) fn of(topology: &Table, ports: &Table) -> Option<Topology> {
    let tables = [("topology", topology), ("host_ports", ports)];
    let keys = tables.map(|(key, table)| (key.to_owned(), Value::Table(table.clone())));
    let text = toml::to_string(&Table::from_iter(keys)).expect("a table is TOML");
    calmly(|| Fabric::parse(&text, "x.toml", &[]).ok().map(|fabric| fabric.topology().clone())).ok()?
}

fn kind(topology: &Table) -> Result<TopologyKind, Vec<String>> {
    let text = toml::to_string(&Table::from_iter([("topology".to_owned(), Value::Table(topology.clone()))]));
    let scenario = Scenario::parse(&text.expect("a table is TOML"), "x.toml", &[]);
    scenario
        .map(|scenario| scenario.topology)
        .map_err(|error| error.mistakes.into_iter().map(|mistake| mistake.error.key).collect())
}

/// Removes what is refused and makes numbers smaller until the fabric is small; returns whether it is.
pub(crate) fn reduce(topology: &mut Table, dice: &mut Stream) -> bool {
    for _ in 0..CHANGES_MAX {
        // A fabric whose parameters make a panic is kept, so that the case fails.
        let Ok(generated) = calmly(|| kind(topology).map(|kind| kind.generate())) else { return true };
        let refused = match generated {
            Err(keys) => keys,
            Ok(generated) => match generated {
                Ok(fabric) if is_small(Some(&fabric)) => return true,
                Ok(_) => Vec::new(),
                Err(errors) => errors.into_iter().map(|error| format!("topology.{}", error.key)).collect(),
            },
        };
        let below = |key: &String| key.strip_prefix("topology.").map(str::to_owned);
        let refused: Vec<String> = refused.iter().filter_map(below).filter(|key| key.contains('.')).collect();
        if refused.is_empty() || dice.happens(1, 3) {
            shrink_number(topology, dice);
        }
        refused.iter().for_each(|key| remove_nearest(topology, key));
    }
    false
}

fn remove_nearest(topology: &mut Table, key: &str) {
    if let Some((path, _)) = tree::nearest(topology, key).filter(|(path, _)| path.contains('.')) {
        tree::remove(topology, &path);
    }
}

fn shrink_number(topology: &mut Table, dice: &mut Stream) {
    let mut numbers = tree::keys(topology);
    numbers.retain(|key| matches!(tree::get(topology, key), Some(Value::Integer(2..))));
    if numbers.is_empty() {
        return;
    }
    let key = &numbers[dice.below(numbers.len() as u64) as usize];
    if let Some(&Value::Integer(number)) = tree::get(topology, key) {
        tree::set(topology, key, Value::Integer(1 + dice.below(number as u64 - 1) as i64));
    }
}

/// A fabric of listed links: a random tree of switches, links beyond it, and hosts, rates and lengths of all sorts.
pub(crate) fn custom(dice: &mut Stream, hosts_max: usize) -> Table {
    let (switches, hosts) = (1 + dice.below(8), 2 + dice.below(hosts_max as u64 / 4));
    let mut links = String::new();
    let mut link = |dice: &mut Stream, from: String, to: String| {
        let rate = [10, 25, 40, 100, 100, 400][dice.below(6) as usize];
        let length = [1, 3, 20, 300][dice.below(4) as usize];
        links += &format!("{from},{to},{rate}Gb/s,{length}m\n");
    };
    for host in 0..hosts {
        // Some hosts have several ports.
        for _ in 0..1 + dice.below(8) / 7 {
            let switch = dice.below(switches);
            link(dice, format!("h{host}"), format!("s{switch}"));
        }
    }
    for switch in 1..switches {
        let other = dice.below(switch);
        link(dice, format!("s{switch}"), format!("s{other}"));
    }
    for _ in 0..dice.below(switches) {
        let (from, to) = (dice.below(switches), dice.below(switches));
        if from != to {
            link(dice, format!("s{from}"), format!("s{to}"));
        }
    }
    let hosts = Value::Integer(hosts as i64);
    Table::from_iter([("hosts".to_owned(), hosts), ("links".to_owned(), Value::String(links))])
}

pub(crate) fn cable(fabric: &Topology, dice: &mut Stream) -> String {
    let channel = ChannelId::from_index(dice.below(fabric.channels().len() as u64) as usize);
    let channel = fabric.channel(channel);
    format!("{} - {}", fabric.name(channel.from.node), fabric.name(channel.to.node))
}

pub(crate) fn switch(fabric: &Topology, dice: &mut Stream) -> String {
    fabric.switch_name(SwitchId::from_index(dice.below(fabric.switches() as u64) as usize)).to_owned()
}
