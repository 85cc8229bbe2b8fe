//! MPI matching: posted receives and unexpected messages, by source and tag, first come first served.

use crate::indices::EndpointIndex;
use std::collections::VecDeque;

/// What a receive asks for, or a message brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Envelope {
    /// Endpoint of the source: one per pair of ranks.
    pub endpoint: EndpointIndex,
    /// Tag.
    pub tag: u32,
}

/// A message that arrived before its receive was posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unexpected {
    /// Source and tag.
    pub envelope: Envelope,
    /// Payload [B].
    pub bytes: u64,
    /// Whether only the request to send has arrived.
    pub is_rendezvous: bool,
}

/// Both lists of a rank. They are short (a few dozen entries), or what matches stands near one end, as in an
/// all-to-all: a scan is quicker than a map.
#[derive(Clone, Default, Debug)]
pub(crate) struct Matching {
    posted: VecDeque<Envelope>,
    unexpected: VecDeque<Unexpected>,
}

impl Matching {
    /// Posts a receive: returns the earliest message that matches, or stores the receive.
    pub fn post(&mut self, envelope: Envelope) -> Option<Unexpected> {
        match self.unexpected.iter().position(|message| message.envelope == envelope) {
            Some(place) => self.unexpected.remove(place),
            None => {
                self.posted.push_back(envelope);
                None
            }
        }
    }

    /// A message has arrived: true when a posted receive matches; otherwise it is stored.
    pub fn arrive(&mut self, message: Unexpected) -> bool {
        match self.posted.iter().position(|&envelope| envelope == message.envelope) {
            Some(place) => {
                self.posted.remove(place);
                true
            }
            None => {
                self.unexpected.push_back(message);
                false
            }
        }
    }

    /// Receives that wait, for the report of a stuck run.
    pub fn posted(&self) -> &VecDeque<Envelope> {
        &self.posted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(endpoint: u32, tag: u32) -> Envelope {
        Envelope { endpoint: EndpointIndex::new(endpoint), tag }
    }

    fn message(endpoint: u32, tag: u32, bytes: u64) -> Unexpected {
        Unexpected { envelope: envelope(endpoint, tag), bytes, is_rendezvous: false }
    }

    #[test]
    fn equal_envelopes_match_in_order() {
        let mut matching = Matching::default();
        assert!(!matching.arrive(message(1, 5, 10)));
        assert!(!matching.arrive(message(1, 5, 20)));
        assert_eq!(matching.post(envelope(1, 5)).unwrap().bytes, 10);
        assert_eq!(matching.post(envelope(1, 5)).unwrap().bytes, 20);
        assert!(matching.post(envelope(1, 5)).is_none());
        assert!(matching.arrive(message(1, 5, 30)));
    }

    #[test]
    fn another_tag_or_source_does_not_match() {
        let mut matching = Matching::default();
        assert!(matching.post(envelope(1, 5)).is_none());
        assert!(!matching.arrive(message(1, 6, 1)));
        assert!(!matching.arrive(message(2, 5, 1)));
        assert_eq!(matching.posted().len(), 1);
    }
}
