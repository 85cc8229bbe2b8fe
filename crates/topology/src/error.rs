//! Why parameters do not make a fabric.

use std::borrow::Cow;
use std::fmt;

use etherweave_primitives::BitRate;

use crate::builder::{LENGTH_MAX, RATE_MAX, RATE_MIN};

/// What is wrong, where, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TopologyError {
    /// A parameter is out of its range.
    Parameter {
        /// The parameter's name, with dots where it lies deeper.
        name: Cow<'static, str>,
        /// What was given.
        found: String,
        /// What would do.
        expected: Cow<'static, str>,
    },
    /// Some place in a listed fabric cannot be understood.
    Text {
        /// The parameter that holds the text.
        name: &'static str,
        /// Where in the text.
        place: TextPlace,
        /// What is wrong.
        found: String,
        /// What would do.
        expected: String,
    },
    /// A host has no link, or more than one.
    HostLinks {
        /// The host's name.
        host: String,
        /// How many links it has.
        links: usize,
    },
    /// A link joins two hosts.
    HostToHost {
        /// One end.
        from: String,
        /// The other end.
        to: String,
    },
    /// A link joins a node with itself.
    SelfLink {
        /// The node's name.
        node: String,
    },
    /// A link is slower or faster than any Ethernet.
    Rate {
        /// One end.
        from: String,
        /// The other end.
        to: String,
        /// Its rate.
        rate: BitRate,
    },
    /// A cable is longer than any Ethernet link.
    TooLong {
        /// One end.
        from: String,
        /// The other end.
        to: String,
    },
    /// Two nodes cannot reach each other.
    Disconnected {
        /// A node that the first host reaches.
        from: String,
        /// A node that it does not reach.
        to: String,
    },
    /// A node has a name that an export cannot express.
    Name {
        /// The node's name.
        node: String,
        /// What the format is called.
        format: &'static str,
        /// What would do.
        expected: String,
    },
    /// More links, or more ports on one node, than ids can count.
    TooLarge {
        /// What there is too much of.
        what: String,
        /// How much would do.
        limit: u64,
    },
}

/// A place in a text that lists a fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextPlace {
    /// A line, counted from 1.
    Line(usize),
    /// An element: "links.2".
    Element(String),
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextPlace::Line(line) => write!(f, "line {line}"),
            TextPlace::Element(element) => f.write_str(element),
        }
    }
}

impl TopologyError {
    /// A parameter out of its range.
    pub fn parameter(
        name: impl Into<Cow<'static, str>>,
        found: impl fmt::Display,
        expected: impl Into<Cow<'static, str>>,
    ) -> TopologyError {
        TopologyError::Parameter { name: name.into(), found: found.to_string(), expected: expected.into() }
    }

    /// The parameter that the error is about, when it is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Parameter { name, .. } => Some(name),
            Self::Text { name, .. } => Some(name),
            Self::HostLinks { .. }
            | Self::HostToHost { .. }
            | Self::SelfLink { .. }
            | Self::Rate { .. }
            | Self::TooLong { .. }
            | Self::Disconnected { .. }
            | Self::Name { .. }
            | Self::TooLarge { .. } => None,
        }
    }
}

impl TopologyError {
    /// The message for a reader who sees the key beside it.
    pub fn beside_key(&self) -> String {
        let message = self.to_string();
        let key = self.key().unwrap_or_default();
        let rest = message.strip_prefix(key).unwrap_or(&message).trim_start();
        rest.strip_prefix("is ").unwrap_or(rest).to_owned()
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { name, found, expected } => write!(f, "{name} is {found}; expected {expected}"),
            Self::Text { name, place, found, expected } => {
                write!(f, "{name} {place}: {found}; expected {expected}")
            }
            Self::HostLinks { host, links } => write!(f, "{host} has {links} links; expected exactly one, to a switch"),
            Self::HostToHost { from, to } => {
                write!(f, "a link joins the hosts {from} and {to}; expected a switch at one end")
            }
            Self::SelfLink { node } => write!(f, "a link joins {node} with itself; expected two different nodes"),
            Self::Rate { from, to, rate } => {
                write!(f, "the link {from} - {to} has rate {rate}; expected {RATE_MIN} to {RATE_MAX}")
            }
            Self::TooLong { from, to } => {
                write!(f, "the link {from} - {to} is too long; expected at most {LENGTH_MAX}")
            }
            Self::Disconnected { from, to } => {
                write!(f, "{to} cannot be reached from {from}; expected a connected fabric")
            }
            Self::Name { node, format, expected } => {
                write!(f, "{format} has no way to name {node:?}; expected {expected}")
            }
            Self::TooLarge { what, limit } => write!(f, "too many {what}; expected at most {limit}"),
        }
    }
}

impl std::error::Error for TopologyError {}
