"""Infer unknowns of hosts from micro-benchmarks, and compare predictions of other workloads."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from tomllib import loads
from typing import Any, TypeAlias

import numpy as np
import polars as pl

import etherweave
from etherweave.api.units import size_of
from etherweave.bench.calibration.identifiability import Direction, directions, partners, scores
from etherweave.bench.calibration.inference import DEGREES, WAVES_MAX, Posterior, Target, infer
from etherweave.bench.calibration.key_draws import KeyDraws, key_draws, unknowns_file
from etherweave.bench.calibration.measured import MICRO, CalibrationError, MeasuredWorkload
from etherweave.bench.calibration.plausible import (
    check_hosts,
    check_predictions,
    check_prior,
    check_rates,
)
from etherweave.bench.calibration.prediction import median_s, simulated, table
from etherweave.bench.calibration.prior import Array, Prior
from etherweave.bench.calibration.simulations import log_times
from etherweave.bench.statistics.quantiles import median, median_interval

Progress: TypeAlias = Callable[[str, float | None], object]
"""Takes a step, and the share of it that is done, if it is known."""
SIZE_TESTS = ("osu_latency", "osu_bw")  # Workloads that are drawn against the size of a message.
SHARES = tuple(at / 20 for at in range(21))
"""Shares of iterations for quantiles, from the shortest to the longest; of draws likewise."""
BENCHMARKS_MIN = 3  # Fewest micro-benchmarks.
ENDS = (0.05, 0.95)  # Quantiles at the ends of an interval.
NARROW = 0.5  # Part of the prior's interval, up to which that of the posterior makes a key known.
SIMULATED = 32  # Draws at which every workload is simulated.
EFFECTIVE_MIN = 300  # Independent draws from which the ends of intervals are known.


@dataclass(frozen=True)
class CalibratedConstant:
    """A key whose value is inferred, with intervals of 90 % of prior and posterior."""

    key: str
    meaning: str  # Source of the prior.
    unit: str  # ``s``, ``B/s`` or ``B``; empty of bare numbers.
    before: float | None  # Value of the scenario.
    prior_low: float
    prior_high: float
    value: float  # Value of the draw in the middle of the posterior.
    low: float
    high: float
    width: float  # Part of the prior between the ends, 1 where nothing was learnt.
    is_determined: bool  # Whether the measurements determine it by itself.
    together_with: tuple[str, ...] = ()
    """Unknowns that the measurements do not distinguish from it, if that is all they say."""

    @property
    def is_inferred(self) -> bool:
        """Whether the measurements say anything about it, alone or with others."""
        return self.is_determined or bool(self.together_with)


@dataclass(frozen=True)
class CalibratedChoice:
    """A key with a few values, whose weights are inferred."""

    key: str
    meaning: str
    values: tuple[str, ...]
    prior: tuple[float, ...]
    posterior: tuple[float, ...]


@dataclass(frozen=True)
class ComparedWorkload:
    """A workload, measured and predicted: times of an iteration, or of all streams together."""

    name: str
    is_held_out: bool  # Whether nothing was inferred from it.
    launches: int
    measured_s: float  # Median of the launches [s].
    measured_low_s: float  # Its 95 % interval [s]; the extremes if there are few launches.
    measured_high_s: float
    predicted_s: float
    predicted_low_s: float  # Its 90 % interval, by the posterior and the misfit of the model [s].
    predicted_high_s: float
    measured_median_s: float  # Median of the launches' median iterations [s].
    predicted_median_s: float
    launches_s: tuple[float, ...] = ()  # Time of each launch [s].
    predicted_iterations_s: tuple[float, ...] = ()
    """Quantiles of the iterations of a held-out workload at :data:`SHARES` [s]."""
    test: str = ""  # Key of the workload in a scenario, or test of the HPC Challenge.
    size_bytes: int | None = None
    """Size of a message, if the workload is one of :data:`SIZE_TESTS` [bytes]."""
    window: int = 1  # Messages of an iteration of ``osu_bw``.

    @property
    def error(self) -> float:
        """Relative error of an iteration: 0.1 is a prediction that is 10 % too long."""
        return self.predicted_s / self.measured_s - 1

    @property
    def error_of_median(self) -> float:
        """Relative error of the median iteration."""
        return self.predicted_median_s / self.measured_median_s - 1

    @property
    def is_covered(self) -> bool:
        """Whether the interval of the prediction has what was measured."""
        return self.predicted_low_s <= self.measured_s <= self.predicted_high_s

    @property
    def width(self) -> float:
        """Width of the interval of the prediction over what was measured."""
        return (self.predicted_high_s - self.predicted_low_s) / self.measured_s

    def facts(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {
            **vars(self),
            "error": self.error,
            "error_of_median": self.error_of_median,
            "is_covered": self.is_covered,
        }


@dataclass(frozen=True)
class Calibration:
    """A posterior, and workloads compared with their predictions."""

    constants: tuple[CalibratedConstant, ...]
    micro_benchmarks: tuple[ComparedWorkload, ...]
    held_out: tuple[ComparedWorkload, ...]
    choices: tuple[CalibratedChoice, ...] = ()
    directions: tuple[Direction, ...] = ()
    """Principal directions of the posterior, the best known first."""
    misfit: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Quantiles at 5, 50 and 95 % of the misfit of the model, as a part of a time."""
    simulations: int = 0  # Points at which micro-benchmarks were simulated.
    effective: float = 0.0  # Independent draws that the posterior's are worth.
    emulator_error: float = 0.0
    """Largest error of the emulator, over that of measurement and model."""
    warnings: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    """All keys at the draw in the middle of the posterior; none if nothing was learnt of any."""
    posterior: Mapping[str, Any] = field(default_factory=dict)
    """Distributions of all keys and their correlations, as ``--uncertain`` reads them."""

    @property
    def typical_error(self) -> float | None:
        """Median of the held-out workloads' absolute errors of their median iterations."""
        errors = [abs(prediction.error_of_median) for prediction in self.held_out]
        return median(errors) if errors else None

    @property
    def typical_error_of_mean(self) -> float | None:
        """Median of the held-out workloads' absolute errors of their mean iterations."""
        errors = [abs(prediction.error) for prediction in self.held_out]
        return median(errors) if errors else None

    @property
    def worst_error(self) -> float | None:
        """Largest absolute error of a held-out workload, of its mean or median iteration."""
        errors = [max(abs(row.error), abs(row.error_of_median)) for row in self.held_out]
        return max(errors, default=None)

    @property
    def covered(self) -> int:
        """Number of held-out workloads whose interval has what was measured."""
        return sum(prediction.is_covered for prediction in self.held_out)

    def facts(self) -> dict[str, Any]:
        """Return it as values of JSON; names end with the unit."""
        return {
            "constants": [vars(constant) for constant in self.constants],
            "choices": [vars(choice) for choice in self.choices],
            "directions": [direction._asdict() for direction in self.directions],
            "misfit": list(self.misfit),
            "simulations": self.simulations,
            "effective": self.effective,
            "emulator_error": self.emulator_error,
            "warnings": list(self.warnings),
            "micro_benchmarks": [benchmark.facts() for benchmark in self.micro_benchmarks],
            "held_out": [prediction.facts() for prediction in self.held_out],
            "typical_error": self.typical_error,
            "typical_error_of_mean": self.typical_error_of_mean,
            "worst_error": self.worst_error,
            "covered": self.covered,
        }


