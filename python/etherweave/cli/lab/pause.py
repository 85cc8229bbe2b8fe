"""The verb ``lab pause``."""

import time
from typing import Annotated

import typer

from etherweave.cli.exits import refuse
from etherweave.cli.lab.parameters import Name, reported_errors, root_only, step_printer
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.layout import LabPort
from etherweave.control.lab.pauses import paused

EXAMPLES = """Examples:

etherweave lab pause group0.switch0 4 --seconds 10"""


def pause_verb(
    switch: Annotated[str, typer.Argument(help="Whose port: group0.switch0.")],
    port: Annotated[int, typer.Argument(help="That leads to another switch.")],
    seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="For how long.")] = 5.0,
    name: Name = None,
) -> None:
    """Pause a port by PAUSE frames from its neighbour, as a full one sends them; then resume it.

    Traffic takes the alternative rules meanwhile, in a lab with control.rules = "conditional".
    """
    root_only()
    with reported_errors():
        lab = lifecycle.find(state.machine_scope(), name)
        known = lab.layout.switches
        if switch not in known:
            refuse(f"{switch}: no such switch; expected one of {', '.join(list(known)[:4])}, …")
        with paused(lab.layout, LabPort(known[switch], port)):
            step_printer()(f"{switch}: port {port} pauses for {seconds:g} s")
            time.sleep(seconds)
