"""What sections III to V describe, on switches of this machine: rules, addresses, pauses."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from etherweave.study.deployed import Followed, InALab, Reacted, Told
from etherweave.study.plan import Experiment

Results: TypeAlias = Mapping[str, Any]
"""Results by experiment; those that are asked for here are a :class:`Told`."""
Measure: TypeAlias = Callable[[Results], float]

PLANES = ("ebpf", "ovs")
CONTROLLER_US = 70_000
"""What a controller needs at least (section V-A) [us]."""


def deployments() -> Sequence[Experiment]:
    """List them, what takes long first."""
    reactions = [Reacted(f"deployed.reaction_{plane}", plane) for plane in PLANES]
    return [InALab("deployed.lab", "lab"), Followed("deployed.rules", "told"), *reactions]


def measures() -> dict[str, Measure]:
    """Every check by its id."""

    def of(experiment: str, keys: tuple[str, ...], results: Results) -> float:
        told: Told = results[f"deployed.{experiment}"]
        value: Any = told.figures
        for key in keys:
            value = value[key]
        return float(value)

    def without(results: Results) -> float:
        """Count the hosts of the lab without the address of the plan."""
        hosts = partial(of, "lab", ("addresses", "hosts"))(results)
        return hosts - of("lab", ("addresses", "addressed"), results)

    def faster(results: Results) -> float:
        """Tell how many pauses take as long as a controller."""
        return CONTROLLER_US / of("reaction_ovs", ("pause_us",), results)

    reactions: dict[str, Measure] = {}
    for plane in PLANES:
        name = f"reaction_{plane}"
        reactions[f"deployed.{name}"] = partial(of, name, ("pause_us",))
        reactions[f"deployed.{name}.lost"] = partial(of, name, ("frames_lost",))
    return {
        "deployed.rules.least": partial(of, "rules", ("rules_min",)),
        "deployed.rules.most": partial(of, "rules", ("rules_max",)),
        "deployed.rules.differing": partial(of, "rules", ("switches_differing",)),
        "deployed.rules.wrong": partial(of, "rules", ("frames_wrong",)),
        "deployed.dmp.hosts": partial(of, "lab", ("addresses", "addressed")),
        "deployed.dmp.without": without,
        "deployed.dmp.flooded": partial(of, "lab", ("addresses", "elsewhere")),
        "deployed.unknown.flooded": partial(of, "lab", ("unknown", "elsewhere")),
        "deployed.pause.lost": partial(of, "lab", ("pausing", "lost")),
        **reactions,
        "deployed.reaction.controllers": faster,
    }
