"""The sections of every kind of page: one file and one line each."""

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
from etherweave.report.section import Builder
from etherweave.report.source import Study
from etherweave.results import Result

RUN: list[Builder[Result]] = [
    iterations.section,
    nodes.section,
    streams.section,
    utilisation.section,
    pauses.section,
    counters.section,
    flows.section,
]
"""For a run, in the order of the page; those without anything to show stay away."""

MEASURED: list[Builder[Result]] = [iterations.section, nodes.section, streams.section]
"""For a run that was measured: what hosts see of it."""

BESIDE: list[Builder[beside.Beside]] = [beside.section, goodput.section]
"""For results of the same jobs."""

HELD: list[Builder[beside.Beside]] = [*tests.sections, published.section]
"""For one result or several: what their numbers can be held against."""

SANDIA: list[Builder[Study]] = [
    verdicts.section,
    figure_02_bandwidth.section,
    figure_03_latency.section,
    figure_04_incast.section,
    figure_05_halo3d.section,
    figure_06_fft.section,
    figure_07_hpl.section,
    figure_08_interference.section,
    placements.section,
    figure_09_tcp.section,
    figure_10_roce.section,
    table_1_setup.section,
    table_2_pauses.section,
    table_3_counters.section,
    halo3d_nodes.section,
    halo3d_fabric.section,
    pauses_fabric.section,
    experiments.section,
]
"""In the order of the publication."""

EXASCALE: list[Builder[Study]] = [
    verdicts.section,
    table_1.section,
    figure_04.section,
    figure_06.section,
    figure_11.section,
    figure_12.section,
    *other_fabrics.sections,
    fogsim.section,
    assumptions.section,
    fabrics.section,
]
"""In the order of the publication."""

STUDIES: dict[str, list[Builder[Study]]] = {
    "exascale-2017": EXASCALE,
    "sandia-2020": SANDIA,
}
"""For a study, by its name."""
