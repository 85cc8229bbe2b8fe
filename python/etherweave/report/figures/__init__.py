"""The exhibits of every kind of page: one file and one line each."""

from etherweave.report.exhibit import Maker
from etherweave.report.figures import verdicts
from etherweave.report.figures.exascale import (
    assumptions,
    fabrics,
    figure_04,
    figure_06,
    figure_11,
    figure_12,
    fogsim,
    other_fabrics,
    table_1,
)
from etherweave.report.figures.run import (
    beside,
    counters,
    flows,
    goodput,
    iterations,
    nodes,
    pauses,
    published,
    streams,
    tests,
    utilisation,
)
from etherweave.report.figures.sandia import (
    experiments,
    figure_02_bandwidth,
    figure_03_latency,
    figure_04_incast,
    figure_05_halo3d,
    figure_06_fft,
    figure_07_hpl,
    figure_08_interference,
    figure_09_tcp,
    figure_10_roce,
    halo3d_fabric,
    halo3d_nodes,
    pauses_fabric,
    placements,
    table_1_setup,
    table_2_pauses,
    table_3_counters,
)
from etherweave.report.source import Study
from etherweave.results import Result

RUN: list[Maker[Result]] = [
    iterations.exhibit,
    nodes.exhibit,
    streams.exhibit,
    utilisation.exhibit,
    pauses.exhibit,
    counters.exhibit,
    flows.exhibit,
]
"""For a run, in the order of the page; those without anything to show stay away."""

MEASURED: list[Maker[Result]] = [iterations.exhibit, nodes.exhibit, streams.exhibit]
"""For a run that was measured: what hosts see of it."""

BESIDE: list[Maker[beside.Beside]] = [beside.exhibit, goodput.exhibit]
"""For results of the same jobs."""

HELD: list[Maker[beside.Beside]] = [*tests.exhibits, published.exhibit]
"""For one result or several: what their numbers can be held against."""

SANDIA: list[Maker[Study]] = [
    verdicts.exhibit,
    figure_02_bandwidth.exhibit,
    figure_03_latency.exhibit,
    figure_04_incast.exhibit,
    figure_05_halo3d.exhibit,
    figure_06_fft.exhibit,
    figure_07_hpl.exhibit,
    figure_08_interference.exhibit,
    placements.exhibit,
    figure_09_tcp.exhibit,
    figure_10_roce.exhibit,
    table_1_setup.exhibit,
    table_2_pauses.exhibit,
    table_3_counters.exhibit,
    halo3d_nodes.exhibit,
    halo3d_fabric.exhibit,
    pauses_fabric.exhibit,
    experiments.exhibit,
]
"""In the order of the publication."""

EXASCALE: list[Maker[Study]] = [
    verdicts.exhibit,
    table_1.exhibit,
    figure_04.exhibit,
    figure_06.exhibit,
    figure_11.exhibit,
    figure_12.exhibit,
    *other_fabrics.exhibits,
    fogsim.exhibit,
    assumptions.exhibit,
    fabrics.exhibit,
]
"""In the order of the publication."""

STUDIES: dict[str, list[Maker[Study]]] = {
    "exascale-2017": EXASCALE,
    "sandia-2020": SANDIA,
}
"""For a study, by its name."""
