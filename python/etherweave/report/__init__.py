"""Reports: one self-contained HTML page, and its figures as SVG and PNG beside it; drawings.

:func:`write_report` takes a result, a study, benchmarks or a calibration from disk,
:func:`draw_fabric` a fabric, :func:`draw_metrics` a comparison of fabrics, :func:`draw_curves` a
latency curve, :func:`draw_heat` and :func:`write_animation` an observation. Each kind of page is a
folder, whose ``page.py`` lists the sections. The same results give the same bytes. Left out:
simulating. Whatever a page shows is in the tables of its results, or was published and says where.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from polars.exceptions import PolarsError

from etherweave.api.results import Result
from etherweave.archives import is_archive, recorded
from etherweave.bench.tables import RESULTS
from etherweave.report.animation import write_animation
from etherweave.report.benchmarks.data import load_benchmarks
from etherweave.report.benchmarks.page import write_benchmarks
from etherweave.report.calibration.data import is_calibration, load_calibration
from etherweave.report.calibration.sections import write_calibration
from etherweave.report.curves import draw_curves
from etherweave.report.drawing import draw_fabric
from etherweave.report.heat import draw_heat
from etherweave.report.metrics import draw_metrics
from etherweave.report.run.page import write_run
from etherweave.report.run.rank_detail import WindowRequest
from etherweave.report.run.recording import is_recording, write_recording
from etherweave.report.study.page import write_study
from etherweave.report.sweep import plot
from etherweave.study import CHECKS, load_study_result

__all__ = [
    "WindowRequest",
    "draw_curves",
    "draw_fabric",
    "draw_heat",
    "draw_metrics",
    "plot",
    "write_animation",
    "write_benchmarks",
    "write_calibration",
    "write_report",
    "write_run",
    "write_study",
]


def write_report(
    source: Path | str,
    out: Path | str,
    beside: Sequence[Path] = (),
    simulation: Sequence[Path] = (),
    topology: Path | None = None,
    window: WindowRequest | None = None,
) -> Path:
    """Write the report of a result, a study, benchmarks, a calibration or a recording.

    Parameters
    ----------
    source
        Directory of a result, of a study, which holds ``checks.json``, of benchmarks, which
        holds ``benchmarks.json``, of a calibration, which holds ``calibration.json``, or of a
        recorded program; or the anchor file of an OTF2 archive.
    out
        Directory for the page and its figures; made when missing, may be the same.
    beside
        Directories of results of the same jobs, such as what was measured.
    simulation, topology
        What to show beside benchmarks, and where their hosts sit; see :func:`load_benchmarks`.
    window
        The window of time in which ranks are drawn in detail, of a recording or a result.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    FileNotFoundError
        When the source holds none of these.
    ValueError
        When another version wrote the source, in a format that this one does not know, or there is
        something beside anything but a result, or a simulation or topology beside anything else,
        or a window without ranks in it.
    """
    source, out = Path(source), Path(out)
    if is_archive(source):
        with recorded(source) as files:
            return write_report(files, out, beside, simulation, topology, window)
    if window and _has_no_ranks(source):
        window.check([])
    if (source / RESULTS).exists():
        if beside:
            raise ValueError(
                f"{source}: benchmarks; expected a result, which others can stand beside"
            )
        with _damage(source, "bench run -o"):
            return write_benchmarks(load_benchmarks(source, simulation, topology), out)
    if simulation or topology:
        raise ValueError(
            f"{source}: no benchmarks that a simulation or a topology could stand beside"
        )
    of_recording: _Alone = (is_recording, "a recording", partial(write_recording, request=window))
    for is_kind, name, write in [*_ALONE, of_recording]:
        if is_kind(source):
            if beside:
                raise ValueError(
                    f"{source}: {name}; expected a result, which others can stand beside"
                )
            return write(source, out)
    others = [Result.load(other) for other in beside]
    return write_run(Result.load(source), out, others, window)


def _has_no_ranks(source: Path) -> bool:
    return (source / RESULTS).exists() or any(is_kind(source) for is_kind, _, _ in _ALONE)


def _write_study(source: Path, out: Path) -> Path:
    study = load_study_result(source)
    with _damage(source, "study"):
        return write_study(study, out)


@contextmanager
def _damage(source: Path, verb: str) -> Iterator[None]:
    """Turn what reading damaged tables of a verb raises into one sentence about the directory."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, PolarsError) as error:
        found = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(f"{source}: {found}; expected what `etherweave {verb}` wrote") from error


_Alone: TypeAlias = tuple[Callable[[Path], bool], str, Callable[[Path, Path], Path]]
_ALONE: list[_Alone] = [
    (lambda source: (source / CHECKS).exists(), "a study", _write_study),
    (
        is_calibration,
        "a calibration",
        lambda source, out: write_calibration(load_calibration(source), out),
    ),
]
"""What has a page, but no ranks: how to know it, its name, and what writes its page."""
