"""The verb ``show``."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import etherweave
from etherweave.api.inputs import read_text
from etherweave.cli.exits import mistakes, print_warnings
from etherweave.cli.parameters import File, Settings, overrides
from etherweave.cli.progress import print_estimate


def show(file: File, settings: Settings = None) -> None:
    """Check a scenario and print it with every default filled in, units included.

    Keys that are left open and others decide follow as comments, then figures that it has from an
    interconnect, each with its basis and source.
    Standard error has the estimate of what its run needs, and warnings. The exit code is 2 after a
    mistake.
    """
    with mistakes(etherweave.ScenarioError):
        changes = overrides(settings)
        resolved = etherweave.resolve(file, changes)
        figures = [*_taken(etherweave.figures(file, changes), file, changes)]
        estimate = etherweave.foresee(file, changes)
        print(resolved, end="")
        if estimate and estimate["derived"]:
            print("\n# By other keys:", *estimate["derived"], sep="\n# ")
        _print_sources(figures)
        if estimate:
            print_warnings(estimate["warnings"], set())
            print_estimate(file.stem, estimate)


def _taken(
    figures: list[etherweave.Figure], file: Path, changes: Mapping[str, object]
) -> Iterator[etherweave.Figure]:
    """Leave out figures of keys that the scenario states itself."""
    stated = tomllib.loads(read_text(file))
    for figure in figures:
        own: object = stated
        for name in figure["key"].split("."):
            own = own.get(name) if isinstance(own, dict) else None
        is_changed = any(f"{figure['key']}.".startswith(f"{key}.") for key in changes)
        if own is None and not is_changed:
            yield figure


def _print_sources(figures: Sequence[etherweave.Figure]) -> None:
    """Print where figures come from, as comments of TOML."""
    if figures:
        print("\n# Figures of the interconnect:")
    for figure in figures:
        value = json.dumps(figure["value"])
        print(f"# {figure['key']} = {value}: {figure['basis']}: {figure['source']}")
