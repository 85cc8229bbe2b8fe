"""The verb ``show``."""

import etherweave
from etherweave.cli.exits import refuse, told
from etherweave.cli.parameters import File, Settings, overrides

EXAMPLES = """Examples:

etherweave show halo3d.toml

etherweave show halo3d.toml --set switch.latency=1us > slower.toml"""


def show(file: File, settings: Settings = None) -> None:
    """Check a scenario and print it with every default filled in, units included.

    Ends with 2 after a mistake.
    """
    try:
        print(etherweave.resolve(file, overrides(settings)), end="")
    except etherweave.ScenarioError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
