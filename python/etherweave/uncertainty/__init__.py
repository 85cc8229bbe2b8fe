"""Uncertainty of a result: figures that are not known exactly, and the error of the model.

Every figure of an interconnect's profile has a basis, and from it a distribution: the spread of the
same figure among the documents in hand. Samples of a scenario draw all of them, and each printed
figure becomes a median with intervals. What the model itself gets wrong is another error, which
rows of studies measure; an interval with it stands beside that of the samples.
"""

from etherweave.uncertainty.coverage import CheckInterval, check_intervals, coverage
from etherweave.uncertainty.declared import UncertaintyError, declared
from etherweave.uncertainty.figures import Unknowns, unknowns
from etherweave.uncertainty.means import MeanInterval, mean_interval
from etherweave.uncertainty.model_errors import ModelError, model_errors
from etherweave.uncertainty.replications import ReplicatedResult, run_replications
from etherweave.uncertainty.sampled_interconnects import sample_interconnects
from etherweave.uncertainty.sampled_sweeps import SampledSweep, sampled_sweep
from etherweave.uncertainty.sampling import SampledResult, run_samples
from etherweave.uncertainty.spreads import Spread, spreads
from etherweave.uncertainty.studies import SampledStudy, load_sampled, sample_study

__all__ = [
    "CheckInterval",
    "MeanInterval",
    "ModelError",
    "ReplicatedResult",
    "SampledResult",
    "SampledStudy",
    "SampledSweep",
    "Spread",
    "UncertaintyError",
    "Unknowns",
    "check_intervals",
    "coverage",
    "declared",
    "load_sampled",
    "mean_interval",
    "model_errors",
    "run_replications",
    "run_samples",
    "sample_interconnects",
    "sample_study",
    "sampled_sweep",
    "spreads",
    "unknowns",
]
