"""Pages of whatever a directory holds: of runs, studies, benchmarks, calibrations and advice.

This room alone joins what several extras bring: ``report`` draws, ``bench`` and ``advise`` have
the tables. Pages of runs and studies need ``report`` only.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from polars.exceptions import PolarsError

from etherweave.api.results import Result
from etherweave.archives import is_archive, recorded
from etherweave.measurements.files import CALIBRATION_FILE, RESULTS
from etherweave.report import WindowRequest, is_recording, write_recording, write_run, write_study
from etherweave.study import CHECKS, load_study_result

__all__ = ["write_report"]


def write_report(
    source: Path | str,
    out: Path | str,
    beside: Sequence[Path] = (),
    simulation: Sequence[Path] = (),
    topology: Path | None = None,
    window: WindowRequest | None = None,
) -> Path:
    """Write the report of a result, a study, benchmarks, a calibration or a recording.

    Raises ``FileNotFoundError`` when the source holds none of these; ``ValueError`` when another
    version wrote the source, in a format that this one does not know, or there is something beside
    anything but a result, or a simulation or topology beside anything else, or a window without
    ranks in it.

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
        from etherweave.pages.benchmarks.data import load_benchmarks
        from etherweave.pages.benchmarks.page import write_benchmarks

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


def _write_calibration(source: Path, out: Path) -> Path:
    from etherweave.pages.calibration.data import load_calibration
    from etherweave.pages.calibration.sections import write_calibration

    return write_calibration(load_calibration(source), out)


@contextmanager
def _damage(source: Path, verb: str) -> Iterator[None]:
    """Turn what reading damaged tables of a verb raises into one sentence about the directory."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, PolarsError) as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ValueError(f"{source}: {text}; expected what `etherweave {verb}` wrote") from error


_Alone: TypeAlias = tuple[Callable[[Path], bool], str, Callable[[Path, Path], Path]]
_ALONE: list[_Alone] = [
    (lambda source: (source / CHECKS).exists(), "a study", _write_study),
    (lambda source: (source / CALIBRATION_FILE).is_file(), "a calibration", _write_calibration),
]
"""Sources that have a page, but no ranks: how to know one, its name, and its function."""
