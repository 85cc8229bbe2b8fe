//! Choice of the algorithm that carries out a collective.

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors};

use super::library::{Ask, Library, nccl};
use super::{Algorithm, Collective, Kind, Protocol, algorithm::Choice, layout::Layout};
use crate::limits::{COLLECTIVE_MAX, WINDOW_MAX, at_most, positive, within};

/// Channels of a call of NCCL: rings or pairs of trees beside each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channels {
    /// Number that NCCL takes.
    Own,
    /// Number of all accelerators of a node together.
    Count(u32),
}

/// Algorithm that a library picks, or that is named.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rule {
    /// Library whose decisions are taken.
    pub library: Library,
    /// This algorithm instead.
    pub algorithm: Option<Algorithm>,
    /// Messages of the named algorithm are at most so long [B].
    pub segment: Option<Bytes>,
    /// Radix of the named algorithm, 2 to 64.
    pub radix: Option<u32>,
    /// How messages of the named algorithm carry their data.
    pub protocol: Option<Protocol>,
    /// Rate of a member's network, by which NCCL chooses; none: 100 Gb/s.
    pub network_rate: Option<BitRate>,
    /// Accelerators of the node of each member, itself included, that take part as it does, each by an interface of
    /// its own: NCCL chooses for all of them; none: 1.
    pub accelerators: Option<u32>,
    /// Channels of NCCL, by which it chooses too; none: they are not counted.
    pub channels: Option<Channels>,
    /// Rate of an accelerator's links in a node whose switches add up, for calls of NCCL; none: they add up nothing.
    pub switches: Option<BitRate>,
    /// Whether NCCL may leave sums to switches of the network (`NCCL_COLLNET_ENABLE`).
    pub has_collnet: bool,
    /// Members in a row that share a node, the last ones fewer; none: each has one of its own.
    pub nodes: Option<u32>,
    /// Members in a row whose nodes share a leaf switch, a multiple of `nodes`.
    pub leaves: Option<u32>,
    /// Only so many rounds of each pass around, evenly spread; none: all of them.
    pub samples: Option<u32>,
    /// Whether the collective goes on while its members do other things (`MPI_Ibcast`, ...).
    pub is_nonblocking: bool,
}

impl Rule {
    /// Returns the rule by which the library picks.
    pub fn of(library: Library) -> Rule {
        Rule { library, ..Rule::default() }
    }

    /// The algorithm for a collective on memory of this layout.
    pub(super) fn choice(&self, kind: Kind, layout: &Layout) -> Choice {
        let segment = self.segment.map(|bytes| bytes.get());
        match (self.algorithm, self.protocol) {
            (Some(algorithm), Some(protocol)) if self.accelerators.is_some() => {
                nccl::named(&Ask::of(kind, layout, self), algorithm, protocol)
            }
            (Some(algorithm), _) => {
                Choice { algorithm, segment, radix: self.radix, protocol: self.protocol, outstanding: None }
            }
            (None, _) => self.library.choice(&Ask::of(kind, layout, self)),
        }
    }

    /// Time of a call of `collective` on `ranks` members beside its bytes and its messages, and least time of its bytes
    /// in accelerators.
    pub(crate) fn call_times(&self, collective: &Collective, ranks: u32) -> [Duration; 2] {
        let (kind, layout) = (collective.kind(), collective.layout(ranks));
        self.library.call_times(&Ask::of(kind, &layout, self), &self.choice(kind, &layout))
    }

    /// Channels of a call of `collective` on `ranks` members, each with an accelerator's share, and the rule that names
    /// what each of them does; none where channels are not counted.
    pub(crate) fn by_channels(&self, collective: &Collective, ranks: u32) -> Option<(u32, Rule)> {
        let (kind, layout) = (collective.kind(), collective.layout(ranks));
        let choice = self.choice(kind, &layout);
        let channels = nccl::channels(&Ask::of(kind, &layout, self), &choice)?;
        Some((channels, Rule { algorithm: Some(choice.algorithm), protocol: choice.protocol, ..*self }))
    }

    /// The algorithm that `collective` gets on `ranks` ranks, 2 or more.
    pub fn algorithm(&self, collective: &Collective, ranks: u32) -> Algorithm {
        self.choice(collective.kind(), &collective.layout(ranks)).algorithm
    }

    /// Checks the named algorithm and its segment for a collective on so many ranks.
    ///
    /// # Errors
    /// When the algorithm does not perform the collective, or not on so many ranks; when the segment has no effect, or
    /// makes too many messages; when the network has no rate.
    pub fn check(&self, collective: &Collective, ranks: u32) -> Result<(), InputErrors> {
        let kind = collective.kind();
        self.network_rate.map_or(Ok(()), |rate| positive("network_rate", rate))?;
        InputErrors::all([
            self.check_algorithm(kind, ranks),
            self.check_segment(collective),
            self.check_radix(kind),
            self.check_nccl(),
            self.check_groups(ranks),
            self.check_samples(collective, ranks),
        ])
    }

    /// A protocol belongs to a named algorithm, the network's rate to the library that chooses by it.
    fn check_nccl(&self) -> Result<(), InputError> {
        let named = self.algorithm.is_some();
        let mistake = format_args!("given beside what the library picks");
        InputError::unless(named || self.protocol.is_none(), "protocol", mistake, "none, or an algorithm with it")?;
        let is_asked = self.library == Library::Nccl && !named;
        let network_rate = self.network_rate.unwrap_or_default();
        let expected = "none, or library = \"nccl\" without an algorithm";
        InputError::unless(is_asked || self.network_rate.is_none(), "network_rate", network_rate, expected)
    }

