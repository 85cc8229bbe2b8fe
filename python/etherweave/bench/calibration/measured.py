"""Measured workloads: times of launches, each with the scenario that predicts them."""

import csv
import io
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tomllib import loads
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from etherweave.api.inputs import read_parquet, read_text
from etherweave.api.results import SUMMARY, Result
from etherweave.bench.calibration.micro_benchmarks import Average, Centre, ChallengeTest, seconds
from etherweave.bench.calibration.prediction import median_s, table
from etherweave.bench.campaigns.store import Store
from etherweave.bench.texts.document import UnrecognisedError, parse
from etherweave.measurements.benchmark_report import NO_ROW, BenchmarkReport
from etherweave.measurements.challenge import workloads
from etherweave.measurements.files import RESULTS

MICRO = {"osu_latency", "osu_bw", "incast"}
"""Workloads that unknowns are inferred from; all others are held out."""
_ROUND_TRIPS, _WINDOWS = 200, 10
"""Iterations that are simulated for a size that a benchmark measured; they are all equal."""
_UNTITLED = "osu"  # Program of a text of OSU without the line that names the test.
_WINDOW = 64  # Default window of ``osu_bw``.
TIMES = ("job", "iteration_s")
"""Columns of a file with times of jobs: a name, and the time of an iteration of a launch [s]."""
_PROGRAMS = ("osu_latency", "osu_bw", "hpcc")  # Programs whose output is read.
_KNOWN = "osu_latency, osu_bw or hpcc"
_FIGURES = {"program": pl.Utf8, "metric": pl.Utf8, "size_bytes": pl.Int64, "value": pl.Float64}
"""Columns of figures of benchmarks, each in the base unit of its metric."""


Warn: TypeAlias = Callable[[str], object]  # Takes a sentence for the reader.


class CalibrationError(ValueError):
    """A calibration is impossible; the message says why, and what is expected."""


class MeasuredWorkload(NamedTuple):
    """A workload on real hosts, launched several times."""

    name: str
    scenario: Mapping[str, object]  # Scenario with this workload as its only job.
    launches: tuple[float, ...]  # Times of an iteration, or of all streams together [s].
    medians: tuple[float, ...]
    """Median iteration of each launch; for streams the same as ``launches`` [s]."""
    centre: Centre
    """Average over iterations; for applications the mean, since their whole time counts."""
    hosts: tuple[str, ...] = ()  # Real hosts that took part; empty where they are not known.

    @property
    def test(self) -> str:
        """Key of its workload in a scenario, or a test of the HPC Challenge."""
        if isinstance(self.centre, ChallengeTest):
            return self.centre.test
        jobs: Any = self.scenario["job"]
        return str(next(iter(jobs[0]["workload"])))

    @property
    def is_micro_benchmark(self) -> bool:
        """Whether unknowns may be inferred from it."""
        if isinstance(self.centre, ChallengeTest):
            return self.centre.is_fitted
        return is_micro_benchmark(self.scenario)


def is_micro_benchmark(scenario: Mapping[str, object]) -> bool:
    """Return whether a scenario's only job is a micro-benchmark."""
    jobs: Any = scenario["job"]
    (job,) = jobs
    return bool(set(job["workload"]) & MICRO)


def alone(scenario: Mapping[str, object], job: Mapping[str, object]) -> dict[str, object]:
    """Return a scenario with a single job, which ends the run and is not in the background."""
    rest = {key: value for key, value in scenario.items() if key not in ("job", "run")}
    run = dict(scenario.get("run", {}))  # type: ignore[call-overload]
    ends = {key: value for key, value in run.items() if key not in ("end", "warm_up")}
    own = {key: value for key, value in job.items() if key != "background"}
    return {**rest, **({"run": ends} if ends else {}), "job": [own]}


def beside(
    scenario: Mapping[str, object], name: str, workload: Mapping[str, object]
) -> dict[str, object]:
    """Return a scenario with another workload as its only job, on the priority of the first job.

    The treatment of packets by a fabric, above all flow control, depends on their priority.
    """
    jobs: Any = scenario.get("job", [{}])
    priority = {key: jobs[0][key] for key in ("priority",) if key in jobs[0]}
    return alone(scenario, {"name": name, "workload": workload, **priority})


