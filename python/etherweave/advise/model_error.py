"""The error of the model: in the time of each job, and in ratios of fabrics.

A ratio of times on two networks has an error of its own, which is that of published ratios. It is
the same for all jobs of a sample, so that jobs do not cancel each other's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etherweave.advise.evaluation import PRICE_PERFORMANCE, Evaluation
from etherweave.advise.prepared import Prepared
from etherweave.advise.scores import Interval, Samples, ahead, over, throughput
from etherweave.advise.simulated import AXES, Draw
from etherweave.uncertainty.check_rows import FITS, RATIO, Conditions
from etherweave.uncertainty.coverage import QUANTILES
from etherweave.uncertainty.model_errors import ModelError, errors_at
from etherweave.uncertainty.together import conditions_of_jobs

RATIOS = Conditions(RATIO, fit=FITS[1])


@dataclass(frozen=True)
class Errors:
    """Errors of the model in an evaluation."""

    evaluation: Evaluation
    draws: Sequence[Draw]
    ratio: ModelError  # Error of ratios of times.
    times: Mapping[tuple[str, str], ModelError]  # Error of the time of a fabric and a job.

    @classmethod
    def of(cls, prepared: Prepared, evaluation: Evaluation) -> "Errors":
        """Estimate the errors of all jobs on all fabrics that run the mix."""
        cells = [(name, job) for name in evaluation.fabrics for job in evaluation.reference]
        conditions = [(cell, each) for cell in cells for each in _conditions(prepared, *cell)]
        ratio, *errors = errors_at([RATIOS, *(each for _, each in conditions)])
        times: dict[tuple[str, str], ModelError] = {}
        for (cell, _), error in zip(conditions, errors, strict=True):
            # The slowest job of several is waited for: the widest error of theirs.
            times[cell] = max(times.get(cell, error), error, key=lambda each: each.most.width)
        return cls(evaluation, prepared.draws, ratio, times)

    def time_us(self, fabric: str, job: str) -> Interval:
        """Return where the time of a job lies, by samples and its error together [us]."""
        error = self.times[fabric, job].further
        values = self.evaluation.time_us(fabric, job, self.draws)
        return Interval.of(error.applied(values, QUANTILES, is_time=True))

    def throughput(self, fabric: str) -> list[float]:
        """Return the throughput of the mix, as samples and the error of ratios have it."""
        evaluation = self.evaluation
        times = {
            job: self.ratio.further.applied(
                evaluation.time_us(fabric, job, self.draws), QUANTILES, is_time=True
            )
            for job in evaluation.reference
        }
        return throughput(times, evaluation.reference, evaluation.weights)

    def score(self, fabric: str) -> list[float]:
        """Return by what a fabric is ranked, as samples and the error of ratios have it."""
        done = self.throughput(fabric)
        if self.evaluation.goal != PRICE_PERFORMANCE:
            return done
        return over(done, repeated(self.evaluation.price(fabric, self.draws)))

    def ahead(self, fabric: str, other: str) -> float:
        """Return the share of samples in which a fabric is ahead with the error of their ratio."""
        return ahead(self.score(fabric), repeated(self.evaluation.score(other, self.draws)))


def repeated(values: Samples) -> list[float]:
    """Repeat each value for every quantile of the error."""
    return [value for value in values for _ in range(QUANTILES)]


def _conditions(prepared: Prepared, fabric: str, job: str) -> list[Conditions]:
    """List the conditions of the jobs that are waited for, in a cell of the mix."""
    runs = prepared.sweep([fabric])
    point = dict(zip(AXES, (fabric, job, prepared.draws[-1].sample), strict=True))
    every = conditions_of_jobs(runs.resolve(point))
    timed = runs.jobs[job].timed
    return [each for name, each in every.items() if name in timed] or list(every.values())
