//! Rules in the order in which packets of one region meet them: chains whose ends are shared by all that have them.

use std::collections::HashMap;

use super::ranks::ChannelRule;

pub(super) const END: u32 = (1 << 31) - 1;
const ANY_PORT: u8 = u8::MAX;

/// Where a rule sends, and what it does to the packet's channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The port, below 255.
    pub port: u8,
    /// The channel there.
    pub rank: ChannelRule,
}

/// A rule of a region: what of its match the region and the sources have not decided yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RemainingRule {
    /// Bits that the destination must have, where `dst_mask` is set.
    pub dst_value: u32,
    /// Bits of the destination that count.
    pub dst_mask: u32,
    /// The port of arrival; absent, any.
    pub in_port: Option<u8>,
    /// Inactive while this is paused.
    pub watched: Option<Target>,
    /// Where it sends: one of these, by hash.
    pub targets: Vec<Target>,
}

impl RemainingRule {
    /// Whether no packet of the region gets past it.
    pub fn always_decides(&self) -> bool {
        self.dst_mask == 0 && self.in_port.is_none() && self.watched.is_none()
    }
}

/// The same in 24 bytes, in a chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CompiledRule {
    dst_value: u32,
    dst_mask: u32,
    next: u32,
    first_target: u32,
    targets: u8,
    in_port: u8,
    pub watched: Option<Target>,
}

/// Fields of a packet that choices match.
#[derive(Clone, Copy)]
pub(super) struct MatchFields {
    pub dst: u32,
    pub in_port: u8,
}

impl CompiledRule {
    #[inline]
    pub fn matches(&self, seen: MatchFields) -> bool {
        seen.dst & self.dst_mask == self.dst_value && (self.in_port == ANY_PORT || self.in_port == seen.in_port)
    }

    /// Whether it sends where another does, on the same channel: targets are stored once.
    #[inline]
    pub fn leads_as(&self, other: &CompiledRule) -> bool {
        (self.first_target, self.targets) == (other.first_target, other.targets)
    }
}

#[derive(Default)]
pub(super) struct CompiledRules {
    choices: Vec<CompiledRule>,
    targets: Vec<Target>,
}

impl CompiledRules {
    /// The choices from one on, in order.
    #[inline]
    pub fn chain(&self, first: u32) -> impl Iterator<Item = &CompiledRule> {
        let at = |number: u32| (number != END).then(|| &self.choices[number as usize]);
        std::iter::successors(at(first), move |choice| at(choice.next))
    }

    /// Whether any choice is inactive at times.
    pub fn are_watched(&self) -> bool {
        self.choices.iter().any(|choice| choice.watched.is_some())
    }

    #[inline]
    pub fn targets(&self, choice: &CompiledRule) -> &[Target] {
        &self.targets[choice.first_target as usize..][..usize::from(choice.targets)]
    }
}

/// Chains in the making; equal ends are one.
#[derive(Default)]
pub struct Chains {
    pub(super) choices: CompiledRules,
    numbers: HashMap<CompiledRule, u32>,
    target_numbers: HashMap<Vec<Target>, u32>,
}

impl Chains {
    /// The first choice of a chain of rules.
    pub fn add(&mut self, rules: &[RemainingRule]) -> u32 {
        rules.iter().rev().fold(END, |next, rule| self.put(rule, next))
    }

    fn put(&mut self, rule: &RemainingRule, next: u32) -> u32 {
        let RemainingRule { dst_value, dst_mask, in_port, watched, ref targets } = *rule;
        let in_port = in_port.unwrap_or(ANY_PORT);
        let (first_target, targets) = (self.targets(targets), targets.len() as u8);
        let choice = CompiledRule { dst_value, dst_mask, next, first_target, targets, in_port, watched };
        *self.numbers.entry(choice).or_insert_with(|| {
            self.choices.choices.push(choice);
            self.choices.choices.len() as u32 - 1
        })
    }

    fn targets(&mut self, targets: &[Target]) -> u32 {
        if let Some(&first) = self.target_numbers.get(targets) {
            return first;
        }
        let first = self.choices.targets.len() as u32;
        self.choices.targets.extend_from_slice(targets);
        self.target_numbers.insert(targets.to_vec(), first);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_takes_24_bytes_and_chains_share_their_ends() {
        assert_eq!(size_of::<CompiledRule>(), 24);
        let to = |port| RemainingRule {
            dst_value: 0,
            dst_mask: 0,
            in_port: None,
            watched: None,
            targets: vec![Target { port, rank: ChannelRule::Fixed(0) }],
        };
        let mut chains = Chains::default();
        let [first, second] = [[to(1), to(9)], [to(2), to(9)]].map(|rules| chains.add(&rules));
        assert_eq!(chains.choices.choices.len(), 3);
        let ports = |chain| -> Vec<u8> {
            let choices = chains.choices.chain(chain);
            choices.flat_map(|choice| chains.choices.targets(choice)).map(|target| target.port).collect()
        };
        assert_eq!((ports(first), ports(second)), (vec![1, 9], vec![2, 9]));
    }
}
