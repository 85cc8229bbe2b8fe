"""The checks, listed once; each is a function of the evidence."""

from collections.abc import Iterator

from etherweave.bench.environment.checks import hosts, links, lossless, traffic
from etherweave.bench.environment.findings import (
    EnvironmentCheck,
    EnvironmentFinding,
    Evidence,
    Severity,
)

CHECKS: tuple[EnvironmentCheck, ...] = (
    EnvironmentCheck("governor", ("frequency",), hosts.governor),
    EnvironmentCheck("frequency", ("frequency",), hosts.frequency),
    EnvironmentCheck("smt", ("smt",), hosts.smt),
    EnvironmentCheck("numa", ("numa", "placement"), hosts.numa),
    EnvironmentCheck("pinning", ("placement",), hosts.pinning),
    EnvironmentCheck("oversubscription", ("placement",), hosts.oversubscription),
    EnvironmentCheck("slices", (), hosts.slices),
    EnvironmentCheck("load", ("load",), hosts.load),
    EnvironmentCheck("mtu", ("link", "path"), links.mtu),
    EnvironmentCheck("link", ("link",), links.link),
    EnvironmentCheck("errors", ("counters",), links.errors),
    EnvironmentCheck("drops", ("counters",), links.drops),
    EnvironmentCheck("fec", ("fec",), links.fec),
    EnvironmentCheck("pcie", ("pcie",), links.pcie),
    EnvironmentCheck("firmware", ("firmware",), links.firmware),
    EnvironmentCheck("offloads", ("offloads",), links.offloads),
    EnvironmentCheck("qdisc", ("qdisc",), links.qdisc),
    EnvironmentCheck("pauses", ("lossless", "counters"), lossless.pauses),
    EnvironmentCheck("lossless", ("lossless",), lossless.lossless),
    EnvironmentCheck("traffic classes", ("dcb",), lossless.mappings),
    EnvironmentCheck("gid", ("rdma",), lossless.gid),
    EnvironmentCheck("roce", ("rdma",), lossless.losses),
    EnvironmentCheck("congestion marks", ("rdma",), lossless.marks),
    EnvironmentCheck("tcp buffers", ("tcp",), traffic.buffers),
    EnvironmentCheck("tcp settings", ("tcp",), traffic.settings),
    EnvironmentCheck("tcp losses", ("tcp",), traffic.losses),
    EnvironmentCheck("wrong interface", ("counters",), traffic.wrong_interface),
    EnvironmentCheck("shared memory", ("placement",), traffic.shared_memory),
    EnvironmentCheck("changes", (), hosts.changes),
)


def examine(evidence: Evidence) -> list[EnvironmentFinding]:
    """Make all checks, the gravest findings first."""
    findings = [finding for check in CHECKS for finding in _findings(check, evidence)]
    order = list(Severity)
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def _findings(check: EnvironmentCheck, evidence: Evidence) -> Iterator[EnvironmentFinding]:
    for problem in check.examine(evidence):
        where = " ".join(word for word in (evidence.latest.host, problem.where) if word)
        yield EnvironmentFinding(check.name, problem.severity, where, problem.what, problem.do)
    gaps = [gap for gap in evidence.latest.gaps if gap.topic in check.reads]
    if gaps:
        sources = "; ".join(f"{gap.source}: {gap.reason}" for gap in gaps)
        do = "take the snapshot as root, with ethtool, iproute2 and ping installed"
        what = f"could not be checked in full ({sources})"
        yield EnvironmentFinding(check.name, Severity.GAP, evidence.latest.host, what, do)
