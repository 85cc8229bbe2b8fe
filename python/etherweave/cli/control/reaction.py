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
    DataPlane,
    Reaction,
    ReactionError,
    TimeSpread,
    measure,
    missing,
)

EXAMPLES = """Examples:

etherweave control reaction

etherweave control reaction --plane ebpf --trials 100 --json"""

NAMES = {DataPlane.EBPF: "eBPF switch", DataPlane.OVS: "Open vSwitch and agent"}
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
        reactions = {one: _measure(one, trials) for one in _planes(plane)}
    except ReactionError as error:
        refuse(error)
    if as_json:
        print(json.dumps({str(one): _as_json(reaction) for one, reaction in reactions.items()}))
    else:
        _print(reactions)
    if any(reaction.missed or reaction.lost for reaction in reactions.values()):
        raise typer.Exit(FAILED)


def _planes(word: str) -> list[DataPlane]:
    """Read what is to be measured; of both, those that this machine has."""
    if word != "both":
        if word not in list(DataPlane):
            refuse(f"--plane {word}: expected {', '.join(DataPlane)} or both")
        return [DataPlane(word)]
    lacking = {plane: missing(plane) for plane in DataPlane}
    if all(lacking.values()):
        refuse("; ".join(f"{plane}: {why}" for plane, why in lacking.items()))
    for plane, why in lacking.items():
        if why:
            alarm(f"{NAMES[plane]} left out: {why}")
    return [plane for plane, why in lacking.items() if not why]


def _measure(plane: DataPlane, trials: int) -> Reaction:
    with study_progress(NAMES[plane], "trials") as progress:
        return measure(plane, trials, lambda done: progress(done, trials, ""))


def _as_json(reaction: Reaction) -> dict[str, Any]:
    spreads = {f"{kind}_us": getattr(reaction, kind)._asdict() for kind in KINDS}
    rest = {name: value for name, value in reaction._asdict().items() if name not in KINDS}
    return spreads | rest


def _print(reactions: dict[DataPlane, Reaction]) -> None:
    head = ("reaction [us]", ">min", ">median", ">max")
    for plane, reaction in reactions.items():
        print(
            f"{NAMES[plane]}: {reaction.trials} trials, "
            f"{reaction.lost} of {reaction.sent:,} frames lost"
        )
        print_sheet(head, [_row(label, getattr(reaction, kind)) for kind, label in KINDS.items()])
        if reaction.missed:
            alarm(f"{NAMES[plane]}: {reaction.missed} times no reaction within 50 ms")


def _row(label: str, spread: TimeSpread) -> tuple[str, ...]:
    return (label, *("-" if time is None else f"{time:,.0f}" for time in spread))
