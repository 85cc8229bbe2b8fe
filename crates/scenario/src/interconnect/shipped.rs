//! The interconnects that come with Etherweave, by name.

use etherweave_primitives::{Shipped, shipped};

pub(crate) const SHIPPED: Shipped = shipped!(
    "interconnect":
    "ethernet-1-tcp"
    "ethernet-10-tcp" "ethernet-10-roce"
    "ethernet-25-tcp" "ethernet-25-roce"
    "ethernet-40-tcp" "ethernet-40-roce"
    "ethernet-50-tcp" "ethernet-50-roce"
    "ethernet-100-tcp" "ethernet-100-roce"
    "ethernet-200-tcp" "ethernet-200-roce"
    "ethernet-400-tcp" "ethernet-400-roce"
    "ethernet-800-tcp" "ethernet-800-roce"
    "ultra-ethernet-400" "ultra-ethernet-800"
    "iwarp-40"
    "efa-100"
    "infiniband-qdr" "infiniband-fdr" "infiniband-edr" "infiniband-hdr" "infiniband-hdr100" "infiniband-ndr"
    "infiniband-edr-ipoib" "infiniband-hdr-ipoib"
    "omni-path-100" "omni-path-400"
    "slingshot-10" "slingshot-11"
    "aries"
    "tofu" "tofu-2" "tofu-d"
    "bxi-2"
);