    fn check_radix(&self, kind: Kind) -> Result<(), InputError> {
        let Some(radix) = self.radix else { return Ok(()) };
        let form = self.algorithm.and_then(|algorithm| algorithm.form_of(kind));
        if form.is_some_and(|form| form.has_radix) {
            return within("radix", radix, 2..=RADIX_MAX);
        }
        let named = self.algorithm.map_or("what the library picks", Algorithm::name);
        let mistake = format!("{radix} for {} of {named}", kind.name());
        Err(InputError::new("radix", mistake, "none, or an algorithm that has one"))
    }

    /// Members of the innermost groups, where there are several and each has several.
    pub(super) fn groups(&self, ranks: u32) -> Option<u32> {
        let sizes = [self.nodes, self.leaves];
        sizes.into_iter().flatten().find(|size| (2..ranks).contains(size))
    }

    fn check_groups(&self, ranks: u32) -> Result<(), InputError> {
        if self.nodes == Some(0) {
            return Err(InputError::new("ranks_per_node", 0, "at least 1"));
        }
        let nodes = self.nodes.unwrap_or(1);
        let expected = format_args!("a multiple of the {nodes} ranks of a node");
        let is_multiple = self.leaves.is_none_or(|leaves| leaves > 0 && leaves.is_multiple_of(nodes));
        InputError::unless(is_multiple, "ranks_per_leaf", self.leaves.unwrap_or(0), expected)?;
        let is_grouped = self.algorithm != Some(Algorithm::Hierarchical) || self.groups(ranks).is_some();
        let expected = format_args!("with it `ranks_per_node` or `ranks_per_leaf` of 2 to {}", ranks.saturating_sub(1));
        InputError::unless(is_grouped, "algorithm", Algorithm::Hierarchical.name(), expected)
    }

    fn check_samples(&self, collective: &Collective, ranks: u32) -> Result<(), InputError> {
        let Some(samples) = self.samples else { return Ok(()) };
        let algorithm = self.algorithm(collective, ranks);
        let has_rounds = algorithm.form_of(collective.kind()).is_some_and(|form| form.has_rounds);
        let mistake = format_args!("{samples} for {} of {}", collective.kind().name(), algorithm.name());
        let expected = "none, or an algorithm of rounds that are alike: ring or pairwise, without segments";
        InputError::unless(has_rounds && self.segment.is_none(), "samples", mistake, expected)
    }

    fn check_algorithm(&self, kind: Kind, ranks: u32) -> Result<(), InputError> {
        let Some(algorithm) = self.algorithm else { return Ok(()) };
        let Some(form) = algorithm.form_of(kind) else {
            let known: Vec<_> = Algorithm::of(kind).map(Algorithm::name).collect();
            let mistake = format!("{}, which performs no {}", algorithm.name(), kind.name());
            return Err(InputError::new("algorithm", mistake, format!("one of {}", known.join(", "))));
        };
        let mistake = format_args!("{} of {} on {ranks} ranks", kind.name(), algorithm.name());
        InputError::unless(form.sizes.contains(ranks), "algorithm", mistake, form.sizes.text())
    }

    fn check_segment(&self, collective: &Collective) -> Result<(), InputError> {
        let Some(segment) = self.segment else { return Ok(()) };
        let form = self.algorithm.and_then(|algorithm| algorithm.form_of(collective.kind()));
        if !form.is_some_and(|form| form.is_segmented) {
            let named = self.algorithm.map_or("what the library picks", Algorithm::name);
            let mistake = format!("{segment} for {} of {named}", collective.kind().name());
            return Err(InputError::new("segment", mistake, "none, or an algorithm that divides its messages"));
        }
        let least = collective.largest().get().div_ceil(WINDOW_MAX.into()).max(1);
        let expected = format_args!("{least}B or more, for at most {WINDOW_MAX} messages");
        InputError::unless(segment.get() >= least, "segment", segment, expected)
    }
}

/// Largest radix of an exchange or a tree.
const RADIX_MAX: u32 = 64;
const DIMS_MAX: usize = 8;

impl Collective {
    /// Checks sizes and root on so many ranks; `key` is that of the collective.
    ///
    /// # Errors
    /// When they are out of range.
    pub fn check(&self, key: &str, ranks: u32) -> Result<(), InputErrors> {
        let name = |part: &str| format!("{key}.{}.{part}", self.kind().name());
        let (root, last) = (self.root(), ranks.saturating_sub(1));
        let (count, is_listed) = (self.sizes().len(), self.kind().is_listed());
        let is_count = !is_listed || (1..=ranks as usize).contains(&count);
        let lengths = format!("1 to {ranks} lengths, one for each rank or fewer that are repeated");
        let dims = self.parameters().dims;
        let members = dims.map(|dims| dims.iter().fold(1_u64, |all, &one| all.saturating_mul(one.into())));
        let grid = dims.unwrap_or_default();
        let is_grid = members.is_none_or(|members| members == u64::from(ranks)) && grid.len() <= DIMS_MAX;
        let dims = format!("up to {DIMS_MAX} extents whose product is {ranks}, the ranks");
        InputErrors::all([
            InputError::unless(is_grid, name("dims"), format_args!("{grid:?}"), dims),
            InputError::unless(root <= last, name("root"), root, format_args!("0 to {last}")),
            at_most(&name("bytes"), self.largest(), COLLECTIVE_MAX),
            InputError::unless(is_count, name("bytes"), format_args!("{count} lengths"), lengths),
        ])
    }

    /// Its largest size [B].
    fn largest(&self) -> Bytes {
        self.sizes().iter().max().copied().unwrap_or(Bytes::ZERO)
    }
}
