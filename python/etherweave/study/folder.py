"""A study is one folder; this finds and loads it.

``study.toml``
    title, experiments, metrics, charts and questions that need no code;
``expected.csv``
    every published figure, its source and the bounds within which it counts as reproduced;
``*.toml``
    scenarios;
``study.py``
    what is not declared: ``experiments(full)`` and ``metrics()``;
``report.py``
    sections of the report that are not declared, a function each;
``published.csv``, ``statements.csv``, ``assumptions.csv``
    published values that charts mark, and readings of what the publication leaves open.

All but the first two may be absent. The Python files import each other relatively. Left out:
carrying out, and drawing.
"""

import csv
import hashlib
import importlib
import io
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from types import ModuleType

from etherweave.api.inputs import InputError, read_text
from etherweave.study.declared import (
    FILE,
    BarChart,
    Declaration,
    LineChart,
    Metric,
    QuestionTable,
    read_declaration,
)
from etherweave.study.experiments import StudyExperiment

_HERE = Path(__file__).parents
_ROOTS = (_HERE[3] / "studies", _HERE[2] / "studies")
"""Where studies lie that come with Etherweave: in a checkout, beside an installed package."""
_COLUMNS = {
    "expected.csv": ("id", "source", "published", "low", "high", "unit"),
    "assumptions.csv": ("subject", "open", "reading"),
    "statements.csv": ("number", "section", "statement", "mark", "shown_by"),
    "published.csv": ("figure", "case", "low", "high", "unit", "words"),
}
"""Columns that each table has; others may stand beside them."""
_OPTIONAL = ("tried", "only", "basis", "reference")
"""Columns of ``expected.csv`` that may be missing."""


@dataclass(frozen=True)
class PublishedValue:
    """A published value."""

    low: float | None  # Lower bound; equal to the upper one for a plain value.
    high: float | None  # Upper bound.
    unit: str
    words: str  # Where it stands, and how it is put; for text, the text.

    @property
    def text(self) -> str:
        """Value as a reader writes it."""
        if self.low == self.high and self.low is not None:
            return f"{self.low:,.10g}"
        if self.high is None:
            return f"> {self.low:,.10g}"
        return f"< {self.high:,.10g}" if self.low is None else f"{self.low:g}–{self.high:g}"


