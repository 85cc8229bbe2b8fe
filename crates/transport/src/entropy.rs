//! Load balancing: the entropy value of each packet, by which switches hash it to a path.
//!
//! Acknowledgements echo the value of the packet that they answer. Schemes are choices of implementations
//! (specification, 3.6.16); these are those of the reference simulator uet-htsim (`uec_mp.cpp`).

use std::collections::VecDeque;

use etherweave_primitives::{Brought, Duration, Time, mix, params};

use crate::state_word::{joined, maybe_from_now};
use crate::{params::Checked, params::require, ranges::address};

/// Choice of entropy values by a sender, by which switches hash packets to paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadBalancing {
    /// Every value in turn, in another order each time.
    Oblivious,
    /// The same, without values that are penalised: by 1 for a mark, 4 for a trimmed packet, 15 for a loss.
    Bitmap,
    /// REPS: values of unmarked acknowledgements are used again, the oldest first; random ones while there are none
    /// (Bonato et al., "REPS: Recycled entropy packet spraying", arXiv 2407.21625).
    Reps,
    /// Values of unmarked acknowledgements, and those of the bitmap while there are none. The default.
    #[default]
    Mixed,
}

/// Most entropy values of a sender: they are source ports of UDP.
pub const ENTROPIES_MAX: u32 = 1 << 16;

/// Rejects a number of entropy values that is no power of two, or beyond a limit.
pub(crate) fn check_entropies(key: &str, count: u32, limit: u32) -> Checked {
    require(count.is_power_of_two() && count <= limit, key, count, format!("a power of two, 1 to {limit}"))
}

/// Outcome of a packet, for the value that it had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFeedback {
    /// It arrived without a mark.
    Unmarked,
    /// It was marked.
    Marked,
    /// A switch on the path trimmed it.
    Trimmed,
    /// It was lost.
    Lost,
}

/// The entropy values of one sender: what it learns of them, and which it gives next.
pub trait EntropyChoice {
    /// The value of the next packet.
    fn next(&mut self) -> u16;

    /// Takes what became of a packet with a value.
    fn heed(&mut self, _now: Time, _entropy: u16, _feedback: PathFeedback) {}
}

/// The choice of a sender.
pub type CallerChoice = Box<dyn EntropyChoice + Send>;
/// Start of the choices of senders, with their number of values, once the caller has brought it.
pub type CallerChoiceStart = Brought<dyn Fn(u32) -> CallerChoice + Send + Sync>;

params! {
    /// Load balancing by a class of the caller of the run, on one thread.
    pub struct LoadBalancer {
        /// Name of the class, which `etherweave.run(scenario, extend={"load_balancing": CLASS})` brings in Python.
        pub class: String = String::new(),
        /// Start of its choices, once the caller has brought it.
        #[serde(skip)]
        pub start: CallerChoiceStart = CallerChoiceStart::default(),
    }
}

/// A scheme, or the caller's choice.
pub(crate) enum Balancer {
    Scheme(Entropies),
    Caller(CallerChoice),
}

impl Balancer {
    /// The caller's choice, or the scheme until the caller has brought one.
    pub fn new(balancer: Option<&LoadBalancer>, scheme: LoadBalancing, entropies: u32) -> Balancer {
        match balancer.and_then(|balancer| balancer.start.get()) {
            Some(start) => Balancer::Caller(start(entropies)),
            None => Balancer::Scheme(Entropies::new(scheme, entropies)),
        }
    }

    /// Addresses of values that are used again, and of penalties.
    pub(super) fn apart(&self) -> [*const u8; 2] {
        match self {
            Balancer::Scheme(entropies) => [address(entropies.recycled.front()), address(entropies.penalties.first())],
            Balancer::Caller(_) => [std::ptr::null(); 2],
        }
    }

    /// See [`Entropies::repeatable_state`].
    pub fn repeatable_state(&self, now: Time) -> Option<u64> {
        match self {
            Balancer::Scheme(entropies) => entropies.repeatable_state(now),
            Balancer::Caller(_) => None,
        }
    }

    /// See [`EntropyChoice::next`].
    pub fn next(&mut self) -> u16 {
        match self {
            Balancer::Scheme(entropies) => entropies.next(),
            Balancer::Caller(choice) => choice.next(),
        }
    }

    /// See [`EntropyChoice::heed`].
    pub fn heed(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
        match self {
            Balancer::Scheme(entropies) => entropies.heed(now, entropy, feedback),
            Balancer::Caller(choice) => choice.heed(now, entropy, feedback),
        }
    }
}

/// Entropy values of a sender.
#[derive(Debug)]
pub(crate) struct Entropies {
    scheme: LoadBalancing,
    /// Number of values less one: they are a power of two.
    mask: u32,
    /// Values taken in turn.
    turn: u32,
    draws: u32,
    /// Penalties by value; empty where none is penalised.
    penalties: Box<[u8]>,
    /// Values of unmarked acknowledgements that are used again once.
    recycled: VecDeque<u16>,
    reps: Reps,
}

