//! Interface of the members of the family of workloads.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::{BitRate, InputError, InputErrors};

use crate::{AcceleratorNode, Driven, LoadOf, OpenGroups, Program, Traffic, TrafficSize, size::sampled};

/// Parameters that generate the traffic of a job: what a [`Workload`](crate::Workload) answers, whichever it is.
pub trait Generator {
    /// How many ranks it has, before anything is built: a typing error must not fill the memory.
    fn ranks(&self) -> u64;

    /// Its traffic; `seed` is the run's.
    ///
    /// # Errors
    /// When the parameters make no workload.
    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors>;

    /// Its traffic for files, where that has drivers whose operations are known before a run; else none.
    ///
    /// # Errors
    /// As [`Generator::traffic`]; when it is longer than memory is meant for.
    fn unrolled(&self, _seed: u64) -> Result<Option<Traffic>, InputErrors> {
        Ok(None)
    }

    /// How much it is, before it is built.
    ///
    /// # Errors
    /// As [`Generator::traffic`], as far as a few ranks show the mistake.
    fn size(&self) -> Result<TrafficSize, InputErrors>;

    /// Figures that are known before a run, for reports: nothing of most. `seed` is the run's.
    ///
    /// # Errors
    /// When the parameters make no workload.
    fn figures(&self, _seed: u64) -> Result<serde_json::Value, InputErrors> {
        Ok(serde_json::Value::Null)
    }

    /// Purpose of messages of its graphs with a tag, such as the collective that they are part of, where tags say it.
    fn purpose(&self, _tag: u32) -> Option<String> {
        None
    }

    /// Purposes of messages of its graphs by their tags, as far as they are known.
    fn purposes(&self, tags: &BTreeSet<u32>) -> BTreeMap<u32, String> {
        tags.iter().filter_map(|&tag| Some((tag, self.purpose(tag)?))).collect()
    }

    /// Whether its messages are those of NCCL, which no processor copies.
    fn calls_nccl(&self) -> bool {
        false
    }

    /// Profile of the library that sends its messages, where it is not that of all of its kind.
    fn message_profile(&self) -> Option<&'static str> {
        None
    }

    /// Connections of a pair of ranks, where its library opens several.
    fn connections(&self) -> Option<u32> {
        None
    }

    /// Rejects what names hosts that a fabric of this many does not have, where its text can be cited.
    ///
    /// # Errors
    /// The first such place is an error.
    fn check_hosts(&self, _hosts: u64) -> Result<(), InputError> {
        Ok(())
    }

    /// Sets what is not stated and depends on other parameters.
    fn complete(&mut self) {}

    /// Rate that the fabric sets, where it is left open, and what it is taken from.
    fn open_rate(&mut self) -> Option<(LoadOf, &mut Option<BitRate>)> {
        None
    }

    /// Payload that a host offers on the mean, where a load says so.
    fn offered_rate(&self) -> Option<BitRate> {
        None
    }

    /// Work that is asked for beyond what can ever be done, in words, where a load says so.
    fn overload(&self) -> Option<String> {
        None
    }

    /// Groups of hosts that the fabric sets, where pairs know such.
    fn open_groups(&mut self) -> Option<OpenGroups<'_>> {
        None
    }

    /// The drivers that the caller of a run must bring, where there are such.
    fn driver(&mut self) -> Option<&mut Driven> {
        None
    }

    /// Links between accelerators of a node, where it has accelerators in nodes.
    fn node(&self) -> Option<&AcceleratorNode> {
        None
    }
}

/// Parameters that generate a program for each rank of an MPI job; the rest follows.
pub trait RankWorkload {
    /// How many ranks it has, before anything is built: a typing error must not fill the memory.
    fn ranks(&self) -> u64;

    /// The programs of some ranks; `seed` is the run's.
    ///
    /// # Errors
    /// When the parameters make no workload.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, seed: u64) -> Result<Vec<Program>, InputErrors>;

    /// The program of every rank; `seed` is the run's.
    ///
    /// # Errors
    /// When the parameters make no workload.
    fn programs(&self, seed: u64) -> Result<Vec<Program>, InputErrors> {
        self.programs_of(0..self.ranks().min(u32::MAX.into()) as u32, seed)
    }

    /// How much it is, as the programs of a few ranks, spread evenly.
    ///
    /// # Errors
    /// As [`RankWorkload::programs`], where a program of these ranks shows the mistake.
    fn size(&self) -> Result<TrafficSize, InputErrors> {
        // Places that are drawn at random are alike, whatever the seed.
        sampled(self.ranks(), |ranks| self.programs_of(ranks, 1))
    }

    /// Whether its messages are those of NCCL, which no processor copies.
    fn calls_nccl(&self) -> bool {
        false
    }

    /// Sets what is not stated and depends on other parameters.
    fn complete(&mut self) {}
}

impl<W: RankWorkload> Generator for W {
    fn ranks(&self) -> u64 {
        RankWorkload::ranks(self)
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        self.programs(seed).map(Traffic::Ranks)
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        RankWorkload::size(self)
    }

    fn calls_nccl(&self) -> bool {
        RankWorkload::calls_nccl(self)
    }

    fn complete(&mut self) {
        RankWorkload::complete(self);
    }
}
