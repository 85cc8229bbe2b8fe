//! Processor cores of a host.

use etherweave_primitives::params;

params! {
    /// Cores of a host, which its ranks and the interrupt side of its receive queues share: queue i interrupts core i,
    /// counted from 0 again behind the last.
    #[derive(Eq)]
    pub struct CoreParams {
        /// Sockets, 1 or more; cores are numbered socket by socket.
        pub sockets: u32 = 2,
        /// Cores of a socket, 1 or more.
        pub per_socket: u32 = 16,
    }
}

impl CoreParams {
    /// Cores of the host.
    pub fn count(&self) -> u32 {
        self.sockets * self.per_socket
    }
}

/// Core of its host that each rank of a job runs on; ranks beyond the last core share cores from the first again.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Binding {
    /// Cores in order (Open MPI: `--map-by core`).
    #[default]
    Core,
    /// Sockets in turn, and the cores of each in order (Open MPI: `--map-by socket`).
    Socket,
    /// The core of each rank of a host.
    Listed(Vec<u32>),
}

impl Binding {
    /// The core of the rank that is number `place` of its host.
    pub fn core(&self, place: u32, cores: &CoreParams) -> u32 {
        match self {
            Binding::Core => place % cores.count(),
            Binding::Socket => {
                let (socket, place) = (place % cores.sockets, place / cores.sockets);
                socket * cores.per_socket + place % cores.per_socket
            }
            Binding::Listed(list) => list[place as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_cores_in_order_or_sockets_in_turn() {
        let cores = CoreParams { sockets: 2, per_socket: 3 };
        let of = |binding: Binding| (0..8).map(|place| binding.core(place, &cores)).collect::<Vec<_>>();
        assert_eq!(of(Binding::Core), [0, 1, 2, 3, 4, 5, 0, 1]);
        assert_eq!(of(Binding::Socket), [0, 3, 1, 4, 2, 5, 0, 3]);
        assert_eq!(of(Binding::Listed(vec![5, 5, 0, 1, 2, 3, 4, 1])), [5, 5, 0, 1, 2, 3, 4, 1]);
    }
}
