//! Plan of a run: the time at which each prompt is computed, and the senders and receivers of keys and values.
//!
//! No message delays a prefill worker, which takes prompts in the order of their arrival; so all ranks of a job know
//! when each begins and ends.

use std::ops::Range;
use std::sync::Arc;

use etherweave_primitives::{Bytes, Duration, InputError, InputErrors};

use super::requests::Request;
use super::{Inference, KvTransfer};
use crate::family::moe::plan::Plan as Exchange;
use crate::limits::decimal;

/// Latest end of a prompt, two months.
const ENDS_MAX: Duration = Duration::from_ms(5_000_000_000);

/// A request with what is decided for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub request: Request,
    /// Workers that compute its prompt and its answer.
    pub prefill: u32,
    pub decode: u32,
    /// Time at which its prompt is computed, from the start of the job.
    pub begins: Duration,
    pub ends: Duration,
}

/// All requests of a service.
pub(super) struct Plan {
    pub service: Inference,
    pub requests: Vec<Planned>,
    /// Exchanges of experts by the size of a batch, less one.
    exchanges: Vec<Arc<Exchange>>,
}

/// Exchanges of all sizes of a batch, whose requests accelerators share as evenly as they can.
fn exchanges(service: &Inference, seed: u64) -> Result<Vec<Arc<Exchange>>, InputError> {
    let Some(moe) = service.moe() else { return Ok(Vec::new()) };
    let tokens = |requests: u32| move |rank: u32| (requests + moe.ranks - 1 - rank) / moe.ranks;
    (1..=service.batch_max).map(|requests| Ok(Arc::new(Exchange::new(moe, seed, tokens(requests))?))).collect()
}

impl Plan {
    pub fn new(service: &Inference, seed: u64) -> Result<Plan, InputErrors> {
        let requests = service.requests.all(seed).map_err(|errors| errors.within("requests"))?;
        let mut free = vec![Duration::ZERO; service.prefill.workers as usize];
        let plan = |(number, request): (usize, Request)| {
            // The worker that is free first; of several, the first.
            let prefill = (0..free.len()).min_by_key(|&worker| free[worker]).expect("there is a worker");
            let begins = request.arrival.max(free[prefill]);
            let tokens = service.prefill_per_token.as_ps().saturating_mul(request.input.into());
            let work = service.prefill_start.as_ps().saturating_add(tokens);
            let ends = Duration::from_ps(begins.as_ps().saturating_add(work));
            free[prefill] = ends;
            let decode = number as u32 % service.decode.workers;
            Planned { request, prefill: prefill as u32, decode, begins, ends }
        };
        let requests: Vec<Planned> = requests.into_iter().enumerate().map(plan).collect();
        let last = requests.iter().map(|planned| planned.ends).max().unwrap_or(Duration::ZERO);
        let expected = format_args!("at most {ENDS_MAX}");
        InputError::unless(last <= ENDS_MAX, "requests", format!("the last prompt ends after {last}"), expected)?;
        let plan = Plan { service: service.clone(), requests, exchanges: exchanges(service, seed)? };
        plan.check_memory()?;
        Ok(plan)
    }

    fn check_memory(&self) -> Result<(), InputError> {
        let Some(memory) = self.service.cache_memory else { return Ok(()) };
        for (number, Planned { request, .. }) in (1..).zip(&self.requests) {
            let kept = Bytes::new(self.kept(request));
            let (input, output) = (request.input, request.output);
            let [memory_text, kept_text] = [memory, kept].map(decimal);
            let mistake =
                format_args!("{memory_text}, and the {input} + {output} tokens of request {number} take {kept_text}");
            InputError::unless(kept <= memory, "cache_memory", mistake, "the largest request, or more")?;
        }
        Ok(())
    }

    /// Longest time in which no prompt is complete, after which ranks go on.
    pub fn rest_max(&self) -> Duration {
        let mut ends: Vec<Duration> = self.requests.iter().map(|planned| planned.ends).collect();
        ends.sort_unstable();
        let begins = std::iter::once(Duration::ZERO).chain(ends.iter().copied());
        ends.iter().zip(begins).map(|(&end, begin)| end - begin).max().unwrap_or(Duration::ZERO)
    }

