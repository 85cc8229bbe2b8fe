"""The verb ``uncertainty``."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes, notice, print_warnings
from etherweave.cli.parameters import FIGURES, AsJson, File, Settings, Uncertain, drawing, overrides
from etherweave.cli.sampled import error_facts
from etherweave.cli.verbs import nested

if TYPE_CHECKING:
    from etherweave.study import StudyResult
    from etherweave.uncertainty import CheckInterval, ModelError
    from etherweave.uncertainty.coverage import Coverage, KindCoverage, Predicted
    from etherweave.uncertainty.intervals import Interval
    from etherweave.uncertainty.model_errors import Effect

uncertainty = nested(
    "Print how far documents differ in the same figure, and the error of the model."
)


@uncertainty.command("spreads")
def spreads_verb(as_json: AsJson = False) -> None:
    """Print how far documents differ in the same figure.

    Documents are the profiles of interconnects, and published figures of osu_latency and osu_bw. A
    spread is a standard deviation of natural logarithms; the factor is that by which nine of ten
    values are at most off.
    """
    from etherweave.uncertainty import spreads

    entries = spreads()
    if as_json:
        return print(json.dumps([asdict(spread) for spread in entries], indent=2))
    rows = [
        (row.figure, str(row.documents), f"{row.sigma:.3f}", f"{row.factor:.2f}", row.values)
        for row in entries
    ]
    return print_table(("figure", ">documents", ">spread", ">factor", "values"), rows)


@uncertainty.command("figures")
def figures_verb(
    file: File, settings: Settings = None, uncertain: Uncertain = None, as_json: AsJson = False
) -> None:
    """Print what `etherweave run --samples` draws of a scenario, and from what."""
    from etherweave import ScenarioError
    from etherweave.api.scenario import read
    from etherweave.uncertainty import UncertaintyError, declared, unknowns
    from etherweave.uncertainty.sampling import without_basis

    with mistakes(ScenarioError, UncertaintyError):
        text, origin = read(file)
        own = declared(uncertain or ())
        drawn = unknowns(text, origin, overrides(settings), own, has_site=True)
    if as_json:
        fixed = [unknown["key"] for unknown in drawn.fixed]
        facts = {
            "unknowns": [asdict(entry) for entry in drawn.entries],
            "fixed": fixed,
            "without_basis": list(drawn.without_basis),
            "no_basis": list(drawn.no_basis),
        }
        return print(json.dumps(facts, indent=2))
    rows = [(row.name, row.basis, f"{row.low} to {row.high}", row.about) for row in drawn.entries]
    print_table(("unknown", "basis", "99 %", "from"), rows)
    if drawn.fixed:
        print(f"  not drawn: {', '.join(unknown['key'] for unknown in drawn.fixed)}")
    if drawn.no_basis:
        print(f"  not drawn, without a basis: {', '.join(drawn.no_basis)}")
    return print_warnings(without_basis(drawn.without_basis), set())


@uncertainty.command("errors")
def errors_verb(as_json: AsJson = False) -> None:
    """Print the error of the model by kind of figures: measured over simulated times.

    It is estimated from check rows of studies to which nothing is fitted. An interval is that in
    which a row of a further system lies, under the conditions of the rows of its kind; covered is
    the part of rows that lie in what all other systems say, as a mean over systems. Then what each
    condition does to the width: sizes are those of messages; *benchmark fitted* are figures of a
    benchmark of which another figure of the same system is fitted; *by the link* those for which a
    link is busy for 90 % of the simulated time or more.

    Rows of benchmarks of which others are fitted on the same system are among them; `etherweave
    run --samples` prints the error of benchmarks of which none is.
    """
    from etherweave.uncertainty.check_rows import check_rows
    from etherweave.uncertainty.model_errors import Estimate, model_errors

    errors, effects = model_errors(), Estimate(check_rows()).effects()
    if as_json:
        kinds, parts = [*map(error_facts, errors)], [asdict(effect) for effect in effects]
        return print(json.dumps({"kinds": kinds, "effects": parts}, indent=2))
    print_table(("kind", ">rows", ">systems", ">50 %", ">90 %", ">covered"), map(_row, errors))
    print()
    return print_table(
        ("condition", ">rows", ">systems", ">factor on the width", ">90 %"), map(_effect, effects)
    )


@uncertainty.command("forms")
def forms_verb(as_json: AsJson = False) -> None:
    """Print how well forms of the error of the model predict the rows of systems left out.

    The score is the continuous ranked probability score of the logarithm of the measured over the
    simulated time, as a mean over all check rows: the smaller, the better.
    """
    from etherweave.uncertainty.model_errors import FORMS, form_score

    scores = {name: form_score(form) for name, form in FORMS.items()}
    if as_json:
        return print(json.dumps(scores, indent=2))
    rows = [(name, f"{score:.4f}") for name, score in scores.items()]
    return print_table(("form", ">score"), rows)


Directories = Annotated[
    list[Path], typer.Argument(metavar="DIRECTORY...", help="Results of studies, complete ones.")
]
OptionalDirectories = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[DIRECTORY...]", help="Results of studies, complete."),
]


@uncertainty.command("rows")
def rows_verb(directories: Directories) -> None:
    """Print the check rows of results of studies that measure the error of the model, as CSV.

    `python/etherweave/uncertainty/check_rows.csv` is what it prints for all studies that come with
    Etherweave, with samples. Rows that repeat another count once.
    """
    from etherweave.uncertainty.check_rows import row_of, write

    with mistakes(ValueError):
        rows = [
            row_of(result.study.name, check, values.get(check.id, ()))
            for result, values in map(_sampled, directories)
            for check in result.checks
            if not check.is_repeat
        ]
    print(write(row for row in rows if row), end="")


@uncertainty.command("coverage")
def coverage_verb(
    directories: OptionalDirectories = None, *, figure: Path | None = None, as_json: AsJson = False
) -> None:
    """Print how often intervals of 90 % have the published figures of studies, by kind of metric.

    Without results of studies, of the check rows that come with Etherweave.
    Studies have samples by `etherweave study NAME --samples N`. The error of the model comes from
    the rows of all other systems that come with Etherweave, as there. Scores (CRPS) and distances
    of medians are shares of the published figures: the smaller, the better.

    Parameters
    ----------
    figure : FILE
        Draw how often central intervals have published figures: SVG, PDF or PNG by its name.
    """
    from etherweave.uncertainty import check_intervals, coverage
    from etherweave.uncertainty.coverage import row_intervals

    path = drawing("--figure", figure, *FIGURES)
    with mistakes(ValueError):
        results = list(map(_sampled, directories or ()))
        _check_studies([result.study.name for result, _ in results])
    for result, values in results:
        if not values:
            drawn = f"`etherweave study {result.study.name} --samples N` draws them"
            notice(f"{result.study.name}: no samples, so that parameters widen nothing; {drawn}")
    rows = (
        row_intervals()
        if not directories
        else [
            row
            for result, values in results
            for row in check_intervals(result.study.name, result.checks, values)
        ]
    )
    if path:
        from etherweave.report.reliability import draw

        draw(rows, path)
    if as_json:
        summary = [_kind_facts(kind) for kind in coverage(rows)]
        checks = [{"study": row.study, "id": row.check.id, **interval_facts(row)} for row in rows]
        return print(json.dumps({"kinds": summary, "checks": checks}, indent=2))
    return print_coverage(rows)


def _check_studies(names: Sequence[str]) -> None:
    """Refuse results of one study twice, whose rows would count twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]}: results of this study twice; expected each study once")


