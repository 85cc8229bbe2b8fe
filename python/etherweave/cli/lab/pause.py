"""The verb ``lab pause``."""

import time

from etherweave.cli.exits import reject
from etherweave.cli.lab.parameters import Name, reported_errors, root_only, step_printer
from etherweave.cli.parameters import seconds
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.layout import LabPort
from etherweave.control.lab.pauses import paused


def pause_verb(switch: str, port: int, *, duration: str = "5s", name: Name = None) -> None:
    """Pause a port by PAUSE frames from its neighbour, then resume it.

    In a lab with control.rules = "conditional", traffic uses the alternative rules in the meantime.

    Parameters
    ----------
    switch : SWITCH
        Switch, as in group0.switch0.
    port : PORT
        Port to another switch.
    duration : --time TIME
        Length of the pause.
    """
    root_only()
    time_s = seconds("--time", duration, (0.1, 3600))
    with reported_errors():
        lab = lifecycle.find(state.machine_scope(), name)
        known = lab.layout.switches
        if switch not in known:
            reject(f"{switch}: no such switch; expected one of {', '.join(list(known)[:4])}, …")
        with paused(lab.layout, LabPort(known[switch], port)):
            step = step_printer()
            step(f"{switch}: port {port} sends nothing for {time_s:g} s")
            time.sleep(time_s)
        step(f"{switch}: port {port} sends again")
