"""The verb ``show``."""

import etherweave
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import File, Settings, overrides

EXAMPLES = """Examples:

etherweave show halo3d.toml

etherweave show halo3d.toml --set switch.latency=1us > slower.toml"""


def show(file: File, settings: Settings = None) -> None:
    """Check a scenario and print it with every default filled in, units included.

    The exit code is 2 after a mistake.
    """
    with mistakes(etherweave.ScenarioError):
        print(etherweave.resolve(file, overrides(settings)), end="")