def of_results(
    name: str, scenario: Mapping[str, object], results: Sequence[Result]
) -> MeasuredWorkload:
    """Take the times of results of ``measure``.

    ``results`` are of one or several launches each of the scenario's one job. Raises
    ``CalibrationError`` when a result has no launch, or a time that is not positive.
    """
    launches, medians = [], []
    hosts = dict[str, None]()
    centre: Average = "midmean" if is_micro_benchmark(scenario) else "mean"
    for result in results:
        iterations, streams = table(result, "iterations"), table(result, "streams")
        hosts |= dict.fromkeys([*_hosts(iterations), *_hosts(streams)])
        for number in _launches(iterations, streams):
            own = [_of_launch(iteration, number) for iteration in (iterations, streams)]
            launches.append(_seconds(name, own[0], own[1], centre))
            medians.append(launches[-1] if own[0].is_empty() else median_s(own[0]))
    _check(name, [*launches, *medians])
    return MeasuredWorkload(name, scenario, tuple(launches), tuple(medians), centre, tuple(hosts))


def _hosts(frame: pl.DataFrame) -> list[str]:
    names = [name for name in ("host", "source_host", "destination_host") if name in frame.columns]
    return sorted({host for name in names for host in frame[name]})


def _check(name: str, times: Sequence[float]) -> None:
    """Reject times without a logarithm."""
    if not times:
        raise CalibrationError(f"{name}: no launches; expected at least one")
    for time in times:
        if not (math.isfinite(time) and time > 0):
            raise CalibrationError(f"{name}: a launch of {time:g} s; expected more than 0 s")


def _launches(*tables: pl.DataFrame) -> list[int]:
    numbers = (rows["launch"] for rows in tables if "launch" in rows.columns)
    return sorted({int(number) for column in numbers for number in column})


def _of_launch(frame: pl.DataFrame, number: int) -> pl.DataFrame:
    return frame.filter(pl.col("launch") == number) if "launch" in frame.columns else frame


def _seconds(name: str, iterations: pl.DataFrame, streams: pl.DataFrame, centre: Average) -> float:
    try:
        return seconds(iterations, streams, centre)
    except ValueError as error:
        raise CalibrationError(f"{name}: {error}") from None


def read(
    place: Path, base: Mapping[str, object], warn: Warn = lambda warning: None
) -> list[MeasuredWorkload]:
    """Read earlier measurements: a directory of ``measure`` or of ``bench run``, or a file.

    A file is what benchmarks have printed, or a table of times of jobs. ``base`` is a scenario of
    the fabric, for what has none. ``warn`` is called with a sentence about programs that are left
    out. Raises ``CalibrationError`` when it contains nothing that can be predicted.
    """
    with _intact(place):
        if place.is_file() and place.suffix.lower() == ".csv":
            return _of_table(place, base)
        if place.is_file() or (place / RESULTS).is_file():
            read_figures = _of_text if place.is_file() else _of_benchmarks
            return read_figures(place, base, lambda warning: warn(f"{place}: {warning}"))
        if (place / SUMMARY).is_file():
            return [_of_measurement(place)]
    missing = "" if place.exists() else "no such file or directory; "
    raise CalibrationError(
        f"{place}: {missing}expected a result of `measure` or of `bench run`, or a file"
    )


def _of_table(file: Path, base: Mapping[str, Any]) -> list[MeasuredWorkload]:
    """Read times of an iteration of jobs of the scenario: a row a launch."""
    rows = csv.DictReader(io.StringIO(read_text(file).removeprefix("\ufeff")))
    if (columns := rows.fieldnames or []) != [*TIMES]:
        names = ", ".join(columns) or "none"
        raise CalibrationError(f"line 1: columns: {names}; expected {', '.join(TIMES)}")
    jobs = {str(job["name"]): job for job in base.get("job", [])}
    times = dict[str, list[float]]()
    for row in rows:
        if None in row or None in row.values():
            cells = len(TIMES) - list(row.values()).count(None) + len(row.get(None, ()))
            raise CalibrationError(f"line {rows.line_num}: {cells} cells; expected {len(TIMES)}")
        name, time = (row[column].strip() for column in TIMES)
        if name not in jobs:
            known = ", ".join(jobs)
            raise CalibrationError(f"line {rows.line_num}: job {name}; expected one of {known}")
        try:
            times.setdefault(name, []).append(float(time))
        except ValueError:
            reason = f"line {rows.line_num}: {time or 'no time'}; expected a number of seconds"
            raise CalibrationError(reason) from None
    if not times:
        raise CalibrationError("no rows; expected one for each launch of a job")
    for name, own in times.items():
        _check(name, own)
    return [
        MeasuredWorkload(name, alone(base, jobs[name]), tuple(own), tuple(own), "mean")
        for name, own in times.items()
    ]


