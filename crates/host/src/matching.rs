//! MPI matching: posted receives and unexpected messages, by source and tag, first come first served.

use std::collections::VecDeque;

use etherweave_kernel::indices::EndpointIndex;

/// Source and tag that a receive asks for, or a message brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Endpoint of the source: the first, where a pair of ranks has several connections.
    pub endpoint: EndpointIndex,
    /// Tag.
    pub tag: u32,
}

/// Any source; of no endpoint.
pub const ANY_SOURCE: EndpointIndex = EndpointIndex::NONE;
/// Any tag; of no message.
pub const ANY_TAG: u32 = u32::MAX;

impl Envelope {
    /// Whether a receive of this envelope takes a message with that one.
    fn takes(self, message: Envelope) -> bool {
        (self.endpoint == message.endpoint || self.endpoint == ANY_SOURCE)
            && (self.tag == message.tag || self.tag == ANY_TAG)
    }

    fn is_open(self) -> bool {
        self.endpoint == ANY_SOURCE || self.tag == ANY_TAG
    }
}

/// A receive that waits.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    /// Source and tag, or any.
    pub envelope: Envelope,
    /// The operation of a rank's graph; 0 in a sequence.
    pub node: u32,
}

/// A message that arrived before its receive was posted.
#[derive(Clone, Copy, Debug)]
pub struct Unexpected {
    /// Source and tag.
    pub envelope: Envelope,
    /// The connection by which it came, of those to its source.
    pub connection: EndpointIndex,
    /// Payload [B].
    pub bytes: u64,
    /// Number of the message on its connection.
    pub number: u16,
    /// Whether only the request to send has arrived.
    pub is_rendezvous: bool,
}

/// Both lists of a rank. They are short (a few dozen entries), or what matches stands near one end, as in an
/// all-to-all: a scan is quicker than a map.
#[derive(Clone, Default, Debug)]
pub struct Matching {
    posted: VecDeque<Receive>,
    /// Whether any receive was posted that leaves source or tag open.
    has_open: bool,
    unexpected: VecDeque<Unexpected>,
}

impl Matching {
    /// Posts a receive: returns the earliest message that matches, or stores the receive.
    pub fn post(&mut self, receive: Receive) -> Option<Unexpected> {
        let place = if receive.envelope.is_open() {
            self.has_open = true;
            self.unexpected.iter().position(|message| receive.envelope.takes(message.envelope))
        } else {
            self.unexpected.iter().position(|message| receive.envelope == message.envelope)
        };
        match place {
            Some(place) => self.unexpected.remove(place),
            None => {
                self.posted.push_back(receive);
                None
            }
        }
    }

    /// A message has arrived: gives the operation of the earliest posted receive that matches; if none does, the
    /// message is stored.
    pub fn arrive(&mut self, message: Unexpected) -> Option<u32> {
        let place = if self.has_open {
            self.posted.iter().position(|receive| receive.envelope.takes(message.envelope))
        } else {
            self.posted.iter().position(|receive| receive.envelope == message.envelope)
        };
        match place {
            Some(place) => self.posted.remove(place).map(|receive| receive.node),
            None => {
                self.unexpected.push_back(message);
                None
            }
        }
    }

    /// Receives that wait, for the report of a stuck run.
    pub fn posted(&self) -> &VecDeque<Receive> {
        &self.posted
    }

    /// Messages that no receive has taken, for the report of a stuck run.
    pub fn unexpected(&self) -> &VecDeque<Unexpected> {
        &self.unexpected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(endpoint: u32, tag: u32) -> Envelope {
        Envelope { endpoint: EndpointIndex::new(endpoint), tag }
    }

    fn receive(endpoint: u32, tag: u32) -> Receive {
        Receive { envelope: envelope(endpoint, tag), node: 0 }
    }

    fn message(endpoint: u32, tag: u32, bytes: u64) -> Unexpected {
        let connection = EndpointIndex::new(endpoint);
        Unexpected { envelope: envelope(endpoint, tag), connection, bytes, number: 0, is_rendezvous: false }
    }

    #[test]
    fn equal_envelopes_match_in_order() {
        let mut matching = Matching::default();
        assert_eq!(matching.arrive(message(1, 5, 10)), None);
        assert_eq!(matching.arrive(message(1, 5, 20)), None);
        assert_eq!(matching.post(receive(1, 5)).unwrap().bytes, 10);
        assert_eq!(matching.post(receive(1, 5)).unwrap().bytes, 20);
        assert!(matching.post(receive(1, 5)).is_none());
        assert_eq!(matching.arrive(message(1, 5, 30)), Some(0));
    }

    #[test]
    fn another_tag_or_source_does_not_match() {
        let mut matching = Matching::default();
        assert!(matching.post(receive(1, 5)).is_none());
        assert_eq!(matching.arrive(message(1, 6, 1)), None);
        assert_eq!(matching.arrive(message(2, 5, 1)), None);
        assert_eq!(matching.posted().len(), 1);
    }

    #[test]
    fn the_earliest_receive_takes_a_message_however_much_it_leaves_open() {
        let mut matching = Matching::default();
        let open = [
            Envelope { endpoint: EndpointIndex::new(1), tag: ANY_TAG },
            Envelope { endpoint: ANY_SOURCE, tag: 5 },
            envelope(2, 5),
            Envelope { endpoint: ANY_SOURCE, tag: ANY_TAG },
        ];
        for (node, envelope) in (10..).zip(open) {
            assert!(matching.post(Receive { envelope, node }).is_none());
        }
        let arrived =
            [(2, 5), (2, 5), (3, 6), (2, 5), (1, 5)].map(|(source, tag)| matching.arrive(message(source, tag, 1)));
        assert_eq!(arrived, [Some(11), Some(12), Some(13), None, Some(10)]);
    }

    #[test]
    fn a_receive_from_any_source_takes_the_message_that_arrived_first() {
        let mut matching = Matching::default();
        for (endpoint, tag) in [(1, 6), (2, 5), (1, 5)] {
            assert_eq!(matching.arrive(message(endpoint, tag, u64::from(endpoint))), None);
        }
        let any = |tag| Receive { envelope: Envelope { endpoint: ANY_SOURCE, tag }, node: 0 };
        assert_eq!(matching.post(any(5)).unwrap().envelope, envelope(2, 5));
        assert_eq!(matching.post(any(ANY_TAG)).unwrap().envelope, envelope(1, 6));
        assert_eq!(matching.post(any(6)).map(|message| message.bytes), None);
    }
}
