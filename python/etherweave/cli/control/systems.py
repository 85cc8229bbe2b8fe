"""The verb ``control systems``."""

from dataclasses import replace
from itertools import groupby

import etherweave
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import File, Settings, overrides
from etherweave.control.qos import derive
from etherweave.control.qos.comparison import compared
from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import Policy, PolicyError, WatchdogError

EXAMPLES = """Examples:
etherweave control systems scenarios/dcqcn.toml"""


def systems(file: File, *, settings: Settings = None) -> None:
    """Print how each operating system of switches writes the settings of a scenario.

    The lines are those of `control export` for the first switch and its first port.
    """
    with mistakes(etherweave.ScenarioError, PolicyError):
        policies = dict[str, Policy]()
        unwatched = dict[str, WatchdogError]()
        for system in SYSTEMS:
            options = derive.ExportOptions(system=system)
            try:
                policies[system] = derive.policy(file, overrides(settings), options)
            except WatchdogError as error:
                unwatched[system] = error
                options = replace(options, is_watched=False)
                policies[system] = derive.policy(file, overrides(settings), options)
        lines = list(compared(policies, unwatched))
    width = max(map(len, SYSTEMS))
    for setting, rows in groupby(lines, key=lambda line: line.setting):
        print(setting)
        for row in rows:
            print(f"  {row.system:{width}}  {row.line}")
