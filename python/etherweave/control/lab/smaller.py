"""A smaller fabric of the same shape: what a lab has room for, where it has none for a scenario.

All counts of a topology become smaller alike: by a common divisor, which keeps their ratios, or
where they have none, rounded. Where no such fabric exists, as of a folded Clos network, whose hosts
grow with a power of its radix, a single count does. Rates and cables stay. Left out: topologies of
a file.
"""

import math
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from etherweave._core import Fabric, ScenarioError
from etherweave.api import toml
from etherweave.api.fabrics import fabric
from etherweave.api.scenario import Overrides, ScenarioSource

Keys: TypeAlias = Mapping[str, Any]  # Values by the dotted key of a scenario.
_SEED = "seed"  # Key of a number that is no count.
_STEPS = 16  # Steps from nothing to all, where counts have no common divisor.


def smaller_fabric(
    built: Fabric,
    scenario: ScenarioSource,
    overrides: Overrides | None,
    has_room: Callable[[Fabric], bool],
) -> tuple[Keys, Fabric] | None:
    """Find the largest smaller fabric that there is room for, with the keys that make it.

    ``built`` is the fabric of the scenario. Fabrics that are no valid scenario are left out.
    """
    ((family, table),) = tomllib.loads(built.resolved)["topology"].items()
    counted = {
        f"topology.{family}.{key}": value for key, value in table.items() if any(_counts(value))
    }
    for keys in filter(None, (counted, *({key: value} for key, value in counted.items()))):
        largest = None
        for smaller in _smaller_keys(keys):
            try:
                candidate = fabric(scenario, {**(overrides or {}), **smaller})
            except ScenarioError:
                continue
            if not has_room(candidate):
                break
            largest = smaller, candidate
        if largest:
            return largest
    return None


def as_options(keys: Keys) -> str:
    """Write keys as options of the command line."""
    return shlex.join(
        word for key, value in keys.items() for word in ("--set", f"{key}={toml.literal(value)}")
    )


def _smaller_keys(keys: Keys) -> Iterator[Keys]:
    """Make all counts of some keys smaller, the smallest first."""
    divisor = math.gcd(*(count for value in keys.values() for count in _counts(value)))
    steps = divisor if divisor > 1 else _STEPS
    for step in range(1, steps):
        scaled = {key: _scaled(value, step / steps) for key, value in keys.items()}
        yield {key: value for key, value in scaled.items() if value != keys[key]}


def _counts(value: Any) -> Iterator[int]:
    """Return the counts in a value of a topology, whose seed is none."""
    if isinstance(value, Mapping):
        value = [part for key, part in value.items() if key != _SEED]
    if isinstance(value, list):
        for part in value:
            yield from _counts(part)
    elif type(value) is int:
        yield value


def _scaled(value: Any, share: float) -> Any:
    """Make the counts in a value smaller; each is 1 at least."""
    if isinstance(value, Mapping):
        return {key: part if key == _SEED else _scaled(part, share) for key, part in value.items()}
    if isinstance(value, list):
        return [_scaled(part, share) for part in value]
    return max(round(value * share), 1) if type(value) is int else value
