"""Tests of both drafts by section: those that run in a file a chapter, the others with a reason.

The drafts are ``draft-calabria-bmwg-ai-fabric-training-bench`` and ``-inference-bench``, editor's
copies of autumn 2026, of which sections are numbered from 5 on. Every test of the draft's own has a
table in ``tests.toml``.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from typing import cast

from etherweave.bmwg.model import BenchTest

DRAFTS = ("training", "inference")  # The drafts.


@dataclass(frozen=True)
class Entry:
    """A test of a draft."""

    section: str  # Section of its draft.
    title: str  # Name of the test.
    reduction: str = ""  # Difference to what the draft asks for, of a test that runs.
    reason: str = ""  # Why it does not run; empty of a test that runs.
    hosts: str = ""  # Means to run it on real hosts; empty where there are none.

    @property
    def is_run(self) -> bool:
        """Whether the simulator runs it."""
        return not self.reason

    @property
    def state(self) -> str:
        """State of the test, as the list prints it."""
        if self.reason:
            return "not run"
        return "reduced" if self.reduction else "run"


@cache
def entries(draft: str) -> Mapping[str, Entry]:
    """Read the tests of a draft, by section in its order."""
    text = resources.files("etherweave.bmwg").joinpath("tests.toml").read_text()
    return {section: Entry(section, **keys) for section, keys in tomllib.loads(text)[draft].items()}


class SelectionError(ValueError):
    """Tests that a draft has not, or that do not run."""


def selected(draft: str, sections: Sequence[str]) -> list[Entry]:
    """Choose tests of a draft by section, in the draft's order; without any, all that run.

    Raises ``SelectionError`` for an unknown draft or section, and for a test that does not run.
    """
    if draft not in DRAFTS:
        raise SelectionError(f"draft {draft}; expected one of {', '.join(DRAFTS)}")
    known = entries(draft)
    for section in sections:
        if section not in known:
            expected = ", ".join(known)
            raise SelectionError(f"{draft} has no test {section!r}; expected some of {expected}")
        if why := known[section].reason:
            raise SelectionError(f"{draft} {section} ({known[section].title}) does not run: {why}")
    chosen = sections or [section for section, entry in known.items() if entry.is_run]
    return [entry for section, entry in known.items() if section in chosen]


def bench_test(draft: str, section: str) -> BenchTest:
    """Import the test of a section."""
    chapter = import_module(f"etherweave.bmwg.{draft}.chapter_{section.partition('.')[0]}")
    return cast(BenchTest, chapter.TESTS[section])
