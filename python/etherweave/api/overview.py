"""The figures of a result that a reader wants first: what ``etherweave run`` prints.

Times of iterations and streams by job, the rate of streams, packets that were lost, and pause
frames with the ports that sent most. A quantile is the value nearest to it. Nothing is imported
for tables, so that a short run stays short.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from etherweave.api.flow_times import flow_times
from etherweave.api.limits import limits
from etherweave.api.results import Result
from etherweave.api.samples import rounds, time_of_all

WORST_MAX = 3  # Largest number of ports that are named [ports].
PRIORITIES = 8  # Rows that a port may have: IEEE 802.1Q priorities.
PAUSE_CAUSES = ("xoff", "refresh", "xon")
"""Why a pause frame is sent: to pause, to prolong a pause, to resume."""


def overview(result: Result) -> dict[str, Any]:
    """Compute the first figures of a result.

    Parameters
    ----------
    result
        Simulated or measured; tables that it has not have no figures.

    Returns
    -------
    dict
        ``jobs``: by name, the number of ``iterations`` and their ``mean_us``, ``median_us``,
        ``p99_us`` and ``max_us``; of sampled collectives also ``call_us``, the time of the whole
        call, of which the iterations are rounds. ``streams``: by job, the number of ``streams``, of
        those that are ``complete``, their completion times as of iterations, and ``goodput_gbps``:
        their bytes over the time from the first start to the last end, both after the warm-up. Of
        several measured ``launches`` streams are those of all, and goodput is the mean over them.
        ``flows``: by job of the workload ``flows``, how many start, are ``complete``, the ``load``
        that they offered and the one ``load_asked`` for, and slowdowns against an idle fabric, of
        all and by classes of ``sizes``. ``goodput_gbps``: the bytes of the streams of all jobs over
        the time from the first start to the last end, the mean over launches.
        ``drops``: ``packets``, ``bytes``, and the worst ``ports``. ``trims``: where switches trim,
        the ``packets`` that they trimmed, the worst ``ports``, and the ``retransmissions`` of all
        flows. ``pauses``: ``frames`` sent, by cause, the worst ``ports``, each with
        ``duration_us``, for which it held its peer paused, ``longest_us`` of a single pause and the
        ``longest``, each with the ``port`` that was paused and the ``priority``.
        ``failures``: what links lost while they were down, see
        :func:`failures`. ``sleeps``: of ports that sleep between frames, how many there are, how
        often they woke, the share of the time that they were asleep, and how long a frame that woke
        one waited. ``storms``: storms of pauses that watchdogs detected, by time, each with
        ``port``, ``priority``, ``detected_us``, ``restored_us`` (none if not in the run) and the
        packets that were discarded, ``tx_drops`` for the port and ``rx_drops`` from it, or passed,
        ``tx_ok`` and ``rx_ok``. ``replays``: of links
        that send damaged frames again, ``frames``, ``replays``, ``lost_frames``, the times that
        transmitters lost and waited for room, and ``message_bytes``. ``rates``:
        of ports whose rate follows their load, how many there are, how often they changed it, the
        mean of their rate as a share of the full one, and for how long frames waited altogether.
        ``learning``: of switches that learn addresses, how many
        frames they ``flooded``, the ``copies`` that they made of them, the most addresses that a
        table held, and the frames whose source found no room. ``limits``: of jobs whose ranks are
        observed, the time of the path that limits them, by part and by place, see
        :mod:`etherweave.api.limits`.
    """
    parts = _parts(result)
    return {
        "jobs": _jobs(result),
        "goodput_gbps": _goodput(parts),
        "streams": _streams(parts),
        "flows": {job.job: job.figures() for job in flow_times(result)},
        "drops": _drops(result),
        "trims": _trims(result),
        "pauses": _pauses(result),
        "failures": failures(result),
        "sleeps": _sleeps(result),
        "storms": _storms(result),
        "replays": _replays(result),
        "rates": _rates(result),
        "learning": _learning(result),
        "limits": {limit.job: limit.figures() for limit in limits(result)},
    }


def launches(result: Result) -> int:
    """Return how often the ranks of a measured result were started; 1 for a simulated one."""
    return result.summary["measured"]["launches"] if "measured" in result.summary else 1


def _rows(result: Result, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    if table in result.tables:
        yield from result.rows(table, *columns)


def _jobs(result: Result) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = {}
    clients = _clients(result)
    for job, duration_ns, *rank in _rows(
        result, "iterations", "job", "duration_ns", *(["rank"] if clients else [])
    ):
        # Rows of a server are its calls, which are parts of requests.
        if job not in clients or rank[0] < clients[job]:
            times.setdefault(job, []).append(duration_ns / 1e3)
    calls = _sampled_calls(result)
    return {
        job: {"iterations": len(all_), **distribution(all_), **calls.get(job, {})}
        for job, all_ in times.items()
    }


def _sleeps(result: Result) -> dict[str, float]:
    ports = list(_rows(result, "sleeps", "wakes", "asleep_ns", "waited_ns"))
    if not ports:
        return {}
    wakes, asleep_ns, waited_ns = map(sum, zip(*ports, strict=True))
    return {
        "ports": len(ports),
        "wakes": wakes,
        "asleep_share": asleep_ns / (len(ports) * result.summary["end_ns"]),
        "wait_us_mean": waited_ns / max(wakes, 1) / 1e3,
    }


def _learning(result: Result) -> dict[str, int]:
    columns = ("entries_max", "unlearnt_packets", "flooded_packets", "copied_packets")
    rows = list(_rows(result, "learning", *columns))
    if not rows:
        return {}
    entries, unlearnt, flooded, copies = zip(*rows, strict=True)
    return {
        "flooded": sum(flooded),
        "copies": sum(copies),
        "entries_max": max(entries),
        "unlearnt": sum(unlearnt),
    }


def _storms(result: Result) -> list[dict[str, Any]]:
    columns = ("node", "port", "peer", "priority", "detected_ns", "restored_ns")
    packets = ("tx_ok_packets", "tx_drops_packets", "rx_ok_packets", "rx_drops_packets")
    storms = [
        {
            "port": f"{node} port {port} to {peer}",
            "priority": priority,
            "detected_us": detected_ns / 1e3,
            "restored_us": None if math.isnan(restored_ns) else restored_ns / 1e3,
        }
        | dict(zip(("tx_ok", "tx_drops", "rx_ok", "rx_drops"), counts, strict=True))
        for node, port, peer, priority, detected_ns, restored_ns, *counts in _rows(
            result, "storms", *columns, *packets
        )
    ]
    return sorted(storms, key=lambda storm: storm["detected_us"])


def _replays(result: Result) -> dict[str, float]:
    columns = ("frames", "replays", "lost_frames", "lost_ns", "held_ns", "message_bytes")
    links = list(_rows(result, "replays", *columns))
    if not links:
        return {}
    frames, replays, lost, lost_ns, held_ns, message_bytes = map(sum, zip(*links, strict=True))
    return {
        "frames": frames,
        "replays": replays,
        "lost_frames": lost,
        "lost_us": lost_ns / 1e3,
        "held_us": held_ns / 1e3,
        "message_bytes": message_bytes,
    }


def _rates(result: Result) -> dict[str, float]:
    columns = ("node", "port", "rate_share", "time_ns", "changes", "waited_ns")
    rows = list(_rows(result, "rates", *columns))
    if not rows:
        return {}
    # A port has its changes and waits in each of its rows.
    ports = {(node, port): (changes, waited) for node, port, _, _, changes, waited in rows}
    changes, waited_ns = map(sum, zip(*ports.values(), strict=True))
    shares = math.fsum(share * time_ns for _, _, share, time_ns, _, _ in rows)
    return {
        "ports": len(ports),
        "changes": changes,
        "rate_share": shares / (len(ports) * result.summary["end_ns"]),
        "wait_us": waited_ns / 1e3,
    }


def _clients(result: Result) -> dict[str, int]:
    """Return by job of services how many ranks, the first, send requests."""
    if "request_response" not in result.resolved:
        return {}
    jobs = result.scenario.get("job", [])
    workloads = {job["name"]: job["workload"].get("request_response") for job in jobs}
    return {name: int(facts["clients"]) for name, facts in workloads.items() if facts}


def _sampled_calls(result: Result) -> dict[str, dict[str, float]]:
    """Compute the time of a call, as the mean over ranks, where iterations are its rounds."""
    if "samples = " not in result.resolved:
        return {}
    calls = dict[str, dict[str, float]]()
    for job in result.scenario["job"]:
        facts = job["workload"].get("osu_collective", {})
        if "samples" not in facts:
            continue
        by_round: dict[int, list[float]] = {}
        for name, number, time_ns in _rows(result, "iterations", "job", "iteration", "duration_ns"):
            if name == job["name"]:
                by_round.setdefault(number, []).append(time_ns / 1e3)
        means = [math.fsum(all_) / len(all_) for _, all_ in sorted(by_round.items())]
        (operation,) = facts["operation"]
        if len(means) > 1:
            calls[job["name"]] = {"call_us": time_of_all(means, rounds(operation, facts["ranks"]))}
    return calls


def distribution(times_us: Sequence[float]) -> dict[str, float]:
    """Describe at least one time [us]."""
    ordered, count = sorted(times_us), len(times_us)
    return {
        "mean_us": math.fsum(ordered) / count,
        "median_us": (ordered[count // 2] + ordered[(count - 1) // 2]) / 2,
        "p99_us": ordered[math.floor((count - 1) * 0.99 + 0.5)],
        "max_us": ordered[-1],
    }


def ended_streams(result: Result) -> Iterator[bool]:
    """Say of each stream, in the order of the table, whether it has ended.

    A stream that would go on, or start later, ends with the run. In a complete run these are
    streams of jobs in the background, for which the run does not wait. A measured run is complete
    when its time is over, which ends streams without a number of messages.
    """
    run_end_ns, is_complete = result.summary["end_ns"], result.summary["finished"] == "complete"
    others, endless = _background(result), _endless(result)
    return (
        start <= end
        and job not in endless
        and (end < run_end_ns or (is_complete and job not in others))
        for job, start, end in _rows(result, "streams", "job", "start_ns", "end_ns")
    )


def _background(result: Result) -> set[str]:
    return {job["name"] for job in result.scenario.get("job", []) if job["background"]}


def _endless(result: Result) -> set[str]:
    """Name the measured jobs whose streams end by the time alone."""
    if "measured" not in result.summary:
        return set()
    jobs = result.scenario.get("job", [])
    counted = {"messages": 0}
    return {job["name"] for job in jobs if "messages" not in job["workload"].get("incast", counted)}


def _parts(result: Result) -> "dict[tuple[str, int], _Streams]":
    """Collect streams by job and launch; one that has not ended has no completion time."""
    parts: dict[tuple[str, int], _Streams] = {}
    rows = _rows(result, "streams", "job", "start_ns", "end_ns", "bytes", "goodput_gbps")
    for (job, start_ns, end_ns, size, rate), launch, has_ended in zip(
        rows, _launch_numbers(result), ended_streams(result), strict=False
    ):
        streams = parts.setdefault((job, launch), _Streams())
        streams.add(start_ns, end_ns, size, rate, has_ended)
    return parts


def _goodput(parts: "dict[tuple[str, int], _Streams]") -> float:
    """Compute what streams of all jobs deliver together, as the mean over launches."""
    launches = {launch: _Streams() for _, launch in parts}
    for (_, launch), streams in parts.items():
        launches[launch].include(streams)
    rates = [streams.goodput_gbps for streams in launches.values()]
    return math.fsum(rates) / max(len(rates), 1)


def _streams(parts: "dict[tuple[str, int], _Streams]") -> dict[str, dict[str, float]]:
    """Describe streams by job."""
    jobs: dict[str, list[_Streams]] = {}
    for (job, _), streams in parts.items():
        jobs.setdefault(job, []).append(streams)
    return {job: _stream_figures(of_launches) for job, of_launches in jobs.items()}


def _launch_numbers(result: Result) -> Iterator[int]:
    """Return the launch of each stream; without end for a simulated result."""
    if "launch" in result.columns("streams"):
        return iter(result.values("streams", "launch"))
    return repeat(0)


class _Streams:
    """Streams of a job: their completion times, and what those with a rate sent together."""

    def __init__(self) -> None:
        self.count = self._bytes = 0
        self.times_us = array("d")
        self._start_ns, self._end_ns = math.inf, 0.0

    def add(
        self, start_ns: float, end_ns: float, size: int, goodput_gbps: float, has_ended: bool
    ) -> None:
        self.count += 1
        if start_ns > end_ns:
            return
        if has_ended:
            self.times_us.append((end_ns - start_ns) / 1e3)
        if goodput_gbps:
            # Its rate began to count at its start, or at the end of the warm-up.
            self._start_ns = min(self._start_ns, end_ns - size * 8 / goodput_gbps)
            self._end_ns = max(self._end_ns, end_ns)
            self._bytes += size

    def include(self, other: "_Streams") -> None:
        """Count what others sent, without their completion times."""
        self._start_ns = min(self._start_ns, other._start_ns)
        self._end_ns = max(self._end_ns, other._end_ns)
        self._bytes += other._bytes

    @property
    def goodput_gbps(self) -> float:
        span_ns = self._end_ns - self._start_ns
        return self._bytes * 8 / span_ns if span_ns > 0 else 0.0


def _stream_figures(of_launches: Sequence[_Streams]) -> dict[str, float]:
    """Describe the streams of a job: those of all launches, and the mean of their goodput."""
    count = len(of_launches)
    times_us = array("d", chain.from_iterable(streams.times_us for streams in of_launches))
    return {
        "streams": sum(streams.count for streams in of_launches),
        **({"launches": count} if count > 1 else {}),
        "complete": len(times_us),
        **(distribution(times_us) if times_us else {}),
        "goodput_gbps": math.fsum(streams.goodput_gbps for streams in of_launches) / count,
    }


def _drops(result: Result) -> dict[str, Any]:
    ports: dict[tuple[str, int, str], list[int]] = {}
    columns = ("node", "port", "peer", "drops_packets", "drops_bytes")
    for node, port, peer, packets, size in _rows(result, "ports", *columns):
        if packets:
            total = ports.setdefault((node, port, peer), [0, 0])
            total[0] += packets
            total[1] += size
    worst = sorted(ports.items(), key=lambda item: -item[1][0])[:WORST_MAX]
    return {
        "packets": sum(packets for packets, _ in ports.values()),
        "bytes": sum(size for _, size in ports.values()),
        "ports": [_port(at) | {"packets": packets, "bytes": size} for at, (packets, size) in worst],
    }


def _trims(result: Result) -> dict[str, Any]:
    if "[switch.trimming]" not in result.resolved or "ports" not in result.tables:
        return {}
    ports: dict[tuple[str, int, str], int] = {}
    columns = ("node", "port", "peer", "trimmed_packets")
    for node, port, peer, packets in result.rows("ports", *columns):
        if packets:
            ports[node, port, peer] = ports.get((node, port, peer), 0) + packets
    worst = sorted(ports.items(), key=lambda item: -item[1])[:WORST_MAX]
    return {
        "packets": sum(ports.values()),
        "retransmissions": sum(count for (count,) in _rows(result, "flows", "retransmissions")),
        "ports": [_port(place) | {"packets": packets} for place, packets in worst],
    }


def _port(place: tuple[str, int, str]) -> dict[str, Any]:
    return dict(zip(("node", "port", "peer"), place, strict=True))


def _pauses(result: Result) -> dict[str, Any]:
    causes = {cause: f"tx_pause_{cause}_packets" for cause in PAUSE_CAUSES}
    counts = {"frames": "tx_pause_packets"} | causes
    ports: dict[tuple[str, int, str], list[tuple[Any, ...]]] = {}
    columns = ("node", "port", "peer", "tx_pause_duration_ns", *counts.values())
    for node, port, peer, duration_ns, *frames in _rows(result, "ports", *columns):
        if frames[0]:
            ports.setdefault((node, port, peer), []).append((duration_ns / 1e3, *frames))
    sums = {place: _paused(rows) for place, rows in ports.items()}
    worst = sorted(sums.items(), key=lambda item: (-item[1][0], -item[1][1]))[:WORST_MAX]
    return {
        **{name: sum(total[at] for total in sums.values()) for at, name in enumerate(counts, 1)},
        "ports": [
            _port(place) | dict(zip(("duration_us", *counts), total, strict=True))
            for place, total in worst
        ],
        **_longest_pauses(result),
    }


def _longest_pauses(result: Result) -> dict[str, Any]:
    """Find the longest single pauses; places are a list, as they are no figures of a run."""
    columns = ("node", "port", "peer", "priority", "rx_pause_duration_ns_max")
    rows = _rows(result, "ports", *columns)
    longest = sorted((row for row in rows if row[-1]), key=lambda row: -row[-1])[:WORST_MAX]
    places = [
        _port((node, port, peer)) | {"priority": priority, "duration_us": duration_ns / 1e3}
        for node, port, peer, priority, duration_ns in longest
    ]
    return {
        "longest_us": max((place["duration_us"] for place in places), default=0.0),
        "longest": places,
    }


def failures(result: Result) -> dict[str, Any]:
    """Sum up what links lost while they were down, and when their loss was made good.

    Returns
    -------
    dict
        Empty if no link was ever down. ``links``: for each link and time, those that lost most
        first, ``link`` ("leaf0 - core0"), ``from_us``, ``until_us`` (``None``: it did not return),
        ``packets_lost`` and ``bytes_lost`` in both directions, and ``last_loss_us``, from which on
        nothing was sent into it (``None``: nothing was lost), ``connections``, how many directions
        of connections had to send data again, and ``recovered_us``, when the last of it had arrived
        (``None``: none had to, or some had not). ``connections``: directions of connections
        that sent data again, and ``recovered_us``, when the last of it had arrived (``None``:
        none was).
    """
    links: dict[tuple[str, str, float], list[tuple[float, ...]]] = {}
    sums = ("packets_lost", "bytes_lost", "last_loss_ns", "connections", "recovered_ns")
    for node, peer, start, *row in _rows(
        result, "failures", "node", "peer", "from_ns", "until_ns", *sums
    ):
        ends = (peer, node) if (peer, node, start) in links else (node, peer)
        links.setdefault((*ends, start), []).append(tuple(row))
    if not links:
        return {}
    again = [time for (time,) in _rows(result, "flows", "recovered_ns") if time > 0]
    rows = [_failure(*key, rows) for key, rows in links.items()]
    return {
        "links": sorted(rows, key=lambda row: -row["packets_lost"]),
        "connections": len(again),
        "recovered_us": max(again) / 1e3 if again else None,
    }


def _failure(
    node: str, peer: str, from_ns: float, rows: Sequence[tuple[float, ...]]
) -> dict[str, Any]:
    untils, packets, sizes, losses, connections, recoveries = zip(*rows, strict=True)
    again = [end for count, end in zip(connections, recoveries, strict=True) if count]
    known = [loss for loss in losses if not math.isnan(loss)]
    return {
        "link": f"{node} - {peer}",
        "from_us": from_ns / 1e3,
        "until_us": None if math.isnan(untils[0]) else untils[0] / 1e3,
        "packets_lost": sum(packets),
        "bytes_lost": sum(sizes),
        "last_loss_us": max(known) / 1e3 if known else None,
        "connections": sum(connections),
        "recovered_us": None if not again or any(map(math.isnan, again)) else max(again) / 1e3,
    }


def _paused(rows: list[tuple[Any, ...]]) -> list[Any]:
    """Sum the pauses of a port: the longest of its priorities, and all their frames.

    A frame of global pause names every priority and is in each of the eight rows.
    """
    is_global = len(rows) == PRIORITIES and len(set(rows)) == 1
    durations, *counts = zip(*(rows[:1] if is_global else rows), strict=True)
    return [max(durations), *map(sum, counts)]


def rate_text(gbps: float) -> str:
    """Write a rate with three significant digits and the unit that fits.

    Examples
    --------
    >>> rate_text(0.096), rate_text(99.98), rate_text(1234.5)
    ('96.0 Mb/s', '100 Gb/s', '1.23 Tb/s')
    """
    value = gbps * 1e9
    for unit in ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"):
        value = float(f"{value:.3g}")
        if abs(value) < 1000 or unit == "Tb/s":
            break
        value /= 1e3
    exponent = int(f"{value:e}".partition("e")[2])
    return f"{value:.{min(max(2 - exponent, 0), 2)}f} {unit}"
