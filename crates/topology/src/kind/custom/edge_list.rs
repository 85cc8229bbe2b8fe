//! The edge list: CSV (RFC 4180), one link per line.

use etherweave_primitives::{InputError, TextPlace};
use std::collections::BTreeSet;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::graph::ListedGraph;
use super::link_text::{Edge, LinkAttributes, LinkDefaults, mistake};

pub(super) const HEADER: &str = "from,to,rate,length";
const COLUMNS: [&str; 7] = ["from", "to", "rate", "length", "medium", "class", "to_rate"];
/// Command for lists with other columns, named in errors.
const IMPORT: &str = "`etherweave import` reads a list with other names of nodes and columns";
/// Number of columns without a header: the first ones, both ends at least.
const PLAIN: std::ops::RangeInclusive<usize> = 2..=5;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Numbered {
    Host(u32),
    Switch(u32),
}

pub(super) fn read(text: &str, hosts: u32, defaults: &LinkDefaults) -> Result<ListedGraph, InputError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).trim(Trim::All).delimiter(separator(text));
    let mut reader = builder.from_reader(text.as_bytes());
    let mut columns: Option<Vec<usize>> = None;
    let mut edges = Vec::new();
    for record in reader.records() {
        let record =
            record.map_err(|error| InputError::new("links", error, format_args!("CSV with the columns {HEADER}")))?;
        let at_line = |error: InputError| error.within("links").at_line(line_of(&record, text));
        let fields = uncommented(&record);
        if fields.iter().all(|field| field.is_empty()) {
            continue;
        }
        match &columns {
            None if fields.iter().any(|field| field.eq_ignore_ascii_case(COLUMNS[0])) => {
                columns = Some(header(&fields).map_err(at_line)?)
            }
            None => {
                columns = Some((0..COLUMNS.len()).collect());
                edges.push(edge(&fields, None, hosts, defaults).map_err(at_line)?);
            }
            Some(columns) => edges.push(edge(&fields, Some(columns), hosts, defaults).map_err(at_line)?),
        }
    }
    graph(edges)
}

/// The line of a record, counted from 1. The reader says where the record before ends: line ends may follow.
fn line_of(record: &StringRecord, text: &str) -> usize {
    let end = record.position().map_or(0, |position| position.byte() as usize);
    let gap = text[end..].bytes().take_while(|byte| b"\r\n".contains(byte)).count();
    TextPlace::of_byte(text, end + gap).line
}

/// Returns the separator of the fields of the first line that has any: a comma, a semicolon or a tab.
fn separator(text: &str) -> u8 {
    let mut lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let line = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
    b",;\t".iter().copied().find(|&separator| line.contains(char::from(separator))).unwrap_or(b',')
}

/// The fields before a comment.
fn uncommented(record: &StringRecord) -> Vec<&str> {
    let mut fields = Vec::with_capacity(record.len());
    for field in record {
        match field.split_once('#') {
            None => fields.push(field),
            Some((before, _)) => {
                if !before.trim().is_empty() || fields.is_empty() {
                    fields.push(before.trim());
                }
                break;
            }
        }
    }
    fields
}

/// Returns for each column of the text its index in [`COLUMNS`].
fn header(fields: &[&str]) -> Result<Vec<usize>, InputError> {
    let column = |field: &&str| {
        let known = COLUMNS.iter().position(|column| column.eq_ignore_ascii_case(field));
        let expected = format!("{}; {IMPORT}", COLUMNS.join(", "));
        known.ok_or_else(|| mistake(format!("unknown column \"{field}\""), expected))
    };
    let columns = fields.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let distinct: BTreeSet<usize> = columns.iter().copied().collect();
    if distinct.len() < columns.len() || ![0, 1].iter().all(|end| columns.contains(end)) {
        return Err(mistake(fields.join(","), "the columns from and to, and each column at most once"));
    }
    Ok(columns)
}

