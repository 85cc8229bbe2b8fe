"""Basis of a study: its experiments, its fabrics, and how the publication is read."""

from etherweave.api.results import Summary
from etherweave.report.section import Section, Table
from etherweave.study import StudyResult

RUNS_CAPTION = (
    "One directory each, with all tables and the resolved scenario: running that again gives the "
    "same fingerprint."
)
RUNS_HEAD = ("experiment", "seed", "ended", "simulated [ms]", "packet-hops", "drops", "fingerprint")
FABRICS_CAPTION = (
    "One directory each, with all figures and the resolved scenario. Those that took no time are "
    "known by formula only."
)
FABRICS_HEAD = ("experiment", "hosts", "switches", "diameter", "cables", "pairs proved", "took [s]")


def assumptions(study: StudyResult) -> Section | None:
    """List what the publication leaves open and how it is read."""
    rows = [list(row.values()) for row in study.study.assumptions()]
    if not rows:
        return None
    table = Table(("", "the publication leaves open", "read here as"), rows)
    caption = "Every figure above depends on these readings."
    return Section("assumptions", "Assumptions", caption, None, [table])


def runs(study: StudyResult) -> Section | None:
    """List the runs with their seeds and fingerprints."""
    rows = [_run(name, summary) for name, summary in study.summaries.items()]
    if not rows:
        return None
    table = Table(RUNS_HEAD, rows, f"{len(rows):,} experiments", is_folded=True)
    return Section("experiments", "Experiments", RUNS_CAPTION, None, [table])


def fabrics(study: StudyResult) -> Section | None:
    """List the designed fabrics, each with its size and the time that it took."""
    rows = [_fabric(study, name) for name in study.designs]
    if not rows:
        return None
    table = Table(FABRICS_HEAD, rows, f"{len(rows):,} experiments", is_folded=True)
    return Section("fabrics", "Fabrics", FABRICS_CAPTION, None, [table])


def _run(name: str, summary: Summary) -> list[str]:
    counts = [f"{summary['packet_hops']:,}", f"{summary['packets_dropped']:,}"]
    fingerprint = dict(summary["fingerprint"] or {})
    words = " ".join(f"{key}:{value}" for key, value in fingerprint.items()) or "–"
    ended = summary["finished"].replace("_", " ")
    return [name, str(summary["seed"]), ended, f"{summary['end_ns'] / 1e6:,.2f}", *counts, words]


def _fabric(study: StudyResult, name: str) -> list[str]:
    result = study.designs[name]
    if not result.design:
        counts = [f"{result.formula[key]:,}" for key in ("hosts", "switches")]
        return [name, *counts, "–", "–", "–", "–"]
    fabric = result.design["fabric"]
    cables = sum(kind["cables"] for kind in fabric["cables"])
    counts = [f"{fabric[key]:,}" for key in ("hosts", "switches", "diameter")]
    proved = f"{result.design['tables']['compacted']['pairs_proved']:,}"
    return [name, *counts, f"{cables:,}", proved, f"{result.facts['wall_s']:.2f}"]
