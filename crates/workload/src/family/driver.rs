//! Ranks whose operations the caller of a run decides on while it goes on, for exploration.

use std::sync::Arc;

use etherweave_primitives::{Brought, InputError, InputErrors, Rank, params};

use crate::generator::Generator;
use crate::limits::{STREAMS_MAX, within};
use crate::{Driver, DriverEvent, ExecutionStream, Graph, NextOperations, Traffic, TrafficSize};

const STREAMS_OF_RANK_MAX: u32 = 64;

/// A rank for which a driver is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrivenRank {
    /// Its number.
    pub rank: u32,
    /// Ranks of the job.
    pub ranks: u32,
    /// Streams of a rank.
    pub streams: u32,
    /// Seed of the run.
    pub seed: u64,
}

/// Maker of the driver of each rank, once the caller has brought it.
pub type DriverStart = Brought<dyn Fn(DrivenRank) -> Box<dyn Driver> + Send + Sync>;

params! {
    /// Ranks whose operations a class of the caller decides on (`driver`), on one thread.
    pub struct Driven {
        /// Name of the class, which `etherweave.run(scenario, extend={"driver": CLASS})` brings in Python.
        pub class: String = String::new(),
        /// Ranks, 2 or more. Each has connections to all others.
        pub ranks: u32 = 2,
        /// Threads of a rank that perform operations, 1 to 64.
        pub streams: u32 = 1,
        /// Maker of its drivers, once the caller has brought it.
        #[serde(skip)]
        pub start: DriverStart = DriverStart::default(),
    }
}

/// Driver of a rank to which nothing was brought: it has ended when it starts.
struct NoDriver;

impl Driver for NoDriver {
    fn on_event(&mut self, _now: etherweave_primitives::Time, _event: DriverEvent, _next: &mut NextOperations<'_>) {}
}

impl Driven {
    /// Rejects what cannot be, before anything is built.
    fn check(&self) -> Result<(), InputErrors> {
        let pairs = u64::from(self.ranks) * u64::from(self.ranks.saturating_sub(1)) / 2;
        let (found, expected) = (format!("{pairs} pairs"), format!("at most {STREAMS_MAX}"));
        InputErrors::all([
            within("ranks", self.ranks, 2..=u32::MAX),
            InputError::unless(pairs <= STREAMS_MAX, "ranks", found, expected),
            within("streams", self.streams, 1..=STREAMS_OF_RANK_MAX),
        ])
    }

    fn graph(&self, rank: u32, seed: u64) -> Graph {
        let peers: Vec<Rank> = (0..self.ranks).filter(|&peer| peer != rank).map(Rank::new).collect();
        let (start, of) = (self.start.clone(), DrivenRank { rank, ranks: self.ranks, streams: self.streams, seed });
        let make = move || start.get().map_or_else(|| Box::new(NoDriver) as Box<dyn Driver>, |start| start(of));
        Graph::driven(vec![ExecutionStream::Core; self.streams as usize], &peers, make)
    }
}

impl Generator for Driven {
    fn ranks(&self) -> u64 {
        self.ranks.into()
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        self.check()?;
        let ranks = (0..self.ranks).map(|rank| Arc::new(self.graph(rank, seed))).collect();
        Ok(Traffic::Graphs { ranks, iterations: 1 })
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        self.check()?;
        let ranks = u64::from(self.ranks);
        let peers = ranks * (ranks - 1);
        Ok(TrafficSize {
            ranks,
            receivers: ranks,
            program_bytes: ranks * (size_of::<Graph>() as u64 + u64::from(self.streams))
                + peers * size_of::<Rank>() as u64,
            connections: peers / 2,
            rows: ranks,
            messages: None,
            bytes: None,
            burst_bytes: 0,
            rest_ps: None,
        })
    }

    fn driver(&mut self) -> Option<&mut Driven> {
        Some(self)
    }
}