def calibrate(
    workloads: Sequence[MeasuredWorkload],
    prior: Prior,
    report: Callable[[str], None] = lambda what: None,
    progress: Progress = lambda step, share: None,
) -> Calibration:
    """Infer unknowns from micro-benchmarks, and compare predictions of other workloads.

    ``workloads`` are all on the same fabric, with the same transport; ``report`` is called with a
    sentence about each step, ``progress`` with each part of a step. Raises ``CalibrationError``
    when there are too few micro-benchmarks, one cannot be simulated to its end, or measurements
    cannot be of this fabric.
    """
    micro_benchmarks = [workload for workload in workloads if workload.is_micro_benchmark]
    held_out = [workload for workload in workloads if not workload.is_micro_benchmark]
    if len(micro_benchmarks) < BENCHMARKS_MIN:
        known = ", ".join(sorted(MICRO))
        raise CalibrationError(
            f"{len(micro_benchmarks)} micro-benchmarks; expected at least {BENCHMARKS_MIN} sizes "
            f"of {known}"
        )
    _check_transport(workloads)
    check_hosts(workloads)
    check_rates(micro_benchmarks)
    count = f"{len(prior.names)} unknowns"
    report(f"inferring {count} from {len(micro_benchmarks)} micro-benchmarks")
    posterior = _inferred(micro_benchmarks, prior, progress)
    warnings = check_prior(micro_benchmarks, posterior.first)
    if held_out:
        report(f"predicting {len(held_out)} held-out workloads")
    calibrator = _Calibrator(prior, posterior, progress)
    return calibrator.calibration(micro_benchmarks, held_out, warnings)