@dataclass(frozen=True)
class Study:
    """A study, before anything of it is carried out."""

    home: Path  # Its folder.
    declared: Declaration  # Its ``study.toml``.
    experiments: Callable[[bool], Sequence[StudyExperiment]]
    """Lists the experiments, given whether all that was published is wanted."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # Metrics by the id of their check.

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.home.name

    @property
    def is_shipped(self) -> bool:
        """Whether it comes with Etherweave."""
        return self.home.parent in _ROOTS

    @property
    def sections(self) -> dict[str, BarChart | LineChart | QuestionTable]:
        """Charts and tables of questions, which need no code, by name."""
        charts: list[BarChart | LineChart] = [*self.declared.bars, *self.declared.lines]
        return {section.name: section for section in (*charts, *self.declared.questions)}

    def module(self, name: str) -> ModuleType:
        """Import a Python file of the folder.

        Raises ``ModuleNotFoundError`` when there is none of that name.
        """
        return importlib.import_module(f"{_package(self.home)}.{name}")

    def has_module(self, name: str) -> bool:
        """Whether the folder has such a Python file."""
        return (self.home / f"{name}.py").is_file()

    def expected(self, full: bool = True) -> list[dict[str, str]]:
        """Read what was published, a row for each check.

        ``full`` is whether rows are wanted whose ``only`` is "full": they need experiments that are
        carried out only when all is.
        """
        rows = [dict.fromkeys(_OPTIONAL, "") | row for row in self._rows("expected.csv")]
        return [row for row in rows if full or row["only"] != "full"]

    def assumptions(self) -> list[dict[str, str]]:
        """Read what the publication leaves open: ``subject``, ``open``, ``reading``."""
        return self._rows("assumptions.csv", is_needed=False)

    def statements(self) -> list[dict[str, str]]:
        """Read what the publication says, each statement with what shows it here."""
        return self._rows("statements.csv", is_needed=False)

    def published(self, figure: str) -> Mapping[str, PublishedValue]:
        """Look up what a figure or table of the publication shows, by case."""
        return self._published.get(figure, {})

    @cached_property
    def _published(self) -> dict[str, dict[str, PublishedValue]]:
        figures: dict[str, dict[str, PublishedValue]] = {}
        for row in self._rows("published.csv", is_needed=False):
            low, high = (float(row[bound]) if row[bound] else None for bound in ("low", "high"))
            value = PublishedValue(low, high, row["unit"], row["words"])
            figures.setdefault(row["figure"], {})[row["case"]] = value
        return figures

    def _rows(self, file: str, is_needed: bool = True) -> list[dict[str, str]]:
        path = self.home / file
        if not is_needed and not path.exists():
            return []
        reader = csv.DictReader(io.StringIO(read_text(path), newline=""), restval="")
        try:
            rows = [dict(row) for row in reader]
        except csv.Error as error:
            raise InputError(path, f"{error}; expected CSV") from None
        if missing := [name for name in _COLUMNS[file] if name not in (reader.fieldnames or ())]:
            expected = ", ".join(_COLUMNS[file])
            raise InputError(path, f"no column {missing[0]}; expected {expected}")
        for line, row in enumerate(rows, start=2):
            if None in row:
                raise InputError(path, f"line {line}: more cells than columns")
            for name in {"published", "low", "high", "reference"} & set(row):
                if row[name] and not _is_number(row[name]):
                    wrong = f"line {line}: {name} {row[name]!r}: expected a number"
                    raise InputError(path, wrong)
        return rows


def shipped() -> dict[str, Path]:
    """Find the studies that come with Etherweave, by name."""
    folders = [file.parent for root in _ROOTS for file in sorted(root.glob(f"*/{FILE}"))]
    return {folder.name: folder for folder in reversed(folders)}


def load_study(name: str | Path) -> Study:
    """Load a study that comes with Etherweave, by name, or a folder, by its path.

    A path is a :class:`pathlib.Path`, or a text with a separator, such as ``./my-study``. Python
    files of the folder are executed. Raises ``KeyError``, which names the studies, when there is
    none of that name; ``ValueError`` when a file of the folder is wrong; ``OSError`` when one
    cannot be read.
    """
    if isinstance(name, Path) or re.search(r"[/\\]|^\.", name):
        return _loaded(Path(name).resolve())
    known = shipped()
    if name not in known:
        folder = f"; a folder is given by its path, ./{name}" if Path(name).is_dir() else ""
        raise KeyError(f"no study {name!r}; known: {', '.join(sorted(known))}{folder}")
    return _loaded(known[name])


def _loaded(home: Path) -> Study:
    if not (home / FILE).is_file():
        raise ValueError(f"{home}: no {FILE}; expected the folder of a study")
    declared = read_declaration(home / FILE)
    study = Study(home, declared, declared.experiments, declared.metrics())
    if study.has_module("study"):
        code = study.module("study")
        study = Study(
            home,
            declared,
            lambda full: [*declared.experiments(full), *code.experiments(full)],
            {**study.metrics, **code.metrics()},
        )
    _check(study)
    return study


def _check(study: Study) -> None:
    """Reject rows without a metric, figures of another basis, and questions without a check."""
    _check_questions(study)
    file = study.home / "expected.csv"
    for line, row in enumerate(study.expected(), start=2):
        if row["id"] not in study.metrics:
            raise ValueError(f"{file}: line {line}: no metric of {row['id']!r}")
        if row["basis"] and row["published"]:
            raise ValueError(
                f"{file}: line {line}: published {row['published']} on the basis of "
                f"{row['basis']!r}; expected the figure in the column reference"
            )
        if row["reference"] and not row["basis"]:
            raise ValueError(
                f"{file}: line {line}: reference {row['reference']} without a basis; expected "
                "where it comes from"
            )


def _check_questions(study: Study) -> None:
    """Reject checks of questions that ``expected.csv`` does not have."""
    known = [row["id"] for row in study.expected()]
    for table in study.declared.questions:
        for question in table.question:
            where = f"{study.home / FILE}: questions {table.name}: {question.text}"
            own = {
                form: [check for check in known if fnmatchcase(check, form)]
                for form in question.checks
            }
            for form in [form for form, ids in own.items() if not ids]:
                raise ValueError(f"{where}: checks: {form}: no such id in expected.csv")
            ids = {name for matching in own.values() for name in matching}
            for name in [name for name in question.figures if name not in ids]:
                raise ValueError(f"{where}: figures: {name}: expected an id of its checks")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _package(home: Path) -> str:
    """Name the package that the Python files of a folder are modules of; makes it once."""
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:8]
    name = "_".join(("etherweave_study", re.sub(r"\W", "_", home.name), digest))
    if name not in sys.modules:
        package = ModuleType(name, f"The study of {home}.")
        package.__path__ = [str(home)]
        sys.modules[name] = package
    return name
