"""A linter for what no schema checks: whether RoCE would lose packets under a configuration.

A rule is a function of :class:`~etherweave.control.lint.inputs.Configurations`; adding one takes
the function and one line in :data:`RULES`. Inputs are any ``config_db.json`` of SONiC, the host
scripts of ``control export``, and its ``fabric.json``, which lists the cables.
"""

from etherweave.control.lint import agreement, consistency, lossless, queues
from etherweave.control.lint.config_db import ConfigError
from etherweave.control.lint.inputs import Configurations, LintFinding, LintRule, findings, read

__all__ = ["RULES", "ConfigError", "Configurations", "LintFinding", "LintRule", "findings", "read"]

_HALF = "half a map loses packets as surely as none"
_PAUSE = "a pause must stop exactly the packets that fill the buffer"

RULES: tuple[LintRule, ...] = (
    LintRule("readable", "what a switch cannot read it ignores or refuses", consistency.readable),
    LintRule(
        "references", "a setting that refers to nothing has no effect", consistency.references
    ),
    LintRule("ports", "a setting of a port that is not there has no effect", consistency.ports),
    LintRule(
        "pfc", "RoCE goes back to the lost packet and sends all after it again", lossless.enabled
    ),
    LintRule(
        "groups", "without xoff there is nothing left to take in when PFC pauses", lossless.groups
    ),
    LintRule("headroom", "what is under way when PFC pauses is dropped", lossless.headroom),
    LintRule("cables", "headroom follows from the cable; SONiC makes none for 0m", lossless.cables),
    LintRule(
        "orphans", "memory is set aside and packets are dropped all the same", lossless.orphans
    ),
    LintRule("pools", "the switch refuses the profile, and the port has no buffer", lossless.pools),
    LintRule("maps", _HALF, queues.bound),
    LintRule("classes", _HALF, queues.known_classes),
    LintRule(
        "reached", "RoCE's packets are somewhere else, where they are dropped", queues.reached
    ),
    LintRule("queue", _PAUSE, queues.same_queue),
    LintRule("mixed", _PAUSE, queues.unmixed),
    LintRule("weights", "a weight is a share only of 100, as hosts' ETS counts", queues.weights),
    LintRule("served", "without a share it may starve behind the others", queues.served),
    LintRule("marking", "PFC keeps what WRED drops", queues.marking),
    LintRule("watchdog", "one stuck NIC may pause the whole fabric", queues.watchdog),
    LintRule("watchdog-times", "SONiC refuses it", queues.watchdog_times),
    LintRule(
        "channels", "a flow's hash must not decide whether it is lossless", consistency.channels
    ),
    LintRule("mtu", "larger packets are dropped, which looks like congestion", consistency.mtu),
    LintRule("ends", "a pause that one end does not know is ignored", consistency.ends),
    LintRule("switches", "a packet must be lossless on its whole way", agreement.switches),
    LintRule("hosts", "a packet must be lossless on its whole way, NICs included", agreement.hosts),
    LintRule("present", "a link with one end told is a link with losses", agreement.present),
    LintRule("intent", "what runs is not what was designed and simulated", agreement.intent),
    LintRule(
        "deadlock", "pauses in a ring of one class wait for each other for ever", agreement.deadlock
    ),
)
"""Every rule, in the order of findings."""


def lint(site: Configurations) -> list[LintFinding]:
    """Find everything that is wrong with a site."""
    return findings(site, RULES)