def _sampled(directory: Path) -> "tuple[StudyResult, Mapping[str, Sequence[float]]]":
    """Read the results of a study, and its figures in samples, if it has any."""
    from etherweave.study import load_study_result
    from etherweave.uncertainty import load_sampled

    sampled = load_sampled(directory)
    return load_study_result(directory), sampled.values if sampled else {}


INTERVAL_HEAD = (
    "check",
    ">published",
    ">simulated",
    ">by parameters",
    ">with the model's error",
    ">width",
    "",
)


def interval_row(row: "CheckInterval") -> tuple[str, ...]:
    """Write a check with its intervals."""
    check = row.check
    published = "" if check.published is None else f"{check.published:g} {check.unit}"
    together = _span(row.together) if row.model else "not known"
    inside = "inside" if row.together.is_inside else "outside"
    return check.id, published, check.text, _span(row.parameters), together, *_ends_of(row), inside


def _ends_of(interval: "CheckInterval") -> tuple[str]:
    return (f"{interval.together.width:.0%}" if math.isfinite(interval.together.width) else "–",)


def _span(predicted: "Predicted") -> str:
    return f"{predicted.interval.low:.4g} to {predicted.interval.high:.4g}"


def interval_facts(row: "CheckInterval") -> dict[str, Any]:
    """Return the intervals of a check as JSON has them."""
    known = {"parameters": row.parameters, "model": row.model, "together": row.together}
    facts = {name: of and _predicted(of) for name, of in known.items()}
    return {"kind": row.kind, "system": row.system or None, "intervals_90": facts}


def _predicted(predicted: "Predicted") -> dict[str, Any]:
    return {
        "interval": list(predicted.interval),
        "is_inside": predicted.is_inside,
        "width": _finite(predicted.width),
        "crps": _finite(predicted.score),
        "place": _finite(predicted.place),
    }


def print_coverage(rows: "Sequence[CheckInterval]") -> None:
    """Print the coverage of checks by kind."""
    from etherweave.uncertainty import coverage

    head = ("kind", ">rows", ">systems", ">by parameters", ">width", ">CRPS")
    more = (">by the model", ">width", ">CRPS", ">together", ">width", ">CRPS", ">distance")
    print_table((*head, *more), map(_coverage_row, coverage(rows)))


def _coverage_row(row: "KindCoverage") -> tuple[str, ...]:
    parts = [text for of in (row.parameters, row.model, row.together) for text in _coverage(of)]
    return row.kind, str(row.rows), str(row.systems), *parts, _share(row.distance)


def _kind_facts(row: "KindCoverage") -> dict[str, Any]:
    parts = {"parameters": row.parameters, "model": row.model, "together": row.together}
    figures = {
        name: {"covered": of.covered, "width": _finite(of.width), "crps": _finite(of.score)}
        for name, of in parts.items()
    }
    counts = {"kind": row.kind, "rows": row.rows, "systems": row.systems}
    return {**counts, **figures, "distance": _finite(row.distance)}


def _coverage(coverage: "Coverage") -> tuple[str, str, str]:
    return f"{coverage.covered:.0%}", _share(coverage.width), _share(coverage.score)


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else "–"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _row(error: "ModelError") -> tuple[str, ...]:
    covered = "–" if error.covered is None else f"{error.covered:.0%}"
    counts = (str(error.rows), str(len(error.systems)))
    return (error.kind, *counts, _ends(error.half), _ends(error.most), covered)


def _effect(effect: "Effect") -> tuple[str, ...]:
    counts = (str(effect.rows), str(effect.systems))
    return (effect.condition, *counts, f"{effect.factor:.2f}", _ends(effect.interval))


def _ends(ends: "Interval") -> str:
    return f"{ends.low:.2f} to {ends.high:.2f}"
