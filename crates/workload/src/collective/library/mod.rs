//! The list of libraries: which algorithm each picks for which sizes, in a file each.

mod libnbc;
mod mpich_4;
pub(super) mod nccl;
mod open_mpi_4_0;
mod open_mpi_4_1;
mod open_mpi_5_0;
mod ucc;

use etherweave_primitives::{BitRate, Bytes, Duration};

use super::{Algorithm, Channels, ELEMENT, Kind, Rule, algorithm::Choice, layout::Layout};
use crate::limits::{COLLECTIVE_MAX, MESSAGE_MAX};

/// Question to a library: a collective and its sizes.
pub(super) struct Ask {
    pub kind: Kind,
    /// Members.
    pub size: u32,
    /// A block [B]: that of a member or a pair, the mean where they differ.
    pub block: u64,
    /// All blocks, or the whole vector [B].
    pub total: u64,
    /// Members of a node, where there are several nodes of several members.
    pub nodes: Option<u32>,
    /// Whether it is the non-blocking form.
    pub is_nonblocking: bool,
    /// Rate of a member's network.
    pub network_rate: BitRate,
    /// Accelerators of a node for each member.
    pub accelerators: u32,
    /// Channels, where they are counted.
    pub channels: Option<Channels>,
    /// Rate of an accelerator's links to switches that add up.
    pub switches: Option<BitRate>,
    /// Whether switches of the network may add up between nodes.
    pub has_collnet: bool,
}

impl Ask {
    pub(super) fn of(kind: Kind, layout: &Layout, rule: &Rule) -> Ask {
        let (size, total) = (layout.size(), layout.total());
        let nodes = rule.groups(size);
        let network_rate = rule.network_rate.unwrap_or(BitRate::from_gbps(100));
        Ask {
            kind,
            size,
            block: total / u64::from(size),
            total,
            nodes,
            is_nonblocking: rule.is_nonblocking,
            network_rate,
            accelerators: rule.accelerators.unwrap_or(1),
            channels: rule.channels,
            switches: rule.switches,
            has_collnet: rule.has_collnet,
        }
    }

    /// Elements of a vector to reduce.
    fn elements(&self) -> u64 {
        self.total.div_ceil(ELEMENT)
    }

    fn is_power_of_two(&self) -> bool {
        self.size.is_power_of_two()
    }

    /// The largest power of two among the members.
    fn core(&self) -> u64 {
        1 << self.size.ilog2()
    }
}

impl Choice {
    const fn of(algorithm: Algorithm) -> Choice {
        Choice { algorithm, segment: None, radix: None, protocol: None, outstanding: None }
    }

    const fn segmented(algorithm: Algorithm, segment: u64) -> Choice {
        Choice { algorithm, segment: Some(segment), radix: None, protocol: None, outstanding: None }
    }

    const fn of_radix(algorithm: Algorithm, radix: u32) -> Choice {
        Choice { algorithm, segment: None, radix: Some(radix), protocol: None, outstanding: None }
    }

    const fn windowed(algorithm: Algorithm, outstanding: u32) -> Choice {
        Choice { algorithm, segment: None, radix: None, protocol: None, outstanding: Some(outstanding) }
    }
}

/// Declares the libraries: variant, name in a scenario and module.
macro_rules! libraries {
    ($($(#[$doc:meta])* $library:ident = $name:literal: $module:ident;)*) => {
        /// Library whose decisions pick the algorithms of collectives.
        #[derive(
            Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum Library {
            $($(#[$doc])* #[serde(rename = $name)] $library,)*
        }

        impl Library {
            /// Every library, in order.
            pub const ALL: &'static [Library] = &[$(Library::$library),*];

            /// Its name in a scenario.
            pub fn name(self) -> &'static str {
                match self {
                    $(Library::$library => $name,)*
                }
            }

            pub(super) fn choice(self, ask: &Ask) -> Choice {
                match self {
                    $(Library::$library => $module::choice(ask),)*
                }
            }
        }
    };
}

impl Library {
    /// Time of a call beside bytes and messages of its algorithm, and least time of its bytes in accelerators, by the
    /// tables of NCCL.
    pub(super) fn call_times(self, ask: &Ask, choice: &Choice) -> [Duration; 2] {
        match self {
            Library::Nccl => {
                let in_accelerators = nccl::flag_time(ask, choice).max(nccl::channel_time(ask, choice));
                [nccl::call_latency(ask, choice), in_accelerators]
            }
            Library::OpenMpi40 | Library::OpenMpi41 | Library::OpenMpi50 | Library::Mpich4 | Library::Ucc => {
                [Duration::ZERO; 2]
            }
        }
    }

    /// Largest block of its collectives: MPI counts bytes in an `int`.
    pub(crate) fn block_max(self) -> Bytes {
        match self {
            Library::OpenMpi40 | Library::OpenMpi41 | Library::OpenMpi50 | Library::Mpich4 => COLLECTIVE_MAX,
            Library::Ucc | Library::Nccl => MESSAGE_MAX,
        }
    }
}

libraries! {
    /// The fixed decisions of `tuned` in Open MPI 3.1 and 4.0.
    #[default]
    OpenMpi40 = "open_mpi_4_0": open_mpi_4_0;
    /// The tables of `tuned` in Open MPI 4.1 and 5.0.
    OpenMpi41 = "open_mpi_4_1": open_mpi_4_1;
    /// The same tables, within and between nodes where these have several ranks: `han` of Open MPI 5.0.
    OpenMpi50 = "open_mpi_5_0": open_mpi_5_0;
    /// The tables of MPICH 4 for any network, and its compositions by node.
    Mpich4 = "mpich_4": mpich_4;
    /// The default scores of the transport layer UCP of UCC, for memory of hosts.
    Ucc = "ucc": ucc;
    /// The cost model of NCCL 2.21 for accelerators with a NIC each.
    Nccl = "nccl": nccl;
}
