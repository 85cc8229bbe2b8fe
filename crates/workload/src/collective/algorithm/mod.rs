//! The list of algorithms: who sends what to whom, in a file each.

mod binary_tree;
mod binomial;
mod bruck;
mod butterfly;
mod chain;
mod collnet;
mod composed;
mod core;
mod double_ring;
mod double_tree;
mod hierarchical;
mod in_network;
mod in_order_binary_tree;
mod knomial;
mod linear;
mod linear_sync;
mod neighbour_exchange;
mod pairwise;
mod pat;
mod pipeline;
mod rabenseifner;
mod recursive_doubling;
mod recursive_halving;
mod ring;
mod scatter_allgather;
mod scatter_ring;
mod split_binary_tree;

use super::{Kind, Member, Protocol};
pub(super) use double_tree::flow_ops;

/// Writes down what a member does.
type Lower = fn(&mut Member<'_>);

/// Sizes of a communicator for which an algorithm is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sizes {
    Any,
    PowersOfTwo,
    Even,
}

pub(super) struct Form {
    kind: Kind,
    pub(super) sizes: Sizes,
    /// Whether a segment's length changes it.
    pub(super) is_segmented: bool,
    pub(super) has_radix: bool,
    /// Whether it has rounds that are alike, of which some may stand for all.
    pub(super) has_rounds: bool,
    lower: Lower,
}

impl Form {
    const fn new(kind: Kind, lower: Lower) -> Form {
        Form { kind, sizes: Sizes::Any, is_segmented: false, has_radix: false, has_rounds: false, lower }
    }

    const fn segmented(kind: Kind, lower: Lower) -> Form {
        Form { is_segmented: true, ..Form::new(kind, lower) }
    }

    const fn limited(kind: Kind, sizes: Sizes, lower: Lower) -> Form {
        Form { sizes, ..Form::new(kind, lower) }
    }

    const fn with_radix(self) -> Form {
        Form { has_radix: true, ..self }
    }

    const fn with_rounds(self) -> Form {
        Form { has_rounds: true, ..self }
    }
}

impl Sizes {
    pub(super) fn contains(self, size: u32) -> bool {
        match self {
            Sizes::Any => true,
            Sizes::PowersOfTwo => size.is_power_of_two(),
            Sizes::Even => size.is_multiple_of(2),
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Sizes::Any => "any number of ranks",
            Sizes::PowersOfTwo => "a power of two of ranks",
            Sizes::Even => "an even number of ranks",
        }
    }
}

/// An algorithm with what a library chooses beside it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Choice {
    pub algorithm: Algorithm,
    /// Messages are at most so long [B]; none: a message is not divided.
    pub segment: Option<u64>,
    /// Members of an exchange, children for each digit of a tree; none: the algorithm's own.
    pub radix: Option<u32>,
    /// How messages of NCCL carry their data.
    pub protocol: Option<Protocol>,
    /// Messages that a member has open before it waits; none: all of them.
    pub outstanding: Option<u32>,
}

/// Declares the algorithms: variant, name in a scenario and module.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $algorithm:ident = $name:literal: $module:ident;)*) => {
        /// How a collective is carried out.
        #[derive(
            Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Algorithm {
            $($(#[$doc])* $algorithm,)*
        }

        impl Algorithm {
            /// Every algorithm, in order.
            pub const ALL: &'static [Algorithm] = &[$(Algorithm::$algorithm),*];

            /// Its name in a scenario.
            pub fn name(self) -> &'static str {
                match self {
                    $(Algorithm::$algorithm => $name,)*
                }
            }

            pub(super) fn forms(self) -> &'static [Form] {
                match self {
                    $(Algorithm::$algorithm => $module::FORMS,)*
                }
            }
        }
    };
}

