"""The verb ``show``."""

import json

import etherweave
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
        figures = etherweave.figures(file, changes)
        estimate = etherweave.foresee(file, changes)
        print(resolved, end="")
        if estimate and estimate["derived"]:
            print("\n# By other keys:", *estimate["derived"], sep="\n# ")
        _print_sources(figures)
        if estimate:
            print_warnings(estimate["warnings"], set())
            print_estimate(file.stem, estimate)


def _print_sources(figures: list[etherweave.Figure]) -> None:
    """Print where figures come from, as comments of TOML."""
    if figures:
        print("\n# Figures of the interconnect:")
    for figure in figures:
        value = json.dumps(figure["value"])
        print(f"# {figure['key']} = {value}: {figure['basis']}: {figure['source']}")
