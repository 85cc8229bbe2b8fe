"""What a rule finds wrong, and what a rule is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from etherweave.control.lint.site import Site


class Fault(NamedTuple):
    """Something wrong at one place."""

    file: str
    place: str
    """Port, table or entry within the file."""
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what it is called, why it matters, and the function that checks it."""

    name: str
    why: str
    check: Callable[[Site], Iterator[Fault]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, at all its places of one file."""

    rule: str
    file: str
    places: tuple[str, ...]
    found: str
    expected: str
    why: str


def findings(site: Site, rules: Iterable[Rule]) -> list[Finding]:
    """Check a site by rules; places of one file with the same fault are told together."""
    found: list[Finding] = []
    for rule in rules:
        places: dict[tuple[str, str, str], list[str]] = {}
        for fault in rule.check(site):
            key = (fault.file, fault.found, fault.expected)
            places.setdefault(key, []).append(fault.place)
        found += (
            Finding(rule.name, file, tuple(dict.fromkeys(where)), what, expected, rule.why)
            for (file, what, expected), where in places.items()
        )
    return found