def _inferred(
    micro_benchmarks: Sequence[MeasuredWorkload], prior: Prior, progress: Progress
) -> Posterior:
    waves = itertools.count(1)

    def model(shares: Array) -> Array:
        wave = f"wave {next(waves)} of at most {WAVES_MAX}"
        settings = [prior.overrides(prior.at(row)) for row in shares]
        step = f"{wave}: simulating at {len(settings)} points"
        times = log_times(micro_benchmarks, settings, lambda share: progress(step, share))
        progress(f"{wave}: computing the posterior", None)
        return times

    return infer(model, [Target(row.launches) for row in micro_benchmarks], len(prior.names))


def _check_transport(workloads: Sequence[MeasuredWorkload]) -> None:
    """Refuse workloads that were measured over different transports."""
    first = _transport(workloads[0])
    for workload in workloads:
        if (transport := _transport(workload)) != first:
            raise CalibrationError(
                f"{workload.name}: measured over {transport}, "
                f"but {workloads[0].name} over {first}; expected one transport"
            )


def _transport(workload: MeasuredWorkload) -> str:
    (name,) = loads(etherweave.resolve(workload.scenario))["transport"]
    return str(name)


class _Calibrator:
    """Results that follow from a posterior."""

    def __init__(self, prior: Prior, posterior: Posterior, progress: Progress) -> None:
        self.prior, self.posterior, self.progress = prior, posterior, progress
        self.keys = key_draws(prior, posterior.shares)
        self.partners = partners(prior.names, posterior.shares)

    def calibration(
        self,
        micro_benchmarks: Sequence[MeasuredWorkload],
        held_out: Sequence[MeasuredWorkload],
        warnings: Sequence[str],
    ) -> Calibration:
        constants = tuple(self._constant(key) for key in self.keys if key.numbers is not None)
        middle = self.prior.at(self.posterior.shares[_middle(self.posterior.shares)])
        choices = tuple(_choice(key) for key in self.keys if key.numbers is None)
        # On a ridge one constant beside an older value of another is worth nothing.
        settings = middle if any(constant.is_inferred for constant in constants) else {}
        compared = self._compared([*micro_benchmarks, *held_out], self.prior.overrides(settings))
        predictions = tuple(compared[len(micro_benchmarks) :])
        parts = np.quantile(self.posterior.misfits, (ENDS[0], 0.5, ENDS[1]))
        return Calibration(
            constants,
            tuple(compared[: len(micro_benchmarks)]),
            predictions,
            choices,
            tuple(directions(self.prior.names, self.posterior.shares)),
            (float(parts[0]), float(parts[1]), float(parts[2])),
            self.posterior.simulations,
            self.posterior.effective,
            float(self.posterior.emulator.max()),
            (*warnings, *check_predictions(predictions), *self._warnings(micro_benchmarks)),
            settings,
            unknowns_file(self.keys),
        )

    def _warnings(self, micro_benchmarks: Sequence[MeasuredWorkload]) -> list[str]:
        """Say where the method itself is unsure."""
        constants = []
        if (effective := self.posterior.effective) < EFFECTIVE_MIN:
            constants.append(
                f"the posterior has {effective:.0f} independent draws; intervals are rough below "
                f"{EFFECTIVE_MIN}"
            )
        if (error := float(self.posterior.emulator.max())) > 1:
            name = micro_benchmarks[int(self.posterior.emulator.argmax())].name
            constants.append(
                f"{name}: the emulator is {error:.1f} times as unsure as measurement and model "
                "are; intervals have its error in them"
            )
        return constants

    def _constant(self, draws: KeyDraws) -> CalibratedConstant:
        assert draws.numbers is not None and draws.prior_numbers is not None
        ends = np.quantile(draws.numbers, ENDS)
        before = np.quantile(draws.prior_numbers, ENDS)
        inside = (draws.prior_numbers >= ends[0]) & (draws.prior_numbers <= ends[1])
        width = float(min(inside.mean() / (ENDS[1] - ENDS[0]), 1.0))
        is_known = width <= NARROW
        names = [name for name in (draws.key, draws.unknown) if name in self.partners]
        others = () if is_known or not names else self.partners[names[0]]
        value = draws.number(self.prior.at(self.posterior.shares[_middle(self.posterior.shares)]))
        return CalibratedConstant(
            draws.key,
            draws.about,
            draws.unit,
            draws.before,
            float(before[0]),
            float(before[1]),
            value,
            float(ends[0]),
            float(ends[1]),
            width,
            is_known,
            others,
        )

    def _compared(
        self, workloads: Sequence[MeasuredWorkload], settings: Mapping[str, object]
    ) -> list[ComparedWorkload]:
        """Simulate workloads at draws and in the middle of the posterior."""
        at = np.linspace(0, len(self.posterior.shares) - 1, SIMULATED).astype(int)
        draws = [self.prior.overrides(self.prior.at(row)) for row in self.posterior.shares[at]]
        step = f"simulating workloads at {SIMULATED} draws"
        times = log_times(workloads, draws, lambda share: self.progress(step, share))
        errors = self._errors(at)
        return [
            _compared(workload, settings, np.exp((times[:, number] + errors).ravel()))
            for number, workload in enumerate(workloads)
        ]

    def _errors(self, at: Array) -> Array:
        """Return errors of measurement and model, a column for each draw, at even quantiles."""
        from scipy.stats import t

        shares = (np.arange(99) + 0.5) / 99
        scales = np.hypot(self.posterior.misfits[at], self.posterior.chance)
        return np.asarray(np.outer(t.ppf(shares, DEGREES), scales), dtype=np.float64)


