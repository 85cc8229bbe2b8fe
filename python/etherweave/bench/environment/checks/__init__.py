"""What is looked at, listed once; each check is a function of the evidence."""

from collections.abc import Iterator

from etherweave.bench.environment.checks import (
    hosts,
    links,
    lossless,
    rdma,
    tcp,
    traffic,
)
from etherweave.bench.environment.findings import Check, Evidence, Finding, Severity

CHECKS: tuple[Check, ...] = (
    Check("governor", ("frequency",), hosts.governor),
    Check("frequency", ("frequency",), hosts.frequency),
    Check("smt", ("smt",), hosts.smt),
    Check("numa", ("numa", "placement"), hosts.numa),
    Check("pinning", ("placement",), hosts.pinning),
    Check("oversubscription", ("placement",), hosts.oversubscription),
    Check("slices", (), hosts.slices),
    Check("load", ("load",), hosts.load),
    Check("mtu", ("link", "path"), links.mtu),
    Check("link", ("link",), links.link),
    Check("errors", ("counters",), links.errors),
    Check("drops", ("counters",), links.drops),
    Check("fec", ("fec",), links.fec),
    Check("pcie", ("pcie",), links.pcie),
    Check("firmware", ("firmware",), links.firmware),
    Check("offloads", ("offloads",), links.offloads),
    Check("qdisc", ("qdisc",), links.qdisc),
    Check("pauses", ("lossless", "counters"), lossless.pauses),
    Check("lossless", ("lossless",), lossless.lossless),
    Check("traffic classes", ("dcb",), lossless.mappings),
    Check("gid", ("rdma",), rdma.gid),
    Check("roce", ("rdma",), rdma.losses),
    Check("congestion marks", ("rdma",), rdma.marks),
    Check("tcp buffers", ("tcp",), tcp.buffers),
    Check("tcp settings", ("tcp",), tcp.settings),
    Check("tcp losses", ("tcp",), tcp.losses),
    Check("wrong interface", ("counters",), traffic.wrong_interface),
    Check("shared memory", ("placement",), traffic.shared_memory),
    Check("changes", (), hosts.changes),
)


def examine(evidence: Evidence) -> list[Finding]:
    """Make all checks, the gravest findings first."""
    found = [finding for check in CHECKS for finding in _findings(check, evidence)]
    order = list(Severity)
    return sorted(found, key=lambda finding: order.index(finding.severity))


def _findings(check: Check, evidence: Evidence) -> Iterator[Finding]:
    for problem in check.examine(evidence):
        where = " ".join(word for word in (evidence.latest.host, problem.where) if word)
        yield Finding(check.name, problem.severity, where, problem.what, problem.do)
    gaps = [gap for gap in evidence.latest.gaps if gap.topic in check.reads]
    if gaps:
        sources = "; ".join(f"{gap.source}: {gap.reason}" for gap in gaps)
        do = "take the snapshot as root, with ethtool, iproute2 and ping installed"
        what = f"could not be checked in full ({sources})"
        yield Finding(check.name, Severity.GAP, evidence.latest.host, what, do)
