//! Configuration of the switches and hosts of a fabric: `[control]`. Addresses and compaction are those of
//! `[design.tables]`.

use std::{collections::BTreeSet, net::Ipv4Addr};

use etherweave_primitives::{InputError, InputErrors, params};
use etherweave_sim::params::{Ets, FlowControl};

params! {
    /// How a fabric is deployed, by `etherweave control` and `etherweave lab`; neither a run nor a design uses it.
    pub struct ControlSpec {
        /// Kind of the rules in flow tables. Default "minimal".
        pub rules: RuleKind = RuleKind::default(),
        /// Under conditional rules, alternatives of every default rule, at least 1: other uplinks of a tree, global
        /// ports of a dragonfly's switch, other places of a dimension of a flattened butterfly. Absent: of a tree all,
        /// of the others 1. With 0, only the other dimensions of a flattened butterfly stand in.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub alternatives: Option<u32> = None,
        /// Scope of a pause: what it makes inactive. Default "port".
        pub pauses: PauseKind = PauseKind::default(),
        /// 802.1Q priorities of lossless traffic, 0-7, that frames use one after the other so that pauses cannot form a
        /// cycle: as many as the routing needs, the first for hosts to send in. A dragonfly needs 2, a flattened
        /// butterfly with conditional rules one per dimension and one for non-minimal paths, a tree 1. Empty: frames
        /// keep their priority. Default none.
        pub priorities: Vec<u8> = Vec::new(),
        /// Assignment of hierarchical addresses to hosts. Default "dmp".
        pub addresses: AddressKind = AddressKind::default(),
        /// Resolution of IPv4 addresses to MAC addresses. Default "broadcast".
        pub resolution: ResolutionKind = ResolutionKind::default(),
        /// Senders that a host's port admits. Default "mac".
        pub anti_spoofing: SpoofingKind = SpoofingKind::default(),
        /// IPv4 addresses of hosts: the address bits of their MAC below this prefix. Hosts use a prefix one bit
        /// shorter, so that no host has the network's own address. Empty: hosts get none. Default "10.128.0.0/9".
        pub ipv4: String = "10.128.0.0/9".to_owned(),
        /// DMP requests that a host's port answers [per second], 1..=1,000,000. Default 10.
        pub dmp_rate: u32 = 10,
        /// LLDP frames that a switch hands to its controller [per second], 1..=1,000,000. Default 1,000.
        pub lldp_rate: u32 = 1000,
        /// ARP requests that a switch hands to its controller under resolution = "manager" [per second], 1..=1,000,000.
        /// Default 1,000.
        pub arp_rate: u32 = 1000,
        /// Version of OpenFlow that the rules are written for. Default "openflow13".
        pub protocol: ProtocolKind = ProtocolKind::default(),
    }
}

/// Kind of the rules in flow tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Minimal routing.
    #[default]
    Minimal,
    /// Minimal routing, and paths around ports that are paused (Benito et al. 2015, section V).
    Conditional,
}

/// Scope of a pause: what it makes inactive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    /// A port (IEEE 802.3 PAUSE).
    #[default]
    Port,
    /// A priority of a port (IEEE 802.1Q priority-based flow control).
    Class,
}

/// Assignment of hierarchical addresses to hosts (Benito et al. 2015, section IV).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddressKind {
    /// They request them by the Dynamic MAC Protocol (DMP).
    #[default]
    Dmp,
    /// They keep their factory addresses; their switch rewrites frames. Services must take addresses from headers.
    Rewrite,
}

/// Resolution of IPv4 addresses to MAC addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionKind {
    /// Requests go to all hosts along a tree.
    #[default]
    Broadcast,
    /// The first switch answers by computation, for hosts that the plan has.
    Responder,
    /// The first switch sends requests to its controller, the fabric manager, which answers for hosts that the plan
    /// has (Niranjan Mysore et al. 2009, section 3.3: PortLand).
    Manager,
}

/// Senders that a host's port admits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpoofingKind {
    /// All.
    None,
    /// The host's own MAC address.
    #[default]
    Mac,
    /// The same, and in ARP its own MAC and IPv4 addresses.
    Arp,
}

/// Version of OpenFlow that rules are written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolKind {
    /// OpenFlow 1.3: several tables, masks, groups, meters.
    #[default]
    OpenFlow13,
    /// OpenFlow 1.0 with its optional actions "Modify-Field" (Benito et al. 2015, section IV): one table, and MAC
    /// addresses without masks, so that a switch has a rule for each host.
    OpenFlow10,
}

/// Requests and frames per second that meters take.
const RATE_MAX: u32 = 1_000_000;

