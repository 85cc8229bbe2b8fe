"""Choice of the fabric to buy: candidates, a mix of jobs, prices, and how sure the ranking is.

A question is a file. Every job is simulated on every fabric, in samples that differ in placements,
seeds and uncertain figures; the runs are a sweep. Prices and power are those of designs. From the
samples come intervals and the share of samples in which the ranking holds.
"""

from etherweave.advise.answer import Answer, JobTime, Standing, answer
from etherweave.advise.prepared import Prepared, prepare
from etherweave.advise.question import AdviseError, Question, load_question
from etherweave.advise.sensitivity import Effect
from etherweave.advise.stages import trajectory_runs

__all__ = [
    "AdviseError",
    "Answer",
    "Effect",
    "JobTime",
    "Prepared",
    "Question",
    "Standing",
    "answer",
    "load_question",
    "prepare",
    "trajectory_runs",
]
