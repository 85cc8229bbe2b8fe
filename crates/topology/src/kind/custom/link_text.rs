//! One link as a text gives it, common to all three forms of text.

use std::collections::HashSet;

use etherweave_primitives::{BitRate, InputError, Length};

use crate::{Cable, LinkClass, Medium};

pub(super) struct Edge {
    /// Numbers of its nodes.
    pub ends: [usize; 2],
    pub rate: BitRate,
    pub cable: Cable,
    /// Class of the link, when it is given.
    pub class: Option<LinkClass>,
    /// Parallel links.
    pub links: u32,
}

/// Values of links that do not give them themselves.
pub(super) struct LinkDefaults {
    pub rate: BitRate,
    pub cable: Cable,
}

/// The attributes of one link as texts; absent ones have defaults.
#[derive(Default)]
pub(super) struct LinkAttributes<'a> {
    pub rate: Option<&'a str>,
    pub to_rate: Option<&'a str>,
    pub length: Option<&'a str>,
    pub medium: Option<&'a str>,
    pub class: Option<&'a str>,
    pub links: Option<u64>,
}

impl LinkAttributes<'_> {
    /// The link between two nodes.
    pub fn edge(&self, ends: [usize; 2], defaults: &LinkDefaults) -> Result<Edge, InputError> {
        let rate = self.rate.map_or(Ok(defaults.rate), read_rate)?;
        let to_rate = self.to_rate.map_or(Ok(rate), read_rate)?;
        if to_rate != rate {
            return Err(mistake(
                format!("port speeds {rate} and {to_rate} differ"),
                "the same rate at both ends".to_owned(),
            ));
        }
        let links = self.links.unwrap_or(1);
        if !(1..=1024).contains(&links) {
            return Err(mistake(format!("links is {links}"), "1 to 1024".to_owned()));
        }
        let class = self.class.map(read_class).transpose()?;
        Ok(Edge { ends, rate, cable: self.cable(defaults)?, class, links: links as u32 })
    }

    fn cable(&self, defaults: &LinkDefaults) -> Result<Cable, InputError> {
        let length: Option<Length> = self.length.map(read_length).transpose()?;
        let medium = self.medium.map(read_medium).transpose()?;
        Ok(match (length, medium) {
            (None, None) => defaults.cable,
            (Some(length), None) => length.into(),
            (length, Some(medium)) => Cable::new(length.unwrap_or(defaults.cable.length()), medium),
        })
    }
}

fn read_rate(text: &str) -> Result<BitRate, InputError> {
    text.parse().map_err(|error| with_example(error, "100Gb/s"))
}

fn read_length(text: &str) -> Result<Length, InputError> {
    text.parse().map_err(|error| with_example(error, "3m"))
}

fn with_example(error: InputError, example: &str) -> InputError {
    mistake(error.found, format!("{}, such as {example}", error.expected))
}

fn read_medium(text: &str) -> Result<Medium, InputError> {
    let medium = Medium::ALL.into_iter().find(|medium| medium.name().eq_ignore_ascii_case(text));
    medium.ok_or_else(|| mistake(format!("\"{text}\" is not a medium"), "copper or optical".to_owned()))
}

fn read_class(text: &str) -> Result<LinkClass, InputError> {
    let class = LinkClass::ALL.into_iter().find(|class| class.name().eq_ignore_ascii_case(text));
    class.ok_or_else(|| mistake(format!("\"{text}\" is not a link class"), "host, local or global".to_owned()))
}

/// Cables and ports that have been listed, to find those listed twice.
#[derive(Default)]
pub(super) struct ListedCables {
    /// Pairs of nodes, without and with ports.
    bare: HashSet<[usize; 2]>,
    joined: HashSet<[usize; 2]>,
    ports: HashSet<(usize, String)>,
}

impl ListedCables {
    /// Lists one more cable by its nodes and, where they are named, its ports.
    pub fn add(&mut self, ends: [usize; 2], ports: [Option<&str>; 2], names: [&str; 2]) -> Result<(), InputError> {
        for ((end, port), name) in ends.into_iter().zip(ports).zip(names) {
            if port.is_some_and(|port| !self.ports.insert((end, port.to_owned()))) {
                let reason = format!("port {} of {name} has two cables", port.unwrap_or_default());
                return Err(mistake(reason, "one cable per port".to_owned()));
            }
        }
        let pair = if ends[0] <= ends[1] { ends } else { [ends[1], ends[0]] };
        let is_bare = ports == [None, None];
        let is_known = if is_bare { self.joined.contains(&pair) } else { self.bare.contains(&pair) };
        if is_bare {
            self.bare.insert(pair);
        }
        self.joined.insert(pair);
        if is_known {
            let reason = format!("the cable {} - {} is listed twice", names[0], names[1]);
            let expected = "each pair once with its number of links, or different ports".to_owned();
            return Err(mistake(reason, expected));
        }
        Ok(())
    }
}

/// Whether a node is a host.
pub(super) fn read_kind(kind: Option<&str>) -> Result<bool, InputError> {
    let is = |name: &str| kind.is_some_and(|kind| kind.eq_ignore_ascii_case(name));
    let expected = "host or switch";
    let other = kind.filter(|_| !is("host") && !is("switch"));
    other.map_or(Ok(is("host")), |other| Err(mistake(format!("\"{other}\" is not a kind of node"), expected)))
}

/// The mistake at a place that the caller adds.
pub(super) fn mistake(reason: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("", reason, expected)
}
