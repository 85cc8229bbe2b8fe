//! Process groups, as traces and scenarios name them.

use std::collections::BTreeMap;

use etherweave_primitives::InputError;

/// The numbers of the first collective and of the one without a size.
pub(super) const ALL_REDUCE: i64 = 0;
pub(super) const BARRIER: u8 = 9;

/// A group of PyTorch, as far as it matters.
#[derive(serde::Deserialize)]
struct TorchGroup {
    pg_name: String,
    /// Empty: all ranks.
    ranks: Vec<u32>,
    group_size: Option<i64>,
}

impl TorchGroup {
    /// Rejects a number of members that its list does not have, or the job of so many ranks.
    fn check(&self, ranks: u32) -> Result<(), InputError> {
        let (members, expected) = match self.ranks.len() {
            0 => (i64::from(ranks), format!("{ranks}, a trace for each: a group without a list has all ranks")),
            count => (count as i64, format!("{count}, as many as its list has")),
        };
        let size = self.group_size.unwrap_or(members);
        let mistake = format_args!("group_size {size} of group \"{}\"", self.pg_name);
        InputError::unless(size == members, "", mistake, expected)
    }
}

/// The groups of what PyTorch notes when it makes them: JSON in a list in a string, or nothing.
///
/// # Errors
/// When there is a list that is none of groups, or a group has another number of members in a job of so many ranks.
pub(super) fn read_torch(values: &str, ranks: u32) -> Result<impl Iterator<Item = (String, Vec<u32>)>, InputError> {
    let json = values.find("[{").zip(values.rfind("}]")).and_then(|(begin, end)| values.get(begin..end + 2));
    let read: Vec<TorchGroup> = serde_json::from_str(json.unwrap_or("[]")).map_err(|error| {
        InputError::new("", format_args!("process groups: {error}"), "a list with pg_name and ranks")
    })?;
    read.iter().try_for_each(|group| group.check(ranks))?;
    Ok(read.into_iter().map(|group| (group.pg_name, group.ranks)))
}

/// Reads groups in the form of ASTRA-sim: an object with a list of ranks for each name.
///
/// # Errors
/// When it is none.
pub(super) fn read_json(text: &str) -> Result<BTreeMap<String, Vec<u32>>, InputError> {
    let expected = "an object with a list of ranks for each group, {\"1\": [0, 1]}";
    serde_json::from_str(text).map_err(|error| InputError::new("groups", error, expected))
}

/// Checks that a group names ranks of the job, each once.
///
/// # Errors
/// Names the group.
pub(super) fn check(name: &str, members: &[u32], ranks: u32) -> Result<(), InputError> {
    let error = |mistake: String, expected: &str| Err(InputError::new(format!("groups.{name}"), mistake, expected));
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    if members.is_empty() {
        return error("a group without ranks".to_owned(), "at least one rank");
    }
    if let Some(rank) = members.iter().find(|&&rank| rank >= ranks) {
        return error(format!("rank {rank} of a job of {ranks} ranks"), "ranks of the job");
    }
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => error(format!("rank {} twice", pair[0]), "each rank once"),
        None => Ok(()),
    }
}
