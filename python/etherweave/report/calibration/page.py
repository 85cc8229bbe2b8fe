"""The page of a calibration: its sections in order, and what stands above them."""

from pathlib import Path

from etherweave.bench.calibration import CalibrationError
from etherweave.report.calibration.data import Calibrated
from etherweave.report.calibration.osu import bandwidths, latencies
from etherweave.report.calibration.sections import constants, errors, iterations
from etherweave.report.page import Front, Page
from etherweave.report.section import Builder

SECTIONS: list[Builder[Calibrated]] = [errors, iterations, latencies, bandwidths, constants]
"""In the order of the page; those without anything to show return nothing."""


def write_calibration(calibrated: Calibrated, out: Path) -> Path:
    """Write the page of a calibration into a directory; returns the page's path."""
    page = Page(out)
    try:
        page.show(SECTIONS, calibrated)
    except CalibrationError as error:
        raise ValueError(error) from None
    return page.write(_front(calibrated), [])


def _front(calibrated: Calibrated) -> Front:
    calibration = calibrated.calibration
    determined = sum(one.is_determined for one in calibration.constants)
    name = calibrated.directory.absolute().name
    lead = (
        f"{determined} of {len(calibration.constants)} constants were determined by "
        f"{len(calibration.micro_benchmarks)} micro-benchmarks."
    )
    facts = [("held-out workloads", str(len(calibration.held_out)))]
    if calibration.held_out:
        mean, median = (
            _percent(calibration.typical_error_of_mean),
            _percent(calibration.typical_error),
        )
        lead += f" Held-out mean iterations are predicted within {mean}"
        lead += f", median iterations within {median} (median of workloads)."
        facts.append(("the worst", _percent(calibration.worst_error)))
    return Front(f"Calibration: {name}", lead, facts)


def _percent(error: float | None) -> str:
    return "–" if error is None else f"{error:.1%}"
