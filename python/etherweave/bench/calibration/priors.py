"""The prior of a calibration: distributions of a profile, and ranges of what it says nothing of."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from etherweave import _core
from etherweave.api.scenario import ScenarioSource, dotted, literals, read
from etherweave.bench.calibration.prediction import CONSTANTS
from etherweave.bench.calibration.prior import Prior, UnknownKey
from etherweave.uncertainty.declared import Declared
from etherweave.uncertainty.distributions import Range
from etherweave.uncertainty.figures import unknowns

WIDE = "no document: evenly on a logarithmic scale"
"""Source of a range where a profile has no figure."""


def prior_of(scenario: ScenarioSource, declared: Declared) -> Prior:
    """Find what is not known of a scenario's hosts, with its distributions.

    Distributions that the reader declares take the place of all others. Raises ``ScenarioError``
    when the scenario is wrong; ``OSError``.
    """
    text, origin = read(scenario)
    table = tomllib.loads(_core.resolve(text, origin, []))
    (transport,), resolved = table["transport"], dotted(table)
    own = unknowns(text, origin, {}, declared)
    wide = {
        constant.key: Range(f"{constant.low_ns}ns", f"{constant.high_ns}ns", "log")
        for constant in CONSTANTS[transport]
        if own.figure(constant.key) is None and constant.key not in declared.keys
    }
    widened = replace(declared, distributions={**declared.distributions, **wide})
    uncertain = unknowns(text, origin, {}, widened)
    keys = {
        key: UnknownKey(key, entry.name, WIDE if key in wide else entry.about)
        for entry in uncertain.entries
        for key in entry.keys
    }
    has_choice = any(entry.basis == "choice" for entry in uncertain.entries)

    def overrides(values: Mapping[str, object]) -> Mapping[str, object]:
        if not has_choice:
            return values
        changed = dotted(tomllib.loads(_core.resolve(text, origin, literals(values))))
        return {
            key: value
            for key, value in changed.items()
            if resolved.get(key) != value and not key.startswith("job")
        }

    def at(shares: Sequence[float]) -> Mapping[str, object]:
        return uncertain.at([float(share) for share in shares])

    before = {key: resolved[key] for key in keys if key in resolved}
    return Prior(
        [entry.name for entry in uncertain.entries], list(keys.values()), at, overrides, before
    )
