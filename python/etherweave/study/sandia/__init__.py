"""The evaluation of Sandia's testbed: what runs, what is measured, what hosts are fitted to."""

from etherweave.results import Result
from etherweave.study.plan import Plan
from etherweave.study.sandia.experiments import experiments
from etherweave.study.sandia.figures_of_merit import measures

PLAN = Plan(
    name="sandia-2020",
    title="An Evaluation of Ethernet Performance for Scientific Workloads, simulated",
    authors="J. Kenny, J. Wilke, C. Ulmer, G. Baker, S. Knight, J. Friesen",
    venue="INDIS 2020, Sandia National Laboratories",
    found="simulated",
    experiments=experiments,
    load=Result.load,
    measures=measures,
    shortened="fewer iterations than published; total times are scaled to all",
    shown=("halo3d.roce_v2", "halo3d.tcp", "fft.roce_v2", "qos.roce_v2.ets.1", "incast.tcp.8B.1x1"),
)
