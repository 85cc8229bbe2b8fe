"""Lines of a run that a reader wants first: what ``etherweave run`` prints and its page shows."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

from etherweave._core import ScenarioError
from etherweave.api.energy import energy
from etherweave.api.fidelity import mode_labels
from etherweave.api.flow_times import flow_lines, flow_times
from etherweave.api.overview import PAUSE_CAUSES, WORST_MAX, rate_text
from etherweave.api.results import Result
from etherweave.measurements.benchmark_lines import JobLines, benchmark_lines
from etherweave.measurements.nccl_table import nccl_lines


def run_lines(result: Result, figures: dict[str, Any]) -> list[str]:
    """Write the figures of an overview: jobs first, then what went wrong on the fabric."""
    is_complete = result.summary["finished"] == "complete"
    faults: dict[str, Callable[[Any], list[str]]] = {
        "drops": _drop_lines,
        "trims": _trim_lines,
        "pauses": _pause_lines,
        "failures": partial(_failure_lines, is_complete=is_complete),
        "storms": _storm_lines,
        "replays": _replay_lines,
        "sleeps": _sleep_lines,
        "rates": _rate_lines,
        "learning": _learning_lines,
    }
    of_fabric = (lines(figures[name]) for name, lines in faults.items() if figures[name])
    lines = [*job_lines(result, figures), *nccl_lines(result)]
    return [*lines, *chain.from_iterable(of_fabric), *_energy_lines(result)]


def job_lines(result: Result, figures: dict[str, Any]) -> list[str]:
    """Write figures of benchmarks, iteration times and streams, a line for each job."""
    labels = mode_labels(result)
    tools = benchmark_lines(result, figures["jobs"])
    lines = [
        line
        for job, times in figures["jobs"].items()
        for line in _job(labels.get(job, job), tools.get(job), times)
    ]
    flows = {times.job: flow_lines(times) for times in flow_times(result)}
    return [
        *lines,
        *(
            _stream_line(labels.get(job, job), stream)
            for job, stream in figures["streams"].items()
            if job not in flows
        ),
        *(line for own in flows.values() for line in own),
    ]


def _job(name: str, tools: JobLines | None, times: dict[str, float]) -> list[str]:
    if tools is None:
        return [f"{name}: {_iterations(times)}"]
    iterations = _iterations(times) if tools.has_iterations else ""
    parts = "; ".join(filter(None, (tools.tools, iterations)))
    return [f"{name}: {parts}", *(f"{name}, {line}" for line in tools.statistics)]


def _iterations(times: dict[str, float]) -> str:
    if "call_us" not in times:
        return f"{times['iterations']} iterations, {_times(times)}"
    rounds = f"{times['iterations']} sampled rounds, {_times(times)}"
    return f"{times['call_us']:.2f} us a call; {rounds}"


def _times(times: dict[str, float]) -> str:
    return (
        f"mean {times['mean_us']:.2f} us, median {times['median_us']:.2f}, "
        f"p99 {times['p99_us']:.2f}, max {times['max_us']:.2f}"
    )


def _stream_line(job: str, stream: dict[str, float]) -> str:
    count, complete = stream["streams"], stream["complete"]
    times = f"completion {_times(stream)}" if complete else "none complete"
    if 0 < complete < count:
        times = f"{complete} complete: {times}"
    several = stream.get("launches", 1)
    name = f"{count} stream{'' if count == 1 else 's'}"
    rate = rate_text(stream["goodput_gbps"])
    if several > 1:
        name, rate = f"{name} in {several} launches", f"{rate} on the mean"
    return f"{job}: {name}, {rate}, {times}"


def _drop_lines(drops: dict[str, Any]) -> list[str]:
    if not drops["packets"]:
        return []
    worst = ", ".join(f"{_port(port)} {port['packets']:,}" for port in drops["ports"])
    return [f"drops: {drops['packets']:,} packets, {drops['bytes']:,} B; most at {worst}"]


def _trim_lines(trims: dict[str, Any]) -> list[str]:
    worst = ", ".join(f"{_port(port)} {port['packets']:,}" for port in trims["ports"])
    most = f"; most at {worst}" if worst else ""
    return [f"trimmed: {trims['packets']:,} packets, {trims['retransmissions']:,} sent again{most}"]


def _pause_lines(pauses: dict[str, Any]) -> list[str]:
    if not pauses["frames"]:
        return []
    causes = [
        f"{pauses[cause]:,} {cause if cause == 'refresh' else cause.upper()}"
        for cause in PAUSE_CAUSES
        if cause in pauses
    ]
    apart = f" ({', '.join(causes)})" if causes else ""
    worst = ", ".join(f"{_port(port)} {port['duration_us']:,.2f} us" for port in pauses["ports"])
    return [f"pauses: {pauses['frames']:,} frames{apart}; longest in total by {worst}"]


def _failure_lines(failures: dict[str, Any], is_complete: bool) -> list[str]:
    links = failures["links"]
    lines = [_failure_line(link, is_complete) for link in links[:WORST_MAX]]
    if others := links[WORST_MAX:]:
        lost = sum(link["packets_lost"] for link in others)
        lines.append(f"failures: {len(others)} others, {lost:,} packets lost")
    if (recovered := failures["recovered_us"]) is not None:
        first = min(link["from_us"] for link in links)
        lines.append(
            f"recovery: {failures['connections']:,} connections sent data again, the last of it "
            f"arrived {recovered - first:,.2f} us after the first failure"
        )
    return lines


def _storm_lines(storms: list[dict[str, Any]]) -> list[str]:
    lines = [_storm_line(storm) for storm in storms[:WORST_MAX]]
    if others := storms[WORST_MAX:]:
        lost = sum(storm["tx_drops"] + storm["rx_drops"] for storm in others)
        lines.append(f"storms: {len(others)} others, {lost:,} packets discarded")
    return lines


def _storm_line(storm: dict[str, Any]) -> str:
    restored = storm["restored_us"]
    end = "not restored" if restored is None else f"restored at {restored:,.2f} us"
    port = f"{storm['port']}, priority {storm['priority']}"
    drops = f"{storm['tx_drops']:,} packets for it and {storm['rx_drops']:,} from it discarded"
    return f"storms: {port}, detected at {storm['detected_us']:,.2f} us, {end}; {drops}"


def _replay_lines(replays: dict[str, Any]) -> list[str]:
    frames = (
        f"{replays['frames']:,} damaged frames sent again, {replays['lost_frames']:,} of them lost"
    )
    held = f", and waited {replays['held_us']:,.2f} us for room" if replays["held_us"] else ""
    return [f"retry: {frames}; transmitters lost {replays['lost_us']:,.2f} us{held}"]


def _rate_lines(rates: dict[str, Any]) -> list[str]:
    mean = f"at {rates['rate_share']:.1%} of the full rate on the mean"
    waits = f"frames ended {rates['wait_us']:,.2f} us later altogether"
    return [f"rates: {rates['ports']:,} ports, {mean}; {rates['changes']:,} changes; {waits}"]


def _learning_lines(learning: dict[str, Any]) -> list[str]:
    line = f"learning: {learning['flooded']:,} frames flooded, {learning['copies']:,} copies"
    table = f"at most {learning['entries_max']:,} addresses in a table"
    return [f"{line}; {table}, no room for the source of {learning['unlearnt']:,} frames"]


def _energy_lines(result: Result) -> list[str]:
    try:
        used = energy(result)
    except ScenarioError as error:
        return [f"energy: not known: {error}"]
    if used is None:
        return []
    parts = f"switches {used.switches_j:.4g} J, NICs {used.nics_j:.4g} J"
    saving = "" if used.saving == "always_on" else f" with {used.saving}"
    line = f"energy: {used.total_j:.4g} J{saving} ({parts}), {used.mean_w:,.1f} W"
    return [f"{line} on the mean by {used.profile}, {used.certainty}"]


def _sleep_lines(sleeps: dict[str, Any]) -> list[str]:
    asleep = f"asleep for {sleeps['asleep_share']:.1%} of the time"
    line = f"sleep: {sleeps['ports']:,} ports, {asleep}"
    waits = f"frames waited {sleeps['wait_us_mean']:,.2f} us on the mean"
    return [f"{line}; {sleeps['wakes']:,} wakes, for which {waits}"]


def _failure_line(link: dict[str, Any], is_complete: bool) -> str:
    end = "" if link["until_us"] is None else f" to {link['until_us']:,.2f}"
    line = f"failures: {link['link']} from {link['from_us']:,.2f}{end} us"
    if link["last_loss_us"] is None:
        return f"{line}, nothing lost"
    # What was on the cable when it failed was sent before.
    after = max(0.0, link["last_loss_us"] - link["from_us"])
    packets, size = link["packets_lost"], link["bytes_lost"]
    line = f"{line}, {packets:,} packets lost, {size:,} B, for {after:,.2f} us"
    if not link["connections"]:
        return line
    if (recovered := link["recovered_us"]) is None:
        # What is under way when all messages are complete has arrived before.
        left = "only repetitions of delivered packets" if is_complete else "retransmissions"
        return f"{line}; {left} under way at the end"
    delivered = recovered - link["from_us"]
    return f"{line}; last retransmission delivered {delivered:,.2f} us after the failure"


def _port(port: dict[str, Any]) -> str:
    return f"{port['node']} port {port['port']} to {port['peer']}"
