"""Priors of a few keys, for calibrations that need not infer all."""

from collections.abc import Mapping, Sequence

from etherweave.bench.calibration import Prior, UnknownKey
from etherweave.uncertainty.distributions import Range


def prior(ranges: Mapping[str, tuple[str, str]], before: Mapping[str, object]) -> Prior:
    """Make a prior that is even on a logarithmic scale, from ends and values by key."""
    known = {key: Range(low, high, "log") for key, (low, high) in ranges.items()}

    def at(shares: Sequence[float]) -> dict[str, object]:
        return {
            key: of.at(float(share)) for (key, of), share in zip(known.items(), shares, strict=True)
        }

    keys = [UnknownKey(key, key, "a test") for key in known]
    return Prior(list(known), keys, at, lambda values: values, before)
