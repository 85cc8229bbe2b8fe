"""Simulated times of workloads at many values of keys, on all processors."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import etherweave
from etherweave.bench.calibration.measured import CalibrationError, MeasuredWorkload
from etherweave.bench.calibration.prediction import simulated
from etherweave.bench.calibration.prior import Array


def log_times(
    workloads: Sequence[MeasuredWorkload],
    settings: Sequence[Mapping[str, object]],
    progress: Callable[[float], object] = lambda share: None,
) -> Array:
    """Simulate workloads at settings; gives a row for each of these, a column for each workload.

    Figures of one run, such as both of a ring, are simulated once. ``progress`` is called with the
    share of the simulations that have ended.

    Raises ``CalibrationError`` when one does not end by itself.
    """
    numbers: dict[str, list[int]] = {}
    for number, workload in enumerate(workloads):
        numbers.setdefault(etherweave.resolve(workload.scenario), []).append(number)
    times = np.zeros((len(settings), len(workloads)))

    def simulate(point: int, group: Sequence[int]) -> None:
        first = workloads[group[0]]
        try:
            result = etherweave.run(first.scenario, settings[point])
            for number in group:
                times[point, number] = np.log(simulated(result, workloads[number].centre))
        except ValueError as error:
            raise CalibrationError(f"{first.name}: {error}") from None

    # The interpreter's lock is free while a run computes.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(point, group) for point in range(len(settings)) for group in numbers.values()]
        for done, _ in enumerate(pool.map(lambda job: simulate(*job), jobs), 1):
            progress(done / len(jobs))
    return times
