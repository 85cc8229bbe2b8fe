"""The verb ``control systems``."""

from dataclasses import replace
from itertools import groupby

import etherweave
from etherweave.cli.exits import mistakes, print_warnings
from etherweave.cli.parameters import File, Settings, overrides
from etherweave.control.qos import derive
from etherweave.control.qos.comparison import compared
from etherweave.control.qos.nos import SYSTEMS
from etherweave.control.qos.policy import CapacityError, Policy, PolicyError, WatchdogError


def systems(file: File, *, settings: Settings = None) -> None:
    """Print how each operating system of switches writes the settings of a scenario.

    The lines are those of `control export` for the first switch and its first port.
    A system is left out, with the reason, where the buffer is too small for its switches.
    """
    policies = dict[str, Policy]()
    unwatched = dict[str, WatchdogError]()
    unfit = dict[str, CapacityError]()
    with mistakes(etherweave.ScenarioError, PolicyError):
        for system in SYSTEMS:
            try:
                policies[system] = _policy(file, settings, system, unwatched)
            except CapacityError as error:
                unfit[system] = error
        if not policies:
            raise next(iter(unfit.values()))
        lines = list(compared(policies, unwatched))
    width = max(map(len, SYSTEMS))
    for setting, rows in groupby(lines, key=lambda line: line.setting):
        print(setting)
        for row in rows:
            print(f"  {row.system:{width}}  {row.line}")
    print_warnings((f"{system} is left out: {reason}" for system, reason in unfit.items()), set())


def _policy(
    file: File, settings: Settings, system: str, unwatched: dict[str, WatchdogError]
) -> Policy:
    """Derive the policy of a system, without the watchdog where its switches have none such."""
    options = derive.ExportOptions(system=system)
    try:
        return derive.policy(file, overrides(settings), options)
    except WatchdogError as error:
        unwatched[system] = error
        return derive.policy(file, overrides(settings), replace(options, is_watched=False))
