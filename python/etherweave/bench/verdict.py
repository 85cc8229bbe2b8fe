"""Whether a launch counts: what its text says, and every reason not to believe it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etherweave.bench.campaign import Experiment
from etherweave.bench.document import Document, UnrecognisedError, parse
from etherweave.bench.launchers.launcher import Ending
from etherweave.bench.measurements import Completeness, Measurement, Report

_SHOWN = 200
"""Of a program's last words [characters]."""


@dataclass(frozen=True)
class Verdict:
    """What one launch came to."""

    reports: tuple[Report, ...]
    """Those of the benchmark that was launched."""
    problems: tuple[str, ...]
    """Why it does not count; empty if it does."""

    @property
    def is_valid(self) -> bool:
        """Whether its numbers may be used."""
        return not self.problems

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Of all its reports, in order."""
        return tuple(one for report in self.reports for one in report.measurements)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is suspicious about numbers that count."""
        return tuple(dict.fromkeys(text for one in self.reports for text in one.warnings))


def judge(experiment: Experiment, ending: str, text: str, errors: str) -> Verdict:
    """Judge a launch by how it ended and what it wrote."""
    ended = [] if ending == Ending.DONE else [_ended(ending, errors)]
    try:
        document = parse(text)
    except UnrecognisedError as error:
        return Verdict((), tuple(ended or [f"{error}{_last_words(errors)}"]))
    own = tuple(one for one in document.reports if one.benchmark == experiment.benchmark)
    return Verdict(own, (*ended, *_problems(experiment, document, own)))


def _ended(ending: str, errors: str) -> str:
    return f"{ending.replace('_', ' ')}{_last_words(errors)}"


def _last_words(errors: str) -> str:
    # Open MPI frames what it says by rules of dashes.
    lines = [line.strip() for line in errors.splitlines() if line.strip(" \t-=*")]
    return f": {lines[-1][:_SHOWN]}" if lines else ""


def _problems(experiment: Experiment, document: Document, own: Sequence[Report]) -> Iterator[str]:
    for failure in document.failures:
        yield f"line {failure.line}: {failure.reason}"
    if not own and not document.failures:
        others = ", ".join(one.benchmark for one in document.reports)
        yield f"text of {others}; expected one of {experiment.benchmark}"
    for report in own:
        if report.completeness is Completeness.PARTIAL:
            yield "the text is incomplete"
        if report.valid is False:
            yield "failed its own verification"
    yield from _missing(experiment, own)


def _missing(experiment: Experiment, own: Sequence[Report]) -> Iterator[str]:
    """Tell the sizes that were planned and not printed."""
    seen = {one.size_bytes for report in own for one in report.measurements}
    if own and (gone := [size for size in experiment.sizes if size not in seen]):
        yield f"no result for {', '.join(f'{size:,} B' for size in gone[:5])}"
