"""The verb ``lab`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import group

VERBS = {
    "up": "Start a scenario's fabric: switches with their rules, hosts with their addresses.",
    "exec": "Run a command in a host of a lab, where names of hosts are addresses.",
    "status": "Print the state of a lab: addresses of hosts, frames of every port.",
    "check": "Compare the paths of frames between all hosts with tables and simulator.",
    "pause": "Pause a port by PAUSE frames from its neighbour, then resume it.",
    "down": "Remove a lab: its processes, switches, links, namespaces and files.",
    "demo": "Demonstrate addresses, rules, paths and a pause in a lab, then remove it.",
    "announce": "Compare services that announce addresses under DMP and under rewriting switches.",
}

lab = group(
    __name__,
    "Run a small fabric on this machine, with software switches and hosts; requires root.",
    VERBS,
)
