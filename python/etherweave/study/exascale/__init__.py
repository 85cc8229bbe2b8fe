"""The comparison of topologies for exascale: fabrics on paper, their tables and their power."""

from etherweave.study.designed import OnPaper
from etherweave.study.exascale.experiments import experiments
from etherweave.study.exascale.figures_of_merit import measures
from etherweave.study.plan import Plan

PLAN = Plan(
    name="exascale-2017",
    title="On the Use of Commodity Ethernet Technology in Exascale HPC Systems, designed",
    authors="M. Benito, E. Vallejo, R. Beivide",
    venue="HiPC 2015, University of Cantabria",
    found="designed",
    experiments=experiments,
    load=OnPaper.load,
    measures=measures,
    shown=("figure_11.clos", "figure_11.butterfly", "figure_11.dragonfly"),
)
