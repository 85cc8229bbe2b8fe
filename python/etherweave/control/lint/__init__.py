"""A linter for what no schema checks: whether RoCE would lose packets under a configuration.

A rule is a function of :class:`~etherweave.control.lint.inputs.Configurations`; adding one takes
the function and one line in :data:`RULES`. Inputs are configurations of SONiC, Onyx, EOS and NVUE,
scripts of hosts, and the ``fabric.json`` of ``control export``, which lists the cables. A system is
a module with a :class:`~etherweave.control.lint.dialects.Dialect`, and its entry in ``DIALECTS`` of
:mod:`~etherweave.control.lint.inputs`.
"""

from collections.abc import Collection

from etherweave.control.lint import (
    agreement,
    consistency,
    hosts,
    lossless,
    memory,
    queues,
    trimming,
)
from etherweave.control.lint.config_db import ConfigError
from etherweave.control.lint.inputs import (
    Configurations,
    LintFinding,
    LintRule,
    Severity,
    UnreadFile,
    findings,
    read,
)

__all__ = [
    "RULES",
    "ConfigError",
    "Configurations",
    "LintFinding",
    "LintRule",
    "Severity",
    "UnreadFile",
    "findings",
    "read",
]

LOSES, STALLS, DEGRADES, STYLE = Severity

_HALF = "an incomplete map loses packets like a missing one"
_ENTRY = "a packet's class must not depend on the port where it enters"
_PAUSE = "a pause must stop exactly the packets that fill the buffer"

_ROWS = (
    ("readable", LOSES, "a device ignores or rejects what it cannot read", consistency.readable),
    ("references", LOSES, "a setting of a missing entry has no effect", consistency.references),
    ("ports", STYLE, "a setting of a missing port has no effect", consistency.ports),
    ("unused", DEGRADES, "a profile that no port has changes nothing", consistency.unused),
    ("pfc", LOSES, "RoCE repeats a lost packet and all packets after it", lossless.enabled),
    ("classification", LOSES, _ENTRY, lossless.classified),
    ("pauses", LOSES, "802.3x stops all priorities, or none, at one end", lossless.paused),
    ("policed", LOSES, "a policy map overrides what the port trusts", lossless.policed),
    ("groups", LOSES, "without xoff there is no headroom when PFC pauses", lossless.groups),
    ("unbuffered", LOSES, "a group without memory drops packets", lossless.unbuffered),
    ("headroom", LOSES, "packets in flight when PFC pauses are dropped", lossless.headroom),
    ("cables", LOSES, "headroom depends on the cable", lossless.cables),
    ("orphans", STYLE, "memory is reserved although packets are dropped", lossless.orphans),
    ("pools", LOSES, "the switch rejects the profile, and the port has no buffer", lossless.pools),
    ("sizes", LOSES, "a group has no room for what it must keep", memory.sizes),
    ("shared", LOSES, "the headroom that groups share is empty at once", memory.shared),
    ("thresholds", STALLS, "a group with no part of the pool is always paused", memory.thresholds),
    ("egress", LOSES, "a lossy queue drops what the ingress has accepted", memory.egress),
    ("maps", LOSES, _HALF, queues.bound),
    ("classes", LOSES, _HALF, queues.known_classes),
    ("reached", LOSES, "RoCE is in another class, where it is dropped", queues.reached),
    ("default", DEGRADES, "traffic that nobody marked pauses the fabric", queues.default),
    ("queue", LOSES, _PAUSE, queues.same_queue),
    ("mixed", LOSES, _PAUSE, queues.unmixed),
    ("served", STALLS, "without a share the queue may starve", queues.served),
    ("shares", DEGRADES, "a class gets less at one port than at others", lossless.scheduled),
    ("marking", LOSES, "WRED drops packets that PFC protects", queues.marking),
    ("unmarked", DEGRADES, "senders slow down by pauses alone", queues.unmarked),
    ("watchdog", STALLS, "a defective NIC may pause the whole fabric", queues.watchdog),
    ("watchdog-times", STALLS, "nothing ends a storm of pauses", queues.watchdog_times),
    ("trimming", LOSES, "nobody reports a packet that is dropped in place", trimming.configured),
    ("asymmetric", LOSES, "the port ignores pauses, or sends none", lossless.asymmetric),
    ("channels", LOSES, "a flow's hash must not decide its losses", consistency.channels),
    ("mtu", LOSES, "larger packets are dropped, which looks like congestion", consistency.mtu),
    ("ends", LOSES, "a link with two speeds does not come up", consistency.ends),
    ("switches", LOSES, "a packet must be lossless on its whole path", agreement.switches),
    ("ecn", DEGRADES, "senders do not see the congestion of that switch", agreement.marked),
    ("hosts", LOSES, "a packet must be lossless on its path, NICs included", hosts.hosts),
    ("marks", LOSES, "packets with another mark are in a lossy class", hosts.marks),
    ("present", LOSES, "a link with one configured end loses packets", agreement.present),
    ("intent", LOSES, "it differs from what was designed and simulated", agreement.intent),
    ("deadlock", STALLS, "pauses of one class may form a deadlock cycle", agreement.deadlock),
)
_BETWEEN = (
    "channels",
    "pauses",
    "policed",
    "headroom",
    "cables",
    "mtu",
    "ends",
    "switches",
    "ecn",
    "hosts",
    "marks",
    "present",
)
"""Rules that compare a switch with others, or with its own ports in the fabric."""
RULES: tuple[LintRule, ...] = tuple(LintRule(*row, row[0] not in _BETWEEN) for row in _ROWS)
"""Every rule, in the order of findings."""


def lint(site: Configurations, off: Collection[str] = ()) -> list[LintFinding]:
    """Return all findings of all rules but those that are switched off."""
    return findings(site, (rule for rule in RULES if rule.name not in off))
