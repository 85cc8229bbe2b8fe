//! Assignment of the ranks of a job to its hosts, where a host runs several.

use etherweave_primitives::{HostId, InputError, Purpose, Stream};

/// The order in which ranks fill the hosts of their job.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum RankOrder {
    /// Consecutive ranks on a host until it is full (Slurm: `--distribution=block`).
    #[default]
    Block,
    /// Consecutive ranks on consecutive hosts (Slurm: `--distribution=cyclic`).
    RoundRobin,
    /// Block, of ranks in random order.
    Random {
        /// A seed of its own; without it the run's.
        #[serde(default)]
        seed: Option<u64>,
    },
    /// The host of each rank, counted from 0 in the hosts of the job.
    Listed(Vec<u32>),
}

impl RankOrder {
    /// How many hosts `ranks` ranks need.
    pub fn hosts(&self, ranks: u64, per_host: u32) -> u64 {
        match self {
            RankOrder::Block | RankOrder::RoundRobin | RankOrder::Random { .. } => ranks.div_ceil(per_host.into()),
            RankOrder::Listed(places) => places.iter().max().map_or(0, |&last| u64::from(last) + 1),
        }
    }

    /// The host of each of `ranks` ranks on `hosts`, at most `per_host` on each; `seed` is the run's.
    ///
    /// # Errors
    /// When a list has another length than the job, names more hosts than it needs, or fills one beyond `per_host`.
    ///
    /// # Panics
    /// When there are fewer `hosts` than [`RankOrder::hosts`] says.
    pub fn assign(&self, hosts: &[HostId], ranks: u32, per_host: u32, seed: u64) -> Result<Vec<HostId>, InputError> {
        let block = |rank: u32| hosts[(rank / per_host) as usize];
        Ok(match self {
            RankOrder::Block => (0..ranks).map(block).collect(),
            RankOrder::RoundRobin => hosts.iter().copied().cycle().take(ranks as usize).collect(),
            RankOrder::Random { seed: own } => {
                let mut places: Vec<HostId> = (0..ranks).map(block).collect();
                Stream::new(own.unwrap_or(seed), Purpose::Placement, 1).shuffle(&mut places);
                places
            }
            RankOrder::Listed(places) => {
                check_list(places, ranks, per_host)?;
                places.iter().map(|&place| hosts[place as usize]).collect()
            }
        })
    }
}

fn check_list(places: &[u32], ranks: u32, per_host: u32) -> Result<(), InputError> {
    let error = |mistake: String, expected: String| Err(InputError::new("listed", mistake, expected));
    if places.len() != ranks as usize {
        return error(format!("{} entries", places.len()), format!("{ranks}, one for each rank"));
    }
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    if let Some(run) = sorted.chunk_by(|a, b| a == b).find(|run| run.len() > per_host as usize) {
        let mistake = format!("host {} has {} ranks", run[0], run.len());
        return error(mistake, format!("at most ranks_per_host, {per_host}, on each"));
    }
    sorted.dedup();
    match (0..).zip(&sorted).find(|(expected, place)| expected != *place) {
        Some((idle, _)) => error(format!("host {idle} has no rank"), "hosts from 0, none of them idle".into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(order: &RankOrder, ranks: u32, per_host: u32) -> Result<Vec<u32>, String> {
        let hosts: Vec<HostId> =
            (0..order.hosts(ranks.into(), per_host) as u32).map(|at| HostId::new(10 + at)).collect();
        let hosts = order.assign(&hosts, ranks, per_host, 1).map_err(|error| error.to_string())?;
        Ok(hosts.iter().map(|host| host.get()).collect())
    }

    #[test]
    fn five_ranks_fill_two_hosts_of_three_in_blocks_or_in_turn() {
        assert_eq!(assigned(&RankOrder::Block, 5, 3).unwrap(), [10, 10, 10, 11, 11]);
        assert_eq!(assigned(&RankOrder::RoundRobin, 5, 3).unwrap(), [10, 11, 10, 11, 10]);
    }

    #[test]
    fn a_random_order_fills_each_host_as_blocks_do_and_depends_on_its_seed() {
        let order = |seed| assigned(&RankOrder::Random { seed }, 64, 8).unwrap();
        let mut sorted = order(None);
        sorted.sort_unstable();
        assert_eq!(sorted, assigned(&RankOrder::Block, 64, 8).unwrap());
        assert_eq!(order(None), order(Some(1)), "without a seed of its own the run's counts");
        assert_ne!(order(Some(1)), order(Some(2)));
    }

    #[test]
    fn a_list_names_a_host_for_each_rank_up_to_its_size_and_leaves_none_idle() {
        let listed = |places: &[u32]| assigned(&RankOrder::Listed(places.to_vec()), 4, 2);
        assert_eq!(listed(&[1, 0, 0, 1]).unwrap(), [11, 10, 10, 11]);
        assert_eq!(listed(&[1, 0, 0]).unwrap_err(), "listed: 3 entries; expected 4, one for each rank");
        assert_eq!(
            listed(&[0, 0, 0, 1]).unwrap_err(),
            "listed: host 0 has 3 ranks; expected at most ranks_per_host, 2, on each"
        );
        assert_eq!(
            listed(&[0, 0, 2, 2]).unwrap_err(),
            "listed: host 1 has no rank; expected hosts from 0, none of them idle"
        );
    }
}