def _middle(shares: Array) -> int:
    """Return the number of the draw that is nearest to the middle of all, along their ridges."""
    places = scores(shares)
    moves = places - places.mean(axis=0)
    covariance = np.atleast_2d(np.cov(places.T)) + 1e-9 * np.eye(places.shape[1])
    return int(np.argmin(np.einsum("ni,ij,nj->n", moves, np.linalg.inv(covariance), moves)))


def _choice(draws: KeyDraws) -> CalibratedChoice:
    values = tuple(dict.fromkeys([*draws.prior_texts, *draws.texts]))
    shares = [
        tuple(texts.count(value) / len(texts) for value in values)
        for texts in (draws.prior_texts, draws.texts)
    ]
    return CalibratedChoice(draws.key, draws.about, values, *shares)


def _compared(
    workload: MeasuredWorkload, settings: Mapping[str, object], predictions: Array
) -> ComparedWorkload:
    try:
        result = etherweave.run(workload.scenario, settings)
        predicted = simulated(result, workload.centre)
    except ValueError as error:
        raise CalibrationError(f"{workload.name}: {error}") from None
    turns = table(result, "iterations")
    middle = predicted if turns.is_empty() else median_s(turns)
    interval = median_interval(workload.launches)
    ends = np.quantile(predictions, ENDS)
    size, window = _size_and_window(workload.test, loads(result.resolved))
    return ComparedWorkload(
        name=workload.name,
        is_held_out=not workload.is_micro_benchmark,
        launches=len(workload.launches),
        measured_s=median(workload.launches),
        measured_low_s=interval.low if interval else min(workload.launches),
        measured_high_s=interval.high if interval else max(workload.launches),
        predicted_s=predicted,
        predicted_low_s=float(ends[0]),
        predicted_high_s=float(ends[1]),
        measured_median_s=median(workload.medians),
        predicted_median_s=middle if workload.medians != workload.launches else predicted,
        launches_s=workload.launches,
        predicted_iterations_s=() if workload.is_micro_benchmark else _quantiles(turns),
        test=workload.test,
        size_bytes=size,
        window=window,
    )


def _quantiles(iterations: pl.DataFrame) -> tuple[float, ...]:
    if iterations.is_empty():
        return ()
    value = np.quantile(iterations["duration_ns"].to_numpy() / 1e9, SHARES)
    return tuple(float(element) for element in value)


def _size_and_window(test: str, resolved: dict[str, Any]) -> tuple[int | None, int]:
    """Return the size and the window of a scenario's only workload, if it is a size test."""
    if test not in SIZE_TESTS:
        return None, 1
    facts = resolved["job"][0]["workload"][test]
    return size_of(facts["bytes"]), facts.get("window", 1)
