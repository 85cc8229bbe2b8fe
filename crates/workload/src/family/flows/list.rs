//! Lists of flows as files have them: CSV, the flows of ns-3's HPCC, the connections of htsim.

use std::collections::BTreeMap;

use etherweave_primitives::{Duration, InputError, Rank};

use super::draw::flow_of;
use crate::{StreamSpec, limits::FLOWS_MAX, limits::MESSAGE_MAX, limits::separated};

/// Hosts beyond which a list names none.
const RANKS_MAX: u64 = 1 << 20;
/// Latest start, two months [s].
const START_MAX_S: f64 = 5e6;
/// Lines of a cycle that an error names beside the first.
const CYCLE_SHOWN_MAX: usize = 8;

/// The number of hosts that flows name: one more than the highest.
pub(super) fn ranks(flows: &[StreamSpec]) -> u32 {
    flows.iter().map(|flow| flow.src_rank.max(flow.dst_rank).get() + 1).max().unwrap_or(0)
}

/// Hosts that a list may name: their number, and what says it.
#[derive(Clone, Copy)]
pub(super) struct HostLimit {
    pub hosts: u64,
    pub by: &'static str,
}

impl HostLimit {
    /// Limit of every list.
    pub const NONE: HostLimit = HostLimit { hosts: RANKS_MAX, by: "" };

    /// Expectation of a word.
    fn expected(self) -> String {
        let HostLimit { hosts, by } = self;
        let by = if by.is_empty() { String::new() } else { format!(", as {by}") };
        format!("the number of a rank from 0 to {}{by}: ranks are numbered in the order of hosts", hosts.max(1) - 1)
    }
}

