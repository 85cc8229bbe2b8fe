//! TOML values as a scenario: a serde deserializer that reports every mistake with its key.
//!
//! A value that cannot be read is reported and left out, and the rest is read again; so one file reports all its
//! unknown keys, wrong types and bad units at once. What follows from a value that was left out is not reported: a
//! table of which a required key is wrong, a list of which an element is wrong as a whole.

use serde::de::{self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor, value};
use toml::{Table, Value};

use etherweave_primitives::{InputError, InputErrors, nearest_of};

/// Reads a value of type `T`.
///
/// # Errors
/// Every mistake, each with its key.
pub(crate) fn read<T: for<'de> de::Deserialize<'de>>(values: &Table) -> Result<T, InputErrors> {
    let mut values = Value::Table(values.clone());
    let mut errors: Vec<ReadError> = Vec::new();
    let mut removed: Vec<Vec<Part>> = Vec::new();
    loop {
        match T::deserialize(ValueReader(values.clone())) {
            Ok(value) if errors.is_empty() => return Ok(value),
            Ok(_) => break,
            Err(mut error) => {
                error.path.reverse();
                let path = error.path.clone();
                // The parts of a value that was left out do not miss it.
                if !removed.iter().any(|gone| gone.starts_with(&path)) {
                    errors.push(error);
                }
                if errors.last().is_some_and(|error| error.path == path && error.mistake == MISSING)
                    && let Some(filled) = fill::<T>(&values, &path)
                {
                    values = filled;
                    removed.push(path);
                    continue;
                }
                let Some(gone) = remove(&mut values, &path) else { break };
                removed.push(path);
                removed.push(gone);
            }
        }
    }
    Err(errors.into_iter().map(InputError::from).collect())
}

/// Reads a member of a family, with its defaults, by its name.
///
/// # Errors
/// When there is no such name.
pub(crate) fn name<T: for<'de> de::Deserialize<'de>>(name: &str) -> Result<T, InputError> {
    T::deserialize(ValueReader(Value::String(name.to_owned()))).map_err(InputError::from)
}

/// Puts a value that can be read in the place of a missing key, so that others that are missing are reported too.
fn fill<T: for<'de> de::Deserialize<'de>>(values: &Value, path: &[Part]) -> Option<Value> {
    let (Part::Key(key), around) = path.split_last()? else { return None };
    let values_of_types = [Value::Integer(0), Value::Float(0.0), Value::Boolean(false), Value::String("0s".to_owned())];
    values_of_types.into_iter().find_map(|value| {
        let mut filled = values.clone();
        let table = around.iter().try_fold(&mut filled, |value, part| part.of(value))?.as_table_mut()?;
        table.insert(key.clone(), value);
        let error = T::deserialize(ValueReader(filled.clone())).err();
        let end = |error: ReadError| error.path.into_iter().rev().collect::<Vec<Part>>();
        error.is_none_or(|error| !path.starts_with(&end(error))).then_some(filled)
    })
}

/// Removes the innermost table's key on a path, so that no element of a list changes its number.
fn remove(values: &mut Value, path: &[Part]) -> Option<Vec<Part>> {
    let ends = (1..=path.len()).rev().filter(|&end| matches!(path[end - 1], Part::Key(_)));
    ends.into_iter().find_map(|end| {
        let (Part::Key(key), around) = path[..end].split_last()? else { return None };
        let around = around.iter().try_fold(&mut *values, |value, part| part.of(value))?;
        around.as_table_mut()?.remove(key).map(|_| path[..end].to_vec())
    })
}

/// Mistake of a required key that is not there.
const MISSING: &str = "missing";

/// A step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Key(String),
    Index(usize),
}

impl Part {
    fn of<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        match self {
            Part::Key(key) => value.as_table_mut()?.get_mut(key),
            Part::Index(index) => value.as_array_mut()?.get_mut(*index),
        }
    }

    fn name(self) -> String {
        match self {
            Part::Key(key) => key,
            Part::Index(index) => index.to_string(),
        }
    }
}

/// A value that cannot be read, the innermost part of its path first.
#[derive(Debug)]
struct ReadError {
    path: Vec<Part>,
    mistake: String,
    expected: String,
}

