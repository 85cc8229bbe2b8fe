"""The verb ``show``."""

import etherweave
from etherweave.cli.exits import refuse
from etherweave.cli.parameters import File, Settings, overrides

EXAMPLES = """Examples:

etherweave show halo3d.toml

etherweave show halo3d.toml --set switch.latency=1us > slower.toml"""


def show(file: File, settings: Settings = None) -> None:
    """Check a scenario and print it with every default filled in."""
    try:
        print(etherweave.resolve(file, overrides(settings)), end="")
    except (etherweave.ScenarioError, OSError) as error:
        refuse(error)
