//! Row and column exchanged.

use super::permuted::Permuted;
use crate::HostGroups;
use etherweave_primitives::InputError;

/// Hosts row by row in a matrix; each to the place that it has in the transposed matrix (`transpose`). In a square of
/// 2^b hosts the halves of the number change places (Dally and Towles, 2004, table 3.1). Hosts that stay send nothing.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transpose {
    /// Rows, 2 or more, a proper divisor of the number of hosts; without it the matrix is a square.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
}

pub(super) type PatternPlan = Permuted;

impl Transpose {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let hosts = groups.hosts();
        let rows = self.rows.map_or_else(|| square(hosts), |rows| divisor(rows, hosts))?;
        let columns = hosts / rows;
        Ok(Permuted::new(hosts, |host| host % columns * rows + host / columns))
    }
}

fn square(hosts: u32) -> Result<u32, InputError> {
    let rows = hosts.isqrt();
    if rows * rows == hosts {
        return Ok(rows);
    }
    Err(InputError::new("rows", format!("none, and {hosts} hosts"), "rows, or a square number of hosts"))
}

fn divisor(rows: u32, hosts: u32) -> Result<u32, InputError> {
    if (2..hosts).contains(&rows) && hosts.is_multiple_of(rows) {
        return Ok(rows);
    }
    let expected = format!("a divisor of the {hosts} hosts, other than 1 and {hosts}");
    Err(InputError::new("rows", rows.to_string(), expected))
}
