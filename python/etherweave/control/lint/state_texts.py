"""Outputs of commands that show a state: they look like configurations, and configure nothing."""

import re

_SHOWING = re.compile(
    r"^[^\n#>$]*[#>$] ?((?:sudo )?(?:nv )?(?:do )?show (?!run|conf|startup|active-conf)[^\n|>]*"
    r"|(?:sudo )?(?:mlnx_qos -i \S+|ethtool -[aS] \S+|dcb \w+ show[^\n]*|lldptool -t [^\n]*"
    r"|ecnconfig -l|pfcwd show \w+|show_gids|ibv_devinfo))[ \t]*$",
    re.MULTILINE,
)
"""A prompt and a command that shows a state."""
SIGNS = {
    "mlnx_qos -i DEVICE": r"^(?:DCBX mode|Priority trust state|PFC configuration):",
    "dcb show": r"^(?:pfc-cap|prio-pfc|ets-cap|tc-tsa|tc-bw) \S+",
    "lldptool -t": r"^(?:IEEE 8021QAZ (?:PFC|ETS)|\S+ TLV$)",
    "ethtool -a": r"^Pause parameters for ",
    "ethtool -S": r"^NIC statistics:",
    "show interfaces": r"^(?:\S+ is (?:up|down|administratively)\b|Eth\d\S*:[ \t]*$)",
    "show priority-flow-control": r"^(?:The hardware supports PFC|PFC receive processing is)",
    "show qos": r"^ *(?:Trust Mode|Number of Traffic Classes supported) *:",
    "show pfc": r"^ *Port (?:Rx|Tx) +PFC0",
    "a command that prints tables": r"^[ \t]*-{3,}(?:[ \t+|]+-{2,})+[ \t]*$",
}
"""A line of the output of each command that no configuration has."""
_SIGNS = {command: re.compile(sign, re.MULTILINE) for command, sign in SIGNS.items()}


def command_of(text: str) -> str:
    """Return the command whose output a text is, or nothing."""
    if shown := _SHOWING.search(text):
        return shown[1].strip()[:60]
    return next((command for command, sign in _SIGNS.items() if sign.search(text)), "")
