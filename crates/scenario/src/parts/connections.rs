//! Number of connections of each pair of ranks: `"per pair"`, `"per communicator"`, `"per message"`, or a number.

use std::fmt;

use etherweave_sim::PairConnections;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Connections that messages of a pair have with `"per message"`: as many are under way at once, each on its own.
const PER_MESSAGE: u32 = 64;
/// Communicators whose messages a pair exchanges, for estimates: in training, gradients and keys of attention.
const SHARING: u32 = 2;
/// Words and numbers that are accepted.
const EXPECTED: &str = "\"per pair\", \"per communicator\", \"per message\", or a number from 1 to 1024";

/// Connections of a pair of ranks on two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Connections {
    /// A single one, which keeps the order of messages, as MPI libraries have it.
    #[default]
    PerPair,
    /// One for each communicator whose messages the pair exchanges, as NCCL has it, and one for messages of none.
    PerCommunicator,
    /// One for each message, as flows have; the 65th takes the first again.
    PerMessage,
    /// So many.
    Count(u32),
}

impl Connections {
    pub(crate) fn of_pair(self) -> PairConnections {
        match self {
            Connections::PerPair => PairConnections::InTurn(1),
            Connections::PerCommunicator => PairConnections::PerCommunicator,
            Connections::PerMessage => PairConnections::InTurn(PER_MESSAGE),
            Connections::Count(count) => PairConnections::InTurn(count),
        }
    }

    /// How many a pair has at most, before the communicators are known that share one.
    pub(crate) fn count(self) -> u32 {
        match self.of_pair() {
            PairConnections::InTurn(count) => count,
            PairConnections::PerCommunicator => SHARING,
        }
    }
}

impl serde::Serialize for Connections {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Connections::PerPair => serializer.serialize_str("per pair"),
            Connections::PerCommunicator => serializer.serialize_str("per communicator"),
            Connections::PerMessage => serializer.serialize_str("per message"),
            Connections::Count(count) => serializer.serialize_u32(*count),
        }
    }
}

impl<'de> Deserialize<'de> for Connections {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrNumber)
    }
}

struct WordOrNumber;

impl Visitor<'_> for WordOrNumber {
    type Value = Connections;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Connections, E> {
        match word {
            "per pair" => Ok(Connections::PerPair),
            "per communicator" => Ok(Connections::PerCommunicator),
            "per message" => Ok(Connections::PerMessage),
            _ => Err(E::invalid_value(Unexpected::Str(word), &EXPECTED)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Connections, E> {
        let count = u32::try_from(number).ok().filter(|count| (1..=etherweave_sim::CONNECTIONS_MAX).contains(count));
        count.map(Connections::Count).ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &EXPECTED))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Connections, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl JsonSchema for Connections {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Connections".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Connections of a pair of ranks on two hosts.",
            "anyOf": [
                { "enum": ["per pair", "per communicator", "per message"] },
                { "type": "integer", "minimum": 1, "maximum": etherweave_sim::CONNECTIONS_MAX }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, serde::Serialize)]
    struct Job {
        connections: Connections,
    }

    #[test]
    fn a_word_or_a_number_says_how_many_there_are() {
        for (text, count) in [
            ("\"per pair\"", 1),
            ("\"per communicator\"", SHARING),
            ("\"per message\"", PER_MESSAGE),
            ("1", 1),
            ("1024", 1024),
        ] {
            let job: Job = toml::from_str(&format!("connections = {text}")).unwrap();
            assert_eq!(job.connections.count(), count, "{text}");
            assert_eq!(toml::to_string(&job).unwrap(), format!("connections = {text}\n"));
        }
    }

    #[test]
    fn others_are_refused_with_what_was_expected() {
        for text in ["0", "1025", "-1", "\"per rank\"", "true", "99999999999"] {
            let read = toml::from_str::<Job>(&format!("connections = {text}"));
            let error = read.err().expect("it is no number of connections").to_string();
            assert!(error.contains(EXPECTED), "{text}: {error}");
        }
    }
}
