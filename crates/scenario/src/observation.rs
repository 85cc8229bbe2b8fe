//! One point of a scenario's synthetic traffic, batch by batch and channel by channel: what pictures show.
//!
//! Areas are the groups of the fabric, or its switches where it has none.

use std::{collections::BTreeMap, ops::Range, time::Instant};

use etherweave_openloop::{Pattern, Report, RunLength, RunParams};
use etherweave_primitives::{ChannelId, Duration, HostId, InputError, InputErrors, SwitchId};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Channel, Node, Topology};
use serde::Deserialize;

use crate::open_loop::{self, CurvePoint, SimulatedFabric};
use crate::result::tables::{Column, Table, integers, numbers, texts};
use crate::{
    Estimate, OpenLoopSpec, forecast::estimate, parts::network::OpenLoopNetwork, parts::pattern_spec::PatternSpec,
    parts::routing, text::conversions, text::reader,
};

/// Choice of the observed point; what is absent is the first of the scenario.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PointChoice {
    /// A routing of the scenario as rows call it or by its bare name, or the name of any other.
    pub routing: Option<String>,
    /// A pattern of the scenario as rows call it or by its bare name, or the name of any other.
    pub pattern: Option<String>,
    /// A share of the hosts' links, 0.000001..=1.
    pub load: Option<f64>,
}

pub(crate) struct ObservedPoint {
    routing: RoutingKind,
    pattern: PatternSpec,
    load: f64,
}

impl PointChoice {
    /// The chosen point.
    ///
    /// # Errors
    /// When there is no such routing or pattern, or none is chosen and the scenario has none.
    pub(crate) fn of(&self, spec: &OpenLoopSpec) -> Result<ObservedPoint, InputError> {
        Ok(ObservedPoint {
            routing: first_or("routing", self.routing.as_deref(), &spec.routings, routing::is_called)?,
            pattern: first_or("pattern", self.pattern.as_deref(), &spec.patterns, PatternSpec::is_called)?,
            load: self.load.or(spec.loads.first().copied()).ok_or_else(|| none_given("load"))?,
        })
    }
}

impl ObservedPoint {
    /// Estimates what its observation needs.
    ///
    /// # Errors
    /// When a time of the switches is out of range.
    pub(crate) fn estimate(
        &self,
        spec: &OpenLoopSpec,
        topology: &Topology,
        network: &OpenLoopNetwork,
    ) -> Result<Estimate, InputErrors> {
        let length = length(spec, &self.pattern.0);
        estimate::observe(&length, &self.pattern.0, self.load, (topology, network))
    }
}

/// Simulates one point and records every batch: `points` with its row, `patterns`, `channels`, `steps` and `series`.
///
/// # Errors
/// When it cannot be simulated; with the key from the scenario's root.
pub(crate) fn observe(
    fabric: &SimulatedFabric<'_>,
    spec: &OpenLoopSpec,
    seed: u64,
    point: ObservedPoint,
    threads: usize,
) -> Result<Vec<Table>, InputErrors> {
    spec.check(fabric, seed)?;
    let ObservedPoint { routing, pattern, load } = point;
    let run = RunParams { load, length: length(spec, &pattern.0), records_steps: true, seed };
    let tables = spec.fabric_tables(fabric.kind, fabric.topology);
    let traffic = spec.traffic(fabric, &tables, &pattern, run);
    let started = Instant::now();
    let report = traffic.run_with(routing, threads).map_err(conversions::open_loop)?;
    let wall_s = started.elapsed().as_secs_f64();
    let packet_ns: Vec<f64> = (0..fabric.topology.channels().len())
        .map(|id| traffic.links.packet_time(ChannelId::from_index(id), traffic.switch.packet).as_ns_f64())
        .collect();
    let bound = traffic.bound_with(routing).map_err(|error| conversions::open_loop(error.into()))?;
    let change_ns = open_loop::change_ns(&traffic.pattern);
    let pattern_name = pattern.label();
    let point =
        [CurvePoint { routing, pattern: pattern_name, load, change_ns, bound, saturation: None, report, wall_s }];
    let animation = Animation::new(fabric.topology, &point[0].report, &packet_ns)?;
    Ok(vec![
        open_loop::table(&point, fabric.topology),
        patterns(&pattern.0),
        animation.channels(),
        animation.steps(),
        animation.series(),
    ])
}

/// Returns the choice: a member of the list that is called so, or any other by its name.
fn first_or<T: Clone + for<'de> Deserialize<'de>>(
    key: &'static str,
    name: Option<&str>,
    listed: &[T],
    is_called: fn(&T, &str) -> bool,
) -> Result<T, InputError> {
    let Some(name) = name else { return listed.first().cloned().ok_or_else(|| none_given(key)) };
    let by_name = || reader::name(name).map_err(|error| error.within(key));
    listed.iter().find(|member| is_called(member, name)).map_or_else(by_name, |member| Ok(member.clone()))
}

fn none_given(key: &'static str) -> InputError {
    InputError::new(key, "none given", "one, as the scenario lists none")
}