const PENALTY_MAX: u8 = 15;

impl PathFeedback {
    fn penalty(self) -> u8 {
        match self {
            PathFeedback::Unmarked => 0,
            PathFeedback::Marked => 1,
            PathFeedback::Trimmed => 4,
            PathFeedback::Lost => PENALTY_MAX,
        }
    }
}

impl Entropies {
    /// `count` values, a power of two.
    pub fn new(scheme: LoadBalancing, count: u32) -> Entropies {
        let has_penalties = matches!(scheme, LoadBalancing::Bitmap | LoadBalancing::Mixed);
        let penalties = if has_penalties { vec![0; count as usize] } else { Vec::new() };
        let (mask, penalties) = (count - 1, penalties.into_boxed_slice());
        Entropies { scheme, mask, turn: 0, draws: 0, penalties, recycled: VecDeque::new(), reps: Reps::default() }
    }

    /// State that decides what it will do. None of schemes that take all values in turn: they count cycles, of which
    /// each has an order of its own.
    pub fn repeatable_state(&self, now: Time) -> Option<u64> {
        let &Entropies { scheme, mask, turn, draws, ref penalties, ref recycled, ref reps } = self;
        let uses = match scheme {
            _ if mask == 0 => [0, 0],
            LoadBalancing::Oblivious | LoadBalancing::Bitmap => return None,
            LoadBalancing::Reps | LoadBalancing::Mixed => [turn, draws],
        };
        // Of tens of thousands of values few have one, and most of the time none.
        let has_penalties = penalties.iter().fold(0, |any, penalty| any | penalty) != 0;
        let words = penalties.iter().filter(|_| has_penalties).map(|&penalty| penalty.into());
        let penalties = joined(words);
        let recycled = joined(recycled.iter().map(|&value| value.into()));
        Some(joined(uses.map(u64::from).into_iter().chain([penalties, recycled, reps.word(now)])))
    }

    /// The value of the next packet.
    pub fn next(&mut self) -> u16 {
        match self.scheme {
            LoadBalancing::Oblivious => self.in_turn(),
            LoadBalancing::Bitmap => self.without_penalty(),
            LoadBalancing::Mixed => self.recycled.pop_front().unwrap_or_else(|| self.without_penalty()),
            LoadBalancing::Reps => self.reps.next().unwrap_or_else(|| self.drawn()),
        }
    }

    /// Takes what became of a packet with a value.
    pub fn heed(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
        if let Some(penalty) = self.penalties.get_mut(usize::from(entropy)) {
            *penalty = (*penalty + feedback.penalty()).min(PENALTY_MAX);
        }
        match (self.scheme, feedback) {
            (LoadBalancing::Mixed, PathFeedback::Unmarked) if self.recycled.len() <= self.mask as usize => {
                self.recycled.push_back(entropy);
            }
            (LoadBalancing::Reps, PathFeedback::Unmarked) => self.reps.recycle(now, entropy),
            (LoadBalancing::Reps, PathFeedback::Lost) => self.reps.freeze(now),
            _ => {}
        }
    }

    /// Every value once in a cycle, in an order that another word of each cycle gives.
    fn in_turn(&mut self) -> u16 {
        let (place, cycle) = (self.turn & self.mask, u64::from(self.turn / (self.mask + 1)));
        self.turn = self.turn.wrapping_add(1);
        (place ^ mix(cycle + 1) as u32 & self.mask) as u16
    }

    /// The next in turn that has no penalty; the first that has loses one of it. After a cycle, whichever is next.
    fn without_penalty(&mut self) -> u16 {
        let first = self.in_turn();
        if self.penalties[usize::from(first)] == 0 {
            return first;
        }
        self.penalties[usize::from(first)] -= 1;
        let mut entropy = self.in_turn();
        for _ in 1..self.mask {
            if self.penalties[usize::from(entropy)] == 0 {
                break;
            }
            entropy = self.in_turn();
        }
        entropy
    }

    fn drawn(&mut self) -> u16 {
        self.draws = self.draws.wrapping_add(1);
        (mix(!u64::from(self.draws)) as u32 & self.mask) as u16
    }
}

const REPS_VALUES: u8 = 8;
const FROZEN: Duration = Duration::from_ms(10);
/// Packets with random values after that.
const EXPLORED: u8 = 16;

#[derive(Default, Debug)]
struct Reps {
    values: [u16; REPS_VALUES as usize],
    /// Place of the next value that is kept.
    head: u8,
    kept: u8,
    /// The youngest of them that have not been used again.
    fresh: u8,
    /// Packets to come with random values.
    explored: u8,
    /// Values are used again and again until a value comes, or a packet is lost, after that time.
    frozen_until: Option<Time>,
}

