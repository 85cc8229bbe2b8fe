"""How switches differ from plans, as lines and as JSON: + is to come, - is to go, ~ changes."""

from collections.abc import Iterator
from typing import Any

from etherweave.control import text
from etherweave.control.controller.drift import Drift, entry_text


def as_lines(found: Drift) -> Iterator[str]:
    """Write what would be done to a switch, one line each."""
    yield from (f"+ {text.meter(meter)}" for meter in found.meters_missing)
    yield from (f"~ {text.meter(meter)}" for meter in found.meters_changed)
    yield from (f"- meter={number}" for number in found.meters_foreign)
    yield from (f"+ {text.group(group)}" for group in found.groups_missing)
    yield from (f"~ {text.group(group)}" for group in found.groups_changed)
    yield from (f"- group_id={number}" for number in found.groups_foreign)
    yield from (f"+ {text.flow(rule)}" for rule in found.missing)
    yield from (f"~ {text.flow(rule)}" for rule in found.changed)
    yield from (f"- {entry_text(entry)}" for entry in found.foreign)


def as_figures(found: Drift) -> dict[str, Any]:
    """Give what would be done to a switch as lists of text."""
    figures: dict[str, list[str]] = {"add": [], "change": [], "remove": []}
    kinds = {"+": "add", "~": "change", "-": "remove"}
    for line in as_lines(found):
        figures[kinds[line[0]]].append(line[2:])
    return figures
