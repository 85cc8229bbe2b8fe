"""The verb ``explore``."""

import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import mistakes, print_error
from etherweave.cli.extras import require


def explore(
    scenario: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False)] = None,
    *,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 0,
    browser: bool = True,
) -> None:
    """Open a page of this machine on which a scenario is edited, run, changed and compared.

    Prints the address, whose token lets only you in, and ends with Ctrl-C.

    Parameters
    ----------
    scenario
        Scenario file to begin with; by default a choice of examples.
    port : N
        Port of the loopback interface; by default a free one.
    browser : --browser/--no-browser
        Open the address in a browser. Default: yes.
    """
    require("explore")
    from etherweave.explore import Session, serve

    session = Session()
    with mistakes(OSError):
        if scenario:
            session.open(scenario)
        serve(session, port, partial(_ready, browser))


def _ready(opens: bool, address: str) -> None:
    print(address, flush=True)
    if opens and not webbrowser.open(address):
        print_error("no browser was found: open the address above in one")
