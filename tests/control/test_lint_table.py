"""The guide's table of mistakes is that of the mistakes that the tests plant."""

import os
from collections.abc import Iterator
from pathlib import Path

from etherweave.control import lint
from support.lint_mistakes import MISTAKES

GUIDE = Path(__file__).parents[2] / "docs/guide/switch-configuration.md"
HEAD = "| mistake | rule | severity | found in | message |\n|---|---|---|---|---|\n"
SYSTEMS = {"sonic": "SONiC", "onyx": "Onyx", "eos": "EOS", "cumulus": "Cumulus", "hosts": "hosts"}
FABRIC = [
    ("switches that differ, without the scenario", "switches", "DSCP 26 is in priority group 4 …"),
    ("a switch that marks nothing beside others", "ecn", "lossless queues are not marked"),
    ("no configuration of a device", "present", "no configuration of the switch"),
    ("no configuration of a port", "present", "no configuration of the port, or it is shut down"),
    (
        "fewer lossless queues than routing needs",
        "deadlock",
        "lossless priorities 3, 4 have 1 queues of their own",
    ),
]
"""Of whole fabrics, whatever their systems; planted in ``test_lint.py``."""


def rows() -> Iterator[str]:
    severities = {rule.name: rule.severity for rule in lint.RULES}
    where: dict[str, list[str]] = {}
    shown: dict[str, tuple[str, str]] = {}
    for row in (row for row in MISTAKES if row.scenario != "model"):
        where.setdefault(row.mistake, []).append(SYSTEMS[row.system])
        shown.setdefault(row.mistake, (row.rule, row.found))
    for mistake, systems in where.items():
        rule, finding = shown[mistake]
        yield f"| {mistake} | `{rule}` | {severities[rule]} | {', '.join(systems)} | {finding} |\n"
    for mistake, rule, finding in FABRIC:
        yield f"| {mistake} | `{rule}` | {severities[rule]} | all | {finding} |\n"


def test_the_guide_lists_every_planted_mistake_where_it_is_found_and_the_finding() -> None:
    """``ETHERWEAVE_BLESS=1`` writes the table into the guide."""
    before, _, rest = GUIDE.read_text().partition(HEAD)
    old = rest[: rest.index("\n\n") + 1]
    if os.environ.get("ETHERWEAVE_BLESS"):
        GUIDE.write_text(before + HEAD + "".join(rows()) + rest[len(old) :])
    else:
        assert old == "".join(rows())
