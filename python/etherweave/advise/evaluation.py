"""Samples of what fabrics do and cost: throughput of the mix, price, and the ratio of both."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from etherweave.advise.bills import Bill
from etherweave.advise.question import AdviseError, Question
from etherweave.advise.scores import over, throughput
from etherweave.advise.simulated import Draw, Times
from etherweave.advise.unknowns import Unknown

PRICE_PERFORMANCE, THROUGHPUT = "price_performance", "throughput"


@dataclass(frozen=True)
class Evaluation:
    """Fabrics that run the whole mix, and their samples."""

    fabrics: Sequence[str]  # Names in the order of the file.
    baseline: str
    goal: str  # Measure that ranks them.
    weights: Mapping[str, float]  # Weights of the jobs that count, together 1.
    reference: Mapping[str, float]  # Median time of each job that sends, on the baseline [us].
    times: Times
    bills: Mapping[str, Bill]
    prices: Mapping[str, Sequence[Unknown]]  # Uncertain prices and powers of each fabric.
    left_out: Sequence[str]  # Fabrics and jobs that do not count, and why.

    @classmethod
    def of(
        cls, question: Question, bills: Mapping[str, Bill], draws: Sequence[Draw], times: Times
    ) -> "Evaluation":
        """Leave out jobs that no fabric runs, and fabrics that do not run all others.

        Raises ``AdviseError`` when no fabric is left.
        """
        names = [candidate.name for candidate in question.candidates]
        sending = [job.name for job in question.jobs if job.jobs]
        run = [job for job in sending if any((name, job) in times.time_us for name in names)]
        fabrics = [name for name in names if all((name, job) in times.time_us for job in run)]
        reasons = [
            f"{job} on {name}: {line}"
            for (name, job), why in times.failures.items()
            for line in why.splitlines()
        ]
        if not run or not fabrics:
            raise AdviseError(f"{question.file}: no fabric runs the mix:\n" + "\n".join(reasons))
        baseline = question.baseline if question.baseline in fabrics else fabrics[0]
        if baseline != question.baseline:
            reasons.append(f"Weights hold on {baseline}, because {question.baseline} is left out.")
        total = sum(job.weight for job in question.jobs if job.name in run or not job.jobs)
        goal = question.settings.rank
        if goal == PRICE_PERFORMANCE and not all(bills[name].items for name in fabrics):
            goal = THROUGHPUT
            unpriced = ", ".join(name for name in fabrics if not bills[name].items)
            reasons.append(f"Ranked without price, which is missing for {unpriced}.")
        return cls(
            fabrics,
            baseline,
            goal,
            {
                job.name: job.weight / total
                for job in question.jobs
                if job.name in run or not job.jobs
            },
            {
                job: statistics.median(times.time_us[baseline, job][draw.sample] for draw in draws)
                for job in run
            },
            times,
            bills,
            {name: bills[name].unknowns(question) for name in fabrics},
            reasons,
        )

    def with_times(self, times: Times) -> "Evaluation":
        """Evaluate other samples by the same reference."""
        return replace(self, times=times)

    def time_us(self, fabric: str, job: str, draws: Sequence[Draw]) -> list[float]:
        """Return times of a job on a fabric [us]."""
        return [self.times.time_us[fabric, job][draw.sample] for draw in draws]

    def throughput(self, fabric: str, draws: Sequence[Draw]) -> list[float]:
        """Return how much of the mix a fabric does while the baseline does it once."""
        times = {job: self.time_us(fabric, job, draws) for job in self.reference}
        return throughput(times, self.reference, self.weights)

    def price(self, fabric: str, draws: Sequence[Draw]) -> list[float]:
        """Return what a fabric and its electricity cost."""
        return [self.bills[fabric].total(_scales(self.prices[fabric], draw)) for draw in draws]

    def watts(self, fabric: str, draws: Sequence[Draw]) -> list[float]:
        """Return what a fabric and its nodes draw [W]."""
        return [self.bills[fabric].watts(_scales(self.prices[fabric], draw)) for draw in draws]

    def score(self, fabric: str, draws: Sequence[Draw]) -> list[float]:
        """Return by what a fabric is ranked."""
        done = self.throughput(fabric, draws)
        if self.goal == THROUGHPUT:
            return done
        return over(done, self.price(fabric, draws))


def _scales(varied: Sequence[Unknown], draw: Draw) -> dict[str, float]:
    return {row.name: row.scale(draw.shares[row.name]) for row in varied if row.name in draw.shares}
