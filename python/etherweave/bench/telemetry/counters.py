"""Columns of families from the counters of kernel and drivers."""

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from etherweave.bench.telemetry.families import INTERFACE, PRIORITY, RDMA, Family

Value: TypeAlias = float | int | None  # ``None`` where there is no such counter.


class CounterRow(NamedTuple):
    """A thing and its counters."""

    keys: tuple[str, ...]
    values: tuple[Value, ...]  # Values in the order of its family's columns.


_KERNEL = {
    "received_bytes": "rx_bytes",
    "sent_bytes": "tx_bytes",
    "received_packets": "rx_packets",
    "sent_packets": "tx_packets",
    "received_drops": "rx_dropped",
    "sent_drops": "tx_dropped",
    "received_errors": "rx_errors",
}
STATISTICS = tuple(_KERNEL.values())  # Files in the ``statistics`` of an interface.
_PAUSES = {
    "received_pauses": ("rx_pause_ctrl_phy", "rx_pause_frames", "rx_pause", "port.link_xoff_rx",
                        "link_xoff_rx.nic", "rx_flow_control_xoff"),
    "sent_pauses": ("tx_pause_ctrl_phy", "tx_pause_frames", "tx_pause", "port.link_xoff_tx",
                    "link_xoff_tx.nic", "tx_flow_control_xoff"),
}  # fmt: skip
"""Global pause frames: mlx5, bnxt_en, mlx4, i40e, ice, ixgbe."""
_PRIORITY = (
    # mlx5: Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst
    (
        re.compile(
            r"(?P<direction>[rt]x)_prio(?P<priority>[0-7])_(?P<quantity>bytes|packets|pause)"
        ),
        1,
    ),
    (
        re.compile(r"(?P<direction>[rt]x)_prio(?P<priority>[0-7])_(?P<quantity>pause_duration)"),
        1e-6,
    ),
    # bnxt_en
    (re.compile(r"(?P<direction>[rt]x)_(?P<quantity>bytes|packets)_pri(?P<priority>[0-7])"), 1),
    (re.compile(r"(?P<direction>[rt]x)_(?P<quantity>pfc_ena_frames)_pri(?P<priority>[0-7])"), 1),
    # i40e, ice
    (re.compile(r"port\.(?P<direction>[rt]x)_priority_(?P<priority>[0-7])_(?P<quantity>xoff)"), 1),
    (re.compile(r"(?P<direction>[rt]x)_priority_(?P<priority>[0-7])_(?P<quantity>xoff)\.nic"), 1),
)
_DIRECTIONS = {"rx": "received", "tx": "sent"}
_QUANTITIES = {"pause": "pauses", "pfc_ena_frames": "pauses", "xoff": "pauses"}
_RDMA_WORDS = {"received_bytes": "port_rcv_data", "sent_bytes": "port_xmit_data"}
_RDMA = {
    "received_packets": "port_rcv_packets",
    "sent_packets": "port_xmit_packets",
    "sent_cnps": "np_cnp_sent",
    "handled_cnps": "rp_cnp_handled",
    "marked_packets": "np_ecn_marked_roce_packets",
    "out_of_sequence": "out_of_sequence",
    "sequence_errors": "packet_seq_err",
    "timeouts": "local_ack_timeout_err",
    "out_of_buffer": "out_of_buffer",
}


def processors(stat: str, ticks: int) -> list[CounterRow]:
    """Read ``/proc/stat`` (proc(5)).

    ``ticks`` is its unit: ticks per second.
    """
    rows = []
    for line in stat.splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu" and len(words) >= 8:
            # The time of waiting for storage is left out: it may decrease, so it is no counter.
            user, nice, system, idle, _, irq, softirq, stolen = (
                int(word) / ticks for word in words[:8]
            )
            rows.append(CounterRow((name[3:],), (user + nice, system, softirq, irq, stolen, idle)))
    return rows


def interface(name: str, kernel: Mapping[str, int], driver: Mapping[str, int]) -> CounterRow:
    """Put together what kernel and driver count of an interface."""
    values: dict[str, Value] = {column: kernel.get(word) for column, word in _KERNEL.items()}
    for column, words in _PAUSES.items():
        values[column] = next((driver[word] for word in words if word in driver), None)
    return counter_row(INTERFACE, (name,), values)


def priorities(name: str, driver: Mapping[str, int]) -> list[CounterRow]:
    """Find what a driver counts by priority; nothing for a driver that does not."""
    values: dict[str, dict[str, Value]] = {}
    for word, value in driver.items():
        for pattern, factor in _PRIORITY:
            if match := pattern.fullmatch(word):
                column, count = _column(match["direction"], match["quantity"]), value * factor
                values.setdefault(match["priority"], {})[column] = value if factor == 1 else count
    return [counter_row(PRIORITY, (name, value), values[value]) for value in sorted(values)]


def _column(direction: str, what: str) -> str:
    if what == "pause_duration":
        return {"rx": "paused_s", "tx": "pausing_s"}[direction]
    return f"{_DIRECTIONS[direction]}_{_QUANTITIES.get(what, what)}"


def rdma(device: str, port: str, counted: Mapping[str, int]) -> CounterRow:
    """Put together what an RDMA port counts; its data are in words of four bytes."""
    values: dict[str, Value] = {column: counted.get(word) for column, word in _RDMA.items()}
    for column, word in _RDMA_WORDS.items():
        values[column] = 4 * counted[word] if word in counted else None
    return counter_row(RDMA, (device, port), values)


def counter_row(family: Family, keys: tuple[str, ...], values: Mapping[str, Value]) -> CounterRow:
    """Put values in the order of the columns of a family."""
    return CounterRow(keys, tuple(values.get(column.name) for column in family.columns))
