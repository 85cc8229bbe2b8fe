"""Options of the tools that configure NICs; a tool rejects a command with another one whole."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

MLNX_QOS = (
    "--pfc",
    "--prio_tc",
    "--tsa",
    "--tcbw",
    "--ratelimit",
    "--dscp2prio",
    "--trust",
    "--interface",
    "--buffer_size",
    "--prio2buffer",
    "--cable_len",
    "--dcbx",
    "--all",
    "--help",
    "--version",
)
"""Long options of ``mlnx_qos``, which takes an unambiguous beginning of each."""
MLNX_QOS_SHORT = ("-f", "-p", "-s", "-t", "-r", "-d", "-i", "-a", "-h")
CMA_ROCE_TOS = ("-d", "-p", "-t", "-h")
PAUSES = ("autoneg", "rx", "tx")
DCB: Mapping[str, tuple[str, ...]] = {
    "pfc": ("prio-pfc", "macsec-bypass", "delay"),
    "ets": ("willing", "tc-tsa", "tc-bw", "prio-tc", "reco-tc-tsa", "reco-tc-bw", "reco-prio-tc"),
    "app": (
        "default-prio",
        "ethtype-prio",
        "dscp-prio",
        "port-prio",
        "stream-port-prio",
        "dgram-port-prio",
        "pcp-prio",
    ),
}
"""Parameters of ``dcb(8)`` by object."""
LLDPTOOL: Mapping[str, tuple[str, ...]] = {
    "PFC": ("enableTx", "willing", "enabled", "delay"),
    "ETS-CFG": ("enableTx", "willing", "numtcs", "tsa", "up2tc", "tcbw"),
    "APP": ("enableTx", "willing", "app"),
}
"""Arguments of ``lldptool -T`` by TLV: lldptool-pfc(8), lldptool-ets(8), lldptool-app(8)."""
TRUST = ("pcp", "dscp")


def checked(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return the options of a command that its tool does not have, and what it has instead."""
    match words:
        case ["mlnx_qos", *rest]:
            yield from _mlnx_qos(rest)
        case ["cma_roce_tos", *rest]:
            options = [word for word in rest if word[:1] == "-" and not word[1:].isdecimal()]
            yield from _unknown("cma_roce_tos", options, CMA_ROCE_TOS)
        case ["ethtool", "-A" | "--pause", _, *rest]:
            yield from _unknown("ethtool -A", rest[::2], PAUSES)
        case ["dcb", what, "set" | "add" | "replace", "dev", _, *rest] if what in DCB:
            names = [word for word in rest if not (":" in word or word.isdecimal() or word in _ON)]
            yield from _unknown(f"dcb {what}", names, DCB[what])
        case ["lldptool", "-T" | "set-tlv", *rest]:
            tlv = next((name for name in LLDPTOOL if name in rest), None)
            names = [word.partition("=")[0] for word in rest if "=" in word]
            yield from _unknown(f"lldptool -V {tlv}", names, LLDPTOOL[tlv]) if tlv else ()


_ON = ("on", "off")


def _mlnx_qos(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    names = [word.partition("=")[0] for word in words if word.startswith("--")]
    lost = [name for name in names if sum(known.startswith(name) for known in MLNX_QOS) != 1]
    yield from _unknown("mlnx_qos", lost, MLNX_QOS)
    short = [word[:2] for word in words if word[:1] == "-" and word[:2] != "--"]
    yield from _unknown("mlnx_qos", short, MLNX_QOS_SHORT)
    trust = dict(pairwise(words)).get("--trust")
    yield from _unknown("mlnx_qos --trust", [trust] if trust and "$" not in trust else [], TRUST)


def _unknown(tool: str, names: Sequence[str], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(_plain(name), [*map(_plain, known)], n=1, cutoff=0.7)
            right = [option for option in known if _plain(option) in near] or known
            yield f"{tool} {name}", f"{' or '.join(right)}, which {tool} has"


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
