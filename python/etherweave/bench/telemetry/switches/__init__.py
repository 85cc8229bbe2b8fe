"""Counters of switches while a benchmark runs, by what a switch prints when it is asked.

A reader is a module with its ``READER``: the words that ask for counters, and the parser of the
answer. Ports become interfaces and their priorities, as of a host; a switch that does not answer
leaves a gap.
"""

import json
import subprocess
import time
from collections.abc import Sequence

from etherweave.bench.telemetry.counters import CounterRow
from etherweave.bench.telemetry.families import FAMILIES, INTERFACE, PRIORITY
from etherweave.bench.telemetry.sampling import Sample
from etherweave.bench.telemetry.switches import onyx, openconfig, snmp, sonic, sonic_cli, sonic_gnmi
from etherweave.bench.telemetry.switches.reader import PortCounters, SwitchReader

NO_ANSWER = "no answer"  # Begins the reason of a gap.
ANSWER_S = 10.0  # Longest time for an answer [s].
_TEXT_MAX = 1 << 26  # Longest answer [bytes].
READERS: dict[str, SwitchReader] = {
    reader.name: reader
    for reader in (
        onyx.READER,
        openconfig.READER,
        snmp.READER,
        sonic.READER,
        sonic_cli.READER,
        sonic_gnmi.READER,
    )
}
"""Readers by the name in a site's file."""


class SwitchSampler:
    """Takes samples of a switch.

    ``ask`` are the first words of each command, such as ``["ssh", "admin@leaf0"]``.
    """

    def __init__(self, reader: SwitchReader, ask: Sequence[str]) -> None:
        self._reader, self._ask = reader, tuple(ask)
        self._samples, self._gaps = 0, 0
        self._reason = ""

    @property
    def failure(self) -> str:
        """How many samples are missing, and why the last one is; empty if none is."""
        if not self._gaps:
            return ""
        return f"{NO_ANSWER} in {self._gaps} of {self._samples} samples: {self._reason}"

    def __call__(self) -> Sample:
        """Take a sample; one without rows where the switch does not answer."""
        self._samples += 1
        rows: dict[str, list[CounterRow]] = {family.name: [] for family in FAMILIES}
        try:
            ports = self._reader.parse(self._answers())
            if not ports:
                raise ValueError(f"no counter of a port in the answer; expected {self._reader.of}")
            for port, counters in sorted(ports.items()):
                rows[INTERFACE.name].append(counters.row(port))
                rows[PRIORITY.name] += counters.priority_rows(port)
        except (OSError, ValueError, RecursionError, subprocess.SubprocessError) as error:
            self._gaps += 1
            cut = "answer cut, or no JSON: " if isinstance(error, json.JSONDecodeError) else ""
            self._reason = " ".join(f"{cut}{error}".split())[:200]
        return Sample(time.time_ns(), rows)

    def _answers(self) -> list[str]:
        return [_printed([*self._ask, *words]) for words in self._reader.commands]


def _printed(words: Sequence[str]) -> str:
    """Return what a command prints.

    Raises ``ValueError`` when it fails, ``OSError`` or ``SubprocessError`` when it does not answer.
    """
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_S, check=False
    )
    if done.returncode < 0:
        raise ValueError(f"{words[0]} had not answered when the launch ended")
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise ValueError(f"{words[0]} ended with {done.returncode}: {lines[-1] if lines else ''}")
    return done.stdout[:_TEXT_MAX].decode(errors="replace")


__all__ = ["NO_ANSWER", "READERS", "PortCounters", "SwitchReader", "SwitchSampler"]
