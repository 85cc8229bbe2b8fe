"""FFT alone and beside Halo3D: the cases of Figures 8 to 10 and of Table III."""

from collections.abc import Mapping, Sequence

import polars as pl

from etherweave.report.source import Study
from etherweave.report.style import COLOURS, LABELS
from etherweave.results import Result
from etherweave.study.sandia.experiments import PLACEMENT_SEEDS
from etherweave.study.sandia.figures_of_merit import total_s

CASES = (
    "tcp.alone",
    "tcp.loaded",
    "tcp_pfc.alone",
    "tcp_pfc.loaded",
    "roce_v2.alone",
    "roce_v2.loaded",
    "roce_v2.ets",
)
"""Network option, and what runs beside FFT."""

SITUATIONS: Mapping[str, str] = {
    "alone": "alone",
    "loaded": "with Halo3D",
    "ets": "with Halo3D, ETS",
}


def label(case: str, between: str = " ") -> str:
    """Write a case as a reader would."""
    option, situation = case.split(".")
    return f"{LABELS[option].removesuffix(' v2')}{between}{SITUATIONS[situation]}"


def colour(case: str) -> str:
    """Look up the colour of a case: that of its network option, or of ETS."""
    option, situation = case.split(".")
    return COLOURS["ets" if situation == "ets" else option]


def results(study: Study, case: str) -> list[Result]:
    """Read a case on each random placement."""
    return [study.result(f"qos.{case}.{seed}") for seed in PLACEMENT_SEEDS]


def totals_s(study: Study, case: str) -> list[float]:
    """Measure how long FFT takes for all published iterations, on each placement [s]."""
    return [total_s(result, "fft") for result in results(study, case)]


def iterations(result: Result) -> pl.DataFrame:
    """List the iterations of FFT on every rank."""
    return result.to_polars("iterations").filter(pl.col("job") == "fft")


def shortened(found: Sequence[Result]) -> str:
    """Tell how many iterations of FFT ran, and what became of them."""
    counts = [int(iterations(result)["iteration"].max()) + 1 for result in found]  # type: ignore[arg-type]
    return f"{min(counts):,} iterations ran; totals are scaled to 16,000."
