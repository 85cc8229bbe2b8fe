"""Questions of a study, as its ``study.toml`` declares them, answered from its checks."""

from collections.abc import Iterator, Sequence

from etherweave.report.section import Section, Table
from etherweave.study import StudyCheck, StudyResult
from etherweave.study.declared import Question, QuestionTable

HEAD = ("question", "answer", "checks that pass", "figures", "settings")


def answers(declared: QuestionTable, study: StudyResult) -> Section:
    """Answer each question: yes where all of its checks pass, in part where some do."""
    rows = [_row(study, question) for question in declared.question]
    return Section(declared.name, declared.title, declared.caption, tables=[Table(HEAD, rows)])


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
