//! Messages of Chakra's schema (`et_def.proto`): the fields that are read or written here, by their numbers. Others are
//! skipped.

/// Metadata with which a trace begins.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GlobalMetadata {
    /// Version of the schema.
    #[prost(string, tag = "1")]
    pub version: String,
    /// `schema`, where a converter says no version.
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    /// A number of [`kind`].
    #[prost(int32, tag = "3")]
    pub kind: i32,
    /// Nodes that called it.
    #[prost(uint64, repeated, tag = "4")]
    pub control_dependencies: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data_dependencies: Vec<u64>,
    #[prost(uint64, tag = "6")]
    pub start_micros: u64,
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<Values>,
    #[prost(message, repeated, tag = "10")]
    pub attributes: Vec<Attribute>,
}

pub(super) mod kind {
    pub const METADATA: i32 = 1;
    pub const LOAD: i32 = 2;
    pub const STORE: i32 = 3;
    pub const COMPUTE: i32 = 4;
    pub const SEND: i32 = 5;
    pub const RECEIVE: i32 = 6;
    pub const COLLECTIVE: i32 = 7;
}

/// Inputs of an operation.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Values {
    /// Values as Python prints a list of them.
    #[prost(string, tag = "1")]
    pub values: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(oneof = "Value", tags = "7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29")]
    pub value: Option<Value>,
}

/// A value: those who write traces do not agree on the width of integers.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Value {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(string, tag = "29")]
    Text(String),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Bools {
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

impl Attribute {
    pub fn new(name: &str, value: Value) -> Attribute {
        Attribute { name: name.to_owned(), value: Some(value) }
    }
}

impl Value {
    /// The number that it is, of whatever width.
    pub fn integer(&self) -> Option<i128> {
        match *self {
            Value::Int32(number) | Value::Sint32(number) | Value::Sfixed32(number) => Some(number.into()),
            Value::Int64(number) | Value::Sint64(number) | Value::Sfixed64(number) => Some(number.into()),
            Value::Uint32(number) | Value::Fixed32(number) => Some(number.into()),
            Value::Uint64(number) | Value::Fixed64(number) => Some(number.into()),
            Value::Bool(is_true) => Some(is_true.into()),
            Value::Bools(_) | Value::Text(_) => None,
        }
    }
}
