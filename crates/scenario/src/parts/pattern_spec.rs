//! A pattern as `[open_loop]` names it: `"uniform"`, or `{ adversarial = { offset = 2 } }`.

use std::fmt;

use etherweave_openloop::Pattern;
use etherweave_workload::pattern::Switching;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A pattern by its name alone, with its default parameters, or as a table with parameters.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct PatternSpec(pub Pattern);

impl PatternSpec {
    /// Returns its name in rows and drawings: `uniform`, `adversarial+1`, `uniform, from 50us on adversarial+1`, or the
    /// name with the parameters that differ.
    pub(crate) fn label(&self) -> String {
        label(&self.0)
    }

    /// Whether a word is what rows call it, or its bare name.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        self.label() == word || self.0.name() == word
    }
}

fn label(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Switching(Switching { from, to, at }) => format!("{}, from {at} on {}", label(from), label(to)),
        Pattern::Adversarial(adversarial) if adversarial.hosts_per_switch.is_none() => {
            format!("adversarial+{}", adversarial.offset)
        }
        pattern if Pattern::defaults().contains(pattern) => pattern.name().to_owned(),
        Pattern::Alternating(turns) => {
            let labels: Vec<String> = turns.patterns.iter().map(label).collect();
            format!("{} by turns of {}", labels.join(", "), turns.period)
        }
        pattern => {
            let parameters = serde_json::to_value(pattern).expect("parameters are numbers, names and lists of them");
            format!("{} {}", pattern.name(), parameters[pattern.name()])
        }
    }
}

impl<'de> Deserialize<'de> for PatternSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = PatternSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pattern's name, or a table of one")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<PatternSpec, E> {
        let pattern = Pattern::defaults().into_iter().find(|pattern| pattern.name() == name);
        pattern.map(PatternSpec).ok_or_else(|| E::unknown_variant(name, Pattern::NAMES))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PatternSpec, A::Error> {
        Pattern::deserialize(MapAccessDeserializer::new(map)).map(PatternSpec)
    }
}

impl JsonSchema for PatternSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PatternSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Pattern>();
        json_schema!({ "anyOf": [{ "enum": Pattern::NAMES }, table] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct List {
        patterns: Vec<PatternSpec>,
    }

    fn labels(text: &str) -> Result<Vec<String>, String> {
        let list: List = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        Ok(list.patterns.iter().map(PatternSpec::label).collect())
    }

    #[test]
    fn a_name_stands_for_its_defaults_and_other_parameters_are_shown() {
        let texts =
            labels(r#"patterns = ["uniform", "adversarial", { adversarial = { offset = 2 } }, { shift = {} }]"#);
        assert_eq!(texts.unwrap(), ["uniform", "adversarial+1", "adversarial+2", "shift"]);
        let texts = labels("patterns = [{ listed = { pairs = [[0, 3]] } }]");
        assert_eq!(texts.unwrap(), [r#"listed {"pairs":[[0,3]]}"#]);
        let turns = r#"{ alternating = { patterns = [{ adversarial = {} }, { uniform = {} }], period = "9us" } }"#;
        let later = r#"{ switching = { to.adversarial.offset = 3, at = "2us" } }"#;
        let texts = labels(&format!("patterns = [{turns}, {later}]"));
        assert_eq!(texts.unwrap(), ["adversarial+1, uniform by turns of 9us", "uniform, from 2us on adversarial+3"]);
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_known_ones() {
        let error = labels(r#"patterns = ["unifrom"]"#).unwrap_err();
        assert!(error.starts_with("unknown variant `unifrom`, expected one of `uniform`, `adversarial`"), "{error}");
    }
}
