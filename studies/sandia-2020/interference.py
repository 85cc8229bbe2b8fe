"""FFT alone and beside Halo3D: the cases of figures 8 to 10 and of table III."""

from collections.abc import Mapping

import polars as pl

from etherweave.api.results import Result
from etherweave.report.style import COLOURS, LABELS
from etherweave.study import StudyResult

from .study import PLACEMENT_SEEDS, total_s

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


def case_results(study: StudyResult, case: str) -> list[Result]:
    """Read a case on each random placement."""
    return [study.result(f"qos.{case}.{seed}") for seed in PLACEMENT_SEEDS]


def totals_s(study: StudyResult, case: str) -> list[float]:
    """Measure how long FFT takes for all published iterations, on each placement [s]."""
    return [total_s(result, "fft") for result in case_results(study, case)]


def iterations(result: Result) -> pl.DataFrame:
    """List the iterations of FFT on every rank."""
    return result.to_polars("iterations").filter(pl.col("job") == "fft")
