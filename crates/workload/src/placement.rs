//! Hosts of a job: no host for two jobs, unless the scenario lets them share it. The [`RankOrder`] assigns the ranks
//! to them.
//!
//! [`RankOrder`]: crate::RankOrder

use etherweave_primitives::{HostId, InputError, Purpose, Stream};

/// The hosts of a job, in order; with one rank per host, the host of each rank.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Placement {
    /// Hosts in this order: rank 0 on the first.
    Hosts(Vec<u32>),
    /// The leaf of each. Those on one leaf are its hosts in ascending order, past those of other jobs.
    Leaves(Vec<u32>),
    /// The group of each, or the pod, likewise.
    Groups(Vec<u32>),
    /// Random hosts that no other job has.
    Random {
        /// A seed of its own; without it the run's.
        #[serde(default)]
        seed: Option<u64>,
    },
    /// Consecutive hosts from `first`, past those of other jobs.
    Linear {
        /// First host.
        #[serde(default)]
        first: u32,
    },
}

impl Default for Placement {
    fn default() -> Placement {
        Placement::Linear { first: 0 }
    }
}

/// Where the hosts of a fabric are: a number for each.
pub struct HostAreas {
    /// Leaf.
    pub leaves: Vec<u32>,
    /// Group or pod, in fabrics that have them.
    pub groups: Option<Vec<u32>>,
}

impl Placement {
    /// `count` hosts, marked in `taken` as occupied; nothing is marked on an error. `seed` is the run's.
    ///
    /// # Errors
    /// When a list has another length than the job, a host is missing or taken, or too few are free:
    /// the error says how many fit.
    pub fn place(
        &self,
        count: u32,
        areas: &HostAreas,
        taken: &mut [bool],
        seed: u64,
    ) -> Result<Vec<HostId>, InputError> {
        assert_eq!(areas.leaves.len(), taken.len(), "every host has a leaf and is taken or not");
        let hosts = match self {
            Placement::Hosts(hosts) => listed_hosts(hosts, count, taken)?,
            Placement::Leaves(leaves) => {
                let list = AreaList { key: "leaves", name: "leaf", areas: leaves };
                list.hosts(count, &areas.leaves, taken)?
            }
            Placement::Groups(groups) => {
                let list = AreaList { key: "groups", name: "group", areas: groups };
                let missing = || InputError::new("groups", "a fabric without groups", "a dragonfly, or one with pods");
                list.hosts(count, areas.groups.as_ref().ok_or_else(missing)?, taken)?
            }
            Placement::Random { seed: own } => random(count, taken, own.unwrap_or(seed))?,
            Placement::Linear { first } => linear(count, taken, *first)?,
        };
        hosts.iter().for_each(|host| taken[host.index()] = true);
        Ok(hosts)
    }
}

fn listed_hosts(hosts: &[u32], count: u32, taken: &[bool]) -> Result<Vec<HostId>, InputError> {
    as_long_as_the_job("hosts", hosts, count)?;
    let mut taken = taken.to_vec();
    hosts.iter().map(|&host| take("hosts", host, &mut taken)).collect()
}

fn take(key: &'static str, host: u32, taken: &mut [bool]) -> Result<HostId, InputError> {
    let count = taken.len();
    match taken.get_mut(host as usize) {
        None => Err(InputError::new(key, format!("host {host}"), format!("a host of the fabric's {count}, from 0"))),
        Some(true) => {
            Err(InputError::new(key, format!("host {host} is taken"), "each host once, and no host of another job"))
        }
        Some(free) => {
            *free = true;
            Ok(HostId::new(host))
        }
    }
}

/// The area of each host of a job, as a scenario lists them.
struct AreaList<'a> {
    key: &'static str,
    name: &'static str,
    areas: &'a [u32],
}

impl AreaList<'_> {
    /// The first free host of the area of each entry.
    fn hosts(&self, count: u32, area_of_host: &[u32], taken: &[bool]) -> Result<Vec<HostId>, InputError> {
        as_long_as_the_job(self.key, self.areas, count)?;
        let mut taken = taken.to_vec();
        let place = |(entry, &area): (usize, &u32)| {
            let free = (0..taken.len()).find(|&host| area_of_host[host] == area && !taken[host]);
            let host = free.ok_or_else(|| {
                let mistake = format!("{} {area} has no free host, {entry} of {count} hosts fit", self.name);
                InputError::new(self.key, mistake, format!("{} with as many free hosts as they are listed", self.key))
            })?;
            taken[host] = true;
            Ok(HostId::from_index(host))
        };
        self.areas.iter().enumerate().map(place).collect()
    }
}