def _of_text(file: Path, base: Mapping[str, object], warn: Warn) -> list[MeasuredWorkload]:
    """Read what OSU's tests or the HPC Challenge have printed, of one launch or several."""
    try:
        document = parse(read_text(file))
    except UnrecognisedError as error:
        expected = (
            "expected output of osu_latency or osu_bw, with its line `# OSU MPI ...`, or of hpcc, "
            "or a table in a file that ends in .csv"
        )
        raise CalibrationError(f"{error}; {expected}") from None
    if document.failures:
        line, reason = document.failures[0].line, document.failures[0].reason
        raise CalibrationError(f"line {line}: {reason}")
    reports = document.reports
    for own in reports:
        if own.program == _UNTITLED or not own.has_sound_rows:
            others = (text for text in own.warnings if not text.startswith(NO_ROW))
            reason = next(others, "its own check failed")
            raise CalibrationError(f"line {own.line}: {own.program} is not complete: {reason}")
        if device := dict(own.facts).get("device"):
            raise CalibrationError(
                f"line {own.line}: {own.program} of memory of {device}; expected memory of hosts"
            )
    rows = [
        {
            "program": report.program,
            "metric": row.metric.name,
            "size_bytes": row.size_bytes,
            "value": row.value,
        }
        for report in reports
        for row in report.measurements
        if row.statistic == "mean"
    ]
    return _of_figures(pl.DataFrame(rows, schema=_FIGURES), reports, base, warn)


def _of_measurement(directory: Path) -> MeasuredWorkload:
    result = Result.load(directory)
    if not result.summary.get("measured"):
        raise CalibrationError("was simulated; expected a result of `measure`")
    scenario: dict[str, Any] = loads(result.resolved)
    if len(jobs := scenario["job"]) != 1:
        raise CalibrationError(f"has {len(jobs)} jobs; expected one")
    return of_results(str(jobs[0]["name"]), scenario, [result])


def loaded(directory: Path) -> Result:
    """Load a result of ``measure``.

    Raises ``CalibrationError`` when it is broken, or of another version.
    """
    with _intact(directory):
        return Result.load(directory)


@contextmanager
def _intact(directory: Path) -> Iterator[None]:
    """Name the directory in every error of reading it."""
    try:
        yield
    except CalibrationError as error:
        raise CalibrationError(_of(directory, error)) from None
    except KeyError as error:
        raise CalibrationError(f"{directory}: no {error}; expected a whole result") from None
    except (ValueError, TypeError, AttributeError, csv.Error, pl.exceptions.PolarsError) as error:
        what = textwrap.shorten(str(error), 160, placeholder=" …")
        raise CalibrationError(_of(directory, f"{what}; expected a whole result")) from None


def _of(directory: Path, what: object) -> str:
    """Begin a message with the directory, unless it does already."""
    return str(what) if str(what).startswith(str(directory)) else f"{directory}: {what}"


def _of_benchmarks(
    directory: Path, base: Mapping[str, object], warn: Warn
) -> list[MeasuredWorkload]:
    rows = pl.DataFrame(read_parquet(directory / "measurements.parquet")).filter(
        pl.col("is_valid") & ~pl.col("is_warm_up") & (pl.col("statistic") == "mean")
    )
    if (fabrics := rows["fabric"].n_unique()) > 1:
        raise CalibrationError(f"has {fabrics} fabrics; expected one")
    values = [name for name in ("value_s", "value_bytes_per_s") if name in rows.columns]
    figures = rows.with_columns(value=pl.coalesce([*values, pl.lit(None, pl.Float64)]))
    reports = [*_reports(directory)] if "hpcc" in rows["program"] else []
    hosts = _hosts_of_rows(rows)
    workloads_of_all = _of_figures(figures, reports, base, warn)
    return [workload._replace(hosts=hosts) for workload in workloads_of_all]


