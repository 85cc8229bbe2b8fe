//! Flows that arrive while a run goes on, whatever the fabric does, as in papers on transports of data centres.
//!
//! ```
//! use etherweave_primitives::BitRate;
//! use etherweave_workload::{Flows, Share};
//! let rate = Some(BitRate::from_gbps(100));
//! let flows = Flows { ranks: Some(32), load: Share::percent(30), rate, ..Flows::default() };
//! let streams = flows.streams(1).unwrap();
//! assert!(streams.windows(2).all(|pair| pair[0].flow_start <= pair[1].flow_start));
//! ```

mod draw;
mod list;
mod sizes;

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors, Priority, params};

pub use sizes::{FlowSizes, SizePoints};

use self::list::HostLimit;
use crate::arrival::Poisson;
use crate::generator::Generator;
use crate::groups::OpenGroups;
use crate::limits::{FLOWS_MAX, MESSAGE_MAX, STREAMS_MAX, at_least, at_most, separated};
use crate::pattern::GroupLocal;
use crate::{Arrival, FlowStart, IdealTime, Pattern, Share, StreamSpec, TraceFile, Traffic, TrafficSize};

/// Hosts where none are stated.
const HOSTS: u32 = 16;
/// Longest list that is read: as many lines of 64 bytes as there may be flows [B].
const LIST_BYTES_MAX: u64 = FLOWS_MAX * 64;

params! {
    /// Flows, each a message over a connection of its own (`flows`): drawn by load, sizes and pairs, or listed.
    pub struct Flows {
        /// Hosts, 2 or more. Default 16; of a list, as many as it names.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ranks: Option<u32> = None,
        /// Offered load: payload of each host, as a share of `rate`.
        pub load: Share = Share::percent(50),
        /// Links from which an absent `rate` is taken.
        pub load_of: LoadOf = LoadOf::HostLinks,
        /// Rate of which `load` is a share. Default: by `load_of`, from the fabric.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rate: Option<BitRate> = None,
        /// Distribution of flow sizes.
        pub sizes: FlowSizes = FlowSizes::default(),
        /// Arrival process of the flows of a host.
        pub arrivals: Arrival = Arrival::Poisson(Poisson {}),
        /// Traffic pattern: the destination of each flow.
        pub pairs: Pattern = Pattern::default(),
        /// Hosts of a group, for pairs that know groups. Default: of `group_local` a pod or group of the fabric, or a
        /// leaf where there are none; else all hosts are one group.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub group: Option<u32> = None,
        /// Time in which flows arrive, from the start of the job.
        pub duration: Duration = Duration::from_ms(1),
        /// First flows that are kept. Default: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub flows_max: Option<u32> = None,
        /// Ideal time by which completion times are divided, of lists too.
        pub ideal: IdealTime = IdealTime::default(),
        /// Incasts, in addition to these flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub incast: Option<FlowIncast> = None,
        /// Seed of the draws. Default: that of the run, so that two jobs of equal parameters draw equal flows.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub seed: Option<u64> = None,
        /// List of flows as text, in place of all that is drawn; `file = "NAME"` reads it from beside the scenario.
        #[serde(deserialize_with = "crate::limits::written_text", skip_serializing_if = "String::is_empty")]
        pub text: String = String::new(),
        /// File beside the scenario with the list: CSV, or a list of ns-3's HPCC or of htsim; Python reads one in
        /// Parquet as CSV. The resolved scenario has a text of up to 1 MiB in its place; of other files it keeps the
        /// path.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub file: Option<String> = None,
        /// SHA-256 that the file must have, in hexadecimal. Default: any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sha256: Option<String> = None,
        /// Flows of a list in this priority alone: a job for each priority takes the others. Default: all, in
        /// the priority of the job.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub priority: Option<Priority> = None,
        /// The file, once it is open; in place of the text.
        #[serde(skip)]
        pub content: Option<TraceFile> = None,
    }
}

/// Links whose rate a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadOf {
    /// The slowest link of a host.
    #[default]
    HostLinks,
    /// All links from switches with hosts to other switches, divided by the hosts.
    Uplinks,
}

params! {
    /// Incasts: all senders of one start at the same time.
    pub struct FlowIncast {
        /// Senders of an incast, 1 or more, other hosts than the receiver.
        pub senders: u32 = 8,
        /// Payload of each sender.
        pub bytes: Bytes = Bytes::new(500_000),
        /// Offered load of all incasts: payload as a share of `rate` times the number of hosts.
        pub load: Share = Share::percent(2),
    }
}

impl Generator for Flows {
    fn ranks(&self) -> u64 {
        if !self.has_list() {
            return self.hosts().into();
        }
        let listed = || self.listed(self.host_limit()).ok().flatten().map_or(0, |flows| list::ranks(&flows));
        self.ranks.unwrap_or_else(listed).into()
    }

