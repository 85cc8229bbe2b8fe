//! Many sources, one sink: what `ib_write_bw` or `iperf3` from several hosts to one does.

use etherweave_primitives::{Bytes, InputError, InputErrors, Rank, params};

use crate::limits::{MESSAGE_MAX, STREAMS_MAX, at_least, at_most, counted_stream};
use crate::{StreamSpec, Traffic, TrafficSize, generator::Generator};

params! {
    /// Incast (`incast`): rank 0 is the sink, ranks 1 to `sources` send.
    pub struct Incast {
        /// Hosts that send, 1 or more.
        pub sources: u32 = 4,
        /// Streams of each source, 1 or more, each over its own connection.
        pub streams_per_source: u32 = 1,
        /// One message [B], 1 or more.
        pub message: Bytes = Bytes::new(81_920),
        /// Messages of a stream that may be incomplete at once: 128 for `ib_write_bw`, 1 for `iperf3`.
        pub outstanding: u32 = 128,
        /// Messages of each stream, 1 or more. Absent: until the run ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub messages: Option<u64> = None,
    }
}

impl Generator for Incast {
    fn ranks(&self) -> u64 {
        u64::from(self.sources) + 1
    }

    fn traffic(&self, _: u64) -> Result<Traffic, InputErrors> {
        self.streams().map(Traffic::Streams)
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        self.check()?;
        let streams = u64::from(self.sources).saturating_mul(u64::from(self.streams_per_source));
        let messages = self.messages.map(|messages| streams.saturating_mul(messages));
        let window = u64::from(self.outstanding).min(self.messages.unwrap_or(u64::MAX));
        Ok(TrafficSize {
            ranks: self.ranks(),
            receivers: 1,
            program_bytes: streams.saturating_mul(size_of::<StreamSpec>() as u64),
            connections: streams,
            rows: 0,
            messages,
            bytes: messages.map(|messages| messages.saturating_mul(self.message.get())),
            burst_bytes: streams.saturating_mul(window.saturating_mul(self.message.get())),
            rest_ps: Some(0),
        })
    }
}

impl Incast {
    /// Rejects an incast that cannot be, before anything is built.
    ///
    /// # Errors
    /// When there is nobody to send, nothing to send, no room in the window, or there are too many streams.
    fn check(&self) -> Result<(), InputErrors> {
        let streams = u64::from(self.sources) * u64::from(self.streams_per_source);
        let (found, most) = (format!("{streams} streams"), format!("at most {STREAMS_MAX} over all sources"));
        InputErrors::all([
            at_least("sources", self.sources, 1),
            at_least("streams_per_source", self.streams_per_source, 1),
            at_least("outstanding", self.outstanding, 1),
            InputError::unless(self.message != Bytes::ZERO, "message", "0B", "at least 1B"),
            at_most("message", self.message, MESSAGE_MAX),
            InputError::unless(streams <= STREAMS_MAX, "streams_per_source", found, most),
        ])?;
        self.messages.map_or(Ok(()), |messages| counted_stream(self.message, messages))?;
        Ok(())
    }

    /// The streams, source by source.
    ///
    /// # Errors
    /// When there is nobody to send, nothing to send, no room in the window, or there are too many streams.
    pub fn streams(&self) -> Result<Vec<StreamSpec>, InputErrors> {
        self.check()?;
        let spec = |source, stream| StreamSpec {
            src_rank: Rank::new(source),
            dst_rank: Rank::new(0),
            stream,
            bytes_per_message: self.message.get(),
            outstanding: self.outstanding,
            messages: self.messages,
            flow_start: None,
        };
        Ok((1..=self.sources)
            .flat_map(|source| (0..self.streams_per_source).map(move |stream| spec(source, stream)))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_sources_of_ten_streams_are_thirty_streams_into_rank_zero() {
        let incast = Incast { sources: 3, streams_per_source: 10, ..Incast::default() };
        let streams = incast.streams().unwrap();
        assert_eq!(streams.len(), 30);
        assert!(streams.iter().all(|spec| spec.dst_rank == Rank::new(0) && spec.messages.is_none()));
        let last = streams.last().unwrap();
        assert_eq!((last.src_rank, last.stream), (Rank::new(3), 9));
    }

    #[test]
    fn a_counted_incast_is_one_of_counted_streams() {
        let incast: Incast = toml::from_str("sources = 2\nmessages = 7").unwrap();
        assert!(incast.streams().unwrap().iter().all(|spec| spec.messages == Some(7)));
    }
}
