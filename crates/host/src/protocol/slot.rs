//! Elements of the vectors of states: a state itself where packets are to find it at once, otherwise where it stands.

use std::ops::Range;

use etherweave_kernel::memory::{prefer_huge_pages, prefetch, prefetch_part, prefetch_part_of};
use etherweave_kernel::{SlidingVec, indices::EndpointIndex};

use super::ProtocolState;

/// See the module. The default fills gaps.
pub trait Slot<S>: Default {
    /// That of a state.
    fn holding(state: S) -> Self;

    /// The state.
    fn state(&self) -> &S;

    fn state_mut(&mut self) -> &mut S;
}

impl<S: Default> Slot<S> for S {
    fn holding(state: S) -> S {
        state
    }

    #[inline(always)]
    fn state(&self) -> &S {
        self
    }

    #[inline(always)]
    fn state_mut(&mut self) -> &mut S {
        self
    }
}

impl<S> Slot<S> for Option<Box<S>> {
    fn holding(state: S) -> Option<Box<S>> {
        Some(Box::new(state))
    }

    #[inline(always)]
    fn state(&self) -> &S {
        self.as_deref().expect("asked for the state of another transport")
    }

    #[inline(always)]
    fn state_mut(&mut self) -> &mut S {
        self.as_deref_mut().expect("asked for the state of another transport")
    }
}

/// Adds the state of an endpoint, behind gaps where those before it have another transport. `expected` endpoints have
/// room at once, in huge pages from the first touch on: to move them there later is a copy.
pub fn push<S, T: Slot<S>>(
    slots: &mut SlidingVec<EndpointIndex, T>,
    endpoint: EndpointIndex,
    state: S,
    expected: usize,
) {
    if slots.capacity() == 0 {
        slots.reserve_exact(expected);
        prefer_huge_pages(slots);
    }
    while slots.next_index() < endpoint {
        slots.push(T::default());
    }
    slots.push(T::holding(state));
}

/// Begins to fetch what an endpoint that data arrives for has here, or that sends or is answered: its state, or where
/// that is. Any endpoint will do.
#[inline(always)]
pub fn prefetch_slot<P: ProtocolState>(
    slots: &SlidingVec<EndpointIndex, P::Slot>,
    endpoint: EndpointIndex,
    is_data: bool,
) {
    let place = slots.place(endpoint);
    match size_of::<P::Slot>() < size_of::<P>() {
        true => prefetch(slots, place, size_of::<P::Slot>()),
        false => prefetch_part_of(slots, place, half::<P>(is_data)),
    }
}

/// Begins to fetch the half of a state that takes data, or the one that sends and is answered.
#[inline(always)]
pub fn prefetch_half<P: ProtocolState>(state: &P, is_data: bool) {
    prefetch_part(state, half::<P>(is_data));
}

/// Bytes of the half of a state: of all where both are one.
#[inline(always)]
fn half<P: ProtocolState>(is_data: bool) -> Range<usize> {
    match (P::SENDING, is_data) {
        (None, _) => 0..size_of::<P>(),
        (Some(half), true) => half..size_of::<P>(),
        (Some(half), false) => 0..half,
    }
}