    fn check_hosts(&self, hosts: u64) -> Result<(), InputError> {
        self.listed(HostLimit { hosts, by: "the fabric has" }).map(drop)
    }

    fn complete(&mut self) {
        if !self.has_list() {
            self.ranks = Some(self.hosts());
        }
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        self.streams(seed).map(Traffic::Streams)
    }

    fn open_rate(&mut self) -> Option<(LoadOf, &mut Option<BitRate>)> {
        let is_open = self.rate.is_none() && !self.has_list();
        is_open.then_some((self.load_of, &mut self.rate))
    }

    fn offered_rate(&self) -> Option<BitRate> {
        let rate = self.rate.filter(|_| !self.has_list())?;
        let load = f64::from(self.load) + self.incast.as_ref().map_or(0.0, |incast| f64::from(incast.load));
        Some(BitRate::from_bps((rate.as_bps() as f64 * load) as u64))
    }

    fn open_groups(&mut self) -> Option<OpenGroups<'_>> {
        let has_list = self.has_list();
        let Pattern::GroupLocal(GroupLocal { leaf_share, leaf_hosts, .. }) = &mut self.pairs else { return None };
        let leaf_hosts = leaf_share.is_some().then_some(leaf_hosts);
        let is_open = self.group.is_none() || leaf_hosts.as_ref().is_some_and(|hosts| hosts.is_none());
        (is_open && !has_list).then_some(OpenGroups { group: &mut self.group, leaf_hosts })
    }

    fn figures(&self, _: u64) -> Result<serde_json::Value, InputErrors> {
        let mean = self.sizes.draws()?.mean();
        Ok(serde_json::json!({ "size_bytes_mean": mean, "size_source": self.sizes.source() }))
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let streams = self.streams(self.seed.unwrap_or(1))?;
        let bytes = streams.iter().map(|stream| stream.bytes_per_message).fold(0, u64::saturating_add);
        let count = streams.len() as u64;
        Ok(TrafficSize {
            ranks: Generator::ranks(self),
            receivers: Generator::ranks(self),
            program_bytes: count.saturating_mul(size_of::<StreamSpec>() as u64),
            connections: count,
            rows: 0,
            messages: Some(count),
            bytes: Some(bytes),
            burst_bytes: bytes,
            rest_ps: None,
        })
    }
}

impl Flows {
    /// The flows by start; `seed` is the run's.
    ///
    /// # Errors
    /// When parameters make no flows, or a list has a mistake.
    pub fn streams(&self, seed: u64) -> Result<Vec<StreamSpec>, InputErrors> {
        let mut flows = match self.listed(self.host_limit())? {
            Some(flows) => {
                self.check_alone()?;
                flows
            }
            None => {
                let expected = "none without a list: job.N.priority is that of all flows";
                InputError::unless(self.priority.is_none(), "priority", "beside no list", expected)?;
                self.drawn(self.seed.unwrap_or(seed))?
            }
        };
        sort(&mut flows);
        let waits = |flow: &StreamSpec| flow.flow_start.is_some_and(|start| start.waits_for.is_some());
        let any_waits = flows.iter().any(waits);
        let count = flows.len() as u64;
        let expected = format!("at most {} where any waits for another", separated(STREAMS_MAX));
        InputError::unless(!any_waits || count <= STREAMS_MAX, "", format!("{} flows", separated(count)), expected)?;
        if let Some(most) = self.flows_max {
            InputError::unless(most > 0, "flows_max", most, "at least 1")?;
            let expected = "none: flows of the list wait for others";
            InputError::unless(!any_waits, "flows_max", most, expected)?;
            flows.truncate(most as usize);
        }
        let expected = "a time in which a flow arrives";
        InputError::unless(!flows.is_empty(), "duration", self.duration, expected)?;
        let mut count = vec![0; self.ranks.unwrap_or(HOSTS).max(list::ranks(&flows)) as usize];
        for flow in &mut flows {
            flow.flow_start = flow.flow_start.map(|start| FlowStart { ideal: self.ideal, ..start });
            flow.stream = count[flow.src_rank.index()];
            count[flow.src_rank.index()] += 1;
        }
        Ok(flows)
    }

    /// Rejects a file of a list that is too long to be read, by its length.
    ///
    /// # Errors
    /// When it is longer than 1 GiB.
    pub fn check_length(length: u64) -> Result<(), InputError> {
        let expected = format!(
            "at most {} (1 GiB) and {} flows; a table in Parquet (.parquet) is shorter, and flows that are drawn need \
             no list",
            separated(LIST_BYTES_MAX),
            separated(FLOWS_MAX)
        );
        let mistake = format!("a list of {} bytes", separated(length));
        InputError::unless(length <= LIST_BYTES_MAX, "file", mistake, expected)
    }