impl ReadError {
    fn new(mistake: impl Into<String>, expected: impl Into<String>) -> ReadError {
        ReadError { path: Vec::new(), mistake: mistake.into(), expected: expected.into() }
    }

    fn at(part: &str, mistake: impl Into<String>, expected: impl Into<String>) -> ReadError {
        ReadError::new(mistake, expected).within(Part::Key(part.to_owned()))
    }

    /// Adds how a table that may be absent is switched on or off, where a boolean was found for it.
    fn switching(mut self, boolean: Option<bool>) -> ReadError {
        let expects_table = self.path.is_empty() && self.expected == "a table";
        self.expected += match boolean.filter(|_| expects_table) {
            Some(true) => "; `{}` for its defaults",
            Some(false) => ", or no key to switch it off",
            None => "",
        };
        self
    }

    fn within(mut self, part: Part) -> ReadError {
        self.path.push(part);
        self
    }
}

/// Conversion of an error whose path has its outermost part first.
impl From<ReadError> for InputError {
    fn from(error: ReadError) -> InputError {
        let path: Vec<String> = error.path.into_iter().map(Part::name).collect();
        InputError::new(path.join("."), error.mistake, error.expected)
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; expected {}", self.mistake, self.expected)
    }
}

/// Keys of a job, which are written beside its table by mistake.
pub(crate) const OF_JOBS: [&str; 13] = [
    "background",
    "binding",
    "connections",
    "fidelity",
    "name",
    "placement",
    "priority",
    "rank_order",
    "ranks_per_host",
    "shared_hosts",
    "start",
    "transport",
    "workload",
];

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: std::fmt::Display>(message: T) -> ReadError {
        ReadError::new(message.to_string().replace('\n', "; "), "")
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> ReadError {
        ReadError::new(shown(unexpected), plain(&expected.to_string()))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> ReadError {
        ReadError::new(shown(unexpected), plain(&expected.to_string()))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> ReadError {
        ReadError::new(format!("a list of {length}"), plain(&expected.to_string()))
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> ReadError {
        ReadError::new(format!("unknown name `{name}`"), one_of(known) + &nearest_of(name, known))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> ReadError {
        if known.contains(&"job") && OF_JOBS.contains(&key) {
            return ReadError::new("unknown key", format!("`{key}` in a table [[job]]"));
        }
        ReadError::new("unknown key", one_of(known) + &nearest_of(key, known))
    }

    fn missing_field(key: &'static str) -> ReadError {
        ReadError::at(key, MISSING, "a value, for it has no default")
    }

    fn duplicate_field(key: &'static str) -> ReadError {
        ReadError::at(key, "given twice", "it once")
    }
}

/// A value as its author wrote it.
fn shown(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => format!("{value:?}"),
        Unexpected::Str(text) => format!("\"{text}\""),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::UnitVariant => "a name alone".to_owned(),
        Unexpected::Other(what) => what.to_owned(),
        other => other.to_string(),
    }
}

/// Returns serde's name of a Rust type in words of the author of a scenario.
fn plain(expected: &str) -> String {
    let is = |prefix: &str| expected.starts_with(prefix);
    let plain = match expected {
        "u8" => "a whole number, 0 to 255",
        "u16" => "a whole number, 0 to 65535",
        "u32" => "a whole number, 0 to 4294967295",
        "u64" => "a whole number, 0 to 9223372036854775807",
        "usize" => "a whole number, 0 or more",
        "f64" | "f32" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "an array of length 8" => "a list of 8",
        "a map" | "map with a single key" => "a table",
        _ if is("struct ") || is("newtype ") || is("tuple struct ") => "a table",
        other => other,
    };
    plain.to_owned()
}

fn one_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [name] => name.clone(),
        [first, second] => format!("{first} or {second}"),
        names => format!("one of {}", names.join(", ")),
    }
}

struct ValueReader(Value);

impl IntoDeserializer<'_, ReadError> for ValueReader {
    type Deserializer = ValueReader;
    fn into_deserializer(self) -> ValueReader {
        self
    }
}

