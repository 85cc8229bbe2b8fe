//! Which host a rank lives on: one rank per host, and no host for two jobs.

use etherweave_primitives::{HostId, InputError, Purpose, Stream};

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
    ) -> Result<Vec<HostId>, InputError> {
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

fn listed_hosts(hosts: &[u32], ranks: u32, taken: &[bool]) -> Result<Vec<HostId>, InputError> {
    as_long_as_the_job("hosts", hosts, ranks)?;
    let mut taken = taken.to_vec();
    hosts.iter().map(|&host| take("hosts", host, &mut taken)).collect()
}

fn take(key: &'static str, host: u32, taken: &mut [bool]) -> Result<HostId, InputError> {
    let count = taken.len();
    match taken.get_mut(host as usize) {
        None => Err(InputError::new(key, format!("host {host}"), format!("a host of the fabric's {count}, from 0"))),
        Some(true) => Err(InputError::new(key, format!("host {host} is taken"), "a host for each rank alone")),
        Some(free) => {
            *free = true;
            Ok(HostId::new(host))
        }
    }
}

fn on_leaves(leaves: &[u32], ranks: u32, leaf_of_host: &[u32], taken: &[bool]) -> Result<Vec<HostId>, InputError> {
    as_long_as_the_job("leaves", leaves, ranks)?;
    let mut taken = taken.to_vec();
    let place = |(rank, &leaf): (usize, &u32)| {
        let free = (0..taken.len()).find(|&host| leaf_of_host[host] == leaf && !taken[host]);
        let host = free.ok_or_else(|| {
            let found = format!("leaf {leaf} has no free host for rank {rank}, {rank} of {ranks} ranks fit");
            InputError::new("leaves", found, "leaves with a free host for each of their ranks")
        })?;
        taken[host] = true;
        Ok(HostId::from_index(host))
    };
    leaves.iter().enumerate().map(place).collect()
}

fn random(ranks: u32, taken: &[bool], seed: u64) -> Result<Vec<HostId>, InputError> {
    let mut free = free_hosts(taken, 0);
    Stream::new(seed, Purpose::Placement, 0).shuffle(&mut free);
    first_of("random", free, ranks)
}

fn linear(ranks: u32, taken: &[bool], first: u32) -> Result<Vec<HostId>, InputError> {
    first_of("linear", free_hosts(taken, first as usize), ranks)
}

fn free_hosts(taken: &[bool], first: usize) -> Vec<HostId> {
    (first..taken.len()).filter(|&host| !taken[host]).map(HostId::from_index).collect()
}

fn first_of(key: &'static str, mut free: Vec<HostId>, ranks: u32) -> Result<Vec<HostId>, InputError> {
    let fit = free.len();
    if fit < ranks as usize {
        return Err(InputError::new(
            key,
            format!("{ranks} ranks"),
            format!("at most {fit}, as many as hosts are free"),
        ));
    }
    free.truncate(ranks as usize);
    Ok(free)
}

fn as_long_as_the_job(key: &'static str, list: &[u32], ranks: u32) -> Result<(), InputError> {
    if list.len() == ranks as usize {
        return Ok(());
    }
    Err(InputError::new(key, format!("{} entries", list.len()), format!("{ranks}, one for each rank")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two leaves of three hosts.
    const LEAVES: [u32; 6] = [0, 0, 0, 1, 1, 1];

    fn place(placement: &Placement, ranks: u32, taken: &mut [bool]) -> Result<Vec<u32>, String> {
        let hosts = placement.place(ranks, &LEAVES, taken, 5).map_err(|error| error.to_string())?;
        Ok(hosts.iter().map(|host| host.get()).collect())
    }

    #[test]
    fn ranks_take_the_hosts_of_their_leaf_in_ascending_order_past_other_jobs() {
        let mut taken = [false, true, false, false, false, false];
        assert_eq!(place(&Placement::Leaves(vec![1, 0, 1, 0]), 4, &mut taken).unwrap(), [3, 0, 4, 2]);
        assert_eq!(taken, [true, true, true, true, true, false]);
    }

    #[test]
    fn a_placement_larger_than_the_fabric_says_how_many_fit_and_takes_nothing() {
        let mut taken = [false; 6];
        let error = place(&Placement::Linear { first: 2 }, 5, &mut taken).unwrap_err();
        assert_eq!(error, "linear: 5 ranks; expected at most 4, as many as hosts are free");
        let error = place(&Placement::Leaves(vec![0, 0, 0, 0]), 4, &mut taken).unwrap_err();
        assert!(error.contains("leaf 0 has no free host for rank 3, 3 of 4 ranks fit"), "{error}");
        assert_eq!(taken, [false; 6]);
    }

    #[test]
    fn a_host_is_given_once_and_must_exist() {
        let error = place(&Placement::Hosts(vec![4, 4]), 2, &mut [false; 6]).unwrap_err();
        assert!(error.contains("host 4 is taken"), "{error}");
        let error = place(&Placement::Hosts(vec![6, 0]), 2, &mut [false; 6]).unwrap_err();
        assert!(error.contains("host 6; expected a host of the fabric's 6"), "{error}");
        let error = place(&Placement::Hosts(vec![1]), 2, &mut [false; 6]).unwrap_err();
        assert_eq!(error, "hosts: 1 entries; expected 2, one for each rank");
    }

    #[test]
    fn random_jobs_share_no_host_and_differ_by_seed() {
        let leaf_of_host = [0; 96];
        let both = |seed| {
            let mut taken = [false; 96];
            let placement = Placement::Random { seed };
            let mut hosts = placement.place(48, &leaf_of_host, &mut taken, 1).unwrap();
            hosts.extend(placement.place(48, &leaf_of_host, &mut taken, 1).unwrap());
            assert!(taken.iter().all(|&taken| taken));
            hosts
        };
        assert_eq!(both(None), both(Some(1)), "without a seed of its own the run's counts");
        assert_ne!(both(Some(1)), both(Some(2)));
    }
}
