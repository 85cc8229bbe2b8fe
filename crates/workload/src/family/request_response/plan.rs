//! Servers that work on the parts of a request: the calls of all services, from the client's on, are a tree, in which a
//! server that is called is a place. The tag of a message is the number of the request and that of the place.

use std::ops::Range;

use etherweave_primitives::{Purpose, Rank, Stream};

use super::{RequestResponse, Service};
use crate::GraphFacts;

/// Server at work on a request, by what all requests have in common.
struct Place {
    service: usize,
    caller: u32,
    /// First place of its call, which the others follow.
    call: u32,
    /// Number of its call among those of its caller.
    order: u32,
    /// Places that it calls together, stage after stage.
    stages: Vec<Range<u32>>,
}

/// Messages of a server, in requests to it.
#[derive(Clone, Copy, Default)]
pub(super) struct Asked {
    pub requests: u32,
    /// Those of them whose calls are rows.
    pub measured: u32,
}

/// Services with the places of a request.
pub(super) struct Plan {
    pub own: RequestResponse,
    pub services: Vec<Service>,
    /// Services that each service calls, stage after stage, and that clients call.
    pub calls: Vec<Vec<Vec<usize>>>,
    /// The first server of each service; behind the last one, the number of all ranks.
    first: Vec<u32>,
    /// The client is the first place.
    places: Vec<Place>,
    pub seed: u64,
}

impl Plan {
    pub fn new(own: &RequestResponse, seed: u64) -> Plan {
        let services = own.all_services();
        let mut first = vec![own.clients];
        services.iter().for_each(|service| first.push(first[first.len() - 1] + service.servers));
        let client = Place { service: services.len(), caller: 0, call: 0, order: 0, stages: Vec::new() };
        let calls = services.iter().map(|service| service.stages(&services)).chain([vec![vec![0]]]).collect();
        let mut plan = Plan { own: own.clone(), services, calls, first, places: vec![client], seed };
        plan.add_stages(0);
        plan
    }

    /// Adds the places that a place calls, and those that they call.
    fn add_stages(&mut self, caller: u32) {
        let mut order = 0;
        for stage in self.calls[self.places[caller as usize].service].clone() {
            let begin = self.places.len() as u32;
            for service in stage {
                let call = self.places.len() as u32;
                let place = || Place { service, caller, call, order, stages: Vec::new() };
                self.places.extend((0..self.services[service].fan_out).map(|_| place()));
                order += 1;
            }
            let end = self.places.len() as u32;
            self.places[caller as usize].stages.push(begin..end);
            (begin..end).for_each(|place| self.add_stages(place));
        }
    }

    /// The tag of a request at its client.
    pub fn tag(&self, client: u32, number: u32) -> u32 {
        (client * self.own.all_requests() + number) * self.places.len() as u32
    }

    fn place(&self, tag: u32) -> &Place {
        &self.places[tag as usize % self.places.len()]
    }

    /// The tag of another place of the same request.
    fn beside(&self, tag: u32, place: u32) -> u32 {
        tag - tag % self.places.len() as u32 + place
    }

    /// Number of the service of a place, that of all services for a client.
    pub fn service(&self, tag: u32) -> usize {
        self.place(tag).service
    }

    /// Number of a call among those of its caller.
    pub fn order(&self, tag: u32) -> usize {
        self.place(tag).order as usize
    }

    /// The tag of the place that calls a place.
    pub fn caller(&self, tag: u32) -> u32 {
        self.beside(tag, self.place(tag).caller)
    }

    /// Whether calls for a request are rows.
    pub fn is_measured(&self, tag: u32) -> bool {
        tag / self.places.len() as u32 % self.own.all_requests() >= self.own.warm_up
    }

    /// The tags of the places that a place calls together in a stage, none behind the last one.
    pub fn called(&self, tag: u32, stage: usize) -> Option<Range<u32>> {
        let places = self.place(tag).stages.get(stage)?;
        Some(self.beside(tag, places.start)..self.beside(tag, places.end))
    }

    /// The rank of a place: of a call's servers the first at random, and those that follow it.
    pub fn rank(&self, tag: u32) -> Rank {
        let place = self.place(tag);
        let Some(service) = self.services.get(place.service) else {
            return Rank::new(tag / self.places.len() as u32 / self.own.all_requests());
        };
        let call = self.beside(tag, place.call);
        let drawn = Stream::new(self.seed, Purpose::Destinations, call.into()).below(service.servers.into()) as u32;
        Rank::new(self.first[place.service] + (drawn + tag - call) % service.servers)
    }

    /// The ranks of the servers of a service.
    pub fn ranks(&self, service: usize) -> Range<u32> {
        self.first[service]..self.first[service + 1]
    }

    /// The ranks that call servers of a service, and those that these servers call, as connections.
    pub fn peers(&self, service: usize) -> Vec<Rank> {
        let mut peers: Vec<u32> = if service == 0 { (0..self.own.clients).collect() } else { Vec::new() };
        let callers =
            (0..service).filter(|&caller| self.calls[caller].iter().flatten().any(|&callee| callee == service));
        peers.extend(callers.chain(self.calls[service].concat()).flat_map(|other| self.ranks(other)));
        peers.into_iter().map(Rank::new).collect()
    }

    /// Number of requests to each server.
    pub fn asked(&self) -> Vec<Asked> {
        let mut asked = vec![Asked::default(); (self.first[self.services.len()] - self.own.clients) as usize];
        for tag in 0..self.tag(self.own.clients, 0) {
            if self.service(tag) < self.services.len() {
                let server = &mut asked[(self.rank(tag).get() - self.own.clients) as usize];
                server.requests += 1;
                server.measured += u32::from(self.is_measured(tag));
            }
        }
        asked
    }

    /// Adds the messages of calls of a service to the facts of the caller.
    pub fn add_call(&self, facts: &mut GraphFacts, service: usize, calls: u64) {
        let called = &self.services[service];
        facts.add_messages(calls * u64::from(called.fan_out), called.request.get(), called.response.get());
    }
}
