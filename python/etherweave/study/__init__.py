"""Published evaluations, repeated: experiments, checks against published figures, calibration.

A study is a :class:`Plan`, a line in ``plans.py``, and the directory ``studies/NAME``: its
scenarios, and ``expected.csv`` with every published figure, its source and the bounds within which
it counts as reproduced. Results of experiments are kept and found again by what went into them, so
an interrupted study goes on where it stopped.
"""

from etherweave.study.plan import Experiment, Plan
from etherweave.study.plans import PLANS, plan_of
from etherweave.study.runner import Check, StudyResult, run_study

__all__ = ["PLANS", "Check", "Experiment", "Plan", "StudyResult", "plan_of", "run_study"]
