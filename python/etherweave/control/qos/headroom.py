"""Headroom by the core's rule, for ports of which no scenario tells.

The rule is derived in ``docs/models/flow-control.md``. Here a link of the given rate and length is
put into a fabric of two hosts, and the core is asked what its switch reserves. Nothing is known of
latencies, so that they are left out: what comes out is the least that any switch needs.
"""

from functools import lru_cache

import polars as pl

from etherweave.fabrics import fabric

AMPLE = "1GiB"
"""Memory of a switch whose memory is not the question."""


@lru_cache(maxsize=1024)
def headroom_bytes(rate_mbps: int, length_m: int, mtu_bytes: int) -> int:
    """Tell what a port must still take in after it has decided to pause its peer.

    Parameters
    ----------
    rate_mbps
        Of the link [Mb/s].
    length_m
        Of the cable [m].
    mtu_bytes
        The largest packet above Ethernet [B].

    Returns
    -------
    int
        Headroom of each lossless priority [B].

    Raises
    ------
    ScenarioError
        When no link has such a rate or length.
    """
    link: dict[str, object] = {"hosts": 2, "rate": f"{rate_mbps}Mb/s", "cable": f"{length_m}m"}
    scenario = {
        "topology": {"single_switch": link},
        "switch": {"buffer": AMPLE, "latency": "0ns"},
        "nic": {"transmit_latency": "0ns"},
    }
    return int(pl.DataFrame(fabric(scenario).buffers(mtu_bytes))["headroom_bytes"][0])