    /// Keys and values of a request at an accelerator of a decode worker, in whole blocks [B].
    pub fn kept(&self, request: &Request) -> u64 {
        let block = u64::from(self.service.block);
        let tokens = u64::from(request.input) + u64::from(request.output);
        tokens.next_multiple_of(block) * self.service.cache.token_bytes(self.service.decode.accelerators)
    }

    /// Exchange of the tokens of so many requests.
    pub fn exchange(&self, requests: u32) -> Option<Arc<Exchange>> {
        self.exchanges.get(requests as usize - 1).map(Arc::clone)
    }

    /// The ranks of a prefill worker.
    pub fn prefill_ranks(&self, worker: u32) -> Range<u32> {
        let size = self.service.prefill.accelerators;
        worker * size..(worker + 1) * size
    }

    /// The ranks of a decode worker, behind all of the other kind.
    pub fn decode_ranks(&self, worker: u32) -> Range<u32> {
        let (first, size) = (self.service.prefill.ranks(), self.service.decode.accelerators);
        first + worker * size..first + (worker + 1) * size
    }

    /// Ranks of a prefill worker that send to a rank of a decode worker, by their places: as many as together have what
    /// it needs, each an equal part. With latent attention one has all.
    pub fn senders(&self, place: u32) -> impl Iterator<Item = u32> + use<> {
        let (from, to) = (self.service.prefill.accelerators, self.service.decode.accelerators);
        let group = (from / to).max(1);
        let parts = self.parts();
        let first = (u64::from(place) * u64::from(from) / u64::from(to)) as u32;
        (0..parts).map(move |part| first + part * (group / parts))
    }

    /// Number of ranks that send the keys and values of a prompt to a receiver.
    pub fn parts(&self) -> u32 {
        let (from, to) = (self.service.prefill.accelerators, self.service.decode.accelerators);
        let [sender, receiver] = [from, to].map(|ranks| self.service.cache.token_bytes(ranks));
        (receiver.div_ceil(sender) as u32).clamp(1, (from / to).max(1))
    }

    /// Ranks of a decode worker that a place of a prefill worker sends to.
    pub fn receivers(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        let places = 0..self.service.decode.accelerators;
        places.filter(move |&other| self.senders(other).any(|sender| sender == place))
    }

    /// Messages of a prompt between two ranks: how many layers of each.
    pub fn pieces(&self) -> impl Iterator<Item = u32> + use<> {
        let (all, most) = (self.service.cache.layers(), self.service.layers_of_message());
        (0..all).step_by(most as usize).map(move |first| most.min(all - first))
    }

    /// A message with so many layers of a prompt, in whole blocks [B].
    pub fn bytes(&self, request: &Request, layers: u32) -> u64 {
        let (block, cache) = (u64::from(self.service.block), self.service.cache);
        let tokens = u64::from(request.input).div_ceil(block) * block;
        let of_rank = cache.token_bytes(self.service.decode.accelerators);
        tokens * of_rank / u64::from(cache.layers()) * u64::from(layers) / u64::from(self.parts())
    }

    /// When the messages of a prompt may leave, with the layers of each: pushed when these layers are computed, if
    /// messages have fewer than all; else when all are.
    pub fn departures(&self, planned: &Planned) -> Vec<(Duration, u32)> {
        let all = u64::from(self.service.cache.layers());
        let time = planned.ends - planned.begins;
        let mut computed = 0;
        let departure = |layers: u32| {
            computed += u64::from(layers);
            let part = (u128::from(time.as_ps()) * u128::from(computed) / u128::from(all)) as u64;
            let at = match self.service.transfer {
                KvTransfer::Push => planned.begins + Duration::from_ps(part),
                KvTransfer::Pull => planned.ends,
            };
            (at, layers)
        };
        self.pieces().map(departure).collect()
    }
}