def _of_figures(
    rows: pl.DataFrame, reports: Sequence[BenchmarkReport], base: Mapping[str, object], warn: Warn
) -> list[MeasuredWorkload]:
    """Take means of OSU's tests from rows, and those of the HPC Challenge from reports."""
    challenge = [report for report in reports if report.benchmark == "hpcc"]
    benchmarks = [*_ping_pongs(rows, base), *_bandwidths(rows, base), *_challenge(challenge, base)]
    left_out = ", ".join(sorted(set(rows["program"]) - {*_PROGRAMS}))
    if not benchmarks:
        raise CalibrationError(f"has {left_out or 'no rows'}; expected {_KNOWN}")
    if left_out:
        warn(f"left out: {left_out}; expected {_KNOWN}")
    return benchmarks


def _hosts_of_rows(rows: pl.DataFrame) -> tuple[str, ...]:
    """List the hosts of benchmarks, whose names stand in one word with commas."""
    words = rows["hosts"].drop_nulls().to_list() if "hosts" in rows.columns else []
    return tuple(sorted({host for word in words for host in word.split(",")}))


_MICRO = ("hpcc_ring", "osu_latency")
"""Kinds of workloads that stand for the tests of latency and bandwidth."""


def _challenge(
    reports: Sequence[BenchmarkReport], base: Mapping[str, object]
) -> Iterator[MeasuredWorkload]:
    """Take the HPC Challenge: rings and ping-pong to infer from, all other tests held out.

    What ranks compute and copy is as the first launch says.
    """
    if len({_challenge_of(report) for report in reports}) > 1:
        raise CalibrationError("has several problems of hpcc; expected launches of one")
    for own in workloads(dict(reports[0].facts)) if reports else ():
        name = f"{own.test} {own.metric.name}".replace("_", " ")
        times = [
            own.seconds(measurement.value)
            for report in reports
            for measurement in report.measurements
            if (measurement.metric, measurement.statistic) == (own.metric, "mean")
            and ("test", own.test) in measurement.labels
        ]
        if times:
            _check(name, times)
            centre = ChallengeTest(own.test, is_fitted=own.kind in _MICRO)
            scenario = beside(base, own.kind, {own.kind: own.facts})
            yield MeasuredWorkload(name, scenario, tuple(times), tuple(times), centre)


def _challenge_of(report: BenchmarkReport) -> tuple[str | None, ...]:
    """Return the number of ranks and the sizes, which all launches of a challenge share."""
    facts = dict(report.facts)
    return tuple(facts.get(name) for name in ("CommWorldProcs", "HPL_N", "PTRANS_n"))


def _reports(directory: Path) -> Iterator[BenchmarkReport]:
    """Read the sound texts of launches that count."""
    for record in Store.open(directory).records():
        if record.ending == "done" and not record.is_warm_up:
            yield from (report for report in parse(record.text).reports if report.is_sound)


def _ping_pongs(rows: pl.DataFrame, base: Mapping[str, object]) -> Iterator[MeasuredWorkload]:
    """Take one-way times of ``osu_latency``: an iteration is a round trip."""
    for size, values in _by_size(rows, "osu_latency", "latency"):
        facts = {"bytes": f"{size}B", "iterations": _ROUND_TRIPS}
        times = [2 * value for value in values]
        yield _of_benchmark("osu_latency", size, {"osu_latency": facts}, times, base)


def _bandwidths(rows: pl.DataFrame, base: Mapping[str, object]) -> Iterator[MeasuredWorkload]:
    """Take rates of ``osu_bw``: an iteration is a window."""
    for size, values in _by_size(rows, "osu_bw", "bandwidth"):
        facts = {"bytes": f"{size}B", "iterations": _WINDOWS, "window": _WINDOW}
        times = [_WINDOW * size / value if value else math.nan for value in values]
        yield _of_benchmark("osu_bw", size, {"osu_bw": facts}, times, base)


def _by_size(rows: pl.DataFrame, program: str, metric: str) -> Iterator[tuple[int, list[float]]]:
    own = rows.filter(
        (pl.col("program") == program) & (pl.col("metric") == metric) & (pl.col("size_bytes") > 0)
    )
    for (size,), group in own.sort("size_bytes").group_by("size_bytes", maintain_order=True):
        yield int(size), group["value"].drop_nulls().to_list()


def _of_benchmark(
    program: str,
    size: int,
    workload: Mapping[str, object],
    times: Sequence[float],
    base: Mapping[str, object],
) -> MeasuredWorkload:
    scenario = beside(base, program, workload)
    _check(f"{program} of {size} B", times)
    return MeasuredWorkload(f"{program}-{size}", scenario, tuple(times), tuple(times), "mean")
