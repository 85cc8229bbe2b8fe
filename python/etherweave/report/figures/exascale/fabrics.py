"""What was built: every fabric with its size and the time that it took."""

from etherweave.report.section import Section, Table
from etherweave.report.source import Study

CAPTION = (
    "One directory each, with all figures and the resolved scenario. Those that took no time are "
    "known by formula only."
)
HEAD = ("experiment", "hosts", "switches", "diameter", "cables", "pairs proved", "took [s]")


def section(study: Study) -> Section:
    """List the experiments."""
    rows = [_row(study, name) for name in sorted(study.designs)]
    table = Table(HEAD, rows, f"{len(rows):,} experiments", is_folded=True)
    return Section("fabrics", "Fabrics", CAPTION, None, [table])


def _row(study: Study, name: str) -> list[str]:
    found = study.designs[name]
    if not found.design:
        counts = [f"{found.formula[key]:,}" for key in ("hosts", "switches")]
        return [name, *counts, "–", "–", "–", "–"]
    fabric = found.design["fabric"]
    cables = sum(kind["cables"] for kind in fabric["cables"])
    counts = [f"{fabric[key]:,}" for key in ("hosts", "switches", "diameter")]
    proved = f"{found.design['tables']['compacted']['pairs_proved']:,}"
    return [name, *counts, f"{cables:,}", proved, f"{found.facts['wall_s']:.2f}"]
