"""What ran: every experiment, its end and its fingerprint."""

from etherweave.report.section import MissingError, Section, Table
from etherweave.report.source import Study
from etherweave.results import Summary

CAPTION = (
    "One directory each, with all tables and the resolved scenario: running that again gives the "
    "same fingerprint."
)
HEAD = ("experiment", "seed", "ended", "simulated [ms]", "packet-hops", "drops", "fingerprint")


def section(study: Study) -> Section:
    """List the experiments with their seeds and fingerprints."""
    summaries = study.summaries
    if not summaries:
        raise MissingError("experiment at all")
    rows = [_row(name, summary) for name, summary in summaries.items()]
    table = Table(HEAD, rows, f"{len(rows):,} experiments", is_folded=True)
    return Section("experiments", "Experiments", CAPTION, None, [table])


def _row(name: str, summary: Summary) -> list[str]:
    counts = [f"{summary['packet_hops']:,}", f"{summary['packets_dropped']:,}"]
    fingerprint = dict(summary["fingerprint"] or {})
    words = " ".join(f"{key}:{value}" for key, value in fingerprint.items()) or "–"
    ended = summary["finished"].replace("_", " ")
    return [name, str(summary["seed"]), ended, f"{summary['end_ns'] / 1e6:,.2f}", *counts, words]