/// The scenario's times. A pattern that turns is watched from the start and for as long after the last turn as before
/// it, unless the scenario says otherwise: a turn in the warm-up would not be seen, and nothing is steady around it.
fn length(spec: &OpenLoopSpec, pattern: &Pattern) -> RunLength {
    let length = spec.length();
    let turn = turns(pattern).last().map_or(Duration::ZERO, |&(at, _)| at);
    if turn.is_zero() {
        return length;
    }
    let warm_up = length.warm_up.or(Some(Duration::ZERO));
    RunLength { warm_up, measured: length.measured.or(Some(turn + turn)), ..length }
}

/// Active patterns, each with its start.
fn turns(pattern: &Pattern) -> Vec<(Duration, &Pattern)> {
    let (mut turns, mut start, mut pattern) = (Vec::new(), Duration::ZERO, pattern);
    while let Pattern::Switching(switching) = pattern {
        turns.push((start, &*switching.from));
        (start, pattern) = (switching.at, &switching.to);
    }
    turns.push((start, pattern));
    turns
}

fn patterns(pattern: &Pattern) -> Table {
    let rows = turns(pattern);
    let label = |pattern: &Pattern| PatternSpec(pattern.clone()).label();
    Table {
        name: "patterns",
        columns: vec![
            ("start_ns", numbers(&rows, |(at, _)| at.as_ns_f64())),
            ("pattern", texts(&rows, |(_, pattern)| label(pattern))),
        ],
    }
}

struct SwitchChannel<'a> {
    channel: &'a Channel,
    from: SwitchId,
    to: SwitchId,
    port: usize,
    /// Time of a packet on it [ns].
    packet_ns: f64,
    areas: (u32, u32),
}

/// Animation of the channels and batches of a report.
struct Animation<'a> {
    topology: &'a Topology,
    report: &'a Report,
    links: Vec<SwitchChannel<'a>>,
    /// Batches that lie in the measured time as a whole.
    batches: Range<usize>,
    /// Packets that the links of all hosts carry in a nanosecond.
    packets_per_ns: f64,
}

