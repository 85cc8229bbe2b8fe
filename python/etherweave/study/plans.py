"""The studies that exist: a line each."""

from typing import Any

from etherweave.study import exascale, sandia
from etherweave.study.plan import Plan

_ALL: list[Plan[Any]] = [
    exascale.PLAN,
    sandia.PLAN,
]

PLANS = {plan.name: plan for plan in _ALL}
"""By name."""


def plan_of(name: str) -> Plan[Any]:
    """Look up a study.

    Raises
    ------
    KeyError
        When there is none of that name; names those that exist.
    """
    if name not in PLANS:
        raise KeyError(f"no study {name!r}; known: {', '.join(sorted(PLANS))}")
    return PLANS[name]
