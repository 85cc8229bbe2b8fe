"""Figure 12: latency of a dragonfly of 16,512 hosts under uniform and adversarial traffic."""

from etherweave.report.figures.exascale.traffic import draw, of_fabric, table
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.study.exascale.traffic import ROUTINGS

CAPTION = (
    "The dragonfly of Table III: 129 groups of 16 switches with 8 hosts. Above, as published; "
    "below, what is accepted, which the publication does not show. Open marks: less than 95 % of "
    "what is offered is accepted; latencies there tell how long queues have become, not how long "
    "they will stay. Warm-up and length of every point are detected by one rule, 200 us at most."
)


def section(study: Study) -> Section:
    """Show latency and accepted load against what is offered."""
    curves = of_fabric(study, "figure_12", ROUTINGS)
    title = "Figure 12: average latency under uniform (a) and adversarial (b) traffic"
    checks = ["figure_12.*"]
    return Section("figure_12", title, CAPTION, draw(curves), [table(curves)], checks)