/// One line; `columns` is none for the first line of a list without a header.
fn edge(
    fields: &[&str],
    columns: Option<&Vec<usize>>,
    hosts: u32,
    defaults: &LinkDefaults,
) -> Result<([Numbered; 2], Edge), InputError> {
    let plain: Vec<usize> = (0..COLUMNS.len()).collect();
    let columns = columns.unwrap_or(&plain);
    let is_plain = *columns == plain;
    let expected = if is_plain { PLAIN.contains(&fields.len()) } else { fields.len() == columns.len() };
    if !expected {
        let expected = if is_plain {
            format!("2 to 5: {HEADER},medium; {IMPORT}")
        } else {
            format!("{}, as the header", columns.len())
        };
        return Err(mistake(format!("{} fields", fields.len()), expected));
    }
    let field = |wanted: usize| {
        let position = columns.iter().position(|&column| column == wanted);
        position.and_then(|position| fields.get(position).copied()).filter(|field| !field.is_empty())
    };
    let end = |wanted: usize| numbered(field(wanted).unwrap_or_default(), hosts);
    let ends = [end(0)?, end(1)?];
    let [rate, length, medium, class, to_rate] = [field(2), field(3), field(4), field(5), field(6)];
    let attributes = LinkAttributes { rate, to_rate, length, medium, class, links: None };
    Ok((ends, attributes.edge([0, 0], defaults)?))
}

fn numbered(field: &str, hosts: u32) -> Result<Numbered, InputError> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<u32>().ok())?
    };
    let host = field.strip_prefix('h').and_then(number);
    let switch = field.strip_prefix('s').and_then(number);
    match (host, switch) {
        (Some(host), _) if hosts != 0 && host >= hosts => {
            Err(mistake(format!("there is no host \"{field}\""), format!("h0 to h{}", hosts - 1)))
        }
        (Some(host), _) => Ok(Numbered::Host(host)),
        (None, Some(switch)) => Ok(Numbered::Switch(switch)),
        (None, None) => {
            let expected = format!("a host such as h0 or a switch such as s3; {IMPORT}");
            Err(mistake(format!("\"{field}\" is not a node"), expected))
        }
    }
}