impl ControlSpec {
    /// Whether every key has its default.
    pub(crate) fn is_default(&self) -> bool {
        *self == ControlSpec::default()
    }

    /// Checks the table for addresses of `bits` bits and a routing that needs `needed` priorities, where that is known.
    ///
    /// # Errors
    /// Every key that is wrong.
    pub(crate) fn check(&self, bits: u32, needed: Option<u8>) -> Result<(), InputErrors> {
        let mut errors = InputErrors::default();
        let rates = [("dmp_rate", self.dmp_rate), ("lldp_rate", self.lldp_rate), ("arp_rate", self.arp_rate)];
        for (key, rate) in rates {
            errors.check(InputError::unless((1..=RATE_MAX).contains(&rate), key, rate, format!("1 to {RATE_MAX}")));
        }
        let is_used = self.rules == RuleKind::Conditional || self.alternatives.is_none();
        let expected = "rules = \"conditional\"";
        errors.check(InputError::unless(is_used, "alternatives", "given beside minimal rules", expected));
        errors.check(self.check_priorities(needed));
        errors.check(self.check_ipv4(bits));
        if self.protocol == ProtocolKind::OpenFlow10 {
            self.check_openflow10(&mut errors);
        }
        errors.into_result()
    }

    /// Whether pauses may stop frames: under conditional rules, which depend on pauses, and under the flow control that
    /// the file states.
    pub(crate) fn is_lossless(&self, stated: Option<&FlowControl>) -> bool {
        self.rules == RuleKind::Conditional || !matches!(stated, None | Some(FlowControl::None {}))
    }

    /// How pauses can deadlock a plan whose routing needs `needed` priorities, where that is known.
    pub(crate) fn deadlock_warning(&self, needed: Option<u8>, stated: Option<&FlowControl>) -> Option<String> {
        let needed = needed.filter(|_| self.is_lossless(stated))?;
        if needed > 1 && matches!(stated, Some(FlowControl::GlobalPause(_))) {
            let kind = "flow_control.global_pause: pauses stop all priorities of a link";
            return Some(format!("{kind}, so that they can deadlock this plan; expected flow_control.pfc"));
        }
        (usize::from(needed) > self.priorities.len().max(1)).then(|| {
            let first = if needed <= 5 { 3 } else { 0 };
            let such: Vec<u8> = (first..first + needed).collect();
            let warning = "control.priorities: none, so that pauses can deadlock this plan";
            format!("{warning}; expected {needed} for lossless traffic, which its routing needs, such as {such:?}")
        })
    }

    /// How conditional rules lose throughput at the full load of uniform traffic: where the later of their priorities
    /// get no more of a link than the first, hosts go on sending by non-minimal paths into links that packets on their
    /// way fill.
    pub(crate) fn order_warning(&self, ets: &Ets) -> Option<String> {
        if self.rules == RuleKind::Minimal {
            return None;
        }
        let class = |priority: u8| ets.class_of_priority[usize::from(priority)];
        let weight = |priority: u8| ets.weights[usize::from(class(priority))];
        let is_later_preferred = |pair: &[u8]| match (weight(pair[0]), weight(pair[1])) {
            (0, 0) => class(pair[0]) < class(pair[1]),
            (_, 0) => true,
            (first, later) => first > 0 && later / 2 >= first,
        };
        let last = self.priorities.windows(2).find(|pair| !is_later_preferred(pair))?;
        let (first, later) = (last[0], last[1]);
        Some(format!(
            "ets.weights: priority {later} has less than twice the share of {first}, so that conditional rules lose \
             throughput at the full load of uniform traffic; expected three times the share, which is the default"
        ))
    }

    /// Checks that OpenFlow 1.0 has fields and actions for the table (specification 1.0.0, sections 3.3 and 5.2.3).
    fn check_openflow10(&self, errors: &mut InputErrors) {
        let expected = |value: &str| format!("{value} with protocol = \"openflow10\"");
        let mut unless = |is_right, key: &str, mistake: &str, value: &str| {
            errors.check(InputError::unless(is_right, key, mistake, expected(value)));
        };
        let (rules, resolution) = (self.rules, self.resolution);
        unless(rules == RuleKind::Minimal, "rules", "\"conditional\" needs metadata of packets", "\"minimal\"");
        let mistake = "a match of any VLAN's priority";
        unless(self.priorities.is_empty(), "priorities", mistake, "none");
        let mistake = "not \"broadcast\": no action copies fields, and `control serve` speaks OpenFlow 1.3";
        unless(resolution == ResolutionKind::Broadcast, "resolution", mistake, "\"broadcast\"");
        let mistake = "\"arp\" needs a match of ARP's hardware address";
        unless(self.anti_spoofing != SpoofingKind::Arp, "anti_spoofing", mistake, "\"mac\" or \"none\"");
        let is_right = self.addresses == AddressKind::Dmp || self.ipv4.is_empty();
        let mistake = "\"rewrite\" beside ipv4 needs an action that writes ARP's payload";
        unless(is_right, "addresses", mistake, "\"dmp\", or ipv4 = \"\"");
    }

