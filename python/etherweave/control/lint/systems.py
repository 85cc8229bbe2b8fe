"""Operating systems of switches: what the linter calls their settings, and what bounds them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class System:
    """An operating system."""

    name: str  # Name that ``control export --nos`` takes.
    terms: Mapping[str, str]
    """Names of settings in findings; what is not here cannot be configured."""
    inactive: str = ""  # The threshold of a group that gets next to nothing of its pool.
    times_ms: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Ranges of the watchdog's times."""
    poll_ms: int = 0  # The watchdog's polling interval where nothing is configured [ms].
    polls: int = 1  # Polls that the watchdog's times must have room for.

    def place(self, table: str, key: str) -> str:
        """Name an entry of a table, as far as the system has the table."""
        return f"{table}|{key}" if self.name == "sonic" else key

    def term(self, name: str) -> str:
        """Return what the system calls a field or a table."""
        return self.terms.get(name, name)


SONIC = System(
    "sonic",
    {
        "pfc": "pfc_enable",
        "group": "BUFFER_PG",
        "lossless": "a profile with xoff, the headroom",
        "xoff": "xoff",
        "cable": "its length in CABLE_LENGTH, as 5m",
        "watchdog": "an entry in PFC_WD",
        "watched": "pfcwd_sw_enable",
        "marking": "wred_profile",
        "threshold": "dynamic_th",
        "asymmetric": "pfc_asym is on",
    },
    # The threshold by which SONiC's templates switch the groups of inactive ports off.
    inactive="-8",
    # sonic-pfcwd.yang.
    times_ms={"detection_time": (100, 5000), "restoration_time": (100, 60_000)},
    poll_ms=200,
)
CUMULUS = System(
    "cumulus",
    {
        "pfc": "qos pfc PROFILE switch-priority, or qos roce mode lossless",
        "group": "traffic pool",
        "lossless": "qos traffic-pool default-lossless memory-percent",
        "cable": "cable-length in its PFC profile",
        "watchdog": "qos pfc-watchdog",
        "watched": "qos pfc-watchdog",
        "detection_time": "polling-interval times robustness",
        "marking": "qos congestion-control",
        "asymmetric": "rx or tx is disabled in the PFC profile",
    },
    # Polling intervals of 100 to 5000 ms, 1 to 1000 of them.
    times_ms={"detection_time": (100, 5_000_000)},
    poll_ms=100,
)