/// Flows of a list, in its order: all, or those of a priority.
///
/// # Errors
/// At the line of a mistake.
pub(super) fn read(text: &str, priority: Option<u8>, hosts: HostLimit) -> Result<Vec<StreamSpec>, InputError> {
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines()).map(|(number, line)| (number, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
    let expected = "a head as `source,destination,bytes,start_us`, a number of flows, or `Nodes N`";
    let &(number, head) = lines.peek().ok_or_else(|| InputError::new("", "an empty list", expected))?;
    let room = text.bytes().filter(|&byte| byte == b'\n').count().min(FLOWS_MAX as usize);
    let mut list =
        FlowList { priority, hosts, count: 0, others: 0, flows: Vec::with_capacity(room), named: Vec::new() };
    if head.parse::<u64>().is_ok() {
        hpcc(&mut lines, &mut list)?;
    } else if head.to_ascii_lowercase().starts_with("nodes") {
        htsim(&mut lines, &mut list)?;
    } else {
        csv(&mut lines, &mut list)?;
    }
    let count = list.flows.len() as u64;
    InputError::unless(count > 0, "", list.none(), list.expected()).map_err(|error| error.at_line(number))?;
    let expected = format!("at most {}", separated(FLOWS_MAX));
    InputError::unless(count <= FLOWS_MAX, "", format!("{} flows", separated(count)), expected)?;
    list.joined()
}

/// Flows that have been read.
struct FlowList<'t> {
    priority: Option<u8>,
    hosts: HostLimit,
    /// Flows of all priorities.
    count: u64,
    /// Priorities of flows that are not asked for, a bit each.
    others: u8,
    flows: Vec<StreamSpec>,
    /// Flows that have a name or name another, with their places.
    named: Vec<(usize, ListedFlow<'t>)>,
}

impl<'t> FlowList<'t> {
    /// Takes the flow of a line, if it is in the priority that is asked for.
    fn push(&mut self, flow: ListedFlow<'t>) -> Result<(), InputError> {
        self.count += 1;
        let last = flow.spec.src_rank.max(flow.spec.dst_rank).get();
        if u64::from(last) >= self.hosts.hosts {
            return Err(wrong(flow.line, last, self.hosts.expected()));
        }
        if self.priority.is_some() && flow.priority.is_none() {
            let expected = "one, as the key priority asks for some of them";
            return Err(wrong(flow.line, "a flow without a priority", expected));
        }
        if self.priority.is_none_or(|priority| flow.priority == Some(priority)) {
            self.flows.push(flow.spec);
            if flow.after.is_some() || flow.ends.iter().any(Option::is_some) {
                self.named.push((self.flows.len() - 1, flow));
            }
        } else if let Some(priority) = flow.priority {
            self.others |= 1 << priority;
        }
        Ok(())
    }

    /// Name of what is missing where no flow is taken.
    fn none(&self) -> String {
        self.priority.map_or("no flow".to_owned(), |priority| format!("no flow of priority {priority}"))
    }

    /// Priorities that the flows have, where no flow is taken.
    fn expected(&self) -> String {
        let priorities =
            (0..8).filter(|priority| self.others >> priority & 1 == 1).map(|number: u8| number.to_string());
        match &priorities.collect::<Vec<_>>()[..] {
            [] => "at least one flow".to_owned(),
            [only] => format!("priority {only}, which all flows have"),
            several => format!("one of {}", several.join(", ")),
        }
    }

    /// The flows, with names of flows that others wait for replaced by their places.
    fn joined(mut self) -> Result<Vec<StreamSpec>, InputError> {
        let mut names = BTreeMap::new();
        for (place, flow) in &self.named {
            for (name, end) in flow.ends.into_iter().flatten() {
                if names.insert(name, (*place, end)).is_some() {
                    let expected = "a name of its own for the end of each flow";
                    return Err(wrong(flow.line, format!("{name} again"), expected));
                }
            }
        }
        for (place, flow) in &self.named {
            let Some(name) = flow.after else { continue };
            let Some(&(other, end)) = names.get(name) else {
                let expected = "the id of a flow of the list, in the same priority where that is asked for";
                return Err(wrong(flow.line, format!("after {name}"), expected));
            };
            flow.check_seen(name, &self.flows[other], end)?;
            if let Some(start) = &mut self.flows[*place].flow_start {
                start.waits_for = Some(other as u32);
            }
        }
        self.check_order()?;
        Ok(self.flows)
    }

    /// Rejects flows that wait for each other, by the lines of all of them.
    fn check_order(&self) -> Result<(), InputError> {
        let before = |place: usize| self.flows[place].flow_start?.waits_for.map(|place| place as usize);
        let line = |place: usize| {
            let at = self.named.binary_search_by_key(&place, |(place, _)| *place).expect("it waits");
            self.named[at].1.line
        };
        // The walk in which a flow was last met.
        let mut met = vec![usize::MAX; if self.named.is_empty() { 0 } else { self.flows.len() }];
        for &(first, _) in &self.named {
            let mut next = Some(first);
            while let Some(place) = next.filter(|&place| met[place] == usize::MAX) {
                met[place] = first;
                next = before(place);
            }
            let Some(place) = next.filter(|&place| met[place] == first) else { continue };
            let others =
                std::iter::successors(before(place), |&other| before(other)).take_while(|&other| other != place);
            let mut others: Vec<String> =
                others.take(CYCLE_SHOWN_MAX + 1).map(|other| line(other).to_string()).collect();
            if others.len() > CYCLE_SHOWN_MAX {
                others[CYCLE_SHOWN_MAX] = "...".to_owned();
            }
            let over = if others.is_empty() { String::new() } else { format!(", over line {}", others.join(", ")) };
            return Err(wrong(line(place), format!("a flow that waits for itself{over}"), "no cycle"));
        }
        Ok(())
    }
}

struct ListedFlow<'t> {
    line: usize,
    spec: StreamSpec,
    priority: Option<u8>,
    /// Names of its end: for whom it ends, where the list says so.
    ends: [Option<(&'t str, Option<FlowEnd>)>; 2],
    /// Name of the end that it waits for.
    after: Option<&'t str>,
}

/// Host that sees a flow end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlowEnd {
    Sent,
    Received,
}

impl ListedFlow<'_> {
    /// Rejects a flow whose source does not see the end of the flow that it waits for.
    fn check_seen(&self, name: &str, other: &StreamSpec, end: Option<FlowEnd>) -> Result<(), InputError> {
        let [source, src, dst] = [self.spec.src_rank, other.src_rank, other.dst_rank].map(Rank::get);
        let (is_seen, expected) = match end {
            Some(FlowEnd::Sent) => {
                (source == src, format!("host {src}, which sees that the flow of trigger {name} is sent"))
            }
            Some(FlowEnd::Received) => {
                (source == dst, format!("host {dst}, which sees the flow of trigger {name} arrive"))
            }
            None => (source == src || source == dst, format!("host {src} or {dst}, which see flow {name} end")),
        };
        let cause = if end.is_some() { "trigger" } else { "flow" };
        let mistake = format!("source {source} of a flow that waits for {cause} {name}");
        if is_seen { Ok(()) } else { Err(wrong(self.line, mistake, expected)) }
    }
}

