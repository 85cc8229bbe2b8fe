//! DCTCP (M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010; RFC 8257) over reliable connections.

/// A window for each connection that shrinks by the share of marked packets: the law of DCTCP, whose only constant, the
/// gain of the share, RFC 8257 sets to 1/16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dctcp {}
