//! Addresses that switches have learnt, and frames that they flooded without.

use etherweave_kernel::rows;
use etherweave_primitives::SwitchId;
use etherweave_switch::learning::AddressTable;

use crate::run::Simulation;

rows! {
    /// A switch that learns addresses.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct LearningRow in (), "learning" {
        /// The switch.
        node: String ["node"];
        /// Most addresses that its table ever held.
        entries_max: u64 ["entries_max"];
        /// Frames whose source found no room in it.
        unlearnt: u64 ["unlearnt_packets"];
        /// Frames that it sent by all ports, since it did not know their address.
        flooded: u64 ["flooded_packets"];
        /// Frames that it sent beside them.
        copies: u64 ["copied_packets"];
    }
}

impl Simulation {
    pub(super) fn learning(&self) -> Vec<(u32, LearningRow)> {
        let switches = self.shards.iter().map(|shard| &shard.switches);
        let tables = switches.flat_map(|switches| {
            let tables = switches.learning.iter().flat_map(|learning| learning.tables.iter());
            switches.switches.iter().map(|switch| switch.number).zip(tables)
        });
        tables.map(|(switch, table)| (switch, self.learning_row(switch, table))).collect()
    }

    fn learning_row(&self, switch: u32, table: &AddressTable) -> LearningRow {
        let node = self.names.topology.switch_name(SwitchId::new(switch)).into();
        let &AddressTable { entries_max, unlearnt, flooded, copies, .. } = table;
        LearningRow { node, entries_max, unlearnt, flooded, copies }
    }
}