impl Reps {
    /// State that decides what it will do.
    fn word(&self, now: Time) -> u64 {
        let &Reps { values, head, kept, fresh, explored, frozen_until } = self;
        let values = (0..REPS_VALUES).map(|place| values[usize::from((head + place) % REPS_VALUES)].into());
        let own = [kept, fresh, explored].map(u64::from).into_iter().chain([maybe_from_now(now, frozen_until)]);
        joined(own.chain(values))
    }

    fn recycle(&mut self, now: Time, entropy: u16) {
        self.thaw(now);
        self.values[usize::from(self.head)] = entropy;
        self.head = (self.head + 1) % REPS_VALUES;
        self.kept = (self.kept + 1).min(REPS_VALUES);
        self.fresh = (self.fresh + 1).min(REPS_VALUES);
    }

    /// Forgets all values once they were used again for long enough.
    fn thaw(&mut self, now: Time) {
        if self.frozen_until.is_some_and(|until| now > until) {
            *self = Reps { explored: EXPLORED, ..Reps::default() };
        }
    }

    /// The reference simulator thaws by an acknowledgement alone: none comes where all values lead to a failed link.
    fn freeze(&mut self, now: Time) {
        self.thaw(now);
        if self.explored == 0 && self.kept > 0 {
            self.frozen_until.get_or_insert(now + FROZEN);
        }
    }

    fn next(&mut self) -> Option<u16> {
        if self.explored > 0 {
            self.explored -= 1;
            return None;
        }
        if self.fresh > 0 {
            let place = (self.head + REPS_VALUES - self.fresh) % REPS_VALUES;
            self.fresh -= 1;
            return Some(self.values[usize::from(place)]);
        }
        self.frozen_until?;
        self.head = (self.head + 1) % self.kept;
        Some(self.values[usize::from(self.head)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(entropies: &mut Entropies, count: usize) -> Vec<u16> {
        (0..count).map(|_| entropies.next()).collect()
    }

    #[test]
    fn oblivious_values_come_once_in_a_cycle_and_in_another_order_in_the_next() {
        let mut entropies = Entropies::new(LoadBalancing::Oblivious, 16);
        let [first, second] = [(); 2].map(|()| taken(&mut entropies, 16));
        assert_ne!(first, second);
        for mut cycle in [first, second] {
            cycle.sort_unstable();
            assert_eq!(cycle, (0..16).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_penalised_value_is_left_out_as_often_as_it_has_penalties() {
        let mut entropies = Entropies::new(LoadBalancing::Bitmap, 8);
        entropies.heed(Time::ZERO, 5, PathFeedback::Trimmed);
        let cycles: Vec<Vec<u16>> = (0..6).map(|_| taken(&mut entropies, 7)).collect();
        let uses = cycles.concat().iter().filter(|&&value| value == 5).count();
        // 42 packets visit it about once in seven: four visits spend its penalty.
        assert!((1..=2).contains(&uses), "{cycles:?}");
    }

    #[test]
    fn mixed_uses_unmarked_values_again_before_others() {
        let mut entropies = Entropies::new(LoadBalancing::Mixed, 8);
        entropies.heed(Time::ZERO, 3, PathFeedback::Unmarked);
        entropies.heed(Time::ZERO, 6, PathFeedback::Marked);
        entropies.heed(Time::ZERO, 2, PathFeedback::Unmarked);
        assert_eq!(taken(&mut entropies, 2), [3, 2]);
        assert!(!taken(&mut entropies, 7).contains(&6));
    }

    #[test]
    fn reps_freezes_on_a_loss_and_explores_after_it() {
        let mut entropies = Entropies::new(LoadBalancing::Reps, 256);
        (10..14).for_each(|value| entropies.heed(Time::ZERO, value, PathFeedback::Unmarked));
        assert_eq!(taken(&mut entropies, 4), [10, 11, 12, 13]);
        entropies.heed(Time::ZERO, 99, PathFeedback::Lost);
        let frozen = taken(&mut entropies, 40);
        assert!(frozen.iter().all(|value| (10..14).contains(value)));
        let late = Time::ZERO + FROZEN + Duration::from_us(1);
        entropies.heed(late, 77, PathFeedback::Unmarked);
        assert!(!taken(&mut entropies, usize::from(EXPLORED)).contains(&77));
        assert_eq!(entropies.next(), 77);
    }

    #[test]
    fn reps_leaves_values_that_all_lead_to_a_failed_link() {
        let mut entropies = Entropies::new(LoadBalancing::Reps, 256);
        entropies.heed(Time::ZERO, 5, PathFeedback::Unmarked);
        let mut lost = |at: Time| {
            entropies.heed(at, 5, PathFeedback::Lost);
            taken(&mut entropies, 3)
        };
        assert_eq!(lost(Time::ZERO), [5, 5, 5]);
        assert_eq!(lost(Time::ZERO + FROZEN), [5, 5, 5]);
        assert!(!lost(Time::ZERO + FROZEN + Duration::from_us(1)).contains(&5));
    }
}