type Line<'t> = (usize, &'t str);

fn wrong(number: usize, text: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("", text, expected).at_line(number)
}

/// A flow between two hosts, which nothing waits for.
fn flow<'t>(
    number: usize,
    ends: [&str; 2],
    bytes: &str,
    start: Duration,
    hosts: HostLimit,
) -> Result<ListedFlow<'t>, InputError> {
    let host = |word: &str| {
        let host = word.parse::<u64>().ok().filter(|&host| host < RANKS_MAX);
        host.map(|host| host as u32).ok_or_else(|| wrong(number, word, hosts.expected()))
    };
    let (src, dst) = (host(ends[0])?, host(ends[1])?);
    if src == dst {
        return Err(wrong(number, format!("from {src} to itself"), "two hosts"));
    }
    let size = bytes.parse::<u64>().ok().filter(|size| (1..=MESSAGE_MAX.get()).contains(size));
    let size = size.ok_or_else(|| wrong(number, bytes, format!("bytes from 1 to {}", MESSAGE_MAX.get())))?;
    let spec = flow_of(src, dst, size, start);
    Ok(ListedFlow { line: number, spec, priority: None, ends: [None; 2], after: None })
}

/// A priority of 802.1Q.
fn priority(number: usize, word: &str) -> Result<u8, InputError> {
    word.parse().ok().filter(|priority| *priority < 8).ok_or_else(|| wrong(number, word, "a priority from 0 to 7"))
}

/// A time of so many seconds, whose unit is a share of a second.
fn time(number: usize, word: &str, unit_s: f64) -> Result<Duration, InputError> {
    let seconds = word.parse::<f64>().ok().map(|value| value * unit_s);
    let seconds = seconds.filter(|seconds| (0.0..=START_MAX_S).contains(seconds));
    let seconds = seconds.ok_or_else(|| wrong(number, word, "a start of 0 or more"))?;
    Ok(Duration::from_ps((seconds * 1e12).round() as u64))
}

/// `traffic_gen` of HPCC: the number of flows, then `source destination group port bytes start_s`. Its simulations
/// start at 2 s: the first flow starts at 0 here.
fn hpcc<'t>(lines: &mut impl Iterator<Item = Line<'t>>, list: &mut FlowList<'t>) -> Result<(), InputError> {
    let (head, count) = lines.next().expect("the caller has seen it");
    let mut first: Option<Duration> = None;
    for (number, line) in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [src, dst, group, _, bytes, start] = words[..] else {
            return Err(wrong(number, line, "source, destination, priority group, port, bytes and start in seconds"));
        };
        let start = time(number, start, 1.0)?;
        first = first.min(Some(start)).or(Some(start));
        let listed = flow(number, [src, dst], bytes, start, list.hosts)?;
        list.push(ListedFlow { priority: Some(priority(number, group)?), ..listed })?;
    }
    if count.parse() != Ok(list.count) {
        return Err(wrong(head, format!("{count}, where {} flows follow", list.count), "their number"));
    }
    let first = first.unwrap_or(Duration::ZERO);
    for start in list.flows.iter_mut().filter_map(|flow| flow.flow_start.as_mut()) {
        start.after = start.after - first;
    }
    Ok(())
}

