"""Goodput of streams of iperf3 in the time in which all of them run.

::

    stream 0  |--- omitted ---|=== counted ===|- tail -|
    stream 1     |--- omitted ---|=== counted ===|- tail -|
                 └ START_SPREAD_S at most

A stream that begins earlier has the link with fewer others, and so has one that ends later. Each
runs longer than it is counted, on both sides by the spread of the starts, so that all streams run
while any of them is counted. What counts are the intervals of the servers, which the clients fetch;
all servers are on one host, whose clock says when each stream began, in whole seconds.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from etherweave.bench.adapters.iperf3 import WARM_UP
from etherweave.bench.measure.errors import MeasureLaunchError

START_SPREAD_S = 2
"""Longest time between the starts of two streams; whole seconds that differ by one are within."""
OMITTED_S = WARM_UP + START_SPREAD_S  # Before a stream is counted: slow start of the last one.
AROUND_S = OMITTED_S + START_SPREAD_S  # Time in which a stream runs without being counted [s].


class CommonTime(NamedTuple):
    """Streams while all of them ran."""

    rates: list[float]  # Goodput of each stream [B/s].
    spread_s: int  # Between the first start and the last, in whole seconds of the host's clock.

    @property
    def warnings(self) -> list[str]:
        """Say that the streams did not run together, if so."""
        if self.spread_s < START_SPREAD_S:
            return []
        apart = f"the starts of the streams are {self.spread_s} s apart"
        return [f"{apart}, so that some are counted while others do not run; expected fewer"]


def client_words() -> tuple[str, ...]:
    """Return the options of a client, which stand in place of the usual ``-O``."""
    return "-O", str(OMITTED_S), "--get-server-output"


def common_time(text: str, duration_s: int) -> CommonTime:
    """Read what all clients printed; raises ``MeasureLaunchError`` where an interval is missing."""
    servers = [_server(client) for client in _objects(text)]
    starts = [server["start"]["timestamp"]["timesecs"] for server in servers]
    rates = [_rate(server, duration_s) for server in servers]
    return CommonTime(rates, max(starts, default=0) - min(starts, default=0))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        value, end = decoder.raw_decode(text, at)
        yield value
        at = text.find("{", end)


def _server(client: dict[str, Any]) -> dict[str, Any]:
    server = client.get("server_output_json")
    if not isinstance(server, dict) or "intervals" not in server:
        raise MeasureLaunchError("iperf3: the server's intervals are missing; expected -J of both")
    return server


def _rate(server: dict[str, Any], duration_s: int) -> float:
    sums = [interval["sum"] for interval in server["intervals"]]
    counted = [interval for interval in sums if not interval["omitted"]][:duration_s]
    if len(counted) < duration_s:
        raise MeasureLaunchError(
            f"iperf3: {len(counted)} intervals of a stream; expected {duration_s} of 1 s"
        )
    octets = sum(interval["bytes"] for interval in counted)
    return float(octets / sum(interval["seconds"] for interval in counted))