impl<'de> Deserializer<'de> for ValueReader {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(_) => Err(de::Error::invalid_type(Unexpected::Other("a date"), &visitor)),
            Value::Array(list) => {
                let length = list.len();
                let mut elements = ListElements { rest: list.into_iter(), next: 0 };
                let value = visitor.visit_seq(&mut elements)?;
                if elements.rest.len() == 0 {
                    return Ok(value);
                }
                Err(ReadError::new(format!("a list of {length}"), format!("a list of {}", elements.next)))
            }
            Value::Table(table) => visitor.visit_map(TableEntries { rest: table.into_iter(), value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let switched = self.0.as_bool();
        visitor.visit_some(self).map_err(|error| error.switching(switched))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(NamedMember { name, parameters: None }),
            Value::Table(table) => {
                let mistake = if table.is_empty() { "an empty table" } else { "several members at once" };
                let mut entries = table.into_iter();
                match (entries.next(), entries.next()) {
                    (Some((name, value)), None) => visitor.visit_enum(NamedMember { name, parameters: Some(value) }),
                    _ => Err(ReadError::new(mistake, one_of(names))),
                }
            }
            other => Err(ReadError::new(other.to_string(), one_of(names))),
        }
    }

    /// A list has no keys: a structure is not read by the order of its fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Array(_) => Err(ReadError::new("a list", "a table")),
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

struct ListElements {
    rest: std::vec::IntoIter<Value>,
    next: usize,
}

impl<'de> de::SeqAccess<'de> for &mut ListElements {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let number = self.next;
        self.next += 1;
        seed.deserialize(ValueReader(value)).map(Some).map_err(|error| error.within(Part::Index(number)))
    }
}

struct TableEntries {
    rest: <Table as IntoIterator>::IntoIter,
    value: Option<(String, Value)>,
}

impl<'de> de::MapAccess<'de> for TableEntries {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let read: Result<K::Value, ReadError> = seed.deserialize(key.as_str().into_deserializer());
        self.value = Some((key.clone(), value));
        read.map(Some).map_err(|error| error.within(Part::Key(key)))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        let (key, value) = self.value.take().expect("a value is asked for after its key");
        seed.deserialize(ValueReader(value)).map_err(|error| error.within(Part::Key(key)))
    }
}

/// A member of a family, by its name, with its parameters where they are given.
struct NamedMember {
    name: String,
    parameters: Option<Value>,
}

impl<'de> de::EnumAccess<'de> for NamedMember {
    type Error = ReadError;
    type Variant = NamedMember;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, NamedMember), ReadError> {
        let name: value::StrDeserializer<'_, ReadError> = self.name.as_str().into_deserializer();
        seed.deserialize(name).map(|member| (member, self))
    }
}

impl NamedMember {
    fn parameters(self) -> Result<(String, Value), ReadError> {
        let expected = "a table of its parameters; `{}` for their defaults";
        match self.parameters {
            Some(value) => Ok((self.name, value)),
            None => Err(ReadError::at(&self.name, "a name alone", expected)),
        }
    }
}

impl<'de> de::VariantAccess<'de> for NamedMember {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        let is_empty = |value: &Value| value.as_table().is_some_and(Table::is_empty);
        match self.parameters {
            Some(value) if !is_empty(&value) => Err(ReadError::at(&self.name, shown_value(&value), "no parameters")),
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        let (name, value) = self.parameters()?;
        seed.deserialize(ValueReader(value)).map_err(|error| error.within(Part::Key(name)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        let (name, value) = self.parameters()?;
        ValueReader(value).deserialize_any(visitor).map_err(|error| error.within(Part::Key(name)))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let (name, value) = self.parameters()?;
        ValueReader(value).deserialize_struct("", fields, visitor).map_err(|error| error.within(Part::Key(name)))
    }
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use etherweave_primitives::Duration;

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields, default)]
    struct Switch {
        latency: Duration,
        ports: u32,
        weights: [u8; 8],
        mode: Mode,
        jobs: Vec<Job>,
        spare: Option<Job>,
    }

    impl Default for Switch {
        fn default() -> Switch {
            Switch {
                latency: Duration::ZERO,
                ports: 0,
                weights: [0; 8],
                mode: Mode::Plain,
                jobs: Vec::new(),
                spare: None,
            }
        }
    }

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    enum Mode {
        Plain,
        Static(u32),
        Alpha { numerator: u32 },
        Beta { width: u32, time: Duration, name: String },
    }

    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Job {
        name: String,
    }