/// Numbers become nodes, hosts first, once it is known that they have no gaps.
fn graph(edges: Vec<([Numbered; 2], Edge)>) -> Result<ListedGraph, InputError> {
    let occurring: BTreeSet<Numbered> = edges.iter().flat_map(|(ends, _)| *ends).collect();
    let (mut host_count, mut switch_count) = (0, 0);
    for &node in &occurring {
        let (letter, number, count) = match node {
            Numbered::Host(number) => ('h', number, &mut host_count),
            Numbered::Switch(number) => ('s', number, &mut switch_count),
        };
        if number != *count {
            let gap = format!("naming {letter}{number} but not {letter}{count}");
            return Err(InputError::new("links", gap, "hosts and switches numbered without gaps from 0"));
        }
        *count += 1;
    }
    let name = |node: &Numbered| match node {
        Numbered::Host(number) => (format!("host{number}"), true),
        Numbered::Switch(number) => (format!("s{number}"), false),
    };
    let place = |node: Numbered| match node {
        Numbered::Host(number) => number as usize,
        Numbered::Switch(number) => (host_count + number) as usize,
    };
    let edges = edges.into_iter().map(|(ends, edge)| Edge { ends: ends.map(place), ..edge }).collect();
    Ok(ListedGraph::new(occurring.iter().map(name).collect(), edges))
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{InputErrors, SwitchId};

    use crate::{Custom, Family, LinkClass, Medium, Topology};

    fn generate(links: &str) -> Result<Topology, InputErrors> {
        Custom { links: links.to_owned(), ..Custom::default() }.generate()
    }

    #[test]
    fn the_level_of_a_switch_is_its_distance_from_the_nearest_switch_with_a_host() {
        let links = "h0,s0,1Gb/s,3m\nh1,s4,1Gb/s,3m\ns0,s1,1Gb/s,3m\ns1,s2,1Gb/s,3m\ns2,s3,1Gb/s,3m\ns3,s4,1Gb/s,3m";
        let topology = generate(links).unwrap();
        let levels: Vec<u8> = (0..5).map(|switch| topology.level(SwitchId::new(switch))).collect();
        assert_eq!(levels, [0, 1, 2, 1, 0]);
    }

    #[test]
    fn a_long_chain_of_doubled_links_is_read_in_linear_time() {
        // Following every path instead of every switch would take 2^300 steps.
        let links: String = (0..300).map(|i| format!("s{i},s{},1Gb/s,3m\n", i + 1).repeat(2)).collect();
        let topology = generate(&format!("h0,s0,1Gb/s,3m\n{links}")).unwrap();
        assert_eq!(topology.level(SwitchId::new(254)), 254);
        assert_eq!(topology.level(SwitchId::new(300)), 255);
    }

    #[test]
    fn a_header_names_the_columns_in_any_order() {
        let links = "class,from,to,medium,rate,to_rate\n,h0,s0,optical,25Gb/s,25Gb/s\nglobal,s0,s1,,100Gb/s,";
        let topology = generate(links).unwrap();
        let capitals = "Class,From,TO,Medium,Rate,To_Rate\n,h0,s0,Optical,25 GbE,25GBE\nGlobal,s0,s1,,100Gb/s,";
        assert_eq!(generate(capitals).unwrap(), topology);
        let [host, _, between, _] = topology.channels() else { panic!("two links") };
        assert_eq!((host.medium, host.class, host.rate.as_bps()), (Medium::Optical, LinkClass::Host, 25_000_000_000));
        assert_eq!((between.medium, between.class), (Medium::Copper, LinkClass::Global));
    }

    #[test]
    fn lists_of_spreadsheets_and_of_other_tools_are_read() {
        let known = generate("h0,s0,100Gb/s\nh1,s0,100Gb/s").unwrap();
        let others = ["\u{feff}h0;s0;100Gbps\nh1;s0;100GbE\n", "# nodes\nh0\ts0\t100G\nh1\ts0\t12.5 GB/s\n"];
        for list in others {
            assert_eq!(generate(list).unwrap(), known, "{list}");
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        let check = |links: &str, expected: &str| assert_eq!(generate(links).unwrap_err().to_string(), expected);
        let differ = "links: line 2: port speeds 100Gb/s and 25Gb/s differ; expected the same rate at both ends";
        check("from,to,rate,to_rate\nh0,s0,100Gb/s,25Gb/s", differ);
        check(
            "from,to,colour",
            "links: line 1: unknown column \"colour\"; expected from, to, rate, length, medium, \
            class, to_rate; `etherweave import` reads a list with other names of nodes and columns",
        );
        for names in ["leaf0,node1", "source,target\nh0,s0", "H0,s0"] {
            let error = generate(names).unwrap_err().to_string();
            assert!(error.contains("is not a node; expected a host such as h0") && error.contains("import"), "{error}");
        }
        check("from,to\nh0", "links: line 2: 1 fields; expected 2, as the header");
        for ends in ["\n", "\r\n", "\n\n", "\r\n\r\n"] {
            let error = generate(&format!("h0,s0,25G{ends}h1,s0,25X{ends}")).unwrap_err().to_string();
            let line = ends.matches('\n').count() + 1;
            assert!(error.starts_with(&format!("links: line {line}: \"25X\"")), "{error}");
        }
        check("h0,s0,1Gb/s,3m,steel", "links: line 1: \"steel\" is not a medium; expected copper or optical");
        check(
            "h1,s0,1Gb/s,3m",
            "links: naming h1 but not h0; expected hosts and switches numbered without gaps from 0",
        );
    }
}
