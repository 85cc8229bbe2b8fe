"""The largest load of NICs at which nothing is lost, by binary search (drafts, section 2)."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from etherweave.bmwg.model import Case, Trial

Key = tuple[str, str]  # Section of a test, and name of a case.
LOAD = "load [%]"
STEPS_MAX = 10  # Halvings of all of the load: its thousandth part is less than the resolution.
RESOLUTION = 0.1  # Part of the link rate at which a search ends [%].
BURST = "16KiB"  # Burst of the shaper that limits a NIC.


def searched(
    trials: Mapping[Key, Trial],
    nic_gbps: float,
    carry_out: Callable[[Mapping[Key, Case]], Mapping[Key, Trial]],
) -> dict[Key, Trial]:
    """Replace trials that lost packets at full load by those of the largest load without loss.

    ``carry_out`` runs cases, those of a step at once. Where each load loses packets, the trial
    does not count.
    """
    known = dict(trials)
    bounds = {key: (0.0, 100.0) for key, trial in trials.items() if _loses(trial)}
    for key in bounds:
        problem = f"packets are lost at each load from {RESOLUTION} % on"
        known[key] = Trial(trials[key].case, None, problem)
    for _ in range(STEPS_MAX if bounds else 0):
        middles = {key: (low + high) / 2 for key, (low, high) in bounds.items()}
        cases = {key: _shaped(trials[key].case, load, nic_gbps) for key, load in middles.items()}
        names = {(key[0], case.name): key for key, case in cases.items()}
        attempts = carry_out({name: cases[key] for name, key in names.items()})
        for name, trial in attempts.items():
            key = names[name]
            (low, high), load = bounds[key], middles[key]
            is_lossless = bool(trial.result) and not _loses(trial)
            bounds[key] = (load, high) if is_lossless else (low, load)
            if is_lossless:
                known[key] = trial
    return known


def _loses(trial: Trial) -> bool:
    result = trial.result
    return trial.case.is_searched and result is not None and bool(result.summary["packets_dropped"])


def _shaped(case: Case, load: float, nic_gbps: float) -> Case:
    shaper = {"rate": f"{round(load * nic_gbps * 1e7)}b/s", "burst": BURST}
    labels = {**case.labels, LOAD: round(load, 2)}
    return replace(case, labels=labels, changes={**case.changes, "nic.shaper": shaper})