impl<'a> Animation<'a> {
    fn new(topology: &'a Topology, report: &'a Report, packet_ns: &[f64]) -> Result<Animation<'a>, InputError> {
        let (span, batch) = (&report.measured_ns, report.batch_ns);
        let batches = span.start.div_ceil(batch) as usize..(span.end / batch) as usize;
        if batches.is_empty() {
            let (found, expected) = (format!("{}ns", span.len()), format!("a whole batch, of {batch}ns here"));
            return Err(InputError::new("open_loop.measured", found, expected));
        }
        let group_axis = topology.axes().iter().position(|axis| axis == "group");
        let area = |at: SwitchId| group_axis.map_or(at.get(), |axis| topology.coordinates(at)[axis]);
        let link = |(id, channel): (usize, &'a Channel)| {
            let (Node::Switch(from), Node::Switch(to)) = (channel.from.node, channel.to.node) else { return None };
            let port = from.index() * report.radix + channel.from.port.index();
            Some(SwitchChannel { channel, from, to, port, packet_ns: packet_ns[id], areas: (area(from), area(to)) })
        };
        let links = topology.channels().iter().enumerate().filter_map(link).collect();
        let of_host = |host| 1.0 / packet_ns[topology.host_channel(HostId::from_index(host)).index()];
        let packets_per_ns = (0..topology.hosts()).map(of_host).sum();
        Ok(Animation { topology, report, links, batches, packets_per_ns })
    }

    /// Every channel between switches, over the measured time.
    fn channels(&self) -> Table {
        let name = |at: SwitchId| self.topology.switch_name(at).to_owned();
        let links = &self.links;
        Table {
            name: "channels",
            columns: vec![
                ("from", texts(links, |link| name(link.from))),
                ("from_port", integers(links, |link| link.channel.from.port.get().into())),
                ("to", texts(links, |link| name(link.to))),
                ("class", texts(links, |link| link.channel.class.name().to_owned())),
                ("group_from", integers(links, |link| link.areas.0.into())),
                ("group_to", integers(links, |link| link.areas.1.into())),
                ("utilisation", numbers(links, |link| self.report.busy[link.port].into())),
            ],
        }
    }

    /// The channels from one area to another, by areas.
    fn pairs(&self) -> BTreeMap<(u32, u32), Vec<&SwitchChannel<'a>>> {
        let mut pairs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for link in self.links.iter().filter(|link| link.areas.0 != link.areas.1) {
            pairs.entry(link.areas).or_default().push(link);
        }
        pairs
    }

    /// Every pair of areas with channels, in every batch.
    fn steps(&self) -> Table {
        let pairs = self.pairs();
        let utilisation = self.utilisation(&pairs);
        let rows: Vec<_> =
            self.batches.clone().flat_map(|batch| pairs.keys().map(move |&pair| (batch, pair))).collect();
        Table {
            name: "steps",
            columns: vec![
                ("time_ns", integers(&rows, |&(batch, _)| self.start_ns(batch))),
                ("group_from", integers(&rows, |&(_, areas)| areas.0.into())),
                ("group_to", integers(&rows, |&(_, areas)| areas.1.into())),
                ("utilisation", Column::Numbers(utilisation)),
            ],
        }
    }

    /// Means over the channels of each pair, batch by batch. A step counts a packet when it has left, so that one may
    /// hold a packet more than the link carries in a batch; that counts in the next.
    fn utilisation(&self, pairs: &BTreeMap<(u32, u32), Vec<&SwitchChannel<'a>>>) -> Vec<f64> {
        let batch_ns = f64::from(self.report.batch_ns);
        let mut queued_ns = vec![0.0; self.report.busy.len()];
        let mut values = Vec::with_capacity(self.batches.len() * pairs.len());
        for frame in &self.report.steps[self.batches.clone()] {
            for links in pairs.values() {
                let mut sent_ns = 0.0;
                for &&SwitchChannel { port, packet_ns, .. } in links {
                    let granted_ns = queued_ns[port] + f64::from(frame[port]) * packet_ns;
                    queued_ns[port] = (granted_ns - batch_ns).max(0.0);
                    sent_ns += granted_ns.min(batch_ns);
                }
                values.push(sent_ns / (batch_ns * links.len() as f64));
            }
        }
        values
    }

    /// Loads and latency in every batch; the latency is not a number where nothing arrived.
    fn series(&self) -> Table {
        let batch_of = |number: usize| (number, self.report.batches.get(number).copied().unwrap_or_default());
        let rows: Vec<_> = self.batches.clone().map(batch_of).collect();
        let share = 1.0 / (f64::from(self.report.batch_ns) * self.packets_per_ns);
        let latency = |sum: u64, count: u64| if count == 0 { f64::NAN } else { sum as f64 / count as f64 };
        Table {
            name: "series",
            columns: vec![
                ("time_ns", integers(&rows, |&(number, _)| self.start_ns(number))),
                ("duration_ns", integers(&rows, |_| self.report.batch_ns.into())),
                ("load_offered", numbers(&rows, |(_, batch)| batch.offered as f64 * share)),
                ("load_accepted", numbers(&rows, |(_, batch)| batch.delivered as f64 * share)),
                ("latency_ns_mean", numbers(&rows, |(_, batch)| latency(batch.latency, batch.delivered))),
            ],
        }
    }

    fn start_ns(&self, batch: usize) -> u64 {
        batch as u64 * u64::from(self.report.batch_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> OpenLoopSpec {
        toml::from_str(text).unwrap()
    }

    fn times(text: &str) -> (Option<Duration>, Option<Duration>) {
        let spec = spec(text);
        let length = length(&spec, &spec.patterns[0].0);
        (length.warm_up, length.measured)
    }

    #[test]
    fn a_turn_is_watched_for_as_long_after_it_as_before_it_unless_the_scenario_says_otherwise() {
        let us = |us| Some(Duration::from_us(us));
        let turn = r#"patterns = [{ switching = { at = "30us" } }]"#;
        assert_eq!(times(turn), (us(0), us(60)));
        assert_eq!(times(&format!("{turn}\nwarm_up = \"10us\"")), (us(10), us(60)));
        assert_eq!(times(&format!("{turn}\nmeasured = \"40us\"")), (us(0), us(40)));
        assert_eq!(times(r#"patterns = ["uniform"]"#), (None, None));
    }

    #[test]
    fn patterns_that_follow_each_other_are_listed_with_their_times() {
        let spec = spec(
            r#"[[patterns]]
            switching.at = "1us"
            switching.to.switching = { at = "2us", from = { shift = {} }, to = { tornado = {} } }"#,
        );
        let columns = patterns(&spec.patterns[0].0).columns;
        assert_eq!(columns[0], ("start_ns", Column::Numbers(vec![0.0, 1_000.0, 2_000.0])));
        let labels = ["uniform", "shift", "tornado"].into_iter().collect();
        assert_eq!(columns[1], ("pattern", Column::Texts(labels)));
    }

    #[test]
    fn a_choice_is_a_member_of_the_list_before_it_is_any_other_by_its_name() {
        let listed = spec(r#"patterns = [{ switching = { at = "30us" } }, { adversarial = { offset = 2 } }]"#).patterns;
        let choose = |name| {
            let pattern = first_or("pattern", name, &listed, PatternSpec::is_called);
            pattern.map(|pattern| pattern.label()).map_err(|error| error.to_string())
        };
        assert_eq!(choose(None).unwrap(), "uniform, from 30us on adversarial+1");
        assert_eq!(choose(Some("adversarial+2")).unwrap(), "adversarial+2");
        assert_eq!(choose(Some("adversarial")).unwrap(), "adversarial+2");
        assert_eq!(choose(Some("uniform")).unwrap(), "uniform");
        let error = choose(Some("unifrom")).unwrap_err();
        assert!(error.starts_with("pattern: unknown name `unifrom`; expected one of `uniform`"), "{error}");
    }
}
