//! Which host a rank lives on: one rank per host, and no host for two jobs.

use etherweave_primitives::{HostId, Purpose, Stream};

use crate::WorkloadError;

/// Where the ranks of a job live, in rank order.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Placement {
    /// The host of each rank.
    Hosts(Vec<u32>),
    /// The leaf of each rank. Ranks on one leaf take its hosts in ascending order, past those of other jobs.
    Leaves(Vec<u32>),
    /// Random hosts that no other job has.
    Random {
        /// A seed of its own; without it the run's.
        #[serde(default)]
        seed: Option<u64>,
    },
    /// Consecutive hosts from `first`, past those of other jobs.
    Linear {
        /// Where to start.
        #[serde(default)]
        first: u32,
    },
}

impl Default for Placement {
    fn default() -> Placement {
        Placement::Linear { first: 0 }
    }
}

impl Placement {
    /// The host of each of `ranks` ranks, marked in `taken` as occupied; nothing is marked on an error.
    /// `leaf_of_host` holds the leaf of each host, `seed` is the run's.
    ///
    /// # Errors
    /// When a list has another length than the job, a host is missing or taken, or too few are free:
    /// the error says how many fit.
    pub fn place(
        &self,
        ranks: u32,
        leaf_of_host: &[u32],
        taken: &mut [bool],
        seed: u64,
    ) -> Result<Vec<HostId>, WorkloadError> {
        assert_eq!(leaf_of_host.len(), taken.len(), "every host has a leaf and is taken or not");
        let hosts = match self {
            Placement::Hosts(hosts) => listed_hosts(hosts, ranks, taken)?,
            Placement::Leaves(leaves) => on_leaves(leaves, ranks, leaf_of_host, taken)?,
            Placement::Random { seed: own } => random(ranks, taken, own.unwrap_or(seed))?,
            Placement::Linear { first } => linear(ranks, taken, *first)?,
        };
        hosts.iter().for_each(|host| taken[host.index()] = true);
        Ok(hosts)
    }
}

fn listed_hosts(hosts: &[u32], ranks: u32, taken: &[bool]) -> Result<Vec<HostId>, WorkloadError> {
    as_long_as_the_job("hosts", hosts, ranks)?;
    let mut taken = taken.to_vec();
    hosts.iter().map(|&host| take("hosts", host, &mut taken)).collect()
}

fn take(key: &'static str, host: u32, taken: &mut [bool]) -> Result<HostId, WorkloadError> {
    let count = taken.len();
    match taken.get_mut(host as usize) {
        None => Err(WorkloadError::new(key, format!("host {host}"), format!("a host of the fabric's {count}, from 0"))),
        Some(true) => Err(WorkloadError::new(key, format!("host {host} is taken"), "a host for each rank alone")),
        Some(free) => {
            *free = true;
            Ok(HostId::new(host))
        }
    }
}

fn on_leaves(leaves: &[u32], ranks: u32, leaf_of_host: &[u32], taken: &[bool]) -> Result<Vec<HostId>, WorkloadError> {
    as_long_as_the_job("leaves", leaves, ranks)?;
    let mut taken = taken.to_vec();
    let place = |(rank, &leaf): (usize, &u32)| {
        let free = (0..taken.len()).find(|&host| leaf_of_host[host] == leaf && !taken[host]);
        let host = free.ok_or_else(|| {
            let found = format!("leaf {leaf} has no free host for rank {rank}, {rank} of {ranks} ranks fit");
            WorkloadError::new("leaves", found, "leaves with a free host for each of their ranks")
        })?;
        taken[host] = true;
        Ok(HostId::from_index(host))
    };
    leaves.iter().enumerate().map(place).collect()
}

fn random(ranks: u32, taken: &[bool], seed: u64) -> Result<Vec<HostId>, WorkloadError> {
    let mut free = free_hosts(taken, 0);
    Stream::new(seed, Purpose::Placement, 0).shuffle(&mut free);
    first_of("random", free, ranks)
}

fn linear(ranks: u32, taken: &[bool], first: u32) -> Result<Vec<HostId>, WorkloadError> {
    first_of("linear", free_hosts(taken, first as usize), ranks)
}

fn free_hosts(taken: &[bool], first: usize) -> Vec<HostId> {
    (first..taken.len()).filter(|&host| !taken[host]).map(HostId::from_index).collect()
}

fn first_of(key: &'static str, mut free: Vec<HostId>, ranks: u32) -> Result<Vec<HostId>, WorkloadError> {
    let fit = free.len();
    if fit < ranks as usize {
        return Err(WorkloadError::new(
            key,
            format!("{ranks} ranks"),
            format!("at most {fit}, as many as hosts are free"),
        ));
    }
    free.truncate(ranks as usize);
    Ok(free)
}

fn as_long_as_the_job(key: &'static str, list: &[u32], ranks: u32) -> Result<(), WorkloadError> {
    if list.len() == ranks as usize {
        return Ok(());
    }
    Err(WorkloadError::new(key, format!("{} entries", list.len()), format!("{ranks}, one for each rank")))
}
