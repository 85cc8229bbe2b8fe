//! Sums of CollNet of NCCL (`src/transport/coll_net.cc`): switches of the network add up what one accelerator of each
//! node sends, as [`in_network`](super::in_network) has it. How the node passes its share to that accelerator, each to
//! each (direct) or along a chain, is a matter of the node.

use super::{Form, in_network};
use crate::collective::Kind;

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Allreduce, in_network::allreduce)];
