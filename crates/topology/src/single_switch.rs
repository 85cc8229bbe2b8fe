//! Hosts on one switch.

use etherweave_primitives::{BitRate, Length};

use crate::{Builder, Family, LinkClass, Topology, TopologyError};

/// A star: every host on the one switch, host `i` on port `i`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SingleSwitch {
    /// Hosts, 1..=65,536 (a port number has 16 bits). Default 2.
    pub hosts: u32,
    /// Rate of every link [bit/s]. Default "100Gb/s".
    pub rate: BitRate,
    /// Cable between host and switch [m]. Default "3m".
    pub cable: Length,
}

impl Default for SingleSwitch {
    fn default() -> Self {
        SingleSwitch { hosts: 2, rate: BitRate::from_gbps(100), cable: Length::from_m(3) }
    }
}

impl Family for SingleSwitch {
    fn generate(&self) -> Result<Topology, TopologyError> {
        if !(1..=1 << 16).contains(&self.hosts) {
            let found = self.hosts.to_string();
            return Err(TopologyError::Parameter { name: "hosts", found, expected: "1 to 65536" });
        }
        let mut builder = Builder::new();
        let switch = builder.add_switch("switch0", 0);
        for host in builder.add_hosts(self.hosts) {
            builder.link(host, switch, self.rate, self.cable, LinkClass::Host);
        }
        builder.build()
    }

    fn examples() -> Vec<Self> {
        [1, 2, 9].map(|hosts| SingleSwitch { hosts, ..Self::default() }).to_vec()
    }
}
