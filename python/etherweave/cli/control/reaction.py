"""The verb ``control reaction``."""

import json
from typing import Annotated, Any

import typer

from etherweave.cli.design_page import print_sheet
from etherweave.cli.exits import FAILED, alarm, refuse
from etherweave.cli.parameters import AsJson
from etherweave.cli.progress import study_progress
from etherweave.control.reaction import (
    TRIALS_MAX,
    Plane,
    Reaction,
    ReactionError,
    Spread,
    measure,
    missing,
)

EXAMPLES = """Examples:

etherweave control reaction

etherweave control reaction --plane ebpf --trials 100 --json"""

NAMES = {Plane.EBPF: "eBPF switch", Plane.OVS: "Open vSwitch and agent"}
KINDS = {
    "pause": "PAUSE to alternative",
    "resume": "PAUSE 0 to default",
    "expiry": "end of quanta to default",
}


def reaction_verb(
    trials: Annotated[
        int, typer.Option(min=1, max=TRIALS_MAX, help="Trials of each, about 0.2 s long.")
    ] = 15,
    plane: Annotated[str, typer.Option(help="What obeys the pauses: ebpf, ovs or both.")] = "both",
    as_json: AsJson = False,
) -> None:
    """Measure how long a switch of this machine takes to obey PAUSE frames.

    A frame every 100 us, in namespaces that are removed again; as root. Ends with 1 if a pause had
    no effect or frames were lost, with 2 after a mistake.
    """
    try:
        found = {one: _measure(one, trials) for one in _planes(plane)}
    except ReactionError as error:
        refuse(error)
    if as_json:
        print(json.dumps({str(one): _as_json(told) for one, told in found.items()}))
    else:
        _print(found)
    if any(told.missed or told.lost for told in found.values()):
        raise typer.Exit(FAILED)


def _planes(word: str) -> list[Plane]:
    """Read what is to be measured; of both, those that this machine has."""
    if word != "both":
        if word not in list(Plane):
            refuse(f"--plane {word}: expected {', '.join(Plane)} or both")
        return [Plane(word)]
    lacking = {plane: missing(plane) for plane in Plane}
    if all(lacking.values()):
        refuse("; ".join(f"{plane}: {why}" for plane, why in lacking.items()))
    for plane, why in lacking.items():
        if why:
            alarm(f"{NAMES[plane]} left out: {why}")
    return [plane for plane, why in lacking.items() if not why]


def _measure(plane: Plane, trials: int) -> Reaction:
    with study_progress(NAMES[plane], "trials") as tell:
        return measure(plane, trials, lambda done: tell(done, trials, ""))


def _as_json(told: Reaction) -> dict[str, Any]:
    spreads = {f"{kind}_us": getattr(told, kind)._asdict() for kind in KINDS}
    rest = {name: value for name, value in told._asdict().items() if name not in KINDS}
    return spreads | rest


def _print(found: dict[Plane, Reaction]) -> None:
    head = ("reaction [us]", ">min", ">median", ">max")
    for plane, told in found.items():
        print(f"{NAMES[plane]}: {told.trials} trials, {told.lost} of {told.sent:,} frames lost")
        print_sheet(head, [_row(said, getattr(told, kind)) for kind, said in KINDS.items()])
        if told.missed:
            alarm(f"{NAMES[plane]}: {told.missed} times no reaction within 50 ms")


def _row(said: str, spread: Spread) -> tuple[str, ...]:
    return (said, *("-" if time is None else f"{time:,.0f}" for time in spread))