algorithms! {
    /// The root, or everyone, sends to all others directly; a scan passes from one to the next.
    #[default]
    Linear = "linear": linear;
    /// Linear, but the root asks each for its data and gets a first segment before the rest.
    LinearSync = "linear_sync": linear_sync;
    /// Four chains that hang below the root.
    Chain = "chain": chain;
    /// One chain, a segment behind the other.
    Pipeline = "pipeline": pipeline;
    /// A binary tree, level by level.
    BinaryTree = "binary_tree": binary_tree;
    /// A binary tree for each half of the message, then an exchange of halves.
    SplitBinaryTree = "split_binary_tree": split_binary_tree;
    /// A binary tree in which every subtree holds members in a row.
    InOrderBinaryTree = "in_order_binary_tree": in_order_binary_tree;
    /// Two binary trees, half of the vector along each.
    DoubleTree = "double_tree": double_tree;
    /// The same trees between nodes, in which switches add up (NVLS).
    NvlsTree = "nvls_tree": double_tree;
    /// A binomial tree.
    Binomial = "binomial": binomial;
    /// A tree of radix 4, or the one given.
    Knomial = "knomial": knomial;
    /// Exchanges with partners at distances 1, 2, 4, ..., or the powers of the radix given.
    RecursiveDoubling = "recursive_doubling": recursive_doubling;
    /// Exchanges of halves with partners at half, a quarter, ... of the size.
    RecursiveHalving = "recursive_halving": recursive_halving;
    /// Recursive halving at distances 1, 2, 4, ..., then every share to its owner.
    Butterfly = "butterfly": butterfly;
    /// A reduce-scatter by halves, or as many parts as the radix given, then an all-gather or a gather.
    Rabenseifner = "rabenseifner": rabenseifner;
    /// A binomial scatter, then an all-gather by recursive doubling.
    ScatterAllgather = "scatter_allgather": scatter_allgather;
    /// A binomial scatter, then an all-gather along a ring.
    ScatterRing = "scatter_ring": scatter_ring;
    /// Bruck's: to the member 1, 2, 4, ... places away what has gathered; a barrier disseminates.
    Bruck = "bruck": bruck;
    /// Messages from each to the next, around.
    Ring = "ring": ring;
    /// A token twice around the ring.
    DoubleRing = "double_ring": double_ring;
    /// Exchanges in step s with the members s places up and down.
    Pairwise = "pairwise": pairwise;
    /// A binomial tree for each block, all at once: to the farthest first (PAT of NCCL).
    Pat = "pat": pat;
    /// Exchanges with the two neighbours in turn.
    NeighbourExchange = "neighbour_exchange": neighbour_exchange;
    /// Within nodes, between one member of each, and within nodes again; between leaf switches likewise.
    Hierarchical = "hierarchical": hierarchical;
    /// Switches add up along an aggregation tree, and send the sum to everyone.
    InNetwork = "in_network": in_network;
    /// The same between nodes, whose accelerators send their shares to each other (CollNet of NCCL).
    CollnetDirect = "collnet_direct": collnet;
    /// The same between nodes, whose accelerators pass their vectors along chains (CollNet of NCCL).
    CollnetChain = "collnet_chain": collnet;
    /// Two other collectives, one after the other, each as the library picks it.
    Composed = "composed": composed;
}

impl Algorithm {
    /// Whether switches of the network, or of a node, add up.
    pub(super) fn is_of_switches(self) -> bool {
        matches!(self, Algorithm::InNetwork) || self.is_collnet()
    }

    /// Whether switches of the network add up between nodes.
    pub(crate) fn is_collnet(self) -> bool {
        matches!(self, Algorithm::CollnetDirect | Algorithm::CollnetChain)
    }

    /// Returns the form of the algorithm for a collective, where it has one.
    pub(super) fn form_of(self, kind: Kind) -> Option<&'static Form> {
        self.forms().iter().find(|form| form.kind == kind)
    }

    /// How it performs a collective.
    pub(super) fn form(self, kind: Kind) -> Option<Lower> {
        self.form_of(kind).map(|form| form.lower)
    }

    /// The algorithms of a collective, in order.
    pub fn of(kind: Kind) -> impl Iterator<Item = Algorithm> {
        Algorithm::ALL.iter().copied().filter(move |algorithm| algorithm.form_of(kind).is_some())
    }
}
