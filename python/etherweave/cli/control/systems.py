"""The verb ``control systems``."""

from itertools import groupby

import etherweave
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import File, Settings, overrides
from etherweave.control.qos import derive
from etherweave.control.qos.comparison import compared
from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import PolicyError

EXAMPLES = """Examples:
etherweave control systems scenarios/dcqcn.toml"""


def systems(file: File, *, settings: Settings = None) -> None:
    """Print how each operating system of switches writes the settings of a scenario.

    The lines are those of `control export` for the first switch and its first port.
    """
    with mistakes(etherweave.ScenarioError, PolicyError):
        policies = {
            system: derive.policy(file, overrides(settings), derive.ExportOptions(system=system))
            for system in SYSTEMS
        }
        lines = list(compared(policies))
    width = max(map(len, SYSTEMS))
    for setting, rows in groupby(lines, key=lambda line: line.setting):
        print(setting)
        for row in rows:
            print(f"  {row.system:{width}}  {row.line}")
