"""The verb ``control reaction``."""

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, mistakes, print_error, reject
from etherweave.cli.parameters import AsJson
from etherweave.cli.progress import count_progress
from etherweave.control.reaction import (
    TRIALS_MAX,
    DataPlane,
    Reaction,
    ReactionError,
    TimeSpread,
    measure,
    missing,
)

NAMES = {DataPlane.EBPF: "eBPF switch", DataPlane.OVS: "Open vSwitch and agent"}
KINDS = {
    "pause": "PAUSE to alternative",
    "resume": "PAUSE 0 to default",
    "expiry": "end of quanta to default",
}


class PlaneChoice(StrEnum):
    """Choices of ``--plane``."""

    EBPF = "ebpf"
    OVS = "ovs"
    BOTH = "both"


def reaction_verb(
    *,
    trials: Annotated[int, typer.Option(min=1, max=TRIALS_MAX)] = 15,
    plane: PlaneChoice = PlaneChoice.BOTH,
    as_json: AsJson = False,
) -> None:
    """Measure the reaction time of software switches to PAUSE frames.

    Sends a frame every 100 us, in namespaces that are removed again; requires root. Exit code 1: a
    pause had no effect or frames were lost; 2: a mistake.

    Parameters
    ----------
    trials
        Trials of each switch; each takes 0.2 s.
    plane
        Switches to measure.
    """
    with mistakes(ReactionError):
        reactions = {plane: _measure(plane, trials) for plane in _planes(plane)}
    if as_json:
        print(json.dumps({str(key): _as_json(reaction) for key, reaction in reactions.items()}))
    else:
        _print(reactions)
    if any(reaction.missed or reaction.lost for reaction in reactions.values()):
        raise typer.Exit(FAILED)


def _planes(choice: PlaneChoice) -> list[DataPlane]:
    """Return the switches to measure; of both, those that this machine supports."""
    if choice is not PlaneChoice.BOTH:
        return [DataPlane(choice.value)]
    lacking = {plane: missing(plane) for plane in DataPlane}
    if all(lacking.values()):
        reject("; ".join(f"{plane}: {why}" for plane, why in lacking.items()))
    for plane, why in lacking.items():
        if why:
            print_error(f"{NAMES[plane]} skipped: {why}")
    return [plane for plane, why in lacking.items() if not why]


def _measure(plane: DataPlane, trials: int) -> Reaction:
    with count_progress(NAMES[plane], "trials") as progress:
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
        print_table(head, [_row(label, getattr(reaction, kind)) for kind, label in KINDS.items()])
        if reaction.missed:
            print_error(f"{NAMES[plane]}: {reaction.missed} times no reaction within 2 s")


def _row(label: str, spread: TimeSpread) -> tuple[str, ...]:
    return (label, *("-" if time is None else f"{time:,.0f}" for time in spread))