    /// Whether a list says all.
    fn has_list(&self) -> bool {
        !self.text.is_empty() || self.file.is_some() || self.content.is_some()
    }

    pub(super) fn hosts(&self) -> u32 {
        self.ranks.unwrap_or(HOSTS)
    }

    /// The rate of which loads are shares.
    pub(super) fn rate(&self) -> BitRate {
        self.rate.unwrap_or(BitRate::from_gbps(100))
    }

    /// Hosts that a list may name by the parameters alone.
    fn host_limit(&self) -> HostLimit {
        self.ranks.map_or(HostLimit::NONE, |ranks| HostLimit { hosts: ranks.into(), by: "ranks says" })
    }

    fn listed(&self, hosts: HostLimit) -> Result<Option<Vec<StreamSpec>>, InputError> {
        let priority = self.priority.map(Priority::get);
        match &self.content {
            Some(file) => {
                Flows::check_length(file.length())?;
                let bytes = file.head(LIST_BYTES_MAX)?;
                let text =
                    String::from_utf8(bytes).map_err(|_| InputError::new("file", "no text in UTF-8", "a list"))?;
                list::read(&text, priority, hosts).map(Some).map_err(|error| error.within("file"))
            }
            None if self.text.is_empty() => Ok(None),
            None => list::read(&self.text, priority, hosts).map(Some).map_err(|error| error.within("text")),
        }
    }

    /// Rejects parameters of draws beside a list.
    fn check_alone(&self) -> Result<(), InputErrors> {
        let default = Flows::default();
        let drawn = [
            ("load", self.load != default.load),
            ("load_of", self.load_of != default.load_of),
            ("rate", self.rate.is_some()),
            ("sizes", self.sizes != default.sizes),
            ("arrivals", self.arrivals != default.arrivals),
            ("pairs", self.pairs != default.pairs),
            ("group", self.group.is_some()),
            ("duration", self.duration != default.duration),
            ("incast", self.incast.is_some()),
            ("seed", self.seed.is_some()),
            ("sha256", self.sha256.is_some() && self.file.is_none()),
        ];
        let expected = "none: the list says which flows there are";
        InputErrors::all(drawn.map(|(key, is_stated)| InputError::unless(!is_stated, key, "beside a list", expected)))
    }

    /// Rejects what no flows can be drawn by.
    fn check(&self) -> Result<(), InputErrors> {
        let mut errors = InputErrors::default();
        errors.check(at_least("ranks", self.hosts(), 2));
        errors.check(InputError::unless(!self.rate().is_zero(), "rate", self.rate(), "more than 0"));
        let is_idle = self.load == Share::NONE && self.incast.is_none();
        errors.check(InputError::unless(!is_idle, "load", "0 without incasts", "more than 0"));
        errors.check(InputError::unless(!self.duration.is_zero(), "duration", self.duration, "more than 0"));
        if let (Some(incast), 2..) = (&self.incast, self.hosts()) {
            let others = self.hosts() - 1;
            let senders = incast.senders;
            let expected = format!("1 to {others}, the other hosts");
            errors.check(InputError::unless((1..=others).contains(&senders), "incast.senders", senders, expected));
            errors.check(at_most("incast.bytes", incast.bytes, MESSAGE_MAX));
            errors.check(InputError::unless(incast.bytes.get() > 0, "incast.bytes", incast.bytes, "at least 1B"));
            errors.check(InputError::unless(incast.load > Share::NONE, "incast.load", incast.load, "more than 0"));
            let fits = self.load.parts() + incast.load.parts() <= Share::PARTS;
            errors.check(InputError::unless(fits, "incast.load", incast.load, "at most 1 with load"));
        }
        errors.into_result()
    }
}

/// Sorts flows by start and source; those that wait for others name them by their new places.
fn sort(flows: &mut Vec<StreamSpec>) {
    let key = |flow: &StreamSpec| (flow.flow_start.map(|start| start.after), flow.src_rank);
    if flows.iter().all(|flow| flow.flow_start.is_none_or(|start| start.waits_for.is_none())) {
        return flows.sort_by_key(key);
    }
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_key(|&place| key(&flows[place]));
    let mut places = vec![0; order.len()];
    (0..).zip(&order).for_each(|(new, &old)| places[old] = new);
    *flows = order.iter().map(|&place| flows[place]).collect();
    for start in flows.iter_mut().filter_map(|flow| flow.flow_start.as_mut()) {
        start.waits_for = start.waits_for.map(|place| places[place as usize]);
    }
}
