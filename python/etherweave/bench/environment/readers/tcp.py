"""TCP's settings and counters."""

from etherweave.bench.environment.readers.place import Place, whole

SETTINGS = (
    "core.rmem_max",
    "core.wmem_max",
    "core.netdev_max_backlog",
    "core.default_qdisc",
    "core.busy_poll",
    "ipv4.tcp_rmem",
    "ipv4.tcp_wmem",
    "ipv4.tcp_congestion_control",
    "ipv4.tcp_ecn",
    "ipv4.tcp_window_scaling",
    "ipv4.tcp_timestamps",
    "ipv4.tcp_sack",
    "ipv4.tcp_mtu_probing",
    "ipv4.tcp_slow_start_after_idle",
)


def settings(place: Place) -> dict[str, str]:
    """Read the settings that matter, by their names below ``net``."""
    paths = {name: f"proc/sys/net/{name.replace('.', '/')}" for name in SETTINGS}
    found = {name: place.text("tcp", path) for name, path in paths.items()}
    return {name: " ".join(text.split()) for name, text in found.items() if text is not None}


def counters(place: Place) -> dict[str, int]:
    """Read TCP's counters of this network namespace."""
    lines = (place.text("tcp", "proc/net/snmp") or "").splitlines()
    rows = [line.split()[1:] for line in lines if line.startswith("Tcp:")]
    if len(rows) != 2:
        return {}
    values = zip(rows[0], map(whole, rows[1]), strict=False)
    return {name: value for name, value in values if value is not None}