    fn check_priorities(&self, needed: Option<u8>) -> Result<(), InputError> {
        let error = |expected: String| Err(InputError::new("priorities", format!("{:?}", self.priorities), expected));
        let distinct: BTreeSet<u8> = self.priorities.iter().copied().collect();
        match needed {
            _ if self.priorities.is_empty() => Ok(()),
            None => error("none: how many the routing needs is not known for this fabric".to_owned()),
            Some(_) if distinct.len() < self.priorities.len() || distinct.iter().any(|&priority| priority > 7) => {
                error("different ones of 0 to 7".to_owned())
            }
            Some(needed) if self.priorities.len() != usize::from(needed) => {
                error(format!("{needed}, which the routing needs"))
            }
            Some(_) => Ok(()),
        }
    }

    fn check_ipv4(&self, bits: u32) -> Result<(), InputError> {
        let answers = self.resolution != ResolutionKind::Broadcast || self.anti_spoofing == SpoofingKind::Arp;
        let quoted = format!("\"{}\"", self.ipv4);
        let unless = |is_right, mistake: &str, expected: &str| InputError::unless(is_right, "ipv4", mistake, expected);
        if self.ipv4.is_empty() {
            return unless(!answers, "empty", "a prefix, which answers to ARP and ARP's anti-spoofing need");
        }
        let Some((network, length)) = prefix(&self.ipv4) else {
            return unless(false, &quoted, "a network and its length, such as \"10.128.0.0/9\"");
        };
        let room = 32 - length;
        let is_network = u32::from(network).trailing_zeros() >= room;
        unless(is_network, &format!("{quoted} has bits beyond its length"), "none")?;
        let expected = format!("{bits} or more, which addresses have");
        unless(bits <= room, &format!("{quoted} leaves {room} bits"), &expected)
    }
}

/// A network and its length.
fn prefix(text: &str) -> Option<(Ipv4Addr, u32)> {
    let (network, length) = text.split_once('/')?;
    let length = length.parse().ok().filter(|length| (1..=31).contains(length))?;
    Some((network.parse().ok()?, length))
}

#[cfg(test)]
mod tests {
    use etherweave_sim::params::GlobalPause;

    use super::*;

    fn error(spec: ControlSpec, bits: u32) -> String {
        spec.check(bits, Some(2)).unwrap_err().to_string()
    }

    #[test]
    fn addresses_must_fit_the_prefix() {
        let spec = |ipv4: &str| ControlSpec { ipv4: ipv4.to_owned(), ..ControlSpec::default() };
        assert_eq!(spec("10.128.0.0/9").check(23, None), Ok(()));
        assert_eq!(
            error(spec("10.128.0.0/9"), 24),
            "ipv4: \"10.128.0.0/9\" leaves 23 bits; expected 24 or more, which addresses have"
        );
        assert_eq!(error(spec("10.1.0.0/9"), 7), "ipv4: \"10.1.0.0/9\" has bits beyond its length; expected none");
        assert!(error(spec("ten/9"), 7).ends_with("such as \"10.128.0.0/9\""));
        assert_eq!(spec("").check(46, None), Ok(()));
        let responder = ControlSpec { resolution: ResolutionKind::Responder, ..spec("") };
        assert!(error(responder, 7).starts_with("ipv4: empty; expected a prefix"));
    }