    #[test]
    fn all_keys_that_are_missing_are_reported() {
        let missing = |key: &str| format!("mode.beta.{key}: missing; expected a value, for it has no default");
        assert_eq!(mistakes("mode.beta = {}"), ["width", "time", "name"].map(missing));
        assert_eq!(mistakes("mode.beta = { time = \"1ns\" }\nports = -1").len(), 3);
    }

    fn mistakes(text: &str) -> Vec<String> {
        let errors = read::<Switch>(&text.parse().unwrap()).unwrap_err();
        errors.iter().map(InputError::to_string).collect()
    }

    #[test]
    fn values_are_read_as_serde_defines_them() {
        let read = |text: &str| read::<Switch>(&text.parse().unwrap()).unwrap();
        let switch = read("latency = \"2ns\"\nports = 3\nmode.alpha.numerator = 4\njobs = [{ name = \"a\" }]");
        assert_eq!((switch.latency, switch.ports), (Duration::from_ns(2), 3));
        assert_eq!((switch.mode, switch.jobs.len()), (Mode::Alpha { numerator: 4 }, 1));
        assert_eq!(read("mode = { static = 7 }").mode, Mode::Static(7));
        assert_eq!(read("mode = \"plain\""), read("mode.plain = {}"));
    }

    #[test]
    fn all_independent_mistakes_are_reported() {
        let text = "latency = 5\nporst = 1\nports = -1\nmode = {}\njobs = [{ name = 1 }, {}]\nweights = [1]";
        let keys: Vec<String> = mistakes(text).iter().map(|line| line.split(':').next().unwrap().to_owned()).collect();
        assert_eq!(keys, ["jobs.0.name", "latency", "mode", "porst", "ports", "weights"]);
    }

    #[test]
    fn a_list_is_no_table_by_the_order_of_its_keys() {
        for (text, key) in [("jobs = [[\"a\"]]", "jobs.0"), ("mode.alpha = [4]", "mode.alpha")] {
            assert_eq!(mistakes(text), [format!("{key}: a list; expected a table")]);
        }
        assert_eq!(mistakes("mode.plain = []"), ["mode.plain: a list; expected no parameters"]);
    }

    #[test]
    fn a_boolean_in_place_of_a_table_is_answered_by_how_it_is_switched() {
        assert_eq!(mistakes("spare = false"), ["spare: false; expected a table, or no key to switch it off"]);
        assert_eq!(mistakes("spare = true"), ["spare: true; expected a table; `{}` for its defaults"]);
        assert_eq!(mistakes("spare = 1"), ["spare: 1; expected a table"]);
    }

    #[test]
    fn each_mistake_says_what_was_found_and_expected() {
        let duration = "latency: 5; expected a duration as a string with its unit, such as \"1s\"";
        assert_eq!(mistakes("latency = 5"), [duration]);
        assert_eq!(mistakes("ports = -1"), ["ports: -1; expected a whole number, 0 to 4294967295"]);
        assert_eq!(
            mistakes("mode = \"alpah\""),
            ["mode: unknown name `alpah`; expected one of `plain`, `static`, `alpha`, `beta`; nearest is `alpha`"]
        );
        assert!(mistakes("port = 1").iter().all(|line| line.ends_with("; nearest is `ports`")));
        assert_eq!(mistakes("mode = 1"), ["mode: 1; expected one of `plain`, `static`, `alpha`, `beta`"]);
        let several = "mode: several members at once; expected one of `plain`, `static`, `alpha`, `beta`";
        assert_eq!(mistakes("mode = { plain = {}, static = 1 }"), [several]);
        let keys = ["mode.alpha.numeratr: unknown key", "mode.alpha.numerator: missing"];
        assert!(mistakes("mode.alpha.numeratr = 1").iter().zip(keys).all(|(line, start)| line.starts_with(start)));
        let alone = "mode.static: a name alone; expected a table of its parameters; `{}` for their defaults";
        assert_eq!(mistakes("mode = \"static\""), [alone]);
        assert_eq!(mistakes("jobs = [{}]"), ["jobs.0.name: missing; expected a value, for it has no default"]);
        assert_eq!(mistakes("ports = 1e10"), ["ports: 10000000000.0; expected a whole number, 0 to 4294967295"]);
        assert_eq!(mistakes("weights = [1,2,3,4,5,6,7,8,9]"), ["weights: a list of 9; expected a list of 8"]);
    }
}
