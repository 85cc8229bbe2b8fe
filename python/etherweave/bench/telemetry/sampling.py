"""A sample of all counters of a host."""

import ctypes
import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.environment.readers.files import HostFiles
from etherweave.bench.telemetry import counters
from etherweave.bench.telemetry.counters import CounterRow
from etherweave.bench.telemetry.families import ENERGY, INTERFACE, PRIORITY, PROCESSOR, RDMA

TICKS = os.sysconf("SC_CLK_TCK")
_DEVICES = "sys/class/infiniband"
_POWERCAP = "sys/class/powercap"
_HWMON = "sys/class/hwmon"


class Sample(NamedTuple):
    """Values of all counters at one time."""

    time_ns: int  # Since 1970.
    rows: Mapping[str, list[CounterRow]]  # Rows by the names of families.


_SIOCETHTOOL = 0x8946
_GSTRINGS, _GSTATS, _GSSET_INFO = 0x1B, 0x1D, 0x37
_STATISTICS = 1
_NAME = 32  # Octets of a counter's name.
_MAX = 1 << 16  # No NIC has more counters.
_SPARE = 4096
"""Room for counters that appear between two calls: the kernel writes as many as there are."""


def driver_counters(interface: str) -> dict[str, int]:
    """Read the counters of an interface's driver; none where it has none."""
    if not 0 < len(interface.encode()) < 16 or "\0" in interface:
        return {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            return _counters(control, interface.encode())
        except OSError:
            return {}


def _counters(control: socket.socket, interface: bytes) -> dict[str, int]:
    command = struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _STATISTICS, 0)
    _, _, mask, count = struct.unpack_from("=IIQI", _ioctl(control, interface, command, 0))
    if not mask or count > _MAX:
        return {}
    room = count + _SPARE
    command = struct.pack("=III", _GSTRINGS, _STATISTICS, count)
    strings = _ioctl(control, interface, command, room * _NAME)
    values = _ioctl(control, interface, struct.pack("=II", _GSTATS, count), room * 8)
    names = [strings[12 + at * _NAME :][:_NAME].split(b"\0")[0] for at in range(count)]
    numbers = struct.unpack_from(f"={count}Q", values, 8)
    return {
        name.decode(errors="replace").strip(): at for name, at in zip(names, numbers, strict=True)
    }


def _ioctl(control: socket.socket, interface: bytes, command: bytes, room: int) -> bytes:
    """Ask by ``struct ifreq``: 16 octets of name and a pointer, 40 octets in all."""
    buffer = ctypes.create_string_buffer(command, len(command) + room)
    request = struct.pack("16sP", interface, ctypes.addressof(buffer)).ljust(40, b"\0")
    fcntl.ioctl(control, _SIOCETHTOOL, request)
    return buffer.raw


class EnergyMeter:
    """A domain of RAPL, whose counter returns to zero (Documentation/power/powercap)."""

    def __init__(self, files: HostFiles, home: str) -> None:
        self._home = home
        domain = home.rpartition("/")[2].partition(":")[2]
        # Domains of several sockets have the same names.
        self._keys = (f"{domain} {(files.text('', f'{home}/name') or '').strip()}",)
        self._range_uj = files.number("", f"{home}/max_energy_range_uj") or 0
        self._last_uj, self._returned_uj = 0, 0

    def row(self, files: HostFiles) -> CounterRow | None:
        """Read it; ``None`` where this process may not."""
        counted = files.number("", f"{self._home}/energy_uj")
        if counted is None:
            return None
        if counted < self._last_uj:
            self._returned_uj += self._range_uj
        self._last_uj = counted
        return CounterRow(self._keys, ((self._returned_uj + counted) / 1e6,))


class PowerMeter:
    """A meter of a whole host's power (Documentation/hwmon/acpi_power_meter).

    Its energy is the sum of mean powers of two neighbouring samples by the time between them.
    """

    def __init__(self, files: HostFiles, home: str) -> None:
        self._path, self._keys = f"{home}/power1_average", (f"meter {home.rpartition('/')[2]}",)
        self._last_uw, self._last_ns, self._joules = 0, 0, 0.0
        self.is_known = files.text("", f"{home}/name") == "power_meter"

    def row(self, files: HostFiles) -> CounterRow | None:
        """Read it; ``None`` where this process may not."""
        power_uw, now_ns = files.number("", self._path), time.monotonic_ns()
        if power_uw is None:
            return None
        if self._last_ns:
            self._joules += (self._last_uw + power_uw) / 2e6 * (now_ns - self._last_ns) / 1e9
        self._last_uw, self._last_ns = power_uw, now_ns
        return CounterRow(self._keys, (self._joules,))


class Sampler:
    """Takes samples of a host.

    ``root`` holds ``proc`` and ``sys``; ``driver`` gives the counters of an interface's driver.
    """

    def __init__(
        self,
        interfaces: Iterable[str],
        root: Path = Path("/"),
        driver: Callable[[str], Mapping[str, int]] = driver_counters,
    ) -> None:
        self._interfaces = tuple(interfaces)
        self._files = HostFiles(root, None)
        self._driver = driver
        devices = self._files.names(_DEVICES)
        self._ports = [
            (device, port)
            for device in devices
            for port in self._files.names(f"{_DEVICES}/{device}/ports")
        ]

        zones = [name for name in self._files.names(_POWERCAP) if ":" in name]
        meters = [EnergyMeter(self._files, f"{_POWERCAP}/{name}") for name in zones]
        homes = [f"{_HWMON}/{name}" for name in self._files.names(_HWMON)]
        powers = [PowerMeter(self._files, home) for home in homes]
        known = [meter for meter in powers if meter.is_known]
        all_meters: list[EnergyMeter | PowerMeter] = [*meters, *known]
        self._meters = [meter for meter in all_meters if meter.row(self._files)]

    def __call__(self) -> Sample:
        """Take a sample."""
        driver = {name: self._driver(name) for name in self._interfaces}
        rows = {
            PROCESSOR.name: counters.processors(self._files.text("", "proc/stat") or "", TICKS),
            INTERFACE.name: [
                counters.interface(name, self._statistics(name), driver[name])
                for name in self._interfaces
            ],
            PRIORITY.name: [
                row for name in self._interfaces for row in counters.priorities(name, driver[name])
            ],
            RDMA.name: [self._port(device, port) for device, port in self._ports],
            ENERGY.name: [row for meter in self._meters if (row := meter.row(self._files))],
        }
        return Sample(time.time_ns(), rows)

    def _statistics(self, interface: str) -> dict[str, int]:
        home = f"sys/class/net/{interface}/statistics"
        values = {name: self._files.number("", f"{home}/{name}") for name in counters.STATISTICS}
        return {name: value for name, value in values.items() if value is not None}

    def _port(self, device: str, port: str) -> CounterRow:
        home = f"{_DEVICES}/{device}/ports/{port}"
        counted = [self._files.numbers("", f"{home}/{key}") for key in ("counters", "hw_counters")]
        return counters.rdma(device, port, counted[0] | counted[1])