    #[test]
    fn plans_that_pauses_can_deadlock_are_warned_of_with_the_key() {
        let warning = |rules, priorities: &[u8], needed, stated: Option<&FlowControl>| {
            let spec = ControlSpec { rules, priorities: priorities.to_vec(), ..ControlSpec::default() };
            spec.deadlock_warning(needed, stated)
        };
        let (minimal, conditional) = (RuleKind::Minimal, RuleKind::Conditional);
        let pfc = FlowControl::default();
        let pause = FlowControl::GlobalPause(GlobalPause::default());
        let expected = "control.priorities: none, so that pauses can deadlock this plan; \
                        expected 2 for lossless traffic, which its routing needs, such as [3, 4]";
        assert_eq!(warning(conditional, &[], Some(2), None).as_deref(), Some(expected));
        assert_eq!(warning(minimal, &[], Some(2), Some(&pfc)).as_deref(), Some(expected));
        assert!(warning(conditional, &[], Some(6), None).unwrap().ends_with("such as [0, 1, 2, 3, 4, 5]"));
        let needs_pfc = warning(conditional, &[3, 4], Some(2), Some(&pause)).unwrap();
        assert!(
            needs_pfc.starts_with("flow_control.global_pause:") && needs_pfc.ends_with("expected flow_control.pfc")
        );
        let free = [
            warning(conditional, &[3, 4], Some(2), Some(&pfc)),
            warning(conditional, &[], Some(1), Some(&pause)),
            warning(minimal, &[], Some(2), None),
            warning(minimal, &[], Some(2), Some(&FlowControl::None {})),
            warning(minimal, &[], None, Some(&pfc)),
        ];
        assert_eq!(free, [None, None, None, None, None]);
    }

    #[test]
    fn plans_whose_later_priorities_get_no_more_of_a_link_are_warned_of() {
        let warning = |rules, priorities: &[u8], weights| {
            let spec = ControlSpec { rules, priorities: priorities.to_vec(), ..ControlSpec::default() };
            spec.order_warning(&Ets { weights, ..Ets::default() })
        };
        let (minimal, conditional) = (RuleKind::Minimal, RuleKind::Conditional);
        let (strict, equal, triple) = ([0; 8], Ets::default().weights, [10, 10, 10, 10, 30, 10, 10, 10]);
        let (last_is_strict, first_is_strict) = ([50, 0, 0, 50, 0, 0, 0, 0], [50, 0, 0, 0, 50, 0, 0, 0]);
        let quiet = [
            warning(conditional, &[3, 4], strict),
            warning(conditional, &[3, 4], last_is_strict),
            warning(conditional, &[3, 4], triple),
            warning(conditional, &[3], equal),
            warning(conditional, &[], equal),
            warning(minimal, &[3, 4], equal),
        ];
        assert_eq!(quiet, [const { None }; 6]);
        let loud = [([3, 4], equal), ([4, 3], strict), ([4, 3], triple), ([3, 4], first_is_strict)];
        for (priorities, weights) in loud {
            let text = warning(conditional, &priorities, weights).unwrap();
            let [first, later] = priorities;
            assert!(
                text.starts_with(&format!("ets.weights: priority {later} has less than twice the share of {first}"))
            );
        }
    }

    #[test]
    fn what_openflow_1_0_cannot_express_is_refused_by_its_key() {
        let spec = ControlSpec { protocol: ProtocolKind::OpenFlow10, ..ControlSpec::default() };
        assert_eq!(spec.check(7, Some(2)), Ok(()));
        let check = |spec: ControlSpec, expected: &str| {
            let message = error(spec, 7);
            assert!(message.starts_with(expected), "{message}");
            assert!(message.ends_with("with protocol = \"openflow10\""), "{message}");
        };
        check(ControlSpec { rules: RuleKind::Conditional, ..spec.clone() }, "rules: \"conditional\" needs metadata");
        check(ControlSpec { priorities: vec![3, 4], ..spec.clone() }, "priorities: a match");
        for resolution in [ResolutionKind::Responder, ResolutionKind::Manager] {
            check(ControlSpec { resolution, ..spec.clone() }, "resolution: not \"broadcast\"");
        }
        check(ControlSpec { anti_spoofing: SpoofingKind::Arp, ..spec.clone() }, "anti_spoofing: \"arp\" needs");
        let rewrite = ControlSpec { addresses: AddressKind::Rewrite, ..spec };
        check(rewrite.clone(), "addresses: \"rewrite\" beside ipv4");
        assert_eq!(ControlSpec { ipv4: String::new(), ..rewrite }.check(7, Some(2)), Ok(()));
    }

    #[test]
    fn priorities_are_as_many_as_the_routing_needs() {
        let spec = |priorities: &[u8]| ControlSpec { priorities: priorities.to_vec(), ..ControlSpec::default() };
        assert_eq!(spec(&[3, 4]).check(7, Some(2)), Ok(()));
        assert_eq!(error(spec(&[3]), 7), "priorities: [3]; expected 2, which the routing needs");
        assert_eq!(error(spec(&[3, 3]), 7), "priorities: [3, 3]; expected different ones of 0 to 7");
        assert_eq!(error(spec(&[3, 8]), 7), "priorities: [3, 8]; expected different ones of 0 to 7");
    }
}
