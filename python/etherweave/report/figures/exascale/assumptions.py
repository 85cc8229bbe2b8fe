"""How the publication is read where it leaves something open."""

from etherweave.report.exhibit import Exhibit, MissingError, Sheet
from etherweave.report.source import Study

CAPTION = "Every figure above rests on these readings."


def exhibit(study: Study) -> Exhibit:
    """List what is open and how it is read."""
    rows = [list(row.values()) for row in study.plan.assumptions()]
    if not rows:
        raise MissingError("assumption at all")
    sheet = Sheet(("", "the publication leaves open", "read here as"), rows)
    return Exhibit("assumptions", "Assumptions", CAPTION, None, [sheet])