/// A connection matrix of htsim: `Nodes N`, `Connections C`, then `SOURCE->DESTINATION start PS size B prio P`, with
/// `trigger T` where it waits, `send_done_trigger T` and `recv_done_trigger T` where others wait for it; and the
/// triggers, each of which a flow fires.
fn htsim<'t>(lines: &mut impl Iterator<Item = Line<'t>>, list: &mut FlowList<'t>) -> Result<(), InputError> {
    let mut announced = None;
    for (number, line) in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let value = |name: &str| {
            let place = words.iter().position(|word| word.eq_ignore_ascii_case(name));
            place.and_then(|place| words.get(place + 1).copied())
        };
        match words[0].to_ascii_lowercase().as_str() {
            "nodes" | "triggers" => continue,
            "connections" => {
                announced = Some((number, words.get(1).copied().unwrap_or_default()));
                continue;
            }
            "failures" if words.get(1) == Some(&"0") => continue,
            "trigger" if words.iter().any(|word| matches!(*word, "oneshot" | "multishot")) => continue,
            "trigger" => return Err(wrong(number, line, "oneshot or multishot: a flow waits for one other")),
            _ => {}
        }
        let ends = words[0]
            .split_once("->")
            .ok_or_else(|| wrong(number, line, "SOURCE->DESTINATION; failures are not read"))?;
        let bytes = value("size").ok_or_else(|| wrong(number, line, "`size` with bytes"))?;
        let after = value("trigger");
        if after.is_some() && value("start").is_some() {
            return Err(wrong(number, line, "start or trigger"));
        }
        let start = time(number, value("start").unwrap_or("0"), 1e-12)?;
        let listed = flow(number, [ends.0, ends.1], bytes, start, list.hosts)?;
        let ends = [("send_done_trigger", FlowEnd::Sent), ("recv_done_trigger", FlowEnd::Received)]
            .map(|(name, end)| Some((value(name)?, Some(end))));
        let priority = value("prio").map(|word| priority(number, word)).transpose()?;
        list.push(ListedFlow { priority, ends, after, ..listed })?;
    }
    match announced {
        Some((number, count)) if count.parse() != Ok(list.count) => {
            Err(wrong(number, format!("{count} connections, where {} follow", list.count), "their number"))
        }
        _ => Ok(()),
    }
}

/// Columns of a CSV file by name.
struct Columns {
    source: usize,
    destination: usize,
    bytes: usize,
    /// Place and unit [s].
    start: Option<(usize, f64)>,
    priority: Option<usize>,
    id: Option<usize>,
    after: Option<usize>,
    count: usize,
}

/// Names of starts and their units [s].
const STARTS: [(&str, f64); 5] =
    [("start_ps", 1e-12), ("start_ns", 1e-9), ("start_us", 1e-6), ("start_ms", 1e-3), ("start_s", 1.0)];

impl Columns {
    /// # Errors
    /// When a column is missing.
    fn of((number, head): Line<'_>, separator: char) -> Result<Columns, InputError> {
        let names: Vec<String> = fields(head, separator).map(str::to_ascii_lowercase).collect();
        let place = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
        let needed = |known: &[&str]| {
            place(known).ok_or_else(|| {
                let starts: Vec<&str> = STARTS.iter().map(|(name, _)| *name).collect();
                let expected = format!("columns source, destination, bytes; a start may follow, {}", starts.join(", "));
                wrong(number, format!("no column {}", known[0]), expected)
            })
        };
        let start = STARTS.iter().find_map(|&(name, unit)| Some((place(&[name])?, unit)));
        if place(&["start"]).is_some() {
            return Err(wrong(number, "start, without a unit", "start_ps, start_ns, start_us, start_ms or start_s"));
        }
        Ok(Columns {
            source: needed(&["source", "src"])?,
            destination: needed(&["destination", "dst"])?,
            bytes: needed(&["bytes", "size"])?,
            start,
            priority: place(&["priority"]),
            id: place(&["id"]),
            after: place(&["after"]),
            count: names.len(),
        })
    }
}

fn fields(line: &str, separator: char) -> impl Iterator<Item = &str> {
    line.split(separator).map(|field| field.trim().trim_matches('"'))
}

