"""The comparison of topologies for exascale: on paper, on switches, under synthetic traffic."""

from pathlib import Path
from typing import Any

from etherweave.study.curved import POINTS, Curve
from etherweave.study.deployed import FIGURES, Told
from etherweave.study.designed import OnPaper
from etherweave.study.exascale.experiments import experiments
from etherweave.study.exascale.figures_of_merit import measures
from etherweave.study.plan import Plan


def load(directory: Path) -> OnPaper | Curve | Told:
    """Read a fabric on paper, a curve, or what switches were told.

    Raises
    ------
    FileNotFoundError
        When there is neither.
    """
    if (directory / FIGURES).exists():
        return Told.load(directory)
    return Curve.load(directory) if (directory / POINTS).exists() else OnPaper.load(directory)


PLAN: Plan[Any] = Plan(
    name="exascale-2017",
    title="On the Use of Commodity Ethernet Technology in Exascale HPC Systems, repeated",
    authors="M. Benito, E. Vallejo, R. Beivide",
    venue="HiPC 2015, University of Cantabria",
    found="ours",
    experiments=experiments,
    load=load,
    measures=measures,
    shortened="Figure 12 at four loads, of the dragonfly only, and not of 300,024 hosts",
    shown=(
        "figure_11.clos",
        "figure_11.butterfly",
        "figure_11.dragonfly",
        "figure_12.uniform.conditional",
    ),
)
