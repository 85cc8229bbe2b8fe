"""A linter for what no schema checks: whether RoCE would lose packets under a configuration.

A rule is a function of :class:`~etherweave.control.lint.inputs.Configurations`; adding one takes
the function and one line in :data:`RULES`. Inputs are any ``config_db.json`` of SONiC, the host
scripts of ``control export``, and its ``fabric.json``, which lists the cables.
"""

from etherweave.control.lint import agreement, consistency, lossless, queues
from etherweave.control.lint.config_db import ConfigError
from etherweave.control.lint.inputs import Configurations, LintFinding, LintRule, findings, read

__all__ = ["RULES", "ConfigError", "Configurations", "LintFinding", "LintRule", "findings", "read"]

_HALF = "an incomplete map loses packets like a missing one"
_PAUSE = "a pause must stop exactly the packets that fill the buffer"

RULES: tuple[LintRule, ...] = (
    LintRule("readable", "a switch ignores or rejects what it cannot read", consistency.readable),
    LintRule(
        "references",
        "a setting that refers to a missing entry has no effect",
        consistency.references,
    ),
    LintRule("ports", "a setting of a missing port has no effect", consistency.ports),
    LintRule("pfc", "RoCE repeats a lost packet and all packets after it", lossless.enabled),
    LintRule("groups", "without xoff there is no headroom when PFC pauses", lossless.groups),
    LintRule("headroom", "packets in flight when PFC pauses are dropped", lossless.headroom),
    LintRule(
        "cables", "headroom depends on the cable; SONiC reserves none for 0m", lossless.cables
    ),
    LintRule("orphans", "memory is reserved although packets are dropped", lossless.orphans),
    LintRule("pools", "the switch rejects the profile, and the port has no buffer", lossless.pools),
    LintRule("maps", _HALF, queues.bound),
    LintRule("classes", _HALF, queues.known_classes),
    LintRule(
        "reached", "RoCE's packets are in another class, where they are dropped", queues.reached
    ),
    LintRule("queue", _PAUSE, queues.same_queue),
    LintRule("mixed", _PAUSE, queues.unmixed),
    LintRule("weights", "weights are shares of 100, as in the ETS of hosts", queues.weights),
    LintRule("served", "without a share the queue may starve", queues.served),
    LintRule("marking", "WRED drops packets that PFC protects", queues.marking),
    LintRule("watchdog", "a defective NIC may pause the whole fabric", queues.watchdog),
    LintRule("watchdog-times", "SONiC rejects it", queues.watchdog_times),
    LintRule(
        "channels", "a flow's hash must not decide whether it is lossless", consistency.channels
    ),
    LintRule("mtu", "larger packets are dropped, which looks like congestion", consistency.mtu),
    LintRule("ends", "a pause that one end does not support is ignored", consistency.ends),
    LintRule("switches", "a packet must be lossless on its whole path", agreement.switches),
    LintRule(
        "hosts", "a packet must be lossless on its whole path, NICs included", agreement.hosts
    ),
    LintRule("present", "a link with one configured end loses packets", agreement.present),
    LintRule(
        "intent", "the configuration differs from what was designed and simulated", agreement.intent
    ),
    LintRule("deadlock", "pauses of one class may form a deadlock cycle", agreement.deadlock),
)
"""Every rule, in the order of findings."""


def lint(site: Configurations) -> list[LintFinding]:
    """Return all findings of all rules."""
    return findings(site, RULES)
