"""Processors, where processes may run, and what else runs."""

from collections.abc import Iterator
from dataclasses import fields
from statistics import median

from etherweave.bench.environment.findings import Evidence, Problem, Severity, cpus, interfaces
from etherweave.bench.environment.snapshot import NetworkInterface, Snapshot
from etherweave.bench.texts.plausibility import is_slice, is_wait

_SLOW = 0.9  # Share of the highest frequency below which a processor is slowed.
_STALL = 20  # A latency so many times the median is a stall.
_STALLS_MIN = 3
_BUSY = 1.0  # A load average from which on a processor is taken.


def governor(evidence: Evidence) -> Iterator[Problem]:
    """Find processors whose governor changes their frequency."""
    governors = evidence.latest.processor.governors
    others = {name: count for name, count in governors.items() if name != "performance"}
    if others:
        names = ", ".join(f"{count} on {name}" for name, count in sorted(others.items()))
        yield Problem(
            f"processors are not on the governor performance: {names}",
            "cpupower frequency-set --governor performance",
        )


def frequency(evidence: Evidence) -> Iterator[Problem]:
    """Find processors that run below their highest frequency though they should not."""
    processor = evidence.latest.processor
    now, most = processor.frequency_hz_min, processor.frequency_hz_max
    is_fixed = set(processor.governors) == {"performance"}
    if is_fixed and now and most and now < _SLOW * most:
        yield Problem(
            f"CPU frequency is not max: {now / 1e9:.2f} of {most / 1e9:.2f} GHz, "
            "in spite of the governor",
            "look for power caps and heat (turbostat), and for a limit in scaling_max_freq",
            Severity.NOTE,
        )


def smt(evidence: Evidence) -> Iterator[Problem]:
    """Find cores that threads share."""
    if evidence.latest.processor.smt:
        yield Problem(
            "SMT is on: two processes may share a core",
            "start one process a core, and bind it (--bind-to core), or set smt/control to off",
            Severity.NOTE,
        )


def numa(evidence: Evidence) -> Iterator[Problem]:
    """Find processes that run on another NUMA node than the NIC."""
    latest = evidence.latest
    allowed = cpus(latest.placement.allowed)
    if len(latest.memory.nodes) < 2 or not allowed:
        return
    for name, interface in interfaces(evidence, latest).items():
        near = cpus(latest.memory.nodes.get(str(interface.node), ""))
        if near and not allowed <= near:
            yield Problem(
                f"the NIC is on NUMA node {interface.node}, but processes may run on others "
                f"({latest.placement.allowed})",
                f"numactl --cpunodebind={interface.node} --membind={interface.node}",
                where=name,
            )
    if latest.memory.balancing:
        yield Problem(
            "the kernel moves pages between NUMA nodes",
            "sysctl kernel.numa_balancing=0",
            Severity.NOTE,
        )


def pinning(evidence: Evidence) -> Iterator[Problem]:
    """Find processes that may move to any processor."""
    latest = evidence.latest
    online, allowed = cpus(latest.processor.online), cpus(latest.placement.allowed)
    binds = ("rmaps_base", "hwloc_base_binding", "I_MPI_PIN", "OMP_PROC_BIND")
    is_bound = any(part in name for name in latest.placement.variables for part in binds)
    if len(online) > 1 and allowed >= online and not is_bound:
        yield Problem(
            "processes are not pinned: they may run on every processor",
            "bind them: mpirun --bind-to core, srun --cpu-bind=cores, taskset or numactl",
            Severity.NOTE,
        )


def oversubscription(evidence: Evidence) -> Iterator[Problem]:
    """Find more processes than processors."""
    processes = evidence.run.processes
    allowed = cpus(evidence.latest.placement.allowed)
    if processes and allowed and processes > len(allowed):
        yield Problem(
            f"{processes} processes share {len(allowed)} processors",
            "start fewer, or let them yield (mpi_yield_when_idle 1): processes that poll wait for "
            "each other's time slices",
        )


def slices(evidence: Evidence) -> Iterator[Problem]:
    """Find latencies that are time slices of the scheduler rather than of the network."""
    times = evidence.run.times_s
    if not times:
        return
    middle = median(times)
    stalls = [time for time in times if time > _STALL * middle]
    sliced = [time for time in stalls if is_wait(time)]
    if is_slice(middle):
        what = f"half of the latencies are above {middle * 1e3:.1f} ms"
    elif len(sliced) >= _STALLS_MIN and 2 * len(sliced) >= len(stalls):
        what = (
            f"{len(sliced)} of {len(times)} latencies cluster at {median(sliced) * 1e3:.1f} ms, "
            f"the others at {middle * 1e6:.1f} us"
        )
    else:
        return
    yield Problem(
        f"{what}: slices of the scheduler, not the network",
        "give each polling process a core of its own, or let it yield (mpi_yield_when_idle 1)",
    )


def load(evidence: Evidence) -> Iterator[Problem]:
    """Find other jobs; after a run the load average is the run's own."""
    system_load = evidence.before.load
    if system_load.running or (system_load.one_minute or 0) >= _BUSY:
        names = sorted(system_load.running, key=lambda name: -system_load.running[name])
        count = sum(system_load.running.values())
        yield Problem(
            f"load average {system_load.one_minute} before the run; {count} other programs ran"
            + (f": {', '.join(names[:4])}" if names else ""),
            "reserve the host (an exclusive allocation), and end what is left of earlier jobs",
            Severity.WARNING if (system_load.one_minute or 0) >= _BUSY else Severity.NOTE,
        )


def changes(evidence: Evidence) -> Iterator[Problem]:
    """Find settings that changed during the run."""
    if evidence.after is None:
        return
    names = [name for name, is_same in _settings(evidence.before, evidence.after) if not is_same]
    if names:
        yield Problem(
            f"changed during the run: {', '.join(names)}",
            "find out what changes them (power daemons, configuration management), and repeat",
        )


def _settings(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, bool]]:
    yield "boot", before.boot == after.boot
    yield "governors", before.processor.governors == after.processor.governors
    yield "processors online", before.processor.online == after.processor.online
    yield "tcp", before.tcp == after.tcp
    counters = ("counters", "driver_counters")
    names = [field.name for field in fields(NetworkInterface) if field.name not in counters]
    for interface in sorted(before.interfaces.keys() & after.interfaces.keys()):
        first, last = before.interfaces[interface], after.interfaces[interface]
        for name in names:
            yield f"{interface} {name}", getattr(first, name) == getattr(last, name)
