"""Published evaluations, simulated: experiments, checks against published figures, calibration.

A study lives in ``studies/NAME``: its scenarios, and ``expected.csv`` with every published figure,
its source and the bounds within which it counts as reproduced. Results of experiments are kept and
found again by what went into them, so an interrupted study goes on where it stopped.
"""

from etherweave.study.runner import Check, StudyResult, names, run_study

__all__ = ["Check", "StudyResult", "names", "run_study"]
