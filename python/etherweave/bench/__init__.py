"""Benchmarks of real clusters: how each is started, what its text means, how certain results are.

::

    site, options ─► campaign ─► runner ─► launchers ─► store ─► points ─► summary, tables
                        │          └─── decides by ──────┘          └─► comparisons
    request ─► adapter.plan ─► command, forecast

    text, also from an email ─► document ─► adapter.parse ─► measurements ─► references

:func:`etherweave.bench.run` carries out a whole campaign, as ``etherweave bench run`` does. Values
are stored in base units: bytes, seconds, bytes per second, operations per second, counts; each
keeps the text that was printed. A text that is cut or garbled gives a part that is marked so, or an
error, never a wrong number. At the edge: ``programs.binaries`` looks for programs, ``launchers``
start them, ``campaigns.store`` keeps what they leave, ``environment.readers`` and ``telemetry``
read the state of hosts.

Names load on first use, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etherweave.bench.campaigns.session import CampaignLimits as CampaignLimits
    from etherweave.bench.campaigns.session import LimitError as LimitError
    from etherweave.bench.campaigns.session import SessionObserver as SessionObserver
    from etherweave.bench.campaigns.session import SessionResult as SessionResult
    from etherweave.bench.campaigns.session import run as run

__all__ = ["CampaignLimits", "LimitError", "SessionObserver", "SessionResult", "run"]


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name in __all__:
        from etherweave.bench.campaigns import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
