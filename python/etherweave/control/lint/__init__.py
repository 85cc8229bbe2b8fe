"""A linter for the meaning of configurations, which no schema checks: would RoCE lose packets.

A rule is a function that reads a :class:`~etherweave.control.lint.site.Site`; it is added by the
function and one line in :data:`RULES`. Read are SONiC's ``config_db.json``, anybody's, the host
scripts of ``control export``, and its ``fabric.json``, which says what is plugged where.
"""

from etherweave.control.lint import agreement, form, links, lossless, maps, queues
from etherweave.control.lint.config_db import ConfigError
from etherweave.control.lint.finding import Finding, Rule, findings
from etherweave.control.lint.site import Site, read

__all__ = ["RULES", "ConfigError", "Finding", "Rule", "Site", "findings", "read"]

_HALF = "half a map loses packets as surely as none"
_PAUSE = "a pause must stop exactly the packets that fill the buffer"

RULES: tuple[Rule, ...] = (
    Rule("readable", "what a switch cannot read it ignores or refuses", form.readable),
    Rule("references", "a setting that refers to nothing is not in force", form.references),
    Rule("ports", "a setting of a port that is not there is not in force", form.ports),
    Rule("pfc", "RoCE goes back to the lost packet and sends all after it again", lossless.enabled),
    Rule(
        "groups", "without xoff there is nothing left to take in when PFC pauses", lossless.groups
    ),
    Rule("headroom", "what is under way when PFC pauses is dropped", lossless.headroom),
    Rule("cables", "headroom follows from the cable; SONiC makes none for 0m", lossless.cables),
    Rule("orphans", "memory is set aside and packets are dropped all the same", lossless.orphans),
    Rule("pools", "the switch refuses the profile, and the port has no buffer", lossless.pools),
    Rule("maps", _HALF, maps.bound),
    Rule("classes", _HALF, maps.known_classes),
    Rule("reached", "RoCE's packets are somewhere else, where they are dropped", maps.reached),
    Rule("queue", _PAUSE, maps.same_queue),
    Rule("mixed", _PAUSE, maps.unmixed),
    Rule("weights", "a weight is a share only of 100, as hosts' ETS counts", queues.weights),
    Rule("served", "without a share it may starve behind the others", queues.served),
    Rule("marking", "PFC keeps what WRED drops", queues.marking),
    Rule("watchdog", "one stuck card may pause the whole fabric", queues.watchdog),
    Rule("watchdog-times", "SONiC refuses it", queues.watchdog_times),
    Rule("channels", "a flow's hash must not decide whether it is lossless", links.channels),
    Rule("mtu", "larger packets are dropped, which looks like congestion", links.mtu),
    Rule("ends", "a pause that one end does not know is ignored", links.ends),
    Rule("switches", "a packet must be lossless on its whole way", agreement.switches),
    Rule("hosts", "a packet must be lossless on its whole way, cards included", agreement.hosts),
    Rule("present", "a link with one end told is a link with losses", agreement.present),
    Rule("intent", "what runs is not what was designed and simulated", agreement.intent),
    Rule(
        "deadlock", "pauses in a ring of one class wait for each other for ever", agreement.deadlock
    ),
)
"""Every rule, in the order of findings."""


def lint(site: Site) -> list[Finding]:
    """Find everything that is wrong with a site."""
    return findings(site, RULES)