fn random(count: u32, taken: &[bool], seed: u64) -> Result<Vec<HostId>, InputError> {
    let mut free = free_hosts(taken, 0);
    Stream::new(seed, Purpose::Placement, 0).shuffle(&mut free);
    first_of("random", free, count)
}

fn linear(count: u32, taken: &[bool], first: u32) -> Result<Vec<HostId>, InputError> {
    first_of("linear", free_hosts(taken, first as usize), count)
}

fn free_hosts(taken: &[bool], first: usize) -> Vec<HostId> {
    (first..taken.len()).filter(|&host| !taken[host]).map(HostId::from_index).collect()
}

fn first_of(key: &'static str, mut free: Vec<HostId>, count: u32) -> Result<Vec<HostId>, InputError> {
    let fit = free.len();
    if fit < count as usize {
        return Err(InputError::new(key, format!("{count} hosts"), format!("at most {fit}, as many as are free")));
    }
    free.truncate(count as usize);
    Ok(free)
}

fn as_long_as_the_job(key: &'static str, list: &[u32], count: u32) -> Result<(), InputError> {
    if list.len() == count as usize {
        return Ok(());
    }
    Err(InputError::new(key, format!("{} entries", list.len()), format!("{count}, one for each host of the job")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two leaves of three hosts.
    const LEAVES: [u32; 6] = [0, 0, 0, 1, 1, 1];

    fn place(placement: &Placement, count: u32, taken: &mut [bool]) -> Result<Vec<u32>, String> {
        let areas = HostAreas { leaves: LEAVES.to_vec(), groups: None };
        let hosts = placement.place(count, &areas, taken, 5).map_err(|error| error.to_string())?;
        Ok(hosts.iter().map(|host| host.get()).collect())
    }

    #[test]
    fn hosts_of_a_leaf_are_taken_in_ascending_order_past_other_jobs() {
        let mut taken = [false, true, false, false, false, false];
        assert_eq!(place(&Placement::Leaves(vec![1, 0, 1, 0]), 4, &mut taken).unwrap(), [3, 0, 4, 2]);
        assert_eq!(taken, [true, true, true, true, true, false]);
    }

    #[test]
    fn a_placement_larger_than_the_fabric_says_how_many_fit_and_takes_nothing() {
        let mut taken = [false; 6];
        let error = place(&Placement::Linear { first: 2 }, 5, &mut taken).unwrap_err();
        assert_eq!(error, "linear: 5 hosts; expected at most 4, as many as are free");
        let error = place(&Placement::Leaves(vec![0, 0, 0, 0]), 4, &mut taken).unwrap_err();
        assert!(error.contains("leaf 0 has no free host, 3 of 4 hosts fit"), "{error}");
        assert_eq!(taken, [false; 6]);
    }

    #[test]
    fn groups_are_listed_as_leaves_are_where_the_fabric_has_them() {
        let placement = Placement::Groups(vec![1, 0]);
        let areas = HostAreas { leaves: LEAVES.to_vec(), groups: Some(vec![0, 0, 0, 0, 0, 1]) };
        let hosts = placement.place(2, &areas, &mut [false; 6], 1).unwrap();
        assert_eq!(hosts.iter().map(|host| host.get()).collect::<Vec<_>>(), [5, 0]);
        let error = place(&placement, 2, &mut [false; 6]).unwrap_err();
        assert_eq!(error, "groups: a fabric without groups; expected a dragonfly, or one with pods");
    }

    #[test]
    fn a_host_is_given_once_and_must_exist() {
        let error = place(&Placement::Hosts(vec![4, 4]), 2, &mut [false; 6]).unwrap_err();
        assert!(error.contains("host 4 is taken"), "{error}");
        let error = place(&Placement::Hosts(vec![6, 0]), 2, &mut [false; 6]).unwrap_err();
        assert!(error.contains("host 6; expected a host of the fabric's 6"), "{error}");
        let error = place(&Placement::Hosts(vec![1]), 2, &mut [false; 6]).unwrap_err();
        assert_eq!(error, "hosts: 1 entries; expected 2, one for each host of the job");
    }

    #[test]
    fn random_jobs_share_no_host_and_differ_by_seed() {
        let areas = HostAreas { leaves: vec![0; 96], groups: None };
        let both = |seed| {
            let mut taken = [false; 96];
            let placement = Placement::Random { seed };
            let mut hosts = placement.place(48, &areas, &mut taken, 1).unwrap();
            hosts.extend(placement.place(48, &areas, &mut taken, 1).unwrap());
            assert!(taken.iter().all(|&taken| taken));
            hosts
        };
        assert_eq!(both(None), both(Some(1)), "without a seed of its own the run's counts");
        assert_ne!(both(Some(1)), both(Some(2)));
    }
}