/// A table with a head. Without a start, all flows start at once.
fn csv<'t>(lines: &mut impl Iterator<Item = Line<'t>>, list: &mut FlowList<'t>) -> Result<(), InputError> {
    let head = lines.next().expect("the caller has seen it");
    let separator = [',', ';', '\t'].into_iter().find(|&separator| head.1.contains(separator)).unwrap_or(',');
    let columns = Columns::of(head, separator)?;
    for (number, line) in lines {
        let words: Vec<&str> = fields(line, separator).collect();
        if words.len() != columns.count {
            return Err(wrong(number, format!("{} fields", words.len()), format!("{}, as in the head", columns.count)));
        }
        let start = columns.start.map_or(Ok(Duration::ZERO), |(place, unit)| time(number, words[place], unit))?;
        let ends = [words[columns.source], words[columns.destination]];
        let listed = flow(number, ends, words[columns.bytes], start, list.hosts)?;
        let word = |place: Option<usize>| place.map(|place| words[place]).filter(|word| !word.is_empty());
        let priority = word(columns.priority).map(|word| priority(number, word)).transpose()?;
        let ends = [word(columns.id).map(|id| (id, None)), None];
        list.push(ListedFlow { priority, ends, after: word(columns.after), ..listed })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: HostLimit = HostLimit::NONE;

    /// Source, destination, bytes and start [ps] of each flow.
    fn rows(text: &str) -> Vec<(u32, u32, u64, u64)> {
        let row = |flow: &StreamSpec| {
            (flow.src_rank.get(), flow.dst_rank.get(), flow.bytes_per_message, flow.flow_start.unwrap().after.as_ps())
        };
        read(text, None, ANY).unwrap().iter().map(row).collect()
    }

    fn error(text: &str) -> String {
        read(text, None, ANY).unwrap_err().to_string()
    }

    #[test]
    fn lists_of_three_tools_are_read() {
        let expected = vec![(0, 5, 1000, 0), (3, 1, 20_000, 1_500_000)];
        assert_eq!(rows("source,destination,bytes,start_us\n0,5,1000,0\n3,1,20000,1.5\n"), expected);
        assert_eq!(rows("\u{feff}Dst;Src;Size;Start_ns\n5;0;1000;0\n1;3;20000;1500\n"), expected);
        assert_eq!(rows("src\tdst\tbytes\tstart_s\n0\t5\t1000\t0\n3\t1\t20000\t0.0000015\n"), expected);
        assert_eq!(rows("2\n0 5 3 100 1000 2.000000000\n3 1 3 200 20000 2.0000015\n"), expected);
        let matrix = "Nodes 8\nConnections 2\n0->5 id 1 start 0 size 1000\n3->1 size 20000 start 1500000 prio 2\n";
        assert_eq!(rows(matrix), expected);
    }

    #[test]
    fn without_starts_all_flows_start_at_once() {
        assert_eq!(rows("source,destination,bytes\n0,1,7\n1,0,8\n"), [(0, 1, 7, 0), (1, 0, 8, 0)]);
    }

    #[test]
    fn a_flow_waits_for_another_at_the_host_that_sees_it_end() {
        let waits = |text: &str| -> Vec<Option<u32>> {
            read(text, None, ANY).unwrap().iter().map(|flow| flow.flow_start.unwrap().waits_for).collect()
        };
        let expected = vec![None, Some(0), Some(0), Some(1)];
        let rows = "a,0,1,9,\n,0,2,9,a\nc,1,3,9,a\n";
        assert_eq!(waits(&format!("id,src,dst,bytes,after\n{rows}")), expected[..3]);
        let matrix = "Nodes 4\nConnections 4\nTriggers 3\n0->1 size 9 send_done_trigger 1 recv_done_trigger 2\n\
                      0->2 trigger 1 size 9 recv_done_trigger 3\n1->3 trigger 2 size 9\n2->3 trigger 3 size 9\n\
                      trigger id 1 oneshot\ntrigger id 2 oneshot\ntrigger id 3 oneshot\n";
        assert_eq!(waits(matrix), expected);
        let wrong = matrix.replace("2->3", "0->3");
        let expected = "source 0 of a flow that waits for trigger 3; expected host 2, which sees the flow of trigger 3 \
                        arrive";
        assert!(error(&wrong).ends_with(expected));
    }

    #[test]
    fn flows_of_a_priority_are_taken_from_a_list() {
        let count = |text: &str| read(text, Some(2), ANY).map(|flows| flows.len()).map_err(|error| error.to_string());
        assert_eq!(count("src,dst,bytes,priority\n0,1,9,2\n0,2,9,3\n2,1,9,2\n"), Ok(2));
        assert_eq!(count("2\n0 1 3 100 9 2.0\n0 1 2 100 9 2.0\n"), Ok(1));
        let missing = count("Nodes 2\n0->1 size 9 prio 2\n1->0 size 9\n").unwrap_err();
        assert!(missing.starts_with("line 3: a flow without a priority; expected one"), "{missing}");
        let none = |text: &str| count(text).unwrap_err();
        let head = "line 1: no flow of priority 2; expected";
        assert_eq!(none("src,dst,bytes,priority\n0,1,9,0\n1,2,9,3\n"), format!("{head} one of 0, 3"));
        assert_eq!(none("src,dst,bytes,priority\n0,1,9,3\n"), format!("{head} priority 3, which all flows have"));
        assert_eq!(none("src,dst,bytes,priority\n"), format!("{head} at least one flow"));
    }
}
