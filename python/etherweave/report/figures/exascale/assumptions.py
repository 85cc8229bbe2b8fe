"""How the publication is read where it leaves something open."""

from etherweave.report.section import MissingError, Section, Table
from etherweave.report.source import Study

CAPTION = "Every figure above rests on these readings."


def section(study: Study) -> Section:
    """List what is open and how it is read."""
    rows = [list(row.values()) for row in study.plan.assumptions()]
    if not rows:
        raise MissingError("assumption at all")
    table = Table(("", "the publication leaves open", "read here as"), rows)
    return Section("assumptions", "Assumptions", CAPTION, None, [table])
