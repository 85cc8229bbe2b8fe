"""The first section of the report: whether commodity Ethernet does, and with which settings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etherweave.report.section import Section, Table
from etherweave.study import StudyCheck, StudyResult


@dataclass(frozen=True)
class Question:
    """Question of an architect, and the checks that answer it."""

    text: str  # The question, answered by yes where all checks pass.
    checks: tuple[str, ...]  # Ids of checks; a ``*`` stands for anything.
    figures: dict[str, str]
    """Sentence for the value of a check, by its id; ``{}`` stands for the value."""
    settings: str  # Settings, or steps to take where the answer is no.


QUESTIONS = (
    Question(
        "Do 300,000 hosts fit into the tables of commodity switches?",
        ("figure_4.dragonfly.per_group", "figure_4.butterfly_3d.per_group", "figure_6.*"),
        {
            "figure_4.dragonfly.per_group": "a dragonfly of {:,.0f} hosts has under 4,096 entries",
            "figure_6.dragonfly.most": "at most {:.0f} in one of 300,024 after compaction",
        },
        "hierarchical addresses of three levels, design.tables; flat tables do not fit",
    ),
    Question(
        "Does a dragonfly save half of the power of a folded Clos with flat tables?",
        ("figure_11.saving.*", "figure_11.best"),
        {
            "figure_11.saving.both": "{:.1f} % less power",
            "figure_11.saving.topology": "{:.1f} of it by the topology",
            "figure_11.saving.compaction": "{:.1f} by smaller tables, to which the CAM is fitted",
        },
        "topology.dragonfly, compacted tables",
    ),
    Question(
        "Does it have the bisection of a folded Clos as well?",
        ("counts.butterfly.bisection", "counts.dragonfly.bisection"),
        {
            "counts.dragonfly.bisection": "{:.1f} % of what half of its hosts send",
            "counts.butterfly.bisection": "a flattened butterfly {:.1f} %",
        },
        "count on what uniform traffic needs, half of it; place jobs accordingly",
    ),
    Question(
        "Do conditional rules adapt to traffic where links pause and switches count their queues?",
        ("figure_12_pauses.*",),
        {
            "figure_12_pauses.uniform.conditional": "uniform traffic: latency within {:.1f} % of "
            "minimal routing's",
            "figure_12_pauses.adversarial.latency": "adversarial: latency {:.2f} times that of PB, "
            "a custom routing",
            "figure_12_pauses.adversarial.conditional": "at full adversarial load {:.2f} times "
            "what PB accepts, which loses beyond its saturation; read as 0.85 to 1.15",
        },
        'control.rules = "conditional", two lossless control.priorities, the later one with three '
        "times the share of a link (ets.weights, the default), XOFF at a fixed size of some ten "
        "frames (switch.ingress_threshold.static), and a switch that counts its own full queue as "
        "well as a pause",
    ),
    Question(
        "Do pause frames alone suffice, as switches of today show them?",
        ("figure_12_frames.*", "figure_12_frames_near.*"),
        {
            "figure_12_frames.adversarial": "XON two packets below XOFF: {:.2f} times what PB "
            "accepts at load 0.3",
            "figure_12_frames_near.adversarial": "one packet: {:.2f} times, read as 0.85 to 1.15",
            "figure_12_frames_near.adversarial.full": "and {:.2f} times what rules with full "
            "queues accept",
        },
        "XON a frame below XOFF (switch.xon_offset), which helps less where pauses wait for the "
        "frame on the wire, as real ones do; Valiant's routing where traffic is adversarial for "
        "long; better a switch that watches its queues",
    ),
    Question(
        "Do congestion notifications suffice, which switches snoop instead of pauses?",
        ("figure_12_notified.*",),
        {
            "figure_12_notified.adversarial": "{:.2f} times what PB accepts at load 0.3, read as "
            "0.85 to 1.15",
            "figure_12_notified.uniform": "uniform traffic: latency within {:.1f} % of minimal "
            "routing's",
        },
        "open_loop.tables.conditional.trigger.notification: congestion points of 802.1Qau below "
        "the depth of a queue, which need a notification for each switch of a group; simulated, "
        "no switch is known that snoops them",
    ),
    Question(
        "Do rules in advance adapt where a central controller is too slow?",
        ("table_2.cg.controller", "table_2.cg.conditional"),
        {
            "table_2.cg.controller": "of load 0.25, by turns as in CG, a controller of 70 ms "
            "accepts {:.3f}",
            "table_2.cg.conditional": "conditional rules {:.3f}",
        },
        "control.rules; a controller for failures",
    ),
    Question(
        "Do switches do what was planned?",
        ("deployed.*",),
        {
            "deployed.rules.wrong": "{:.0f} frames of Open vSwitch go elsewhere than by the design",
            "deployed.dmp.without": "{:.0f} hosts without their address",
            "deployed.reaction_ebpf": "the kernel's switch reacts to a pause after {:.0f} us",
        },
        "etherweave control plan, verify and serve",
    ),
)
"""Questions in the order in which they are asked."""

HEAD = ("question", "answer", "checks that pass", "figures", "settings")


def verdict(study: StudyResult) -> Section:
    """Answer the questions of an architect from the checks."""
    rows = [_row(study, question) for question in QUESTIONS]
    title = "Does it work, and with which settings?"
    caption = (
        "Each answer is that of the checks of this study: yes where all of them pass, in part "
        "where some do. Settings are keys of a scenario; docs/guide/control.md, 'Settings for "
        "conditional rules', explains them."
    )
    return Section("verdict", title, caption, tables=[Table(HEAD, rows)])


def _row(study: StudyResult, question: Question) -> Sequence[str]:
    checks = study.matching(question.checks)
    passed = sum(check.is_passed for check in checks)
    figures = "; ".join(_figures(question, checks))
    answer = _answer(passed, len(checks))
    return (question.text, answer, f"{passed} of {len(checks)}", figures, question.settings)


def _answer(passed: int, checks: int) -> str:
    if not checks:
        return "not run"
    return "yes" if passed == checks else "in part" if passed else "no"


def _figures(question: Question, checks: Sequence[StudyCheck]) -> Iterator[str]:
    """Write what is known in words, and the ids of other checks that fail."""
    by_id = {check.id: check for check in checks}
    for name, words in question.figures.items():
        if name in by_id:
            check = by_id.pop(name)
            yield words.format(check.value) + ("" if check.is_passed else " (fails)")
    yield from (f"{name} fails" for name, check in by_id.items() if not check.is_passed)
