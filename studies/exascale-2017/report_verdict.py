"""The first section of the report: whether commodity Ethernet does, and with which settings."""

from collections.abc import Sequence
from dataclasses import dataclass

from etherweave.report.section import Section, Table
from etherweave.study import StudyCheck, StudyResult


@dataclass(frozen=True)
class Question:
    """What an architect asks, and the checks that answer it."""

    text: str
    """The question, answered by yes where all checks pass."""
    checks: tuple[str, ...]
    """Ids of checks; a ``*`` stands for anything."""
    settings: str
    """What to set, or what to do where the answer is no."""


QUESTIONS = (
    Question(
        "Do 300,000 hosts fit into the tables of commodity switches?",
        ("figure_4.dragonfly.per_group", "figure_4.butterfly_3d.per_group", "figure_6.*"),
        "hierarchical addresses of three levels, design.tables; flat tables do not fit",
    ),
    Question(
        "Does a dragonfly save half of the power of a folded Clos with flat tables?",
        ("figure_11.saving.*", "figure_11.best"),
        "topology.dragonfly, compacted tables",
    ),
    Question(
        "Does it have the bisection of a folded Clos as well?",
        ("counts.butterfly.bisection", "counts.dragonfly.bisection"),
        "count on what uniform traffic needs, half of it; place jobs accordingly",
    ),
    Question(
        "Does it adapt to traffic without custom switches, where links pause?",
        ("figure_12_pauses.*",),
        'control.rules = "conditional", two lossless control.priorities, the later one with more '
        "of each link (the default); switches that count their own full queue as well as a pause",
    ),
    Question(
        "Do pause frames alone suffice, as switches of today show them?",
        ("figure_12_frames.*", "figure_12_frames_near.*"),
        'open_loop.tables.conditional.trigger = "full" needs a switch that watches its queues; '
        "without one, XON a packet below XOFF (switch.xon_offset), and Valiant's routing where "
        "traffic is adversarial for long",
    ),
    Question(
        "Would a central controller adapt fast enough?",
        ("table_2.cg.controller",),
        "rules in advance, control.rules; a controller for failures",
    ),
    Question(
        "Do switches do what was planned?",
        ("deployed.*",),
        "etherweave control plan, verify and serve",
    ),
)
"""In the order in which they are asked."""

HEAD = ("question", "answer", "checks that pass", "figures", "settings")
SHOWN_MAX = 3
"""Figures of a question at most; those that fail come first."""


def verdict(study: StudyResult) -> Section:
    """Answer the questions of an architect from the checks."""
    rows = [_row(study, question) for question in QUESTIONS]
    title = "Does it work, and with which settings?"
    caption = (
        "Each answer is that of the checks of this study: yes where all of them pass. The "
        "[control] settings are explained in docs/guide/control.md."
    )
    return Section("verdict", title, caption, tables=[Table(HEAD, rows)])


def _row(study: StudyResult, question: Question) -> Sequence[str]:
    checks = study.matching(question.checks)
    failed = [check for check in checks if not check.is_passed]
    passed = [check for check in checks if check.is_passed]
    shown = ", ".join(_figure(check) for check in [*failed, *passed][:SHOWN_MAX])
    count = f"{len(passed)} of {len(checks)}"
    return (question.text, _answer(len(passed), len(checks)), count, shown, question.settings)


def _answer(passed: int, checks: int) -> str:
    if not checks:
        return "not run"
    return "yes" if passed == checks else "in part" if passed else "no"


def _figure(check: StudyCheck) -> str:
    return f"{check.id} {check.text} {check.unit}".rstrip()
