"""The verb ``control systems``."""

import sys
from itertools import groupby

import etherweave
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import File, Settings, overrides
from etherweave.control.qos import derive
from etherweave.control.qos.comparison import compared
from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import Policy, PolicyError

EXAMPLES = """Examples:
etherweave control systems scenarios/dcqcn.toml"""


def systems(file: File, *, settings: Settings = None) -> None:
    """Print how each operating system of switches writes the settings of a scenario.

    The lines are those of `control export` for the first switch and its first port.
    """
    with mistakes(etherweave.ScenarioError, PolicyError):
        policies = dict[str, Policy]()
        errors = dict[str, PolicyError]()
        for system in SYSTEMS:
            options = derive.ExportOptions(system=system)
            try:
                policies[system] = derive.policy(file, overrides(settings), options)
            except PolicyError as error:
                errors[system] = error
        if not policies:
            raise next(iter(errors.values()))
        lines = list(compared(policies))
    for system, reason in errors.items():
        print(f"note: {system} is left out: {reason}", file=sys.stderr)
    width = max(map(len, SYSTEMS))
    for setting, rows in groupby(lines, key=lambda line: line.setting):
        print(setting)
        for row in rows:
            print(f"  {row.system:{width}}  {row.line}")
