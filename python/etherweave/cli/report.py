"""The verb ``report``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etherweave.cli.exits import mistakes, reject

if TYPE_CHECKING:
    from etherweave.report import WindowRequest
    from etherweave.sweeps import SweepStore


def report(
    result: Annotated[Path, typer.Argument(exists=True)],
    *,
    beside: Annotated[list[Path] | None, typer.Option(exists=True, file_okay=False)] = None,
    simulation: Annotated[list[Path] | None, typer.Option(exists=True)] = None,
    topology: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    begin: str | None = None,
    end: str | None = None,
) -> None:
    """Draw a result, a sweep, a recording, a study, benchmarks or a calibration as one HTML page.

    Parameters
    ----------
    result
        Directory that `run -o`, `measure -o`, `sweep -o`, `record -o`, `bench run -o`,
        `calibrate -o` or `study` wrote, or the anchor file (.otf2) of an OTF2 archive.
    beside
        Show a result of the same jobs beside it, such as of `measure -o`, or the flows of another
        sweep or of replications beside those of a sweep; repeatable.
    simulation : PATH
        Show a simulation beside benchmarks: a directory of `run -o` with OSU's tests, a directory
        of several such, or a table like points.csv; repeatable.
    topology : FILE
        Group the hosts of benchmarks by their switches: a site's file, or a scenario whose hosts
        are those of the site, in order.
    begin : --from TIME
        Draw ranks in detail from this time on, such as 20ms; by default some iterations.
    end : --until TIME
        Draw ranks in detail until this time, such as 25ms; by default some iterations.
    """
    from etherweave.archives import is_archive
    from etherweave.pages import write_report
    from etherweave.study import CHECKS
    from etherweave.sweeps import is_sweep

    out = result
    if result.is_file():
        if not is_archive(result):
            reject(
                f"{result}: a file; expected a directory, or an archive's file that ends in .otf2"
            )
        out = result.parent
    if is_sweep(result) and not (result / CHECKS).exists():
        if simulation or topology or begin or end:
            reject(f"{result}: a sweep; expected no option but --beside")
        print(_sweep_page([result, *(beside or ())]))
        return
    with mistakes(ValueError):
        window = _window(begin, end)
        page = write_report(result, out, beside or (), simulation or (), topology, window)
    print(page)


def _sweep_page(homes: list[Path]) -> Path:
    from etherweave.report.sweep import labelled
    from etherweave.report.sweep_page import write_sweep
    from etherweave.sweeps import SweepError, SweepStore

    with mistakes(SweepError, ValueError):
        names = [home.absolute().name.removesuffix("-replications") for home in homes]
        stores = dict(zip(names, map(SweepStore, homes), strict=True))
        if len(stores) < len(homes):
            reject("--beside: a sweep of the same name; expected directories of different names")
        store = stores[names[0]]
        leads = [_progress(name if len(names) > 1 else "", own) for name, own in stores.items()]
        title = " beside ".join(names) if len(names) > 1 else store.status().name
        tables = {name: own.table() for name, own in stores.items()}
        flows = labelled(stores if len(homes) > 1 else store) or {}
        return write_sweep(tables, store.axes(), title, " ".join(leads), flows, homes[0])


def _progress(name: str, store: "SweepStore") -> str:
    """Say how far a sweep is; with its name, where there are others."""
    status = store.status()
    runs = f"{status.finished:,} of {status.runs:,} runs finished, {status.failed:,} failed."
    return f"{name}: {runs}" if name else runs


def _window(begin: str | None, end: str | None) -> "WindowRequest | None":
    from etherweave.api.units import time_of
    from etherweave.report import WindowRequest

    if begin is None and end is None:
        return None
    times_ns = (None if time is None else 1e9 * time_of(time) for time in (begin, end))
    return WindowRequest(*times_ns)
